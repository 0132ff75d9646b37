/* Elements that kernels of runs cannot take where they lie: with gaps, in memory of the host, where others are
 * received, or in several blocks for one rank. They pass through scratch: packed or copied into it before the kernel of
 * the move, unpacked or copied out of it afterwards. Private to coll/. */
#ifndef TUTTI_COLL_PACKING_H
#define TUTTI_COLL_PACKING_H

#include "coll/move.h"
#include "dtype/pack.h"

struct tutti_bounce;

enum { TUTTI_PACKING_BLOCKS = 4 * TUTTI_MAX_GPUS }; /* most blocks of a side: a rank may have several */
enum {
    TUTTI_PIECE_LEAST = 12,
    TUTTI_PIECE_MOST = 25
}; /* powers of two: bytes that a piece of a call has of each run */

struct tutti_packing {
    char *scratch; /* NULL while its bytes are only counted */
    uint64_t used;
    int in_window;       /* 1: the scratch is pinned memory */
    int reaches_pinned;  /* 1: kernels read and write pinned memory where it lies */
    uint64_t begin, end; /* bytes of each run that are packed: a piece of the call, or all */
    struct tutti_pack_job pack[TUTTI_PACKING_BLOCKS], unpack[TUTTI_PACKING_BLOCKS];
    unsigned packs, unpacks;
    /* Elements in memory of the host: `bytes` bytes of them from byte `first` on are copied to `packed` before the
     * kernel, or from there after it. */
    struct tutti_packing_copy {
        const struct tutti_elements *host;
        uint64_t first, bytes;
        void *packed;
    } in[TUTTI_PACKING_BLOCKS], out[TUTTI_PACKING_BLOCKS];
    unsigned ins, outs;
    /* The elements packed last. If the next rank gets the same elements, they are packed once. */
    const struct tutti_elements *last;
    char *last_run;
};

static inline void tutti_packing_begin(struct tutti_packing *x, void *scratch)
{
    x->scratch = scratch;
    x->used = 0;
    x->in_window = x->reaches_pinned = 0;
    x->begin = 0;
    x->end = UINT64_MAX;
    x->packs = x->unpacks = x->ins = x->outs = 0;
    x->last = NULL;
}
/* Bytes of the packed form; 0: there are no elements. */
static inline uint64_t tutti_packing_bytes(const struct tutti_elements *elements)
{
    return elements->plan && elements->count > 0 ? tutti_elements_bytes(elements) : 0;
}
/* A run of the elements, which have bytes, for the kernel to send. */
const void *tutti_packing_sent(struct tutti_packing *x, const struct tutti_elements *elements);
/* A run for the kernel to store into, which is unpacked afterwards. */
void *tutti_packing_received(struct tutti_packing *x, const struct tutti_elements *elements);
/* Copies what a rank sends to itself if `from` or `to` is no run; relayout: from layout to layout, without scratch. */
void tutti_packing_own(struct tutti_packing *x, const struct tutti_elements *from, const struct tutti_elements *to,
                       int relayout);

/* Local. Takes what a move of such blocks needs before ranks wait for each other: scratch, plans, kernels. team: open.
 * 0: something is missing, and the reason is set. */
int tutti_packing_prepare(struct tutti_team *team, const struct tutti_move *move);
/* Local. Bytes of scratch that the move needs for these blocks. */
uint64_t tutti_packing_room(const struct tutti_team *team, const struct tutti_move *move);
/* Local; the team need not be open. If a call with blocks in memory of the host, or put aside, needs too much scratch:
 * the power of two of the bytes that a piece of it may have of each run. 0: the call goes in one piece. */
unsigned tutti_packing_piece(const struct tutti_team *team, const struct tutti_move *move);
/* Local. Scratch in pinned memory for few bytes in memory of the host, which the kernel of the move reads and writes
 * there: no copies around it. tutti_packing_prepare() has made it. NULL: in memory of the GPU. The caller gives it
 * back. */
struct tutti_bounce *tutti_packing_window(const struct tutti_team *team, const struct tutti_move *move);
/* Local. The bytes [begin, end) of each run: *flow, with their addresses, and what to do before and after. window: the
 * scratch; NULL: in memory of the GPU. */
void tutti_packing_of(const struct tutti_team *team, const struct tutti_move *move, void *window, uint64_t begin,
                      uint64_t end, struct tutti_packing *x, struct tutti_move_flow *flow);

/* Local. The copies of elements in memory of the host: those before the kernel, in the order of the team's stream, in
 * which no kernel stays; those after it, done on return. They wait for no kernel but this call's. Statuses. */
int tutti_packing_copy_in(const struct tutti_team *team, const struct tutti_packing *x);
int tutti_packing_copy_out(const struct tutti_team *team, const struct tutti_packing *x);

#endif
