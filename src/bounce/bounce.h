/* Bounce buffers: memory that data pass through, from one pool of the process. A returned buffer is kept for the
 * next request of its kind and size, so in a steady state nothing is allocated or freed; where
 * TUTTI_BOUNCE_MB is used up, the least recently used goes first.
 *
 * Memory that peers map, that a graph may know or that is read after its call does not come from here: what is given
 * back is somebody else's at once, where freeing would have waited for the device.
 *
 * All calls are local and safe from any thread. They may allocate and free memory of the device, so not between
 * waiting_begin and waiting_end (device.h). */
#ifndef TUTTI_BOUNCE_BOUNCE_H
#define TUTTI_BOUNCE_BOUNCE_H

#include <stddef.h>
#include <stdint.h>

/* Where memory of one kind comes from. */
struct tutti_bounce_kind {
    const char *name; /* for the counters */
    int bounded;      /* 1: refused beyond the limit, since callers have another way */
    int (*alloc)(int gpu, size_t bytes, void **memory); /* a status */
    void (*free)(void *memory);
    int waits;  /* 1: alloc() may wait for kernels that wait for the host, as free() may (progress/gate.h) */
    int shared; /* 1: small buffers may be parts of one allocation: each one by itself is a mapping of the process */
    void (*clean)(void *memory); /* when it is given back; NULL: nothing is to be done */
    /* Before kept memory is taken: notices resets of GPUs, with which it has gone. NULL: none matters. */
    void (*look)(void);
};
/* Host memory that copies and kernels of all GPUs reach; gpu -1. */
extern const struct tutti_bounce_kind tutti_bounce_pinned;
/* Memory of a GPU; -1: of the calling thread's. */
extern const struct tutti_bounce_kind tutti_bounce_device;
/* `look` of kinds whose memory belongs to contexts of GPUs. */
void tutti_bounce_look(void);

struct tutti_bounce {
    void *memory;
    size_t room; /* bytes: as many as were asked for, or more */
};

/* Bounce buffers of `bytes` bytes with undefined contents. NULL without memory, or where the kind is bounded and the
 * limit is reached, or the kind waits and the
 * gate is closed (progress/gate.h). */
struct tutti_bounce *tutti_bounce_take(const struct tutti_bounce_kind *kind, int gpu, size_t bytes);
/* The same, but allocates nothing: NULL where none is kept. The caller has just asked the device what memory is, which
 * notices resets. */
struct tutti_bounce *tutti_bounce_take_kept(const struct tutti_bounce_kind *kind, int gpu, size_t bytes);
/* Gives that back, and frees nothing of the device: for a rank whose peers wait for it. */
void tutti_bounce_give_kept(struct tutti_bounce *bounce);
/* 1 if a bounce buffer of so many bytes can be kept for the next call, with what is taken now. */
int tutti_bounce_fits(size_t bytes);
/* Nothing reads or writes it any more, the device neither. Takes NULL. */
void tutti_bounce_give(struct tutti_bounce *bounce);
/* Ends what is kept. alive: the device may be called. */
void tutti_bounce_close(int alive);

/* What the pool holds, and has done so far. */
struct tutti_bounce_counts {
    size_t held, kept;    /* bytes: taken or kept; kept */
    size_t most;          /* bytes that were held at a time */
    uint64_t takes, made; /* made: how often memory was allocated */
};
void tutti_bounce_read(struct tutti_bounce_counts *out);

#endif
