/* The instruction sets for which the C kernels are compiled. Internal: the dispatch and the tests. */
#ifndef TUTTI_KERNELS_VARIANTS_H
#define TUTTI_KERNELS_VARIANTS_H

#include <stddef.h>

#include "core/types.h"
#include "kernels/args.h"

enum { TUTTI_KERNELS_C_ROOM = 3 };

/* How a pair of type and operator is reduced. NULL fold: no kernel. */
struct tutti_c_pair {
    /* to[i] = from[0][i] op ... op from[k-1][i], k 2 to 4, accumulator types; `to` may be one of `from`. */
    void (*fold)(void *to, const void *const from[], unsigned k, size_t n);
    void (*widen)(float *to, const void *from, size_t n);  /* elements to accumulators; NULL: they are the same */
    void (*narrow)(void *to, const float *from, size_t n); /* and back */
    unsigned size;                                         /* bytes of an element */
};

struct tutti_c_variant {
    const char *name;
    struct tutti_c_pair pair[TUTTI_TYPES][TUTTI_OPS];
    void (*reduce)(const struct tutti_c_pair *pair, const void *const from[], unsigned ranks, void *const to[],
                   unsigned outs, uint64_t n);
    void (*const *kernel)(const void *args, unsigned block, const struct tutti_c_pair *pair);
};

/* See tutti_kernel_pace(). */
extern _Thread_local unsigned tutti_kernel_jitter;
void tutti_kernel_pause(void);

/* The i-th variant that was built and that this processor runs, the widest first; NULL past the last. */
const struct tutti_c_variant *tutti_kernels_c(int i);
/* The row of `variant` that serves (type, op). Aborts the program if no row does: callers ask tutti_has_kernel()
 * before.
 */
const struct tutti_c_pair *tutti_kernels_c_pair(const struct tutti_c_variant *variant, int type, int op);

#endif
