/* Rounds A B C A B C ... of the columns at one size, so that what drifts on the machine meets all of them alike; and
 * the proof of what was chosen. Every decision is made from numbers that all ranks have agreed on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/columns.h"
#include "bench/common/gpu.h"
#include "bench/tune/tune.h"

enum { COLUMNS = TUNE_CHOICES + 1, SHARED = COLUMNS + 2 };

/* The largest of all ranks' numbers; behind those of the columns the time and whether the user wants it to end. */
static void tune_agree(struct tune *tune, double mine[SHARED], double all[SHARED])
{
    mine[COLUMNS] = tune_now();
    mine[COLUMNS + 1] = tune->interrupted || tune_interrupted();
    bench_mpi.Allreduce(mine, all, SHARED, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    tune->interrupted = all[COLUMNS + 1] > 0;
}

static int calls_for(const struct tune *tune, double us)
{
    int blocking = tune->plan->order == BENCH_HOST;
    double most = blocking ? 20 : 50, least = blocking || us > 5000 ? 1 : 2, calls = (blocking ? 500 : 2000) / us;
    return (int)(calls < least ? least : calls > most ? most : calls);
}

/* A call of each column shows its algorithm, and whether it is right; two more show how long they take. */
static void tune_probe(struct tune *tune, struct tune_column *columns, int n, int section, size_t bytes)
{
    double mine[SHARED] = {0}, all[SHARED], best = 0;
    for (int i = 0; i < n; i++)
        mine[i] = !tune_try(tune, &columns[i], section, bytes, i == 0);
    tune_name_moves(tune, columns, n, section);
    tune_agree(tune, mine, all);
    for (int i = 0; i < n; i++) {
        if (all[i] > 0) {
            tune->wrong = 1;
            bench_say(tune->plan, "wrong %s by %s, %zu bytes: not %s", tune_section_name(section),
                      tune_name(columns[i].algorithm), bytes,
                      section >= TUNE_MESSAGE ? "what was sent" : "the bits of the default");
        }
        if (all[i] > 0 || (columns[i].wanted != TUNE_DEFAULT && columns[i].algorithm != columns[i].wanted))
            columns[i].timed = 0;
        columns[i].calls = 2;
        mine[i] = columns[i].timed ? tune_round(tune, &columns[i], section, bytes) : 0;
    }
    tune_agree(tune, mine, all);
    for (int i = 0; i < n; i++) {
        if (columns[i].timed && (best <= 0 || all[i] < best))
            best = all[i];
    }
    for (int i = 0; i < n; i++) {
        columns[i].us = columns[i].timed ? all[i] : 0;
        columns[i].calls = calls_for(tune, all[i] > 0 ? all[i] : 1);
        if (columns[i].timed)
            tune_graph_make(tune, &columns[i], section, bytes);
    }
}

static double median_of(const struct tune_column *column)
{
    double sorted[TUNE_ROUNDS];
    memcpy(sorted, column->sample, sizeof sorted);
    return bench_median(sorted, column->rounds);
}

/* Columns that are far behind take no further part. */
static void columns_drop(struct tune_column *columns, int n, double factor)
{
    double best = 0;
    for (int i = 0; i < n; i++) {
        if (columns[i].timed && columns[i].us > 0 && (best <= 0 || columns[i].us < best))
            best = columns[i].us;
    }
    for (int i = 0; i < n; i++)
        columns[i].timed = columns[i].timed && columns[i].us <= factor * best;
}

void tune_measure(struct tune *tune, struct tune_column *columns, int n, int section, size_t bytes, double seconds,
                  int least, int together)
{
    double mine[SHARED] = {0}, all[SHARED] = {0};
    tune_agree(tune, mine, all);
    double until = all[COLUMNS] + (tune->rounds ? 0 : seconds);
    least = tune->rounds ? tune->rounds : least;
    tune_probe(tune, columns, n, section, bytes);
    if (!together)
        columns_drop(columns, n, 4);
    for (int round = 0; round < TUNE_ROUNDS; round++) {
        memset(mine, 0, sizeof mine);
        for (int i = 0; i < n; i++) {
            if (columns[i].timed)
                mine[i] = tune_round(tune, &columns[i], section, bytes);
        }
        tune_agree(tune, mine, all);
        for (int i = 0; i < n; i++) {
            if (!columns[i].timed)
                continue;
            columns[i].sample[columns[i].rounds++] = all[i];
            columns[i].us = median_of(&columns[i]);
        }
        if (round == 2 && !together)
            columns_drop(columns, n, 1.5);
        if ((round + 1 >= least && all[COLUMNS] > until) || (round >= 2 && tune->interrupted))
            break;
    }
    for (int i = 0; i < n; i++) {
        bench_graph_free(columns[i].graph);
        columns[i].graph = NULL;
    }
}

/* The tuned rules as text, of all sections; with "_enqueue" where calls are in stream order. */
static void rules_text(const struct tune *tune, char *out, size_t size)
{
    static char rules[4096];
    size_t used = 0;
    out[0] = '\0';
    for (int s = 0; s < TUNE_SECTIONS; s++) {
        if (!(tune->sections >> s & 1))
            continue;
        tune_rules(&tune->curve[s], rules, sizeof rules);
        int n = snprintf(out + used, size - used, "%s%s: %s\n", tune_section_name(s),
                         tune->plan->order == BENCH_HOST ? "" : "_enqueue", rules);
        if (n < 0 || (size_t)n >= size - used)
            bench_fail("the rules are too long");
        used += (size_t)n;
    }
}

static void prove_point(struct tune *tune, const char *rules, int section, struct tune_point *point, double seconds)
{
    struct tune_column columns[2] = {{.rules = "", .wanted = TUNE_DEFAULT, .timed = 1},
                                     {.rules = rules, .wanted = TUNE_DEFAULT, .timed = 1}};
    tune_measure(tune, columns, 2, section, point->bytes, seconds, 3, 1);
    double ratios[TUNE_ROUNDS];
    int n = columns[0].rounds < columns[1].rounds ? columns[0].rounds : columns[1].rounds;
    for (int i = 0; i < n; i++)
        ratios[i] = columns[1].sample[i] / columns[0].sample[i];
    point->standard_us = columns[0].us;
    point->tuned_us = columns[1].us;
    point->verdict = tune_judge(ratios, n, tune->win, &point->ratio);
    if (columns[1].algorithm != point->choice) /* it cannot run after all */
        point->verdict = TUNE_LOST;
}

/* A size at which the choice is not what the default takes. */
struct doubt {
    struct tune_point *point;
    int section;
};

static int by_size(const void *a, const void *b)
{
    size_t x = ((const struct doubt *)a)->point->bytes, y = ((const struct doubt *)b)->point->bytes;
    return (x > y) - (x < y);
}

static int doubts_of(struct tune *tune, struct doubt *out)
{
    int n = 0;
    for (int s = 0; s < TUNE_SECTIONS; s++) {
        for (int i = 0; i < tune->curve[s].n; i++) {
            struct tune_point *point = &tune->curve[s].point[i];
            point->verdict = TUNE_SAME;
            point->ratio = 1;
            if (point->choice >= 0)
                point->standard_us = point->tuned_us = point->us[point->choice];
            if (point->choice >= 0 && point->choice != point->standard)
                out[n++] = (struct doubt){point, s};
        }
    }
    qsort(out, (size_t)n, sizeof *out, by_size); /* the quick ones first */
    return n;
}

void tune_prove(struct tune *tune, double until)
{
    static char text[TUNE_SECTIONS * 4200];
    static struct doubt doubt[TUNE_SECTIONS * TUNE_POINTS];
    int n = doubts_of(tune, doubt);
    if (n > 0)
        rules_text(tune, text, sizeof text);
    for (int i = 0; i < n; i++) {
        struct tune_point *point = doubt[i].point;
        double now = bench_longest(tune_now());
        point->verdict = TUNE_UNPROVEN;
        bench_say(tune->plan, "progress " TUNE_DOES_PROVE " %s %zu %.0f", tune_section_name(doubt[i].section),
                  point->bytes, until - now);
        if (!tune_is_late(tune, now, until))
            prove_point(tune, text, doubt[i].section, point, (until - now) / (n - i));
    }
    for (int i = 0; i < n; i++) {
        if (doubt[i].point->verdict != TUNE_KEPT)
            doubt[i].point->choice = TUNE_DEFAULT;
    }
}
