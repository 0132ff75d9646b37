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

#endif
