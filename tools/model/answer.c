#include "tools/model/answer.h"

#include <stdlib.h>

#include "tutti/tutti.h"

struct answer {
    double us[MODEL_ROWS];
    enum model_exchange by[MODEL_ROWS];
    enum model_row best;
};

static struct answer answer_of(const struct model_question *q, int nodes, size_t bytes)
{
    struct answer a = {.best = MODEL_SINGLE_LEADER};
    const int one = q->exchange < MODEL_EXCHANGES;
    for (int row = 0; row < MODEL_ROWS; row++) {
        a.us[row] = -1;
        for (int e = one ? q->exchange : 0; e < (one ? q->exchange + 1 : MODEL_OWN_EXCHANGES); e++) {
            const double us =
                model_call_us(&q->model, (enum model_row)row, (enum model_exchange)e, nodes, (double)bytes);
            if (a.us[row] < 0 || us < a.us[row]) {
                a.us[row] = us;
                a.by[row] = (enum model_exchange)e;
            }
        }
        if (a.us[row] < a.us[a.best])
            a.best = (enum model_row)row;
    }
    return a;
}

void model_print(const struct model_question *q)
{
    const struct model_network *net = &q->model.network;
    printf("# Tutti %s model of MPI_Allreduce: %d GPU%s in a node, phases from %s\n", tutti_version(),
           q->model.node.gpus, q->model.node.gpus == 1 ? "" : "s", q->phases);
    printf(
        "# network: %g us, %g us for each further message, %d NIC%s of %g GB/s, %d for one rank, oversubscribed by %g; "
        "the host combines %g GB/s\n",
        net->latency, net->overhead, net->nics, net->nics == 1 ? "" : "s", net->bandwidth / 1e3, net->rails,
        net->oversubscription, net->combine / 1e3);
    printf("# predicted times in us\n%-8s %8s %10s", "# Nodes", "GPUs", "Size");
    for (int row = 0; row < MODEL_ROWS; row++)
        printf(" %14s %-11s", model_rows[row], "by");
    printf("  best\n");
    for (int i = 0; i < q->counts; i++) {
        for (int s = 0; s < q->sizes; s++) {
            const struct answer a = answer_of(q, q->nodes[i], q->size[s]);
            printf("%-8d %8d %10zu", q->nodes[i], q->nodes[i] * q->model.node.gpus, q->size[s]);
            for (int row = 0; row < MODEL_ROWS; row++)
                printf(" %14.2f %-11s", a.us[row], model_exchanges[a.by[row]]);
            printf("  %s\n", model_rows[a.best]);
        }
    }
}

/* ---- files ---- */

#ifdef TUTTI_JANSSON
#include "tools/bench/json.h"

int model_json(const struct model_question *q)
{
    const struct model_network *net = &q->model.network;
    if (!q->json)
        return 0;
    json_t *rows = json_array();
    for (int i = 0; i < q->counts * q->sizes; i++) {
        const int nodes = q->nodes[i / q->sizes];
        const size_t bytes = q->size[i % q->sizes];
        const struct answer a = answer_of(q, nodes, bytes);
        json_t *times = json_object();
        for (int row = 0; row < MODEL_ROWS; row++)
            json_object_set_new(times, model_rows[row],
                                json_pack("{s:f, s:s}", "us", a.us[row], "exchange", model_exchanges[a.by[row]]));
        json_array_append_new(rows, json_pack("{s:i, s:I, s:o, s:s}", "nodes", nodes, "bytes", (json_int_t)bytes,
                                              "predicted", times, "best", model_rows[a.best]));
    }
    json_t *network =
        json_pack("{s:f, s:f, s:f, s:i, s:i, s:f, s:f}", "latency_us", net->latency, "overhead_us", net->overhead,
                  "bandwidth_gb_s", net->bandwidth / 1e3, "nics", net->nics, "rails", net->rails, "oversubscription",
                  net->oversubscription, "combine_gb_s", net->combine / 1e3);
    return bench_json_dump(json_pack("{s:s, s:s, s:s, s:i, s:f, s:o, s:o}", "version", tutti_version(), "benchmark",
                                     "model", "phases", q->phases, "gpus_per_node", q->model.node.gpus, "piece_bytes",
                                     q->model.piece, "network", network, "rows", rows),
                           q->json);
}
#else
int model_json(const struct model_question *q)
{
    if (q->json)
        tool_refuse("this build has no JSON: Jansson was not there when it was built (Debian: libjansson-dev)");
    return 0;
}
#endif

static void write_data(FILE *to, const void *table)
{
    const struct model_question *q = table;
    fprintf(to, "bytes");
    for (int row = 0; row < MODEL_ROWS; row++)
        fprintf(to, " %s", model_rows[row]);
    for (int s = 0; s < q->sizes; s++) {
        const struct answer a = answer_of(q, q->nodes[q->counts - 1], q->size[s]);
        fprintf(to, "\n%zu", q->size[s]);
        for (int row = 0; row < MODEL_ROWS; row++)
            fprintf(to, " %.3f", a.us[row]);
    }
    fputc('\n', to);
}

static void write_script(FILE *to, const void *table)
{
    const struct model_question *q = table;
    fprintf(to, "set terminal pngcairo size 900,600\nset output \"");
    bench_plot_text(to, q->plot, 0);
    fprintf(to, "\"\nset title \"predicted MPI\\\\_Allreduce, %d nodes of %d GPUs\"\n$data << END_OF_DATA\n",
            q->nodes[q->counts - 1], q->model.node.gpus);
    write_data(to, table);
    fprintf(to,
            "END_OF_DATA\nset logscale xy\nset xlabel 'bytes'\nset ylabel 'us'\nset grid\nset key left top noenhanced\n"
            "plot for [i=2:%d] $data using 1:i with linespoints title columnheader(i)\n",
            MODEL_ROWS + 1);
}

int model_plot(const struct model_question *q)
{
    return q->plot ? bench_gnuplot(q->plot, write_script, write_data, q) : 0;
}
