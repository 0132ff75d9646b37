#include "bench/tune/choose.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[TUNE_CHOICES] = {
#define TUTTI_ALGORITHM(name, order, text) #name,
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
#define TUTTI_PROTOCOL(name, node, far, outcome, reason, text) #name,
#include "tutti/protocols.def"
#undef TUTTI_PROTOCOL
    [TUNE_copy_engine] = "copy_engine",
#define TUTTI_MOVE(name, ...) [TUNE_move_##name] = #name,
#include "tutti/moves.def"
#undef TUTTI_MOVE
    [TUNE_mpi] = "mpi",
#define FILE_WAY(way) [TUNE_file_##way] = #way,
    TUNE_FILE_WAYS(FILE_WAY)
#undef FILE_WAY
        [TUNE_part_kernel] = "kernel",
    [TUNE_part_engine] = "engine",
    [TUNE_part_never] = "never",
};

const char *tune_name(int choice)
{
    return choice >= 0 && choice < TUNE_CHOICES ? names[choice] : "-";
}

int tune_by_name(const char *name)
{
    for (int a = 0; a < TUNE_ALGORITHMS; a++) {
        if (strcmp(names[a], name) == 0)
            return a;
    }
    return TUNE_DEFAULT;
}

struct tune_point *tune_point_add(struct tune_curve *curve, size_t bytes)
{
    int at = 0;
    while (at < curve->n && curve->point[at].bytes < bytes)
        at++;
    if (at < curve->n && curve->point[at].bytes == bytes)
        return &curve->point[at];
    if (curve->n == TUNE_POINTS)
        return NULL;
    memmove(&curve->point[at + 1], &curve->point[at], (size_t)(curve->n - at) * sizeof curve->point[0]);
    curve->n++;
    curve->point[at] = (struct tune_point){.bytes = bytes, .standard = TUNE_DEFAULT, .choice = TUNE_DEFAULT};
    return &curve->point[at];
}

void tune_choose(struct tune_curve *curve, double win)
{
    static double cost[TUNE_POINTS][TUNE_CHOICES];
    static int from[TUNE_POINTS][TUNE_CHOICES];
    const double leave = log1p(win);
    for (int i = 0; i < curve->n; i++) {
        const struct tune_point *point = &curve->point[i];
        for (int a = 0; a < TUNE_CHOICES; a++) {
            double best = i == 0 ? (a == point->standard ? 0 : leave) : DBL_MAX;
            from[i][a] = TUNE_DEFAULT;
            for (int b = 0; i > 0 && b < TUNE_CHOICES; b++) {
                double way = cost[i - 1][b] >= DBL_MAX ? DBL_MAX : cost[i - 1][b] + (b == a ? 0 : leave);
                if (way < best) {
                    best = way;
                    from[i][a] = b;
                }
            }
            cost[i][a] = point->us[a] > 0 && best < DBL_MAX ? best + log(point->us[a]) : DBL_MAX;
        }
    }
    int at = TUNE_DEFAULT;
    for (int a = 0; curve->n > 0 && a < TUNE_CHOICES; a++) {
        double least = at < 0 ? DBL_MAX : cost[curve->n - 1][at];
        if (cost[curve->n - 1][a] < least)
            at = a;
    }
    for (int i = curve->n - 1; i >= 0; i--) {
        curve->point[i].choice = at;
        if (at >= 0)
            at = from[i][at];
    }
}

size_t tune_between(const struct tune_curve *curve)
{
    for (int i = 0; i + 1 < curve->n && curve->n < TUNE_POINTS; i++) {
        size_t low = curve->point[i].bytes, high = curve->point[i + 1].bytes, middle;
        if (curve->point[i].choice == curve->point[i + 1].choice || low < 8 || high <= low + low / 2)
            continue;
        if (high > 2 * low) {
            for (middle = low; middle * middle < low * high; middle *= 2)
                ;
        } else {
            middle = low + (high - low) / 2 / 8 * 8;
        }
        if (middle > low && middle < high)
            return middle;
    }
    return 0;
}

static int double_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum tune_verdict tune_judge(double *ratios, int n, double win, double *median)
{
    if (n < 1)
        return TUNE_UNPROVEN;
    qsort(ratios, (size_t)n, sizeof *ratios, double_ascending);
    *median = n % 2 ? ratios[n / 2] : (ratios[n / 2 - 1] + ratios[n / 2]) / 2;
    int clear = ratios[n / 4] > 1 || *median > 1 + 4 * win;
    return *median > 1 + win && clear ? TUNE_LOST : TUNE_KEPT;
}

static const char *end_text(size_t bytes, char out[24])
{
    if (bytes >= (size_t)1 << 20 && bytes % ((size_t)1 << 20) == 0)
        snprintf(out, 24, "%zum", bytes >> 20);
    else if (bytes >= 1024 && bytes % 1024 == 0)
        snprintf(out, 24, "%zuk", bytes >> 10);
    else
        snprintf(out, 24, "%zu", bytes);
    return out;
}

void tune_rules(const struct tune_curve *curve, char *out, size_t size)
{
    size_t least = 0, used = 0;
    out[0] = '\0';
    for (int i = 0; i < curve->n; i++) {
        const struct tune_point *point = &curve->point[i];
        int last = i + 1 == curve->n;
        if (!last && curve->point[i + 1].choice == point->choice)
            continue;
        size_t most = last ? point->bytes : point->bytes + (curve->point[i + 1].bytes - point->bytes) / 2;
        char from[24], to[24];
        if (point->choice >= 0) {
            const char *end = last && curve->whole ? "*" : end_text(most, to);
            int n = snprintf(out + used, size - used, "%s%s-%s@%s", used ? " " : "", end_text(least, from), end,
                             names[point->choice]);
            if (n < 0 || (size_t)n >= size - used)
                return;
            used += (size_t)n;
        }
        least = most;
    }
}
