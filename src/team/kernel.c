/* Waiting for kernels, and what kernels of the host device call while they wait. */
#include "core/log.h"
#include "core/settings.h"
#include "progress/engine.h"
#include "progress/fiber.h"
#include "team/mail.h"
#include "team/node.h"
#include "team/resources.h"

/* The word of the host that says that a kernel has ended: it has reached `value`, or differs from it. */
struct notice {
    const uint32_t *word;
    uint32_t value;
    int differs;
};

static int kernel_noticed(const struct notice *n)
{
    uint32_t now = __atomic_load_n(n->word, __ATOMIC_ACQUIRE);
    return n->differs ? now != n->value : tutti_reached(now, n->value);
}

/* Why the kernels that are under way will not report: they have left or failed. TUTTI_OK: they are at work. */
static int team_kernel_left(struct tutti_team *team, const struct notice *n, int mailed)
{
    int state = team->device->stream.query(team->stream);
    if (state == 0 || kernel_noticed(n))
        return TUTTI_OK;
    if (state > 0 && mailed && tutti_mail_lost(team))
        return TUTTI_OK;
    if (state < 0) {
        tutti_error("a kernel on %s failed: %s", team->transport->label, tutti_status_text(state));
        return state;
    }
    int status = tutti_membership(team)->kernel_status;
    if (status != TUTTI_OK)
        return status;
    tutti_error("a kernel on %s gave up waiting for a peer", team->transport->label);
    return TUTTI_ERR_TIMEOUT;
}

/* A wait for a kernel; mailed: it may also leave without having begun, and *mailed is then 0. */
struct kernel {
    struct tutti_team *team;
    const struct notice *n;
    int *mailed;
    struct tutti_waiting w;
    uint64_t asked; /* when the device was asked last */
};

static int kernel_ended(void *with)
{
    struct kernel *k = with;
    if (kernel_noticed(k->n))
        return 1;
    if (k->mailed && tutti_mail_lost(k->team)) {
        *k->mailed = 0;
        return 1;
    }
    if (k->w.waited - k->asked <= 1000000) /* seldom: a query costs more than a look at the word */
        return 0;
    k->asked = k->w.waited;
    return team_kernel_left(k->team, k->n, k->mailed != NULL);
}

void tutti_team_expect(struct tutti_team *team, uint64_t work)
{
    struct tutti_membership *membership = tutti_membership(team);
    if (membership)
        membership->work = work;
}

/* 1 if the wait may begin asleep: no other work of this rank needs progress, and in a fiber no other fiber is delayed.
 * The call itself needs no progress: all ranks have arrived, and kernels do the rest. */
static int kernel_may_nap(uint64_t work)
{
    return work && tutti_settings()->wait == TUTTI_SET_WAIT_AUTO && !tutti_fiber_here() && !tutti_progress_busy();
}

/* The wait for work whose time can be forecast. */
static int kernel_await_work(struct kernel *k, uint64_t work)
{
    struct tutti_forecast *forecast = &tutti_membership(k->team)->forecast;
    const int first = forecast->late_ns == 0;
    const uint64_t start = tutti_now_ns();
    uint64_t slept;
    const uint64_t nap = tutti_forecast_sleep(forecast, work, &slept);
    if (nap > 0 && first)
        tutti_debug("%s: waits for kernels of %llu us are slept through", k->team->transport->label,
                    (unsigned long long)(nap / 1000));
    const int ended = kernel_noticed(k->n);
    const int status = ended ? TUTTI_OK : tutti_await(&k->w, kernel_ended, k);
    if (status == TUTTI_OK)
        tutti_forecast_note(forecast, work, tutti_now_ns() - start, nap, slept, ended);
    return status;
}

static int kernel_await(struct tutti_team *team, const struct notice *n, int *mailed)
{
    struct kernel k = {
        .team = team, .n = n, .mailed = mailed, .w = tutti_waiting(team, TUTTI_WAITING_KERNEL, UINT64_MAX)};
    if (team->state == TUTTI_TEAM_BROKEN)
        return TUTTI_ERR_BROKEN;
    const uint64_t work = tutti_membership(team)->work;
    const int status = kernel_ended(&k) == 1  ? TUTTI_OK
                       : kernel_may_nap(work) ? kernel_await_work(&k, work)
                                              : tutti_await(&k.w, kernel_ended, &k);
    if (status != TUTTI_OK) {
        tutti_team_break(team, status);
        tutti_resources_drain(team);
    }
    return status;
}

void tutti_team_drain(struct tutti_team *team)
{
    tutti_resources_drain(team);
}

int tutti_team_await_kernel(struct tutti_team *team, uint32_t epoch)
{
    const struct notice done = {&team->words->done, epoch, 0};
    return kernel_await(team, &done, NULL);
}

int tutti_team_await_notice(struct tutti_team *team)
{
    const struct notice changed = {&team->words->noticed, team->noticed, 1};
    int status = kernel_await(team, &changed, NULL);
    team->noticed = __atomic_load_n(&team->words->noticed, __ATOMIC_RELAXED);
    return status;
}

int tutti_team_await_mail(struct tutti_team *team, uint32_t launch_number, int *served)
{
    *served = 1;
    const struct notice done = {&team->words->done, launch_number, 0};
    int status = kernel_await(team, &done, served);
    if (!*served)
        team->mail.launch_number = 0;
    return status;
}

int tutti_team_host_wait(void *with)
{
    struct tutti_team *team = with;
    struct tutti_membership *membership = tutti_membership(team);
    if (__atomic_load_n(&team->words->abort, __ATOMIC_ACQUIRE))
        return 1;
    /* Kernels on a thread of their own: the rank's thread is in tutti_team_await_kernel and sees to the rest. */
    if (__atomic_load_n(&membership->caller, __ATOMIC_RELAXED) != tutti_fiber_self())
        return 0;
    if (!membership->kernel.team ||
        membership->kernel_epoch != team->epoch) { /* launches in stream order have no epoch here */
        membership->kernel_epoch = team->epoch;
        membership->kernel = tutti_waiting(team, TUTTI_WAITING_KERNEL, UINT64_MAX);
    }
    int status = tutti_wait_look(&membership->kernel);
    if (status == TUTTI_OK)
        return 0;
    membership->kernel_status = status;
    __atomic_store_n(&team->words->abort, 1, __ATOMIC_RELEASE);
    return 1;
}
