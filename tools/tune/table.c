/* tutti tune: records of the ranks, the progress line, and the table. Everything on standard output is a comment of the
 * rules' grammar, or rules. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/tune/tune.h"
#include "tutti/tutti.h"

static volatile sig_atomic_t first_rank, asked;

static void table_print(const char *text)
{
    ssize_t n = write(STDERR_FILENO, text, strlen(text));
    (void)n;
}

void tune_interrupt(void)
{
    asked = 1;
    table_print(
        "\ntutti: ending: what has been measured is kept, and proved for a few seconds; Ctrl-C again ends without "
        "writing\n");
    if (first_rank > 0)
        kill((pid_t)first_rank, SIGUSR1);
}

static int verdict_of(const char *name)
{
    int v = 0;
    while (v < TUNE_VERDICTS && strcmp(tune_verdicts[v], name) != 0)
        v++;
    return v;
}

static int section_of(const char *name)
{
    for (int s = 0; s < TUNE_SECTIONS; s++) {
        if (strcmp(tune_sections[s], name) == 0)
            return s;
    }
    return -1;
}

static void clear_progress(struct tune_run *run)
{
    if (run->progress)
        fputs("\r\033[K", stderr);
    run->progress = 0;
}

static void show_progress(struct tune_run *run, const char *text)
{
    char what[16], name[32], size[24];
    size_t bytes;
    double left;
    if (asked || sscanf(text, "%15s %31s %zu %lf", what, name, &bytes, &left) != 4)
        return;
    const char *doing = strcmp(what, TUNE_DOES_PROVE) == 0    ? "proving"
                        : strcmp(what, TUNE_DOES_REFINE) == 0 ? "looking closer"
                        : strcmp(what, TUNE_DOES_OPEN) == 0   ? "opening"
                                                              : "measuring";
    if (!isatty(STDERR_FILENO)) { /* a line when a new step begins */
        if (strcmp(doing, run->doing) != 0)
            fprintf(stderr, "tutti: %s\n", doing);
        snprintf(run->doing, sizeof run->doing, "%s", doing);
        return;
    }
    fprintf(stderr, "\r\033[K%s: %s", doing, name);
    if (bytes > 0)
        fprintf(stderr, " of %s bytes", tool_size_text(bytes, size));
    if (run->options->rounds == 0)
        fprintf(stderr, ", at most %.0f s left", left > 0 ? left : 0);
    fflush(stderr);
    run->progress = 1;
}

static void add_row(struct tune_run *run, const char *text)
{
    char name[32], verdict[16];
    struct tune_row row;
    if (run->rows == TUNE_ROWS || sscanf(text, "%31s %zu %31s %lf %31s %lf %lf %15s", name, &row.bytes, row.standard,
                                         &row.standard_us, row.tuned, &row.tuned_us, &row.ratio, verdict) != 8)
        return;
    row.section = section_of(name);
    row.verdict = verdict_of(verdict);
    if (row.section >= 0 && row.verdict < TUNE_VERDICTS)
        run->row[run->rows++] = row;
}

static void add_time(struct tune_run *run, const char *text)
{
    char name[32];
    struct tune_time time;
    if (run->times == TUNE_TIMES || sscanf(text, "%31s %zu %31s %lf", name, &time.bytes, time.algorithm, &time.us) != 4)
        return;
    time.section = section_of(name);
    if (time.section >= 0)
        run->time[run->times++] = time;
}

/* "allreduce_enqueue: 0-8k@ll" */
static void set_rules(struct tune_run *run, const char *text)
{
    char name[48];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    char *order = strstr(name, "_enqueue");
    if (order)
        *order = '\0';
    int section = section_of(name);
    if (section >= 0)
        snprintf(run->rules[section], sizeof run->rules[section], "%s", text);
}

void tune_record(void *with, char *text)
{
    struct tune_run *run = with;
    char *rest = text + strcspn(text, " ");
    if (*rest)
        *rest++ = '\0';
#define IS(name)    (strcmp(text, name) == 0)
#define KEEP(field) snprintf(run->field, sizeof run->field, "%s", rest)
    if (IS("mpi"))
        KEEP(mpi);
    else if (IS("device"))
        KEEP(device);
    else if (IS("entry"))
        KEEP(entry);
    else if (IS("most"))
        run->most = strtoull(rest, NULL, 10);
    else if (IS("pid")) {
        first_rank = atoi(rest);
        if (asked)
            kill((pid_t)first_rank, SIGUSR1);
    } else if (IS("progress"))
        show_progress(run, rest);
    else if (IS("time"))
        add_time(run, rest);
    else if (IS("proof"))
        add_row(run, rest);
    else if (IS("rules"))
        set_rules(run, rest);
    else if (IS("note"))
        KEEP(note);
    else if (IS("interrupted"))
        run->interrupted = strtod(rest, NULL) + 1e-3; /* above 0 */
    else if (IS("wrong")) {
        clear_progress(run);
        fprintf(stderr, "tutti: wrong result: %s\n", rest);
    } else if (IS("end")) {
        first_rank = 0;
        clear_progress(run);
        run->ended = sscanf(rest, "%d %lf", &run->right, &run->took) == 2;
    }
#undef IS
#undef KEEP
}

static const char *verdict_remark(int verdict)
{
    if (verdict == TUNE_LOST)
        return "  lost: the default stays";
    if (verdict == TUNE_UNPROVEN)
        return "  not proven: the default stays";
    return "";
}

/* The gain of the kept rules: the geometric mean of their ratios. */
static void print_sum(const struct tune_run *run)
{
    int kept = 0, lost = 0, same = 0;
    double sum = 0;
    for (int i = 0; i < run->rows; i++) {
        const struct tune_row *row = &run->row[i];
        int other = row->verdict == TUNE_KEPT;
        kept += other;
        sum += other ? log(row->ratio) : 0;
        same += row->verdict == TUNE_SAME;
        lost += row->verdict == TUNE_LOST || row->verdict == TUNE_UNPROVEN;
    }
    printf("# %d sizes: at %d the default is the fastest", run->rows, same);
    if (kept)
        printf(", at %d another is, at %.2f of the default's time in the geometric mean", kept, exp(sum / kept));
    if (lost)
        printf(", at %d it did not hold", lost);
    printf("; %.0f s\n", run->took);
}

void tune_table(struct tune_run *run)
{
    static const char *const orders[] = {"blocking calls", "calls in stream order", "calls in a graph"};
    const struct tune_options *o = run->options;
    char size[24];
    clear_progress(run);
    const int alone = o->sections >> TUNE_MESSAGE << TUNE_MESSAGE == o->sections;
    printf("# Tutti %s tune: %s, %d ranks, %s %s bytes\n", tutti_version(), orders[o->start.order], o->start.ranks,
           alone                                         ? "messages up to"
           : o->sections & ((1u << TUNE_REDUCTIONS) - 1) ? "sum of float, 8 to"
                                                         : "blocks of 8 to",
           tool_size_text(run->most, size));
    printf("# %s (%s)\n# %s\n", run->mpi, run->place->mpi->launcher, run->entry);
    if (run->interrupted > 0)
        printf("# interrupted after %.0f s: sizes that had not been measured keep the defaults\n", run->interrupted);
    if (run->note[0])
        printf("# %s\n", run->note);
    for (int i = 0; i < run->rows; i++) {
        if (run->row[i].section < TUNE_MESSAGE || run->row[i].section >= TUNE_FILES)
            continue;
        puts("# message: half a round trip of blocks of 64 bytes, 128 apart, between ranks 0 and 1, 2 and 3 ..., "
             "message_far: "
             "between those of the first half and those of the second");
        break;
    }
    for (int i = 0; i < run->rows; i++) {
        if (run->row[i].section < TUNE_FILES || run->row[i].section >= TUNE_PARTS)
            continue;
        puts("# file_write, file_read: MPI_File_write_at and MPI_File_read_at of a part of one file for each rank");
        break;
    }
    for (int i = 0; i < run->rows; i++) {
        if (run->row[i].section < TUNE_PARTS || run->row[i].section >= TUNE_SHMEM)
            continue;
        puts("# partitioned, partitioned_meet: bytes of each of four partitions that blocks of a kernel mark, of a "
             "message between ranks 0 and 1, 2 and 3 ..., and of a sum of all ranks");
        break;
    }
    if (run->rows > 0 && run->row[run->rows - 1].section >= TUNE_SHMEM)
        puts("# shmem_put_128: a kernel's put by a group of 128 threads, complete at PE 1, and so on; by PE 0 alone");
    puts("# us: medians over rounds of the slowest rank, the defaults and the tuned rules in turn");
    printf("# %-15s %10s  %-14s %11s  %-14s %11s %7s\n", "Collective", "Size", "Default", "us", "Tuned", "us", "Ratio");
    for (int i = 0; i < run->rows; i++) {
        const struct tune_row *row = &run->row[i];
        printf("# %-15s %10zu  %-14s", tune_sections[row->section], row->bytes, row->standard);
        if (row->verdict == TUNE_UNPROVEN)
            printf(" %11s  %-14s %11s %7s", "-", row->tuned, "-", "-");
        else
            printf(" %11.2f  %-14s %11.2f %7.2f", row->standard_us, row->tuned, row->tuned_us, row->ratio);
        puts(verdict_remark(row->verdict));
    }
    print_sum(run);
    fflush(stdout);
}
