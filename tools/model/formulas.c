/* The formulas of docs/model.md, in its order and with its names. */
#include <math.h>

#include "tools/model/model.h"

const char *const model_rows[MODEL_ROWS] = {"single_leader", "multi_leader", "pipelined"};
const char *const model_exchanges[MODEL_EXCHANGES] = {"all_at_once", "doubling", "slices", "ring",
                                                      "recursive_doubling"};

double model_at(const struct model_curve *curve, double bytes)
{
    int i = 1;
    if (curve->n == 0)
        return 0;
    if (curve->n == 1 || bytes <= curve->bytes[0])
        return curve->us[0];
    while (i + 1 < curve->n && curve->bytes[i] < bytes)
        i++;
    const double along = (bytes - curve->bytes[i - 1]) / (curve->bytes[i] - curve->bytes[i - 1]);
    const double us = curve->us[i - 1] + along * (curve->us[i] - curve->us[i - 1]);
    return us > 0 ? us : 0;
}

/* Bytes per us of one leader, while all leaders of its node exchange. */
static double leader_bandwidth(const struct model_network *net, int leaders)
{
    const double share = (double)net->nics / leaders, most = net->rails < net->nics ? net->rails : net->nics;
    return net->bandwidth * (share < most ? share : most) / net->oversubscription;
}

double model_exchange_us(const struct model *m, enum model_exchange exchange, int nodes, int leaders, double part)
{
    const struct model_network *net = &m->network;
    const double others = nodes - 1, slice = part / nodes, b = leader_bandwidth(net, leaders);
    const double posts = others > 1 ? (others - 1) * net->overhead : 0;
    double steps = 0;
    if (nodes == 1)
        return 0;
    for (int reached = 1; reached < nodes; reached *= 2)
        steps++;
    switch (exchange) {
    case MODEL_ALL_AT_ONCE:
        return net->latency + posts + others * part / b + nodes * part / net->combine;
    case MODEL_DOUBLING:
        return steps * net->latency + others * part / b + nodes * part / net->combine;
    case MODEL_SLICES:
        return 2 * (net->latency + posts + others * slice / b) + part / net->combine;
    case MODEL_RECURSIVE_DOUBLING:
        return steps * (net->latency + part / b + 2 * part / net->combine);
    default: /* the ring of the second half has a message at a time */
        return net->latency + posts + others * slice / b + part / net->combine + others * (net->latency + slice / b);
    }
}

/* Of one leader, while all leaders of its node copy. */
static double copies_us(const struct model_node *node, int leaders, double part)
{
    const int links = node->links > 0 && node->links < leaders ? node->links : leaders;
    if (node->copies > 0)
        return 2 * part / node->copies * leaders / links;
    return model_at(&node->copy_out, part) + model_at(&node->copy_in, part);
}

double model_call_us(const struct model *m, enum model_row row, enum model_exchange exchange, int nodes, double bytes)
{
    const struct model_node *node = &m->node;
    const int leaders = row == MODEL_SINGLE_LEADER ? 1 : node->gpus;
    const double pieces = ceil(bytes / (m->piece * leaders)), piece = bytes / pieces, part = piece / leaders;
    const double inside = model_at(&node->reduce, piece) + model_at(&node->hand_out, piece);
    const double across =
        nodes == 1 ? 0 : copies_us(node, leaders, part) + model_exchange_us(m, exchange, nodes, leaders, part);
    const double fixed = model_at(&node->fixed, bytes);
    if (row != MODEL_PIPELINED)
        return fixed + pieces * (inside + across);
    return fixed + inside + across + (pieces - 1) * fmax(inside, across);
}
