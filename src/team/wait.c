#include "team/wait.h"

#include <time.h>

#include "core/log.h"
#include "core/settings.h"
#include "team/map.h"
#include "team/node.h"
#include "team/watch.h"

enum {
    SPINS_ALONE = 128,      /* between looks where the node has a core for each rank */
    SPINS_SHARED = 16,      /* where it has not */
    YIELD_AFTER_NS = 50000, /* a spinning rank yields from then on: helper threads may need the core */
    SLEEP_LEAST_US = 50,
    SLEEP_MOST_US = 1000,
    CHECK_NS = 5000000,      /* between looks after peers */
    STEP_MOST_NS = 500000000 /* a longer step means that this process was stopped: it does not count as waiting */
};
static const uint64_t second = 1000000000;

static int policy(const struct tutti_team *team)
{
    int wait = tutti_settings()->wait;
    if (wait != TUTTI_SET_WAIT_AUTO)
        return wait;
    return team->node->size > team->node->cores ? TUTTI_SET_WAIT_YIELD : TUTTI_SET_WAIT_SPIN;
}

struct tutti_waiting tutti_waiting(struct tutti_team *team, enum tutti_waiting_for what, uint64_t of)
{
    struct tutti_waiting w = {.team = team, .what = what, .of = of};
    w.limit = policy(team) == TUTTI_SET_WAIT_SPIN ? SPINS_ALONE : SPINS_SHARED;
    w.sleep = SLEEP_LEAST_US;
    return w;
}

static void pause_by_policy(struct tutti_waiting *w)
{
    int how = policy(w->team);
    if (how == TUTTI_SET_WAIT_SLEEP && w->waited > YIELD_AFTER_NS) {
        const struct timespec time = {0, (long)w->sleep * 1000};
        nanosleep(&time, NULL);
        w->sleep = w->sleep * 2 < SLEEP_MOST_US ? w->sleep * 2 : SLEEP_MOST_US;
    } else if (how != TUTTI_SET_WAIT_SPIN ||
               (tutti_settings()->wait == TUTTI_SET_WAIT_AUTO && w->waited > YIELD_AFTER_NS)) {
        sched_yield();
    }
}

int tutti_wait_look(struct tutti_waiting *w)
{
    struct tutti_transport *transport = w->team->transport;
    transport->ops->progress(transport);
    if (w->what == TUTTI_WAITING_VOTE || w->what == TUTTI_WAITING_DESCRIPTOR)
        tutti_map_serve(w->team);
    uint64_t now = tutti_now_ns();
    if (w->last != 0)
        w->waited += now - w->last < STEP_MOST_NS ? now - w->last : STEP_MOST_NS;
    w->last = now;
    if (w->waited - w->checked >= CHECK_NS) {
        w->checked = w->waited;
        int status = tutti_watch_peers(w);
        if (status != TUTTI_OK)
            return status;
        if (!w->reported && w->waited >= (uint64_t)tutti_settings()->stall_seconds * second) {
            w->reported = 1;
            tutti_watch_stall(w);
        }
        if (w->waited >= (uint64_t)tutti_settings()->timeout_seconds * second) {
            tutti_watch_timeout(w);
            return TUTTI_ERR_TIMEOUT;
        }
    }
    pause_by_policy(w);
    return TUTTI_OK;
}
