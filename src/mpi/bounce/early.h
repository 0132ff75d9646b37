/* Copies out of a GPU that begin before the call knows that it needs them. The first message of an allocation is nearly
 * always staged, but the code that finds this out is in no cache, and takes several microseconds. A copy takes as long.
 * So the copy begins first, and the call decides beside it. If the message goes another way, the bytes are not used.
 *
 * Local, safe from any thread. One early copy of the process at a time, on devices that map memory slowly. */
#ifndef TUTTI_MPI_EARLY_H
#define TUTTI_MPI_EARLY_H

#include "bounce/bounce.h"
#include "mpi/bounce/stage.h"
#include "team/endpoint.h"

enum tutti_early_state { TUTTI_EARLY_NONE, TUTTI_EARLY_BEGUN, TUTTI_EARLY_DONE };

struct tutti_early {
    enum tutti_early_state state; /* not NONE: the memory of early copies is this call's */
    uint64_t id;                  /* of the allocation */
    size_t bytes;
    struct tutti_copying copying;
};

/* Where early copies go. NULL: no copy begins early. */
extern _Atomic(struct tutti_bounce *) tutti_early_memory;

/* Bytes that are copied early at most: of a call that sends from the memory of early copies, and of one that moves them
 * from there once more. Where messages of more than TUTTI_EARLY_MOVED bytes are packed, none of these is. */
enum { TUTTI_EARLY_SENT = 64 << 10, TUTTI_EARLY_MOVED = TUTTI_ENDPOINT_FIRST_BYTES };

void tutti_early_try(struct tutti_early *early, const void *buffer, MPI_Count count, MPI_Datatype type, size_t most,
                     const struct tutti_memory *memory);
/* A call is about to send these elements: begins to copy them if they are likely to be staged, and `most` bytes or
 * fewer. */
static inline void tutti_early_begin(struct tutti_early *early, const void *buffer, MPI_Count count, MPI_Datatype type,
                                     size_t most, const struct tutti_there *there)
{
    early->state = TUTTI_EARLY_NONE;
    if (unlikely(there->staged && atomic_load_explicit(&tutti_early_memory, memory_order_relaxed)))
        tutti_early_try(early, buffer, count, type, most, &there->memory);
}
/* The message is staged. Opens the stage of a send: on the memory of the early copy, whose bytes are there after
 * tutti_early_await(), or in the usual way. A status of Tutti. */
int tutti_early_open(struct tutti_early *early, struct tutti_stage *stage, const void *buffer, MPI_Count count,
                     MPI_Datatype type, const struct tutti_there *there);
/* Waits for the early copy of this stage, if there is one. A status of Tutti. */
int tutti_early_await(struct tutti_early *early, struct tutti_stage *stage);
/* The same of a call whose request outlives it: the bytes go into its own stage, which was opened with
 * tutti_early_way(). */
int tutti_early_fill(struct tutti_early *early, struct tutti_stage *stage);
static inline int tutti_early_way(const struct tutti_early *early)
{
    return early->state == TUTTI_EARLY_NONE ? 0 : TUTTI_STAGE_LEFT;
}
/* The call ends, or sends the message in another way: others may copy early. Does nothing in state NONE. */
void tutti_early_end(struct tutti_early *early);
/* The message was staged since its receiver has not mapped the allocation: the next one may be copied early. */
void tutti_early_learn(const struct tutti_early *early, const struct tutti_stage *stage,
                       const struct tutti_there *there);
/* Gives the memory back. No call is under way. */
void tutti_early_close(void);

#endif
