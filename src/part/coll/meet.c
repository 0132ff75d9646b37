/* How ranks agree that their kernels meet. In a round by the schedule each rank writes to all others where its buffers
 * and counters lie, maps those of the others, and votes. If all votes are yes, kernels meet from the next round on.
 * A failure is tried again after twice as many rounds, which all ranks count alike. */
#include "part/coll/meet.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/counters.h"
#include "part/coll/reduce.h"
#include "tutti/shmem_ids.h"

enum {
    LABEL = 1 << 20, /* of offers; those of votes have the next one. Blocks of reductions have 0 */
    SLICE = 32 << 10,
    SLICES_MOST = 128,
    TIMEOUT_MS = 2000 /* for mappings */
};

_Static_assert((int)TSHMEM_INT32 == (int)TUTTI_TYPE_I32 && (int)TSHMEM_UINT64 == (int)TUTTI_TYPE_U64 &&
                   (int)TSHMEM_ID_HALF == (int)TUTTI_TYPE_F16 && (int)TSHMEM_ID_DOUBLE == (int)TUTTI_TYPE_F64,
               "types have one number");

/* ---- requests ---- */

/* The operator's number in kernels; -1: kernels of programs do not know it. */
static int meet_op(const struct tutti_pcoll *p)
{
    static const int ops[TUTTI_OPS] = {
        [TUTTI_OP_SUM] = 1 + TSHMEM_OP_SUM, [TUTTI_OP_PROD] = 1 + TSHMEM_OP_PROD, [TUTTI_OP_MIN] = 1 + TSHMEM_OP_MIN,
        [TUTTI_OP_MAX] = 1 + TSHMEM_OP_MAX, [TUTTI_OP_BAND] = 1 + TSHMEM_OP_AND,  [TUTTI_OP_BOR] = 1 + TSHMEM_OP_OR,
        [TUTTI_OP_BXOR] = 1 + TSHMEM_OP_XOR};
    const int type = p->args.type;
    if (type < (int)TSHMEM_INT32 || type > (int)TSHMEM_ID_DOUBLE || p->args.op < 0 || p->args.op >= TUTTI_OPS)
        return -1;
    return ops[p->args.op] - 1;
}

/* Facts that are the same on all ranks. */
static int can_meet(const struct tutti_pcoll *p)
{
    const struct tutti_pcoll_args *args = &p->args;
    const struct tutti_pcoll_block *block = args->in_place ? args->recv.block : args->send.block;
    if ((args->kind != TUTTI_PCOLL_ALLREDUCE && args->kind != TUTTI_PCOLL_REDUCE) || args->size < 2 ||
        args->size > TUTTI_MEET_RANKS || meet_op(p) < 0 || p->partitions < 1 || block->count < 1 || !block->in_order ||
        (!block->solid && block->count > 1) || p->groups != 1 || !tutti_part_engine.worker.endpoint)
        return 0;
    for (int r = 0; r < args->size; r++) {
        if (tutti_meet_peer(p, r) < 0)
            return 0;
    }
    return tutti_pcoll_meets(tutti_meet_bytes(p), p->partitions) != TUTTI_PCOLL_MEET_NEVER;
}

static int agreement_edge(struct tutti_pcoll *p, int send, int peer, int label, size_t at, size_t bytes)
{
    const struct tutti_pcoll_at place = {TUTTI_PCOLL_AGREEMENT, (int64_t)at, (int64_t)bytes};
    const int edge = tutti_pcoll_edge_bytes(p, send, peer, label, place, bytes, 1);
    if (edge >= 0)
        p->edge[edge].agreement = 1;
    return edge;
}

static void edges_make(struct tutti_pcoll *p)
{
    struct tutti_meeting *m = p->meeting;
    const size_t offer = sizeof(struct tutti_meet_offer), vote = sizeof(struct tutti_meet_vote);
    for (int r = 0; r < p->args.size; r++) {
        const size_t theirs = offsetof(struct tutti_meet_agreement, theirs) + (size_t)r * offer;
        const size_t votes = offsetof(struct tutti_meet_agreement, vote) + (size_t)r * vote;
        if (r == p->args.rank)
            continue;
        m->edge[TUTTI_MEET_SENDS_OFFER][r] =
            agreement_edge(p, 1, r, LABEL, offsetof(struct tutti_meet_agreement, mine), offer);
        m->edge[TUTTI_MEET_SENDS_VOTE][r] =
            agreement_edge(p, 1, r, LABEL + 1, offsetof(struct tutti_meet_agreement, my_vote), vote);
        m->edge[TUTTI_MEET_GETS_OFFER][r] = agreement_edge(p, 0, r, LABEL, theirs, offer);
        m->edge[TUTTI_MEET_GETS_VOTE][r] = agreement_edge(p, 0, r, LABEL + 1, votes, vote);
    }
}

void tutti_pcoll_meet_new(struct tutti_pcoll *p)
{
    if (!can_meet(p))
        return;
    static uint32_t requests; /* under the engine's lock */
    struct tutti_meeting *m = calloc(1, sizeof *m);
    if (!m) {
        p->failed = 1;
        return;
    }
    p->meeting = m;
    m->next = 1;
    m->base = ++requests << 16;
    m->marks = -1;
    m->by_kernels = tutti_pcoll_meets(tutti_meet_bytes(p), p->partitions) == TUTTI_PCOLL_MEET_KERNEL;
    m->view.bytes = tutti_meet_bytes(p);
    m->view.slices = (int32_t)((m->view.bytes + SLICE - 1) / SLICE);
    m->view.slices = m->view.slices < SLICES_MOST ? m->view.slices : SLICES_MOST;
    m->view.slice = (m->view.bytes / (uint64_t)m->view.slices + 15) / 16 * 16;
    if (m->view.slice * (uint64_t)m->view.slices < m->view.bytes)
        m->view.slice += 16;
    edges_make(p);
}

static void mappings_drop(struct tutti_pcoll *p)
{
    for (int r = 0; r < p->args.size; r++) {
        for (int s = 0; s < TUTTI_MEET_SHARES; s++) {
            if (p->meeting->held[r][s] && tutti_part_engine.transport)
                tutti_endpoint_release(tutti_part_engine.worker.endpoint, p->meeting->held[r][s]);
            p->meeting->held[r][s] = NULL;
        }
    }
}

static void meet_stream_drop(struct tutti_meeting *m)
{
    const struct tutti_device *device = tutti_device();
    if (m->stream && tutti_device_active(device) && m->memory && m->memory->life == tutti_gpu_life(m->memory->gpu))
        device->stream.destroy(m->stream);
    m->stream = NULL;
}

void tutti_pcoll_meet_free(struct tutti_pcoll *p)
{
    struct tutti_meeting *m = p->meeting;
    if (!m)
        return;
    meet_stream_drop(m);
    if (!m->broken) {
        mappings_drop(p);
        tutti_meet_memory_give(m->memory);
        if (m->marks >= 0 && tutti_part_engine.transport)
            tutti_marks_give(tutti_part_engine.worker.node, m->marks, TUTTI_MEET_WORDS + p->partitions);
    }
    free(m);
    p->meeting = NULL;
}

/* ---- what this rank offers ---- */

size_t tutti_meet_counters(const struct tutti_pcoll *p)
{
    const size_t owned = (size_t)(p->partitions + p->args.size - 1) / (size_t)p->args.size;
    return owned * ((size_t)p->meeting->view.slices + 1) * sizeof(uint64_t);
}

static int is_place(const struct tutti_places *places)
{
    return places->device && tutti_places_reached(places) && places->id != 0;
}

int tutti_meet_places(const struct tutti_pcoll *p, struct tutti_places *in, struct tutti_places *out)
{
    const struct tutti_device *device = tutti_device();
    const struct tutti_pcoll_side *from = p->args.in_place ? &p->args.recv : &p->args.send, *to = &p->args.recv;
    if (!tutti_device_active(device) || !device->launch.meet)
        return 0;
    tutti_places_of(from->block->plan, from->block->count * p->partitions, (char *)from->buffer + from->block->offset,
                    in);
    *out = *in;
    if (!p->args.in_place && to->used)
        tutti_places_of(to->block->plan, to->block->count * p->partitions, (char *)to->buffer + to->block->offset, out);
    return is_place(in) && is_place(out) && in->gpu == out->gpu;
}

static void words_clear(const struct tutti_meeting *m, int first, int n)
{
    for (int i = first; i < first + n && m->marks >= 0; i++)
        __atomic_store_n(&tutti_marks_own(tutti_part_engine.worker.node)[m->marks + i], 0, __ATOMIC_RELAXED);
}

/* Memory, stream and marks for the GPU of the buffers. 0: there are none. */
static int resources_take(struct tutti_pcoll *p)
{
    struct tutti_meeting *m = p->meeting;
    const struct tutti_device *device = tutti_device();
    const int gpu = m->in.gpu;
    if (m->memory && (m->memory->gpu != gpu || m->memory->life != tutti_gpu_life(gpu))) {
        meet_stream_drop(m);
        tutti_meet_memory_give(m->memory);
        m->memory = NULL;
    }
    if (!m->memory)
        m->memory = tutti_meet_memory_take(gpu, 2 * tutti_meet_half(p));
    if (!m->memory)
        return 0;
    if (!m->stream && device->stream.create(gpu, &m->stream) != TUTTI_OK) {
        m->stream = NULL;
        return 0;
    }
    if (m->marks < 0) {
        m->marks = tutti_marks_take(tutti_part_engine.worker.node, TUTTI_MEET_WORDS + p->partitions);
        words_clear(m, 0, TUTTI_MEET_WORDS); /* a former request's number may be one of this request */
    }
    return m->marks >= 0 && (!device->launch.prepare_meet || device->launch.prepare_meet(gpu) == TUTTI_OK);
}

static int offer_shares(struct tutti_pcoll *p)
{
    struct tutti_meeting *m = p->meeting;
    struct tutti_endpoint *endpoint = tutti_part_engine.worker.endpoint;
    struct tutti_share *share = m->agreement.mine.share;
    const int peer = tutti_meet_peer(p, p->args.rank == 0 ? 1 : 0), gpu = m->in.gpu;
    char *const counters = tutti_meet_view(p) + sizeof(struct tutti_meet);
    return tutti_endpoint_show(endpoint, peer, tutti_meet_in(p), m->in.id, gpu, &share[TUTTI_MEET_IN]) &&
           (!p->args.recv.used ||
            tutti_endpoint_show(endpoint, peer, tutti_meet_out(p), m->out.id, gpu, &share[TUTTI_MEET_OUT])) &&
           tutti_endpoint_show(endpoint, peer, counters, m->memory->id, gpu, &share[TUTTI_MEET_COUNT]);
}

/* The counters and the marks of results are cleared: nothing uses this half of the memory, and no result of the last
 * agreement is missing. */
static int offer_fill(struct tutti_pcoll *p)
{
    struct tutti_meeting *m = p->meeting;
    struct tutti_meet_offer *mine = &m->agreement.mine;
    const struct tutti_device *device = tutti_device();
    if (m->broken || p->status != TUTTI_OK || !tutti_meet_places(p, &m->in, &m->out) || !resources_take(p) ||
        !offer_shares(p))
        return 0;
    words_clear(m, TUTTI_MEET_WORDS, p->partitions);
    mine->base = m->base;
    mine->gets = p->args.recv.used;
    mine->gpu = m->in.gpu;
    mine->marks = m->marks;
    mine->type = p->args.type;
    mine->op = meet_op(p);
    mine->partitions = p->partitions;
    mine->slices = m->view.slices;
    mine->bytes = m->view.bytes;
    mine->aligned =
        ((uintptr_t)tutti_meet_in(p) & 15) == 0 && (!mine->gets || ((uintptr_t)tutti_meet_out(p) & 15) == 0);
    return device->gpu.uuid(mine->gpu >= 0 ? mine->gpu : 0, mine->uuid) == TUTTI_OK &&
           device->stream.fill(m->stream, tutti_meet_view(p) + sizeof(struct tutti_meet), 0, tutti_meet_counters(p)) ==
               TUTTI_OK;
}

/* ---- an attempt ---- */

static void agreement_send(struct tutti_pcoll *p, int which)
{
    for (int r = 0; r < p->args.size; r++) {
        struct tutti_part *part = r == p->args.rank ? NULL : p->edge[p->meeting->edge[which][r]].part;
        if (part)
            (void)tutti_part_ready(part, 0, 0); /* a failure is seen by both sides */
    }
}

/* 1: all are there; 0: not yet; -1: one will not come. */
static int agreement_here(const struct tutti_pcoll *p, int which)
{
    int here = 1;
    for (int r = 0; r < p->args.size; r++) {
        const struct tutti_part *part = r == p->args.rank ? NULL : p->edge[p->meeting->edge[which][r]].part;
        if (part && !tutti_part_has_arrived(part, 0))
            return 0;
        if (part && tutti_part_has_failed(part))
            here = -1;
    }
    return here;
}

void tutti_pcoll_meet_attempt(struct tutti_pcoll *p)
{
    struct tutti_meeting *m = p->meeting;
    if (!m || !m->attempt)
        return;
    m->half ^= 1;
    m->since = 0;
    m->state = TUTTI_MEET_OFFERS;
    mappings_drop(p);
    memset(&m->agreement.mine, 0, sizeof m->agreement.mine);
    m->agreement.mine.ok =
        tutti_endpoint_is_streamed(tutti_part_engine.worker.endpoint) ? TUTTI_MEET_QUIET : offer_fill(p);
    agreement_send(p, TUTTI_MEET_SENDS_OFFER);
}

/* why: text of a no, which the statistics count; NULL: yes. */
static void vote(struct tutti_pcoll *p, const char *why)
{
    struct tutti_meeting *m = p->meeting;
    const int yes = why == NULL;
    if (why)
        tutti_count("partitioned collectives", TUTTI_OUTCOME_PASSED, why);
    m->agreement.my_vote = (struct tutti_meet_vote){.ok = yes};
    m->state = TUTTI_MEET_VOTES;
    agreement_send(p, TUTTI_MEET_SENDS_VOTE);
}

/* NULL: kernels can meet by these offers; otherwise why not. */
static const char *offers_differ(const struct tutti_pcoll *p)
{
    const struct tutti_meeting *m = p->meeting;
    const struct tutti_meet_offer *mine = &m->agreement.mine;
    for (int r = 0; r < p->args.size; r++) {
        const struct tutti_meet_offer *o = r == p->args.rank ? mine : &m->agreement.theirs[r];
        if (o->ok == TUTTI_MEET_QUIET)
            return "nothing may be mapped while a communicator with a stream exists";
        if (o->ok != TUTTI_MEET_FINE)
            return "a rank's buffers do not lie in one allocation of one GPU each";
        if (o->type != mine->type || o->op != mine->op || o->partitions != mine->partitions ||
            o->bytes != mine->bytes || o->slices != mine->slices || o->marks < 0 ||
            o->marks > TUTTI_MARKS - TUTTI_MEET_WORDS - o->partitions)
            return "the ranks' calls differ";
        if (r != p->args.rank && !tutti_meet_has_atomics(mine, o->uuid))
            return "kernels have no atomics on memory of another rank's GPU";
    }
    return NULL;
}

/* Where kernels find what rank r has offered. */
static enum tutti_reaching rank_reach(struct tutti_pcoll *p, int r)
{
    struct tutti_meeting *m = p->meeting;
    const struct tutti_meet_offer *o = &m->agreement.theirs[r];
    struct tutti_node *node = tutti_part_engine.worker.node;
    const int peer = tutti_meet_peer(p, r), gpu = m->agreement.mine.gpu;
    uint64_t *const at[] = {&m->view.in[r], &m->view.out[r], &m->view.count[r]};
    const uint64_t all = m->view.bytes * (uint64_t)p->partitions;
    const uint64_t bytes[] = {all, all, tutti_meet_counters(p)};
    const int may_map = !tutti_endpoint_is_streamed(tutti_part_engine.worker.endpoint);
    uint32_t *const marks = tutti_marks_view(node, tutti_device(), peer, gpu, may_map);
    if (!marks)
        return may_map ? TUTTI_REACH_NOT : TUTTI_REACH_LATER;
    m->view.done[r] = (uint64_t)(uintptr_t)(marks + o->marks + TUTTI_MEET_WORDS);
    m->words[r] = tutti_marks_of(node, peer) + o->marks;
    for (int s = 0; s < TUTTI_MEET_SHARES; s++) {
        char *data;
        if (m->held[r][s] || (s == TUTTI_MEET_OUT && !o->gets))
            continue;
        const enum tutti_reaching there = tutti_endpoint_put(tutti_part_engine.worker.endpoint, peer, &o->share[s],
                                                             o->gpu, gpu, bytes[s], &data, &m->held[r][s]);
        if (there != TUTTI_REACHED)
            return there;
        *at[s] = (uint64_t)(uintptr_t)data;
    }
    return TUTTI_REACHED;
}

/* The own entries of the kernels' view, and what all ranks share. 0: the marks cannot be reached. */
static int view_own(struct tutti_pcoll *p)
{
    struct tutti_meeting *m = p->meeting;
    struct tutti_node *node = tutti_part_engine.worker.node;
    const int rank = p->args.rank;
    uint32_t *const marks = tutti_marks_view(node, tutti_device(), tutti_node_rank(node), m->agreement.mine.gpu,
                                             !tutti_endpoint_is_streamed(tutti_part_engine.worker.endpoint));
    if (!marks)
        return 0;
    m->view.ranks = p->args.size;
    m->view.type = m->agreement.mine.type;
    m->view.op = m->agreement.mine.op;
    m->view.most = m->by_kernels ? UINT64_MAX : 0;
    m->view.in[rank] = (uint64_t)(uintptr_t)tutti_meet_in(p);
    m->view.out[rank] = p->args.recv.used ? (uint64_t)(uintptr_t)tutti_meet_out(p) : 0;
    m->view.count[rank] = (uint64_t)(uintptr_t)(tutti_meet_view(p) + sizeof(struct tutti_meet));
    m->view.done[rank] = (uint64_t)(uintptr_t)(marks + m->marks + TUTTI_MEET_WORDS);
    m->words[rank] = tutti_marks_own(node) + m->marks;
    m->view.aligned = m->agreement.mine.aligned;
    for (int r = 0; r < p->args.size; r++)
        m->view.aligned &= r == rank || m->agreement.theirs[r].aligned;
    return 1;
}

static void offers_take(struct tutti_pcoll *p)
{
    struct tutti_meeting *m = p->meeting;
    const uint64_t now = tutti_now_ns();
    m->since = m->since ? m->since : now;
    for (int r = 0; r < p->args.size; r++) {
        const enum tutti_reaching there = r == p->args.rank ? TUTTI_REACHED : rank_reach(p, r);
        if (there == TUTTI_REACH_LATER && now - m->since < TIMEOUT_MS * UINT64_C(1000000))
            return;
        if (there != TUTTI_REACHED) {
            vote(p, "a rank's memory could not be mapped");
            return;
        }
    }
    if (!view_own(p) ||
        tutti_device()->stream.copy(m->stream, tutti_meet_view(p), &m->view, sizeof m->view) != TUTTI_OK)
        vote(p, "a copy to the GPU has failed");
    else
        m->state = TUTTI_MEET_COPIES;
}

/* All votes are here. */
static void votes_take(struct tutti_pcoll *p, int come)
{
    struct tutti_meeting *m = p->meeting;
    int yes = come > 0 && m->agreement.my_vote.ok;
    for (int r = 0; r < p->args.size; r++)
        yes &= r == p->args.rank || m->agreement.vote[r].ok;
    m->state = yes ? TUTTI_MEET_YES : TUTTI_MEET_NO;
    m->reached = 0;
    m->attempt = 0;
    m->next = 2 * m->round;
    if (!yes)
        mappings_drop(p);
}

int tutti_pcoll_meet_is_open(const struct tutti_pcoll *p)
{
    return p->meeting && p->meeting->state != TUTTI_MEET_NO && p->meeting->state != TUTTI_MEET_YES;
}

int tutti_pcoll_meet_attempts(const struct tutti_pcoll *p)
{
    return p->meeting && p->meeting->attempt;
}

void *tutti_pcoll_meet_agreement(const struct tutti_pcoll *p)
{
    return p->meeting ? &p->meeting->agreement : NULL;
}

void tutti_pcoll_meet_advance(struct tutti_pcoll *p)
{
    struct tutti_meeting *m = p->meeting;
    if (!tutti_pcoll_meet_is_open(p))
        return;
    tutti_endpoint_poll(tutti_part_engine.worker.endpoint); /* peers may ask for descriptors */
    if (m->state == TUTTI_MEET_OFFERS) {
        const int here = agreement_here(p, TUTTI_MEET_GETS_OFFER);
        const char *why = here == 0                           ? NULL
                          : here < 0 || p->status != TUTTI_OK ? "the round has failed"
                                                              : offers_differ(p);
        if (why)
            vote(p, why);
        else if (here != 0)
            offers_take(p);
    }
    if (m->state == TUTTI_MEET_COPIES) {
        const int copied = tutti_device()->stream.query(m->stream);
        if (copied != 0)
            vote(p, copied > 0 ? NULL : "a copy to the GPU has failed");
    }
    if (m->state == TUTTI_MEET_VOTES) {
        const int here = agreement_here(p, TUTTI_MEET_GETS_VOTE);
        if (here != 0)
            votes_take(p, here);
    }
}
