/* Which calls of a communicator wait for its team and for kernels, where opening and loading are slow: until their kind
 * has lost what is due (opening_price.h). Arguments: how the process has its GPU (alone, beside others, in turns), or
 * `set`: a price is set, which holds for all; `least`: of 1 us. The device and the list of known channels are this
 * test's. */
#include <stdlib.h>
#include <string.h>

#include "coll/call/opening.h"
#include "coll/call/opening_price.h"
#include "coll/move.h"
#include "coll/state.h"
#include "core/lives.h"
#include "core/settings.h"
#include "core/status.h"
#include "support/check.h"
#include "team/team.h"

enum { GPU = 3, RANKS = 3, BYTES = 1 << 10, NEVER = 1 << 20 };
static int first;          /* 1: the process has no team yet */
static int lacking, known; /* what the device lacks; the channel is mapped already */
static enum tutti_opening_gpu use;
static int receives = 1, ordered; /* the rank receives something; Tutti makes the reductions */
static int empty;                 /* 1: blocks have no bytes, reductions one element */
static int apart;                 /* 1: the rank sends each rank another block, 0: the same */
static char buffer[RANKS];
static struct tutti_move move;
static struct tutti_team team, other;

/* In place of the core's. */
static uint64_t slow_ns(void)
{
    return 1000000;
}

static int lacks_some(int gpu, int kernel, int type, int op)
{
    (void)kernel, (void)type, (void)op;
    CHECK(gpu == GPU, "GPU %d is asked", gpu);
    CHECK(!first, "the device is asked, though all kernels are lacking");
    return lacking;
}

const struct tutti_device *tutti_device(void)
{
    static const struct tutti_device slow = {
        .name = "slow", .share = {.usual_ns = slow_ns}, .launch = {.lacks = lacks_some}};
    return &slow;
}

int tutti_team_opens_soon(const struct tutti_team *of, int gpu)
{
    (void)of, (void)gpu;
    return known;
}

/* 1 if the call is left to the MPI. */
static int one_waits(struct tutti_team *of, enum tutti_opening_kind kind)
{
    const int moves = kind == TUTTI_OPENING_MOVES;
    struct tutti_move_block send[RANKS], receive[RANKS];
    for (int r = 0; r < RANKS; r++) {
        send[r] = receive[r] = (struct tutti_move_block){.bytes = empty ? 0 : BYTES, .rank = r};
        send[r].elements.buffer = &buffer[apart ? r : 0];
    }
    move = (struct tutti_move){.send = send, .sends = RANKS, .receive = receive, .receives = receives ? RANKS : 0};
    const struct tutti_call call = {.gpu = GPU,
                                    .may_open_later = 1,
                                    .host_ok = moves || !ordered, /* or the MPI cannot make the call */
                                    .collective = receives ? TUTTI_COLLECTIVE_ALLREDUCE : TUTTI_COLLECTIVE_REDUCE,
                                    .root = 1,
                                    .count = empty ? 1 : BYTES / sizeof(int),
                                    .type = moves ? TUTTI_MOVES_TYPE : TUTTI_TYPE_I32,
                                    .op = moves ? TUTTI_MOVES_OP : TUTTI_OP_SUM,
                                    .move = moves ? &move : NULL};
    return tutti_opening_waits(of, &call, call.type, call.op);
}

/* Calls that wait, at most `most`. */
static uint64_t those_that_wait(struct tutti_team *of, enum tutti_opening_kind kind, uint64_t most)
{
    uint64_t n = 0;
    while (n < most && one_waits(of, kind))
        n++;
    return n;
}

/* Calls of the kind that wait until they have lost so much. */
static uint64_t calls_that_lose(enum tutti_opening_kind kind, uint64_t ns)
{
    const int moves = kind == TUTTI_OPENING_MOVES; /* blocks of the rank itself are no copies */
    const uint64_t out = moves && apart ? (RANKS - 1) * BYTES : BYTES, in = moves ? (RANKS - 1) * BYTES : BYTES,
                   each = tutti_opening_loses(use, kind, ordered && !moves, out, receives ? in : 0);
    return ns ? (ns + each - 1) / each - 1 : 0;
}

static void begin_closed(struct tutti_team *of)
{
    memset(of, 0, sizeof *of);
    of->state = TUTTI_TEAM_CLOSED;
    of->size = RANKS;
    of->gpu = GPU;
}

static void they_wait(struct tutti_team *of, enum tutti_opening_kind kind, enum tutti_opening_team what,
                      const char *when)
{
    const uint64_t due = tutti_opening_due(use, kind, what, lacking), expected = calls_that_lose(kind, due),
                   waited = those_that_wait(of, kind, NEVER);
    CHECK(waited == expected, "%s: %llu calls of kind %d wait, not %llu", when, (unsigned long long)waited, (int)kind,
          (unsigned long long)expected);
    CHECK(!one_waits(of, kind), "%s: what is due is lost, and a call waits", when);
}

/* The first team, of moves. Reductions count apart, and other teams. */
static void first_team(void)
{
    const uint64_t all =
        calls_that_lose(TUTTI_OPENING_MOVES, tutti_opening_due(use, TUTTI_OPENING_MOVES, TUTTI_OPENING_FIRST_TEAM, 1));
    begin_closed(&team);
    begin_closed(&other);
    first = 1;
    lacking = 1;
    CHECK(those_that_wait(&team, TUTTI_OPENING_REDUCES, 2) == 2, "two reductions open a team");
    CHECK(those_that_wait(&team, TUTTI_OPENING_MOVES, NEVER) == all, "not %llu calls wait", (unsigned long long)all);
    CHECK(!one_waits(&team, TUTTI_OPENING_MOVES) && one_waits(&team, TUTTI_OPENING_REDUCES) &&
              one_waits(&other, TUTTI_OPENING_MOVES),
          "moves wait longer than is due, or others do not wait");
    tutti_opening_done();
    first = 0;
}

static void later_teams(void)
{
    for (known = 0; known < 2; known++) {
        for (lacking = 0; lacking < 2; lacking++) {
            for (int i = 0; i < 8 * TUTTI_OPENING_KINDS; i++) {
                const enum tutti_opening_kind kind = (enum tutti_opening_kind)(i / 8);
                ordered = i / 2 % 2 == 0;
                receives = i % 2;
                apart = i / 4 % 2 == 0;
                begin_closed(&team);
                they_wait(&team, kind, known ? TUTTI_OPENING_KNOWN_TEAM : TUTTI_OPENING_NEW_TEAM, "a later team");
            }
        }
    }
}

/* The team is open, and the kernels of the pair are lacking on its leader, or not. */
static void open_team(void)
{
    for (int kind = 0; kind < TUTTI_OPENING_KINDS; kind++) {
        begin_closed(&team);
        team.state = TUTTI_TEAM_OPEN;
        lacking = 1;
        CHECK(!one_waits(&team, kind), "a call waits on a rank that launches nothing");
        team.leader = 1;
        for (int i = 0; i < 2; i++) /* each pair of a kind has kernels of its own */
            CHECK(those_that_wait(&team, kind, NEVER) ==
                      calls_that_lose(kind, tutti_opening_takes(TUTTI_OPENING_NO_TEAM, 1)),
                  "kind %d: calls that wait for kernels", kind);
        CHECK(one_waits(&team, kind), "an account that was paid pays again");
        lacking = 0;
        CHECK(!one_waits(&team, kind), "a call waits for kernels that are there");
        lacking = 1;
        tutti_coll_of(&team)->moves_prepared = 1;
        tutti_coll_of(&team)->prepared[TUTTI_TYPE_I32][TUTTI_OP_SUM] = 1;
        CHECK(!one_waits(&team, kind), "a call waits for kernels that it has launched");
    }
}

/* A rank that moves nothing in the calls holds up its peers for 15 of them. */
static void empty_calls(void)
{
    begin_closed(&team);
    empty = 1;
    const uint64_t n = those_that_wait(&team, TUTTI_OPENING_MOVES, NEVER);
    CHECK(n == 15, "%llu calls wait for a rank that moves nothing", (unsigned long long)n);
    empty = 0;
}

static void set_price(void)
{
    const uint64_t price = (uint64_t)tutti_settings()->mapping_price_us * 1000;
    lacking = 1;
    for (int kind = 0; kind < TUTTI_OPENING_KINDS; kind++) {
        begin_closed(&team);
        CHECK(those_that_wait(&team, kind, NEVER) == calls_that_lose(kind, price), "kind %d: not the price that is set",
              kind);
    }
}

/* The least price: no call waits, however little it loses. */
static void set_least(void)
{
    lacking = 1;
    for (int kind = 0; kind < TUTTI_OPENING_KINDS; kind++) {
        for (empty = 0; empty <= 1; empty++) {
            begin_closed(&team);
            CHECK(!one_waits(&team, kind), "kind %d, empty %d: the first call waits", kind, empty);
        }
    }
    empty = 0;
}

int main(int argc, char **argv)
{
    const char *const how = argc > 1 ? argv[1] : "alone";
    const int least = !strcmp(how, "least");
    use = !strcmp(how, "turns")             ? TUTTI_OPENING_TURNS
          : !strcmp(how, "beside") || least ? TUTTI_OPENING_BESIDE
                                            : TUTTI_OPENING_ALONE;
    if (use != TUTTI_OPENING_ALONE)
        tutti_gpu_share(GPU, use == TUTTI_OPENING_TURNS);
    if (!strcmp(how, "set")) {
        set_price();
    } else if (least) {
        set_least();
    } else {
        first_team();
        later_teams();
        open_team();
        empty_calls();
    }
    return check_failed() ? 1 : 0;
}
