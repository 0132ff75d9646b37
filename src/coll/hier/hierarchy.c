#include "coll/hierarchy.h"

#include <stdlib.h>
#include <string.h>

#include "core/reserve.h"
#include "core/status.h"

enum { HERE, RANKS };
enum { LAST_TESTS = 64 }; /* after the exchange is given up: most have ended by then */

/* The record of a rank. */
struct record {
    char exchange[TUTTI_EXCHANGE_BYTES]; /* of the node's team */
    int32_t context[2];
};

struct tutti_hierarchy_opening {
    struct tutti_transport *transport;
    struct tutti_hierarchy *made;
    struct tutti_pending pending;
    int agreeing; /* 1: whether all are able; 0: the records */
    int64_t able; /* on all ranks: the minimum */
    struct record mine, *all;
};

static struct tutti_reserve openings; /* a rank without one would leave the others waiting */

/* ---- facts ---- */

/* Numbers the nodes. lowest: for each rank of the world, the lowest rank of its node. number: [world], all 0. */
static void hierarchy_number_nodes(struct tutti_hierarchy *h, int ranks, const int world_ranks[], const int lowest[],
                                   int number[])
{
    for (int r = 0; r < ranks; r++) {
        int *const of = &number[lowest[world_ranks[r]]];
        if (*of == 0) {
            h->leader[h->nodes] = r;
            *of = ++h->nodes;
        }
        h->node_of[r] = *of - 1;
    }
}

/* The fewest and the most ranks of a node. count: [nodes], all 0. */
static void hierarchy_count_ranks(struct tutti_hierarchy *h, int ranks, int count[])
{
    for (int r = 0; r < ranks; r++) {
        const int n = h->node_of[r];
        if (count[n]++ == h->rank)
            h->peer[n] = r;
    }
    h->least = h->most = count[0];
    for (int n = 1; n < h->nodes; n++) {
        h->least = count[n] < h->least ? count[n] : h->least;
        h->most = count[n] > h->most ? count[n] : h->most;
    }
}

static int hierarchy_find_facts(struct tutti_hierarchy *h, const struct tutti_node *node,
                                const struct tutti_transport *transport, const int world_ranks[])
{
    const int world = tutti_node_world_size(node);
    int *lowest = malloc((size_t)world * sizeof *lowest), *number = calloc((size_t)world, sizeof *number);
    int status = lowest && number ? tutti_node_map(node, lowest) : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK) {
        hierarchy_number_nodes(h, transport->size, world_ranks, lowest, number);
        h->node = h->node_of[transport->rank];
        for (int r = 0; r < transport->size; r++) {
            if (h->node_of[r] != h->node)
                continue;
            if (r == transport->rank)
                h->rank = h->size;
            h->member[h->size++] = r;
        }
        memset(number, 0, (size_t)world * sizeof *number);
        hierarchy_count_ranks(h, transport->size, number);
    }
    free(lowest);
    free(number);
    return status;
}

/* ---- this rank's own part ---- */

static struct tutti_hierarchy *hierarchy_new(struct tutti_contexts *contexts, int ranks)
{
    struct tutti_hierarchy *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->contexts = contexts;
    h->context[HERE] = h->context[RANKS] = -1;
    h->node_of = calloc((size_t)ranks, sizeof *h->node_of);
    h->member = calloc((size_t)ranks, sizeof *h->member);
    h->leader = calloc((size_t)ranks, sizeof *h->leader);
    h->peer = malloc((size_t)ranks * sizeof *h->peer);
    if (h->node_of && h->member && h->leader && h->peer) {
        for (int n = 0; n < ranks; n++)
            h->peer[n] = -1;
        return h;
    }
    tutti_hierarchy_free(h);
    return NULL;
}

/* Of ranks[0 to size) of the communicator, with a context of this rank. ranks NULL: its first ones. */
static int hierarchy_make_subset(struct tutti_hierarchy *h, int which, int rank, int size, const int ranks[],
                                 const int world_ranks[], const char *label, struct tutti_transport **out)
{
    int *under = malloc((size_t)size * sizeof *under);
    if (!under)
        return TUTTI_ERR_MEMORY;
    for (int i = 0; i < size; i++)
        under[i] = world_ranks[ranks ? ranks[i] : i];
    h->context[which] = tutti_context_take(h->contexts);
    const int status = h->context[which] < 0
                           ? TUTTI_ERR_UNAVAILABLE
                           : tutti_subset_new(tutti_contexts_transport(h->contexts), rank, size, under, label, out);
    free(under);
    return status;
}

static int hierarchy_make_parts(struct tutti_hierarchy_opening *opening, struct tutti_node *node,
                                const int world_ranks[])
{
    struct tutti_hierarchy *h = opening->made;
    const char *label = opening->transport->label;
    int status = hierarchy_find_facts(h, node, opening->transport, world_ranks);
    if (status == TUTTI_OK && h->size > TUTTI_MAX_RANKS)
        status = TUTTI_ERR_UNAVAILABLE;
    if (status == TUTTI_OK)
        status = hierarchy_make_subset(h, HERE, h->rank, h->size, h->member, world_ranks, label, &h->here);
    if (status == TUTTI_OK)
        status = hierarchy_make_subset(h, RANKS, opening->transport->rank, opening->transport->size, NULL, world_ranks,
                                       label, &h->ranks);
    if (status == TUTTI_OK)
        status = tutti_team_begin(node, h->here, opening->mine.exchange, &h->team);
    if (status == TUTTI_OK && !h->team->slot[h->rank]) /* the node has no more places for teams */
        status = TUTTI_ERR_UNAVAILABLE;
    opening->mine.context[HERE] = h->context[HERE];
    opening->mine.context[RANKS] = h->context[RANKS];
    return status;
}

static void hierarchy_drop_team(struct tutti_hierarchy_opening *opening)
{
    if (opening->made && opening->made->team)
        tutti_team_abandon(opening->made->team, opening->mine.exchange);
    if (opening->made)
        opening->made->team = NULL;
}

static void hierarchy_free_opening(struct tutti_hierarchy_opening *opening)
{
    free(opening->all);
    free(opening);
}

/* The transport has failed, or some rank could not make its part: no rank gets a hierarchy. */
static int hierarchy_end_without(struct tutti_hierarchy_opening *opening, int answer)
{
    hierarchy_drop_team(opening);
    tutti_hierarchy_free(opening->made);
    hierarchy_free_opening(opening);
    return answer;
}

int tutti_hierarchy_begin(struct tutti_node *node, struct tutti_contexts *contexts, struct tutti_transport *transport,
                          const int world_ranks[], struct tutti_hierarchy_opening **out)
{
    struct tutti_hierarchy_opening *opening = tutti_reserve_take(&openings, sizeof *opening);
    if (!opening)
        return TUTTI_ERR_MEMORY;
    opening->transport = transport;
    opening->agreeing = 1;
    opening->all = malloc((size_t)transport->size * sizeof *opening->all);
    opening->made = node && contexts && world_ranks ? hierarchy_new(contexts, transport->size) : NULL;
    opening->able = opening->all && opening->made && hierarchy_make_parts(opening, node, world_ranks) == TUTTI_OK;
    const int status = transport->ops->iallreduce(transport, &opening->able, 1, TUTTI_COMBINE_MIN, &opening->pending);
    if (status != TUTTI_OK)
        return hierarchy_end_without(opening, status);
    *out = opening;
    return TUTTI_OK;
}

/* ---- after all records have arrived ---- */

static void hierarchy_join_parts(struct tutti_hierarchy_opening *opening)
{
    struct tutti_hierarchy *h = opening->made;
    char exchanges[TUTTI_EXCHANGE_BYTES * TUTTI_MAX_RANKS];
    for (int i = 0; i < h->size; i++) {
        const struct record *record = &opening->all[h->member[i]];
        memcpy(exchanges + (size_t)i * TUTTI_EXCHANGE_BYTES, record->exchange, TUTTI_EXCHANGE_BYTES);
        tutti_subset_context(h->here, i, record->context[HERE]);
    }
    for (int r = 0; r < opening->transport->size; r++)
        tutti_subset_context(h->ranks, r, opening->all[r].context[RANKS]);
    tutti_team_join(h->team, exchanges);
}

int tutti_hierarchy_poll(struct tutti_hierarchy_opening *opening, struct tutti_hierarchy **out)
{
    struct tutti_transport *transport = opening->transport;
    int done = 0, status = transport->ops->pending_test(transport, &opening->pending, &done);
    *out = NULL;
    if (status == TUTTI_OK && done && opening->agreeing) {
        if (opening->able != 1)
            return hierarchy_end_without(opening, 1);
        opening->agreeing = 0;
        status = transport->ops->iallgather(transport, &opening->mine, opening->all, sizeof opening->mine,
                                            &opening->pending);
        done = 0;
    }
    if (status != TUTTI_OK)
        return hierarchy_end_without(opening, status);
    if (!done)
        return 0;
    hierarchy_join_parts(opening);
    *out = opening->made;
    hierarchy_free_opening(opening);
    return 1;
}

void tutti_hierarchy_abandon(struct tutti_hierarchy_opening *opening)
{
    struct tutti_transport *transport = opening ? opening->transport : NULL;
    int done = 0;
    if (!opening)
        return;
    for (int i = 0; i < LAST_TESTS && !done; i++) {
        if (transport->ops->pending_test(transport, &opening->pending, &done) != TUTTI_OK)
            break;
    }
    hierarchy_drop_team(opening);
    tutti_hierarchy_free(opening->made);
    if (done)
        hierarchy_free_opening(opening);
}

void tutti_hierarchy_free(struct tutti_hierarchy *hierarchy)
{
    if (!hierarchy)
        return;
    tutti_team_free(hierarchy->team);
    tutti_subset_free(hierarchy->here);
    tutti_subset_free(hierarchy->ranks);
    for (int i = 0; i < 2; i++) {
        if (hierarchy->context[i] >= 0)
            tutti_context_give(hierarchy->contexts, hierarchy->context[i]);
    }
    free(hierarchy->node_of);
    free(hierarchy->member);
    free(hierarchy->leader);
    free(hierarchy->peer);
    free(hierarchy);
}
