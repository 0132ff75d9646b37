/* The table of tutti bench pack, printed row by row as the rank reports: a line for pack and one for unpack. */
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "tools/bench/pack.h"
#include "tutti/tutti.h"

static const char *const ways[PACK_WAYS] = {
#define PACK_WAY(id, name, text) name,
#include "bench/words/pack_ways.def"
#undef PACK_WAY
};

const char *pack_way_title(int way)
{
    return ways[way];
}

/* Rows of one layout follow each other, each with another description; a repeated description begins the next
 * layout. */
static int same_layout(const struct pack_row *first, const struct pack_row *row)
{
    return strcmp(first->layout, row->layout) == 0 && first->bytes == row->bytes &&
           strcmp(first->description, row->description) != 0;
}

double pack_spread(const struct pack_table *t, int from, int unpack, int *next)
{
    double least = 0, most = 0;
    int row = from;
    for (; row < t->rows && (row == from || same_layout(&t->row[from], &t->row[row])); row++) {
        double us = t->row[row].time[PACK_TUTTI][unpack].median;
        least = row == from || us < least ? us : least;
        most = us > most ? us : most;
    }
    *next = row;
    return row - from > 1 && least > 0 ? most / least : 0;
}

static void print_head(struct pack_table *t)
{
    const struct bench_options *b = &t->options->bench;
    const int commit = t->options->kind == PACK_COMMIT;
    printf("# Tutti %s %s, layouts: %s, %s device\n", tutti_version(),
           commit ? "MPI_Type_commit" : "MPI_Pack, MPI_Unpack", pack_kind_name(t->options->kind), t->report.device);
    bench_report_print_place(&t->report);
    fputs(t->report.notes, stdout);
    if (t->options->kind == PACK_ARTICLE)
        printf("# %zu bytes out of a cube of %zu^3: bytes of a row / rows / planes\n",
               t->options->cube * t->options->cube, t->options->cube);
    if (commit)
        puts("# medians in us; ratio: with the library in front, in units of the plain MPI's; all: making, committing "
             "and\n"
             "# freeing a type; first: what its first MPI_Pack takes longer than the second one");
    else
        printf("# data from seed %llu, %s; medians in us; x: that way's in units of Tutti's\n",
               (unsigned long long)b->seed, b->check ? "validated in the timed loop" : "not validated");
    fflush(stdout);
}

/* The columns are the ways of the first row: on one machine all rows have them, except copy3d. */
static int shown(const struct pack_table *t, int way)
{
    return t->row[0].time[way][0].known ||
           (way == PACK_COPY3D && tutti_device()->interface == TUTTI_GPU_INTERFACE_CUDA &&
            t->options->ways >> PACK_COPY3D & 1);
}

static void print_columns(struct pack_table *t)
{
    t->started = 1;
    printf("%-19s %-13s ", "# Layout", "Description");
    if (t->options->kind == PACK_COMMIT) {
        printf("%10s %8s %11s %11s %7s %11s %11s %7s %11s %10s\n", "Bytes", "Blocks", "tutti", "plain", "ratio", "all",
               "plain_all", "ratio", "first", "Iterations");
        return;
    }
    printf("%-6s %10s %9s %11s %11s %11s %10s  %-14s", "Call", "Bytes", "Blocks", "Median", "Min", "Max", "Iterations",
           "Algorithm");
    for (int way = PACK_PLAIN; way < PACK_WAYS; way++) {
        if (shown(t, way))
            bench_time_print_title(ways[way]);
    }
    putchar('\n');
}

static void print_call(struct pack_table *t, const struct pack_row *row, int unpack)
{
    const struct bench_time *own = &row->time[PACK_TUTTI][unpack];
    printf("%-19s %-13s %-6s %10zu %9zu %11.2f %11.2f %11.2f %10ld  %-14s", row->layout, row->description,
           unpack ? "unpack" : "pack", row->bytes, row->blocks, own->median, own->least, own->most, own->iterations,
           row->how[unpack]);
    for (int way = PACK_PLAIN; way < PACK_WAYS; way++) {
        if (shown(t, way))
            bench_time_print(&row->time[way][unpack], own);
    }
    putchar('\n');
}

/* The spread of the descriptions of the layout that has just ended. */
static void end_layout(struct pack_table *t)
{
    int next;
    if (t->options->kind == PACK_COMMIT || t->spread_from >= t->rows)
        return;
    double spread[2] = {pack_spread(t, t->spread_from, 0, &next), pack_spread(t, t->spread_from, 1, &next)};
    if (spread[0] > 0)
        printf("# %s: slowest by fastest description: pack %.3f, unpack %.3f\n", t->row[t->spread_from].layout,
               spread[0], spread[1]);
    for (int unpack = 0; unpack < 2; unpack++) {
        if (spread[unpack] <= t->worst[unpack])
            continue;
        t->worst[unpack] = spread[unpack];
        snprintf(t->worst_at[unpack], sizeof t->worst_at[unpack], "%s", t->row[t->spread_from].layout);
    }
    t->spread_from = t->rows;
}

void pack_table_end(struct pack_table *t)
{
    bench_report_clear(&t->report);
    end_layout(t);
    if (t->worst[0] > 0)
        printf("# widest: pack %.3f (%s), unpack %.3f (%s)\n", t->worst[0], t->worst_at[0], t->worst[1],
               t->worst_at[1]);
    if (t->extrapolated)
        puts("# ~ worked out from the first 4096 blocks: all of them would have taken longer than a second");
    fflush(stdout);
}

static void print_row(struct pack_table *t)
{
    struct pack_row *row = &t->row[t->rows - 1];
    bench_report_clear(&t->report);
    if (!t->started)
        print_columns(t);
    if (t->options->kind == PACK_COMMIT) {
        printf("%-19s %-13s %10zu %8zu %11.2f %11.2f %7.2f %11.2f %11.2f %7.2f", row->layout, row->description,
               row->bytes, row->blocks, row->commit, row->plain_commit,
               row->plain_commit > 0 ? row->commit / row->plain_commit : 0, row->whole, row->plain_whole,
               row->plain_whole > 0 ? row->whole / row->plain_whole : 0);
        if (row->first < 0)
            printf(" %11s", "-");
        else
            printf(" %11.2f", row->first);
        printf(" %10ld\n", row->commits);
    } else {
        print_call(t, row, 0);
        print_call(t, row, 1);
    }
    fflush(stdout);
}

static void begin_row(struct pack_table *t, const char *text)
{
    struct pack_row row = {.bytes = 0};
    if (t->rows == PACK_TABLE_ROWS ||
        sscanf(text, "%zu %zu %zu %lf %lf %ld %23s", &row.bytes, &row.blocks, &row.touched, &row.commit,
               &row.plain_commit, &row.commits, row.description) != 7)
        return;
    snprintf(row.layout, sizeof row.layout, "%s", t->layout);
    if (t->rows > t->spread_from && !same_layout(&t->row[t->spread_from], &row)) {
        bench_report_clear(&t->report);
        end_layout(t);
    }
    t->row[t->rows++] = row;
    t->report.open = 1;
}

static void add_time(struct pack_table *t, const char *text)
{
    int unpack;
    struct bench_time time;
    int way = t->report.open ? bench_time_read(text, ways, PACK_WAYS, &unpack, &time) : -1;
    if (way < 0)
        return;
    struct pack_row *row = &t->row[t->rows - 1];
    row->time[way][unpack != 0] = time;
    if (way == PACK_LIMIT)
        row->time[way][1] = time;
    t->extrapolated |= time.extrapolated;
}

static void add_whole(struct pack_table *t, const char *text)
{
    struct pack_row *row = &t->row[t->rows - 1];
    if (sscanf(text, "%lf %lf %lf", &row->whole, &row->plain_whole, &row->first) != 3)
        row->whole = row->plain_whole = row->first = 0;
}

void pack_table_record(void *table, char *text)
{
    struct pack_table *t = table;
    char *rest = bench_report_take(&t->report, text);
    if (!rest)
        return;
#define IS(name)    (strcmp(text, name) == 0)
#define KEEP(field) snprintf(t->field, sizeof t->field, "%s", rest)
    if (IS("layout"))
        KEEP(layout);
    else if (IS("start"))
        print_head(t);
    else if (IS("row"))
        begin_row(t, rest);
    else if (IS("time"))
        add_time(t, rest);
    else if (IS("whole") && t->report.open)
        add_whole(t, rest);
    else if (IS("how") && t->report.open)
        KEEP(row[t->rows - 1].how[0]);
    else if (IS("how_unpack") && t->report.open)
        KEEP(row[t->rows - 1].how[1]);
    else if (IS("done") && t->report.open) {
        print_row(t);
        t->report.open = 0;
    }
#undef IS
#undef KEEP
}
