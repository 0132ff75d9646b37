#include "coll/move/packing.h"

#include <string.h>

#include "bounce/bounce.h"
#include "coll/move/moves.h"
#include "coll/state.h"
#include "core/settings.h"
#include "core/status.h"

enum {
    PACKING_ALIGN = 256,  /* of each run in the scratch */
    WINDOW_MOST = 1 << 20 /* bytes of scratch in pinned memory */
};

/* Bytes of scratch: 32 MiB. Larger calls go in pieces, or are fetched. */
static uint64_t packing_most(void)
{
    return (uint64_t)tutti_settings()->staging_mb << 22;
}

/* Takes so many bytes of the scratch. */
static char *packing_take(struct tutti_packing *x, uint64_t bytes)
{
    char *at = x->scratch + x->used;
    x->used += (bytes + PACKING_ALIGN - 1) / PACKING_ALIGN * PACKING_ALIGN;
    return at;
}

/* Bytes of packed elements: `bytes` from byte `skip` on. */
struct packing_part {
    uint64_t skip, bytes;
};

static struct packing_part packing_whole(const struct tutti_elements *elements)
{
    return (struct packing_part){0, tutti_packing_bytes(elements)};
}

/* What the piece has of a block of `bytes` bytes that begins at byte `at` of its run. */
static struct packing_part packing_part_of(const struct tutti_packing *x, uint64_t at, uint64_t bytes)
{
    const uint64_t begin = at > x->begin ? at : x->begin, end = at + bytes < x->end ? at + bytes : x->end;
    return begin < end ? (struct packing_part){begin - at, end - begin} : (struct packing_part){0, 0};
}

static void packing_pack(struct tutti_packing *x, const struct tutti_elements *elements, struct packing_part part,
                         void *to)
{
    if (part.bytes > 0)
        x->pack[x->packs++] = tutti_elements_job(TUTTI_PACK, elements, part.skip, part.bytes, to);
}

static void packing_unpack(struct tutti_packing *x, const struct tutti_elements *elements, struct packing_part part,
                           void *from)
{
    if (part.bytes > 0)
        x->unpack[x->unpacks++] = tutti_elements_job(TUTTI_UNPACK, elements, part.skip, part.bytes, from);
}

static int packing_same(const struct tutti_elements *a, const struct tutti_elements *b)
{
    return a->plan == b->plan && a->count == b->count && a->buffer == b->buffer;
}

/* The place of elements that were packed last; room for others. *again: 1: they were. */
static char *packing_room_of(struct tutti_packing *x, const struct tutti_elements *elements, uint64_t bytes, int *again)
{
    *again = x->last && packing_same(x->last, elements);
    if (!*again) {
        x->last_run = packing_take(x, bytes);
        x->last = elements;
    }
    return x->last_run;
}

static const void *packing_sent(struct tutti_packing *x, const struct tutti_elements *elements,
                                struct packing_part part)
{
    int again;
    char *const room = packing_room_of(x, elements, part.bytes, &again);
    if (!again)
        packing_pack(x, elements, part, room);
    return room;
}

static void *packing_received(struct tutti_packing *x, const struct tutti_elements *elements, struct packing_part part)
{
    char *room = packing_take(x, part.bytes);
    packing_unpack(x, elements, part, room);
    return room;
}

const void *tutti_packing_sent(struct tutti_packing *x, const struct tutti_elements *elements)
{
    return packing_sent(x, elements, packing_whole(elements));
}

void *tutti_packing_received(struct tutti_packing *x, const struct tutti_elements *elements)
{
    return packing_received(x, elements, packing_whole(elements));
}

/* Byte `skip` of elements that are one run. */
static char *packing_run(const struct tutti_elements *elements, uint64_t skip)
{
    return (char *)tutti_elements_run(elements) + skip;
}

/* What a rank sends to itself, where `from` or `to` is no run. */
static void packing_own(struct tutti_packing *x, const struct tutti_elements *from, const struct tutti_elements *to,
                        struct packing_part part)
{
    if (from->whole) {
        packing_unpack(x, to, part, packing_run(from, part.skip));
    } else if (to->whole) {
        packing_pack(x, from, part, packing_run(to, part.skip));
    } else {
        char *packed = packing_take(x, part.bytes);
        packing_pack(x, from, part, packed);
        packing_unpack(x, to, part, packed);
    }
}

void tutti_packing_own(struct tutti_packing *x, const struct tutti_elements *from, const struct tutti_elements *to,
                       int relayout)
{
    const uint64_t bytes = tutti_packing_bytes(from);
    if (!relayout || from->whole || to->whole)
        packing_own(x, from, to, packing_whole(from));
    else
        x->pack[x->packs++] = (struct tutti_pack_job){.direction = TUTTI_RELAYOUT,
                                                      .plan = from->plan,
                                                      .count = (uint64_t)from->count,
                                                      .memory = from->buffer,
                                                      .to_plan = to->plan,
                                                      .to_count = (uint64_t)to->count,
                                                      .to = to->buffer,
                                                      .bytes = bytes};
}

/* ---- the blocks of a blocking call ---- */

/* 1: kernels do not reach the block. */
static int packing_is_far(const struct tutti_packing *x, const struct tutti_move_block *block)
{
    return block->host && !(block->host == TUTTI_BLOCK_PINNED && x->reaches_pinned);
}

/* Between elements in memory of the host and `packed`, which is scratch, or memory of the program. */
static void packing_copy(struct tutti_packing_copy copies[], unsigned *n, const struct tutti_elements *host,
                         struct packing_part part, void *packed)
{
    if (part.bytes > 0)
        copies[(*n)++] = (struct tutti_packing_copy){host, part.skip, part.bytes, packed};
}

/* A run of the block in memory of the GPU, for the kernel to read. aside: not where the block lies. */
static const void *packing_source(struct tutti_packing *x, const struct tutti_move_block *block,
                                  struct packing_part part, int aside)
{
    const struct tutti_elements *elements = &block->elements;
    int again;
    if (!packing_is_far(x, block))
        return elements->whole && !aside ? packing_run(elements, part.skip) : packing_sent(x, elements, part);
    char *const room = packing_room_of(x, elements, part.bytes, &again);
    if (!again)
        packing_copy(x->in, &x->ins, elements, part, room);
    return room;
}

/* A run of the block in memory of the GPU, for the kernel to store into. */
static void *packing_target(struct tutti_packing *x, const struct tutti_move_block *block, struct packing_part part)
{
    const struct tutti_elements *elements = &block->elements;
    if (!packing_is_far(x, block))
        return elements->whole ? packing_run(elements, part.skip) : packing_received(x, elements, part);
    char *room = packing_take(x, part.bytes);
    packing_copy(x->out, &x->outs, elements, part, room);
    return room;
}

/* What this rank sends to itself, unless the kernel can copy it. */
static int packing_own_block(struct tutti_packing *x, const struct tutti_move_block *from,
                             const struct tutti_move_block *to, struct packing_part part)
{
    const int far_from = packing_is_far(x, from), far_to = packing_is_far(x, to);
    if (!far_from && !far_to) {
        if (from->elements.whole && to->elements.whole)
            return 0;
        packing_own(x, &from->elements, &to->elements, part);
    } else if (far_from && !far_to && to->elements.whole) {
        packing_copy(x->in, &x->ins, &from->elements, part, packing_run(&to->elements, part.skip));
    } else if (far_to && from->elements.whole) {
        packing_copy(x->out, &x->outs, &to->elements, part, packing_run(&from->elements, part.skip));
    } else {
        char *room = packing_take(x, part.bytes);
        if (far_from)
            packing_copy(x->in, &x->ins, &from->elements, part, room);
        else
            packing_pack(x, &from->elements, part, room);
        if (far_to)
            packing_copy(x->out, &x->outs, &to->elements, part, room);
        else
            packing_unpack(x, &to->elements, part, room);
    }
    return 1;
}

/* ---- all of them ---- */

/* Runs of several blocks of one rank, one behind the other in the scratch. */
struct packing_joined {
    uint64_t begun; /* bit r: the run of rank r has room */
    char *room[TUTTI_MAX_GPUS];
    uint64_t at[TUTTI_MAX_GPUS]; /* of the run's bytes: where the next block begins */
};

/* What the piece has of the block in the run of its rank, of which the piece has `bytes`; *room: where. */
static struct packing_part packing_join(struct tutti_packing *x, struct packing_joined *joined,
                                        const struct tutti_move_block *block, uint64_t bytes, char **room)
{
    const int rank = block->rank;
    if (!(joined->begun >> rank & 1)) {
        joined->begun |= UINT64_C(1) << rank;
        joined->room[rank] = packing_take(x, bytes);
        joined->at[rank] = 0;
    }
    const struct packing_part part = packing_part_of(x, joined->at[rank], block->bytes);
    *room = joined->room[rank] + (part.bytes > 0 ? joined->at[rank] + part.skip - x->begin : 0);
    joined->at[rank] += block->bytes;
    return part;
}

/* full: the whole runs; flow: what the piece has of them. */
static void packing_sends(struct tutti_packing *x, const struct tutti_move *move, const struct tutti_move_flow *full,
                          struct tutti_move_flow *flow, uint64_t done)
{
    struct packing_joined joined = {.begun = 0};
    for (int i = 0; i < move->sends; i++) {
        const struct tutti_move_block *block = &move->send[i];
        struct tutti_move_send *run = &flow->send[block->rank];
        if (block->bytes == 0 || (done >> block->rank & 1) || run->bytes == 0)
            continue;
        if (!(move->runs.joined_sends >> block->rank & 1)) {
            if (block->bytes == full->send[block->rank].bytes) /* a longer run has its place */
                run->at = packing_source(x, block, packing_part_of(x, 0, block->bytes), move->aside);
            continue;
        }
        char *room;
        const struct packing_part part = packing_join(x, &joined, block, run->bytes, &room);
        run->at = joined.room[block->rank];
        if (packing_is_far(x, block))
            packing_copy(x->in, &x->ins, &block->elements, part, room);
        else
            packing_pack(x, &block->elements, part, room);
    }
}

static void packing_receives(struct tutti_packing *x, const struct tutti_move *move, const struct tutti_move_flow *full,
                             struct tutti_move_flow *flow, uint64_t done)
{
    struct packing_joined joined = {.begun = 0};
    for (int i = 0; i < move->receives; i++) {
        const struct tutti_move_block *block = &move->receive[i];
        struct tutti_move_receive *run = &flow->receive[block->rank];
        if (block->bytes == 0 || (done >> block->rank & 1) || run->bytes == 0)
            continue;
        if (!(move->runs.joined_receives >> block->rank & 1)) {
            if (block->bytes == full->receive[block->rank].bytes)
                run->at = packing_target(x, block, packing_part_of(x, 0, block->bytes));
            continue;
        }
        char *room;
        const struct packing_part part = packing_join(x, &joined, block, run->bytes, &room);
        run->at = joined.room[block->rank];
        if (packing_is_far(x, block))
            packing_copy(x->out, &x->outs, &block->elements, part, room);
        else
            packing_unpack(x, &block->elements, part, room);
    }
}

/* The next block of the rank that has bytes, from number *i on; NULL: no more. */
static const struct tutti_move_block *packing_next(const struct tutti_move_block *blocks, int n, int rank, int *i)
{
    for (; *i < n; (*i)++) {
        if (blocks[*i].rank == rank && blocks[*i].bytes > 0)
            return &blocks[(*i)++];
    }
    return NULL;
}

/* 1: what this rank sends to itself needs no kernel of the move. */
static int packing_own_all(const struct tutti_team *team, const struct tutti_move *move, struct tutti_packing *x)
{
    const struct tutti_move_block *from, *to;
    const uint64_t joined = move->runs.joined_sends | move->runs.joined_receives;
    uint64_t at = 0;
    int i = 0, j = 0, done = 0;
    if (x->in_window && !(joined >> team->rank & 1)) /* the kernel copies what lies in the window */
        return 0;
    while ((from = packing_next(move->send, move->sends, team->rank, &i)) != NULL &&
           (to = packing_next(move->receive, move->receives, team->rank, &j)) != NULL) {
        const struct packing_part part = packing_part_of(x, at, from->bytes);
        at += from->bytes;
        if (!packing_own_block(x, from, to, part)) {
            if (!(joined >> team->rank & 1))
                return 0; /* all blocks are runs, and the kernel copies them */
            packing_unpack(x, &to->elements, part, packing_run(&from->elements, part.skip));
        }
        done = 1;
    }
    return done;
}

/* The piece's bytes of all runs, at their places where the runs have one. */
static void packing_cut(const struct tutti_team *team, const struct tutti_packing *x,
                        const struct tutti_move_flow *full, struct tutti_move_flow *flow)
{
    memset(flow, 0, sizeof *flow);
    for (int r = 0; r < team->size; r++) {
        const struct packing_part sent = packing_part_of(x, 0, full->send[r].bytes),
                                  received = packing_part_of(x, 0, full->receive[r].bytes);
        flow->send[r] = (struct tutti_move_send){NULL, sent.bytes};
        flow->receive[r] = (struct tutti_move_receive){NULL, received.bytes};
        if (full->send[r].at)
            flow->send[r].at = (const char *)full->send[r].at + sent.skip;
        if (full->receive[r].at)
            flow->receive[r].at = (char *)full->receive[r].at + received.skip;
    }
}

static void packing_fill(const struct tutti_team *team, const struct tutti_move *move, struct tutti_packing *x,
                         struct tutti_move_flow *flow)
{
    const struct tutti_move_flow *const full = &move->runs.flow;
    packing_cut(team, x, full, flow);
    const int own_done = packing_own_all(team, move, x);
    const uint64_t done = (uint64_t)own_done << team->rank;
    packing_sends(x, move, full, flow, done);
    packing_receives(x, move, full, flow, done);
    if (own_done)
        flow->send[team->rank].bytes = flow->receive[team->rank].bytes = 0;
}

/* The memory of a rank that is pinned is no other rank's, of which one may launch. */
static int packing_reaches_pinned(const struct tutti_team *team)
{
    return team->state != TUTTI_TEAM_OPEN || team->gpus == team->size;
}

/* Bytes of scratch for pieces of so many bytes of each run. */
static uint64_t packing_room_for(const struct tutti_team *team, const struct tutti_move *move, uint64_t piece,
                                 int in_window, struct tutti_packing *x)
{
    struct tutti_move_flow flow;
    tutti_packing_begin(x, NULL);
    x->in_window = in_window;
    x->reaches_pinned = packing_reaches_pinned(team);
    x->end = piece;
    packing_fill(team, move, x, &flow);
    return x->used;
}

uint64_t tutti_packing_room(const struct tutti_team *team, const struct tutti_move *move)
{
    struct tutti_packing x;
    return move->runs.packed ? packing_room_for(team, move, UINT64_MAX, 0, &x) : 0;
}

/* Bytes of the scratch in pinned memory; 0: none. */
static size_t packing_window_room(const struct tutti_team *team, const struct tutti_move *move)
{
    struct tutti_packing x;
    if (!move->runs.host || move->runs.piece || !packing_reaches_pinned(team))
        return 0;
    const uint64_t bytes = packing_room_for(team, move, UINT64_MAX, 1, &x);
    return bytes > WINDOW_MOST ? 0 : (size_t)bytes;
}

/* Pinned memory is made before the ranks wait for each other, and kept until the call takes it: to make some waits for
 * the kernels of other calls, which may wait for this call of a peer. */
static void packing_window_prepare(const struct tutti_team *team, const struct tutti_move *move)
{
    const size_t bytes = packing_window_room(team, move);
    if (bytes > 0)
        tutti_bounce_give(tutti_bounce_take(&tutti_bounce_pinned, -1, bytes));
}

struct tutti_bounce *tutti_packing_window(const struct tutti_team *team, const struct tutti_move *move)
{
    const size_t bytes = packing_window_room(team, move);
    return bytes > 0 ? tutti_bounce_take_kept(&tutti_bounce_pinned, -1, bytes) : NULL;
}

unsigned tutti_packing_piece(const struct tutti_team *team, const struct tutti_move *move)
{
    struct tutti_packing x;
    unsigned piece = TUTTI_PIECE_MOST;
    if (!move->runs.packed || (!move->runs.host && !move->aside) ||
        packing_room_for(team, move, UINT64_MAX, 0, &x) <= packing_most())
        return 0;
    while (piece > TUTTI_PIECE_LEAST && packing_room_for(team, move, UINT64_C(1) << piece, 0, &x) > packing_most())
        piece--;
    return piece;
}

int tutti_packing_prepare(struct tutti_team *team, const struct tutti_move *move)
{
    struct tutti_packing x;
    if (!move->runs.packed)
        return 1;
    const int led = team->gpus < team->size; /* its leaders' pieces are others */
    const uint64_t piece = move->runs.piece && !led ? UINT64_C(1) << move->runs.piece : UINT64_MAX;
    if (packing_room_for(team, move, piece, 0, &x) > packing_most() ||
        tutti_coll_spare(team, team->gpu, x.used) != TUTTI_OK)
        return move->runs.host ? TUTTI_NO(HOST_SOME) : move->aside ? TUTTI_NO(IN_PLACE) : TUTTI_NO(TYPE);
    int status = TUTTI_OK;
    for (unsigned i = 0; i < x.packs && status == TUTTI_OK; i++)
        status = tutti_pack_prepare(team->gpu, x.pack[i].plan);
    for (unsigned i = 0; i < x.unpacks && status == TUTTI_OK; i++)
        status = tutti_pack_prepare(team->gpu, x.unpack[i].plan);
    packing_window_prepare(team, move);
    return status == TUTTI_OK || TUTTI_NO(TYPE);
}

void tutti_packing_of(const struct tutti_team *team, const struct tutti_move *move, void *window, uint64_t begin,
                      uint64_t end, struct tutti_packing *x, struct tutti_move_flow *flow)
{
    const struct tutti_coll_state *state = tutti_coll_of(team);
    tutti_packing_begin(x, window ? window : state->spares > 0 ? state->spare[state->spares - 1] : NULL);
    x->in_window = window != NULL;
    x->reaches_pinned = packing_reaches_pinned(team);
    x->begin = begin;
    x->end = end;
    packing_fill(team, move, x, flow);
}
