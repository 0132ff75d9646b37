/* Opening and closing of the transfers. */
#ifndef TUTTI_BENCH_TRANSFER_WAYS_H
#define TUTTI_BENCH_TRANSFER_WAYS_H

#include "bench/transfer/transfer.h"

/* Collective. Decides which ways exist, and reports why others do not. t: plan, what and row are set; the rest is
 * zero. */
void transfer_open(struct transfer *t, struct transfer_memory *memory, int used[TRANSFER_WAYS]);
void transfer_close(struct transfer *t, struct transfer_memory *memory);
/* The next size. */
void transfer_size(struct transfer *t, const struct transfer_memory *memory, size_t bytes);

/* Collective. text: how the library counts the call: what rank 0 counts, or, if it counts nothing since its buffers are
 * in host memory, what the first rank counts that counts something. */
void transfer_share_how(const struct transfer *t, char *text, size_t size);

/* fresh.c: the first calls of new memory, by these of the ways. Collective; 1 if all data were right. */
enum { TRANSFER_FRESH_WAYS = TRANSFER_WAY_STAGED + 1 };
struct transfer_fresh {
    struct transfer *t;
    struct transfer_memory *memory;
    const int *used;                                /* [TRANSFER_WAYS] */
    double (*once)(void *with, int column, long i); /* as bench_timed.call */
    void *with;
};
int transfer_fresh(struct transfer_fresh *fresh);

/* energy.c: joules of the calls in place of their time. The functions are those of run.c, for a way of the transfers.
 * Collective; 1 if all data were right. */
struct transfer_energy {
    const struct transfer *t;
    const int *used; /* [TRANSFER_WAYS] */
    void *with;
    void (*prepare)(void *with, int column, long i, int new_data);
    void (*call)(void *with, int way);
    void (*enqueue)(void *with, int way, int i);
    int (*check)(void *with, int column, long i);
};
int transfer_energy(struct transfer_energy *energy);

#endif
