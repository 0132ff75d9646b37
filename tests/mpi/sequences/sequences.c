/* Sequences of reductions, to find calls that read each other's data.
 *
 *   sequences [SEQUENCES [MOST_BYTES [SECONDS]]]
 *
 * SEQUENCES: how many (200). MOST_BYTES: of a contribution, with k, m or g (128k). SECONDS: no further one is begun
 * after so many, which is no failure. TUTTI_TEST_SEED: another seed. TUTTI_TEST_ONLY=n: sequence n alone, SEQUENCES
 * times: draws stay the same, contents and times do not. TUTTI_TEST_FIRST=n: begins with sequence n.
 * TUTTI_TEST_STREAMS=n: see seq_streams(). TUTTI_TEST_LIVES=n: see seq_lives(). TUTTI_TEST_MULTIPLE=1: with
 * MPI_THREAD_MULTIPLE. TUTTI_TEST_PATIENCE: seconds without a step after which the process ends
 * (25). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "queue.h"
#include "sequences.h"
#include "tutti/tutti.h"

enum { FAILURES = 3, PATIENCE = 25, AGREE_EVERY = 16 };

static const char *volatile step = "MPI_Init";
static size_t bytes; /* of the sequence */

/* Each step has the whole patience: the limit distinguishes a late step from one that never ends. Steps of a sequence
 * of much data have one second more for each 32 MiB. */
static void begins(const char *what)
{
    static unsigned patience;
    if (patience == 0)
        patience = (unsigned)check_setting("TUTTI_TEST_PATIENCE", PATIENCE);
    step = what;
    alarm(patience + (unsigned)(bytes >> 25));
}

void seq_goes_on(void)
{
    begins("sequences");
}

static void stuck(int signal_number)
{
    (void)signal_number;
    fprintf(stderr, "FAILED rank %d: no step has ended for too long, last in %s\n", kit_rank, step);
    seq_say();
    _exit(1);
}

static size_t bytes_of(const char *text)
{
    char *end;
    size_t number = strtoull(text, &end, 0);
    int shift = *end == 'k' ? 10 : *end == 'm' ? 20 : *end == 'g' ? 30 : 0;
    return number << shift;
}

/* The same answer on all ranks: the time is over, or too much is wrong. */
static int enough(int failed, double seconds, uint64_t start)
{
    int mine[2] = {failed, kit_rank == 0 && seconds > 0 && (double)(tutti_now_ns() - start) / 1e9 > seconds}, all[2];
    MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return all[0] >= FAILURES || all[1] > 0;
}

/* On a GPU the first call of a type loads kernels, and the first large one maps the others' memory. That may wait for
 * what runs there, so no sequence begins with it. */
static void first_of_all(size_t most)
{
    char *in = seq_data_arena(), *out = in + most + 256;
    int n = (int)(most / 4);
    const uint64_t start = tutti_now_ns();
    if (!seq_graphs())
        return;
    for (int i = 0; i < kit_pair_count; i++) {
        begins("a first call of a type");
        MPI_Allreduce(in, in + 64, 1, kit_pairs[i].handle->type, kit_op(kit_pairs[i].op), MPI_COMM_WORLD);
    }
    const uint64_t types = tutti_now_ns();
    begins("a large MPI_Allreduce");
    MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    begins("a large MPI_Scan");
    MPI_Scan(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    begins("a large MPI_Reduce");
    MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    begins("a large MPI_Reduce_scatter_block");
    MPI_Reduce_scatter_block(in, out, n / kit_size, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (kit_rank == 0)
        printf("first calls of %d types and operators in %.1f s, of large ones in %.1f s\n", kit_pair_count,
               (double)(types - start) / 1e9, (double)(tutti_now_ns() - types) / 1e9);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct seq seq;
    signal(SIGALRM, stuck);
    begins("MPI_Init");
    kit_start(&argc, &argv, check_setting("TUTTI_TEST_MULTIPLE", 0) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    long wanted = argc > 1 ? strtol(argv[1], NULL, 0) : 200, done = 0;
    size_t most = argc > 2 ? bytes_of(argv[2]) : 128 << 10, since = 0, calls = 0;
    double seconds = argc > 3 ? strtod(argv[3], NULL) : 0;
    long only = check_setting("TUTTI_TEST_ONLY", -1), first = check_setting("TUTTI_TEST_FIRST", 0);
    if (!queue_possible() || kit_size > SEQ_RANKS)
        kit_skip("sequences", "needs a device with streams, and the library in front");
    if (kit_rank == 0)
        printf("sequences: seed %llu, %ld of at most %zu bytes a call, %s\n", (unsigned long long)kit_seed, wanted,
               most, seq_graphs() ? "with graphs" : "no graphs on this device");
    fflush(stdout);
    begins("allocations");
    seq_data_open(most);
    begins("new communicators");
    seq_slots_open();
    first_of_all(most);
    uint64_t start = tutti_now_ns();
    int failed = 0;
    for (; done < wanted; done++) {
        uint64_t number = (uint64_t)(only >= 0 ? only : first + done), round = only >= 0 ? (uint64_t)done : 0;
        seq_draw(&seq, number, round, most);
        bytes = seq.used;
        failed +=
            seq_run(&seq, random_mix(kit_seed + random_mix(number * 64 + (unsigned)kit_rank + round * 1000003))) > 0;
        since += seq.used;
        calls += (size_t)seq.calls;
        if ((done + 1) % AGREE_EVERY == 0 || since > 8 << 20) {
            since = 0;
            begins("the agreement whether to go on");
            if (enough(failed, seconds, start))
                break;
        }
    }
    begins("the end");
    seq_slots_close();
    seq_data_close();
    if (kit_rank == 0)
        printf("%ld sequences of %zu calls in %.1f s\n", done, calls, (double)(tutti_now_ns() - start) / 1e9);
    return kit_end("sequences");
}
