/* A library that looks for the MPI's calls before it uses them, by weak references as mpi4py does and by dlsym: it
 * finds what the MPI has and what Tutti supplies, and nothing else. What it finds works. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#ifndef MPI_SESSION_NULL
typedef void *names_session;
#define MPI_Session names_session
#endif
#if MPI_VERSION < 4 || (MPI_VERSION == 4 && MPI_SUBVERSION < 1)
int MPI_Comm_attach_buffer(MPI_Comm, void *, int);
int MPI_Comm_detach_buffer(MPI_Comm, void *, int *);
int MPI_Request_get_status_any(int, const MPI_Request[], int *, int *, MPI_Status *);
#endif
#if MPI_VERSION < 4
int MPI_Comm_idup_with_info(MPI_Comm, MPI_Info, MPI_Comm *, MPI_Request *);
int MPI_Session_init(MPI_Info, MPI_Errhandler, MPI_Session *);
int PMPI_Session_init(MPI_Info, MPI_Errhandler, MPI_Session *);
int MPI_Session_finalize(MPI_Session *);
int MPI_Isendrecv(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm,
                  MPI_Request *);
int MPI_Barrier_init(MPI_Comm, MPI_Info, MPI_Request *);
#endif
#pragma weak MPI_Comm_attach_buffer
#pragma weak MPI_Comm_detach_buffer
#pragma weak MPI_Request_get_status_any
#pragma weak MPI_Comm_idup_with_info
#pragma weak MPI_Session_init
#pragma weak PMPI_Session_init
#pragma weak MPI_Session_finalize
#pragma weak MPI_Isendrecv
#pragma weak MPI_Barrier_init

static const char *const every[] = {
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments) #name,
#include "mpi/real/calls.inc"
};

static const struct {
    const char *name;
    int off; /* with Tutti off, too */
} supplied[] = {
#define TUTTI_SUPPLIED(name, off) {#name, off},
#include "mpi/real/supplied.def"
};

int names_module(int off);

static int wrong;

static void check(int good, const char *what, const char *name)
{
    if (!good && wrong++ < 20)
        fprintf(stderr, "wrong: %s: %s\n", name, what);
}

/* Whether the program is to find the call: the MPI's own library has it, or Tutti supplies it. */
static int expected(void *mpi, const char *name, int off)
{
    char plain[128];
    const size_t length = strlen(name);
    if (dlsym(mpi, name))
        return 1;
    snprintf(plain, sizeof plain, "%s", name);
    if (length > 2 && strcmp(name + length - 2, "_c") == 0) {
        plain[length - 2] = '\0';
        if (dlsym(mpi, plain))
            return 1;
    }
    for (size_t i = 0; i < sizeof supplied / sizeof supplied[0]; i++) {
        if (strcmp(supplied[i].name, plain) == 0)
            return supplied[i].off || !off;
    }
    return 0;
}

static void *names_of_mpi(void)
{
    Dl_info where;
    int (*call)(int *, int *) = MPI_Get_version; /* not one of the stub's */
    void *at;
    memcpy(&at, &call, sizeof at);
    return dladdr(at, &where) ? dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

static void names_look(void *mpi, int off)
{
    void *self = dlopen(NULL, RTLD_LAZY);
    for (size_t i = 0; i < sizeof every / sizeof every[0]; i++) {
        char profiling[130];
        const int is_there = expected(mpi, every[i], off);
        snprintf(profiling, sizeof profiling, "P%s", every[i]);
        check(!is_there || dlsym(RTLD_DEFAULT, every[i]), "is not found", every[i]);
        check(is_there || !dlsym(RTLD_DEFAULT, every[i]), "is found", every[i]);
        check(is_there || !dlsym(RTLD_DEFAULT, profiling), "is found", profiling);
        check(is_there || !dlsym(self, every[i]), "is found in the program", every[i]);
    }
    dlclose(self);
}

static void names_weak(void *mpi, int off)
{
#define WEAK(name)                                                                                                     \
    check((name != NULL) == expected(mpi, #name, off), name ? "is there" : "is not there", #name " as a weak reference")
    WEAK(MPI_Comm_attach_buffer);
    WEAK(MPI_Comm_detach_buffer);
    WEAK(MPI_Request_get_status_any);
    WEAK(MPI_Comm_idup_with_info);
    WEAK(MPI_Session_init);
    WEAK(MPI_Session_finalize);
    WEAK(MPI_Isendrecv);
    WEAK(MPI_Barrier_init);
    check((PMPI_Session_init != NULL) == expected(mpi, "MPI_Session_init", off), "as a weak reference",
          "PMPI_Session_init");
}

static int names_wait(MPI_Request *request)
{
    return MPI_Wait(request, MPI_STATUS_IGNORE); /* NOLINT(clang-analyzer-optin.mpi.MPI-Checker) */
}

static void names_use(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int index = 0, flag = 0, out = 7, in = 0;
    if (MPI_Request_get_status_any)
        check(MPI_Request_get_status_any(1, &request, &index, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag &&
                  index == MPI_UNDEFINED,
              "does not work", "MPI_Request_get_status_any");
    if (MPI_Isendrecv)
        check(MPI_Isendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request) == MPI_SUCCESS &&
                  names_wait(&request) == MPI_SUCCESS && in == 7,
              "does not work", "MPI_Isendrecv");
    if (MPI_Barrier_init)
        check(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request) == MPI_SUCCESS &&
                  MPI_Start(&request) == MPI_SUCCESS && names_wait(&request) == MPI_SUCCESS &&
                  MPI_Request_free(&request) == MPI_SUCCESS,
              "does not work", "MPI_Barrier_init");
    if (MPI_Comm_idup_with_info) {
        MPI_Comm comm;
        check(MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm, &request) == MPI_SUCCESS &&
                  names_wait(&request) == MPI_SUCCESS && MPI_Comm_free(&comm) == MPI_SUCCESS,
              "does not work", "MPI_Comm_idup_with_info");
    }
    if (MPI_Comm_attach_buffer && MPI_Comm_detach_buffer) {
        char buffer[4096 + MPI_BSEND_OVERHEAD];
        void *back;
        int size;
        check(MPI_Comm_attach_buffer(MPI_COMM_SELF, buffer, (int)sizeof buffer) == MPI_SUCCESS &&
                  MPI_Comm_detach_buffer(MPI_COMM_SELF, &back, &size) == MPI_SUCCESS && back == buffer,
              "does not work", "MPI_Comm_attach_buffer");
    }
    if (MPI_Session_init && MPI_Session_finalize) {
        MPI_Session session;
        check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS &&
                  MPI_Session_finalize(&session) == MPI_SUCCESS,
              "does not work", "MPI_Session_init");
    }
}

int names_module(int off)
{
    void *mpi = names_of_mpi();
    if (!mpi)
        return 2;
    names_weak(mpi, off);
    names_look(mpi, off);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    names_look(mpi, off);
    names_use();
    MPI_Finalize();
    dlclose(mpi);
    return wrong != 0;
}
