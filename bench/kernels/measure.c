/* One measurement: data, launches and checks. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench.h"

enum { LAUNCHES = 5, ROUNDS_LEAST = 10 };
static const double LAUNCH_NS = 1e7; /* of a launch, about */

const char *const bench_names[BENCH_OPERATIONS] = {"p+quiet",   "add+quiet", "fetch-add", "put+quiet", "get",
                                                   "ring-trip", "ring-rate", "pingpong",  "barrier",   "fcollect",
                                                   "broadcast", "sum",       "get-rate",  "put-rate"};
const char *const bench_forms[] = {"thread", "warp", "block"};

double bench_until;
static unsigned char seen[BENCH_DATA], sent[BENCH_PES][BENCH_DATA];

double bench_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void bench_state(const struct bench_machine *machine, int pe, struct tshmem_team_state *teams)
{
    struct tshmem_state *const state = &machine->states[pe];
    memset(state, 0, sizeof *state);
    state->bytes = sizeof *state;
    state->version = TSHMEM_STATE_VERSION;
    state->me = pe;
    state->pes = BENCH_PES;
    state->heap = (char *)machine->heap[pe];
    state->heap_bytes = sizeof(struct bench_heap);
    state->area_bytes = sizeof machine->heap[pe]->area + sizeof machine->heap[pe]->pad;
    state->team = teams;
    state->abort = &machine->aborted[pe];
    state->limit_ns = 2000000000u;
    for (int p = 0; p < BENCH_PES; p++)
        state->peer[p] = (char *)machine->heap[p];
}

static int operation_both(int operation)
{
    return operation >= BENCH_PINGPONG && operation <= BENCH_SUM;
}

/* Bytes of `in` that a call leaves something in. */
static size_t result_bytes(int operation, size_t bytes)
{
    return operation == BENCH_FCOLLECT ? 2 * bytes : bytes;
}

/* New data into `out` of both PEs; signals, counters and `in` are cleared. Of a sum: small numbers, whose sums are
 * exact. */
static void machine_fill(const struct bench_machine *machine, int operation, size_t bytes)
{
    static unsigned salt;
    salt += 7;
    for (int pe = 0; pe < BENCH_PES; pe++) {
        for (size_t i = 0; i < bytes; i++)
            sent[pe][i] = (unsigned char)(i * 31 + i / 251 + salt + (unsigned)pe * 101);
        for (size_t i = 0; operation == BENCH_SUM && i < bytes / sizeof(float); i++) {
            const float x = (float)((i * 7 + salt + (unsigned)pe) % 1000);
            memcpy(&sent[pe][i * sizeof x], &x, sizeof x);
        }
        machine->fill(pe, 0, NULL, offsetof(struct bench_heap, in) + result_bytes(operation, bytes));
        machine->fill(pe, offsetof(struct bench_heap, out), sent[pe], bytes);
    }
    machine->filled();
}

static int is_sum(size_t bytes)
{
    for (size_t i = 0; i < bytes; i += sizeof(float)) {
        float sum, one, other;
        memcpy(&sum, &seen[i], sizeof sum);
        memcpy(&one, &sent[0][i], sizeof one);
        memcpy(&other, &sent[1][i], sizeof other);
        if (sum != one + other)
            return 0;
    }
    return 1;
}

/* What lies in `in` of PE `pe` afterwards. 1: as it should. */
static int result_right(const struct bench_machine *machine, int operation, size_t bytes, int pe)
{
    machine->fetch(pe, offsetof(struct bench_heap, in), seen, result_bytes(operation, bytes));
    switch (operation) {
    case BENCH_PUT_QUIET:
    case BENCH_PUT:
        return pe == 0 || memcmp(seen, sent[0], bytes) == 0;
    case BENCH_GET:
    case BENCH_GET_BLOCKING:
        return pe == 1 || memcmp(seen, sent[1], bytes) == 0;
    case BENCH_FCOLLECT:
        return memcmp(seen, sent[0], bytes) == 0 && memcmp(seen + bytes, sent[1], bytes) == 0;
    case BENCH_BROADCAST:
        return memcmp(seen, sent[0], bytes) == 0;
    case BENCH_SUM:
        return is_sum(bytes);
    default:
        return 1; /* seen in the kernel */
    }
}

static double machine_once(const struct bench_machine *machine, struct bench_call *call, unsigned blocks,
                           unsigned threads)
{
    uint64_t from = UINT64_MAX, to = 0;
    machine_fill(machine, call->operation, call->bytes);
    *machine->wrong = 0;
    memset(machine->aborted, 0, sizeof *machine->aborted * BENCH_PES);
    for (int pe = 0; pe < (operation_both(call->operation) ? BENCH_PES : 1); pe++) {
        call->heap = machine->heap[pe];
        call->begin = machine->begin_ns[pe];
        call->end = machine->end_ns[pe];
        machine->launch(pe, call, blocks, threads);
    }
    machine->join();
    for (unsigned b = 0; b < blocks; b++) {
        from = machine->begin_ns[0][b] < from ? machine->begin_ns[0][b] : from;
        to = machine->end_ns[0][b] > to ? machine->end_ns[0][b] : to;
    }
    const unsigned counted = call->rounds - call->rounds / 10;
    const int right_0 = result_right(machine, call->operation, call->bytes, 0);
    const int right_1 = result_right(machine, call->operation, call->bytes, 1);
    if (*machine->wrong == 0 && machine->aborted[0] == 0 && machine->aborted[1] == 0 && right_0 && right_1)
        return to > from ? (double)(to - from) / counted : 0.001;
    printf("FAILED: %s by %s, %u blocks of %u threads, %zu bytes: %u wrong, aborted %u %u, data right %d %d\n",
           bench_names[call->operation], bench_forms[call->group], blocks, threads, call->bytes, *machine->wrong,
           machine->aborted[0], machine->aborted[1], right_0, right_1);
    return 0;
}

double bench_measure(const struct bench_machine *machine, int operation, int group, unsigned blocks, unsigned threads,
                     size_t bytes, unsigned rounds, double *worst)
{
    struct bench_call call = {.operation = operation,
                              .group = group,
                              .rounds = rounds < ROUNDS_LEAST ? rounds : ROUNDS_LEAST,
                              .bytes = bytes,
                              .wrong = machine->wrong};
    double best = machine_once(machine, &call, blocks, threads);
    if (best * rounds > LAUNCH_NS)
        rounds = (unsigned)(LAUNCH_NS / best);
    call.rounds = rounds < ROUNDS_LEAST ? ROUNDS_LEAST : rounds;
    *worst = 0;
    for (int launch = 0; best > 0 && launch < LAUNCHES && (launch == 0 || bench_seconds() < bench_until); launch++) {
        const double ns = machine_once(machine, &call, blocks, threads);
        best = launch == 0 || ns < best ? ns : best;
        *worst = ns > *worst ? ns : *worst;
    }
    return best;
}
