/* What the tables of all benchmarks share. */
#include "tools/bench/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/bench.h"

void bench_report_clear(struct bench_report *report)
{
    if (report->progress)
        fputs("\r\033[K", stderr);
    report->progress = 0;
}

static void show_progress(struct bench_report *report, const char *text)
{
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r\033[K%s", text);
    report->progress = 1;
}

static void add_note(struct bench_report *report, const char *text)
{
    size_t n = strlen(report->notes);
    snprintf(report->notes + n, sizeof report->notes - n, "# %.200s\n", text);
}

char *bench_report_take(struct bench_report *report, char *text)
{
    char *rest = text + strcspn(text, " ");
    if (*rest)
        *rest++ = '\0';
#define IS(name)    (strcmp(text, name) == 0)
#define KEEP(field) snprintf(report->field, sizeof report->field, "%s", rest)
    if (IS("mpi"))
        KEEP(mpi);
    else if (IS("device"))
        KEEP(device);
    else if (IS("gpu"))
        KEEP(gpu);
    else if (IS("nodes"))
        report->nodes = atoi(rest);
    else if (IS("gpus"))
        report->gpus = atoi(rest);
    else if (IS("note"))
        add_note(report, rest);
    else if (IS("line")) {
        bench_report_clear(report);
        printf("# %s\n", rest);
    } else if (IS("progress"))
        show_progress(report, rest);
    else if (IS("wrong")) {
        bench_report_clear(report);
        KEEP(wrong);
        fprintf(stderr, "tutti: wrong result: %s\n", rest);
    } else if (IS("end")) {
        bench_report_clear(report);
        report->ended = 1;
        report->right = atoi(rest);
    } else {
        return rest;
    }
#undef IS
#undef KEEP
    return NULL;
}

void bench_report_print_place(const struct bench_report *report)
{
    printf("# %s (%s)", report->mpi, report->place->mpi->launcher);
    if (report->nodes > 0)
        printf(", %d node%s", report->nodes, report->nodes == 1 ? "" : "s");
    printf("; GPU: %s\n", report->gpu[0] ? report->gpu : "-");
}

int bench_report_status(const struct bench_report *report, int status, int failed)
{
    if (status == 0 && !report->ended) {
        fputs("tutti: the ranks ended before they were done\n", stderr);
        return 1;
    }
    if (status == 0 && report->refused)
        return TOOL_WRONG_USE;
    return status != 0 ? status : failed || !report->right;
}

int bench_time_read(const char *text, const char *const ways[], int n, int *direction, struct bench_time *out)
{
    char name[16];
    struct bench_time time = {.known = 1};
    if (sscanf(text, "%15s %d %lf %lf %lf %lf %ld %d", name, direction, &time.average, &time.median, &time.least,
               &time.most, &time.iterations, &time.extrapolated) != 8)
        return -1;
    for (int way = 0; way < n; way++) {
        if (strcmp(ways[way], name) == 0) {
            *out = time;
            return way;
        }
    }
    return -1;
}

double bench_time_ratio(const struct bench_time *time, const struct bench_time *own)
{
    return own->known && time->known && own->median > 0 ? time->median / own->median : 0;
}

void bench_time_print_title(const char *way)
{
    printf(" %11s %8s", way, "x");
}

void bench_time_print(const struct bench_time *time, const struct bench_time *own)
{
    if (!time->known)
        printf(" %11s %8s", "-", "-");
    else
        printf(" %s%*.2f %8.2f", time->extrapolated ? "~" : "", time->extrapolated ? 10 : 11, time->median,
               bench_time_ratio(time, own));
}

void bench_time_plot(FILE *to, const struct bench_time *time)
{
    if (time->known)
        fprintf(to, " %.4f", time->median);
    else
        fputs(" -", to);
}
