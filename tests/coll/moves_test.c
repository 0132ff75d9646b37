/* Data movers over a team of threads, on the host device: every collective by one row, in stream order or blocking,
 * byte by byte; between reductions by kernels of the same channels.
 * usage: moves_test RANKS ROW [enqueue|shared]   (TUTTI_RULES is set from it; TUTTI_HOST_GPUS by the caller) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/frame.h"
#include "coll/move.h"
#include "coll/move/runs.h"
#include "coll/state.h"
#include "core/status.h"
#include "dtype/describe.h"
#include "dtype/plan.h"
#include "tutti/tutti.h"

enum { PIECES = 2 * TUTTI_MAX_GPUS };

static const struct tutti_algorithm *row; /* of this name */
static int only_bcast;                    /* the row is one of broadcasts alone */
static int enqueues;
static int shares; /* ranks share GPUs: runs lie one behind the other, as leaders need them */

/* One call, the same on all ranks but for where its runs lie. */
struct plan {
    enum tutti_collective collective;
    int root, in_place, sums; /* sums: a reduction comes first */
    uint64_t key;
    size_t bytes[TUTTI_MAX_GPUS][TUTTI_MAX_GPUS]; /* [from][to] */
};

struct rank {
    struct frame frame;
    const struct tutti_plan *byte;
    int by_rule;
};

static size_t draw_bytes(uint64_t *dice)
{
    static const size_t some[] = {1,   2,   3,   7,   8,   15,  16,  17,  31,   33,   64,  119,
                                  120, 121, 479, 480, 481, 511, 512, 513, 1000, 4097, 9001};
    const uint64_t which = random_next(dice) % 32;
    return which < sizeof some / sizeof *some ? some[which]
           : which == 31                      ? frame_most
           : which == 30                      ? 0
                                              : random_next(dice) % frame_most;
}

static void make_plan(struct plan *plan, int round, int ranks)
{
    static const enum tutti_collective collectives[] = {
        TUTTI_COLLECTIVE_BCAST,      TUTTI_COLLECTIVE_GATHER,   TUTTI_COLLECTIVE_GATHERV,
        TUTTI_COLLECTIVE_SCATTER,    TUTTI_COLLECTIVE_SCATTERV, TUTTI_COLLECTIVE_ALLGATHER,
        TUTTI_COLLECTIVE_ALLGATHERV, TUTTI_COLLECTIVE_ALLTOALL, TUTTI_COLLECTIVE_ALLTOALLV};
    uint64_t dice = random_mix(frame_seed ^ random_mix((uint64_t)(unsigned)round));
    *plan = (struct plan){.key = random_next(&dice)};
    plan->collective = collectives[random_next(&dice) % (sizeof collectives / sizeof *collectives)];
    if (only_bcast && random_next(&dice) % 2)
        plan->collective = TUTTI_COLLECTIVE_BCAST;
    plan->root = (int)(random_next(&dice) % (uint64_t)ranks);
    plan->in_place = (int)(random_next(&dice) % 3 == 0);
    plan->sums = (int)(random_next(&dice) % 3 == 0);
    size_t each = draw_bytes(&dice);
    if (round == 0) { /* all have bytes, and so know which GPU the team is opened on */
        plan->collective = TUTTI_COLLECTIVE_ALLTOALL;
        plan->sums = 0;
        each = 100;
    }
    for (int from = 0; from < ranks; from++) {
        const size_t mine = draw_bytes(&dice);
        for (int to = 0; to < ranks; to++) {
            const size_t own = draw_bytes(&dice);
            size_t *const bytes = &plan->bytes[from][to];
            switch (plan->collective) {
            case TUTTI_COLLECTIVE_BCAST:
                *bytes = from == plan->root && (to != from || plan->key % 2) ? each : 0; /* the own run too, or not */
                break;
            case TUTTI_COLLECTIVE_GATHER:
            case TUTTI_COLLECTIVE_GATHERV:
                *bytes = to != plan->root ? 0 : plan->collective == TUTTI_COLLECTIVE_GATHER ? each : own;
                break;
            case TUTTI_COLLECTIVE_SCATTER:
            case TUTTI_COLLECTIVE_SCATTERV:
                *bytes = from != plan->root ? 0 : plan->collective == TUTTI_COLLECTIVE_SCATTER ? each : own;
                break;
            case TUTTI_COLLECTIVE_ALLGATHERV:
                *bytes = mine;
                break;
            case TUTTI_COLLECTIVE_ALLTOALLV:
                *bytes = own;
                break;
            default:
                *bytes = each;
                break;
            }
        }
    }
}

/* Byte i of what goes from one rank to another. */
static unsigned char byte_of(const struct plan *plan, int from, int to, size_t i)
{
    const int one = plan->collective == TUTTI_COLLECTIVE_BCAST || plan->collective == TUTTI_COLLECTIVE_ALLGATHER ||
                    plan->collective == TUTTI_COLLECTIVE_ALLGATHERV;
    return (unsigned char)(random_mix(plan->key + (uint64_t)(from * 64 + (one ? 0 : to))) + i * 37 + (i >> 8) * 11);
}

/* Lays this rank's runs out, at any addresses, and writes what is there before and after. */
static void lay_out(struct rank *me, const struct plan *plan, struct tutti_move_flow *flow)
{
    const int rank = me->frame.team->rank, ranks = me->frame.team->size;
    const int one = plan->collective == TUTTI_COLLECTIVE_BCAST || plan->collective == TUTTI_COLLECTIVE_ALLGATHER ||
                    plan->collective == TUTTI_COLLECTIVE_ALLGATHERV;
    size_t in = FRAME_GUARD, out = FRAME_GUARD, sent = 0, shared = 0;
    memset(flow, 0, sizeof *flow);
    memset(me->frame.kept, FRAME_LEFT, me->frame.room);
    memset(me->frame.expected, FRAME_LEFT, me->frame.room);
    memset(me->frame.host, FRAME_LEFT, me->frame.room);
    for (int r = 0; r < ranks; r++) {
        const size_t bytes = plan->bytes[rank][r];
        if (bytes > 0 && (!one || sent == 0)) {
            in += shares ? 0 : random_next(&me->frame.dice) % 20;
            for (size_t i = 0; i < bytes; i++)
                me->frame.kept[in + i] = byte_of(plan, rank, r, i);
            sent = bytes;
            shared = in;
            in += bytes;
        }
        flow->send[r] = (struct tutti_move_send){bytes ? me->frame.in + shared : NULL, bytes};
    }
    for (int r = 0; r < ranks; r++) {
        const size_t bytes = plan->bytes[r][rank];
        out += shares ? 0 : random_next(&me->frame.dice) % 20;
        for (size_t i = 0; i < bytes; i++)
            me->frame.expected[out + i] = byte_of(plan, r, rank, i);
        flow->receive[r] = (struct tutti_move_receive){bytes ? me->frame.out + out : NULL, bytes};
        if (r == rank && plan->in_place && bytes > 0) { /* the own run is in its place, and may be sent from there */
            memcpy(me->frame.host + out, me->frame.expected + out, bytes);
            flow->send[r].at = me->frame.out + out;
            for (int to = 0; one && to < ranks; to++)
                flow->send[to].at = flow->send[to].bytes ? me->frame.out + out : NULL;
            if (random_next(&me->frame.dice) % 2)
                flow->send[r].bytes = flow->receive[r].bytes = 0;
        }
        out += bytes;
    }
    CHECK(in + FRAME_GUARD <= me->frame.room && out + FRAME_GUARD <= me->frame.room, "room");
    frame_fill(&me->frame, me->frame.kept, me->frame.host);
}

/* The same as blocks of the blocking call. */
static void make_blocks(const struct rank *me, const struct tutti_move_flow *flow,
                        struct tutti_move_block blocks[PIECES], struct tutti_move *move)
{
    const int ranks = me->frame.team->size;
    *move = (struct tutti_move){
        .send = blocks, .receive = blocks + ranks, .sends = ranks, .receives = ranks, .current = -1};
    for (int i = 0; i < 2 * ranks; i++) {
        const int r = i % ranks;
        void *const at = i < ranks ? (void *)(uintptr_t)flow->send[r].at : flow->receive[r].at;
        const uint64_t bytes = i < ranks ? flow->send[r].bytes : flow->receive[r].bytes;
        blocks[i] = (struct tutti_move_block){.rank = r, .bytes = bytes};
        if (bytes > 0)
            blocks[i].elements =
                (struct tutti_elements){.plan = me->byte, .count = (int64_t)bytes, .buffer = at, .whole = 1};
    }
}

static int run(struct rank *me, const struct plan *plan, const struct tutti_move_flow *flow, const char **why)
{
    struct tutti_team *team = me->frame.team;
    struct tutti_move_block blocks[PIECES];
    struct tutti_move move;
    struct tutti_call call = {.collective = plan->collective, .root = plan->root};
    int status;
    if (enqueues) {
        call.flow = flow;
        frame_capture();
        status = tutti_move_enqueue(team, &call, me->frame.stream, why);
        if (status == TUTTI_OK && random_next(&me->frame.dice) % 2)
            status = team->device->stream.sync(me->frame.stream);
        return status;
    }
    make_blocks(me, flow, blocks, &move);
    call.move = &move;
    status = tutti_move_run(team, &call, why);
    CHECK(status != TUTTI_OK || *why || shares, "rank %d: nothing was done", team->rank);
    return status;
}

/* A reduction by kernels of the same channels. */
static void sum(struct rank *me, const struct plan *plan)
{
    const size_t count = 1 + plan->key % 3000;
    const struct tutti_call call = {.collective = TUTTI_COLLECTIVE_ALLREDUCE,
                                    .in = me->frame.in,
                                    .out = me->frame.in,
                                    .count = count,
                                    .type = TUTTI_TYPE_U8,
                                    .op = TUTTI_OP_SUM,
                                    .kind = TUTTI_ARRIVAL_DEVICE,
                                    .gpu = -1};
    enum tutti_reduce_outcome taken = TUTTI_REDUCE_DONE;
    const char *why;
    for (size_t i = 0; i < count; i++)
        me->frame.host[i] = (unsigned char)(i + (size_t)me->frame.team->rank);
    CHECK(tutti_copy(me->frame.in, me->frame.host, count) == 0, "copy in");
    frame_capture();
    int status = enqueues ? tutti_enqueue(me->frame.team, &call, me->frame.stream, &why)
                          : tutti_reduce_run(me->frame.team, &call, &taken, &why);
    if (enqueues && status == TUTTI_OK)
        status = me->frame.team->device->stream.sync(me->frame.stream);
    CHECK(status == TUTTI_OK && tutti_copy(me->frame.host, me->frame.in, count) == 0, "sum");
    const size_t ranks = (size_t)me->frame.team->size, more = ranks * (ranks - 1) / 2;
    for (size_t i = 0; i < count; i++) {
        if (!CHECK(me->frame.host[i] == (unsigned char)(i * ranks + more), "rank %d: sum %zu", me->frame.team->rank, i))
            break;
    }
}

static void compare(struct rank *me, const struct plan *plan, const char *device, const unsigned char *expected,
                    const char *what, int round)
{
    const size_t at = frame_differs(&me->frame, device, expected);
    CHECK(at == me->frame.room,
          "rank %d round %d seed %llu: collective %d, root %d, in place %d: %s: byte %zu is %02x, expected %02x",
          me->frame.team->rank, round, (unsigned long long)frame_seed, (int)plan->collective, plan->root,
          plan->in_place, what, at, me->frame.host[at % me->frame.room], expected[at % me->frame.room]);
}

/* New memory for what is received: peers may still have the old one mapped. */
static void renew(struct rank *me)
{
    CHECK(tutti_free(me->frame.out) == 0 && tutti_alloc(me->frame.room, (void **)&me->frame.out) == 0, "new memory");
}

static void rounds(struct rank *me, int first, int n)
{
    for (int round = first; round < first + n && !check_failed(); round++) {
        struct tutti_move_flow flow;
        struct plan plan;
        const char *why = NULL;
        make_plan(&plan, round, me->frame.team->size);
        if (random_next(&me->frame.dice) % 8 == 0)
            renew(me);
        if (plan.sums)
            sum(me, &plan);
        lay_out(me, &plan, &flow);
        const int status = run(me, &plan, &flow, &why);
        if (!CHECK(status == TUTTI_OK, "rank %d round %d seed %llu: %s", me->frame.team->rank, round,
                   (unsigned long long)frame_seed, tutti_status_text(status)))
            return;
        if (shares && !why) /* leaders do not run it: another row would */
            continue;
        memset(&flow, 0xff, sizeof flow); /* it was copied */
        if (enqueues)
            CHECK(me->frame.team->device->stream.sync(me->frame.stream) == TUTTI_OK, "sync");
        compare(me, &plan, me->frame.out, me->frame.expected, "what was received", round);
        compare(me, &plan, me->frame.in, me->frame.kept, "what was sent", round);
        me->by_rule += why && strcmp(why, enqueues ? row->name : row->how) == 0;
    }
}

/* How many runs are stored directly depends on when the ranks have mapped new memory. So there are more rounds until
 * all ranks have seen enough of them. */
static void more_rounds(struct rank *me)
{
    enum { MOST = 40 };
    unsigned enough = 0;
    for (int more = 1; more <= MOST && !enough && !check_failed(); more++) {
        enough = tutti_coll_of(me->frame.team)->direct_runs > (uint64_t)frame_rounds / 8;
        if (tutti_team_vote(me->frame.team, enough, &enough) == TUTTI_OK && !enough)
            rounds(me, more * 1000, frame_rounds / 4 + 1);
    }
}

/* How the row launches its kernel; all zero: the row does not run on this team, or is not one kernel. Team open. */
static struct tutti_runs row_runs(const struct rank *me)
{
    const struct tutti_call call = {.collective = TUTTI_COLLECTIVE_BCAST};
    struct tutti_runs runs = {.direct = 0};
    if (row->runs && (!row->can || row->can(me->frame.team, &call)))
        row->runs(me->frame.team, frame_most, &runs);
    return runs;
}

static void all_rounds(struct rank *me)
{
    rounds(me, 0, frame_rounds);
    const struct tutti_runs runs = row_runs(me);
    const int maps = runs.direct > 0 || runs.hands_on;
    if (maps && !shares)
        more_rounds(me);
    CHECK(check_failed() || shares || !maps || tutti_coll_of(me->frame.team)->direct_runs > (uint64_t)frame_rounds / 8,
          "only %llu runs were stored directly", (unsigned long long)tutti_coll_of(me->frame.team)->direct_runs);
    CHECK(check_failed() || me->by_rule > frame_rounds / 8 || (only_bcast && me->frame.team->size < 3),
          "%s has run %d of %d", row->name, me->by_rule, frame_rounds);
}

/* An error of the program: a run that is shorter on one side. No kernel may wait for what does not come, nor a rank for
 * others that have gone another way. */
static void mismatch(struct rank *me)
{
    struct tutti_move_block blocks[PIECES];
    struct tutti_move_flow flow;
    struct tutti_move move;
    struct plan plan;
    const char *why = "?";
    make_plan(&plan, 0, me->frame.team->size);
    lay_out(me, &plan, &flow);
    if (me->frame.team->rank == 0)
        flow.send[1].bytes--;
    make_blocks(me, &flow, blocks, &move);
    const struct tutti_call call = {.collective = plan.collective, .move = &move};
    const int status = tutti_move_run(me->frame.team, &call, &why);
    CHECK(status == TUTTI_OK && !why, "rank %d: a run of two lengths: %s, by %s", me->frame.team->rank,
          tutti_status_text(status), why ? why : "nothing");
}

/* While another communicator has a stream: new memory gets its data through the windows until it is mapped. */
static void beside_another(struct rank *me, struct tutti_transport *transport)
{
    enum { BESIDE = 12 };
    struct tutti_team *other = NULL;
    CHECK(tutti_team_create(me->frame.node, transport, &other) == TUTTI_OK && tutti_enqueue_open(other, -1) == TUTTI_OK,
          "another team");
    const uint64_t before = tutti_coll_of(me->frame.team)->direct_runs;
    renew(me);
    rounds(me, frame_rounds, BESIDE);
    transport->ops->barrier(transport);
    tutti_team_free(other);
    transport->ops->barrier(transport);
    rounds(me, frame_rounds + BESIDE, 4 * BESIDE);
    CHECK(check_failed() || tutti_coll_of(me->frame.team)->direct_runs > before, "nothing is mapped any more");
}

/* Blocks of the next call may be posted only if all ranks are known to have left the call before the last: not behind a
 * call that this rank has left to the MPI, and did not wait in. */
static void posts_behind(struct rank *me, struct tutti_transport *transport)
{
    struct tutti_team *const team = me->frame.team;
    rounds(me, 2 * frame_rounds, 1);
    CHECK(check_failed() || tutti_team_rndvs_next(team), "rank %d: all have arrived, and none may post", team->rank);
    tutti_team_announce(team, TUTTI_COLLECTIVE_BCAST, 0, 0, 0, 0);
    CHECK(!tutti_team_rndvs_next(team), "rank %d: a peer may be two calls behind", team->rank);
    transport->ops->barrier(transport);
    rounds(me, 2 * frame_rounds + 1, 2);
}

static int rank_main(struct tutti_transport *transport, void *unused)
{
    const struct tutti_description byte = {.form = TUTTI_FORM_BYTES, .bytes = 1};
    struct rank me = {.by_rule = 0};
    (void)unused;
    if (!frame_open(&me.frame, transport, (size_t)transport->size * (frame_most + 20) + 2 * FRAME_GUARD) ||
        !CHECK(tutti_plan_build(&byte, &me.byte) == TUTTI_OK, "plan") || (enqueues && !frame_stream(&me.frame)))
        return 1;
    all_rounds(&me);
    if (enqueues && !check_failed() && row_runs(&me).direct > 0)
        beside_another(&me, transport);
    if (!enqueues && !check_failed())
        posts_behind(&me, transport);
    if (!enqueues && !check_failed())
        mismatch(&me);
    frame_close(&me.frame, transport);
    tutti_plan_drop(me.byte);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: moves_test RANKS ROW [enqueue|shared]\n");
        return 2;
    }
    frame_rounds = 150;
    frame_most = 40000;
    enqueues = argc == 4 && strcmp(argv[3], "enqueue") == 0;
    shares = argc == 4 && strcmp(argv[3], "shared") == 0;
    for (int i = 0; i < TUTTI_MOVES; i++)
        row = strcmp(tutti_moves[i]->name, argv[2]) == 0 ? tutti_moves[i] : row;
    if (!row) {
        fprintf(stderr, "moves.def has no row %s\n", argv[2]);
        return 2;
    }
    only_bcast = row->collectives == TUTTI_ON(BCAST);
    char rules[400];
    snprintf(rules, sizeof rules,
             "allreduce: 0-1k@ll *@pipeline bcast: *@%s *@pipeline gather: *@%s *@pipeline scatter: *@%s *@pipeline "
             "allgather: *@%s *@pipeline alltoall: *@%s *@pipeline",
             row->name, row->name, row->name, row->name, row->name);
    return frame_main(argv[1], row->name, rules, rank_main);
}
