/* How the GPUs of a team are linked: rank 0 alone has the device asked, in the background, about the GPUs
 * that the ranks work on; it alone asks when the team opens, and all take its answer. The simulated GPUs
 * never know at the first question. */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/status.h"
#include "device/device.h"
#include "kit.h"
#include "team/sharing.h"
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

static void calls_before(struct kit *kit, int rank)
{
    unsigned char gpus[GPUS + 1][16], uuid[16];
    const int ranks[RANKS] = {3, 2, 1, 0};
    if (rank == 0)
        CHECK(tutti_team_links_are_known(kit->team, 0) == 1, "one GPU alone");
    CHECK(kit_meet(kit->team, 1) == TUTTI_OK, "meeting 1");
    if (rank > 0)
        CHECK(tutti_team_links_are_known(kit->team, rank % GPUS) == 1, "rank %d asks", rank);
    CHECK(kit_meet(kit->team, 2) == TUTTI_OK, "meeting 2");
    CHECK(tutti_sharing_gpus(kit->node, ranks, RANKS, gpus, GPUS + 1) == GPUS, "not each GPU once");
    CHECK(tutti_device()->gpu.uuid(1, uuid) == TUTTI_OK && memcmp(gpus[0], uuid, sizeof uuid) == 0, "not of rank 3");
    CHECK(tutti_sharing_gpus(kit->node, ranks, RANKS, gpus, 1) == 1, "more than there is room for");
    CHECK(tutti_team_links_are_known(kit->team, rank % GPUS) == (rank > 0), "rank %d", rank);
    CHECK(kit_meet(kit->team, 3) == TUTTI_OK, "meeting 3");
}

static int run(struct tutti_transport *transport, void *lines)
{
    struct kit kit;
    const int before = *(const int *)lines == 1;
    rank_here = transport->rank;
    if (!kit_open(transport, &kit))
        return 1;
    if (before)
        calls_before(&kit, transport->rank);
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
