/* Calls that Tutti makes of the MPI: a library that is called in the MPI's place counts those of all ranks or with
 * messages of their own, and files in memory that Tutti makes. */
#include <dlfcn.h>
#include <mpi.h>
#include <string.h>
#include <sys/mman.h>

__attribute__((visibility("default"))) int counting_calls(void);

static int calls;

int counting_calls(void)
{
    return calls;
}

#define COUNTED(name, parameters, arguments)                                                                           \
    int P##name parameters                                                                                             \
    {                                                                                                                  \
        static int(*real) parameters;                                                                                  \
        if (!real)                                                                                                     \
            *(void **)(void *)&real = dlsym(RTLD_NEXT, "P" #name);                                                     \
        calls++;                                                                                                       \
        return real arguments;                                                                                         \
    }
COUNTED(MPI_Allreduce, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
        (in, out, count, type, op, comm))
COUNTED(MPI_Bcast, (void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
        (buffer, count, type, root, comm))
COUNTED(MPI_Allgather,
        (const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count, MPI_Datatype out_type,
         MPI_Comm comm),
        (in, in_count, in_type, out, out_count, out_type, comm))
COUNTED(MPI_Barrier, (MPI_Comm comm), (comm))
COUNTED(MPI_Win_allocate, (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
        (size, unit, info, comm, base, win))
COUNTED(MPI_Isend,
        (const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request),
        (buffer, count, type, to, tag, comm, request))

int memfd_create(const char *name, unsigned flags)
{
    static int (*real)(const char *, unsigned);
    if (!real)
        *(void **)(void *)&real = dlsym(RTLD_NEXT, "memfd_create");
    calls += strncmp(name, "tutti", 5) == 0;
    return real(name, flags);
}
