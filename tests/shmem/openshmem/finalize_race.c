/* A PE that waits in a collective looks whether another PE has arrived, and then whether that PE is in
 * tshmem_finalize, where it would wait for this one forever. Between the two looks the other may come, and go on to
 * its end: that is no error. The look at what has arrived is replaced, so that the other does so after the first look.
 */
#include <stdatomic.h>
#include <string.h>

#include "shmem/far.h"
#include "shmem/meet.h"
#include "shmem/space.h"
#include "support/check.h"

static uint64_t goes_on; /* what arrives after the first look; 0: nothing */

static uint64_t looked(_Atomic uint64_t *arrived)
{
    const uint64_t before = atomic_load(arrived);
    if (goes_on)
        atomic_store(arrived, goes_on);
    goes_on = 0;
    return before;
}

#undef atomic_load_explicit
#define atomic_load_explicit(arrived, order) looked((_Atomic uint64_t *)(arrived))
#include "../../../src/shmem/meet.c"

enum { SEQUENCE = 5 };
static struct tutti_shmem_control control;
static struct tutti_shmem_control *controls[] = {&control, NULL};
static int32_t world[] = {0, 1};

static int look_at(uint64_t before, uint64_t after)
{
    struct tshmem_team_state team = {.size = 2, .number = TSHMEM_TEAM_WORLD, .world = {0, 1}};
    struct tutti_shmem_place *place = &control.place[TSHMEM_TEAM_WORLD];
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_FREE, .team = &team, .place = place};
    struct meeting m = {.call = &call, .next = 1};
    static uint32_t abort_word;
    struct tutti_shmem space = {.state = {.pes = 2, .abort = &abort_word},
                                .control = controls,
                                .world = {[TSHMEM_TEAM_WORLD] = world},
                                .kernel_view = &control.kernel_view};
    control.kernel_view.team[TSHMEM_TEAM_WORLD] = team;
    place->sequence = SEQUENCE;
    atomic_store(&place->arrived[1], before);
    goes_on = after;
    return meet_all_arrived(&space, &m);
}

int main(void)
{
    const uint64_t earlier = tutti_shmem_arrival(SEQUENCE - 1, TUTTI_SHMEM_FREE);
    CHECK(look_at(earlier, 0) == 0, "a PE that has not come is waited for");
    CHECK(look_at(tutti_shmem_arrival(SEQUENCE, TUTTI_SHMEM_FREE), 0) == 1, "one that has come is not");
    CHECK(look_at(earlier, tutti_shmem_arrival(SEQUENCE + 1, TUTTI_SHMEM_FINALIZE)) == 0,
          "nor is it an error to go on");
    return check_failed() != 0;
}
