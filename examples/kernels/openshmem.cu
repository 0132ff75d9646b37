/* An OpenSHMEM program with a part of it moved into a kernel, under OpenSHMEM's own names: all PEs send each other a
 * number and count what they have got.
 *
 *     nvcc -ccbin mpicxx --forward-unknown-to-host-compiler -arch=native openshmem.cu \
 *          $(pkg-config --cflags --libs tutti-openshmem)
 *     mpicc -xc openshmem.cu $(pkg-config --cflags --libs tutti-openshmem)   (without a GPU)
 *     tutti run -n 4 ./a.out */
#include "kernels.h"

#include <shmem.h>

struct exchange {
    long *in, *sum; /* in[pe]: what that PE has sent */
    uint64_t *got;  /* how many have */
};

/* The numbers of the PEs are shared out among the threads. */
KERNEL exchange_all(struct exchange e)
{
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    for (int pe = block() * threads() + thread(); pe < npes; pe += blocks() * threads()) {
        shmem_long_p(e.in + me, 1000L * me + pe, pe);
        shmem_fence();
        shmem_signal_add(e.got, 1, pe);
        shmem_atomic_add(e.sum, (long)me, pe);
    }
    shmem_quiet();
    if (block() == 0 && thread() == 0)
        shmem_signal_wait_until(e.got, SHMEM_CMP_EQ, (uint64_t)npes);
}

int main(void)
{
    begin();
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    struct exchange e;
    e.in = (long *)symmetric((size_t)npes * sizeof *e.in);
    e.sum = (long *)symmetric(sizeof *e.sum);
    e.got = (uint64_t *)symmetric(sizeof *e.got);
    RUN(exchange_all, e);
    shmem_barrier_all();

    long wrong = 0;
    for (int pe = 0; pe < npes; pe++)
        wrong += shmem_long_g(e.in + pe, me) != 1000L * pe + me;
    wrong += shmem_g(e.sum, me) != (long)npes * (npes - 1) / 2;
    return end("an OpenSHMEM program with a kernel", wrong);
}
