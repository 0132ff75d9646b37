/* A library that is loaded behind Tutti, so Tutti's calls reach it in the MPI's place. late_look() makes one look at an
 * incomplete request, by a thread other than the first, return 4 s after the MPI has answered. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void late_look(void);
static atomic_int is_late;

void late_look(void)
{
    atomic_store(&is_late, 1);
}

int PMPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    int (*real)(MPI_Request, int *, MPI_Status *);
    *(void **)(void *)&real = dlsym(RTLD_NEXT, "PMPI_Request_get_status");
    const int code = real(request, flag, status);
    if (code == MPI_SUCCESS && !*flag && syscall(SYS_gettid) != getpid() && atomic_exchange(&is_late, 0))
        nanosleep(&(const struct timespec){4, 0}, NULL);
    return code;
}
