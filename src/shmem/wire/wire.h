/* The wire: operations on heaps that this PE cannot load and store, as messages of a transport. Each message goes to
 * the agent of the target, which is its own wire: it applies puts and atomics in the order in which they were begun
 * here, answers gets and fetching atomics, and counts what it has applied, for quiet. Nothing here waits, and nothing
 * is global: tests have PEs that are threads. Safe from several threads. Knows no MPI.
 *
 * A message is a head with up to TUTTI_WIRE_PIECE bytes behind it; larger operations go in several. At most
 * TUTTI_WIRE_CREDITS messages to one PE are under way that it has not said to have applied, and as many questions that
 * it has not answered; what is begun beyond waits here. So no PE ever holds more than that of another one's. */
#ifndef TUTTI_SHMEM_WIRE_WIRE_H
#define TUTTI_SHMEM_WIRE_WIRE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "progress/transport.h"

enum {
    TUTTI_WIRE_PIECE = 64 * 1024, /* a multiple of every element */
    TUTTI_WIRE_CREDITS = 16,
    TUTTI_WIRE_NOTE = 96, /* bytes of a note */
    TUTTI_WIRE_TAG = 0
};

/* What the agent does on the memory of this PE: host and heap addresses are as here. What is begun takes effect in the
 * order in which it was begun, and is never waited for. A status each. with: that of the users
 * (below). */
struct tutti_wire_local {
    /* Message buffers, all at once. */
    int (*room)(void *with, size_t bytes, void **out);
    void (*give)(void *with, void *room);
    /* n blocks of `block` elements each, dst and sst elements apart; a block of one is stored as an element. */
    int (*blocks)(void *with, void *to, const void *from, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n,
                  size_t bytes);
    /* enum tshmem_amo on a word of 4 or 8 bytes; was (NULL: nobody asks): in a message buffer. */
    int (*amo)(void *with, int operation, void *at, size_t bytes, uint64_t value, uint64_t compare, uint64_t *was);
    int (*ended)(void *with); /* 1: all that was begun has ended; negative: a status. NULL: it has on return */
};

enum tutti_wire_what { TUTTI_WIRE_PUT, TUTTI_WIRE_GET, TUTTI_WIRE_AMO, TUTTI_WIRE_NOTICE };

/* One operation. */
struct tutti_wire_op {
    enum tutti_wire_what what;
    int pe;
    /* PUT, GET: n blocks of `block` elements of `bytes` bytes, `step` elements apart there, `here_step` here. */
    uint64_t at; /* offset in the heap there */
    void *here;  /* PUT: source, GET: target */
    size_t n, block, bytes;
    ptrdiff_t step, here_step;
    /* AMO, and PUT with a signal, which is changed after the data. */
    int changes; /* 1: there is one */
    int amo;     /* enum tshmem_amo */
    uint64_t word, value, compare;
    uint32_t word_bytes;
    int fetches;  /* AMO: `was` is asked for; otherwise nobody answers */
    uint64_t was; /* AMO that fetches: what the word was before */
    /* NOTICE: for the wire's user there: up to TUTTI_WIRE_PIECE bytes of host memory at `here`, or, where that is NULL,
     * of `note`. */
    unsigned char note[TUTTI_WIRE_NOTE];
    uint32_t note_bytes;
    int confirmed; /* 1: PUT, AMO: `state` is DONE when it is applied there, not when it has left */
    /* Told when it is DONE or failed, NULL: nobody. Within a call of the wire: begins nothing, waits for nothing, and
     * may free the operation. */
    void (*ended)(struct tutti_wire_op *op, int status);
    void *ended_with;

    /* Of the wire: TUTTI_WIRE_UNDER_WAY, DONE, or a negative status. */
    atomic_int state;
    struct tutti_wire_op *next;
    size_t block_at, byte_at, asked; /* what has gone: blocks, bytes of the next one; questions not answered */
    uint64_t last;                   /* number of its last message */
    int kept;                        /* the wire's own copy */
};
enum { TUTTI_WIRE_UNDER_WAY, TUTTI_WIRE_DONE };

struct tutti_wire_users {
    void (*notice)(void *with, int from, const void *note, size_t bytes); /* a NOTICE has come */
    void (*ended)(void *with, int from, int status); /* once: the PE `from` (-1: this one) has given up, or something is
                                                        wrong with a message. Nothing moves any more. status: as for
                                                        tutti_wire_abort() */
    void *with;
};

struct tutti_wire;

/* Local. far: [size of the transport]: 1 for a rank that is reached by messages. The heap is this PE's, which agents of
 * others work on. transport, far and local outlive the wire; users are copied. A status. */
int tutti_wire_open(struct tutti_transport *transport, const unsigned char *far, const struct tutti_wire_local *local,
                    char *heap, uint64_t heap_bytes, const struct tutti_wire_users *users, struct tutti_wire **out);

/* Begins an operation and returns at once; the caller keeps op until it is not UNDER_WAY any more, and its memory: a
 * PUT is DONE when `here` may be changed, unless `confirmed` is set. A status; then nothing has begun. */
int tutti_wire_begin(struct tutti_wire *wire, struct tutti_wire_op *op);
/* The same, for threads that may not call the transport: it is sent by the next poll of one that may. */
int tutti_wire_queue(struct tutti_wire *wire, struct tutti_wire_op *op);
/* The same; where it is not done at once the wire keeps a copy of op. `ended` is told of the copy. */
int tutti_wire_post(struct tutti_wire *wire, const struct tutti_wire_op *op);
static inline int tutti_wire_state(const struct tutti_wire_op *op)
{
    return atomic_load_explicit(&op->state, memory_order_acquire);
}

/* The heaps of all PEs have grown to that size: operations on what is new may come once this has been called by the PE
 * on whose heap they are. */
void tutti_wire_grow(struct tutti_wire *wire, uint64_t heap_bytes);

/* Brings on what can be brought on: own operations, and those of others on this heap. Never waits; another thread at it
 * does it as well. For threads that may call the transport. */
void tutti_wire_poll(struct tutti_wire *wire);
/* 1: all operations of this PE on that one's heap (-1: on all) have been applied there, and all answers have come; 0:
 * not yet; negative: a status. */
int tutti_wire_quiet(struct tutti_wire *wire, int pe);
/* 1: sources of all puts may be changed, and all answers have come. */
int tutti_wire_is_fenced(struct tutti_wire *wire);
/* What is not applied yet, as a text. */
void tutti_wire_where(struct tutti_wire *wire, char *text, size_t size);

/* Tells all far PEs, once, that this PE gives up. Operations under way end with that status. TUTTI_WIRE_EXIT, and the
 * low byte: the program ends with that one, which users of the others are told; operations end with TUTTI_ERR_BROKEN.
 */
enum { TUTTI_WIRE_EXIT = 1 << 8 };
void tutti_wire_abort(struct tutti_wire *wire, int status);
/* Says farewell to all with whom there have been messages, which both sides know. Only after all PEs have met with
 * nothing left to do; then to be polled until left() says 1: nothing is under way in either direction. negative: a
 * status. */
void tutti_wire_leave(struct tutti_wire *wire);
int tutti_wire_left(struct tutti_wire *wire);
/* Local. Where left() has not said 1 the transport may still use its buffers: they are lost. Takes NULL. */
void tutti_wire_close(struct tutti_wire *wire);

#endif
