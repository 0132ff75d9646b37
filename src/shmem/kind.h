/* Operations of the host on symmetric heaps, by the place of the heap: one const table a kind.
 *
 * host      ordinary memory that all PEs map: plain loads and stores (heap_host.c)
 * device    memory of a GPU each: kernels and copies alone (heap_device.c)
 * far       of a PE of another node, of either kind: messages to its agent (far.c); `copy` to `put_signal` alone
 *
 * The first argument is the address space. Addresses in heaps are those of tutti_shmem_at(): mapped here for near
 * PEs, names for far ones. Functions return a status, after an error message. */
#ifndef TUTTI_SHMEM_KIND_H
#define TUTTI_SHMEM_KIND_H

#include <stddef.h>
#include <stdint.h>

#include "device/device.h"
#include "kernels/args.h"
#include "tutti/shmem.h"

struct tutti_shmem;
struct tutti_wire_local;
struct tutti_shmem_queue;

enum { TUTTI_SHMEM_WHY = 200 };

/* A part of the heaps of all PEs, made and mapped together: the first one, and each one by which heaps grow. */
struct tutti_shmem_piece {
    uint64_t at; /* offset in the heap */
    size_t bytes;
    char why[TUTTI_SHMEM_WHY]; /* why it could not be made or mapped here */
};

/* Describes a piece of a PE's heap to its peers. */
struct tutti_shmem_offer {
    struct tutti_export what; /* device */
    uint64_t offset;          /* of the piece in it */
    unsigned char uuid[16];   /* of the GPU */
};

/* A copy of a collective, between heaps. */
struct tutti_shmem_part {
    void *to;
    const void *from;
    size_t bytes;
};

/* A reduction of elements that lie in all members' heaps, in order of member. */
struct tutti_shmem_job {
    int type, op; /* enum tshmem_type, tshmem_op */
    enum tutti_shape shape;
    int ranks, outs;
    size_t count;
    const void *in[TSHMEM_NEAR_MAX];
    void *out[TSHMEM_NEAR_MAX]; /* ALL: every target gets everything; THROUGH, BEFORE: the target of rank r, or NULL */
};

/* Words of this PE's heap that a wait tests repeatedly. Zero at first. */
struct tutti_shmem_peek {
    const void *seen; /* values at the last test */
    /* Device: the copy that is under way, and its target. */
    struct tutti_shmem_queue *queue;
    uint64_t few[8];
    void *room; /* for more words than fit */
};

struct tutti_shmem_kind {
    const char *name;
    int host_reaches;    /* the host loads and stores heaps */
    uint64_t align_most; /* of an object: heaps begin at multiples of it */

    /* Making: local. open prepares; NULL: there is nothing to prepare. reserve: address space for heaps of
     * state.heap_bytes bytes of all PEs of this node; grows 0: one piece fills it. If it fails, without a message,
     * unreserve frees what there is, and reserve is called again with a smaller size. make: makes a piece of this
     * PE's heap and describes it for peers; *fd: its descriptor, -1: none. reach: maps the piece of a PE; the caller
     * keeps `fd`. Afterwards space->heaps is set. A failure is described in piece->why. drop: undoes both for all
     * PEs, also if only some were done. unmap_peers: unmaps peers' heaps while all PEs keep their own; unmake: frees
     * the rest. Both do nothing if there is nothing. */
    int (*open)(struct tutti_shmem *space);
    int (*reserve)(struct tutti_shmem *space, int grows);
    void (*unreserve)(struct tutti_shmem *space);
    int (*make)(struct tutti_shmem *space, struct tutti_shmem_piece *piece, struct tutti_shmem_offer *offer, int *fd);
    int (*reach)(struct tutti_shmem *space, struct tutti_shmem_piece *piece, int pe,
                 const struct tutti_shmem_offer *offer, int fd);
    void (*drop)(struct tutti_shmem *space, const struct tutti_shmem_piece *piece);
    void (*unmap_peers)(struct tutti_shmem *space);
    void (*unmake)(struct tutti_shmem *space);

    /* One side lies in a heap, the other is the program's. Complete on return; if `later` is 1 + the number of a
     * context, complete after quiet() of that context, and the program must not touch its side before. */
    int (*copy)(struct tutti_shmem *space, void *to, const void *from, size_t bytes, int later);
    /* An element, in one store or load if there is such an instruction. The program's side is host memory. */
    int (*element)(struct tutti_shmem *space, void *to, const void *from, size_t bytes);
    /* n blocks of `block` elements each, dst and sst elements apart; a block of one as an element. */
    int (*blocks)(struct tutti_shmem *space, void *to, const void *from, ptrdiff_t dst, ptrdiff_t sst, size_t block,
                  size_t n, size_t bytes);
    /* An atomic on a word of 4 or 8 bytes; *was: the old value. With TSHMEM_AMO_NO_FETCH there is no result, and a
     * far atomic is complete after quiet(). */
    uint64_t (*amo)(struct tutti_shmem *space, int operation, void *at, size_t bytes, uint64_t value, uint64_t compare);
    /* Copies, then changes the signal: a PE that sees the signal sees the data. 0 bytes: the signal alone. */
    int (*put_signal)(struct tutti_shmem *space, void *to, const void *from, size_t bytes, uint64_t *at, uint64_t value,
                      int operation, int later);
    int (*quiet)(struct tutti_shmem *space, int context);
    /* May be NULL. Resources of a context besides its number; the default context, 0, always exists. */
    int (*open_context)(struct tutti_shmem *space, int context);

    /* For collectives, between heaps. Complete on return. */
    int (*move)(struct tutti_shmem *space, const struct tutti_shmem_part *parts, size_t n);
    int (*clear)(struct tutti_shmem *space, void *at, size_t bytes);
    int (*reduce)(struct tutti_shmem *space, const struct tutti_shmem_job *job);

    /* Tests words of this PE without waiting. 1: peek->seen holds values that are newer than this call; 0: not yet;
     * negative: a status. forget: after the last test. */
    int (*peek)(struct tutti_shmem *space, struct tutti_shmem_peek *peek, const void *words, size_t bytes);
    void (*forget)(struct tutti_shmem *space, struct tutti_shmem_peek *peek);

    /* Operations of this PE's agent for far PEs. */
    const struct tutti_wire_local *local;
    /* Memory that `reduce` and the agent can access, for parts of far heaps; NULL: none exists. */
    void *(*room)(struct tutti_shmem *space, size_t bytes);
    void (*give)(struct tutti_shmem *space, void *room);
};

extern const struct tutti_shmem_kind tutti_shmem_host, tutti_shmem_device, tutti_shmem_far;

#endif
