/* One run of `tutti tune`: the sizes that are powers of four, by every algorithm and way; then sizes between those
 * where the fastest changes; then the proof. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/reductions/data.h"
#include "bench/tune/tune.h"
#include "coll/coll.h"
#include "core/clock.h"
#include "core/types.h"
#include "device/device.h"
#include "tutti/tutti.h"

enum { LEAST_ROUNDS = 5, ENDLESS = 16 << 20 }; /* the fastest way from this size on is taken for all larger sizes */

/* Algorithms that calls of the order can take. */
#define TUTTI_ALGORITHM_HOST   0
#define TUTTI_ALGORITHM_STREAM 1
static const int in_stream[TUNE_ALGORITHMS] = {
#define TUTTI_ALGORITHM(name, order, text) TUTTI_ALGORITHM_##order,
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
};

static uint64_t began;
static volatile sig_atomic_t wanted_to_end;

double tune_now(void)
{
    return (double)(tutti_now_ns() - began) * 1e-9;
}

int tune_interrupted(void)
{
    return wanted_to_end;
}

static void on_signal(int number)
{
    (void)number;
    wanted_to_end = 1;
}

static int tune_candidate(const struct tune *tune, int algorithm)
{
    return tune->plan->order == BENCH_HOST || in_stream[algorithm];
}

static void choose_gpu(const struct bench_plan *plan)
{
    char text[256];
    int gpus = tutti_gpu_count();
    if (gpus <= 0)
        bench_fail("rank %d sees no GPU of the %s device (%s)", plan->rank, tutti_device_name(),
                   gpus < 0 ? tutti_status_text(gpus) : "none there");
    bench_must(tutti_gpu_set(plan->node_rank % gpus), "choosing a GPU");
    bench_say(plan, "device %s", tutti_device_name());
    if (tutti_rules_device(text, sizeof text) != 0)
        bench_fail("the %s device does not report its name", tutti_device_name());
    bench_say(plan, "entry %s", text);
}

/* Buffers of the largest size that all ranks find memory for, and input in them. */
static void tune_allocate(struct tune *tune)
{
    for (;; tune->most /= 2) {
        void *in = NULL, *out = NULL, *message = NULL;
        int mine = tutti_alloc(tune->most, &in) == 0 && tutti_alloc(tune->most, &out) == 0;
        if (mine && tune->sections & (1u << TUNE_MESSAGE | 1u << TUNE_MESSAGE_FAR))
            mine = tutti_alloc(tune_message_room(tune->most), &message) == 0;
        tune->in = in;
        tune->out = out;
        tune->message.memory = message;
        if (bench_all_agree(mine))
            break;
        tutti_free(in);
        tutti_free(out);
        tutti_free(message);
        if (tune->most <= 4096)
            bench_fail("there is no device memory left");
    }
    size_t piece = tune->most < (1 << 20) ? tune->most : 1 << 20;
    tune->host = bench_ordinary((size_t)1 << 20);
    bench_fill(TUTTI_TYPE_F32, TUTTI_OP_SUM, 7, tune->plan->rank, 0, piece / sizeof(float), tune->host);
    for (size_t at = 0; at < tune->most; at += piece) {
        size_t n = tune->most - at < piece ? tune->most - at : piece;
        bench_must(tutti_copy((char *)tune->in + at, tune->host, n), "copying to the device");
    }
    bench_say(tune->plan, "most %zu", tune->most);
}

/* Rules by which all data movers take that algorithm, where it can, and otherwise are left to the MPI. */
static void open_move(struct tune *tune, int move)
{
    size_t used = 0;
    for (int s = TUNE_REDUCTIONS; s < TUNE_COLLECTIVES; s++)
        used += (size_t)snprintf(tune->with[move] + used, sizeof tune->with[move] - used, "%s: *@%s%s ",
                                 tune_section_name(s), tune_name(move), move == TUNE_mpi ? "" : " *@mpi");
}

static void open_comm(struct tune *tune)
{
    const int any = (tune->sections & ((1u << TUNE_COLLECTIVES) - 1)) != 0;
    for (int move = TUNE_MOVES; any && move < TUNE_MOVES_END; move++)
        open_move(tune, move);
    for (int a = 0; any && a < TUNE_ALGORITHMS; a++) {
        size_t used = 0;
        for (int s = 0; tune_candidate(tune, a) && s < TUNE_REDUCTIONS; s++)
            used += (size_t)snprintf(tune->with[a] + used, sizeof tune->with[a] - used, "%s: *@%s %s_enqueue: *@%s ",
                                     tune_section_name(s), tune_name(a), tune_section_name(s), tune_name(a));
    }
    tune->comm = MPI_COMM_NULL;
    if (any)
        tune_comm_open(tune);
}

/* The default, which is asked what it takes alone, and what is measured beside it. */
static int open_columns(const struct tune *tune, int section, struct tune_column columns[TUNE_CHOICES + 1])
{
    int n = 0;
    columns[n++] = (struct tune_column){.rules = "", .wanted = TUNE_DEFAULT};
    const int moves = section >= TUNE_REDUCTIONS;
    for (int a = moves ? TUNE_MOVES : 0; section < TUNE_COLLECTIVES && a < (moves ? TUNE_MOVES_END : TUNE_ALGORITHMS);
         a++) {
        if (tune->with[a][0])
            columns[n++] = (struct tune_column){.rules = tune->with[a], .wanted = a, .timed = 1};
    }
    for (int w = TUNE_way_direct; section >= TUNE_SHMEM && w <= TUNE_copy_engine;
         w += TUNE_copy_engine - TUNE_way_direct)
        columns[n++] = (struct tune_column){.rules = tune_shmem_rules(w), .wanted = w, .timed = 1};
    for (int w = TUNE_part_kernel; section >= TUNE_PARTS && section < TUNE_SHMEM && w < TUNE_CHOICES; w++) {
        if (section == TUNE_PARTITIONED_MEET || w != TUNE_part_never)
            columns[n++] = (struct tune_column){.rules = tune_part_rules(section, w), .wanted = w, .timed = 1};
    }
    for (int w = TUNE_BEFORE_FILE_WAYS + 1; section >= TUNE_FILES && section < TUNE_PARTS && w < TUNE_part_kernel; w++)
        columns[n++] = (struct tune_column){.rules = tune_file_rules(w), .wanted = w, .timed = 1};
    for (int w = TUNE_ALGORITHMS; section >= TUNE_MESSAGE && section < TUNE_FILES && w < TUNE_WAYS; w++) {
        if (tune->message.ways[section - TUNE_MESSAGE] >> (w - TUNE_ALGORITHMS) & 1)
            columns[n++] = (struct tune_column){.rules = tune_message_rules(section, w), .wanted = w, .timed = 1};
    }
    return n;
}

/* Every algorithm at one size; the time and the default's name go into the point. */
static void section_measure(struct tune *tune, int section, size_t bytes, double seconds)
{
    struct tune_column columns[TUNE_CHOICES + 1];
    struct tune_point *point = tune_point_add(&tune->curve[section], bytes);
    if (!point)
        return;
    const int n = open_columns(tune, section, columns);
    tune_measure(tune, columns, n, section, bytes, seconds, LEAST_ROUNDS, 0);
    point->standard = columns[0].algorithm;
    for (int i = 1; i < n; i++) {
        point->us[columns[i].wanted] = columns[i].us;
        if (columns[i].us > 0)
            bench_say(tune->plan, "time %s %zu %s %.4f", tune_section_name(section), bytes,
                      tune_name(columns[i].wanted), columns[i].us);
    }
}

static size_t size_at(const struct tune *tune, int i)
{
    size_t bytes = (size_t)8 << 2 * i;
    return bytes < tune->most ? bytes : i > 0 && (size_t)8 << 2 * (i - 1) < tune->most ? tune->most : 0;
}

/* The section's size beside size_at(i); 0 if it lacks this size. Messages begin with the least size that goes past
 * the MPI. */
static size_t section_size_at(const struct tune *tune, int section, int i)
{
    const size_t bytes = size_at(tune, i), next = size_at(tune, i + 1), least = tune_message_least(section);
    if (!(tune->sections >> section & 1))
        return 0;
    if (section >= TUNE_SHMEM)
        return bytes <= tune->shmem.most ? bytes : 0;
    if (section >= TUNE_PARTS)
        return tune_part_size(section, bytes);
    if (section >= TUNE_FILES)
        return tune_file_size(bytes);
    if (section >= TUNE_MESSAGE)
        return bytes >= least ? bytes : next > least ? least : 0;
    if (section >= TUNE_REDUCTIONS) /* blocks, one for each rank */
        return bytes <= tune->most / (size_t)tune->plan->size ? bytes : 0;
    return tune_bytes(tune, section, bytes) <= bytes ? bytes : 0;
}

/* All collectives together, from small sizes to large ones: whenever the run ends, all have reached the same size. */
static void measure_all(struct tune *tune, double until)
{
    int left = 0;
    for (int i = 0; size_at(tune, i) > 0; i++) {
        for (int s = 0; s < TUNE_SECTIONS; s++)
            left += section_size_at(tune, s, i) > 0;
    }
    for (int i = 0; size_at(tune, i) > 0; i++) {
        for (int s = 0; s < TUNE_SECTIONS; s++) {
            const size_t bytes = section_size_at(tune, s, i);
            if (bytes == 0)
                continue;
            double now = bench_longest(tune_now());
            if (tune_is_late(tune, now, until) || tune->interrupted)
                return;
            bench_say(tune->plan, "progress " TUNE_DOES_MEASURE " %s %zu %.0f", tune_section_name(s), bytes,
                      tune->seconds - now);
            section_measure(tune, s, bytes, (until - now) / left--);
            /* A copy engine that is ahead once stays so. */
            tune->curve[s].whole = s >= TUNE_SHMEM || (bytes == tune->most && bytes >= ENDLESS);
        }
    }
}

/* Further sizes where the fastest way changes. */
static void tune_refine(struct tune *tune, double until)
{
    int more = 1;
    while (more) {
        more = 0;
        for (int s = 0; s < TUNE_SECTIONS; s++) {
            double now = bench_longest(tune_now());
            size_t bytes = tune_between(&tune->curve[s]);
            if (tune_is_late(tune, now, until) || tune->interrupted)
                return;
            if (bytes == 0)
                continue;
            bench_say(tune->plan, "progress " TUNE_DOES_REFINE " %s %zu %.0f", tune_section_name(s), bytes,
                      tune->seconds - now);
            section_measure(tune, s, bytes, (until - now) / 12);
            tune_choose(&tune->curve[s], tune->win);
            more = 1;
        }
    }
}

static void tune_report(const struct tune *tune)
{
    static const char *const verdicts[TUNE_VERDICTS] = {TUNE_VERDICT_NAMES};
    static char rules[4096];
    for (int s = 0; s < TUNE_SECTIONS; s++) {
        const struct tune_curve *curve = &tune->curve[s];
        for (int i = 0; i < curve->n; i++) {
            const struct tune_point *p = &curve->point[i];
            bench_say(tune->plan, "proof %s %zu %s %.4f %s %.4f %.4f %s", tune_section_name(s), p->bytes,
                      tune_name(p->standard), p->standard_us, tune_name(tune->picked[s][i]), p->tuned_us, p->ratio,
                      verdicts[p->verdict]);
        }
        tune_rules(curve, rules, sizeof rules);
        if (curve->n > 0)
            bench_say(tune->plan, "rules %s%s: %s", tune_section_name(s),
                      tune->plan->order == BENCH_HOST ? "" : "_enqueue", rules);
    }
}

static void tune_pick(struct tune *tune)
{
    for (int s = 0; s < TUNE_SECTIONS; s++) {
        tune_choose(&tune->curve[s], tune->win);
        for (int i = 0; i < tune->curve[s].n; i++)
            tune->picked[s][i] = tune->curve[s].point[i].choice;
    }
}

void bench_tune(const struct bench_plan *plan, unsigned sections, size_t most, const char *folder)
{
    static struct tune tune;
    tune.plan = plan;
    tune.sections = sections;
    tune.seconds = plan->seconds;
    tune.rounds = (int)plan->iterations;
    tune.most = most;
    tune.win = 0.03;
    began = tutti_now_ns();
    if (!bench_mpi.preloaded)
        bench_fail("libtutti.so is not in front of the MPI: start this with `tutti tune`");
    if (plan->rank == 0) {
        struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigaction(SIGUSR1, &act, NULL);
    }
    bench_say(plan, "pid %ld", (long)getpid());
    choose_gpu(plan);
    if (plan->order == BENCH_GRAPH && !tutti_device()->graphs)
        bench_fail("--order graph needs CUDA: the host device has no graphs; --order stream runs there");
    tune_allocate(&tune);
    tune_stream_open(&tune);
    tune_message_open(&tune);
    tune_file_open(&tune, folder);
    tune_part_open(&tune);
    tune_shmem_open(&tune);
    bench_say(plan, "progress " TUNE_DOES_OPEN " communicator 0 %.0f", tune.seconds);
    open_comm(&tune);
    bench_mpi.Barrier(MPI_COMM_WORLD);
    began = tutti_now_ns(); /* the machine's own start does not count */
    measure_all(&tune, 0.6 * tune.seconds);
    tune_pick(&tune);
    tune_refine(&tune, 0.7 * tune.seconds);
    tune_pick(&tune);
    double now = bench_longest(tune_now()), until = 0.97 * tune.seconds;
    if (tune.interrupted) {
        bench_say(plan, "interrupted %.1f", now);
        until = now + (now < 20 ? 2 : 5);
    } else if (until < now + 1) {
        until = now + 1;
    }
    tune_prove(&tune, until);
    tune_report(&tune);
    tune_comm_close(&tune);
    tune_part_close();
    tune_stream_close();
    tune_message_close(&tune);
    tune_file_close(&tune);
    tune_shmem_close(&tune);
    tutti_free(tune.in);
    tutti_free(tune.out);
    free(tune.host);
    bench_say(plan, "end %d %.1f", !tune.wrong, tune_now());
}
