/* shmem-bench [--seconds N] [row...]: the rows, in order of importance: latencies and the ring, then operations of
 * two PEs, then bandwidths, then the cutover. When the time is up, the remaining rows are left out, and named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { SIZES = 3, GROUPS = 4, RATES = 3, REQUESTS = 4000000 };
static const unsigned group_sizes[GROUPS] = {1, 16, 128, 1024};

static struct {
    const struct bench_machine *machine;
    char **wanted; /* rows by name, as many as `names`; none: all */
    int names, failed, left_out;
} run;

static int is_wanted(const char *name)
{
    for (int i = 0; i < run.names; i++) {
        if (strcmp(run.wanted[i], name) == 0)
            return 1;
    }
    return run.names == 0;
}

static int time_is_up(void)
{
    return bench_seconds() > bench_until;
}

static int rows_groups(void)
{
    return run.machine->groups ? GROUPS : 1;
}

static void row_print(int operation, int group, unsigned blocks, unsigned threads, size_t bytes, unsigned rounds)
{
    double worst;
    if (!is_wanted(bench_names[operation]) || run.failed)
        return;
    if (time_is_up()) {
        run.left_out++;
        return;
    }
    const double best = bench_measure(run.machine, operation, group, blocks, threads, bytes, rounds, &worst);
    if (best <= 0) {
        run.failed = 1;
        return;
    }
    printf("%-10s %-7s %7u %8u %9zu ", bench_names[operation], bench_forms[group], blocks, threads, bytes);
    if (operation == BENCH_RING_RATE)
        printf("%12.2f M/s  %8.2f\n", 1e3 * blocks * threads / best, 1e3 * blocks * threads / worst);
    else if (operation == BENCH_PUT || operation == BENCH_GET)
        printf("%12.1f GB/s %8.1f\n", (double)bytes / best, (double)bytes / worst);
    else
        printf("%12.3f us   %8.3f\n", best / 1000, worst / 1000);
    fflush(stdout);
}

/* The form that a group of so many threads uses. */
static int form_of(unsigned threads)
{
    return threads == 1 ? BENCH_THREAD : threads <= 32 ? BENCH_WARP : BENCH_BLOCK;
}

static void rows_latencies(int first, int last)
{
    static const size_t sizes[SIZES] = {8, 1024, 16384};
    for (int operation = first; operation <= last; operation++) {
        for (int s = 0; s < (operation == BENCH_BARRIER ? 1 : SIZES); s++) {
            const size_t bytes = operation == BENCH_BARRIER ? 0 : operation == BENCH_SUM && s == 0 ? 4 : sizes[s];
            for (int g = 0; g < rows_groups(); g++)
                row_print(operation, form_of(group_sizes[g]), 1, group_sizes[g], bytes, 1000);
        }
    }
}

static void rows_elements(void)
{
    for (int operation = BENCH_P_QUIET; operation <= BENCH_FETCH_ADD; operation++)
        row_print(operation, BENCH_THREAD, 1, 1, 8, 2000);
    rows_latencies(BENCH_PUT_QUIET, BENCH_GET_BLOCKING);
}

static void rows_bandwidths(void)
{
    for (int operation = BENCH_GET; operation <= BENCH_PUT; operation++) {
        for (size_t bytes = 4 << 20; bytes >= 64 << 10; bytes /= 8) {
            for (int g = rows_groups() - 1; g >= 0; g--) {
                const unsigned most = run.machine->groups ? BENCH_BLOCKS : 1;
                for (unsigned blocks = 1; blocks <= most; blocks *= 2) {
                    if (group_sizes[g] >= 128 || bytes < 1 << 20 || !run.machine->groups)
                        row_print(operation, form_of(group_sizes[g]), blocks, group_sizes[g], bytes, 40);
                }
            }
        }
    }
}

/* ---- the ring ---- */

/* Past which size transfers of PE 0 go by it, 0: none do. */
static void bind_cutover(uint64_t bytes)
{
    for (int i = 0; i < TSHMEM_CUTS * TSHMEM_GROUPS; i++)
        run.machine->states[0].ring.cutover[i / TSHMEM_GROUPS][i % TSHMEM_GROUPS] = bytes;
    run.machine->bind(0);
}

static int open_ring(void)
{
    if (run.machine->ring_open() != 0) {
        printf("FAILED: the ring cannot be served\n");
        run.failed = 1;
        return 0;
    }
    bind_cutover(0);
    return 1;
}

static void close_ring(void)
{
    run.machine->ring_close();
    memset(&run.machine->states[0].ring, 0, sizeof run.machine->states[0].ring);
    run.machine->bind(0);
}

static void rows_ring(void)
{
    static const unsigned blocks[RATES] = {1, 8, BENCH_BLOCKS};
    if ((!is_wanted(bench_names[BENCH_RING_TRIP]) && !is_wanted(bench_names[BENCH_RING_RATE])) || !open_ring())
        return;
    row_print(BENCH_RING_TRIP, BENCH_THREAD, 1, 1, 0, 2000);
    for (int b = 0; b < RATES; b++) {
        if (run.machine->groups) {
            for (unsigned threads = 32; threads <= 256; threads *= 8)
                row_print(BENCH_RING_RATE, BENCH_BLOCK, blocks[b], threads, 0, REQUESTS / blocks[b] / threads);
        } else if (blocks[b] <= 8) {
            row_print(BENCH_RING_RATE, BENCH_THREAD, blocks[b], 1, 0, REQUESTS / blocks[b]);
        }
    }
    close_ring();
}

/* Stores and loads, and copy engines by the ring, beside each other; then the rule that follows: copy engines from
 * where they are ahead at every size. */
static void cutover_of(int get, unsigned threads)
{
    const int operation = get ? BENCH_GET_BLOCKING : BENCH_PUT_QUIET;
    static const char *const calls[] = {"put", "get"};
    const size_t most = 4 << 20;
    size_t most_direct = 0;
    for (size_t bytes = 1 << 10; bytes <= most && !run.failed; bytes *= 2) {
        double us[2], worst;
        if (time_is_up()) {
            run.left_out++;
            return;
        }
        for (int engine = 0; engine < 2; engine++) {
            bind_cutover((uint64_t)engine);
            us[engine] = bench_measure(run.machine, operation, form_of(threads), 1, threads, bytes, 100, &worst) / 1000;
            run.failed |= us[engine] <= 0;
        }
        most_direct = us[0] <= us[1] ? bytes : most_direct;
        printf("%-10s %-7s %8u %9zu %12.2f %12.2f\n", calls[get], bench_forms[form_of(threads)], threads, bytes, us[0],
               us[1]);
        fflush(stdout);
    }
    printf("# shmem_%s_%u: ", calls[get], threads == 16 ? 32 : threads);
    if (most_direct)
        printf("0-%zu@direct ", most_direct);
    printf(most_direct == most ? "*@direct\n" : "*@copy_engine\n");
}

static void rows_cutovers(void)
{
    if (!is_wanted("cutover") || run.failed || !open_ring())
        return;
    printf("%-10s %-7s %8s %9s %12s %12s us\n", "cutover", "form", "threads", "bytes", "direct", "copy_engine");
    for (int get = 0; get < 2; get++) {
        for (int g = rows_groups() - 1; g >= 0; g--)
            cutover_of(get, group_sizes[g]);
    }
    close_ring();
}

/* ---- the program ---- */

static int is_row(const char *name)
{
    for (int i = 0; i < BENCH_OPERATIONS; i++) {
        if (strcmp(bench_names[i], name) == 0)
            return 1;
    }
    return strcmp(name, "cutover") == 0;
}

static int rows_refuse(void)
{
    fprintf(stderr, "shmem-bench [--seconds N] [row...]; N above 0 (40), rows:");
    for (int i = 0; i < BENCH_OPERATIONS; i++)
        fprintf(stderr, " %s", bench_names[i]);
    fprintf(stderr, " cutover\n");
    return 2;
}

int bench_rows(const struct bench_machine *machine, int argc, char **argv)
{
    double seconds = 40;
    char *end = argv[0];
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "--seconds") == 0) {
        seconds = strtod(argv[2], &end);
        first = 3;
        if (*end || !(seconds > 0))
            return rows_refuse();
    }
    for (int i = first; i < argc; i++) {
        if (!is_row(argv[i]))
            return rows_refuse();
    }
    run.machine = machine;
    bench_until = bench_seconds() + seconds;
    run.wanted = argv + first;
    run.names = argc - first;
    printf("%-10s %-7s %7s %8s %9s %12s      %8s\n", "operation", "form", "blocks", "threads", "bytes", "best",
           "worst");
    rows_elements();
    rows_ring();
    rows_latencies(BENCH_PINGPONG, BENCH_SUM);
    rows_bandwidths();
    rows_cutovers();
    if (run.left_out)
        printf("# %d rows are left out: %g seconds are over (--seconds N takes more, names of rows take some)\n",
               run.left_out, seconds);
    return run.failed;
}
