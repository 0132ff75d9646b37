/* A histogram whose bins lie on all PEs: the threads of every kernel count their numbers by atomics where the bin is.
 * (The same from the host: ../shmem_histogram.c.)
 *
 *     nvcc -ccbin mpicxx --forward-unknown-to-host-compiler -arch=native histogram.cu \
 *          $(pkg-config --cflags --libs tutti)
 *     mpicc -xc histogram.cu $(pkg-config --cflags --libs tutti)             (without a GPU)
 *     tutti run -n 4 ./a.out */
#include "kernels.h"

enum { BINS = 1000, DRAWS = 1000000 }; /* draws of a PE */

/* Number i of PE pe, most of them small: bins differ in how often they are hit. */
BOTH int draw(int pe, int i)
{
    uint64_t x = (uint64_t)(pe + 1) * 0x9e3779b97f4a7c15u + (uint64_t)i * 0xbf58476d1ce4e5b9u;
    x ^= x >> 29;
    x *= 0x94d049bb133111ebu;
    x ^= x >> 32;
    const int bin = (int)(x % BINS);
    return bin % (1 + (int)(x >> 40) % BINS);
}

struct histogram {
    uint64_t *bins; /* bin b: at PE b % PEs, there at place b / PEs */
};

KERNEL count(struct histogram h)
{
    const int me = tshmem_my_pe(), pes = tshmem_n_pes();
    for (int i = block() * threads() + thread(); i < DRAWS; i += blocks() * threads()) {
        const int bin = draw(me, i);
        tshmem_uint64_atomic_inc(h.bins + bin / pes, bin % pes);
    }
    tshmem_quiet();
}

int main(void)
{
    begin();
    const int me = tshmem_my_pe(), pes = tshmem_n_pes();
    struct histogram h;
    h.bins = (uint64_t *)symmetric(BINS * sizeof *h.bins);
    RUN(count, h);
    tshmem_barrier_all(); /* all PEs have counted */

    static uint64_t expected[BINS], bins[BINS];
    long wrong = 0;
    for (int pe = 0; pe < pes; pe++)
        for (int i = 0; i < DRAWS; i++)
            expected[draw(pe, i)]++;
    tshmem_get(bins, h.bins, BINS, me);
    for (int b = me; b < BINS; b += pes)
        wrong += bins[b / pes] != expected[b];
    return end("histogram by atomics in a kernel", wrong);
}
