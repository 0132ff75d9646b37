/* The schedule of an exchange (src/coll/hier/{all_at_once,doubling,slices,ring}.c) as GOAL, the language of LogGOPSim:
 * T. Hoefler, C. Siebert, A. Lumsdaine, "Group Operation Assembly Language" (ICPP 2009). A label is a task of the
 * schedule; calc is the combination on the host, in ns. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/model/answer.h"

struct goal {
    FILE *to;
    int n, me, labels; /* of this rank so far */
    size_t part;
    double combine; /* bytes per us */
};

static size_t slice_of(const struct goal *g, int r)
{
    return g->part * (size_t)(r + 1) / (size_t)g->n - g->part * (size_t)r / (size_t)g->n;
}

static void after(struct goal *g, int label, int before)
{
    if (before > 0)
        fprintf(g->to, "l%d requires l%d\n", label, before);
}

static int message(struct goal *g, const char *what, int peer, int tag, size_t bytes, int before)
{
    fprintf(g->to, "l%d: %s %zub %s %d tag %d\n", ++g->labels, what, bytes, *what == 's' ? "to" : "from", peer, tag);
    after(g, g->labels, before);
    return g->labels;
}

/* Behind the labels from `first` to `last`. */
static int combine(struct goal *g, size_t bytes, int first, int last)
{
    fprintf(g->to, "l%d: calc %.0f\n", ++g->labels, 1e3 * (double)bytes / g->combine);
    for (int before = first; before <= last; before++)
        after(g, g->labels, before);
    return g->labels;
}

/* Contributions come in, mine go out; returns the label of the combination. */
static int gather(struct goal *g, int slices)
{
    const size_t mine = slices ? slice_of(g, g->me) : g->part;
    for (int k = 1; k < g->n; k++)
        message(g, "recv", (g->me + g->n - k) % g->n, 0, mine, 0);
    for (int k = 1; k < g->n; k++) {
        const int to = (g->me + k) % g->n;
        message(g, "send", to, 0, slices ? slice_of(g, to) : g->part, 0);
    }
    return combine(g, mine * (size_t)g->n, 1, g->n - 1);
}

static void doubling(struct goal *g)
{
    int last = 0, received[64], n = 0;
    for (int distance = 1; distance < g->n; distance *= 2) {
        const int blocks = distance < g->n - distance ? distance : g->n - distance;
        const size_t bytes = (size_t)blocks * g->part;
        message(g, "send", (g->me + g->n - distance) % g->n, 0, bytes, last);
        received[n++] = last = message(g, "recv", (g->me + distance) % g->n, 0, bytes, last);
    }
    const int label = combine(g, g->part * (size_t)g->n, 1, 0);
    for (int i = 0; i < n; i++)
        after(g, label, received[i]);
}

static void rank_of(struct goal *g, enum model_exchange exchange)
{
    if (exchange == MODEL_DOUBLING) {
        doubling(g);
        return;
    }
    int have = gather(g, exchange != MODEL_ALL_AT_ONCE);
    for (int k = 1; k < g->n && exchange == MODEL_SLICES; k++) {
        message(g, "recv", (g->me + g->n - k) % g->n, 1, slice_of(g, (g->me + g->n - k) % g->n), 0);
        message(g, "send", (g->me + k) % g->n, 1, slice_of(g, g->me), have);
    }
    for (int k = 0; k < g->n - 1 && exchange == MODEL_RING; k++) {
        message(g, "send", (g->me + 1) % g->n, 1, slice_of(g, (g->me + g->n - k) % g->n), have);
        have = message(g, "recv", (g->me + g->n - 1) % g->n, 1, slice_of(g, (g->me + 2 * g->n - 1 - k) % g->n), 0);
    }
}

int model_goal(const struct model_question *q)
{
    const int leaders = q->model.node.gpus, nodes = q->nodes[0];
    double part = (double)q->size[0] / leaders;
    if (!q->goal)
        return 0;
    if (q->exchange == MODEL_EXCHANGES)
        tool_refuse("--goal: which exchange: name it by --exchange");
    if (q->exchange >= MODEL_OWN_EXCHANGES)
        tool_refuse("--goal: %s has no schedule here: it is not an exchange of Tutti", model_exchanges[q->exchange]);
    part = part < q->model.piece ? part : q->model.piece;
    struct goal g = {.n = nodes, .part = (size_t)part, .combine = q->model.network.combine};
    g.to = fopen(q->goal, "w");
    if (!g.to)
        tool_refuse("--goal %s cannot be written: %s", q->goal, strerror(errno));
    fprintf(g.to, "num_ranks %d\n", nodes);
    for (g.me = 0; g.me < nodes; g.me++) {
        g.labels = 0;
        fprintf(g.to, "rank %d {\n", g.me);
        rank_of(&g, (enum model_exchange)q->exchange);
        fprintf(g.to, "}\n");
    }
    const int failed = ferror(g.to) | fclose(g.to);
    if (failed)
        fprintf(stderr, "tutti: %s cannot be written\n", q->goal);
    printf("# exchange: %s of %zu bytes among %d nodes: %.2f us\n", model_exchanges[q->exchange], g.part, nodes,
           model_exchange_us(&q->model, (enum model_exchange)q->exchange, nodes, leaders, (double)g.part));
    return failed != 0;
}
