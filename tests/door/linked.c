/* linked [off]: a program that is linked with libtutti.so calls what its MPI may lack, without looking for it first.
 * With Tutti off (TUTTI_DEVICE=none) each call has the MPI's own answer, or works without a device, or fails through
 * the error handler. The loader ends no such program. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#if MPI_VERSION < 4
int MPI_Allreduce_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Isendrecv(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm,
                  MPI_Request *);
int MPI_Barrier_init(MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Bcast_init(void *, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Allreduce_init(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Psend_init(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
#endif
#if MPI_VERSION < 4 || (MPI_VERSION == 4 && MPI_SUBVERSION < 1)
int MPI_Request_get_status_any(int, const MPI_Request[], int *, int *, MPI_Status *);
int MPI_Comm_attach_buffer(MPI_Comm, void *, int);
int MPI_Comm_detach_buffer(MPI_Comm, void *, int *);
#endif
int MPIX_Query_cuda_support(void);
int MPIX_GPU_query_support(int, int *);

static int wrong, off, raised;
static void *mpi;

static void check(int good, const char *name, const char *what)
{
    if (!good && wrong++ < 20)
        fprintf(stderr, "wrong: %s: %s\n", name, what);
}

static void linked_raise(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    raised++;
}

static void *linked_own(const char *name)
{
    return dlsym(mpi, name);
}

/* A host device takes no CUDA memory: the answers are the MPI's own, or no. */
static void linked_queries(void)
{
    int (*query)(void), (*support)(int, int *), is = -1, own = 0;
    *(void **)(void *)&query = linked_own("MPIX_Query_cuda_support");
    *(void **)(void *)&support = linked_own("MPIX_GPU_query_support");
    check(MPIX_Query_cuda_support() == (query ? query() : 0), "MPIX_Query_cuda_support", "another answer");
    if (support)
        support(0, &own);
    check(MPIX_GPU_query_support(0, &is) == MPI_SUCCESS && is == own, "MPIX_GPU_query_support", "another answer");
}

/* After a call that makes a request (or none): it works if the MPI has it or Tutti supplies it, and fails otherwise. */
static void linked_made(const char *name, int supplied, int code, MPI_Request *request)
{
    int kind = MPI_SUCCESS;
    if (linked_own(name) || supplied) {
        check(code == MPI_SUCCESS && !raised, name, "fails");
        if (code == MPI_SUCCESS && *request != MPI_REQUEST_NULL)
            MPI_Request_free(request);
    } else {
        MPI_Error_class(code, &kind);
        check(kind == MPI_ERR_UNSUPPORTED_OPERATION && raised == 1, name, "does not fail through the error handler");
    }
    raised = 0;
    *request = MPI_REQUEST_NULL;
}

static void linked_calls(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int out = 7, in = 0, index, flag, code;
    code = MPI_Request_get_status_any(1, &request, &index, &flag, MPI_STATUS_IGNORE);
    check(code == MPI_SUCCESS && flag && index == MPI_UNDEFINED, "MPI_Request_get_status_any", "fails");
    code = MPI_Allreduce_c(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    check(code == MPI_SUCCESS && in == 7, "MPI_Allreduce_c", "fails");

    in = 0;
    code = MPI_Isendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    if (code == MPI_SUCCESS) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(in == 7, "MPI_Isendrecv", "does not work");
    }
    linked_made("MPI_Isendrecv", !off, code, &request);
    linked_made("MPI_Barrier_init", !off, MPI_Barrier_init(MPI_COMM_SELF, MPI_INFO_NULL, &request), &request);
    code = MPI_Bcast_init(&out, 1, MPI_INT, 0, MPI_COMM_SELF, MPI_INFO_NULL, &request);
    linked_made("MPI_Bcast_init", !off, code, &request);
    code = MPI_Allreduce_init(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, MPI_INFO_NULL, &request);
    linked_made("MPI_Allreduce_init", !off, code, &request);
    if (!off || !linked_own("MPI_Psend_init")) { /* MPICH 4.0's own ends in a segmentation fault */
        code = MPI_Psend_init(&out, 1, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_INFO_NULL, &request);
        linked_made("MPI_Psend_init", !off, code, &request);
    }

    char buffer[4096 + MPI_BSEND_OVERHEAD]; /* Tutti does not supply this one */
    code = MPI_Comm_attach_buffer(MPI_COMM_SELF, buffer, (int)sizeof buffer);
    if (code == MPI_SUCCESS) {
        void *back;
        int size;
        MPI_Comm_detach_buffer(MPI_COMM_SELF, &back, &size);
    }
    linked_made("MPI_Comm_attach_buffer", 0, code, &request);
}

int main(int argc, char **argv)
{
    Dl_info where;
    MPI_Errhandler handler;
    int (*call)(int *, int *) = MPI_Get_version; /* not one of the stub's */
    void *at;
    off = argc > 1 && strcmp(argv[1], "off") == 0;
    memcpy(&at, &call, sizeof at);
    mpi = dladdr(at, &where) ? dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!mpi)
        return 2;
#ifdef OPEN_MPI
    linked_queries(); /* MPICH's own ends the program before MPI_Init */
#endif
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(linked_raise, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    linked_queries();
    linked_calls();
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    return wrong != 0;
}
