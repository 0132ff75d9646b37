/* A library behind Tutti, in place of an MPI that attaches a few regions to dynamic windows and refuses further ones,
 * as Open MPI does (osc_rdma_max_attach). Its own attach does not return once it has refused one (4.1). */
#include <dlfcn.h>
#include <mpi.h>

enum { MOST = 5 };
static int attached;

int PMPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    int (*real)(MPI_Win, void *, MPI_Aint);
    *(void **)(void *)&real = dlsym(RTLD_NEXT, "PMPI_Win_attach");
    if (attached == MOST)
        return MPI_ERR_RMA_ATTACH;
    attached++;
    return real(win, base, size);
}

int PMPI_Win_detach(MPI_Win win, const void *base)
{
    int (*real)(MPI_Win, const void *);
    *(void **)(void *)&real = dlsym(RTLD_NEXT, "PMPI_Win_detach");
    attached--;
    return real(win, base);
}
