/* The wire: operations on heaps that this PE cannot load and store, as messages of a transport. A message goes to the
 * agent of the target PE, which is the target's wire. The agent applies puts and atomics in the order in which they
 * were begun, answers gets and fetching atomics, and counts what it has applied, for quiet. No function waits, and
 * there is no global state: tests have PEs that are threads. Safe from several threads. Knows no MPI.
 *
 * A message is a head with up to TUTTI_WIRE_PIECE bytes behind it; larger operations take several messages. At most
 * TUTTI_WIRE_CREDITS messages to one PE are unacknowledged, and at most as many questions unanswered; further
 * operations wait here. So the memory that a PE holds for another one is bounded. */
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

/* Operations of the agent on the memory of this PE: host and heap addresses are local ones. Operations take effect
 * in the order in which they were begun, and are not waited for. Each returns a status. with: that of the users
 * (below). */
struct tutti_wire_local {
    /* Message buffers, all at once. */
    int (*room)(void *with, size_t bytes, void **out);
    void (*give)(void *with, void *room);
    /* n blocks of `block` elements each, dst and sst elements apart; a block of one is stored as an element. */
    int (*blocks)(void *with, void *to, const void *from, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n,
                  size_t bytes);
    /* enum tshmem_amo on a word of 4 or 8 bytes; was: in a message buffer, NULL: no result */
    int (*amo)(void *with, int operation, void *at, size_t bytes, uint64_t value, uint64_t compare, uint64_t *was);
    int (*ended)(void *with); /* 1: all operations have ended; negative: a status. NULL: they end before they return */
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
    int fetches;  /* AMO: `was` is asked for; otherwise there is no answer */
    uint64_t was; /* AMO that fetches: the old value of the word */
    /* NOTICE: for the wire's user there: up to TUTTI_WIRE_PIECE bytes of host memory at `here`, or, if that is NULL,
     * of `note`. */
    unsigned char note[TUTTI_WIRE_NOTE];
    uint32_t note_bytes;
    int confirmed; /* 1: PUT, AMO: `state` becomes DONE when it is applied there, not when it has left */
    /* Called when it is DONE or failed; may be NULL. Runs within a call of the wire: must begin nothing and wait for
     * nothing, and may free the operation. */
    void (*ended)(struct tutti_wire_op *op, int status);
    void *ended_with;

    /* Set by the wire: TUTTI_WIRE_UNDER_WAY, DONE, or a negative status. */
    atomic_int state;
    struct tutti_wire_op *next;
    size_t block_at, byte_at, asked; /* what was sent: blocks, bytes of the next one; questions not answered */
    uint64_t last;                   /* number of its last message */
    int kept;                        /* the wire's own copy */
};
enum { TUTTI_WIRE_UNDER_WAY, TUTTI_WIRE_DONE };

struct tutti_wire_users {
    void (*notice)(void *with, int from, const void *note, size_t bytes); /* a NOTICE has arrived */
    void (*ended)(void *with, int from, int status); /* once: PE `from` (-1: this one) has given up, or a message is
                                                        wrong. The wire has failed. status: as for tutti_wire_abort() */
    void *with;
};

struct tutti_shmem_wire;

/* Local. far: [size of the transport]: 1 for a rank that is reached by messages. The heap is this PE's, on which
 * agents work for others. transport, far and local outlive the wire; users are copied. A status. */
int tutti_wire_open(struct tutti_transport *transport, const unsigned char *far, const struct tutti_wire_local *local,
                    char *heap, uint64_t heap_bytes, const struct tutti_wire_users *users,
                    struct tutti_shmem_wire **out);

/* Begins an operation and returns at once. The caller keeps op and its memory until it is not UNDER_WAY any more: a
 * PUT is DONE when `here` may be changed, unless `confirmed` is set. A status; after an error nothing has begun. */
int tutti_wire_begin(struct tutti_shmem_wire *wire, struct tutti_wire_op *op);
/* The same, for threads that may not call the transport: the next poll of a thread that may sends it. */
int tutti_wire_queue(struct tutti_shmem_wire *wire, struct tutti_wire_op *op);
/* The same; if it is not complete at once the wire keeps a copy of op. `ended` gets the copy. */
int tutti_wire_post(struct tutti_shmem_wire *wire, const struct tutti_wire_op *op);
static inline int tutti_wire_state(const struct tutti_wire_op *op)
{
    return atomic_load_explicit(&op->state, memory_order_acquire);
}

/* The heaps of all PEs have grown to that size. A PE's agent accepts operations on the new part once this was called
 * there. */
void tutti_wire_grow(struct tutti_shmem_wire *wire, uint64_t heap_bytes);

/* Advances own operations, and those of others on this heap. Never waits: if another thread polls, it does the work.
 * For threads that may call the transport. */
void tutti_wire_poll(struct tutti_shmem_wire *wire);
/* 1: all operations of this PE on the heap of PE `pe` (-1: of all) have been applied there, and all answers have
 * arrived; 0: not yet; negative: a status. */
int tutti_wire_quiet(struct tutti_shmem_wire *wire, int pe);
/* 1: sources of all puts may be changed, and all answers have arrived. */
int tutti_wire_is_fenced(struct tutti_shmem_wire *wire);
/* Describes operations that are not applied yet. */
void tutti_wire_where(struct tutti_shmem_wire *wire, char *text, size_t size);

/* Notifies all far PEs, once, that this PE gives up. Operations under way end with that status. TUTTI_WIRE_EXIT, and a
 * status in the low byte: the program ends with that status, which users of the other wires get; operations end with
 * TUTTI_ERR_BROKEN. */
enum { TUTTI_WIRE_EXIT = 1 << 8 };
void tutti_wire_abort(struct tutti_shmem_wire *wire, int status);
/* Sends a last message to all PEs with which there have been messages; both sides know them. Only after all PEs have
 * met with nothing under way. Then poll until left() returns 1: nothing is under way in either direction. negative:
 * a status. */
void tutti_wire_leave(struct tutti_shmem_wire *wire);
int tutti_wire_left(struct tutti_shmem_wire *wire);
/* Local. If left() has not returned 1, the transport may still use its buffers: they are never freed. Takes NULL. */
void tutti_wire_close(struct tutti_shmem_wire *wire);

#endif
