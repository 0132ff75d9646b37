/* A tool that counts puts of longs of all PEs, and prints the sum at the end. */
#include <pshmem.h>
#include <stdio.h>

static long calls;

void shmem_long_put(long *dest, const long *source, size_t nelems, int pe)
{
    calls++;
    pshmem_long_put(dest, source, nelems, pe);
}

void shmem_finalize(void)
{
    long *sum = (long *)pshmem_malloc(sizeof *sum);
    *sum = 0;
    pshmem_barrier_all();
    pshmem_long_atomic_add(sum, calls, 0);
    pshmem_barrier_all();
    if (pshmem_my_pe() == 0)
        printf("tool: %ld puts of longs\n", *sum);
    pshmem_finalize();
}
