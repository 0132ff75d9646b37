/* The table of tutti bench, printed row by row as the ranks report. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "core/types.h"
#include "tutti/tutti.h"

static const char *const ways[BENCH_TABLE_WAYS] = {"tutti", "staged", "plain", "native", "nccl"};

const char *bench_way_title(int way)
{
    return ways[way];
}

static int way_by_name(const char *name)
{
    for (int i = 0; i < BENCH_TABLE_WAYS; i++) {
        if (strcmp(ways[i], name) == 0)
            return i;
    }
    return -1;
}

static void clear_progress(struct bench_table *t)
{
    if (t->progress)
        fputs("\r\033[K", stderr);
    t->progress = 0;
}

static void show_progress(struct bench_table *t, const char *text)
{
    size_t bytes;
    char way[16], size[24];
    int block, blocks;
    if (!isatty(STDERR_FILENO) || sscanf(text, "%zu %15s %d %d", &bytes, way, &block, &blocks) != 4)
        return;
    fprintf(stderr, "\r\033[K%s bytes: %s, part %d of %d", tool_size_text(bytes, size), way, block + 1, blocks);
    t->progress = 1;
}

static void print_head(struct bench_table *t)
{
    const struct bench_options *o = t->options;
    clear_progress(t);
    printf("# Tutti %s MPI_Allreduce latency: %d ranks, %s of %s%s, %s device, %d GPU%s\n", tutti_version(), o->ranks,
           tutti_op_name(o->op), tutti_type_name(o->type), o->in_place ? ", in place" : "", t->device, t->gpus,
           t->gpus == 1 ? "" : "s");
    printf("# %s (%s), %d node%s; GPU: %s\n", t->mpi, t->place->mpi->launcher, t->nodes, t->nodes == 1 ? "" : "s",
           t->gpu[0] ? t->gpu : "-");
    if (t->way[1])
        printf("# staged: %s host memory%s%s\n", t->staging, t->nccl[0] ? "; NCCL " : "", t->nccl);
    if (t->notes[0])
        fputs(t->notes, stdout);
    printf("# data from seed %llu, %s; times in us; x: that way's median in units of Tutti's\n",
           (unsigned long long)o->seed, o->check ? "validated in the timed loop" : "not validated");
    printf("%-10s %11s %11s %11s %11s %10s  %-9s", "# Size", "Avg", "Median", "Min", "Max", "Iterations", "Algorithm");
    for (int way = 1; way < BENCH_TABLE_WAYS; way++) {
        if (t->way[way])
            printf(" %11s %7s", ways[way], "x");
    }
    putchar('\n');
    fflush(stdout);
}

static void print_row(struct bench_table *t)
{
    const struct bench_row *row = &t->row[t->rows - 1];
    const struct bench_time *own = &row->time[0];
    clear_progress(t);
    printf("%-10zu %11.2f %11.2f %11.2f %11.2f %10ld  %-9s", row->bytes, own->average, own->median, own->least,
           own->most, row->iterations, row->algorithm);
    for (int way = 1; way < BENCH_TABLE_WAYS; way++) {
        const struct bench_time *time = &row->time[way];
        if (t->way[way] && time->known)
            printf(" %11.2f %7.2f", time->median, own->median > 0 ? time->median / own->median : 0);
        else if (t->way[way])
            printf(" %11s %7s", "-", "-");
    }
    putchar('\n');
    fflush(stdout);
}

static void begin_row(struct bench_table *t, const char *text)
{
    if (t->rows == BENCH_TABLE_ROWS)
        return;
    struct bench_row *row = &t->row[t->rows];
    *row = (struct bench_row){.bytes = 0};
    if (sscanf(text, "%zu %zu %ld %95[^\n]", &row->bytes, &row->count, &row->iterations, row->algorithm) != 4)
        return;
    t->rows++;
    t->open = 1;
}

static void add_time(struct bench_table *t, const char *text)
{
    char name[16];
    struct bench_time time = {.known = 1};
    if (!t->open ||
        sscanf(text, "%15s %lf %lf %lf %lf", name, &time.average, &time.median, &time.least, &time.most) != 5)
        return;
    int way = way_by_name(name);
    if (way >= 0)
        t->row[t->rows - 1].time[way] = time;
}

static void add_note(struct bench_table *t, const char *text)
{
    size_t n = strlen(t->notes);
    snprintf(t->notes + n, sizeof t->notes - n, "# %.200s\n", text);
}

void bench_table_record(void *table, char *text)
{
    struct bench_table *t = table;
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
    else if (IS("nccl"))
        KEEP(nccl);
    else if (IS("staging"))
        KEEP(staging);
    else if (IS("nodes"))
        t->nodes = atoi(rest);
    else if (IS("gpus"))
        t->gpus = atoi(rest);
    else if (IS("note"))
        add_note(t, rest);
    else if (IS("way") && way_by_name(rest) >= 0)
        t->way[way_by_name(rest)] = 1;
    else if (IS("start"))
        print_head(t);
    else if (IS("progress"))
        show_progress(t, rest);
    else if (IS("row"))
        begin_row(t, rest);
    else if (IS("time"))
        add_time(t, rest);
    else if (IS("done") && t->open) {
        print_row(t);
        t->open = 0;
    } else if (IS("wrong")) {
        clear_progress(t);
        KEEP(wrong);
        fprintf(stderr, "tutti: wrong result: %s\n", rest);
    } else if (IS("end")) {
        clear_progress(t);
        t->ended = 1;
        t->right = atoi(rest);
    }
#undef IS
#undef KEEP
}
