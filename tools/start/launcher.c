#include "tools/start/launcher.h"

#include <glob.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name, *title;
} families[TOOL_FAMILIES] = {
    [TOOL_OPENMPI] = {"openmpi", "Open MPI"},
    [TOOL_MPICH] = {"mpich", "MPICH"},
    [TOOL_IMPI] = {"impi", "Intel MPI"},
};

/* Names of installed launchers; distributions add the family's name so that several can be installed. */
static const char *const launchers[] = {"mpirun",         "mpiexec",         "mpiexec.hydra",
                                        "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich",
                                        "mpiexec.mpich",  "orterun",         "mpirun.hydra"};
enum { LAUNCHERS = sizeof launchers / sizeof launchers[0] };

const char *tool_family_name(enum tool_family family)
{
    return families[family].name;
}

const char *tool_family_title(enum tool_family family)
{
    return families[family].title;
}

const char *tool_abi_name(int abi)
{
    return abi == TOOL_ABI_OPENMPI ? "openmpi" : abi == TOOL_ABI_MPICH ? "mpich" : "mpiabi";
}

const char *tool_abi_title(int abi)
{
    return abi == TOOL_ABI_OPENMPI ? "Open MPI" : abi == TOOL_ABI_MPICH ? "MPICH ABI" : "standard ABI";
}

/* The word after `before`, where a version begins. */
static int version_after(const char *text, const char *before, char out[32])
{
    const char *at = strstr(text, before);
    if (!at)
        return 0;
    at += strlen(before);
    at += strspn(at, " \t");
    size_t n = strspn(at, "0123456789.abcdefghijklmnopqrstuvwxyz");
    snprintf(out, 32, "%.*s", n < 31 ? (int)n : 31, at);
    return n > 0;
}

static int read_version(struct tool_mpi *mpi)
{
    char text[4096], *argv[] = {mpi->launcher, (char *)"--version", NULL};
    if (tool_capture(argv, 10, text, sizeof text) < 0)
        return 0;
    if (version_after(text, "(Open MPI)", mpi->version) || version_after(text, "(OpenRTE)", mpi->version))
        mpi->family = TOOL_OPENMPI;
    else if (strstr(text, "Intel(R) MPI") && version_after(text, "Version", mpi->version))
        mpi->family = TOOL_IMPI;
    else if (strstr(text, "HYDRA") && version_after(text, "Version:", mpi->version))
        mpi->family = TOOL_MPICH;
    else
        return 0;
    return 1;
}

static int family_offers(enum tool_family family, int abi)
{
    return family == TOOL_OPENMPI ? (abi & TOOL_ABI_OPENMPI) : (abi & (TOOL_ABI_MPICH | TOOL_ABI_STANDARD));
}

/* Interfaces of the libraries of `family` in the folder. Distributions put several MPIs into one folder: then
 * libmpich.so.12 is MPICH's, and libmpi.so.12 is not Open MPI's. */
static int folder_offers(enum tool_family family, const char *folder)
{
    static const char *const names[] = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi_abi.so.1",
                                        "libmpi_abi.so.0"};
    int abi = 0;
    for (int i = 0; i < 5; i++) {
        char path[PATH_MAX + 32];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (access(path, R_OK) == 0)
            abi |= family_offers(family, tool_abi_of(names[i]));
    }
    return abi;
}

static void find_libraries(struct tool_mpi *mpi)
{
    static const char *const patterns[] = {"lib", "lib64", "lib/*-linux-gnu", "lib/release"};
    for (int i = 0; i < 4; i++) {
        char pattern[PATH_MAX + 32];
        snprintf(pattern, sizeof pattern, "%s/%s", mpi->prefix, patterns[i]);
        glob_t found;
        if (glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t f = 0; f < found.gl_pathc; f++) {
            int abi = folder_offers(mpi->family, found.gl_pathv[f]);
            if (abi && !mpi->abi) {
                mpi->abi = abi;
                snprintf(mpi->libraries, sizeof mpi->libraries, "%s", found.gl_pathv[f]);
            }
        }
        globfree(&found);
    }
}

/* Describes the launcher; 0 if the file is not a launcher. */
static int read_launcher(const char *path, struct tool_mpi *out)
{
    *out = (struct tool_mpi){.abi = 0};
    snprintf(out->launcher, sizeof out->launcher, "%s", path);
    struct stat s;
    if (stat(path, &s) != 0 || !S_ISREG(s.st_mode) || access(path, X_OK) != 0 || !read_version(out))
        return 0;
    char copy[PATH_MAX], real[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    if (!realpath(dirname(copy), real))
        return 0;
    snprintf(out->prefix, sizeof out->prefix, "%s", dirname(real));
    find_libraries(out);
    return 1;
}

/* Adds the MPIs of one folder of programs, each family once. */
static void add_folder(struct tool_mpis *out, const char *folder, int listed)
{
    char real[PATH_MAX], copy[PATH_MAX];
    if (!realpath(folder, real))
        return;
    snprintf(copy, sizeof copy, "%s", real);
    const char *prefix = dirname(copy);
    int seen[TOOL_FAMILIES] = {0};
    for (int i = 0; i < out->n; i++) {
        if (strcmp(out->mpi[i].prefix, prefix) == 0)
            return; /* found already, perhaps under another name, as /bin and /usr/bin */
    }
    for (int i = 0; i < LAUNCHERS && out->n < TOOL_MPIS; i++) {
        char path[PATH_MAX + 32];
        snprintf(path, sizeof path, "%s/%s", real, launchers[i]);
        struct tool_mpi *mpi = &out->mpi[out->n];
        if (access(path, X_OK) != 0 || !read_launcher(path, mpi) || seen[mpi->family])
            continue;
        seen[mpi->family] = 1;
        mpi->listed = listed;
        out->n++;
    }
}

void tool_mpis_find(struct tool_mpis *out)
{
    out->n = 0;
    const char *path = getenv("PATH");
    for (; path && *path; path += *path == ':') {
        size_t n = strcspn(path, ":");
        char *folder = tool_print("%.*s", (int)n, path);
        if (n > 0)
            add_folder(out, folder, 1);
        free(folder);
        path += n;
    }
}

/* The program's MPI library lies in FOLDER/..: its launcher may be there without being in PATH. */
static void add_beside(struct tool_mpis *mpis, const char *library)
{
    char real[PATH_MAX];
    if (*library == '\0' || !realpath(library, real))
        return;
    for (int up = 0; up < 3; up++) {
        dirname(real);
        char *folder = tool_print("%s/bin", real);
        add_folder(mpis, folder, 0);
        free(folder);
    }
}

static int same_folder(const char *library, const char *folder)
{
    char a[PATH_MAX], b[PATH_MAX];
    return *library && *folder && realpath(library, a) && realpath(folder, b) && strcmp(dirname(a), b) == 0;
}

static int mpi_serves(const struct tool_mpi *mpi, const struct tool_program *program)
{
    if (program->inside) /* its libraries are not needed */
        return program->inside == TOOL_ABI_UNKNOWN || family_offers(mpi->family, program->inside);
    if (!program->abi)
        return 1;
    return mpi->abi ? (mpi->abi & program->abi) != 0 : family_offers(mpi->family, program->abi) != 0;
}

static void refuse_unfit(const struct tool_mpi *mpi, const struct tool_program *program)
{
    if (program->inside)
        tool_refuse(
            "%s is linked statically with %s, which the launcher of %s %s does not start: name an MPI that does "
            "with --mpi",
            program->path, program->inside == TOOL_ABI_OPENMPI ? "Open MPI" : "MPICH or Intel MPI",
            tool_family_title(mpi->family), mpi->version);
    tool_refuse(
        "%s needs %s (%s), which %s %s does not offer: name an MPI that does with --mpi, or build the program with "
        "that MPI's compiler",
        program->path, program->library, tool_abi_title(program->abi), tool_family_title(mpi->family), mpi->version);
}

static const struct tool_mpi *choose_named(struct tool_mpis *mpis, const struct tool_program *program, int family)
{
    const struct tool_mpi *unfit = NULL;
    for (int i = 0; i < mpis->n; i++) {
        const struct tool_mpi *mpi = &mpis->mpi[i];
        if ((int)mpi->family != family)
            continue;
        if (mpi_serves(mpi, program))
            return mpi;
        unfit = mpi;
    }
    if (unfit)
        refuse_unfit(unfit, program);
    tool_refuse(
        "--mpi %s: no launcher of %s in PATH; `tutti info` lists what is there, and --mpi takes a launcher or the "
        "folder of an MPI too",
        families[family].name, families[family].title);
}

static const struct tool_mpi *choose_path(struct tool_mpis *mpis, const struct tool_program *program, const char *path)
{
    struct stat s;
    char found[PATH_MAX];
    if (stat(path, &s) != 0 && tool_program_find(path, found))
        path = found;
    if (stat(path, &s) != 0)
        tool_refuse("--mpi %s: there is no such launcher or folder; a name is one of openmpi, mpich, impi", path);
    mpis->n = 0;
    if (S_ISDIR(s.st_mode)) {
        char *folder = tool_print("%s/bin", path);
        add_folder(mpis, folder, 0);
        if (mpis->n == 0)
            add_folder(mpis, path, 0);
        free(folder);
    } else {
        mpis->n += read_launcher(path, &mpis->mpi[0]);
    }
    if (mpis->n == 0)
        tool_refuse("--mpi %s: no launcher of Open MPI, MPICH or Intel MPI", path);
    for (int i = 0; i < mpis->n; i++) {
        if (mpi_serves(&mpis->mpi[i], program))
            return &mpis->mpi[i];
    }
    refuse_unfit(&mpis->mpi[0], program);
    return NULL;
}

/* A script or interpreter of a virtual environment is started by the MPI of that environment, if there is one. */
static const struct tool_mpi *environment_mpi(struct tool_mpis *mpis, const struct tool_program *program)
{
    char path[PATH_MAX];
    if (!tool_program_find(program->interpreter[0] ? program->interpreter : program->path, path))
        return NULL;
    const char *folder = dirname(path);
    char *mark = tool_print("%s/../pyvenv.cfg", folder);
    int environment = access(mark, F_OK) == 0;
    free(mark);
    if (!environment)
        return NULL;
    char real[PATH_MAX];
    if (!realpath(folder, real))
        return NULL;
    add_folder(mpis, real, 0);
    const char *prefix = dirname(real);
    for (int i = 0; i < mpis->n; i++) {
        if (strcmp(mpis->mpi[i].prefix, prefix) == 0)
            return &mpis->mpi[i];
    }
    return NULL;
}

const struct tool_mpi *tool_mpi_choose(struct tool_mpis *mpis, const struct tool_program *program, const char *wanted,
                                       int *guessed)
{
    *guessed = 0;
    if (wanted) {
        const char *names[TOOL_FAMILIES];
        for (int f = 0; f < TOOL_FAMILIES; f++) {
            names[f] = families[f].name;
            if (strcmp(wanted, names[f]) == 0)
                return choose_named(mpis, program, f);
        }
        const char *near =
            strchr(wanted, '/') || access(wanted, F_OK) == 0 ? NULL : tool_nearest(wanted, names, TOOL_FAMILIES);
        if (near)
            tool_refuse("--mpi %s is not known: did you mean %s?", wanted, near);
        return choose_path(mpis, program, wanted);
    }
    const struct tool_mpi *own = program->abi || program->inside ? NULL : environment_mpi(mpis, program);
    if (own) {
        *guessed = 1;
        return own;
    }
    if (program->abi)
        add_beside(mpis, program->resolved);
    for (int i = 0; i < mpis->n; i++) {
        if (program->abi && mpi_serves(&mpis->mpi[i], program) &&
            same_folder(program->resolved, mpis->mpi[i].libraries))
            return &mpis->mpi[i];
    }
    for (int i = 0; i < mpis->n; i++) {
        if (mpi_serves(&mpis->mpi[i], program)) {
            *guessed = program->inside ? program->inside == TOOL_ABI_UNKNOWN : !program->abi || program->resolved[0];
            return &mpis->mpi[i];
        }
    }
    if (mpis->n == 0)
        tool_refuse(
            "no MPI was found: no mpirun or mpiexec of Open MPI, MPICH or Intel MPI in PATH; install openmpi-bin or "
            "mpich, or name one with --mpi");
    refuse_unfit(&mpis->mpi[0], program);
    return NULL;
}
