/* The host's side of a ring of requests (tutti/ring_state.h). The host lays the ring out, reads requests in the order
 * of their slots, hands each to the operation that it names, and writes completions and progress. Operations end in any
 * order.
 *
 * What operations do is not known here: a user of the ring registers a list of them. Knows neither MPI nor device. One
 * thread at a time. */
#ifndef TUTTI_RING_RING_H
#define TUTTI_RING_RING_H

#include <stddef.h>
#include <stdint.h>

#include "tutti/ring_state.h"

/* A request, read from its slot. value: what it carries, later what it returns; devices read and write it too. */
struct tutti_ring_request {
    _Alignas(64) uint64_t value[2]; /* value and compare */
    uint64_t dest, source, bytes, extra;
    uint32_t completion, tag; /* tag 0: no kernel waits for it */
    uint16_t pe;
    uint8_t operation, what, size; /* operation: the number under which its user has registered it */
    uint8_t open;                  /* of the ring */
};
_Static_assert(sizeof(struct tutti_ring_request) == 64, "a line of the cache each");

/* Results of begin(), beside negative statuses. DONE: the request is complete. OPEN: it ends later, with
 * tutti_ring_done(). BUSY: nothing was begun, and the ring offers the same request again. TAKEN: the user has copied
 * what it needs, and ends the request later, with tutti_ring_answer(). Its slot is free at once, so it keeps no other
 * request back; `completed` counts it as complete. */
enum { TUTTI_RING_DONE, TUTTI_RING_OPEN, TUTTI_RING_BUSY, TUTTI_RING_TAKEN };

/* What kernels may ask for: a row of the list that a user of the ring registers. */
struct tutti_ring_operation {
    const char *name; /* in messages, with its article: "a put" */
    /* Begins the request and never waits. The request is checked here: its fields are what a kernel wrote. A negative
     * status, after an error message, ends the ring. */
    int (*begin)(void *user, struct tutti_ring_request *request);
};

enum { TUTTI_RING_OPERATIONS = 256, TUTTI_RING_SLOTS_LEAST = 16 };
enum { TUTTI_RING_ALIGN = 4096 };

struct tutti_ring {
    struct tutti_ring_slot *slot; /* [slots] */
    struct tutti_ring_completion *completion;
    struct tutti_ring_progress *progress;
    struct tutti_ring_request *request; /* [slots]: of slot s % slots, from when it is read until it is done */
    uint64_t slots;
    uint32_t shift;
    uint64_t consumed, completed; /* as in `progress`, which is written once a round */
    struct {
        const struct tutti_ring_operation *operation;
        void *user;
    } handler[TUTTI_RING_OPERATIONS]; /* by number */
};

/* The ring as kernels address it. */
struct tutti_ring_kernel_view {
    uint64_t slots; /* a power of two */
    uint32_t shift; /* of which: slots == 1 << shift */
    struct tutti_ring_slot *slot;
    struct tutti_ring_completion *completion;
    struct tutti_ring_progress *progress;
    struct tutti_ring_counters *counters;
};

/* Bytes of host memory of a ring with so many slots, a power of two. */
size_t tutti_ring_bytes(uint64_t slots);
/* Lays a ring out in that memory, aligned to TUTTI_RING_ALIGN, without operations. first: the number of its first
 * request, a multiple of slots; the kernels' counters begin there too. */
void tutti_ring_init(struct tutti_ring *ring, void *memory, uint64_t slots, uint64_t first);
/* memory: the ring's, where kernels address it; counters: in memory of theirs. */
struct tutti_ring_kernel_view tutti_ring_kernel_view(const struct tutti_ring *ring, void *memory,
                                                     struct tutti_ring_counters *counters);

/* Registers operations[0] to operations[count - 1] as numbers `first` and following. `user` is what their begin() gets.
 * TUTTI_ERR_ARGUMENT, and nothing is registered: one of the numbers is taken, TUTTI_RING_NOP, or past the last one. The
 * list stays the caller's and lives as long as the ring. */
int tutti_ring_register(struct tutti_ring *ring, unsigned first, const struct tutti_ring_operation *operations,
                        unsigned count, void *user);

/* Begins up to `most` requests that have arrived. Returns how many, or the negative status of a begin(), at whose
 * request the ring then stays. A number that is not registered: TUTTI_ERR_ARGUMENT. Never waits. */
int tutti_ring_poll(struct tutti_ring *ring, unsigned most);
/* Ends a request that is open. Everything it asked for is complete; value[0] is what it returns. On the thread of
 * tutti_ring_poll(). */
void tutti_ring_done(struct tutti_ring *ring, struct tutti_ring_request *request);
/* Ends a request that was taken: completion and tag were the request's, value is what it returns. The same thread. */
void tutti_ring_answer(struct tutti_ring *ring, uint32_t completion, uint32_t tag, uint64_t value);
/* The name of the operation of a request; NULL: its number is not registered. */
const char *tutti_ring_name(const struct tutti_ring *ring, const struct tutti_ring_request *request);
/* 1: all requests before that number are complete. From any thread. */
int tutti_ring_is_complete(const struct tutti_ring *ring, uint64_t number);

#endif
