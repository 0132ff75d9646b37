/* The host's side of the ring (tutti/shmem_state.h): reads requests in the order of their slots, hands each to whoever
 * does it, and writes completions and counts. Operations end in any order. Knows neither MPI nor device; one thread at
 * a time. */
#ifndef TUTTI_SHMEM_RING_H
#define TUTTI_SHMEM_RING_H

#include <stddef.h>
#include <stdint.h>

#include "tutti/shmem_state.h"

/* A request, read. value: what it brings, later what it gives back; devices see it too. */
struct tutti_ring_operation {
    _Alignas(64) uint64_t value[2]; /* value and compare */
    uint64_t dest, source, bytes, extra;
    uint32_t completion, tag; /* tag 0: nobody waits for it */
    uint16_t pe;
    uint8_t operation, what, size; /* operation: enum tshmem_ring_operation, less than TSHMEM_RING_OPERATIONS */
    uint8_t open;                  /* of the ring */
};
_Static_assert(sizeof(struct tutti_ring_operation) == 64, "a line of the cache each");

struct tutti_ring {
    struct tshmem_request *request; /* [slots] */
    struct tshmem_completion *completion;
    struct tshmem_ring_progress *progress;
    struct tutti_ring_operation *operation; /* [slots]: of request s % slots, from when it is read until it is done */
    uint64_t slots;
    uint32_t shift;
    uint64_t consumed, completed; /* as in `progress`, which is written once a round */
};

/* What begin() says, or a negative status. BUSY: nothing was begun, and the same request comes again. */
enum { TUTTI_RING_DONE, TUTTI_RING_OPEN, TUTTI_RING_BUSY };
typedef int tutti_ring_begin(void *with, struct tutti_ring_operation *operation);

enum { TUTTI_RING_SLOTS_LEAST = 16, TUTTI_RING_SLOTS_MOST = 1 << 16, TUTTI_RING_ALIGN = 4096 };

/* Bytes of host memory of a ring with so many slots, a power of two. */
size_t tutti_ring_bytes(uint64_t slots);
/* Lays a ring out in that memory, aligned to TUTTI_RING_ALIGN. first: the number of its first request, a multiple of
 * slots; `own`, which is the kernels', begins there too. */
void tutti_ring_lay(struct tutti_ring *ring, void *memory, uint64_t slots, uint64_t first);
/* The same as kernels address it: `memory` where they see it, own in memory of theirs: see tutti_ring_own(). Cutovers
 * and the rest stay zero. */
void tutti_ring_tell(const struct tutti_ring *ring, void *memory, struct tshmem_ring_own *own,
                     struct tshmem_ring_state *out);
/* What `own` holds at first. */
void tutti_ring_own(struct tshmem_ring_own *own, uint64_t first);

/* Begins what has come, at most `most` requests; how many, or a negative status of begin(), at whose request the ring
 * then stays. Never waits. */
int tutti_ring_poll(struct tutti_ring *ring, unsigned most, tutti_ring_begin *begin, void *with);
/* Of an operation that is open, and done everywhere; value[0] is what it gives back. On the thread of
 * tutti_ring_poll(). */
void tutti_ring_done(struct tutti_ring *ring, struct tutti_ring_operation *operation);
/* Requests that are open, or read by nobody yet as far as is seen. */
uint64_t tutti_ring_open(const struct tutti_ring *ring);

#endif
