/* Memory of a GPU in which kernels count partitions. All words of what is taken are 0. It is cut from slabs that are
 * cleared once, and returned with 0 in all words, so a device request costs no copy. Local, and safe from any
 * thread. */
#ifndef TUTTI_PART_COUNTS_H
#define TUTTI_PART_COUNTS_H

#include "tutti/prequest.h"

struct tutti_part_counts;

/* `n` counts on `gpu`, the GPU that is current. NULL without memory. */
struct tutti_part_counts *tutti_part_counts_take(int gpu, int n);
struct tutti_prequest_count *tutti_part_counts_memory(const struct tutti_part_counts *counts);
/* No kernel uses them any more. clean: all words are 0. Takes NULL. */
void tutti_part_counts_give(struct tutti_part_counts *counts, int clean);
/* Zeros again, after a round that kernels may have left in the middle. A status. */
int tutti_part_counts_clear(const struct tutti_part_counts *counts);
void tutti_part_counts_close(void);

#endif
