/* Bounce buffers for parts of messages, and moving elements to and from them, in streams of their own. */
#ifndef TUTTI_P2P_FRAGMENTS_H
#define TUTTI_P2P_FRAGMENTS_H

#include "bounce/bounce.h"
#include "dtype/elements.h"
#include "sched/tasks.h"

/* Memory for one fragment. */
struct tutti_fragment {
    void *memory;                /* of `bounce` */
    struct tutti_bounce *bounce; /* pinned */
    struct tutti_event *event;   /* done when the fragment has been moved */
    int gpu;
    unsigned life;               /* of the GPU */
    struct tutti_fragment *next; /* among the idle ones, which have no memory */
};

/* Streams, and events that are idle; a process may have several. Local, any thread. NULL without memory. */
struct tutti_fragments *tutti_fragments_new(void);
/* alive: the device may be called. Takes NULL. */
void tutti_fragments_free(struct tutti_fragments *fragments, int alive);

/* NULL without memory. */
struct tutti_fragment *tutti_fragment_take(struct tutti_fragments *fragments, size_t bytes, int gpu);
void tutti_fragment_give(struct tutti_fragments *fragments, struct tutti_fragment *fragment);

/* The GPU whose kernels move elements in these `places`. */
int tutti_fragment_gpu(const struct tutti_places *places);
/* Fills in a copy of bytes [first, first + bytes) of the packed message, between elements that kernels of `gpu`
 * reach and `fragment`, in the stream of that direction. A status. */
int tutti_fragment_copy(struct tutti_fragments *fragments, enum tutti_direction direction, int gpu,
                        const struct tutti_elements *elements, uint64_t first, uint64_t bytes,
                        const struct tutti_fragment *fragment, struct tutti_copy_task *task);

#endif
