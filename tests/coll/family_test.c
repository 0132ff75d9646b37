/* The family of reductions over a team of threads, on the host device: every collective by one algorithm, against a
 * plain loop in rank order, bit by bit.
 * usage: family_test RANKS ALGORITHM [borrowed|enqueue|uneven]
 * (TUTTI_RULES is set from it; TUTTI_HOST_GPUS by the caller)
 * borrowed: memory that cannot be shared with others. enqueue: in stream order. uneven: the same, and in every second
 * round the last rank's memory cannot be shared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/algorithm.h"
#include "coll/frame.h"
#include "coll/state.h"
#include "core/status.h"
#include "support/oracle.h"
#include "tutti/tutti.h"

static const char *algorithm;
/* Whether kernels reach buffers that others have mapped: in few calls of a test, or so many that some must have. */
enum maps { MAPS_NOT, MAPS, MAPS_OFTEN };
static int borrowed, enqueues, uneven;
static enum maps maps;

/* What a rank holds. */
struct rank {
    struct frame frame;
    unsigned char *theirs[TUTTI_MAX_RANKS];
    int by_rule; /* calls that the algorithm itself has run */
};

/* One call, the same on all ranks but for where its buffers lie. */
struct plan {
    struct oracle_case what;
    struct tutti_call call;
    size_t counts[TUTTI_MAX_RANKS];
    size_t size;
    int in_place; /* 0: nowhere, 1: on all ranks, 2: on some */
    int host;     /* 1: rank 0 brings host memory */
};

static void choose_pair(uint64_t *dice, struct oracle_case *what)
{
    do {
        what->type = (int)(random_next(dice) % TUTTI_TYPES);
        what->op = (int)(random_next(dice) % TUTTI_OPS);
    } while (!tutti_has_kernel(what->type, what->op));
    what->mode = random_next(dice) % 2 ? ORACLE_HARD : ORACLE_PLAIN;
    what->bools = 0;
    what->seed = random_next(dice);
}

/* Segments: some empty, some long, now and then one that is nearly everything. */
static void choose_counts(uint64_t *dice, struct plan *plan, int ranks)
{
    size_t count = plan->call.count, total = 0;
    uint64_t how = random_next(dice) % 4;
    for (int r = 0; r < ranks; r++) {
        plan->counts[r] = how == 0 ? count / (size_t)ranks : random_next(dice) % (count / (size_t)ranks + 1);
        if (how == 1 && random_next(dice) % 2)
            plan->counts[r] = 0;
        if (how == 2)
            plan->counts[r] = random_next(dice) % 3;
        total += plan->counts[r];
    }
    int one = (int)(random_next(dice) % (uint64_t)ranks);
    if (total == 0 || how == 2)
        plan->counts[one] += count - (total < count ? total : count) + (total == 0 && count == 0);
    plan->call.count = 0;
    for (int r = 0; r < ranks; r++)
        plan->call.count += plan->counts[r];
    plan->call.counts = plan->counts;
}

static void make_plan(struct plan *plan, int round, int ranks)
{
    static const size_t counts[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 255, 1000, 4097, 9001, 0};
    static const enum tutti_collective collectives[] = {
        TUTTI_COLLECTIVE_ALLREDUCE,      TUTTI_COLLECTIVE_REDUCE, TUTTI_COLLECTIVE_REDUCE_SCATTER,
        TUTTI_COLLECTIVE_REDUCE_SCATTER, TUTTI_COLLECTIVE_SCAN,   TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK,
        TUTTI_COLLECTIVE_EXSCAN};
    uint64_t dice = random_mix(frame_seed ^ random_mix((uint64_t)(unsigned)round));
    *plan = (struct plan){.host = 0};
    choose_pair(&dice, &plan->what);
    plan->size = tutti_type_size(plan->what.type);
    plan->call.collective = collectives[random_next(&dice) % (sizeof collectives / sizeof collectives[0])];
    plan->call.count = counts[random_next(&dice) % (sizeof counts / sizeof counts[0])];
    if (plan->call.count == 0)
        plan->call.count = frame_most / 16 - 64;
    plan->call.root = (int)(random_next(&dice) % (uint64_t)ranks);
    plan->call.type = plan->what.type;
    plan->call.op = plan->what.op;
    plan->call.gpu = -1;
    if (plan->call.collective == TUTTI_COLLECTIVE_REDUCE_SCATTER)
        choose_counts(&dice, plan, ranks);
    if (plan->call.collective == TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK)
        plan->call.count = (plan->call.count + (size_t)ranks - 1) / (size_t)ranks * (size_t)ranks;
    plan->in_place = (int)(random_next(&dice) % 3);
    plan->host = random_next(&dice) % 16 == 0 && !enqueues;
}

/* Elements of the result by the definition of the collective, and where in the reduced vector they begin. */
static size_t wanted(const struct plan *plan, int rank, int ranks, size_t *begin, int *depth)
{
    const struct tutti_call *call = &plan->call;
    *begin = 0;
    *depth = ranks;
    switch (call->collective) {
    case TUTTI_COLLECTIVE_REDUCE:
        return rank == call->root ? call->count : 0;
    case TUTTI_COLLECTIVE_REDUCE_SCATTER:
        for (int r = 0; r < rank; r++)
            *begin += plan->counts[r];
        return plan->counts[rank];
    case TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK:
        *begin = call->count / (size_t)ranks * (size_t)rank;
        return call->count / (size_t)ranks;
    case TUTTI_COLLECTIVE_SCAN:
        *depth = rank + 1;
        return call->count;
    case TUTTI_COLLECTIVE_EXSCAN:
        *depth = rank;
        return rank ? call->count : 0;
    default:
        return call->count;
    }
}

static void expect(struct rank *me, const struct plan *plan, unsigned char *at)
{
    size_t begin;
    int depth, ranks = me->frame.team->size;
    size_t count = wanted(plan, me->frame.team->rank, ranks, &begin, &depth);
    for (int r = 0; count > 0 && r < depth; r++)
        oracle_fill(me->theirs[r], &plan->what, r, begin, count);
    if (count > 0)
        oracle_reduce(at, &plan->what, depth, (const void *const *)me->theirs, count);
}

static int run(struct rank *me, const struct tutti_call *call, const char **why)
{
    struct tutti_team *team = me->frame.team;
    enum tutti_reduce_outcome taken = TUTTI_REDUCE_DONE;
    int status;
    if (enqueues) {
        frame_capture();
        status = tutti_enqueue(team, call, me->frame.stream, why);
        if (status == TUTTI_OK)
            status = team->device->stream.sync(me->frame.stream);
    } else {
        status = tutti_reduce_run(team, call, &taken, why);
    }
    CHECK(status == TUTTI_OK, "rank %d: %s", team->rank, tutti_status_text(status));
    CHECK(status != TUTTI_OK || taken == TUTTI_REDUCE_DONE, "rank %d: passed: %s", team->rank, *why);
    return status;
}

static void compare(const struct rank *me, const struct plan *plan, const char *what, const char *why, int round,
                    size_t offset, const char *device, const unsigned char *expected)
{
    const size_t at = frame_differs(&me->frame, device, expected);
    CHECK(at == me->frame.room,
          "rank %d round %d seed %llu: collective %d, %s of %zu %s, root %d, in place %d, by %s: %s at offset %zu: "
          "byte %td is %02x, expected %02x",
          me->frame.team->rank, round, (unsigned long long)frame_seed, (int)plan->call.collective,
          tutti_op_name(plan->what.op), plan->call.count, tutti_type_name(plan->what.type), plan->call.root,
          plan->in_place, why, what, offset, (ptrdiff_t)at - (ptrdiff_t)offset, me->frame.host[at % me->frame.room],
          expected[at % me->frame.room]);
}

/* New memory, often at an address that was freed: peers may still have the old one mapped. */
static void renew(struct rank *me)
{
    char **const buffer = random_next(&me->frame.dice) % 2 ? &me->frame.in : &me->frame.out;
    CHECK(tutti_free(*buffer) == 0 && tutti_alloc(me->frame.room, (void **)buffer) == 0, "new memory");
}

static void round_of(struct rank *me, int round)
{
    static const size_t shifts[] = {0, 0, 1, 2, 4, 8, 24};
    struct plan plan;
    int rank = me->frame.team->rank, ranks = me->frame.team->size, depth;
    size_t begin;
    make_plan(&plan, round, ranks);
    if (maps && !uneven && round < frame_rounds && random_next(&me->frame.dice) % 8 == 0)
        renew(me);
    size_t count = wanted(&plan, rank, ranks, &begin, &depth);
    int in_place = plan.in_place == 1 || (plan.in_place == 2 && random_next(&me->frame.dice) % 2);
    if (plan.call.collective == TUTTI_COLLECTIVE_REDUCE && rank != plan.call.root)
        in_place = 0;
    size_t in_at = FRAME_GUARD + shifts[random_next(&me->frame.dice) % 7],
           out_at = FRAME_GUARD + shifts[random_next(&me->frame.dice) % 7];
    if (in_place)
        out_at = in_at;

    memset(me->frame.kept, FRAME_LEFT, me->frame.room);
    oracle_fill(me->frame.kept + in_at, &plan.what, rank, 0, plan.call.count);
    memset(me->frame.expected, FRAME_LEFT, me->frame.room);
    if (in_place)
        memcpy(me->frame.expected, me->frame.kept, me->frame.room);
    frame_fill(&me->frame, me->frame.kept, me->frame.expected);
    struct tutti_call call = plan.call;
    call.counts = plan.call.counts ? plan.counts : NULL;
    call.in = (in_place ? me->frame.out : me->frame.in) + in_at;
    call.out = me->frame.out + out_at;
    call.kind = plan.host && rank == 0 ? TUTTI_ARRIVAL_HOST : TUTTI_ARRIVAL_DEVICE;
    if (count == 0 && !in_place && random_next(&me->frame.dice) % 2) /* not looked at where nothing is got */
        call.out = random_next(&me->frame.dice) % 2 ? NULL : (void *)me->frame.host;
    expect(me, &plan, me->frame.expected + out_at);

    const char *why = "?";
    if (run(me, &call, &why) != TUTTI_OK)
        return;
    compare(me, &plan, "result", why, round, out_at, me->frame.out, me->frame.expected);
    if (!in_place)
        compare(me, &plan, "contribution", why, round, in_at, me->frame.in, me->frame.kept);
    if (strcmp(why, algorithm) == 0)
        me->by_rule++;
    int row = 0;
    while (strcmp(tutti_algorithms[row]->name, algorithm) != 0)
        row++;
    /* Segments of several lengths that lie in place on some rank are left to another row by leaders. */
    const int left =
        plan.in_place && call.collective == TUTTI_COLLECTIVE_REDUCE_SCATTER && strncmp(algorithm, "leader_", 7) == 0;
    if (ranks > 1 && !plan.host && !borrowed && !left &&
        tutti_algorithm_can(tutti_algorithms[row], me->frame.team, &call))
        CHECK(strcmp(why, algorithm) == 0, "rank %d round %d: collective %d by %s, though %s can", rank, round,
              (int)call.collective, why, algorithm);
}

/* Memory that cannot be shared with others: a mapping of memory that came from elsewhere. */
static char *borrow(char *own)
{
    struct tutti_export what;
    void *base = NULL;
    int fd = -1;
    CHECK(tutti_device()->share.export(own, &what, &fd) == 0, "export");
    CHECK(tutti_device()->share.import(0, &what, fd, &base) == 0, "import");
    close(fd);
    return base;
}

/* Calls with buffers that stay, one of them new: peers map them within a few calls, however slow the ranks are. */
static void kept_rounds(struct rank *me)
{
    enum { KEPT = 64 };
    const uint64_t before = tutti_coll_of(me->frame.team)->direct_runs;
    if (!uneven)
        renew(me);
    for (int round = 0; round < KEPT && !check_failed(); round++)
        round_of(me, frame_rounds + round);
    const uint64_t kept = tutti_coll_of(me->frame.team)->direct_runs - before;
    CHECK(check_failed() || kept > 0, "none of %d calls reached all buffers, which were kept", KEPT);
}

static void all_rounds(struct rank *me)
{
    const int borrows = uneven && me->frame.team->rank == me->frame.team->size - 1;
    char *const own[] = {me->frame.in, me->frame.out};
    char *const other[] = {borrows ? borrow(own[0]) : own[0], borrows ? borrow(own[1]) : own[1]};
    if (enqueues)
        frame_stream(&me->frame);
    for (int round = 0; round < frame_rounds && !check_failed(); round++) {
        if (borrows) {
            me->frame.in = (round % 2 ? other : own)[0];
            me->frame.out = (round % 2 ? other : own)[1];
        }
        round_of(me, round);
    }
    if (borrows) {
        me->frame.in = own[0];
        me->frame.out = own[1];
    }
    if (me->frame.team->size > 1)
        CHECK(me->frame.team->state == TUTTI_TEAM_OPEN, "the team never opened: %s",
              me->frame.team->why ? me->frame.team->why : "?");
    if (me->frame.team->size > 1 && !borrowed)
        CHECK(me->by_rule > 0, "%s has run nothing", algorithm);
    if (me->frame.team->size > 1 && maps == MAPS_OFTEN)
        kept_rounds(me);
}

static int rank_main(struct tutti_transport *transport, void *unused)
{
    (void)unused;
    struct rank me = {.by_rule = 0};
    if (!frame_open(&me.frame, transport, frame_most + (size_t)4 * FRAME_GUARD))
        return 1;
    for (int r = 0; r < transport->size; r++)
        me.theirs[r] = malloc(me.frame.room);
    char *own_in = me.frame.in, *own_out = me.frame.out;
    if (borrowed) {
        me.frame.in = borrow(own_in);
        me.frame.out = borrow(own_out);
    }
    all_rounds(&me);
    me.frame.in = own_in;
    me.frame.out = own_out;
    frame_close(&me.frame, transport);
    for (int r = 0; r < transport->size; r++)
        free(me.theirs[r]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: family_test RANKS ALGORITHM [borrowed|enqueue|uneven]\n");
        return 2;
    }
    frame_rounds = 200;
    frame_most = 300000;
    algorithm = argv[2];
    borrowed = argc == 4 && strcmp(argv[3], "borrowed") == 0;
    uneven = argc == 4 && strcmp(argv[3], "uneven") == 0;
    enqueues = uneven || (argc == 4 && strcmp(argv[3], "enqueue") == 0);
    for (int i = 0; i < TUTTI_ALGORITHMS; i++)
        if (!borrowed && strcmp(algorithm, tutti_algorithms[i]->name) == 0 && tutti_algorithms[i]->places)
            maps = tutti_algorithms[i]->collectives & TUTTI_ON(REDUCE) ? MAPS_OFTEN : MAPS;
    char rules[256];
    snprintf(rules, sizeof rules, "allreduce: *@%s reduce: *@%s reduce_scatter: *@%s scan: *@%s", algorithm, algorithm,
             algorithm, algorithm);
    return frame_main(argv[1], algorithm, rules, rank_main);
}
