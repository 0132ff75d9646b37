/* How the GPUs of a team are linked: whether lines of 128 bytes arrive whole. The answer may take tens of milliseconds,
 * and most kernels need none. So a team opens without it (lines_later), and rank 0 alone asks, since processes that ask
 * at once wait for each other. When it knows that all links deliver lines, its arrivals carry that. All ranks take it
 * from the first call at which all arrive with device memory, since all read the same records there. */
#include <stdatomic.h>
#include <string.h>

#include "core/settings.h"
#include "core/status.h"
#include "team/node.h"

/* Calls of the process before rank 0 asks. Starting NVML holds the driver for milliseconds, and lines save microseconds
 * a call. */
enum { CALLS_BEFORE = 256 };
enum { LINES_UNKNOWN, LINES_NOT, LINES_WHOLE };

static int links_have_lines(const struct tutti_team *team)
{
    const struct tutti_membership *membership = tutti_membership(team);
    for (int a = 0; a < team->gpus && team->device->gpu.lines; a++) {
        for (int b = a + 1; b < team->gpus; b++) {
            if (!team->device->gpu.lines(membership->uuid[a], membership->uuid[b]))
                return 0;
        }
    }
    return 1;
}

static int links_are_known(const struct tutti_team *team, int ask)
{
    const struct tutti_membership *membership = tutti_membership(team);
    return !team->device->gpu.ready ||
           team->device->gpu.ready((const unsigned char(*)[16])membership->uuid, team->gpus, ask);
}

enum tutti_lines tutti_team_lines_open(struct tutti_team *team)
{
    tutti_membership(team)->lines = LINES_UNKNOWN;
    if (!tutti_settings()->mapping_price_us && !links_are_known(team, 0))
        return TUTTI_LINES_LATER;
    return links_have_lines(team) ? TUTTI_LINES_THERE : TUTTI_LINES_NONE;
}

int tutti_team_lines_look(struct tutti_team *team)
{
    static atomic_uint calls;
    struct tutti_membership *membership = tutti_membership(team);
    if (membership->lines == LINES_UNKNOWN &&
        atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) >= CALLS_BEFORE && links_are_known(team, 1))
        membership->lines = links_have_lines(team) ? LINES_WHOLE : LINES_NOT;
    return membership->lines == LINES_WHOLE;
}

int tutti_team_lines_told(const struct tutti_team *team, const struct tutti_arrival *const all[])
{
    int come = (int)all[0]->lines;
    for (int r = 0; r < team->size; r++)
        come &= all[r]->kind == TUTTI_ARRIVAL_DEVICE;
    return come;
}

void tutti_team_lines_take(struct tutti_team *team)
{
    team->lines = 1;
    team->lines_later = 0;
}

int tutti_team_lines_settle(struct tutti_team *team)
{
    uint32_t all;
    if (!team->lines_later)
        return TUTTI_OK;
    const int status = tutti_team_vote(team, team->rank != 0 || links_have_lines(team), &all);
    team->lines_later = 0;
    team->lines = status == TUTTI_OK && all;
    return status;
}
