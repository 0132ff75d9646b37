/* How the GPUs of a team are linked. Where that is known at once, rank 0 alone asks when the team opens, and all take
 * its answer. Otherwise the team opens without it, and after many calls rank 0 alone has it asked in the background.
 * All ranks take the answer at one call: the first at which all arrive with device memory after it is there. */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/status.h"
#include "device/device.h"
#include "kit.h"
#include "team/team.h"

enum { RANKS = 4, GPUS = 2, BEFORE = 256 }; /* BEFORE: calls, lines.c */
static atomic_int asked, asked_elsewhere, answer, known, begun, looked;
static _Thread_local int rank_here = -1;

static int fake_lines(const unsigned char one[16], const unsigned char other[16])
{
    atomic_fetch_add(&asked, 1);
    atomic_fetch_add(&asked_elsewhere, rank_here != 0 || memcmp(one, other, 16) == 0);
    return atomic_load(&answer);
}

static int fake_ready(const unsigned char (*gpus)[16], int n, int ask)
{
    atomic_fetch_add(&asked_elsewhere, rank_here != 0 || n != GPUS || memcmp(gpus[0], gpus[1], 16) == 0);
    atomic_fetch_add(ask ? &begun : &looked, 1);
    return atomic_load(&known);
}

/* The device's table is constant. */
static int device_set_lines(void)
{
    struct tutti_device *const device = (struct tutti_device *)(uintptr_t)tutti_device();
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)device / page * page;
    if (mprotect((void *)begin, (uintptr_t)(device + 1) - begin, PROT_READ | PROT_WRITE) != 0)
        return 0;
    device->gpu.lines = fake_lines;
    device->gpu.ready = fake_ready;
    return 1;
}

/* What a rank sees of a call to which `host` (-1: none) brings host memory: 1 if lines come with it. */
static int lines_come(struct tutti_team *team, int host, uint64_t count)
{
    const struct tutti_arrival *all[TUTTI_MAX_RANKS];
    struct tutti_arrival mine = kit_call(count);
    if (team->rank == host) {
        tutti_team_announce(team, (enum tutti_collective)mine.collective, mine.type, mine.op, count, 0);
        return 0;
    }
    tutti_team_arrive(team, &mine);
    CHECK(tutti_team_await(team, all) == TUTTI_OK, "call %d", (int)count);
    return tutti_team_lines_come(team, all);
}

/* The answer comes beside calls. */
static void calls_beside(struct kit *kit, struct tutti_transport *transport)
{
    struct tutti_team *const team = kit->team;
    uint64_t call = 0;
    CHECK(team->lines_later && !team->lines, "rank %d: known", transport->rank);
    for (; call < BEFORE; call++)
        CHECK(!lines_come(team, -1, call), "call %d", (int)call);
    transport->ops->barrier(transport);
    CHECK(atomic_load(&begun) == 0, "asked at once");
    transport->ops->barrier(transport);
    for (; call < BEFORE + 5; call++)
        CHECK(!lines_come(team, -1, call), "call %d", (int)call);
    transport->ops->barrier(transport);
    CHECK(atomic_load(&begun) == 5 && atomic_load(&asked) == 0, "asked %d times, answered", atomic_load(&begun));
    transport->ops->barrier(transport);
    atomic_store(&known, 1);
    transport->ops->barrier(transport);
    for (int host = 0; host < RANKS; host++)
        CHECK(!lines_come(team, host, ++call), "not all wait, and lines come");
    CHECK(lines_come(team, -1, ++call), "rank %d: lines do not come", transport->rank);
    tutti_team_lines_take(team);
    CHECK(!lines_come(team, -1, ++call), "rank %d: lines come again", transport->rank);
}

enum how { AT_ONCE, BESIDE, SETTLED };

static int run(struct tutti_transport *transport, void *with)
{
    struct kit kit;
    const enum how how = *(const enum how *)with;
    const int whole = atomic_load(&answer);
    rank_here = transport->rank;
    if (!kit_open(transport, &kit))
        return 1;
    CHECK(tutti_team_open(kit.team, transport->rank % GPUS) == TUTTI_OK && kit.team->state == TUTTI_TEAM_OPEN,
          "open: %s", kit.team->why);
    if (how == BESIDE)
        calls_beside(&kit, transport);
    if (how == SETTLED)
        CHECK(kit.team->lines_later, "known at once");
    CHECK(how == BESIDE || tutti_team_lines_settle(kit.team) == TUTTI_OK, "settle");
    CHECK(kit.team->lines == whole, "lines %d on rank %d", kit.team->lines, transport->rank);
    CHECK(how == BESIDE || !kit.team->lines_later, "still later");
    kit_close(&kit);
    return check_failed();
}

int main(void)
{
    static const struct {
        enum how how;
        int answer;
    } cases[] = {{AT_ONCE, 1}, {AT_ONCE, 0}, {SETTLED, 1}, {SETTLED, 0}, {BESIDE, 1}};
    if (!tutti_device() || !device_set_lines())
        return 2;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum how how = cases[i].how;
        atomic_store(&asked, 0);
        atomic_store(&looked, 0);
        atomic_store(&answer, cases[i].answer);
        atomic_store(&known, how == AT_ONCE);
        CHECK(tutti_threads_run(RANKS, run, &how) == 0, "case %d", (int)i);
        CHECK(atomic_load(&asked) == 1 && atomic_load(&looked) == 1 && atomic_load(&asked_elsewhere) == 0,
              "case %d: %d questions, %d looks, %d elsewhere", (int)i, atomic_load(&asked), atomic_load(&looked),
              atomic_load(&asked_elsewhere));
    }
    return check_failed() ? 1 : 0;
}
