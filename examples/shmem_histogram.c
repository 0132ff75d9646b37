/* A histogram in the global address space: every PE draws numbers and counts each by an atomic at the PE to which its
 * bin belongs; then the counts go round a ring by put with signal, and PE 0 shows the sum.
 *
 *     mpicc shmem_histogram.c -ltutti-core && tutti run -n 4 ./a.out */
#include <stdint.h>
#include <stdio.h>

#include <tutti/shmem.h>

enum { BINS = 16, DRAWS = 100000 };

static uint64_t next_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

int main(void)
{
    if (tshmem_init() != 0)
        return 1;
    const int me = tshmem_my_pe(), pes = tshmem_n_pes();
    /* Bin b lies at PE b % pes, there at place b / pes. */
    long *bins = tshmem_calloc(BINS, sizeof *bins);
    long *ring = tshmem_calloc(1, sizeof *ring);
    uint64_t *signal = tshmem_calloc(1, sizeof *signal);
    if (!bins || !ring || !signal)
        return 1;

    uint64_t state = 1 + (uint64_t)me;
    for (int i = 0; i < DRAWS; i++) {
        const int bin = (int)(next_number(&state) % BINS);
        tshmem_atomic_inc(bins + bin / pes, bin % pes);
    }
    tshmem_barrier_all();

    long sum = 0;
    for (int b = me; b < BINS; b += pes)
        sum += bins[b / pes];
    /* PE 0 begins; whoever has got the sum so far adds its own and hands it on. */
    if (me > 0) {
        tshmem_signal_wait_until(signal, TSHMEM_CMP_EQ, 1);
        sum += *ring;
    }
    tshmem_put_signal(ring, &sum, 1, signal, 1, TSHMEM_SIGNAL_SET, (me + 1) % pes);
    int wrong = 0;
    if (me == 0) {
        tshmem_signal_wait_until(signal, TSHMEM_CMP_EQ, 1);
        wrong = *ring != (long)pes * DRAWS;
        printf("%ld numbers in %d bins on %d PEs: %s\n", *ring, BINS, pes, wrong ? "wrong" : "right");
    }
    return tshmem_finalize() != 0 || wrong;
}
