#include "team/wait.h"

#include "core/affinity.h"
#include "core/log.h"
#include "core/settings.h"
#include "progress/engine.h"
#include "progress/fiber.h"
#include "team/node.h"
#include "team/share.h"
#include "team/watch.h"

enum {
    SPINS_ALONE = 128, /* between looks where the node has a core for each thread */
    SPINS_SHARED = 16, /* if it has not */
    NAP_MOST_US = 1000,
    CHECK_NS = 5000000,      /* between looks after peers */
    STEP_MOST_NS = 500000000 /* a longer step means that this process was stopped: it does not count as waiting */
};
static const uint64_t second = 1000000000;

/* Ranks that all spin, and the engine's threads where they are at work. */
static int team_crowded(const struct tutti_team *team)
{
    const int shared = tutti_fibers_any() && !tutti_fibers_unattended() && tutti_thread_cpus_apart() < team->node->size,
              threads = shared ? 2 : 1; /* of each rank */
    return threads * team->node->size > team->node->cores;
}

/* A fiber looks once in its turn, if there are other fibers. */
static unsigned team_spins(const struct tutti_team *team)
{
    const int how = tutti_settings()->wait;
    if (tutti_fiber_here() && atomic_load_explicit(&tutti_fibers_open, memory_order_relaxed) > 1)
        return 1;
    return how == TUTTI_SET_WAIT_SPIN || (how == TUTTI_SET_WAIT_AUTO && !team_crowded(team)) ? SPINS_ALONE
                                                                                             : SPINS_SHARED;
}

struct tutti_waiting tutti_waiting(struct tutti_team *team, enum tutti_waiting_for what, uint64_t of)
{
    tutti_fiber_moved(); /* reaching a wait counts as progress */
    return (struct tutti_waiting){.team = team, .what = what, .of = of};
}

/* Nonblocking calls of a rank share a thread: a rank that works on other calls is slow, and not reported. */
static void look_at_steps(struct tutti_waiting *w)
{
    const struct tutti_membership *membership = tutti_membership(w->team);
    uint64_t steps = 0;
    for (uint64_t rest = w->team->is_nonblocking ? w->of : 0; rest; rest &= rest - 1) {
        const int r = __builtin_ctzll(rest);
        if (r < w->team->size)
            steps += atomic_load_explicit(&membership->node->peer[membership->peer[r]].page->control->steps,
                                          memory_order_relaxed);
    }
    if (steps != w->steps)
        w->still = w->waited;
    w->steps = steps;
}

static int wait_look(void *with, uint64_t *waited)
{
    struct tutti_waiting *w = with;
    struct tutti_transport *transport = w->team->transport;
    transport->ops->progress(transport);
    if (w->what == TUTTI_WAITING_VOTE || w->what == TUTTI_WAITING_DESCRIPTOR)
        tutti_share_serve(w->team);
    uint64_t now = tutti_now_ns();
    if (w->last != 0)
        w->waited += now - w->last < STEP_MOST_NS ? now - w->last : STEP_MOST_NS;
    w->last = now;
    if (w->waited - w->checked >= CHECK_NS) {
        w->checked = w->waited;
        int status = tutti_watch_peers(w);
        if (status != TUTTI_OK)
            return status;
        look_at_steps(w);
        if (!w->reported && w->waited - w->still >= (uint64_t)tutti_settings()->stall_seconds * second) {
            w->reported = 1;
            tutti_watch_stall(w);
        }
        if (w->waited >= (uint64_t)tutti_settings()->timeout_seconds * second) {
            tutti_watch_timeout(w);
            return TUTTI_ERR_TIMEOUT;
        }
    }
    *waited = w->waited;
    return TUTTI_OK;
}

int tutti_await(struct tutti_waiting *w, int (*done)(void *with), void *with)
{
    return tutti_progress_wait(&(const struct tutti_wait){.done = done,
                                                          .with = with,
                                                          .quiet = 1, /* the transport makes progress */
                                                          .spins = team_spins(w->team),
                                                          .crowded = team_crowded(w->team),
                                                          .look = wait_look,
                                                          .look_with = w});
}

static int wait_look_near(void *with, uint64_t *waited)
{
    enum { EVERY = 16 };
    struct tutti_waiting *w = with;
    *waited = w->waited;
    return ++w->looks % EVERY == 0 ? wait_look(w, waited) : TUTTI_OK;
}

int tutti_await_near(struct tutti_waiting *w, int (*done)(void *with), void *with)
{
    return tutti_progress_wait(&(const struct tutti_wait){.done = done,
                                                          .with = with,
                                                          .quiet = 1, /* as above */
                                                          .spins = SPINS_SHARED,
                                                          .crowded = 1,
                                                          .look = wait_look_near,
                                                          .look_with = w});
}

int tutti_wait_look(struct tutti_waiting *w)
{
    uint64_t waited;
    const int status = wait_look(w, &waited);
    if (status == TUTTI_OK)
        tutti_pause_by(waited, team_crowded(w->team), NAP_MOST_US);
    return status;
}
