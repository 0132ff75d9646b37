#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "sched/subset_own.h"

/* ---- contexts ---- */

struct tutti_contexts {
    struct tutti_transport *transport;
    pthread_mutex_t lock;
    int first, n;
    unsigned char used[];
};

struct tutti_contexts *tutti_contexts_new(struct tutti_transport *transport, int most)
{
    const int left = (transport->tags - transport->tags_taken) / TUTTI_CONTEXT_TAGS, n = left < most ? left : most;
    const int first = n > 0 ? tutti_transport_tags(transport, n * TUTTI_CONTEXT_TAGS) : -1;
    struct tutti_contexts *contexts = first < 0 ? NULL : calloc(1, sizeof *contexts + (size_t)n);
    if (!contexts)
        return NULL;
    contexts->transport = transport;
    contexts->first = first;
    contexts->n = n;
    pthread_mutex_init(&contexts->lock, NULL);
    return contexts;
}

void tutti_contexts_free(struct tutti_contexts *contexts)
{
    if (!contexts)
        return;
    pthread_mutex_destroy(&contexts->lock);
    free(contexts);
}

struct tutti_transport *tutti_contexts_transport(const struct tutti_contexts *contexts)
{
    return contexts->transport;
}

int tutti_context_take(struct tutti_contexts *contexts)
{
    pthread_mutex_lock(&contexts->lock);
    const unsigned char *found = memchr(contexts->used, 0, (size_t)contexts->n);
    const int at = found ? (int)(found - contexts->used) : -1;
    if (found)
        contexts->used[at] = 1;
    pthread_mutex_unlock(&contexts->lock);
    return found ? contexts->first + at * TUTTI_CONTEXT_TAGS : -1;
}

void tutti_context_give(struct tutti_contexts *contexts, int tag)
{
    pthread_mutex_lock(&contexts->lock);
    contexts->used[(tag - contexts->first) / TUTTI_CONTEXT_TAGS] = 0;
    pthread_mutex_unlock(&contexts->lock);
}

/* ---- messages ---- */

static struct tutti_subset *subset_of(struct tutti_transport *transport)
{
    return (struct tutti_subset *)transport;
}

/* What a message of `under` is here. */
static void translate_came(const struct tutti_subset *subset, struct tutti_transfer_status *came)
{
    int from = 0;
    while (from < subset->base.size && subset->rank_of[from] != came->from)
        from++;
    came->from = from;
    came->tag -= subset->tag_of[subset->base.rank];
}

static int subset_send(struct tutti_transport *transport, const void *memory, size_t bytes, int to, int tag,
                       int synchronous, struct tutti_transfer *out)
{
    struct tutti_subset *subset = subset_of(transport);
    return subset->under->ops->send(subset->under, memory, bytes, subset->rank_of[to], subset->tag_of[to] + tag,
                                    synchronous, out);
}

static int subset_receive(struct tutti_transport *transport, void *memory, size_t room, int from, int tag,
                          struct tutti_transfer *out)
{
    struct tutti_subset *subset = subset_of(transport);
    if (tag == TUTTI_ANY_TAG)
        return TUTTI_ERR_ARGUMENT;
    return subset->under->ops->receive(subset->under, memory, room,
                                       from == TUTTI_ANY_RANK ? TUTTI_ANY_RANK : subset->rank_of[from],
                                       subset->tag_of[transport->rank] + tag, out);
}

static int subset_probe(struct tutti_transport *transport, int from, int tag, struct tutti_caught *out, int *flag)
{
    struct tutti_subset *subset = subset_of(transport);
    if (tag == TUTTI_ANY_TAG)
        return TUTTI_ERR_ARGUMENT;
    const int status =
        subset->under->ops->probe(subset->under, from == TUTTI_ANY_RANK ? TUTTI_ANY_RANK : subset->rank_of[from],
                                  subset->tag_of[transport->rank] + tag, out, flag);
    if (status == TUTTI_OK && *flag)
        translate_came(subset, &out->came);
    return status;
}

static int subset_receive_caught(struct tutti_transport *transport, struct tutti_caught *caught, void *memory,
                                 size_t room, struct tutti_transfer *out)
{
    struct tutti_subset *subset = subset_of(transport);
    return subset->under->ops->receive_caught(subset->under, caught, memory, room, out);
}

static int subset_test(struct tutti_transport *transport, struct tutti_transfer *transfer,
                       struct tutti_transfer_status *came, int *done)
{
    struct tutti_subset *subset = subset_of(transport);
    const int status = subset->under->ops->test(subset->under, transfer, came, done);
    if (status == TUTTI_OK && *done && came)
        translate_came(subset, came);
    return status;
}

static int subset_cancel(struct tutti_transport *transport, struct tutti_transfer *transfer, int *cancelled)
{
    struct tutti_subset *subset = subset_of(transport);
    return subset->under->ops->cancel(subset->under, transfer, cancelled);
}

static void subset_progress(struct tutti_transport *transport)
{
    struct tutti_subset *subset = subset_of(transport);
    subset->under->ops->progress(subset->under);
}

static int subset_node_color(struct tutti_transport *transport, int64_t *color)
{
    (void)transport;
    (void)color;
    return TUTTI_ERR_UNAVAILABLE;
}

static const struct tutti_transport_ops subset_ops = {
    .barrier = tutti_subset_barrier,
    .allgather = tutti_subset_allgather,
    .alltoall = tutti_subset_alltoall,
    .allreduce = tutti_subset_allreduce,
    .progress = subset_progress,
    .node_color = subset_node_color,
    .iallgather = tutti_subset_iallgather,
    .iallreduce = tutti_subset_iallreduce,
    .pending_test = tutti_subset_pending_test,
    .send = subset_send,
    .receive = subset_receive,
    .probe = subset_probe,
    .receive_caught = subset_receive_caught,
    .test = subset_test,
    .cancel = subset_cancel,
};

/* ---- life ---- */

int tutti_subset_new(struct tutti_transport *under, int rank, int size, const int ranks[], const char *label,
                     struct tutti_transport **out)
{
    struct tutti_subset *subset = calloc(1, sizeof *subset);
    const size_t bytes = (size_t)size * sizeof *ranks;
    int *both = subset ? calloc(2, bytes) : NULL;
    if (!both) {
        free(subset);
        return TUTTI_ERR_MEMORY;
    }
    memcpy(both, ranks, bytes);
    subset->base = (struct tutti_transport){
        .ops = &subset_ops, .rank = rank, .size = size, .tags = TUTTI_SUBSET_TAGS, .any_thread = under->any_thread};
    snprintf(subset->base.label, sizeof subset->base.label, "%.60s", label);
    subset->under = under;
    subset->rank_of = both;
    subset->tag_of = both + size;
    *out = &subset->base;
    return TUTTI_OK;
}

void tutti_subset_context(struct tutti_transport *subset, int rank, int tag)
{
    subset_of(subset)->tag_of[rank] = tag;
}

void tutti_subset_free(struct tutti_transport *subset)
{
    if (!subset)
        return;
    free(subset_of(subset)->rank_of);
    free(subset);
}
