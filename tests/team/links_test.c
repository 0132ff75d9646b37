/* How the GPUs of a team are linked: ranks name their GPUs in the calls before the team is open, and rank 0 alone has
 * the device asked in the background; it alone asks when the team opens, and all take its answer. The simulated GPUs
 * never know at the first question. */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/status.h"
#include "device/device.h"
#include "kit.h"
#include "team/control.h"
#include "team/team.h"

enum { RANKS = 4, GPUS = 2 };
static atomic_int asked, asked_elsewhere, answer;
static _Thread_local int rank_here = -1;

static int fake_lines(const unsigned char one[16], const unsigned char other[16])
{
    atomic_fetch_add(&asked, 1);
    atomic_fetch_add(&asked_elsewhere, rank_here != 0 || memcmp(one, other, 16) == 0);
    return atomic_load(&answer);
}

/* The device's table is constant. */
static int device_set_lines(void)
{
    struct tutti_device *const device = (struct tutti_device *)(uintptr_t)tutti_device();
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)device / page * page;
    if (mprotect((void *)begin, (uintptr_t)(device + 1) - begin, PROT_READ | PROT_WRITE) != 0)
        return 0;
    device->gpu.lines = fake_lines;
    return 1;
}

static int gpu_is_named(const struct tutti_team *team, int r, int gpu)
{
    uint64_t named[2], uuid[2];
    for (int i = 0; i < 2; i++)
        named[i] = atomic_load(&team->slot[r]->gpu[i]);
    return tutti_device()->gpu.uuid(gpu, (unsigned char *)uuid) == TUTTI_OK && memcmp(named, uuid, sizeof uuid) == 0;
}

static void calls_before(struct tutti_team *team, int rank)
{
    if (rank == 0)
        CHECK(tutti_team_links_are_known(team, 0) == 1, "one GPU alone");
    CHECK(kit_meet(team, 1) == TUTTI_OK, "meeting 1");
    if (rank > 0)
        CHECK(tutti_team_links_are_known(team, rank % GPUS) == 1, "rank %d asks", rank);
    CHECK(kit_meet(team, 2) == TUTTI_OK, "meeting 2");
    for (int r = 0; r < RANKS; r++)
        CHECK(gpu_is_named(team, r, r % GPUS), "the GPU of rank %d", r);
    CHECK(tutti_team_links_are_known(team, -1) == 1, "a GPU that is not known");
    CHECK(tutti_team_links_are_known(team, rank % GPUS) == (rank > 0), "rank %d", rank);
    CHECK(kit_meet(team, 3) == TUTTI_OK, "meeting 3");
}

static int run(struct tutti_transport *transport, void *lines)
{
    struct kit kit;
    const int before = *(const int *)lines == 1;
    rank_here = transport->rank;
    if (!kit_open(transport, &kit))
        return 1;
    if (before)
        calls_before(kit.team, transport->rank);
    CHECK(tutti_team_open(kit.team, transport->rank % GPUS) == TUTTI_OK && kit.team->state == TUTTI_TEAM_OPEN,
          "open: %s", kit.team->why);
    CHECK(kit.team->lines == *(const int *)lines, "lines %d on rank %d", kit.team->lines, transport->rank);
    kit_close(&kit);
    return check_failed();
}

int main(void)
{
    if (!tutti_device() || !device_set_lines())
        return 2;
    for (int lines = 1; lines >= 0; lines--) {
        atomic_store(&asked, 0);
        atomic_store(&answer, lines);
        CHECK(tutti_threads_run(RANKS, run, &lines) == 0, "lines %d", lines);
        CHECK(atomic_load(&asked) == 1 && atomic_load(&asked_elsewhere) == 0, "%d questions, %d elsewhere",
              atomic_load(&asked), atomic_load(&asked_elsewhere));
    }
    return check_failed() ? 1 : 0;
}
