/* The flow kernels' environment in C: a block is one thread. See flow.inc. */
#ifndef TUTTI_KERNELS_FLOW_C_H
#define TUTTI_KERNELS_FLOW_C_H

#include "kernels/env_c.h"

#include "kernels/flow.inc"

#define TUTTI_FLOW_BODY(name) TUTTI_FLOW_BODY_(name)
#define TUTTI_FLOW_BODY_(name)                                                                                         \
    static void body_##name(const struct tutti_flow_args *args, unsigned block, const struct tutti_c_pair *pair)
#define TUTTI_FLOW_STEP(name)       TUTTI_FLOW_STEP_(name)
#define TUTTI_FLOW_STEP_APART(name) TUTTI_FLOW_STEP_(name)
#define TUTTI_FLOW_STEP_(name)                                                                                         \
    static inline int step_##name(const struct tutti_flow_args *args, unsigned block, uint64_t epoch, int form,        \
                                  const struct tutti_flow_first *first, const struct tutti_c_pair *pair)
#define TUTTI_FLOW_TAKE(name, call, block, epoch, form, first)  TUTTI_FLOW_TAKE_(name, call, block, epoch, form, first)
#define TUTTI_FLOW_TAKE_(name, call, block, epoch, form, first) step_##name(call, block, epoch, form, first, pair)
#define TUTTI_FLOW_FIRST(packets, call, block)                  tutti_flow_first(call, packets, pair->size, block)
#define TUTTI_FLOW_PUSH(packets, first, epoch, leads)                                                                  \
    tutti_flow_push(args, packets, pair->size, (first)->part, epoch, leads)
#define TUTTI_FLOW_PUSH_EACH(packets, spans, places, epoch)                                                            \
    tutti_flow_push_each(packets, pair->size, spans, places, epoch)
#define TUTTI_FLOW_PUSH_SEGMENTS(packets, grain, block, epoch, leads)                                                  \
    tutti_flow_push_segments(args, packets, pair->size, grain, block, epoch, leads)
#define TUTTI_FLOW_PULL_EACH(packets, spans, outs, epoch)                                                              \
    tutti_flow_pull_each(args, packets, pair->size, spans, outs, epoch)
#define TUTTI_FLOW_READY_EACH(packets, spans, places) (void)0
#define TUTTI_FLOW_PUSH_READY(packets, spans, places, epoch)                                                           \
    (tutti_flow_place_each(args, spans, epoch), TUTTI_FLOW_PUSH_EACH(packets, spans, places, epoch))
#define TUTTI_FLOW_PULL_READY(packets, spans, epoch)                                                                   \
    (tutti_flow_place_each(args, spans, epoch), TUTTI_FLOW_PULL_EACH(packets, spans, 1, epoch))
#define TUTTI_MOVE_FEW(packets)                 (void)0 /* a block is one thread */
#define TUTTI_FLOW_RELAY(link)                  tutti_flow_relay(args, pair, link)
#define TUTTI_FLOW_COMBINE(packets, sum, leads) tutti_flow_combine(args, packets, pair, sum, leads)

enum {
    TUTTI_FLOW_TILE = 240 * 16, /* bytes combined at once: whole units of both kinds of packets */
    TUTTI_FLOW_PARTS = TUTTI_MAX_RANKS / TUTTI_MAX_GPUS /* of a tile, if there are more contributions than GPUs */
};

/* What a launch packs first: reading it ahead would gain nothing here. */
struct tutti_flow_first {
    struct tutti_span part; /* of the block */
};

TUTTI_FN struct tutti_flow_first tutti_flow_first(const struct tutti_flow_args *args, enum tutti_packets packets,
                                                  unsigned size, unsigned block)
{
    const struct tutti_flow_first first = {
        tutti_flow_part(args->count, tutti_flow_grain(packets, size), block, args->blocks)};
    return first;
}

TUTTI_FN struct tutti_channel_flags *tutti_flow_channel(const struct tutti_flow_args *args, unsigned rank)
{
    return (struct tutti_channel_flags *)args->window[rank];
}

/* Blocks run one after the other. */
TUTTI_FN uint64_t tutti_flow_count(const struct tutti_flow_args *args, unsigned block)
{
    struct tutti_channel_flags *const own = tutti_flow_channel(args, args->rank);
    const uint64_t share = block == 0 ? TUTTI_TICKS - (args->blocks - 1) : 1;
    const uint64_t epoch = __atomic_fetch_add(&own->ticks, share, __ATOMIC_ACQ_REL) / TUTTI_TICKS + 1;
    if (block == 0 && tutti_flow_scrubs(epoch))
        memset((unsigned char *)args->window[args->rank] + args->packets + (~epoch & 1) * args->packets_stride, 0,
               (size_t)args->packets_stride);
    for (unsigned i = 0; block == 0 && tutti_flow_tells(args) && i + 1 < args->ranks; i++)
        __atomic_store_n(&tutti_flow_channel(args, tutti_flow_peer(args, i))->token[args->rank], epoch,
                         __ATOMIC_RELEASE);
    return epoch;
}

TUTTI_FN void tutti_flow_let_go(void)
{
}

/* In stream order: 0 if another launch, of another stream, is under way. Its first block begins, its last one ends.
 */
TUTTI_FN int tutti_flow_alone(const struct tutti_flow_args *args, unsigned block, int ends)
{
    struct tutti_channel_flags *const own = tutti_flow_channel(args, args->rank);
    uint64_t none = 0, mine = (uint64_t)(uintptr_t)args;
    if (args->launch_number != 0 || args->notice != 0 || block != (ends ? args->blocks - 1 : 0))
        return 1;
    if (ends)
        return __atomic_compare_exchange_n(&own->running, &mine, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    if (__atomic_load_n(&own->failed, __ATOMIC_RELAXED) ||
        __atomic_compare_exchange_n(&own->running, &none, mine, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return 1;
    __atomic_store_n(&own->failed, 1, __ATOMIC_RELAXED);
    __atomic_store_n(args->failed, TUTTI_LEFT_TWICE, __ATOMIC_RELEASE);
    return 0;
}

struct tutti_patience {
    unsigned spins;
    uint64_t start;
};

/* One more look was in vain; 1 if the launch must be left. */
TUTTI_FN int tutti_flow_tired(const struct tutti_flow_args *args, struct tutti_patience *p, unsigned phase,
                              unsigned rank)
{
    if (!tutti_rest(&p->spins))
        return 0;
    const uint64_t now = tutti_now_ns();
    if (args->where)
        __atomic_store_n(args->where, phase << 16 | rank, __ATOMIC_RELAXED);
    p->start = p->start ? p->start : now;
    struct tutti_channel_flags *const own = tutti_flow_channel(args, args->rank);
    const int late = args->timeout_ns && now - p->start > args->timeout_ns;
    if (__atomic_load_n(&own->failed, __ATOMIC_RELAXED)) /* the reason is stored */
        return 1;
    if (!__atomic_load_n(args->abort, __ATOMIC_RELAXED) && !late &&
        !(args->host_wait && args->host_wait(args->host_wait_with)))
        return 0;
    __atomic_store_n(&own->failed, 1, __ATOMIC_RELAXED);
    __atomic_store_n(args->failed, late ? TUTTI_LEFT_LATE : TUTTI_LEFT_TOLD, __ATOMIC_RELEASE);
    return 1;
}

TUTTI_FN int tutti_flow_wait_word(const struct tutti_flow_args *args, const uint64_t *word, uint64_t value,
                                  unsigned phase, unsigned rank)
{
    struct tutti_patience patience = {0, 0};
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) {
        if (tutti_flow_tired(args, &patience, phase, rank))
            return 0;
    }
    return 1;
}

/* Until all peers have begun the launch that is owed; 0 if the launch must be left. */
TUTTI_FN int tutti_flow_settle(const struct tutti_flow_args *args)
{
    const struct tutti_channel_flags *const own = tutti_flow_channel(args, args->rank);
    const uint64_t owed = __atomic_load_n(&own->owed, __ATOMIC_RELAXED);
    int ok = 1;
    for (unsigned i = 0; ok && i + 1 < args->ranks; i++) {
        const unsigned peer = tutti_flow_peer(args, i);
        ok = tutti_flow_wait_word(args, &own->token[peer], owed, 9, peer);
    }
    return ok;
}

TUTTI_FN uint64_t tutti_flow_begin(const struct tutti_flow_args *args, unsigned block)
{
    const uint64_t epoch = tutti_flow_count(args, block);
    if (!tutti_flow_alone(args, block, 0))
        return 0;
    if (__atomic_load_n(&tutti_flow_channel(args, args->rank)->failed, __ATOMIC_RELAXED))
        return 0;
    return tutti_flow_settle(args) ? epoch : 0;
}

/* Nothing is read ahead: a launch reads its channel when it counts. */
TUTTI_FN uint64_t tutti_flow_look(const struct tutti_flow_args *args)
{
    (void)args;
    return 0;
}

/* Every store to a peer is a release. */
TUTTI_FN uint64_t tutti_flow_begin_released(const struct tutti_flow_args *args, unsigned block)
{
    return tutti_flow_begin(args, block);
}

TUTTI_FN uint64_t tutti_flow_begin_seen(const struct tutti_flow_args *args, unsigned block, uint64_t seen)
{
    (void)seen;
    return tutti_flow_begin(args, block);
}

/* Spans that know no epoch get theirs. */
TUTTI_FN void tutti_flow_place_each(const struct tutti_flow_args *args, struct tutti_flow_spans *spans, uint64_t epoch)
{
    for (unsigned i = 0; i + 1 < args->ranks; i++)
        spans[i].packets += tutti_flow_shift(args, epoch);
}

/* Nor are copies. */
struct tutti_copy_ahead {
    int fits;
};

TUTTI_FN struct tutti_copy_ahead tutti_copy_ahead(const unsigned char *from, uint64_t bytes, unsigned block,
                                                  unsigned blocks)
{
    const struct tutti_copy_ahead ahead = {bytes == 0};
    (void)from, (void)block, (void)blocks;
    return ahead;
}

TUTTI_FN int tutti_copy_behind(unsigned char *to, unsigned block, const struct tutti_copy_ahead *ahead)
{
    (void)to, (void)block;
    return ahead->fits;
}

TUTTI_FN uint64_t tutti_flow_next(const struct tutti_flow_args *args, unsigned block, uint64_t epoch)
{
    (void)epoch; /* counted in the channel */
    const uint64_t next = tutti_flow_count(args, block);
    return tutti_flow_settle(args) ? next : 0;
}

TUTTI_FN uint64_t tutti_flow_last(const struct tutti_flow_args *args)
{
    const struct tutti_channel_flags *const own = tutti_flow_channel(args, args->rank);
    return __atomic_load_n(&own->failed, __ATOMIC_RELAXED)
               ? 0
               : __atomic_load_n(&own->ticks, __ATOMIC_ACQUIRE) / TUTTI_TICKS;
}

TUTTI_FN int tutti_flow_end(const struct tutti_flow_args *args, unsigned block, uint64_t epoch, int ok, int tokens)
{
    struct tutti_channel_flags *const own = tutti_flow_channel(args, args->rank);
    const int barrier = args->shape == TUTTI_SHAPE_NOTHING;
    if (tokens && !barrier && block + 1 == args->blocks)
        __atomic_store_n(&own->owed, epoch, __ATOMIC_RELAXED);
    for (unsigned i = 0; ok && tokens && barrier && block == 0 && i + 1 < args->ranks; i++) {
        const unsigned peer = tutti_flow_peer(args, i);
        ok = tutti_flow_wait_word(args, &own->token[peer], epoch, 9, peer);
    }
    ok &= !__atomic_load_n(&own->failed, __ATOMIC_RELAXED);
    tutti_flow_alone(args, block, 1);
    if (args->launch_number != 0 && block + 1 == args->blocks && ok)
        __atomic_store_n(args->done, args->launch_number, __ATOMIC_RELEASE);
    else if (args->notice != 0 && block + 1 == args->blocks && ok)
        __atomic_store_n(args->noticed, (uint32_t)epoch, __ATOMIC_RELEASE);
    return ok;
}

TUTTI_FN void tutti_flow_mark_one(const struct tutti_flow_args *args, unsigned phase, unsigned to, unsigned block,
                                  uint64_t epoch, uint64_t k)
{
    __atomic_store_n(&tutti_flow_channel(args, to)->mark[block][phase][args->rank], epoch << 24 | (k + 1),
                     __ATOMIC_RELEASE);
}

TUTTI_FN void tutti_flow_mark(const struct tutti_flow_args *args, unsigned phase, unsigned block, uint64_t epoch,
                              uint64_t k)
{
    for (unsigned i = 0; i + 1 < args->ranks; i++)
        tutti_flow_mark_one(args, phase, tutti_flow_peer(args, i), block, epoch, k);
}

TUTTI_FN void tutti_flow_mark_of(const struct tutti_flow_args *args, uint32_t of, unsigned phase, unsigned block,
                                 uint64_t epoch, uint64_t k)
{
    for (unsigned i = 0; i + 1 < args->ranks; i++) {
        const unsigned peer = tutti_flow_peer(args, i);
        if (of >> peer & 1)
            tutti_flow_mark_one(args, phase, peer, block, epoch, k);
    }
}

TUTTI_FN void tutti_flow_used(const struct tutti_flow_args *args, unsigned phase, unsigned to, unsigned block,
                              uint64_t epoch, uint64_t k)
{
    if (to == TUTTI_PEERS)
        tutti_flow_mark(args, phase, block, epoch, k);
    else
        tutti_flow_mark_one(args, phase, to, block, epoch, k);
}

TUTTI_FN int tutti_flow_await_one(const struct tutti_flow_args *args, unsigned phase, unsigned from, unsigned block,
                                  uint64_t epoch, uint64_t k)
{
    return tutti_flow_wait_word(args, &tutti_flow_channel(args, args->rank)->mark[block][phase][from],
                                epoch << 24 | (k + 1), phase, from);
}

TUTTI_FN int tutti_flow_await(const struct tutti_flow_args *args, unsigned phase, unsigned block, uint64_t epoch,
                              uint64_t k)
{
    int ok = 1;
    for (unsigned i = 0; ok && i + 1 < args->ranks; i++)
        ok = tutti_flow_await_one(args, phase, tutti_flow_peer(args, i), block, epoch, k);
    return ok;
}

TUTTI_FN int tutti_flow_await_of(const struct tutti_flow_args *args, uint32_t of, unsigned phase, unsigned block,
                                 uint64_t epoch, uint64_t k)
{
    int ok = 1;
    for (unsigned i = 0; ok && i + 1 < args->ranks; i++) {
        const unsigned peer = tutti_flow_peer(args, i);
        if (of >> peer & 1)
            ok = tutti_flow_await_one(args, phase, peer, block, epoch, k);
    }
    return ok;
}

TUTTI_FN int tutti_flow_await_used(const struct tutti_flow_args *args, unsigned phase, unsigned block, uint64_t epoch,
                                   uint64_t k)
{
    return tutti_flow_await(args, phase, block, epoch, k);
}

TUTTI_FN int tutti_flow_agree(int ok)
{
    return ok;
}

TUTTI_FN int tutti_flow_begun(const struct tutti_flow_args *args, unsigned peer, uint64_t epoch)
{
    const struct tutti_channel_flags *const own = tutti_flow_channel(args, args->rank);
    int ok = 1;
    for (unsigned i = 0; ok && i + 1 < args->ranks; i++) {
        const unsigned from = tutti_flow_peer(args, i);
        if (peer == TUTTI_PEERS || peer == from)
            ok = tutti_flow_wait_word(args, &own->token[from], epoch, 9, from);
    }
    return ok;
}

#include "kernels/flow_packets_c.h"
#include "kernels/flow_places_c.h"

static void reduce(const struct tutti_c_pair *pair, const void *const from[], unsigned ranks, void *const to[],
                   unsigned outs, uint64_t n);

/* A tile of each of a leader's results in a scan, at byte `at`. The first one may lie over the contribution that is
 * read in place: it comes last. */
static void tutti_flow_lead_prefixes(const struct tutti_flow_args *args, const struct tutti_c_pair *pair,
                                     const void *const from[], uint64_t at, uint64_t bytes)
{
    for (unsigned l = args->locals; l-- > 0;) {
        const unsigned depth = tutti_flow_local(args, l).number + (args->shape == TUTTI_SHAPE_THROUGH);
        void *const to[1] = {tutti_flow_out(args, l) + at};
        if (depth > 0)
            reduce(pair, from, depth, to, 1, bytes / pair->size);
    }
}

/* Tile by tile: the contributions are unpacked, combined as the other kernels do, packed for the others. */
static int tutti_flow_combine(const struct tutti_flow_args *args, enum tutti_packets packets,
                              const struct tutti_c_pair *pair, const struct tutti_flow_sum *sum, int leads)
{
    unsigned char tiles[TUTTI_MAX_GPUS * TUTTI_FLOW_TILE] __attribute__((aligned(64)));
    const unsigned contributions = tutti_flow_contributions(args, leads), number = tutti_flow_number(args, leads);
    const unsigned size = pair->size, unit = tutti_unit_data(packets, size);
    const uint64_t tile = TUTTI_FLOW_TILE / (contributions > TUTTI_MAX_GPUS ? TUTTI_FLOW_PARTS : 1);
    const uint64_t most = tile / unit * unit, bytes = sum->n * size;
    for (uint64_t at = 0; at < bytes; at += most) {
        const uint64_t some = bytes - at < most ? bytes - at : most;
        const uint64_t wire = tutti_flow_offset(packets, size, at / size);
        const void *from[TUTTI_MAX_RANKS];
        void *to[TUTTI_MAX_GPUS] = {tiles + number * tile}; /* the own contribution is read in place */
        const unsigned outs = leads && sum->out ? args->outs : 1;
        for (unsigned o = 0; sum->out && o < outs; o++)
            to[o] = tutti_flow_out(args, o) + (sum->out - (unsigned char *)args->out) + at;
        for (unsigned r = 0; r < sum->depth; r++) {
            from[r] = tiles + r * tile;
            if (r == number)
                from[r] = sum->own + at;
            else if (!tutti_flow_unpack(args, packets, size, tiles + r * tile, sum->slots + r * args->room + wire, some,
                                        sum->epoch, r))
                return 0;
        }
        if (tutti_flow_lead_scans(args, leads))
            tutti_flow_lead_prefixes(args, pair, from, (uint64_t)(sum->own - (const unsigned char *)args->in) + at,
                                     some);
        else
            reduce(pair, from, sum->depth, to, outs, some / size);
        for (unsigned i = 0; i + 1 < args->ranks; i++) {
            const unsigned peer = tutti_flow_peer(args, i);
            if (sum->receivers == TUTTI_FLOW_PEERS || (sum->receivers == TUTTI_FLOW_ROOT && peer == args->root))
                tutti_flow_pack(packets, size, (unsigned char *)args->window[peer] + sum->result + wire,
                                (const unsigned char *)to[0], some, sum->epoch);
        }
    }
    return 1;
}

/* Line by line of tiles, in lines of 128 bytes. */
static int tutti_flow_relay(const struct tutti_flow_args *args, const struct tutti_c_pair *pair,
                            const struct tutti_flow_link *link)
{
    unsigned char tile[2][TUTTI_FLOW_TILE] __attribute__((aligned(64)));
    const unsigned size = pair->size, unit = tutti_unit_data(TUTTI_LL128, size);
    const uint64_t most = TUTTI_FLOW_TILE / unit * unit, bytes = link->n * size;
    for (uint64_t at = 0; at < bytes; at += most) {
        const uint64_t some = bytes - at < most ? bytes - at : most;
        const uint64_t wire = at / unit * TUTTI_LINE;
        const void *from[2] = {tile[0], link->own ? link->own + at : 0};
        void *to[1] = {link->out ? link->out + at : tile[1]};
        if (link->from &&
            !tutti_flow_unpack(args, TUTTI_LL128, size, tile[0], link->from + wire, some, link->flag, link->rank))
            return 0;
        if (!link->from) {
            from[0] = from[1];
        } else if (link->own && link->turned) {
            from[1] = from[0];
            from[0] = link->own + at;
        }
        reduce(pair, from, link->from && link->own ? 2 : 1, to, 1, some / size);
        if (link->to)
            tutti_flow_pack(TUTTI_LL128, size, link->to + wire, (const unsigned char *)to[0], some, link->flag);
    }
    return 1;
}

#endif
