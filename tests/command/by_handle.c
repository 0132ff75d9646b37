/* An MPI program that opens its MPI by name and takes each call from the handle, as MPI.jl and numba-mpi do:
 * by_handle LIBRARY [host]. It passes device memory, which only Tutti can take; with `host`, host memory alone. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "tutti/tutti.h"

static void *mpi;

#ifdef OMPI_PREDEFINED_GLOBAL /* predefined handles are addresses of the library's data */
static void *data(const char *name)
{
    return dlsym(mpi, name);
}
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)data(#global))
#endif

#define CALL(name, ...)                                                                                                \
    static int (*name)(__VA_ARGS__);                                                                                   \
    *(void **)(void *)&name = dlsym(mpi, "MPI_" #name)

int main(int argc, char **argv)
{
    enum { COUNT = 1000 };
    int in[COUNT], out[COUNT], rank = -1, size = 0, wrong = 0;
    const int host = argc > 2 && strcmp(argv[2], "host") == 0;
    void *from = in, *to = out;
    mpi = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!mpi) {
        fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "which library?");
        return 4;
    }
    CALL(Init, int *, char ***);
    CALL(Comm_rank, MPI_Comm, int *);
    CALL(Comm_size, MPI_Comm, int *);
    CALL(Allreduce, const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    CALL(Finalize, void);
    if (!Init || !Comm_rank || !Comm_size || !Allreduce || !Finalize)
        return 5;
    Init(&argc, &argv);
    Comm_rank(MPI_COMM_WORLD, &rank);
    Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < COUNT; i++)
        in[i] = rank + i;
    if (!host && (tutti_alloc(sizeof in, &from) != 0 || tutti_alloc(sizeof out, &to) != 0))
        return 6;
    if (!host)
        tutti_copy(from, in, sizeof in);
    Allreduce(from, to, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!host)
        tutti_copy(out, to, sizeof out);
    for (int i = 0; i < COUNT; i++)
        wrong += out[i] != size * (size - 1) / 2 + size * i;
    if (rank == 0)
        printf("by handle: %d ranks, %d wrong\n", size, wrong);
    Finalize();
    return wrong != 0;
}
