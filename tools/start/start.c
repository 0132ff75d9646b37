#include "tools/start/start.h"

#include <glob.h>
#include <libgen.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/coll.h"
#include "core/settings.h"
#include "core/status.h"
#include "device/device.h"

extern char **environ;

/* TOOL_*DIR: paths of the installation relative to the folder of the command, made by the build. */
static char *program_installed(const char *const folders[], int n, const char *name)
{
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length <= 0)
        return NULL;
    own[length] = '\0';
    const char *folder = dirname(own);
    for (int i = 0; i < n; i++) {
        char *path = tool_print("%s/%s/%s", folder, folders[i], name);
        char *real = realpath(path, NULL);
        free(path);
        if (real && access(real, R_OK) == 0)
            return real;
        free(real);
    }
    return NULL;
}

char *tool_installed_library(const char *name)
{
    static const char *const folders[] = {TOOL_LIBDIR, "../lib"};
    return program_installed(folders, 2, name);
}

char *tool_installed_helper(const char *name)
{
    static const char *const folders[] = {TOOL_LIBEXECDIR, "../libexec/tutti"};
    return program_installed(folders, 2, name);
}

void tool_check_settings(void)
{
    static char wrong[8192];
    struct tutti_settings settings;
    int bad = 0;
    if (tutti_settings_read(&settings, wrong, sizeof wrong) != TUTTI_OK) {
        bad = 1;
        for (char *line = strtok(wrong, "\n"); line; line = strtok(NULL, "\n"))
            fprintf(stderr, "tutti: %s\n", line);
    }
    if (tutti_rules_check(settings.rules, wrong, sizeof wrong) != TUTTI_OK) {
        bad = 1;
        fprintf(stderr, "tutti: TUTTI_RULES: %s\n", wrong);
    }
    if (bad)
        exit(tool_refusal);
}

void tool_device(const char *word)
{
    static const char *const names[] = {"auto",
#define TUTTI_DEVICE(name, ...) #name,
#include "tutti/devices.def"
#undef TUTTI_DEVICE
                                        "none"};
    tool_one_of("--device", word, names, (int)(sizeof names / sizeof names[0]));
    setenv("TUTTI_DEVICE", word, 1);
}

static int node_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* 1 if all ranks run on this machine, as far as the command line and the environment show. */
static int start_local(const struct tool_start *start)
{
    static const char *const managers[] = {"SLURM_JOB_ID",         "PBS_NODEFILE", "LSB_JOBID",
                                           "PE_HOSTFILE",          "FLUX_JOB_ID",  "HYDRA_HOST_FILE",
                                           "I_MPI_HYDRA_HOST_FILE"};
    for (size_t i = 0; i < sizeof managers / sizeof managers[0]; i++) {
        if (getenv(managers[i]))
            return 0;
    }
    struct tool_words words = {.word = NULL};
    int hosts = 0;
    if (start->arguments)
        tool_words_split(&words, start->arguments);
    for (int i = 0; i < words.n; i++)
        hosts |= strstr(words.word[i], "host") || strstr(words.word[i], "machine") ||
                 strcmp(words.word[i], "-H") == 0 || strcmp(words.word[i], "-f") == 0;
    tool_words_free(&words);
    return !hosts;
}

static void setting_standard(const char *name, const char *value)
{
    setenv(name, value, 0); /* the user's choice stays */
}

/* 1 if the daemon of MPS listens on this machine. */
static int is_under_mps(void)
{
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    char *control = tool_print("%s/control", folder && folder[0] ? folder : "/tmp/nvidia-mps");
    const int listens = access(control, F_OK) == 0;
    free(control);
    return listens;
}

/* Then programs may pass memory of a GPU, and some read Cray MPICH's variable. That MPI itself obeys it too, through
 * a library that may be missing. */
static int takes_gpu_memory(void)
{
    const struct tutti_device *device = tutti_device();
    return device && !device->simulates;
}

/* Libraries of the user's LD_PRELOAD precede ours: so a profiling library sees the program's calls, and a
 * sanitizer's library is the first of all. An MPI among them follows ours; otherwise ours would not be in front of
 * it. */
static char *in_order(const char *sanitizer, const char *users, const char *library)
{
    char *words = tool_print("%s", users ? users : ""), *rest = NULL;
    char *first = tool_print("%s", strstr(words, sanitizer) ? "" : sanitizer), *last = tool_print("%s", "");
    int mpi = 0;
    for (char *word = strtok_r(words, ": \t", &rest); word; word = strtok_r(NULL, ": \t", &rest)) {
        const char *base = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;
        if (strcmp(word, library) == 0)
            continue;
        mpi |= strncmp(base, "libmpi.so", 9) == 0 || strncmp(base, "libmpich.so", 11) == 0 ||
               strncmp(base, "libmpi_abi.so", 13) == 0;
        char **part = mpi ? &last : &first, *before = *part;
        *part = tool_print("%s%s%s", before, *before ? ":" : "", word);
        free(before);
    }
    char *all = tool_print("%s%s%s%s%s", first, *first ? ":" : "", library, *last ? ":" : "", last);
    free(words);
    free(first);
    free(last);
    return all;
}

static char *preload_value(const struct tool_start *start)
{
    char *library = tool_installed_library("libtutti.so");
    if (!library)
        tool_refuse(
            "libtutti.so was not found beside this command: build the target tutti, or install the project again");
    if (strpbrk(library, " \t:"))
        tool_refuse("LD_PRELOAD cannot name '%s': it ends names at blanks and colons; install the project in a folder "
                    "without them",
                    library);
    char *all = in_order(start->program->sanitizer, getenv("LD_PRELOAD"), library);
    free(library);
    return all;
}

static void openmpi_line(const struct tool_start *start, struct tool_words *line, const char *preload)
{
    int here = start_local(start);
    if (geteuid() == 0) {
        setting_standard("OMPI_ALLOW_RUN_AS_ROOT", "1");
        setting_standard("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        setting_standard("PRTE_ALLOW_RUN_AS_ROOT", "1");
        setting_standard("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    if (here) {
        /* A permission: without it, more ranks than cores are refused. */
        setting_standard("OMPI_MCA_rmaps_base_oversubscribe", "1");
        setting_standard("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
        if (start->ranks > node_cores())
            setting_standard("OMPI_MCA_mpi_yield_when_idle", "1");
    }
    if (preload) {
        tool_words_add(line, "-x");
        tool_words_take(line, tool_print("LD_PRELOAD=%s", preload));
    }
    for (char **entry = environ; !here && *entry; entry++) {
        if (strncmp(*entry, "TUTTI_", 6) == 0 || strncmp(*entry, "CUDA_DEVICE_MAX_CONNECTIONS=", 28) == 0 ||
            strncmp(*entry, "MPICH_GPU_SUPPORT_ENABLED=", 26) == 0 || strncmp(*entry, "LD_LIBRARY_PATH=", 16) == 0) {
            tool_words_add(line, "-x");
            tool_words_take(line, tool_print("%.*s", (int)strcspn(*entry, "="), *entry));
        }
    }
}

static void hydra_line(const struct tool_start *start, struct tool_words *line, const char *preload)
{
    const struct tool_mpi *mpi = start->mpi;
    if (mpi->family == TOOL_MPICH && start_local(start))
        setting_standard("HYDRA_LAUNCHER", "fork"); /* all ranks are on this machine, so no ssh is needed */
    if (mpi->family == TOOL_IMPI) {
        setting_standard("I_MPI_ROOT", mpi->prefix);
        char *provider = tool_print("%s/libshm-fi.so", mpi->libraries);
        if (mpi->libraries[0] && access(provider, R_OK) == 0)
            setting_standard("FI_PROVIDER_PATH", mpi->libraries);
        free(provider);
        if (start_local(start)) {
            setting_standard("I_MPI_HYDRA_BOOTSTRAP", "fork");
            setting_standard("I_MPI_FABRICS", "shm");
        }
    }
    if (preload) {
        tool_words_add(line, "-genv");
        tool_words_add(line, "LD_PRELOAD");
        tool_words_add(line, preload);
    }
}

/* The loader looks there first. */
static void path_first(const char *first)
{
    const char *before = getenv("LD_LIBRARY_PATH");
    if (before && strncmp(before, first, strlen(first)) == 0)
        return;
    char *all = tool_print("%s%s%s", first, before && *before ? ":" : "", before ? before : "");
    setenv("LD_LIBRARY_PATH", all, 1);
    free(all);
}

/* Where the loader finds the MPI now: launcher and library must be of one MPI, for any paths that are built into the
 * program. */
static void check_library(const struct tool_start *start)
{
    static struct tool_program now;
    char folder[PATH_MAX], found[PATH_MAX], want[PATH_MAX];
    const char *name = start->program->library;
    tool_program_read(start->program->path, &now);
    int ok = now.resolved[0] && realpath(now.resolved, found) && realpath(start->mpi->libraries, want);
    if (ok) {
        snprintf(folder, sizeof folder, "%s", found);
        ok = strcmp(dirname(folder), want) == 0;
    }
    char *names = ok ? NULL : tool_installed_library("tutti/names");
    if (names && now.resolved[0]) { /* our link leads to the other name, which lies in the MPI's folder */
        snprintf(folder, sizeof folder, "%s", now.resolved);
        ok = strcmp(dirname(folder), names) == 0 && now.other[0] && realpath(now.other, found) &&
             realpath(start->mpi->libraries, want) && strcmp(dirname(found), want) == 0;
    }
    free(names);
    if (!ok)
        tool_refuse(
            "%s would load %s from %s, but %s %s (%s) starts it: the path is built into the program; name the MPI that "
            "it belongs to with --mpi, or build it with that MPI's compiler",
            start->program->path, name, now.resolved[0] ? now.resolved : "nowhere",
            tool_family_title(start->mpi->family), start->mpi->version, start->mpi->launcher);
}

/* Libraries of an MPI that the loader would not take by itself come first in its search. */
static void find_libraries(const struct tool_start *start)
{
    const struct tool_mpi *mpi = start->mpi;
    if (!mpi->libraries[0] || !start->program->abi)
        return;
    char *own = tool_print("%s/%s", mpi->libraries, start->program->library);
    char here[PATH_MAX], there[PATH_MAX];
    int same = start->program->resolved[0] && realpath(own, here) && realpath(start->program->resolved, there) &&
               strcmp(here, there) == 0;
    int renamed = access(own, R_OK) != 0;
    free(own);
    if (same)
        return;
    /* libmpich.so.12 and libmpi.so.12 are two names of one interface: if one is missing, a library with that name
     * that leads to the other one is installed beside ours. */
    char *names = renamed ? tool_installed_library("tutti/names") : NULL;
    if (renamed && !names)
        tool_refuse(
            "%s needs %s, which %s %s has under another name, and the libraries that lead from one name to the other "
            "(lib/tutti/names) are not in this installation",
            start->program->path, start->program->library, tool_family_title(mpi->family), mpi->version);
    char *first = tool_print("%s%s%s", mpi->libraries, names ? ":" : "", names ? names : "");
    path_first(first);
    free(first);
    free(names);
    check_library(start);
}

/* 1 if the folder leads to the library of the launcher's MPI. */
static int leads_to(const struct tool_mpi *mpi, const char *link)
{
    char to[PATH_MAX], real[PATH_MAX], want[PATH_MAX];
    const ssize_t length = readlink(link, to, sizeof to - 1);
    if (length <= 0 || !realpath(link, real) || !realpath(mpi->libraries, want))
        return 0;
    to[length] = '\0';
    return (mpi->abi & tool_abi_of(basename(to))) && strcmp(dirname(real), want) == 0;
}

/* A program that is linked to no MPI may open one, and take its calls from the handle. Then it must find the library
 * with that name in lib/tutti/, see tools/CMakeLists.txt. It has to open the launcher's MPI in any case. */
static void stand_in_place(const struct tool_start *start)
{
    char *folders = start->preload ? tool_installed_library("tutti") : NULL;
    char *pattern = tool_print("%s/*/libtutti-mpi.so", folders ? folders : "");
    glob_t found;
    if (folders && !start->program->abi && !start->program->inside && glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            if (leads_to(start->mpi, found.gl_pathv[i]))
                path_first(dirname(found.gl_pathv[i]));
        }
        globfree(&found);
    }
    free(pattern);
    free(folders);
}

void tool_start_line(const struct tool_start *start, struct tool_words *line)
{
    tool_words_add(line, start->mpi->launcher);
    if (start->mpi->family == TOOL_IMPI || !start->mpi->listed)
        tool_path_first(start->mpi->launcher);
    tool_words_add(line, "-n");
    tool_words_take(line, tool_print("%d", start->ranks));
    find_libraries(start);
    stand_in_place(start);
    /* Streams that share one of the GPU's few queues wait behind each other's kernels. Under MPS all processes of a GPU
     * have one pool of queues: with 32 for each, the fourth process could make no context (H200). */
    if (!is_under_mps())
        setting_standard("CUDA_DEVICE_MAX_CONNECTIONS", "32");
    char *preload = start->preload ? preload_value(start) : NULL;
    if (preload && takes_gpu_memory() && !getenv("CRAY_MPICH_DIR") && !getenv("CRAY_MPICH_VERSION"))
        setting_standard("MPICH_GPU_SUPPORT_ENABLED", "1");
    if (start->mpi->family == TOOL_OPENMPI)
        openmpi_line(start, line, preload);
    else
        hydra_line(start, line, preload);
    free(preload);
    if (start->arguments && tool_words_split(line, start->arguments) != 0)
        tool_refuse("--mpi-args '%s': a quote is not closed", start->arguments);
    /* The file that was read: a launcher may put folders of its own first in the PATH of the ranks. */
    tool_words_add(line, strchr(start->command[0], '/') ? start->command[0] : start->program->path);
    for (char **word = start->command + 1; *word; word++)
        tool_words_add(line, *word);
}
