/* The tables of tutti bench, printed row by row as the ranks report. */
#include <stdlib.h>
#include <string.h>

#include "core/types.h"
#include "tools/bench/bench.h"
#include "tutti/tutti.h"

static const char *const ways[BENCH_WAYS] = {
#define BENCH_WAY(id, name, text) name,
#include "bench/words/ways.def"
#undef BENCH_WAY
};

const char *bench_way_title(int way)
{
    return ways[way];
}

char *bench_what(const struct bench_options *o)
{
    if (o->order == BENCH_HOST)
        return tool_print("MPI_%s", o->kind->call);
    return tool_print("MPIX_%s_enqueue %s", o->kind->call, o->order == BENCH_GRAPH ? "in a graph" : "back to back");
}

static int way_by_name(const char *name)
{
    for (int i = 0; i < BENCH_WAYS; i++) {
        if (strcmp(ways[i], name) == 0)
            return i;
    }
    return -1;
}

int bench_row_best(const struct bench_table *t, const struct bench_row *row, double *ratio)
{
    int best = -1;
    for (int way = BENCH_STAGED; way < BENCH_REFERENCE; way++) {
        if (t->way[way] && row->time[way].known && (best < 0 || row->time[way].median < row->time[best].median))
            best = way;
    }
    *ratio = best >= 0 ? bench_time_ratio(&row->time[best], &row->time[BENCH_TUTTI]) : 0;
    return best;
}

static int peers(const struct bench_table *t)
{
    int n = 0;
    for (int way = BENCH_STAGED; way < BENCH_REFERENCE; way++)
        n += t->way[way];
    return n;
}

void bench_row_parts(const struct bench_row *row, struct bench_part out[BENCH_PARTS])
{
    double entry = row->whole, kernel = row->phase[TUTTI_PHASE_KERNEL];
    int n = 0;
    for (int p = 0; p < TUTTI_PHASES; p++)
        entry -= row->phase[p];
    out[n++] = (struct bench_part){"entry", entry > 0 ? entry : 0};
    for (int p = 0; p < TUTTI_PHASES; p++) {
        out[n++] = (struct bench_part){tutti_phase_name(p), row->phase[p]};
        if (p != TUTTI_PHASE_KERNEL)
            continue;
        double own = row->ordered >= 0 && row->ordered < kernel ? row->ordered : kernel;
        out[n - 1].us = own;
        out[n++] = (struct bench_part){"notice", row->ordered >= 0 ? kernel - own : -1};
    }
}

static void print_columns(const struct bench_table *t)
{
    if (t->options->phases) {
        struct bench_part parts[BENCH_PARTS];
        static const struct bench_row none;
        bench_row_parts(&none, parts);
        printf("%-10s %9s", "# Size", "Whole");
        for (int p = 0; p < BENCH_PARTS; p++)
            printf(" %9s", parts[p].name);
        printf(" %10s  %-9s\n", "Iterations", "Algorithm");
        return;
    }
    if (t->options->pairs)
        printf("%-18s %-7s ", "# Type", "Op");
    printf("%-10s %11s %11s %11s %11s %10s  %-9s", t->options->pairs ? "Size" : "# Size", "Avg", "Median", "Min", "Max",
           "Iterations", "Algorithm");
    if (t->options->pairs)
        printf(" %11s %7s", "float sum", "ratio");
    for (int way = BENCH_STAGED; way < BENCH_REFERENCE; way++) {
        if (t->way[way])
            bench_time_print_title(ways[way]);
    }
    if (peers(t))
        printf("  %-10s %7s", "best", "x");
    putchar('\n');
}

static void print_head(struct bench_table *t)
{
    const struct bench_options *o = t->options;
    char *what = bench_what(o), root[32] = "";
    bench_report_clear(&t->report);
    if (o->root == BENCH_ALL_ROOTS)
        snprintf(root, sizeof root, ", root changing");
    else if (o->root > 0)
        snprintf(root, sizeof root, ", root %d", o->root);
    printf("# Tutti %s %s %s: %d ranks, ", tutti_version(), what, o->phases ? "by phases" : "latency", o->ranks);
    if (o->pairs)
        printf("types and operators%s", root);
    else
        printf("%s of %s%s", tutti_op_name(o->op), tutti_type_name(o->type), root);
    printf("%s, %s device, %d GPU%s\n", o->in_place ? ", in place" : "", t->report.device, t->report.gpus,
           t->report.gpus == 1 ? "" : "s");
    bench_report_print_place(&t->report);
    if (t->way[BENCH_STAGED])
        printf("# staged: %s host memory\n", t->staging);
    if (t->nccl[0])
        printf("# NCCL %s\n", t->nccl);
    fputs(t->report.notes, stdout);
    printf("# data from seed %llu, %s; times in us; %s\n", (unsigned long long)o->seed,
           o->check ? "validated in the timed loop" : "not validated",
           o->phases  ? "means over ranks and over the middle four fifths of the calls"
           : o->pairs ? "ratio: to the sum of float over as many bytes"
                      : "x: that way's median in units of Tutti's");
    print_columns(t);
    fflush(stdout);
    free(what);
}

static void print_phases(const struct bench_row *row)
{
    struct bench_part parts[BENCH_PARTS];
    bench_row_parts(row, parts);
    printf("%-10zu %9.2f", row->bytes, row->whole);
    for (int p = 0; p < BENCH_PARTS; p++) {
        if (parts[p].us < 0)
            printf(" %9s", "-");
        else
            printf(" %9.2f", parts[p].us);
    }
    printf(" %10ld  %-9s\n", row->iterations, row->algorithm);
}

static void print_row(struct bench_table *t)
{
    const struct bench_row *row = &t->row[t->rows - 1];
    const struct bench_time *own = &row->time[BENCH_TUTTI];
    bench_report_clear(&t->report);
    if (t->options->phases) {
        print_phases(row);
        fflush(stdout);
        return;
    }
    if (t->options->pairs)
        printf("%-18s %-7s ", tutti_type_name(row->type), tutti_op_name(row->op));
    printf("%-10zu %11.2f %11.2f %11.2f %11.2f %10ld  %-9s", row->bytes, own->average, own->median, own->least,
           own->most, row->iterations, row->algorithm);
    if (t->options->pairs) {
        double reference = row->time[BENCH_REFERENCE].median;
        printf(" %11.2f %7.2f", reference, reference > 0 ? own->median / reference : 0);
    }
    for (int way = BENCH_STAGED; way < BENCH_REFERENCE; way++) {
        if (t->way[way])
            bench_time_print(&row->time[way], own);
    }
    if (peers(t)) {
        double ratio;
        int best = bench_row_best(t, row, &ratio);
        printf("  %-10s %7.2f", best >= 0 ? ways[best] : "-", ratio);
    }
    putchar('\n');
    fflush(stdout);
}

static void begin_row(struct bench_table *t, const char *text)
{
    if (t->rows == BENCH_TABLE_ROWS)
        return;
    struct bench_row *row = &t->row[t->rows];
    *row = (struct bench_row){.type = t->type, .op = t->op};
    if (sscanf(text, "%zu %zu %ld %95[^\n]", &row->bytes, &row->count, &row->iterations, row->algorithm) != 4)
        return;
    t->rows++;
    t->report.open = 1;
}

static void add_time(struct bench_table *t, const char *text)
{
    int direction;
    struct bench_time time;
    int way = t->report.open ? bench_time_read(text, ways, BENCH_WAYS, &direction, &time) : -1;
    if (way >= 0)
        t->row[t->rows - 1].time[way] = time;
}

static void add_phase(struct bench_table *t, const char *text)
{
    int phase;
    double us;
    if (t->report.open && sscanf(text, "%d %lf", &phase, &us) == 2 && phase >= 0 && phase < TUTTI_PHASES)
        t->row[t->rows - 1].phase[phase] = us;
}

static void set_pair(struct bench_table *t, const char *text)
{
    int type, op;
    if (sscanf(text, "%d %d", &type, &op) == 2 && type >= 0 && type < TUTTI_TYPES && op >= 0 && op < TUTTI_OPS) {
        t->type = type;
        t->op = op;
    }
}

static void skip_type(struct bench_table *t, const char *text)
{
    int type = atoi(text);
    bench_report_clear(&t->report);
    if (type >= 0 && type < TUTTI_TYPES)
        printf("# %s: this MPI has no type for it\n", tutti_type_name(type));
}

/* "8 1 0 oneshot": bytes, type and operator of the first call that is not done by the algorithm asked for, and what
 * does it. */
static void refuse_algorithm(struct bench_table *t, const char *rest)
{
    static const struct {
        const char *name, *text;
    } algorithms[] = {
#define TUTTI_ALGORITHM(name_, order, text_) {#name_, text_},
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
    };
    const struct bench_options *o = t->options;
    char *what = bench_what(o), name[96] = "";
    size_t bytes = 0;
    int type = 0, op = 0;
    sscanf(rest, "%zu %d %d %95[^\n]", &bytes, &type, &op, name);
    bench_report_clear(&t->report);
    fprintf(stderr, "tutti: --algorithm %s does not do %s of %zu bytes, %s of %s, with %d rank%s here (%s would)\n",
            o->algorithm, what, bytes, tutti_op_name(op), tutti_type_name(type), o->ranks, o->ranks == 1 ? "" : "s",
            name);
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        if (strcmp(algorithms[i].name, o->algorithm) == 0)
            fprintf(stderr, "tutti: %s: %s\n", o->algorithm, algorithms[i].text);
    }
    t->report.refused = 1;
    free(what);
}

void bench_table_record(void *table, char *text)
{
    struct bench_table *t = table;
    char *rest = bench_report_take(&t->report, text);
    if (!rest)
        return;
#define IS(name)    (strcmp(text, name) == 0)
#define KEEP(field) snprintf(t->field, sizeof t->field, "%s", rest)
    if (IS("nccl"))
        KEEP(nccl);
    else if (IS("staging"))
        KEEP(staging);
    else if (IS("way") && way_by_name(rest) >= 0)
        t->way[way_by_name(rest)] = 1;
    else if (IS("start"))
        print_head(t);
    else if (IS("refused"))
        refuse_algorithm(t, rest);
    else if (IS("pair"))
        set_pair(t, rest);
    else if (IS("skip"))
        skip_type(t, rest);
    else if (IS("row"))
        begin_row(t, rest);
    else if (IS("time"))
        add_time(t, rest);
    else if (IS("phase"))
        add_phase(t, rest);
    else if (IS("whole") && t->report.open)
        sscanf(rest, "%lf %lf", &t->row[t->rows - 1].whole, &t->row[t->rows - 1].ordered);
    else if (IS("done") && t->report.open) {
        print_row(t);
        t->report.open = 0;
    }
#undef IS
#undef KEEP
}
