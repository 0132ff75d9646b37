/* The file of measured phases. */
#include "tools/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/text.h"

#ifdef TUTTI_JANSSON
#include <jansson.h>

static double phase(const json_t *phases, const char *name)
{
    return json_number_value(json_object_get(phases, name));
}

static void point(struct model_curve *curve, double bytes, double us)
{
    curve->bytes[curve->n] = bytes;
    curve->us[curve->n++] = us;
}

/* Phases are means over ranks: they are those of a leader where all ranks lead. */
static int leaders_of(const char *path, const json_t *row, int nodes, int gpus)
{
    const char *algorithm = json_string_value(json_object_get(row, "algorithm"));
    if (nodes == 1)
        return 1;
    if (algorithm && strcmp(algorithm, "multi_leader") == 0)
        return gpus;
    tool_refuse("--phases %s: over nodes its rows must be of multi_leader, not of %s: "
                "TUTTI_RULES=allreduce_nodes:*@multi_leader chooses",
                path, algorithm ? algorithm : "none");
}

static void read_row(const char *path, const json_t *row, int nodes, struct model_node *node)
{
    const json_t *phases = json_object_get(row, "phases_us");
    const double bytes = json_number_value(json_object_get(row, "bytes"));
    const int n = node->reduce.n;
    if (!json_is_object(phases) || !(bytes > 0))
        tool_refuse("--phases %s: a row has no bytes or no phases: the file must be of tutti bench allreduce --phases "
                    "--json",
                    path);
    if (n == MODEL_POINTS)
        tool_refuse("--phases %s: more than %d rows", path, MODEL_POINTS);
    if (n > 0 && bytes <= node->reduce.bytes[n - 1])
        tool_refuse("--phases %s: its sizes must increase", path);
    const double part = bytes / leaders_of(path, row, nodes, node->gpus);
    point(&node->fixed, bytes,
          phase(phases, "entry") + phase(phases, "arrival") + phase(phases, "mapping") + phase(phases, "launch") +
              phase(phases, "notice") + phase(phases, "mpi"));
    point(&node->reduce, bytes, phase(phases, "kernel") + phase(phases, "copies") + phase(phases, "leader"));
    point(&node->hand_out, bytes, phase(phases, "hand-out"));
    point(&node->copy_out, part, phase(phases, "copy out"));
    point(&node->copy_in, part, phase(phases, "copy in"));
}

void model_read(const char *path, double copies, struct model_node *node)
{
    json_error_t error;
    json_t *all = json_load_file(path, 0, &error);
    if (!all)
        tool_refuse("--phases %s: %s", path, error.text);
    const json_t *rows = json_object_get(all, "rows"), *benchmark = json_object_get(all, "benchmark");
    const long ranks = (long)json_integer_value(json_object_get(all, "ranks"));
    const long nodes = (long)json_integer_value(json_object_get(all, "nodes"));
    if (!json_is_string(benchmark) || strcmp(json_string_value(benchmark), "allreduce") != 0 ||
        json_array_size(rows) == 0)
        tool_refuse("--phases %s: not a file of tutti bench allreduce --phases --json", path);
    if (ranks < 1 || nodes < 1 || ranks % nodes != 0)
        tool_refuse("--phases %s: %ld ranks on %ld nodes: nodes must have equal numbers of ranks", path, ranks, nodes);
    if (nodes == 1 && !(copies > 0))
        tool_refuse("--phases %s: measured on one node, so it has no copies to the host: give their speed by --copies",
                    path);
    *node = (struct model_node){.gpus = (int)(ranks / nodes), .copies = nodes == 1 ? copies : 0};
    for (size_t i = 0; i < json_array_size(rows); i++)
        read_row(path, json_array_get(rows, i), (int)nodes, node);
    json_decref(all);
}
#else
void model_read(const char *path, double copies, struct model_node *node)
{
    (void)copies;
    (void)node;
    tool_refuse("--phases %s: this build was made without Jansson and reads no JSON", path);
}
#endif
