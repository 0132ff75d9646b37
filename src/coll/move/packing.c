#include "coll/move/packing.h"

#include "coll/move/moves.h"
#include "coll/state.h"
#include "core/status.h"

enum {
    PACKING_ALIGN = 256,    /* of each run in the scratch */
    PACKING_MOST = 32 << 20 /* bytes of scratch: larger calls are fetched */
};

/* Takes so many bytes of the scratch. */
static char *packing_take(struct tutti_packing *x, uint64_t bytes)
{
    char *at = x->scratch + x->used;
    x->used += (bytes + PACKING_ALIGN - 1) / PACKING_ALIGN * PACKING_ALIGN;
    return at;
}

static void packing_pack(struct tutti_packing *x, const struct tutti_elements *elements, void *to)
{
    x->pack[x->packs++] = tutti_elements_job(TUTTI_PACK, elements, 0, tutti_packing_bytes(elements), to);
}

static void packing_unpack(struct tutti_packing *x, const struct tutti_elements *elements, void *from)
{
    x->unpack[x->unpacks++] = tutti_elements_job(TUTTI_UNPACK, elements, 0, tutti_packing_bytes(elements), from);
}

static int packing_same(const struct tutti_elements *a, const struct tutti_elements *b)
{
    return a->plan == b->plan && a->count == b->count && a->buffer == b->buffer;
}

const void *tutti_packing_sent(struct tutti_packing *x, const struct tutti_elements *elements)
{
    if (!x->last || !packing_same(x->last, elements)) {
        char *room = packing_take(x, tutti_packing_bytes(elements));
        packing_pack(x, elements, room);
        x->last = elements;
        x->last_run = room;
    }
    return x->last_run;
}

void *tutti_packing_received(struct tutti_packing *x, const struct tutti_elements *elements)
{
    char *room = packing_take(x, tutti_packing_bytes(elements));
    packing_unpack(x, elements, room);
    return room;
}

void tutti_packing_own(struct tutti_packing *x, const struct tutti_elements *from, const struct tutti_elements *to,
                       int relayout)
{
    const uint64_t bytes = tutti_packing_bytes(from);
    if (from->whole) {
        packing_unpack(x, to, tutti_elements_run(from));
    } else if (to->whole) {
        packing_pack(x, from, tutti_elements_run(to));
    } else if (relayout) {
        x->pack[x->packs++] = (struct tutti_pack_job){.direction = TUTTI_RELAYOUT,
                                                      .plan = from->plan,
                                                      .count = (uint64_t)from->count,
                                                      .memory = from->buffer,
                                                      .to_plan = to->plan,
                                                      .to_count = (uint64_t)to->count,
                                                      .to = to->buffer,
                                                      .bytes = bytes};
    } else {
        char *packed = packing_take(x, bytes);
        packing_pack(x, from, packed);
        packing_unpack(x, to, packed);
    }
}

/* ---- the blocks of a blocking call ---- */

static void packing_copy(struct tutti_packing_copy copies[], unsigned *n, void *to, const void *from, uint64_t bytes)
{
    copies[(*n)++] = (struct tutti_packing_copy){.to = to, .from = from, .bytes = bytes};
}

/* A run of the block in memory of the GPU, for the kernel to read. aside: not where the block lies. */
static const void *packing_source(struct tutti_packing *x, const struct tutti_move_block *block, int aside)
{
    const struct tutti_elements *elements = &block->elements;
    if (!block->host)
        return elements->whole && !aside ? tutti_elements_run(elements) : tutti_packing_sent(x, elements);
    if (!x->last || !packing_same(x->last, elements)) {
        char *room = packing_take(x, block->bytes);
        packing_copy(x->in, &x->ins, room, tutti_elements_run(elements), block->bytes);
        x->last = elements;
        x->last_run = room;
    }
    return x->last_run;
}

/* A run of the block in memory of the GPU, for the kernel to store into. */
static void *packing_target(struct tutti_packing *x, const struct tutti_move_block *block)
{
    const struct tutti_elements *elements = &block->elements;
    if (!block->host)
        return elements->whole ? tutti_elements_run(elements) : tutti_packing_received(x, elements);
    char *room = packing_take(x, block->bytes);
    packing_copy(x->out, &x->outs, tutti_elements_run(elements), room, block->bytes);
    return room;
}

/* What this rank sends to itself, unless the kernel can copy it. */
static int packing_own_block(struct tutti_packing *x, const struct tutti_move_block *from,
                             const struct tutti_move_block *to)
{
    if (!from->host && !to->host) {
        if (from->elements.whole && to->elements.whole)
            return 0;
        tutti_packing_own(x, &from->elements, &to->elements, 0);
    } else if (from->elements.whole && to->elements.whole) {
        packing_copy(x->in, &x->ins, tutti_elements_run(&to->elements), tutti_elements_run(&from->elements),
                     from->bytes);
    } else if (from->host) {
        char *room = packing_take(x, from->bytes);
        packing_copy(x->in, &x->ins, room, tutti_elements_run(&from->elements), from->bytes);
        packing_unpack(x, &to->elements, room);
    } else {
        char *room = packing_take(x, from->bytes);
        packing_pack(x, &from->elements, room);
        packing_copy(x->out, &x->outs, tutti_elements_run(&to->elements), room, from->bytes);
    }
    return 1;
}

/* ---- all of them ---- */

/* Runs of several blocks of one rank: where the next block goes; NULL: the run has no room yet. */
struct packing_joined {
    uint64_t begun; /* bit r: the run of rank r has room */
    char *next[TUTTI_MAX_GPUS];
};

/* Room of the block in the run of its rank, which has `bytes` bytes. *run: where the run begins. */
static char *packing_join(struct tutti_packing *x, struct packing_joined *joined, const struct tutti_move_block *block,
                          uint64_t bytes, const void **run)
{
    const int rank = block->rank;
    if (!(joined->begun >> rank & 1)) {
        joined->begun |= UINT64_C(1) << rank;
        *run = joined->next[rank] = packing_take(x, bytes);
    }
    char *const room = joined->next[rank];
    joined->next[rank] += block->bytes;
    return room;
}

static void packing_sends(struct tutti_packing *x, const struct tutti_move *move, struct tutti_move_flow *flow,
                          uint64_t done)
{
    struct packing_joined joined = {.begun = 0};
    for (int i = 0; i < move->sends; i++) {
        const struct tutti_move_block *block = &move->send[i];
        struct tutti_move_send *run = &flow->send[block->rank];
        if (block->bytes == 0 || (done >> block->rank & 1))
            continue;
        if (!(move->runs.joined_sends >> block->rank & 1)) {
            if (block->bytes == run->bytes) /* a longer run has its place */
                run->at = packing_source(x, block, move->aside);
            continue;
        }
        char *const room = packing_join(x, &joined, block, run->bytes, &run->at);
        if (block->host)
            packing_copy(x->in, &x->ins, room, tutti_elements_run(&block->elements), block->bytes);
        else
            packing_pack(x, &block->elements, room);
    }
}

static void packing_receives(struct tutti_packing *x, const struct tutti_move *move, struct tutti_move_flow *flow,
                             uint64_t done)
{
    struct packing_joined joined = {.begun = 0};
    for (int i = 0; i < move->receives; i++) {
        const struct tutti_move_block *block = &move->receive[i];
        struct tutti_move_receive *run = &flow->receive[block->rank];
        if (block->bytes == 0 || (done >> block->rank & 1))
            continue;
        if (!(move->runs.joined_receives >> block->rank & 1)) {
            if (block->bytes == run->bytes)
                run->at = packing_target(x, block);
            continue;
        }
        const void *begin = run->at;
        char *const room = packing_join(x, &joined, block, run->bytes, &begin);
        run->at = (void *)(uintptr_t)begin;
        if (block->host)
            packing_copy(x->out, &x->outs, tutti_elements_run(&block->elements), room, block->bytes);
        else
            packing_unpack(x, &block->elements, room);
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
    int i = 0, j = 0, done = 0;
    while ((from = packing_next(move->send, move->sends, team->rank, &i)) != NULL &&
           (to = packing_next(move->receive, move->receives, team->rank, &j)) != NULL) {
        if (!packing_own_block(x, from, to)) {
            if (!(joined >> team->rank & 1))
                return 0; /* all blocks are runs, and the kernel copies them */
            packing_unpack(x, &to->elements, tutti_elements_run(&from->elements));
        }
        done = 1;
    }
    return done;
}

static void packing_fill(const struct tutti_team *team, const struct tutti_move *move, struct tutti_packing *x,
                         struct tutti_move_flow *flow)
{
    const int own_done = packing_own_all(team, move, x);
    const uint64_t done = (uint64_t)own_done << team->rank;
    packing_sends(x, move, flow, done);
    packing_receives(x, move, flow, done);
    if (own_done)
        flow->send[team->rank].bytes = flow->receive[team->rank].bytes = 0;
}

uint64_t tutti_packing_room(const struct tutti_team *team, const struct tutti_move *move)
{
    struct tutti_packing x;
    struct tutti_move_flow flow = move->runs.flow;
    if (!move->runs.packed)
        return 0;
    tutti_packing_begin(&x, NULL);
    packing_fill(team, move, &x, &flow);
    return x.used;
}

int tutti_packing_prepare(struct tutti_team *team, const struct tutti_move *move)
{
    struct tutti_packing x;
    struct tutti_move_flow flow = move->runs.flow;
    if (!move->runs.packed)
        return 1;
    tutti_packing_begin(&x, NULL);
    packing_fill(team, move, &x, &flow);
    if (x.used > PACKING_MOST || tutti_coll_spare(team, team->gpu, x.used) != TUTTI_OK)
        return TUTTI_NO(TYPE);
    int status = TUTTI_OK;
    for (unsigned i = 0; i < x.packs && status == TUTTI_OK; i++)
        status = tutti_pack_prepare(team->gpu, x.pack[i].plan);
    for (unsigned i = 0; i < x.unpacks && status == TUTTI_OK; i++)
        status = tutti_pack_prepare(team->gpu, x.unpack[i].plan);
    return status == TUTTI_OK || TUTTI_NO(TYPE);
}

void tutti_packing_of(const struct tutti_team *team, struct tutti_move *move, struct tutti_packing *x)
{
    const struct tutti_coll_state *state = tutti_coll_of(team);
    tutti_packing_begin(x, state->spares > 0 ? state->spare[state->spares - 1] : NULL);
    packing_fill(team, move, x, &move->runs.flow);
}
