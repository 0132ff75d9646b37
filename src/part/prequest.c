/* Device requests: flags in host memory, through which kernels mark partitions of a send, and see those of a receive.
 * The flags of a send are polled with the request. A send's partitions are counted in memory of the GPU, and a
 * transport partition's flag is set by the kernel that marks its last one, so the host looks at few flags. */
#include <stdlib.h>
#include <string.h>

#include "core/counters.h"
#include "core/log.h"
#include "device/device.h"
#include "dtype/plan.h"
#include "part/counts.h"
#include "part/own.h"
#include "tutti/prequest.h"

enum { LINES_MOST = 128 }; /* flags of a receive that have lines of their own: many blocks read them */

/* Host memory of a device request: copies of what changes from round to round, each in a line of its own; then the
 * flags. */
struct words {
    uint32_t wrong;
    uint32_t pad[31];
    struct tutti_prequest_round round[];
};

struct tutti_part_prequest {
    struct tutti_prequest view;
    struct tutti_bounce *words; /* of the pool */
    size_t bytes;               /* of them */
    struct tutti_part_counts *counts;
    int transports;       /* flags: transport partitions of a send, partitions of a receive */
    int next;             /* send: all before it have been taken in this round */
    int spoilt;           /* 1: kernels may have left counts that are not 0 */
    unsigned char *taken; /* [transports], of a send */
};

static void prequest_free(struct tutti_part_prequest *p)
{
    if (!p)
        return;
    tutti_bounce_give(p->words);
    tutti_part_counts_give(p->counts, !p->spoilt);
    free(p->taken);
    free(p);
}

/* Where the message of a send begins, if kernels may store it: it is one run of bytes, for a rank of the node, and the
 * rules let kernels store such partitions. It is known before the first round. */
static const char *prequest_run_of(const struct tutti_part *part)
{
    const struct tutti_part_args *args = &part->args;
    const int whole = args->in_order && (args->solid || args->count * args->partitions == 1);
    const int stores = args->send && whole && part->each > 0 && tutti_part_put_is_possible(part);
    return stores ? (const char *)args->buffer + args->plan->true_lower : NULL;
}

/* A status. */
static int prequest_words_open(struct tutti_part_prequest *p, int copies)
{
    p->bytes = sizeof(struct words) + (size_t)copies * sizeof(struct tutti_prequest_round) +
               (size_t)p->transports * (size_t)p->view.apart * sizeof(uint32_t);
    p->words = tutti_bounce_take(&tutti_bounce_pinned, -1, p->bytes);
    if (!p->words)
        return TUTTI_ERR_MEMORY;
    memset(p->words->memory, 0, p->bytes);
    struct words *const words = p->words->memory;
    p->view.flag = (uint32_t *)(void *)(words->round + copies);
    p->view.wrong = &words->wrong;
    p->view.round = words->round;
    p->view.copies = copies;
    return TUTTI_OK;
}

/* A status. */
static int prequest_open(struct tutti_part_prequest *p, const struct tutti_part *part, int gpu)
{
    const int n = part->args.partitions, each = tutti_part_prequest_each(part), send = part->args.send;
    p->transports = (n + each - 1) / each;
    p->view = (struct tutti_prequest){
        .partitions = n, .each = each, .send = send, .bytes = part->each, .from = prequest_run_of(part)};
    const int most = p->transports < TUTTI_PREQUEST_COPIES ? p->transports : TUTTI_PREQUEST_COPIES;
    p->view.apart = !send && n <= LINES_MOST ? TUTTI_PREQUEST_LINE : 1;
    const int copies = most > 1 && (send ? p->view.from != NULL : tutti_part_put_is_possible(part)) ? most : 1;
    const int status = prequest_words_open(p, copies);
    p->taken = send ? calloc((size_t)p->transports + 1, 1) : NULL;
    if (status != TUTTI_OK || (send && !p->taken))
        return TUTTI_ERR_MEMORY;
    if (each == 1)
        return TUTTI_OK;
    p->counts = tutti_part_counts_take(gpu, p->transports);
    p->view.count = p->counts ? tutti_part_counts_memory(p->counts) : NULL;
    return p->counts ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

/* The flags of a receive are as MPI_Parrived answers. The lock is held. */
static void prequest_join(struct tutti_part *part, struct tutti_part_prequest *p)
{
    const int active = atomic_load_explicit(&part->active, memory_order_relaxed);
    part->prequest = p;
    part->kernels_view = &p->view;
    if (active)
        tutti_part_kernels(part, 1);
    if (part->kernels_gpu < 0)
        part->kernels_gpu = part->elements.places.gpu;
    if (active && part->args.send)
        (void)tutti_part_put_accept(part, tutti_part_prepare_offer(part));
    else if (active)
        tutti_part_put_show(part);
    for (int i = 0; !part->args.send && i < p->transports; i++) {
        if (!active || (part->each > 0 && atomic_load_explicit(&part->left[i], memory_order_relaxed) == 0))
            tutti_part_prequest_arrived(part, (uint64_t)i);
    }
}

int tutti_part_prequest_new(struct tutti_part *part, struct tutti_prequest *out)
{
    const struct tutti_device *device = tutti_device();
    struct tutti_part_prequest *p = NULL;
    int gpu = -1;
    int status = device ? TUTTI_OK : TUTTI_ERR_UNAVAILABLE;
    if (status == TUTTI_OK && !(p = calloc(1, sizeof *p)))
        status = TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK && device->gpu.current(&gpu) != TUTTI_OK)
        gpu = -1;
    if (status == TUTTI_OK)
        status = prequest_open(p, part, gpu);
    pthread_mutex_lock(&tutti_part_engine.lock);
    if (status == TUTTI_OK && part->prequest)
        status = TUTTI_ERR_ARGUMENT;
    if (status == TUTTI_OK) {
        part->kernels_gpu = gpu;
        prequest_join(part, p);
    }
    pthread_mutex_unlock(&tutti_part_engine.lock);
    if (status != TUTTI_OK) {
        prequest_free(p);
        return status;
    }
    *out = p->view;
    return TUTTI_OK;
}

int tutti_part_prequest_end(struct tutti_part *part)
{
    pthread_mutex_lock(&tutti_part_engine.lock);
    const int active = atomic_load_explicit(&part->active, memory_order_relaxed);
    struct tutti_part_prequest *p = active ? NULL : part->prequest;
    if (!active) {
        part->prequest = NULL;
        part->kernels_view = NULL;
    }
    pthread_mutex_unlock(&tutti_part_engine.lock);
    prequest_free(p);
    return active ? TUTTI_ERR_ARGUMENT : TUTTI_OK;
}

/* ---- rounds; the lock is held ---- */

void tutti_part_prequest_start(struct tutti_part *part)
{
    struct tutti_part_prequest *p = part->prequest;
    p->next = 0;
    memset(p->words->memory, 0, p->bytes);
    if (p->spoilt && p->counts)
        p->spoilt = tutti_part_counts_clear(p->counts) != TUTTI_OK;
    if (part->kernels_gpu < 0)
        part->kernels_gpu = part->elements.places.gpu;
    if (p->taken)
        memset(p->taken, 0, (size_t)p->transports);
}

/* The flag of a transport partition that has not been taken yet. */
static uint32_t prequest_flag_of(const struct tutti_part_prequest *p, int number)
{
    return p->taken[number] ? 0 : __atomic_load_n(&p->view.flag[number], __ATOMIC_ACQUIRE);
}

/* Takes transport partitions [first, end), which kernels have marked, all in one way. A status. */
static int prequest_take(struct tutti_part *part, int first, int end, uint32_t flag)
{
    struct tutti_part_prequest *p = part->prequest;
    const int partition = first * p->view.each, behind = end * p->view.each;
    memset(p->taken + first, 1, (size_t)(end - first));
    const int last = (behind < part->args.partitions ? behind : part->args.partitions) - 1;
    const int stored = flag == TUTTI_PREQUEST_STORED;
    tutti_count("partitions of kernels", TUTTI_OUTCOME_LAUNCHED,
                stored ? "stored by the kernel" : "sent by the engine");
    const enum tutti_part_wrong wrong =
        stored ? tutti_part_send_stored(part, partition, last) : tutti_part_send_range(part, partition, last);
    if (wrong == TUTTI_PART_TWICE)
        tutti_error("a partition was marked ready by a kernel and by MPI_Pready");
    return wrong == TUTTI_PART_FINE || wrong == TUTTI_PART_FAILED ? TUTTI_OK : TUTTI_ERR_ARGUMENT;
}

int tutti_part_prequest_poll(struct tutti_part *part)
{
    struct tutti_part_prequest *p = part->prequest;
    int status = TUTTI_OK;
    if (__atomic_load_n(p->view.wrong, __ATOMIC_RELAXED) != 0) {
        tutti_error(
            "a kernel used a device request wrongly: a partition that it does not have, or a call of the other side");
        return TUTTI_ERR_ARGUMENT;
    }
    if (!p->taken)
        return TUTTI_OK;
    while (p->next < p->transports && p->taken[p->next])
        p->next++;
    for (int first = p->next, end; first < p->transports && status == TUTTI_OK; first = end) {
        end = first + 1;
        const uint32_t flag = prequest_flag_of(p, first);
        if (flag == 0)
            continue;
        while (end < p->transports && prequest_flag_of(p, end) == flag)
            end++;
        status = prequest_take(part, first, end, flag);
    }
    return status;
}

void tutti_part_prequest_arrived(struct tutti_part *part, uint64_t partition)
{
    const struct tutti_prequest *view = &part->prequest->view;
    __atomic_store_n(&view->flag[partition * (uint64_t)view->apart], 1, __ATOMIC_RELEASE);
}

void tutti_part_prequest_ended(struct tutti_part *part)
{
    part->prequest->spoilt |= part->status != TUTTI_OK;
    for (int i = 0; !part->args.send && i < part->prequest->transports; i++)
        tutti_part_prequest_arrived(part, (uint64_t)i);
}
