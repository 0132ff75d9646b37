/* The table of tutti bench pack, printed row by row as the rank reports: a line for pack and one for unpack. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_pack.h"
#include "tutti/tutti.h"

static const char *const ways[PACK_WAYS] = {
#define PACK_WAY(id, name, text) name,
#include "../bench/pack_ways.def"
#undef PACK_WAY
};

const char *pack_way_title(int way)
{
    return ways[way];
}

double pack_ratio(const struct pack_row *row, int way, int unpack)
{
    const struct pack_time *own = &row->time[PACK_TUTTI][unpack], *other = &row->time[way][unpack];
    return own->known && other->known && own->median > 0 ? other->median / own->median : 0;
}

/* Rows of one layout follow each other, each with another description; the same one again begins it anew. */
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

static void clear_progress(struct pack_table *t)
{
    if (t->progress)
        fputs("\r\033[K", stderr);
    t->progress = 0;
}

static void show_progress(struct pack_table *t, const char *text)
{
    char way[16], call[16];
    int part, parts;
    if (!isatty(STDERR_FILENO) || sscanf(text, "%15s %15s %d %d", way, call, &part, &parts) != 4)
        return;
    fprintf(stderr, "\r\033[K%s: %s, part %d of %d", way, call, part + 1, parts);
    t->progress = 1;
}

static void print_head(struct pack_table *t)
{
    const struct bench_options *b = &t->options->bench;
    const int commit = t->options->kind == PACK_COMMIT;
    printf("# Tutti %s %s, layouts: %s, %s device\n", tutti_version(),
           commit ? "MPI_Type_commit" : "MPI_Pack, MPI_Unpack", pack_kind_name(t->options->kind), t->device);
    printf("# %s (%s); GPU: %s\n", t->mpi, t->place->mpi->launcher, t->gpu[0] ? t->gpu : "-");
    fputs(t->notes, stdout);
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

/* The columns follow the ways that the first row has: on one machine all rows have them but copy3d. */
static int shown(const struct pack_table *t, int way)
{
    return t->row[0].time[way][0].known ||
           (way == PACK_COPY3D && strcmp(t->device, "cuda") == 0 && t->options->ways >> PACK_COPY3D & 1);
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
            printf(" %12s %9s", ways[way], "x");
    }
    putchar('\n');
}

static void print_call(struct pack_table *t, const struct pack_row *row, int unpack)
{
    const struct pack_time *own = &row->time[PACK_TUTTI][unpack];
    printf("%-19s %-13s %-6s %10zu %9zu %11.2f %11.2f %11.2f %10ld  %-14s", row->layout, row->description,
           unpack ? "unpack" : "pack", row->bytes, row->blocks, own->median, own->least, own->most, own->iterations,
           row->how[unpack]);
    for (int way = PACK_PLAIN; way < PACK_WAYS; way++) {
        const struct pack_time *time = &row->time[way][unpack];
        if (!shown(t, way))
            continue;
        if (!time->known) {
            printf(" %12s %9s", "-", "-");
            continue;
        }
        printf(" %s%*.2f %9.2f", time->extrapolated ? "~" : "", time->extrapolated ? 11 : 12, time->median,
               pack_ratio(row, way, unpack));
    }
    putchar('\n');
}

/* What the descriptions of the layout that has just ended differ by. */
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
    clear_progress(t);
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
    clear_progress(t);
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
        clear_progress(t);
        end_layout(t);
    }
    t->row[t->rows++] = row;
    t->open = 1;
}

static void add_time(struct pack_table *t, const char *text)
{
    char name[16];
    int unpack;
    struct pack_time time = {.known = 1};
    if (!t->open || sscanf(text, "%15s %d %lf %lf %lf %lf %ld %d", name, &unpack, &time.average, &time.median,
                           &time.least, &time.most, &time.iterations, &time.extrapolated) != 8)
        return;
    for (int way = 0; way < PACK_WAYS; way++) {
        struct pack_row *row = &t->row[t->rows - 1];
        if (strcmp(ways[way], name) != 0)
            continue;
        row->time[way][unpack != 0] = time;
        if (way == PACK_LIMIT)
            row->time[way][1] = time;
        t->extrapolated |= time.extrapolated;
    }
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
    char *rest = text + strcspn(text, " ");
    if (*rest)
        *rest++ = '\0';
#define IS(name)    (strcmp(text, name) == 0)
#define KEEP(field) snprintf(t->field, sizeof t->field, "%s", rest)
    if (IS("mpi"))
        KEEP(mpi);
    else if (IS("device"))
        KEEP(device);
    else if (IS("gpu"))
        KEEP(gpu);
    else if (IS("layout"))
        KEEP(layout);
    else if (IS("note"))
        snprintf(t->notes, sizeof t->notes, "# %s\n", rest);
    else if (IS("start"))
        print_head(t);
    else if (IS("progress"))
        show_progress(t, rest);
    else if (IS("row"))
        begin_row(t, rest);
    else if (IS("time"))
        add_time(t, rest);
    else if (IS("whole") && t->open)
        add_whole(t, rest);
    else if (IS("how") && t->open)
        KEEP(row[t->rows - 1].how[0]);
    else if (IS("how_unpack") && t->open)
        KEEP(row[t->rows - 1].how[1]);
    else if (IS("done") && t->open) {
        print_row(t);
        t->open = 0;
    } else if (IS("wrong")) {
        clear_progress(t);
        KEEP(wrong);
        fprintf(stderr, "tutti: wrong result: %s\n", rest);
    } else if (IS("end")) {
        t->ended = 1;
        t->right = atoi(rest);
    }
#undef IS
#undef KEEP
}
