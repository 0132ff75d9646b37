/* The kernels of this library as a side, and what they find of the ring. For all benches that launch them. */
#ifndef TUTTI_BENCH_GAS_SIDE_H
#define TUTTI_BENCH_GAS_SIDE_H

#include "bench/shmem/gas.h"
#include "tutti/shmem_state.h"

/* A library of kernels beside this program. NULL with the reason. */
const struct gas_side *gas_load(const char *name, char *why, size_t size);
/* Those of this library, on the device in use, of which `name`, `groups`, `open` and `run` are given. 0, or another
 * number with the reason. */
int gas_kernels(struct gas_side *out, char *why, size_t size);

/* Bytes from which on transfers of each group go by the ring; 0: never. */
struct gas_cuts {
    uint64_t bytes[TSHMEM_CUTS][TSHMEM_GROUPS];
};
/* The thresholds of the rules in force. 1 if there is any. */
int gas_cuts_of_rules(struct gas_cuts *out);
/* tshmem_init(), with a ring where a setting does not forbid one: kernels use it as gas_state() says. Leaves the rules
 * in force as those of the settings and the file. A status. */
int gas_init(void);

enum gas_ring { GAS_RING_NONE, GAS_RING_CUT, GAS_RING_ALL };
/* The address space's state, for a launch; what loads and stores do not reach goes by the ring always. */
void gas_state(enum gas_ring how, const struct gas_cuts *cuts, struct tshmem_state *out);
/* 1 if there is a ring. */
int gas_has_ring(void);

#endif
