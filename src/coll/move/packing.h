/* Elements that kernels of runs cannot take where they lie: with gaps, in memory of the host, where others are
 * received, or in several blocks for one rank. They pass through scratch: packed or copied into it before the kernel of
 * the move, unpacked or copied out of it afterwards. Private to coll/. */
#ifndef TUTTI_COLL_PACKING_H
#define TUTTI_COLL_PACKING_H

#include "coll/move.h"
#include "dtype/pack.h"

enum { TUTTI_PACKING_BLOCKS = 4 * TUTTI_MAX_GPUS }; /* most blocks of a side: a rank may have several */

struct tutti_packing {
    char *scratch; /* NULL while its bytes are only counted */
    uint64_t used;
    struct tutti_pack_job pack[TUTTI_PACKING_BLOCKS], unpack[TUTTI_PACKING_BLOCKS];
    unsigned packs, unpacks;
    /* Runs in memory of the host: copied before the kernel, and after it. */
    struct tutti_packing_copy {
        void *to;
        const void *from;
        uint64_t bytes;
    } in[TUTTI_PACKING_BLOCKS], out[TUTTI_PACKING_BLOCKS];
    unsigned ins, outs;
    /* The elements packed last. If the next rank gets the same elements, they are packed once. */
    const struct tutti_elements *last;
    const void *last_run;
};

static inline void tutti_packing_begin(struct tutti_packing *x, void *scratch)
{
    x->scratch = scratch;
    x->used = 0;
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
/* Local. Sets the addresses of the runs in move->runs.flow, and what to do before and after. */
void tutti_packing_of(const struct tutti_team *team, struct tutti_move *move, struct tutti_packing *x);

#endif
