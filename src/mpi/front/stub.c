/* The preload stub: finds the MPI that the program has loaded, and the front end that was built for its interface.
 * Needs nothing but libc, and does nothing in a process that calls no MPI. */
#include "mpi/real/stub.h"

#include "mpi/front/stub_names.h"
#include "mpi/front/stub_next.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments) CALL_##name,
#include "mpi/real/calls.inc"
    CALLS
};

static const char *const names[CALLS] = {
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments) #name,
#include "mpi/real/calls.inc"
};

extern void *volatile tutti_stub_table[CALLS];
extern void *volatile tutti_stub_outer[CALLS];
extern void *const tutti_stub_lacking_table[CALLS];
void tutti_stub_resolve(void *volatile *slot);
void tutti_stub_lacking(void *volatile *slot) __attribute__((noreturn));
__attribute__((visibility("default"))) int tutti_mpix_type(int which, void *handle, size_t size);
__attribute__((visibility("default"))) void *tutti_mpix_call(const char *name, size_t size);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int resolved;
static tutti_front_mpix_type_fn *mpix_type;
static tutti_front_mpix_call_fn *mpix_call;
static void *wraps[CALLS], *beneath[CALLS]; /* profiling libraries, see stub_next.c */

static void stub_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void stub_say(const char *format, ...)
{
    char line[1024] = "tutti: ";
    size_t at = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + at, sizeof line - at - 1, format, arguments);
    va_end(arguments);
    at = strlen(line);
    line[at++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, at);
    (void)written;
}

/* TUTTI_LOG is read here as well: the core is not loaded yet. */
static int stub_quiet(int *verbose)
{
    const char *level = getenv("TUTTI_LOG");
    *verbose = level && (strcmp(level, "info") == 0 || strcmp(level, "debug") == 0);
    return level && (strcmp(level, "quiet") == 0 || strcmp(level, "error") == 0);
}

struct found {
    char path[TUTTI_STUB_LIBRARIES][4096];
};

static int stub_look(struct dl_phdr_info *info, size_t size, void *with)
{
    struct found *found = with;
    int rank;
    (void)size;
    if (tutti_stub_is_mpi(info->dlpi_name, &rank) && !found->path[rank][0])
        snprintf(found->path[rank], sizeof found->path[rank], "%s", info->dlpi_name);
    return 0;
}

/* A function of the MPI that `library` leads to. The stub does not export the calls that are asked for here: a library
 * of lib/tutti/ that replaces an MPI leads to the stub first. */
static void *stub_call_of(void *library)
{
    void *call = dlsym(library, "PMPI_Get_version");
    return call ? call : dlsym(library, "MPI_Get_version");
}

/* The loaded MPI; its path into `path`. A Fortran or C++ library leads to the library whose calls it uses. */
static void *find_mpi(char *path, size_t size)
{
    static struct found found;
    memset(&found, 0, sizeof found);
    dl_iterate_phdr(stub_look, &found);
    for (int i = 0; i < TUTTI_STUB_LIBRARIES; i++) {
        if (!found.path[i][0])
            continue;
        void *handle = dlopen(found.path[i], RTLD_LAZY | RTLD_NOLOAD);
        void *call = handle ? stub_call_of(handle) : NULL;
        Dl_info where;
        if (call && dladdr(call, &where) && where.dli_fname) {
            void *owner = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
            if (owner) {
                snprintf(path, size, "%s", where.dli_fname);
                dlclose(handle);
                return owner;
            }
        }
        if (handle)
            dlclose(handle);
    }
    return NULL;
}

static const char *front_name(void *mpi, const char *path)
{
    char real[PATH_MAX]; /* a link of lib/tutti/ has another name */
    const char *name = realpath(path, real) ? real : path, *slash = strrchr(name, '/'),
               *base = slash ? slash + 1 : name;
    if (dlsym(mpi, "ompi_mpi_comm_world"))
        return "libtutti-openmpi.so";
    if (strncmp(base, "libmpi_abi.so", strlen("libmpi_abi.so")) == 0)
        return "libtutti-mpiabi.so";
    return "libtutti-mpich.so";
}

static int open_front(const struct tutti_stub *stub, char *why, size_t size)
{
    Dl_info own;
    char file[4096 + 64];
    const char *name = front_name(stub->mpi, stub->path);
    if (!dladdr((const void *)&tutti_mpix_type, &own) || !own.dli_fname) {
        snprintf(why, size, "the place of libtutti.so is unknown");
        return -1;
    }
    const char *slash = strrchr(own.dli_fname, '/');
    snprintf(file, sizeof file, "%.*s%s", slash ? (int)(slash + 1 - own.dli_fname) : 0, own.dli_fname, name);
    void *front = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!front) {
        const char *text = dlerror();
        snprintf(why, size, "%s cannot be loaded (%s): build Tutti with this MPI's header", name, text ? text : "?");
        return -1;
    }
    tutti_front_open_fn *open_it = (tutti_front_open_fn *)dlsym(front, "tutti_front_open");
    if (!open_it) {
        snprintf(why, size, "%s is not a front end of Tutti", name);
        return -1;
    }
    int status = open_it(stub, why, size);
    if (status == 0) {
        mpix_type = (tutti_front_mpix_type_fn *)dlsym(front, "tutti_front_mpix_type");
        mpix_call = (tutti_front_mpix_call_fn *)dlsym(front, "tutti_front_mpix_call");
    }
    return status;
}

static void plain_table(void *mpi)
{
    for (int i = 0; i < CALLS; i++) {
        char real[128];
        snprintf(real, sizeof real, "P%s", names[i]);
        void *call = beneath[i] ? beneath[i] : dlsym(mpi, real);
        if (!call)
            call = dlsym(mpi, names[i]);
        tutti_stub_table[i] = call ? call : tutti_stub_lacking_table[i];
        if (!wraps[i])
            tutti_stub_outer[i] = tutti_stub_table[i];
    }
}

/* Opens the front end for the MPI that is loaded, once; the lock is held. 0 if no MPI is. */
static int stub_resolve(void)
{
    char path[4096], why[1024] = "";
    int verbose;
    void *mpi = resolved ? NULL : find_mpi(path, sizeof path);
    if (resolved || !mpi)
        return resolved;
    const char *profiler = tutti_stub_next(names, CALLS, stub_call_of(mpi), wraps, beneath);
    struct tutti_stub stub = {.version = TUTTI_STUB_VERSION,
                              .calls = CALLS,
                              .table = tutti_stub_table,
                              .outer = tutti_stub_outer,
                              .mpi = mpi,
                              .path = path,
                              .name = names,
                              .wraps = wraps,
                              .beneath = beneath};
    if (open_front(&stub, why, sizeof why) != 0) {
        plain_table(mpi);
        if (!stub_quiet(&verbose))
            stub_say("every call is passed on to %s: %s", path, why);
    } else if (!stub_quiet(&verbose) && verbose) {
        stub_say("in front of %s, through %s%s%s", path, front_name(mpi, path), profiler ? ", with the calls of " : "",
                 profiler ? profiler : "");
    }
    for (int i = 0; i < CALLS; i++) { /* last: the library's own calls come through the other table */
        if (wraps[i])
            tutti_stub_outer[i] = wraps[i];
    }
    resolved = 1;
    return 1;
}

/* Called at the program's first call, from whichever thread makes it. */
void tutti_stub_resolve(void *volatile *slot)
{
    pthread_mutex_lock(&lock);
    if (!stub_resolve()) {
        stub_say("%s was called, but no MPI library is loaded (libmpi.so, libmpich.so or libmpi_abi.so): "
                 "link the program with the MPI's shared library, or do not preload libtutti.so",
                 names[slot >= tutti_stub_outer && slot < tutti_stub_outer + CALLS ? slot - tutti_stub_outer
                                                                                   : slot - tutti_stub_table]);
        abort();
    }
    pthread_mutex_unlock(&lock);
}

void tutti_stub_lacking(void *volatile *slot)
{
    stub_say("%s was called, but the MPI that is loaded has no such call", names[slot - tutti_stub_table]);
    abort();
}

int tutti_mpix_type(int which, void *handle, size_t size)
{
    pthread_mutex_lock(&lock);
    tutti_front_mpix_type_fn *ask = mpix_type;
    pthread_mutex_unlock(&lock);
    return ask ? ask(which, handle, size) : -1;
}

/* A program that is written for NVSHMEM need not be linked with an MPI, though one has started it. 1 if the library
 * of that MPI is loaded now: the launcher's variable names it. */
static int load_mpi_of_launcher(void)
{
    static const struct {
        const char *variable, *library[3];
    } launchers[] = {
        {"OMPI_COMM_WORLD_SIZE", {"libmpi.so.40", "libmpi.so"}},
        {"PMI_SIZE", {"libmpich.so.12", "libmpi.so.12", "libmpich.so"}},
    };
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        for (size_t k = 0; getenv(launchers[i].variable) && k < 3 && launchers[i].library[k]; k++) {
            if (dlopen(launchers[i].library[k], RTLD_NOW | RTLD_GLOBAL))
                return 1;
        }
    }
    return 0;
}

/* The global address space may be asked for before any call of the MPI. */
void *tutti_mpix_call(const char *name, size_t size)
{
    pthread_mutex_lock(&lock);
    if (!stub_resolve() && strcmp(name, "tshmem_init") == 0 && load_mpi_of_launcher())
        stub_resolve();
    tutti_front_mpix_call_fn *ask = mpix_call;
    pthread_mutex_unlock(&lock);
    return ask ? ask(name, size) : NULL;
}

/* ---- the process ---- */

static pid_t began_as;

static int stub_is_off(void)
{
    const char *device = getenv("TUTTI_DEVICE");
    return device && strcmp(device, "none") == 0;
}

__attribute__((constructor)) static void begin(void)
{
    began_as = getpid();
    tutti_stub_names_open(names, stub_is_off());
}

/* Launchers give each rank its number; the first one speaks for all. */
static int stub_speaks(void)
{
    static const char *const numbers[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    if (stub_is_off())
        return 0;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const char *number = getenv(numbers[i]);
        if (number)
            return strcmp(number, "0") == 0;
    }
    return 1;
}

/* Says once that the program has used its MPI past the stub: then it has taken the calls from the MPI's own handle. */
__attribute__((destructor)) static void end(void)
{
    char path[4096];
    int initialized = 0, verbose, (*ask)(int *) = NULL;
    void *mpi =
        resolved || getpid() != began_as || stub_quiet(&verbose) || !stub_speaks() ? NULL : find_mpi(path, sizeof path);
    if (mpi)
        *(void **)(void *)&ask = dlsym(mpi, "PMPI_Initialized");
    if (ask && ask(&initialized) == 0 && initialized)
        stub_say(
            "Tutti was not in front: the program has taken the calls of %s by dlopen and dlsym. `tutti run` starts it "
            "with "
            "the folder of lib/tutti/ that replaces that library; without it, put the folder into "
            "LD_LIBRARY_PATH and open the library by its name alone",
            path);
}
