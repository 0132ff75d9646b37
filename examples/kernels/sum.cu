/* Global sum: in one kernel each element of a vector that lies on all GPUs becomes its share of the sum of the squares
 * of all. That sum is made inside it, by a reduction that all threads of all grids call, with no return to the host.
 *
 *     nvcc -ccbin mpicxx --forward-unknown-to-host-compiler -arch=native sum.cu \
 *          $(pkg-config --cflags --libs tutti)
 *     mpicc -xc sum.cu $(pkg-config --cflags --libs tutti)                   (without a GPU)
 *     tutti run -n 4 ./a.out */
#include "kernels.h"

enum { COUNT = 1 << 16 }; /* elements of a PE */

struct sum {
    double *x, *partial, *norm2; /* partial, norm2: of this PE, symmetric */
    struct tutti_grid_work work;
};

KERNEL share(struct sum s)
{
#ifdef __CUDACC__
    __shared__ double part[THREADS];
#else
    double part[1];
#endif
    double mine = 0;
    for (int i = block() * threads() + thread(); i < COUNT; i += blocks() * threads())
        mine += s.x[i] * s.x[i];
    part[thread()] = mine;
    block_sync();
    if (thread() == 0) {
        mine = 0;
        for (int t = 0; t < threads(); t++)
            mine += part[t];
        s.partial[block()] = mine;
    }
    grid_sync();
    /* One number a block, added over all PEs; then each thread adds up the blocks', in order. */
    tutti_grid_allreduce(TSHMEM_TEAM_WORLD, TUTTI_GRID_GLOBAL, s.partial, s.partial, (size_t)blocks(),
                         tshmem_type_of(s.partial), TSHMEM_OP_SUM, TUTTI_GRID_AUTO, &s.work);
    grid_sync();
    double norm2 = 0;
    for (int b = 0; b < blocks(); b++)
        norm2 += s.partial[b];
    for (int i = block() * threads() + thread(); i < COUNT; i += blocks() * threads())
        s.x[i] *= s.x[i] / norm2;
    if (block() == 0 && thread() == 0)
        *s.norm2 = norm2;
}

/* Small whole numbers, so that sums of squares are exact in any order. */
static double element(int pe, int i)
{
    return (double)((i * 37 + pe * 101) % 251 - 125);
}

int main(void)
{
    begin();
    const int me = tshmem_my_pe(), pes = tshmem_n_pes();
    const size_t room = tutti_grid_work_bytes(pes, BLOCKS * sizeof(double));
    struct sum s;
    s.x = (double *)symmetric(COUNT * sizeof *s.x);
    s.partial = (double *)symmetric(BLOCKS * sizeof *s.partial);
    s.norm2 = (double *)symmetric(sizeof *s.norm2);
    s.work.memory = symmetric(room);
    s.work.bytes = room;
    static double x[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = element(me, i);
    tshmem_put(s.x, x, COUNT, me);
    RUN(share, s);

    double norm2 = 0, expected = 0;
    long wrong = 0;
    for (int pe = 0; pe < pes; pe++)
        for (int i = 0; i < COUNT; i++)
            expected += element(pe, i) * element(pe, i);
    tshmem_get(&norm2, s.norm2, 1, me);
    tshmem_get(x, s.x, COUNT, me);
    for (int i = 0; i < COUNT; i++)
        wrong += x[i] != element(me, i) * (element(me, i) / expected);
    wrong += norm2 != expected;
    return end("sum of squares in a kernel", wrong);
}
