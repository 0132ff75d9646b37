/* Device requests of collectives: flags in host memory, one for each partition that kernels mark, and one for each of
 * the result. They are polled with the request. */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "part/coll/meet.h"
#include "team/deferred_free.h"

/* The flags' memory. */
struct words {
    struct tutti_prequest_round round;
    uint32_t wrong;
    uint32_t flag[];
};

struct tutti_pcoll_prequest {
    struct tutti_prequest view;
    int gpu;                    /* whose kernels use it */
    struct tutti_bounce *words; /* of the pool */
    struct tutti_bounce *here;  /* memory of the GPU: */
    uint64_t shown;             /* what it holds */
    unsigned char *taken;       /* [partitions] */
    int next;                   /* all before it have been taken in this round */
    int waits;                  /* 1: a round is open, whose kernels may wait for this process */
};

static void pcoll_prequest_free(struct tutti_pcoll_prequest *q)
{
    if (q) {
        tutti_bounce_give(q->words);
        tutti_bounce_give(q->here);
        free(q->taken);
    }
    free(q);
}

static struct tutti_pcoll_prequest *prequest_make(const struct tutti_pcoll *p)
{
    const struct tutti_pcoll_side *send = &p->args.send, *recv = &p->args.recv;
    const int n = send->used ? send->partitions : 0, results = recv->used ? recv->partitions : 0;
    const size_t bytes = sizeof(struct words) + ((size_t)n + (size_t)results) * sizeof(uint32_t);
    struct tutti_pcoll_prequest *q = calloc(1, sizeof *q);
    if (!q)
        return NULL;
    q->words = tutti_bounce_take(&tutti_bounce_pinned, -1, bytes);
    q->taken = calloc((size_t)n + 1, 1);
    if (tutti_device()->gpu.current(&q->gpu) != TUTTI_OK)
        q->gpu = -1;
    q->here = tutti_bounce_take(&tutti_bounce_device, q->gpu, sizeof q->shown);
    if (!q->words || !q->taken || !q->here ||
        tutti_device()->memory.copy_now(q->here->memory, &q->shown, sizeof q->shown) != TUTTI_OK) {
        pcoll_prequest_free(q);
        return NULL;
    }
    struct words *const words = q->words->memory;
    memset(words, 0, bytes);
    q->view = (struct tutti_prequest){.flag = words->flag,
                                      .wrong = &words->wrong,
                                      .partitions = n,
                                      .results = results,
                                      .each = 1,
                                      .send = 1,
                                      .collective = 1,
                                      .here = q->here->memory,
                                      .copies = 1,
                                      .round = &words->round};
    if (p->meeting) {
        q->view.from = tutti_meet_in(p);
        q->view.bytes = tutti_meet_bytes(p);
    }
    return q;
}

/* A round that is open, or begins: 1; ends: 0. */
static void kernels_wait(struct tutti_pcoll_prequest *q, int wait)
{
    struct tutti_node *node = tutti_part_engine.worker.node;
    if (node && wait != q->waits)
        tutti_deferred_free_kernels(node, wait ? 1 : -1);
    q->waits = node && wait;
}

/* Seldom: ranks have agreed, or a rank has refused. In the second case a kernel that still sees the former view does no
 * harm: no partition of the round becomes complete by it. */
static void view_show(struct tutti_pcoll *p, uint64_t view)
{
    struct tutti_pcoll_prequest *q = p->prequest;
    const struct tutti_device *device = tutti_device();
    if (view == q->shown || !p->meeting->stream)
        return;
    q->shown = view;
    if (device->stream.copy(p->meeting->stream, q->here->memory, &q->shown, sizeof q->shown) != TUTTI_OK ||
        device->stream.sync(p->meeting->stream) != TUTTI_OK)
        p->status = p->status == TUTTI_OK ? TUTTI_ERR_DEVICE : p->status;
}

/* What kernels find of this round. */
static void round_show(struct tutti_pcoll *p)
{
    struct tutti_pcoll_prequest *q = p->prequest;
    struct tutti_prequest_round *round = q->view.round;
    struct tutti_meet_seen seen = {0};
    if (!p->meeting)
        return;
    (void)tutti_pcoll_meet_see(p, q->gpu, &seen);
    __atomic_store_n(&round->bytes, seen.reached, __ATOMIC_RELAXED);
    __atomic_store_n(&round->marks, seen.marks, __ATOMIC_RELEASE);
    view_show(p, seen.view);
}

static void pcoll_prequest_join(struct tutti_pcoll *p, struct tutti_pcoll_prequest *q)
{
    p->prequest = q;
    if (!atomic_load_explicit(&p->active, memory_order_relaxed)) {
        tutti_pcoll_prequest_ended(p);
        return;
    }
    kernels_wait(q, 1);
    round_show(p);
    for (int i = 0; i < q->view.results; i++) {
        if (tutti_pcoll_has(p, i))
            tutti_pcoll_prequest_arrived(p, i);
    }
}

void tutti_pcoll_prequest_start(struct tutti_pcoll *p)
{
    struct tutti_pcoll_prequest *q = p->prequest;
    if (!q)
        return;
    q->next = 0;
    *q->view.wrong = 0;
    memset(q->view.flag, 0, ((size_t)q->view.partitions + (size_t)q->view.results) * sizeof(uint32_t));
    memset(q->taken, 0, (size_t)q->view.partitions);
    kernels_wait(q, 1);
    round_show(p);
}

void tutti_pcoll_prequest_schedule(struct tutti_pcoll *p)
{
    if (p->prequest)
        round_show(p);
}

/* The flag of a partition that has not been taken yet. */
static uint32_t flag_of(const struct tutti_pcoll_prequest *q, int partition)
{
    return q->taken[partition] ? 0 : __atomic_load_n(&q->view.flag[partition], __ATOMIC_ACQUIRE);
}

int tutti_pcoll_prequest_poll(struct tutti_pcoll *p,
                              void (*mark)(struct tutti_pcoll *p, int first, int last, int is_met))
{
    struct tutti_pcoll_prequest *q = p->prequest;
    if (!q)
        return TUTTI_OK;
    const int n = q->view.partitions;
    while (q->next < n && q->taken[q->next])
        q->next++;
    for (int first = q->next, end; first < n; first = end) {
        end = first + 1;
        const uint32_t flag = flag_of(q, first);
        if (flag == 0)
            continue;
        while (end < n && flag_of(q, end) == flag)
            end++;
        memset(q->taken + first, 1, (size_t)(end - first));
        mark(p, first, end - 1, flag == TUTTI_PREQUEST_STORED);
    }
    if (__atomic_load_n(q->view.wrong, __ATOMIC_RELAXED) == 0)
        return TUTTI_OK;
    if (p->status == TUTTI_OK)
        tutti_error("a kernel used a device request wrongly: a partition that it does not have");
    return TUTTI_ERR_ARGUMENT;
}

void tutti_pcoll_prequest_arrived(struct tutti_pcoll *p, int partition)
{
    const struct tutti_pcoll_prequest *q = p->prequest;
    if (q && partition < q->view.results)
        __atomic_store_n(&q->view.flag[q->view.partitions + partition], 1, __ATOMIC_RELEASE);
}

void tutti_pcoll_prequest_ended(struct tutti_pcoll *p)
{
    if (!p->prequest)
        return;
    for (int i = 0; i < p->prequest->view.results; i++)
        tutti_pcoll_prequest_arrived(p, i);
    kernels_wait(p->prequest, 0);
}

static void prequest_drop(struct tutti_pcoll *p)
{
    pcoll_prequest_free(p->prequest);
    p->prequest = NULL;
}

/* ---- the calls ---- */

int tutti_pcoll_prequest_new(struct tutti_pcoll *p, struct tutti_prequest *out)
{
    struct tutti_pcoll_prequest *made = tutti_device() ? prequest_make(p) : NULL;
    if (!made)
        return tutti_device() ? TUTTI_ERR_MEMORY : TUTTI_ERR_UNAVAILABLE;
    pthread_mutex_lock(&tutti_pcoll_lock);
    const int first = !p->prequest;
    if (first) {
        pcoll_prequest_join(p, made);
        *out = made->view;
    }
    pthread_mutex_unlock(&tutti_pcoll_lock);
    if (first)
        return TUTTI_OK;
    pcoll_prequest_free(made);
    return TUTTI_ERR_ARGUMENT;
}

int tutti_pcoll_prequest_end(struct tutti_pcoll *p)
{
    pthread_mutex_lock(&tutti_pcoll_lock);
    const int is_active = atomic_load_explicit(&p->active, memory_order_relaxed);
    if (!is_active)
        prequest_drop(p);
    pthread_mutex_unlock(&tutti_pcoll_lock);
    return is_active ? TUTTI_ERR_ARGUMENT : TUTTI_OK;
}

void tutti_pcoll_detach(struct tutti_pcoll *p)
{
    pthread_mutex_lock(&tutti_pcoll_lock);
    prequest_drop(p);
    tutti_pcoll_meet_free(p);
    pthread_mutex_unlock(&tutti_pcoll_lock);
}
