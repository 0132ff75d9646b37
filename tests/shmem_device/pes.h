/* PEs that are threads of this process: a heap and a state each. Kernels of the host device run on them. */
#ifndef TUTTI_TESTS_SHMEM_PES_H
#define TUTTI_TESTS_SHMEM_PES_H

#include <stdint.h>

#include "shmem_device/program.h"

/* State of the thread's PE. */
extern _Thread_local const struct tshmem_state *pes_state;
#define TSHMEM_STATE() pes_state
#define TSHMEM_KERNELS

struct pes {
    int count;
    struct program_heap *heap[PROGRAM_PES];
    struct tshmem_state state[PROGRAM_PES];
    struct tshmem_team_state team[PROGRAM_PES][TSHMEM_TEAMS_MAX];
    uint64_t context[PROGRAM_PES][TSHMEM_CONTEXTS_MAX];
    uint32_t abort[PROGRAM_PES];
    struct tshmem_failure failure[PROGRAM_PES];
};

/* Zeroed heaps. Waits end after `limit_ms`. */
void pes_open(struct pes *pes, int count, uint64_t limit_ms);
void pes_close(struct pes *pes);
/* Calls body(pe, context) on a thread for each PE, and waits for all. */
void pes_run(struct pes *pes, void (*body)(int pe, void *context), void *context);

#endif
