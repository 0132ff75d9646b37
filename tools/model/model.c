/* tutti model: options, and the table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/common/commands.h"
#include "tools/model/answer.h"

enum {
    KEY_PHASES = 1000,
    KEY_LATENCY,
    KEY_OVERHEAD,
    KEY_BANDWIDTH,
    KEY_COMBINE,
    KEY_NICS,
    KEY_RAILS,
    KEY_OVER,
    KEY_PIECE,
    KEY_COPIES,
    KEY_LINKS,
    KEY_NODES,
    KEY_EXCHANGE,
    KEY_JSON,
    KEY_PLOT,
    KEY_GOAL
};

static const struct argp_option options[] = {
    {"phases", KEY_PHASES, "FILE", 0, "What was measured: the file of tutti bench allreduce --phases --json", 1},
    {"copies", KEY_COPIES, "GB/S", 0, "Speed of a rank's copies to and from the host, for a file of one node", 1},
    {"links", KEY_LINKS, "N", 0, "PCIe links of a node that these copies share (one for each GPU)", 1},
    {"nodes", KEY_NODES, "LIST", 0, "Numbers of nodes, with commas (2,8,32,128)", 1},
    {"message-size", 'm', "SIZES", 0, "Bytes of one rank's contribution: [MIN:]MAX or a list (1m:256m)", 1},
    {"latency", KEY_LATENCY, "US", 0, "Of a message between nodes (5)", 2},
    {"overhead", KEY_OVERHEAD, "US", 0, "Of each further message of a rank at once (1)", 2},
    {"bandwidth", KEY_BANDWIDTH, "GB/S", 0, "Of one NIC in one direction (25)", 2},
    {"nics", KEY_NICS, "N", 0, "NICs of a node (1)", 2},
    {"rails", KEY_RAILS, "N", 0, "NICs that the messages of one rank use at once (1)", 2},
    {"oversubscription", KEY_OVER, "F", 0, "Bandwidth of all nodes in units of that of the core (1)", 2},
    {"combine", KEY_COMBINE, "GB/S", 0, "What a leader's host reads to combine (10)", 2},
    {"piece", KEY_PIECE, "SIZE", 0, "TUTTI_NODES_PIECE_KB, as a size (4m)", 3},
    {"exchange", KEY_EXCHANGE, "NAME", 0,
     "all_at_once, doubling, slices or ring, instead of the best of them; recursive_doubling: as MPI libraries do it",
     3},
    {"json", KEY_JSON, "FILE", 0, "Write all that was predicted as JSON", 4},
    {"plot", KEY_PLOT, "FILE.png", 0, "Plot the times at the largest number of nodes (with gnuplot)", 4},
    {"goal", KEY_GOAL, "FILE", 0,
     "Write the schedule of the first piece's exchange (one leader of each node, by the first of --nodes and of -m) as "
     "GOAL, for LogGOPSim and other simulators",
     4},
    {.name = NULL},
};

static double positive(const char *option, const char *text, double least, double most)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= least && value <= most))
        tool_refuse("%s %s is not valid: a number from %g to %g is", option, text, least, most);
    return value;
}

static void read_nodes(const char *text, struct model_question *q)
{
    char *copy = tool_print("%s", text), *rest = copy, *word;
    q->counts = 0;
    while ((word = strsep(&rest, ",")) != NULL) {
        if (q->counts == MODEL_COUNTS)
            tool_refuse("--nodes %s: more than %d numbers", text, MODEL_COUNTS);
        q->nodes[q->counts++] = (int)tool_number("--nodes", word, 1, MODEL_GPUS);
    }
    free(copy);
}

static int take_network(int key, char *argument, struct model_network *net)
{
    enum { MOST = 64 };
    const double gigabyte = 1e3; /* GB/s in bytes per us */
    switch (key) {
    case KEY_LATENCY:
        net->latency = positive("--latency", argument, 0, 1e6);
        break;
    case KEY_OVERHEAD:
        net->overhead = positive("--overhead", argument, 0, 1e6);
        break;
    case KEY_BANDWIDTH:
        net->bandwidth = gigabyte * positive("--bandwidth", argument, 1e-3, 1e5);
        break;
    case KEY_COMBINE:
        net->combine = gigabyte * positive("--combine", argument, 1e-3, 1e5);
        break;
    case KEY_NICS:
        net->nics = (int)tool_number("--nics", argument, 1, MOST);
        break;
    case KEY_RAILS:
        net->rails = (int)tool_number("--rails", argument, 1, MOST);
        break;
    case KEY_OVER:
        net->oversubscription = positive("--oversubscription", argument, 1, 1e3);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static error_t take(int key, char *argument, struct argp_state *state)
{
    struct model_question *q = state->input;
    struct bench_options sizes = {.n_sizes = 0};
    size_t piece;
    switch (key) {
    case KEY_PHASES:
        q->phases = argument;
        break;
    case KEY_COPIES:
        q->copies = 1e3 * positive("--copies", argument, 1e-3, 1e5);
        break;
    case KEY_LINKS:
        q->links = (int)tool_number("--links", argument, 1, MODEL_GPUS);
        break;
    case KEY_NODES:
        read_nodes(argument, q);
        break;
    case 'm':
        bench_sizes_read(argument, &sizes);
        memcpy(q->size, sizes.sizes, sizeof sizes.sizes[0] * (size_t)sizes.n_sizes);
        q->sizes = sizes.n_sizes;
        break;
    case KEY_PIECE:
        if (!tool_size(argument, &piece) || piece < 1024)
            tool_refuse("--piece %s is not valid: a size from 1k is", argument);
        q->model.piece = (double)piece;
        break;
    case KEY_EXCHANGE:
        q->exchange = tool_one_of("--exchange", argument, model_exchanges, MODEL_EXCHANGES);
        break;
    case KEY_JSON:
        q->json = argument;
        break;
    case KEY_GOAL:
        q->goal = argument;
        break;
    case KEY_PLOT:
        q->plot = argument;
        break;
    case ARGP_KEY_ARG:
        tool_refuse("%s is one word too many", argument);
    default:
        return take_network(key, argument, &q->model.network);
    }
    return 0;
}

static const char doc[] =
    "Predicts the time of an allreduce on device memory over many nodes, for each algorithm, from phases that were "
    "measured on few GPUs and from a network that is described. docs/model.md has the formulas.\v"
    "The number of GPUs of a node is that of the file. A file of virtual nodes (TUTTI_NODE_RANKS) has the copies to "
    "and "
    "from the host; for a file of one node --copies gives their speed.\n\n"
    "Times are in microseconds. Of each algorithm the time with its fastest exchange is shown.\n\n"
    "Example:\n"
    "  tutti bench allreduce -n 4 -m 8:512m --phases --json phases.json\n"
    "  tutti model --phases phases.json --copies 25 --nodes 8,64,512 --nics 4 --bandwidth 50";
static const struct argp argp = {options, take, "", doc, NULL, NULL, NULL};

static void check(const struct model_question *q)
{
    if (!q->phases)
        tool_refuse("--phases is missing: the file of tutti bench allreduce --phases --json");
    bench_plot_check(q->plot);
    for (int i = 0; i < q->counts; i++) {
        if ((long)q->nodes[i] * q->model.node.gpus > MODEL_GPUS)
            tool_refuse("--nodes %d: with %d GPUs in a node these are more than %d GPUs", q->nodes[i],
                        q->model.node.gpus, MODEL_GPUS);
    }
}

int tool_model(int argc, char **argv)
{
    static struct model_question q = {.model = {.piece = 4 << 20,
                                                .network = {.latency = 5,
                                                            .overhead = 1,
                                                            .bandwidth = 25e3,
                                                            .combine = 10e3,
                                                            .nics = 1,
                                                            .rails = 1,
                                                            .oversubscription = 1}},
                                      .exchange = MODEL_EXCHANGES};
    char nodes[] = "2,8,32,128", sizes[] = "1m:256m";
    struct bench_options usual = {.n_sizes = 0};
    read_nodes(nodes, &q);
    bench_sizes_read(sizes, &usual);
    memcpy(q.size, usual.sizes, sizeof usual.sizes[0] * (size_t)usual.n_sizes);
    q.sizes = usual.n_sizes;
    tool_check_options(options, argc, argv, 0);
    argp_parse(&argp, argc, argv, 0, NULL, &q);
    check(&q);
    model_read(q.phases, q.copies, &q.model.node);
    q.model.node.links = q.links;
    if (q.links > 0 && !(q.model.node.copies > 0))
        tool_refuse("--links: the copies of %s were measured, on the links of its nodes", q.phases);
    check(&q);
    model_print(&q);
    return (model_json(&q) | model_plot(&q) | model_goal(&q)) || fflush(stdout) != 0;
}
