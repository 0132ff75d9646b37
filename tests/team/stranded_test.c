/* Ranks with host memory that wait in the MPI for calls that no other rank makes: when the others make the call with
 * them, and when they cannot. Ranks are threads; in the MPI's place the hook of the team records its
 * calls. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/types.h"
#include "kit.h"

enum { RANKS = 4, MANY = 40 };

struct expected {
    const char *what;
    unsigned in_mpi;           /* ranks with host memory: bits */
    struct tutti_arrival call; /* theirs */
    int odd;                   /* rank among them whose count is another; -1: none */
    int ahead;                 /* rank among them that has gone on by many calls; -1: none */
    int unable;                /* rank of the others that cannot make it; -1: none */
    int without;               /* 1: there is no hook */
    int asked, made;           /* the hook is called, and the call made */
};

#define CALL(id, type_, n)                                                                                             \
    {                                                                                                                  \
        .collective = TUTTI_COLLECTIVE_##id, .type = (type_), .op = TUTTI_OP_SUM, .count = (n)                         \
    }
static const struct expected cases[] = {
    {"one rank", 1u << 3, CALL(ALLREDUCE, TUTTI_TYPE_I32, 7), -1, -1, -1, 0, 1, 1},
    {"the first rank", 1u << 0, CALL(SCAN, TUTTI_TYPE_F64, 100), -1, -1, -1, 0, 1, 1},
    {"two ranks", 1u << 1 | 1u << 2, CALL(REDUCE_SCATTER_BLOCK, TUTTI_TYPE_U8, 8), -1, -1, -1, 0, 1, 1},
    {"all but one", 0xe, CALL(EXSCAN, TUTTI_TYPE_I64, 1), -1, -1, -1, 0, 1, 1},
    {"a reduce", 1u << 2, CALL(REDUCE, TUTTI_TYPE_I32, 7), -1, -1, -1, 0, 1, 1},
    {"calls that differ among them", 1u << 1 | 1u << 2, CALL(ALLREDUCE, TUTTI_TYPE_I32, 7), 2, -1, -1, 0, 0, 0},
    {"segments that nobody knows", 1u << 2, CALL(REDUCE_SCATTER, TUTTI_TYPE_I32, 7), -1, -1, -1, 0, 0, 0},
    {"data that are moved", 1u << 2, CALL(BCAST, 0, 0), -1, -1, -1, 0, 0, 0},
    {"a barrier, or another meeting", 1u << 2, CALL(MEETING, 0, 0), -1, -1, -1, 0, 0, 0},
    {"no such call", 1u << 2, CALL(NONE, 77, 1), -1, -1, -1, 0, 0, 0},
    {"a rank that has gone on", 1u << 1 | 1u << 2, CALL(ALLREDUCE, TUTTI_TYPE_I32, 7), -1, 2, -1, 0, 0, 0},
    {"a rank that has gone on alone", 1u << 2, CALL(ALLREDUCE, TUTTI_TYPE_I32, 7), -1, 2, -1, 0, 0, 0},
    {"a rank that has no memory for it", 1u << 3, CALL(ALLREDUCE, TUTTI_TYPE_I32, 7), -1, -1, 1, 0, 1, 0},
    {"no MPI", 1u << 3, CALL(ALLREDUCE, TUTTI_TYPE_I32, 7), -1, -1, -1, 1, 0, 0},
    {"nobody", 0, CALL(ALLREDUCE, TUTTI_TYPE_I32, 7), -1, -1, -1, 0, 0, 0},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static atomic_int asked[CASES], made[CASES];

struct hook {
    const struct expected *c;
    int number;
};

static void release(void *with, struct tutti_team *team, const struct tutti_arrival *call, uint64_t in_mpi)
{
    const struct hook *hook = with;
    const struct expected *c = hook->c;
    atomic_fetch_add(&asked[hook->number], 1);
    CHECK(in_mpi == c->in_mpi, "%s: ranks %llx", c->what, (unsigned long long)in_mpi);
    CHECK(call->collective == c->call.collective && call->type == c->call.type && call->op == c->call.op &&
              call->count == c->call.count && call->detail == c->call.detail,
          "%s: another call", c->what);
    CHECK(team->state != TUTTI_TEAM_BROKEN, "%s: broken before", c->what);
    const int all = tutti_team_release(team, in_mpi, team->rank != c->unable);
    CHECK(all == c->made, "%s: made %d", c->what, all);
    atomic_fetch_add(&made[hook->number], all);
}

/* A rank with host memory. */
static void strand(struct tutti_team *team, const struct expected *c)
{
    const struct tutti_arrival *a = &c->call;
    tutti_team_announce(team, (enum tutti_collective)a->collective, a->type, a->op,
                        a->count + (team->rank == c->odd ? 1 : 0), a->detail);
    for (int i = 0; team->rank == c->ahead && i < MANY; i++)
        tutti_team_announce(team, TUTTI_COLLECTIVE_ALLREDUCE, TUTTI_TYPE_I32, TUTTI_OP_SUM, 1, 0);
}

static void one(struct kit *kit, struct tutti_transport *transport, int number)
{
    const struct expected *c = &cases[number];
    const int rank = transport->rank, host = (int)(c->in_mpi >> rank & 1);
    struct hook hook = {c, number};
    struct tutti_team *team = NULL;
    if (!CHECK(tutti_team_create(kit->node, transport, &team) == TUTTI_OK && team->whole, "team"))
        return;
    CHECK(kit_meet(team, 10) == TUTTI_OK, "%s: a call that matches", c->what);
    tutti_team_on_release(team, c->without ? NULL : release, &hook);
    transport->ops->barrier(transport);
    CHECK(!tutti_team_has_report(team), "%s: told before", c->what);
    if (host)
        strand(team, c);
    transport->ops->barrier(transport); /* so that who goes on is far ahead when the others look */
    if (!host) { /* they differ among themselves where nothing else tells them that calls do not match */
        const int alone = (c->in_mpi & (c->in_mpi - 1)) == 0 && c->ahead >= 0;
        const int status = kit_meet(team, c->in_mpi && !alone ? 20 : 20 + (uint64_t)rank);
        CHECK(status == TUTTI_ERR_MISMATCH, "%s: rank %d: %s", c->what, rank, tutti_status_text(status));
    }
    transport->ops->barrier(transport);
    CHECK(tutti_team_has_report(team) == (host && c->made), "%s: rank %d told: %d", c->what, rank,
          tutti_team_has_report(team));
    if (tutti_team_has_report(team))
        CHECK(tutti_team_take_report(team) == TUTTI_ERR_MISMATCH && team->state == TUTTI_TEAM_BROKEN, "%s: taken",
              c->what);
    transport->ops->barrier(transport);
    tutti_team_free(team);
}

static int rank_main(struct tutti_transport *transport, void *with)
{
    struct kit kit;
    (void)with;
    if (!kit_open(transport, &kit))
        return 1;
    for (int i = 0; i < CASES; i++) {
        if (transport->rank == 0)
            kit_capture_begin();
        transport->ops->barrier(transport);
        one(&kit, transport, i);
        transport->ops->barrier(transport);
        if (transport->rank == 0) {
            char *said = kit_capture_end();
            const int told = strstr(said, "cannot be released") != NULL;
            CHECK(told == (cases[i].in_mpi && !cases[i].made && !cases[i].without), "%s: said: %s", cases[i].what,
                  said);
            free(said);
        }
    }
    kit_close(&kit);
    return check_failed() != 0;
}

int main(void)
{
    const int failed = tutti_threads_run(RANKS, rank_main, NULL);
    for (int i = 0; i < CASES; i++) {
        const int others = RANKS - __builtin_popcount(cases[i].in_mpi);
        CHECK(atomic_load(&asked[i]) == cases[i].asked * others, "%s: asked %d times", cases[i].what,
              atomic_load(&asked[i]));
        CHECK(atomic_load(&made[i]) == cases[i].made * others, "%s: made %d times", cases[i].what,
              atomic_load(&made[i]));
    }
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return failed != 0 || check_failed() != 0;
}
