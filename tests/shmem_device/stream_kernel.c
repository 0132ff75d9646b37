/* The kernel of calls in stream order, threads as PEs: each runs a stream's launches one after the other, of one block
 * and of several, those that meet, atomics, and waits for words of any, some and all PEs.
 * Data are stored and read plainly, so that the thread sanitizer sees a meeting that orders nothing. */
#include "kernels/shmem_kernel.h"
#include "shmem_device/pes.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "support/check.h"
#include "support/random.h"
#include "tutti/device.h"

enum { PES = 3, ROUNDS = 120, MOST = 500 };

static struct pes pes;
static uint32_t errors[PES];

/* Now and then a PE is late, for longer than blocks but the first stay, which may not be the first to run. */
static void launch(struct tutti_shmem_args *args, enum tutti_shmem_what what, uint32_t blocks)
{
    static _Thread_local uint64_t launches;
    const uint64_t dice = random_mix(++launches * 8 + (uint64_t)args->state.me);
    args->what = what;
    args->blocks = blocks;
    if (dice % 16 == 0)
        nanosleep(&(const struct timespec){0, 400000}, NULL);
    for (uint32_t i = 0; i < blocks; i++)
        tutti_shmem_host_block(args, (uint32_t)((i + dice / 16) % blocks));
}

static uint32_t word_of(uint64_t round, int pe, size_t i)
{
    return (uint32_t)random_mix(round * 64 + (uint64_t)pe + i * 7919);
}

/* Word i of the result at PE `me`. */
static uint32_t expected(enum tutti_shmem_what what, uint64_t round, size_t n, int root, int me, size_t i)
{
    uint32_t sum = 0;
    switch (what) {
    case TUTTI_SHMEM_DO_BROADCAST:
        return word_of(round, root, i);
    case TUTTI_SHMEM_DO_FCOLLECT:
        return word_of(round, (int)(i / n), i % n);
    case TUTTI_SHMEM_DO_ALLTOALL:
    case TUTTI_SHMEM_DO_ALLTOALLS:
        return word_of(round, (int)(i / n), (size_t)me * n + i % n);
    default:
        for (int pe = 0; pe < PES; pe++) {
            const size_t at = what == TUTTI_SHMEM_DO_REDUCESCATTER ? (size_t)me * n + i : i;
            if (what == TUTTI_SHMEM_DO_REDUCE || what == TUTTI_SHMEM_DO_REDUCESCATTER ||
                (what == TUTTI_SHMEM_DO_INSCAN && pe <= me) || (what == TUTTI_SHMEM_DO_EXSCAN && pe < me))
                sum += word_of(round, pe, at);
        }
        return sum;
    }
}

/* An atomic on a word of its own at the next PE; what it was before. */
static uint64_t change(struct tutti_shmem_args *args, int op, void *word, uint32_t size, uint64_t value, int to)
{
    uint64_t was = 0;
    args->op = op;
    args->dest = word;
    args->size = size;
    args->element[0] = value;
    args->pe = to;
    args->own[TUTTI_SHMEM_OWN_ANSWER].at = op & TSHMEM_AMO_NO_FETCH ? NULL : &was;
    args->own[TUTTI_SHMEM_OWN_ANSWER].bytes = size;
    launch(args, TUTTI_SHMEM_DO_AMO, 1);
    return was;
}

/* Word 8 * w is PE w's, which has stored its data before: who waits for it reads them plainly. */
static long words(int pe, uint64_t round)
{
    enum { COUNT = PES * 8 };
    struct program_heap *const heap = pes.heap[pe];
    struct tutti_shmem_args args = {.state = pes.state[pe], .error = &errors[pe]};
    static const int how[] = {TSHMEM_WAIT_ALL, TSHMEM_WAIT_ANY | TSHMEM_WAIT_VECTOR, TSHMEM_WAIT_SOME};
    const int which = how[round % 3], next = (pe + 1) % PES;
    const uint64_t count = round + 1;
    uint64_t values[COUNT];
    int status[COUNT];
    size_t indices[COUNT] = {0}, found = 0;
    long wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        values[i] = count;
        status[i] = i % 8;
        heap->gotten[i] = (char)(count + (uint64_t)pe);
    }
    for (int to = 0; to < PES; to++)
        change(&args, TSHMEM_AMO_SET, &heap->words[pe][0], 8, count, to);
    args = (struct tutti_shmem_args){.state = pes.state[pe],
                                     .error = &errors[pe],
                                     .op = which,
                                     .type = TSHMEM_UINT64,
                                     .source = heap->words,
                                     .n = COUNT,
                                     .comparison = TSHMEM_CMP_GE,
                                     .value = count,
                                     .own = {[TUTTI_SHMEM_OWN_STATUS] = {status, sizeof status},
                                             [TUTTI_SHMEM_OWN_VALUES] = {values, sizeof values},
                                             [TUTTI_SHMEM_OWN_INDICES] = {indices, sizeof indices},
                                             [TUTTI_SHMEM_OWN_ANSWER] = {&found, sizeof found}}};
    launch(&args, TUTTI_SHMEM_DO_WAIT, 1);
    if (which & TSHMEM_WAIT_VECTOR) { /* any: one, number `found` */
        indices[0] = found;
        found = 1;
    } else if (which == TSHMEM_WAIT_ALL) {
        for (found = 0; found < PES; found++)
            indices[found] = found * 8;
    }
    wrong += found == 0 || found > PES;
    for (size_t i = 0; i < found; i++) {
        wrong += indices[i] % 8 != 0 || indices[i] >= COUNT;
        for (int k = 0; k < COUNT; k++)
            wrong += pes.heap[indices[i] / 8 % PES]->gotten[k] != (char)(count + indices[i] / 8);
    }
    launch(&args, TUTTI_SHMEM_DO_SYNC, 1); /* all have looked; a PE's other words are for it alone to change */
    wrong += change(&args, TSHMEM_AMO_ADD, &heap->words[pe][1], 8, count, next) != round * (round + 1) / 2;
    wrong += change(&args, TSHMEM_AMO_SWAP, &heap->words[pe][2], 4, count, next) != round;
    change(&args, TSHMEM_AMO_XOR | TSHMEM_AMO_NO_FETCH, &heap->counters[0], 8, count << 8 * pe, 0);
    return wrong;
}

static void body(int pe, void *context)
{
    static const enum tutti_shmem_what calls[] = {
        TUTTI_SHMEM_DO_BROADCAST, TUTTI_SHMEM_DO_FCOLLECT, TUTTI_SHMEM_DO_ALLTOALL,      TUTTI_SHMEM_DO_REDUCE,
        TUTTI_SHMEM_DO_INSCAN,    TUTTI_SHMEM_DO_EXSCAN,   TUTTI_SHMEM_DO_REDUCESCATTER, TUTTI_SHMEM_DO_ALLTOALLS};
    long *const wrong = context;
    uint32_t *const in = (uint32_t *)(void *)pes.heap[pe]->out, *const out = (uint32_t *)(void *)pes.heap[pe]->in;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        const enum tutti_shmem_what what = calls[random_mix(round) % (sizeof calls / sizeof *calls)];
        const size_t n = random_mix(round + 99) % MOST + 1;
        const int strided = what == TUTTI_SHMEM_DO_ALLTOALLS, moves = strided || what <= TUTTI_SHMEM_DO_ALLTOALL;
        const int root = (int)(random_mix(round + 7) % PES);
        const size_t results =
            strided || what == TUTTI_SHMEM_DO_FCOLLECT || what == TUTTI_SHMEM_DO_ALLTOALL ? n * PES : n;
        struct tutti_shmem_args args = {.state = pes.state[pe],
                                        .root = root,
                                        .type = TSHMEM_UINT32,
                                        .op = TSHMEM_OP_SUM,
                                        .n = moves && !strided ? n * sizeof *in : n,
                                        .size = sizeof *in,
                                        .dst = 2,
                                        .sst = 1,
                                        .dest = out,
                                        .source = in,
                                        .error = &errors[pe]};
        for (size_t i = 0; i < n * PES; i++)
            in[i] = word_of(round, pe, i);
        if (round % 3 == 0) { /* a collective of several launches, of which others are left out here */
            launch(&args, TUTTI_SHMEM_DO_ENTER, 1);
            launch(&args, TUTTI_SHMEM_DO_MEET, 1);
            launch(&args, TUTTI_SHMEM_DO_LEAVE, 1);
        }
        launch(&args, what, round % 8 == 7 ? 40 : 1 + (uint32_t)(round % 5));
        for (size_t i = 0; i < results; i++)
            wrong[pe] += out[strided ? 2 * i : i] != expected(what, round, n, root, pe, i);
        launch(&args, TUTTI_SHMEM_DO_SYNC, 1); /* all have looked */
        wrong[pe] += words(pe, round);
    }
}

int main(void)
{
    long wrong[PES] = {0};
    pes_open(&pes, PES, 100000);
    pes_run(&pes, body, wrong);
    for (int pe = 0; pe < PES; pe++) {
        CHECK(wrong[pe] == 0, "PE %d has %ld wrong words", pe, wrong[pe]);
        CHECK(pes.abort[pe] == 0 && errors[pe] == 0, "PE %d: error %x", pe, (unsigned)errors[pe]);
    }
    uint64_t bits = 0;
    for (uint64_t count = 1; count <= ROUNDS; count++)
        bits ^= count | count << 8 | count << 16;
    CHECK(pes.heap[0]->counters[0] == bits, "what all have changed: %llx",
          (unsigned long long)pes.heap[0]->counters[0]);
    pes_close(&pes);
    printf("%d rounds, %ld checks, %ld failed\n", ROUNDS, check_done(), check_failed());
    return check_failed() != 0;
}
