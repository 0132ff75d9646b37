/* Kernels store partitions in the receiver's buffer. The receiver offers its buffer when it prepares a round, and the
 * sender decides: kernels store the round where they reach the buffer and a rule says so. A kernel of the sender sets a
 * mark for each transport partition (team/marks.h), which the receiver's kernels and its host see.
 * What kernels do not store is sent as other partitions are, so a round may have both.
 *
 * No wait needs the other side's host: the sender waits for its own mapping, and for a moment. The receiver looks at
 * its marks while the request is active. */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/counters.h"
#include "device/device.h"
#include "part/own.h"
#include "team/marks.h"
#include "team/share.h"
#include "tutti/prequest.h"

/* That the sender waits at most for a mapping, in the first round with a buffer: no kernel waits yet then, which the
 * driver might wait for. Past it the mapping is not waited for any more. fd: a descriptor needs the receiver's host. */
enum { TIMEOUT_MS = 2000, TIMEOUT_FD_MS = 20 };
enum { LINES_MOST = 64 }; /* marks of a receive that have lines of their own */

struct tutti_part_put {
    /* Of a receive: */
    int first, n, apart;          /* marks, and words between two; n 0: none */
    int next;                     /* all marks before it have been counted in this round */
    uint64_t each;                /* bytes of a transport partition of the sender */
    unsigned char *taken;         /* [n]: 1: it has been counted */
    struct tutti_part_offer told; /* what the sender knows; not shared: nothing */
    uint32_t serial;              /* of it */
    /* Of a send: */
    struct tutti_mapping *held;
    uint64_t since; /* when it began to wait for the mapping; 0: it has not */
    uint64_t warm;  /* the first round with these allocations: the sender's, the receiver's; 0: none yet */
    uint64_t warm_from, warm_to;
};

static struct tutti_part_put *put_of(struct tutti_part *part)
{
    if (!part->put)
        part->put = calloc(1, sizeof *part->put);
    return part->put;
}

/* 1 if the buffer is one run of bytes in one allocation of a GPU. */
static int put_is_one_run(const struct tutti_part *part)
{
    const struct tutti_places *places = &part->elements.places;
    return part->elements.whole && places->device && tutti_places_reached(places) && places->id != 0 &&
           tutti_part_capacity(part) > 0;
}

/* The node rank of the other side; -1: it is of another node. */
static int put_peer(const struct tutti_part *part)
{
    const struct tutti_p2p_worker *worker = &tutti_part_engine.worker;
    return worker->endpoint && part->args.peer >= 0 ? tutti_node_find(worker->node, part->args.peer) : -1;
}

/* 0: what is not mapped yet stays so. */
static int put_may_map(void)
{
    return !tutti_endpoint_is_streamed(tutti_part_engine.worker.endpoint);
}

int tutti_part_put_is_possible(const struct tutti_part *part)
{
    return put_peer(part) >= 0 &&
           (part->args.send ? tutti_part_kernels_store(part->each) : tutti_part_kernels_may_store());
}

static int put_is_active(const struct tutti_part *part)
{
    return atomic_load_explicit(&part->active, memory_order_relaxed) && part->status == TUTTI_OK;
}

/* ---- receiver ---- */

/* Takes the marks, and one for the round. Few marks have lines of their own, in the lower half of all: many blocks that
 * read one line wait for each other. 0: there are none. */
static int put_marks_take(struct tutti_part_put *put, int n)
{
    struct tutti_node *node = tutti_part_engine.worker.node;
    put->apart = n <= LINES_MOST ? TUTTI_PREQUEST_LINE : 1;
    put->first = tutti_marks_take(node, (n + 1) * put->apart);
    if (put->apart > 1 && (put->first < 0 || put->first > TUTTI_MARKS / 2 - (n + 1) * put->apart)) {
        if (put->first >= 0)
            tutti_marks_give(node, put->first, (n + 1) * put->apart);
        put->apart = 1;
        put->first = tutti_marks_take(node, n + 1);
    }
    return put->first >= 0;
}

static uint32_t *put_mark_at(const struct tutti_part_put *put, int i)
{
    return &tutti_marks_own(tutti_part_engine.worker.node)[put->first + i * put->apart];
}

/* As kernels find marks whose first one is `first` (struct tutti_prequest_round). */
static uint64_t put_marks_for_kernels(const uint32_t *first, int apart)
{
    return (uint64_t)(uintptr_t)first + (apart > 1);
}

/* The marks of the receive, all 0. 0: there are none. */
static int put_marks_clear(struct tutti_part_put *put, const struct tutti_part_record *record)
{
    const int each = (int)record->each, n = each > 0 ? (record->partitions + each - 1) / each : 0;
    if (put->n == 0) {
        if (!(put->taken = calloc((size_t)n + 1, 1)) || !put_marks_take(put, n)) {
            free(put->taken);
            put->taken = NULL;
            return 0;
        }
        put->n = n;
    }
    for (int i = 0; i < n; i++)
        __atomic_store_n(put_mark_at(put, i), 0, __ATOMIC_RELAXED);
    memset(put->taken, 0, (size_t)n);
    put->next = 0;
    put->each = record->bytes / (uint64_t)record->partitions * record->each;
    return 1;
}

int tutti_part_put_offer(struct tutti_part *part, struct tutti_part_offer *offer)
{
    const struct tutti_p2p_worker *worker = &tutti_part_engine.worker;
    const struct tutti_part_record *record = part->record;
    const int peer = put_peer(part);
    if (peer < 0 || !put_is_active(part) || !put_is_one_run(part) || record->bytes == 0 ||
        record->bytes > tutti_part_capacity(part) || !tutti_part_kernels_may_store() ||
        !(put_may_map() || tutti_share_is_named(worker->node, part->elements.places.id)))
        return 0;
    struct tutti_part_put *put = put_of(part);
    memset(offer, 0, sizeof *offer);
    if (!put ||
        !tutti_endpoint_show(worker->endpoint, peer, tutti_elements_run(&part->elements), part->elements.places.id,
                             part->elements.places.gpu, &offer->share) ||
        !put_marks_clear(put, record))
        return 0;
    offer->gpu = part->elements.places.gpu;
    offer->marks = put->first;
    offer->n = put->n;
    offer->apart = put->apart;
    part->put_round = part->round;
    if (put->warm == 0 || put->warm_to != part->elements.places.id)
        put->warm = part->round;
    put->warm_to = part->elements.places.id;
    tutti_part_put_show(part);
    return 1;
}

static int put_is_same(const struct tutti_part_offer *a, const struct tutti_part_offer *b)
{
    return a->share.shared && b->share.shared && a->share.what.id == b->share.what.id &&
           a->share.what.base == b->share.what.base && a->share.offset == b->share.offset && a->gpu == b->gpu &&
           a->marks == b->marks && a->n == b->n && a->apart == b->apart;
}

int tutti_part_put_offer_again(struct tutti_part *part, struct tutti_part_offer *offer)
{
    struct tutti_part_put *put = part->put;
    const int same = put_is_same(&put->told, offer);
    put->serial += !same;
    offer->serial = put->serial;
    put->told = *offer;
    __atomic_store_n(put_mark_at(put, put->n), tutti_part_offer_mark(put->serial, part->round), __ATOMIC_RELEASE);
    return same;
}

void tutti_part_put_forget(struct tutti_part *part)
{
    part->put->told.share.shared = 0;
}

/* 1 if these are marks that a rank has. */
static int put_has_marks(const struct tutti_part_offer *offer)
{
    return (offer->apart == 1 || offer->apart == TUTTI_PREQUEST_LINE) && offer->n >= 0 && offer->n < TUTTI_MARKS &&
           offer->marks >= 0 && offer->marks <= TUTTI_MARKS - (offer->n + 1) * offer->apart;
}

int tutti_part_put_is_offered(const struct tutti_part *part, const struct tutti_part_offer *offer)
{
    const int peer = put_peer(part);
    if (peer < 0 || !offer->share.shared || !put_has_marks(offer))
        return 0;
    const uint32_t *marks = tutti_marks_of(tutti_part_engine.worker.node, peer);
    return __atomic_load_n(&marks[offer->marks + offer->n * offer->apart], __ATOMIC_ACQUIRE) ==
           tutti_part_offer_mark(offer->serial, part->round);
}

void tutti_part_put_show(struct tutti_part *part)
{
    struct tutti_node *node = tutti_part_engine.worker.node;
    const struct tutti_prequest *view = part->kernels_view;
    if (!tutti_part_put_is_on(part) || !view)
        return;
    uint32_t *seen = tutti_marks_view(node, tutti_device(), tutti_node_rank(node), part->kernels_gpu, put_may_map());
    if (!seen)
        return; /* the kernels see what this host has counted */
    for (int i = 0; i < view->copies; i++) {
        __atomic_store_n(&view->round[i].bytes, part->put->each, __ATOMIC_RELAXED);
        __atomic_store_n(&view->round[i].marks, put_marks_for_kernels(seen + part->put->first, part->put->apart),
                         __ATOMIC_RELEASE);
    }
}

static int put_mark_is_set(const struct tutti_part_put *put, int i)
{
    return !put->taken[i] && __atomic_load_n(put_mark_at(put, i), __ATOMIC_ACQUIRE) != 0;
}

/* Transport partitions [first, end) are in the buffer. */
static void put_landed(struct tutti_part *part, int first, int end)
{
    struct tutti_part_put *put = part->put;
    const struct tutti_part_record *record = part->record;
    const uint64_t from = (uint64_t)first * record->each, n = (uint64_t)record->partitions;
    const uint64_t to = (uint64_t)end * record->each < n ? (uint64_t)end * record->each : n;
    memset(put->taken + first, 1, (size_t)(end - first));
    part->unnamed -= to - from;
    tutti_part_landed(part, from * (record->bytes / n), (to - from) * (record->bytes / n));
}

int tutti_part_put_poll(struct tutti_part *part)
{
    struct tutti_part_put *put = part->put;
    const struct tutti_p2p_worker *worker = &tutti_part_engine.worker;
    if (part->args.send || !tutti_part_put_is_on(part))
        return TUTTI_OK;
    while (put->next < put->n && put->taken[put->next])
        put->next++;
    for (int first = put->next, end; first < put->n; first = end) {
        end = first + 1;
        if (!put_mark_is_set(put, first))
            continue;
        while (end < put->n && put_mark_is_set(put, end))
            end++;
        put_landed(part, first, end);
    }
    if (put->next == put->n)
        return TUTTI_OK;
    if (put->warm == part->round)
        tutti_endpoint_poll(worker->endpoint); /* the sender may ask for a descriptor of the buffer */
    return tutti_endpoint_watch(worker->endpoint, tutti_node_find(worker->node, part->args.peer));
}

/* ---- sender ---- */

/* Where kernels find the receiver's buffer. 1: there; 0: not known yet; -1: nowhere. */
static int put_reach(struct tutti_part *part, const struct tutti_part_offer *offer, int peer, int gpu, char **to)
{
    struct tutti_part_put *put = part->put;
    const uint64_t now = tutti_now_ns();
    const enum tutti_reaching there = tutti_endpoint_put(tutti_part_engine.worker.endpoint, peer, &offer->share,
                                                         offer->gpu, gpu, tutti_part_capacity(part), to, &put->held);
    if (there != TUTTI_REACH_LATER)
        return there == TUTTI_REACHED ? 1 : -1;
    if (put->since == 0)
        put->since = now;
    const uint64_t timeout = offer->share.what.needs_fd ? TIMEOUT_FD_MS : TIMEOUT_MS;
    const int is_first = put->warm == 0 || put->warm_to != offer->share.what.id;
    return is_first && now - put->since < timeout * 1000000 ? 0 : -1;
}

/* The first round with two buffers goes by the engine, which maps, allocates and loads what it needs before kernels
 * wait for it: later rounds may need the engine too. 1: this is not the first one. */
static int put_is_warm(struct tutti_part *part, const struct tutti_part_offer *offer)
{
    struct tutti_part_put *put = part->put;
    const uint64_t from = part->elements.places.id, to = offer->share.what.id;
    put->since = 0;
    if (put->warm != 0 && put->warm_from == from && put->warm_to == to)
        return put->warm != part->round;
    put->warm = part->round;
    put->warm_from = from;
    put->warm_to = to;
    return 0;
}

static void put_drop(struct tutti_part_put *put)
{
    if (put->held)
        tutti_endpoint_release(tutti_part_engine.worker.endpoint, put->held);
    put->held = NULL;
}

int tutti_part_put_accept(struct tutti_part *part, const struct tutti_part_offer *offer)
{
    struct tutti_node *node = tutti_part_engine.worker.node;
    const int peer = offer && part->prequest && part->args.send ? put_peer(part) : -1;
    const int gpu = part->kernels_gpu;
    char *to = NULL;
    if (peer < 0 || tutti_part_put_is_on(part) || !put_is_active(part) || !put_is_one_run(part) ||
        !tutti_part_kernels_store(part->each))
        return 1;
    const struct tutti_prequest *view = part->kernels_view;
    const int transports = (view->partitions + view->each - 1) / view->each;
    if ((part->elements.places.gpu >= 0 && gpu != part->elements.places.gpu) || offer->n != transports ||
        !put_has_marks(offer) || view->from != tutti_elements_run(&part->elements) || !put_of(part))
        return 1;
    uint32_t *marks = tutti_marks_view(node, tutti_device(), peer, gpu, put_may_map());
    const int there = marks && tutti_endpoint_use(tutti_part_engine.worker.endpoint, gpu) >= 0
                          ? put_reach(part, offer, peer, gpu, &to)
                          : -1;
    if (there == 0)
        return 0;
    if (!put_is_warm(part, offer) || there < 0) {
        put_drop(part->put);
        return 1;
    }
    part->put_round = part->round;
    for (int i = 0; i < view->copies; i++) {
        __atomic_store_n(&view->round[i].marks, put_marks_for_kernels(marks + offer->marks, offer->apart),
                         __ATOMIC_RELAXED);
        __atomic_store_n(&view->round[i].to, (uint64_t)(uintptr_t)to, __ATOMIC_RELEASE);
    }
    return 1;
}

/* ---- ends ---- */

/* A round that has failed may have kernels that still store: the mapping stays, and the marks are not used again. */
void tutti_part_put_end(struct tutti_part *part)
{
    struct tutti_part_put *put = part->put;
    if (part->status == TUTTI_OK)
        put_drop(put);
    put->held = NULL;
    if (!tutti_part_put_is_on(part) || part->args.send || part->status == TUTTI_OK)
        return;
    free(put->taken);
    put->taken = NULL;
    put->n = 0;
    put->told.share.shared = 0;
}

void tutti_part_put_free(struct tutti_part *part)
{
    struct tutti_part_put *put = part->put;
    if (put && put->n > 0 && tutti_part_engine.transport)
        tutti_marks_give(tutti_part_engine.worker.node, put->first, (put->n + 1) * put->apart);
    if (put)
        free(put->taken);
    free(put);
    part->put = NULL;
}
