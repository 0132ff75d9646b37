/* A profiling library as mpiP, Score-P and Darshan are: it counts calls and hands them on. With FIND it looks for
 * PMPI_x by dlsym(RTLD_NEXT), as Darshan does; otherwise it calls PMPI_x by name, as the others do. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

__attribute__((visibility("default"))) int profiler_calls(const char *name);

enum { INIT, SEND, RECV, ALLREDUCE, BCAST, FINALIZE, CALLS };
static const char *const names[CALLS] = {"MPI_Init",      "MPI_Send",  "MPI_Recv",
                                         "MPI_Allreduce", "MPI_Bcast", "MPI_Finalize"};
static int calls[CALLS];

int profiler_calls(const char *name)
{
    for (int i = 0; i < CALLS; i++) {
        if (strcmp(names[i], name) == 0)
            return calls[i];
    }
    return -1;
}

#ifdef INNER
#define FIND
#define NAME(name) P##name
#else
#define NAME(name) name
#endif
#ifdef FIND
#define CALL(name, ...)                                                                                                \
    int (*real)(__VA_ARGS__);                                                                                          \
    *(void **)(void *)&real = dlsym(RTLD_NEXT, "P" #name)
#define REAL(name) real
#else
#define CALL(name, ...) (void)0
#define REAL(name)      P##name
#endif

int NAME(MPI_Init)(int *argc, char ***argv)
{
    CALL(MPI_Init, int *, char ***);
    calls[INIT]++;
    return REAL(MPI_Init)(argc, argv);
}

int NAME(MPI_Send)(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    CALL(MPI_Send, const void *, int, MPI_Datatype, int, int, MPI_Comm);
    calls[SEND]++;
    return REAL(MPI_Send)(buffer, count, type, to, tag, comm);
}

int NAME(MPI_Recv)(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    CALL(MPI_Recv, void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    calls[RECV]++;
    return REAL(MPI_Recv)(buffer, count, type, from, tag, comm, status);
}

int NAME(MPI_Allreduce)(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    CALL(MPI_Allreduce, const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    calls[ALLREDUCE]++;
    return REAL(MPI_Allreduce)(in, out, count, type, op, comm);
}

int NAME(MPI_Bcast)(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    CALL(MPI_Bcast, void *, int, MPI_Datatype, int, MPI_Comm);
    calls[BCAST]++;
    return REAL(MPI_Bcast)(buffer, count, type, root, comm);
}

int NAME(MPI_Finalize)(void)
{
    CALL(MPI_Finalize, void);
    calls[FINALIZE]++;
    return REAL(MPI_Finalize)();
}
