/* The sender: each fragment is packed, then sent. Of the schedule of n fragments task 2i packs number i and task 2i + 1
 * sends it; fragments are sent in order, as all have one tag. */
#include <stdatomic.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/status.h"
#include "p2p/pipelined_own.h"

enum {
    AHEAD = 4,          /* fragments that are being packed at a time */
    DEPTH = 8,          /* with a grant to wait for: packed and under way */
    GRACE_NS = 3000000, /* time without a fragment taken after which more memory is taken */
    SPARES = 8,
    SPARE_FRAGMENTS = 256 /* of those that are kept */
};

struct tutti_outgoing {
    struct tutti_outgoing *next; /* among the spare ones */
    struct tutti_pipelined *pipelined;
    struct tutti_sched *sched;
    struct tutti_elements elements;
    uint64_t bytes, size, n; /* size: of a fragment; n: of them */
    int gpu, to, tag, status;
    atomic_int holders;                        /* the call that carries it; the schedule */
    atomic_int ended;                          /* the schedule has */
    _Atomic uint64_t begun, sent, gone, limit; /* fragments: being packed, from begun on ...; the limit in memory */
    struct sent {
        struct tutti_fragment *fragment;
        struct tutti_copy_task pack;
        struct tutti_transfer_task send;
    } part[];
};

/* ---- tasks ---- */

static uint64_t counter_load(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void counter_count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_release);
}

/* 1 if the fragment may be packed: the number in memory is limited. */
static int pack_ready(void *with, uint64_t i)
{
    struct tutti_outgoing *out = with;
    struct sent *part = &out->part[i];
    struct tutti_fragments *pool = out->pipelined->fragments;
    if (counter_load(&out->begun) - counter_load(&out->gone) >= counter_load(&out->limit))
        return 0;
    if (!part->fragment && !(part->fragment = tutti_fragment_take(pool, out->size, out->gpu)))
        return 0;
    const int status =
        tutti_fragment_copy(pool, TUTTI_PACK, out->gpu, &out->elements, i * out->size,
                            tutti_fragment_bytes(out->bytes, out->size, out->n, i), part->fragment, &part->pack);
    return status != TUTTI_OK ? status : 1;
}

static void pack_begun(void *with, uint64_t i)
{
    (void)i;
    counter_count(&((struct tutti_outgoing *)with)->begun);
}

/* A fragment that the device or the transport may still use after a failure is kept. */
static void lose_fragment(struct tutti_outgoing *out, uint64_t i)
{
    out->part[i].fragment = NULL;
}

static void pack_ended(void *with, uint64_t i, enum tutti_task_end how)
{
    if (how == TUTTI_TASK_LOST)
        lose_fragment(with, i);
}

static int pipelined_out_ready(void *with, uint64_t i)
{
    struct tutti_outgoing *out = with;
    struct sent *part = &out->part[i];
    part->send.memory = part->fragment->memory;
    part->send.bytes = tutti_fragment_bytes(out->bytes, out->size, out->n, i);
    part->send.rank = out->to;
    part->send.tag = out->tag;
    part->send.synchronous = i + 1 == out->n;
    return 1;
}

static void send_begun(void *with, uint64_t i)
{
    (void)i;
    counter_count(&((struct tutti_outgoing *)with)->sent);
}

static void send_ended(void *with, uint64_t i, enum tutti_task_end how)
{
    struct tutti_outgoing *out = with;
    if (how != TUTTI_TASK_DONE) {
        lose_fragment(out, i);
        return;
    }
    tutti_fragment_give(out->pipelined->fragments, out->part[i].fragment);
    out->part[i].fragment = NULL;
    counter_count(&out->gone);
}

static const struct tutti_task_hooks pack_hooks = {.ready = pack_ready, .begun = pack_begun, .ended = pack_ended};
static const struct tutti_task_hooks send_hooks = {
    .ready = pipelined_out_ready, .begun = send_begun, .ended = send_ended};

/* ---- making ---- */

static void outgoing_destroy(struct tutti_outgoing *out)
{
    tutti_sched_free(out->sched);
    free(out);
}

void tutti_outgoing_spare(struct tutti_pipelined *p)
{
    while (p->spare) {
        struct tutti_outgoing *out = p->spare;
        p->spare = out->next;
        outgoing_destroy(out);
    }
    p->spares = 0;
}

/* The lock is held. The spare one to be replaced; NULL: there is no spare one. */
static struct tutti_outgoing *outgoing_keep(struct tutti_pipelined *p, struct tutti_outgoing *out)
{
    struct tutti_outgoing **last = &p->spare, *old = NULL;
    out->next = p->spare;
    p->spare = out;
    if (++p->spares <= SPARES)
        return NULL;
    while ((*last)->next)
        last = &(*last)->next;
    old = *last;
    *last = NULL;
    p->spares--;
    return old;
}

static void outgoing_release(struct tutti_outgoing *out)
{
    struct tutti_pipelined *p = out->pipelined;
    if (atomic_fetch_sub_explicit(&out->holders, 1, memory_order_acq_rel) > 1)
        return;
    for (uint64_t i = 0; i < out->n; i++) {
        if (out->part[i].fragment)
            tutti_fragment_give(p->fragments, out->part[i].fragment);
        out->part[i].fragment = NULL;
    }
    tutti_plan_drop(out->elements.plan);
    pthread_mutex_lock(&p->lock);
    tutti_pipelined_give_tag(p, out->tag);
    struct tutti_outgoing *old = out->n <= SPARE_FRAGMENTS ? outgoing_keep(p, out) : out;
    pthread_mutex_unlock(&p->lock);
    tutti_step_close(p->step);
    if (old)
        outgoing_destroy(old);
}

static void pipelined_out_ended(void *with, int status)
{
    struct tutti_outgoing *out = with;
    out->status = status;
    atomic_store_explicit(&out->ended, 1, memory_order_release);
    outgoing_release(out);
}

static int outgoing_build(struct tutti_outgoing *out)
{
    int status = TUTTI_OK;
    for (uint64_t i = 0; i < out->n && status == TUTTI_OK; i++) {
        struct sent *part = &out->part[i];
        part->pack.user = (struct tutti_task_user){&pack_hooks, out};
        part->send.user = (struct tutti_task_user){&send_hooks, out};
        part->send.transport = out->pipelined->transport;
        const int pack = tutti_task_copy(out->sched, &part->pack, i);
        const int send = pack < 0 ? pack : tutti_task_send(out->sched, &part->send, i);
        status = send < 0 ? send : tutti_sched_after(out->sched, send, pack, TUTTI_AFTER_END);
        if (status == TUTTI_OK && i > 0)
            status = tutti_sched_after(out->sched, pack, pack - 2, TUTTI_AFTER_POST);
        if (status == TUTTI_OK && i > 0)
            status = tutti_sched_after(out->sched, send, send - 2, TUTTI_AFTER_POST);
        if (status == TUTTI_OK && i >= AHEAD)
            status = tutti_sched_after(out->sched, pack, send - 2 * AHEAD, TUTTI_AFTER_POST);
    }
    return status;
}

/* With a schedule of n fragments. */
static struct tutti_outgoing *outgoing_take(struct tutti_pipelined *p, uint64_t n)
{
    pthread_mutex_lock(&p->lock);
    struct tutti_outgoing **at = &p->spare;
    while (*at && (*at)->n != n)
        at = &(*at)->next;
    struct tutti_outgoing *out = *at;
    if (out) {
        *at = out->next;
        p->spares--;
    }
    pthread_mutex_unlock(&p->lock);
    if (out)
        return out;
    if (!(out = calloc(1, sizeof *out + n * sizeof *out->part)))
        return NULL;
    out->pipelined = p;
    out->n = n;
    out->sched = tutti_sched_new("message to another node");
    if (out->sched && outgoing_build(out) == TUTTI_OK) {
        tutti_sched_then(out->sched, pipelined_out_ended, out);
        return out;
    }
    outgoing_destroy(out);
    return NULL;
}

struct tutti_outgoing *tutti_pipelined_offer(struct tutti_pipelined *pipelined, const struct tutti_elements *elements,
                                             uint64_t bytes, uint64_t fragment, int gpu, int to,
                                             struct tutti_pipelined_rts *rts)
{
    struct tutti_pipelined *p = pipelined;
    struct tutti_fragment *first = tutti_fragment_take(p->fragments, fragment, gpu);
    struct tutti_outgoing *out = first ? outgoing_take(p, (bytes + fragment - 1) / fragment) : NULL;
    int tag = -1;
    pthread_mutex_lock(&p->lock);
    if (out && (tag = tutti_pipelined_take_tag(p)) >= 0)
        *rts = (struct tutti_pipelined_rts){.key = {p->key[0], p->key[1]},
                                            .sequence = ++p->sequence,
                                            .bytes = bytes,
                                            .fragment = fragment,
                                            .tag = tag,
                                            .rank = p->transport->rank};
    pthread_mutex_unlock(&p->lock);
    if (tag < 0) {
        if (first)
            tutti_fragment_give(p->fragments, first);
        if (out)
            outgoing_destroy(out);
        return NULL;
    }
    out->elements = *elements;
    out->elements.plan = tutti_plan_hold(elements->plan);
    out->bytes = bytes;
    out->size = fragment;
    out->gpu = gpu;
    out->to = to;
    out->tag = tag;
    out->part[0].fragment = first;
    atomic_store(&out->holders, 1);
    atomic_store(&out->ended, 0);
    atomic_store(&out->begun, 0);
    atomic_store(&out->sent, 0);
    atomic_store(&out->gone, 0);
    tutti_step_open(p->step);
    return out;
}

void tutti_outgoing_withdraw(struct tutti_outgoing *out)
{
    outgoing_release(out);
}

/* ---- carrying ---- */

struct carry {
    struct tutti_outgoing *out;
    int (*granted)(void *with);
    void *with;
    uint64_t since, moves; /* time of the last progress */
};

/* 1 if the transport has all fragments. */
static int outgoing_carried(void *with)
{
    struct carry *c = with;
    struct tutti_outgoing *out = c->out;
    if (atomic_load_explicit(&out->ended, memory_order_acquire) ||
        atomic_load_explicit(&out->sent, memory_order_acquire) == out->n)
        return 1;
    if (counter_load(&out->limit) == UINT64_MAX)
        return 0;
    const uint64_t moves = counter_load(&out->begun) + counter_load(&out->sent) + counter_load(&out->gone);
    if (moves != c->moves || !c->granted(c->with)) {
        c->moves = moves;
        c->since = tutti_now_ns();
    } else if (tutti_now_ns() - c->since > GRACE_NS) {
        atomic_store_explicit(&out->limit, UINT64_MAX, memory_order_relaxed);
    }
    return 0;
}

int tutti_outgoing_carry(struct tutti_outgoing *out, int (*granted)(void *with), void *with)
{
    struct carry c = {.out = out, .granted = granted, .with = with, .since = tutti_now_ns()};
    atomic_store(&out->limit, granted ? DEPTH : UINT64_MAX);
    atomic_store(&out->holders, 2);
    tutti_sched_start(out->sched);
    if (!outgoing_carried(&c))
        tutti_progress_wait(&(const struct tutti_wait){.done = outgoing_carried, .with = &c});
    const int status = atomic_load_explicit(&out->ended, memory_order_acquire) ? out->status : TUTTI_OK;
    outgoing_release(out);
    return status;
}
