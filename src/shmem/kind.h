/* What the host does on symmetric heaps, by where they lie: one const table a kind.
 *
 *     host    ordinary memory that all PEs map: plain loads and stores (heap_host.c)
 *     device  memory of a GPU each: kernels and copies alone (heap_device.c)
 *     far     of a PE of another node, of either kind: messages to its agent (far.c); `copy` to `put_signal` alone
 *
 * All operations get the address space first. Addresses in heaps are as tutti_shmem_at() gives them: as mapped here, of
 * any PE, and names of far ones. Functions return a status, after an error message. */
#ifndef TUTTI_SHMEM_KIND_H
#define TUTTI_SHMEM_KIND_H

#include <stddef.h>
#include <stdint.h>

#include "device/device.h"
#include "kernels/args.h"
#include "tutti/shmem.h"

struct tutti_shmem;
struct tutti_wire_local;
struct tutti_shmem_lane;

enum { TUTTI_SHMEM_WHY = 200 };

/* A part of the heaps of all PEs, which they make and map together: the first one, and each by which they grow. */
struct tutti_shmem_piece {
    uint64_t at; /* offset in the heap */
    size_t bytes;
    char why[TUTTI_SHMEM_WHY]; /* it could not be made or mapped here */
};

/* How a piece of a PE's heap is found by its peers. */
struct tutti_shmem_offer {
    struct tutti_export what; /* device */
    uint64_t offset;          /* of the piece in it */
    unsigned char uuid[16];   /* of the GPU */
};

/* A copy of a collective. */
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
    void *out[TSHMEM_NEAR_MAX]; /* ALL: each gets everything; THROUGH, BEFORE: of rank r, or NULL */
};

/* Words of the own heap, looked at again and again by one wait. Zero at first. */
struct tutti_shmem_peek {
    const void *seen; /* as they were at the last look */
    /* Device: of one that is under way, and where it goes. */
    struct tutti_shmem_lane *lane;
    uint64_t few[8];
    void *room; /* of more words */
};

struct tutti_shmem_kind {
    const char *name;
    int host_reaches;    /* the host loads and stores heaps */
    uint64_t align_most; /* of an object: heaps begin at multiples of it */

    /* Making: local. open: what is needed before; NULL: nothing. reserve: addresses for heaps of state.heap_bytes bytes
     * of all PEs of this node; grows 0: one piece will fill them. Not TUTTI_OK, without a word, where they cannot be
     * had: then unreserve, which gives back what there is, and again with fewer. make: a piece of the own heap, and how
     * peers find it; *fd: the descriptor that goes with it, -1: none. reach: maps the piece of a PE; `fd` stays the
     * caller's. With them space->heaps is set. What they say stands in piece->why. drop: takes both back of all PEs,
     * also where only some were done. let_go: peers' heaps, while all keep their own; unmake: what is left. Both do
     * nothing where there is nothing. */
    int (*open)(struct tutti_shmem *space);
    int (*reserve)(struct tutti_shmem *space, int grows);
    void (*unreserve)(struct tutti_shmem *space);
    int (*make)(struct tutti_shmem *space, struct tutti_shmem_piece *piece, struct tutti_shmem_offer *offer, int *fd);
    int (*reach)(struct tutti_shmem *space, struct tutti_shmem_piece *piece, int pe,
                 const struct tutti_shmem_offer *offer, int fd);
    void (*drop)(struct tutti_shmem *space, const struct tutti_shmem_piece *piece);
    void (*let_go)(struct tutti_shmem *space);
    void (*unmake)(struct tutti_shmem *space);

    /* One of both lies in a heap, the other one is the program's. Done on return; later, which is 1 + the number of a
     * context: complete after quiet() of that, and the program leaves its side alone until then. */
    int (*copy)(struct tutti_shmem *space, void *to, const void *from, size_t bytes, int later);
    /* An element, in one store or load where there is such. The program's side is host memory. */
    int (*element)(struct tutti_shmem *space, void *to, const void *from, size_t bytes);
    /* n blocks of `block` elements each, dst and sst elements apart; a block of one as an element. */
    int (*blocks)(struct tutti_shmem *space, void *to, const void *from, ptrdiff_t dst, ptrdiff_t sst, size_t block,
                  size_t n, size_t bytes);
    /* An atomic on a word of 4 or 8 bytes; what it was before, which with TSHMEM_AMO_NO_FETCH nobody asks for: then a
     * far one is complete past quiet(). */
    uint64_t (*amo)(struct tutti_shmem *space, int operation, void *at, size_t bytes, uint64_t value, uint64_t compare);
    /* Copies, then changes the signal: whoever sees it sees the data. 0 bytes: the signal alone. */
    int (*put_signal)(struct tutti_shmem *space, void *to, const void *from, size_t bytes, uint64_t *at, uint64_t value,
                      int operation, int later);
    int (*quiet)(struct tutti_shmem *space, int context);
    /* May be NULL. What a context needs besides its number; the default one, 0, is always there. */
    int (*open_context)(struct tutti_shmem *space, int context);

    /* Of collectives, between heaps. Done on return. */
    int (*move)(struct tutti_shmem *space, const struct tutti_shmem_part *parts, size_t n);
    int (*clear)(struct tutti_shmem *space, void *at, size_t bytes);
    int (*reduce)(struct tutti_shmem *space, const struct tutti_shmem_job *job);

    /* Looks at own words without waiting: 1: peek->seen holds them as they were after this look began;
     * 0: not yet; negative: a status. forget: after the last look. */
    int (*peek)(struct tutti_shmem *space, struct tutti_shmem_peek *peek, const void *words, size_t bytes);
    void (*forget)(struct tutti_shmem *space, struct tutti_shmem_peek *peek);

    /* What the agent of this PE does for far ones. */
    const struct tutti_wire_local *local;
    /* Memory that `reduce` and the agent reach, for parts of far heaps; NULL: none. */
    void *(*room)(struct tutti_shmem *space, size_t bytes);
    void (*give)(struct tutti_shmem *space, void *room);
};

extern const struct tutti_shmem_kind tutti_shmem_host, tutti_shmem_device, tutti_shmem_far;

#endif
