/* Requests that the program has freed before they completed: the memory of Tutti's that they use outlives them, and
 * what they receive is delivered. They are a step: a program may only probe until the data are there.
 *
 * A look at a request takes it off the list: one thread at a time looks at it, and no lock is held while the MPI is
 * asked. A call that has to deliver what has arrived is a need. Needs are numbered, and a request keeps the number of
 * the last need before its last look (`met`). The call looks at each request whose last look began before the need.
 * If another thread's look began before the need, the MPI may have answered that look before the message arrived. The
 * call waits for the end of that look, and looks again. */
#include <stdatomic.h>

#include "core/clock.h"
#include "core/lock.h"
#include "core/log.h"
#include "mpi/real/errors.h"
#include "mpi/real/quiet.h"
#include "mpi/request/request.h"
#include "progress/engine.h"

static void freed_poll(void);
static struct tutti_step step = {.name = "requests that the program has freed", .poll = freed_poll};
__thread int tutti_sweeps_off;

/* A look under way, of one thread. */
struct freed_look {
    uint64_t met; /* of its request */
    struct freed_look *next;
};
static struct tutti_lock lock;
static uint64_t needs TUTTI_GUARDED(lock);           /* so far */
static struct freed_look *looks TUTTI_GUARDED(lock); /* all that are under way */
static struct tutti_request *freed TUTTI_GUARDED(lock), **last TUTTI_GUARDED(lock) = &freed; /* by rising `met` */
static uint64_t last_met TUTTI_GUARDED(lock); /* of the last in the list */

static void freed_put(struct tutti_request *entry) TUTTI_HOLDS(lock)
{
    struct tutti_request **at = !freed || entry->met >= last_met ? last : &freed;
    while (*at && (*at)->met <= entry->met)
        at = &(*at)->next;
    entry->next = *at;
    *at = entry;
    if (entry->next)
        return;
    last = &entry->next;
    last_met = entry->met;
}

/* The next request whose last look began before this need; NULL: no request is left. */
static struct tutti_request *freed_take(uint64_t need, struct freed_look *look) TUTTI_HOLDS(lock)
{
    struct tutti_request *const entry = freed;
    if (!entry || entry->met >= need)
        return NULL;
    freed = entry->next;
    if (!freed)
        last = &freed;
    *look = (struct freed_look){entry->met, looks};
    looks = look;
    return entry;
}

static void freed_look_end(const struct freed_look *look) TUTTI_HOLDS(lock)
{
    struct freed_look **at = &looks;
    while (*at != look)
        at = &(*at)->next;
    *at = look->next;
}

/* 1 if no request is left, and no look is under way at one. */
static int freed_have_met(uint64_t need) TUTTI_HOLDS(lock)
{
    const struct freed_look *look = looks;
    while (look && look->met >= need)
        look = look->next;
    return !look && (!freed || freed->met >= need);
}

void tutti_request_orphan(struct tutti_request *entry)
{
    tutti_progress_add(&step);
    tutti_step_open(&step);
    tutti_lock_take(&lock);
    entry->met = needs;
    freed_put(entry);
    tutti_lock_give(&lock);
}

/* 1 if the request has completed and the MPI has freed it. No caller gets its error. */
static int freed_complete(struct tutti_request *entry)
{
    int flag = 0, code = MPI_SUCCESS;
    TUTTI_INSIDE();
    if (!entry->ended)
        code = tutti_look(entry->handle, &flag, &entry->status);
    entry->ended |= flag;
    if (code == MPI_SUCCESS && (!entry->ended || !tutti_request_fetched(entry, &entry->status)))
        return 0;
    tutti_unraised++;
    if (code == MPI_SUCCESS)
        tutti_request_deliver(entry, &entry->status);
    tutti_unraised--;
    tutti_next.MPI_Request_free(&entry->handle); /* MPI_Test would raise the error */
    return 1;
}

static int none_freed(void)
{
    return likely(atomic_load_explicit(&step.open, memory_order_acquire) == 0);
}

static uint64_t freed_need(void)
{
    tutti_lock_take(&lock);
    const uint64_t need = ++needs;
    tutti_lock_give(&lock);
    return need;
}

/* Looks at the next request for this need, and destroys it if it has ended. 0: no request is left. */
static int freed_look(uint64_t need)
{
    struct freed_look look;
    tutti_lock_take(&lock);
    const uint64_t met = needs;
    struct tutti_request *const entry = freed_take(need, &look);
    tutti_lock_give(&lock);
    if (!entry)
        return 0;
    const int ended = freed_complete(entry);
    if (ended) {
        tutti_request_destroy(entry);
        tutti_step_close(&step);
    }
    tutti_lock_take(&lock);
    freed_look_end(&look);
    if (!ended) {
        entry->met = met;
        freed_put(entry);
    }
    tutti_lock_give(&lock);
    return 1;
}

/* A look may wait, and the wait polls this step. */
static void freed_looks(uint64_t need)
{
    tutti_sweeps_off++;
    while (freed_look(need))
        ;
    tutti_sweeps_off--;
}

static int freed_met(void *with)
{
    const uint64_t need = *(const uint64_t *)with;
    if (none_freed())
        return 1;
    freed_looks(need);
    tutti_lock_take(&lock);
    const int met = freed_have_met(need);
    tutti_lock_give(&lock);
    return met;
}

/* In MPI_Finalize, after the callbacks of the program's attributes. Once all ranks are there none begins another
 * message. After CANCEL_NS without an end, receives that the MPI has not matched are cancelled. What has not ended
 * after LEAVE_NS, such as a send that no rank receives, is left to the MPI. */
enum { CANCEL_NS = 1000000000 };
static const uint64_t LEAVE_NS = 10ULL * CANCEL_NS;

struct freed_ending {
    MPI_Request here; /* all ranks are */
    int all_here, cancelled;
    int open;       /* at the last look */
    uint64_t since; /* when it has changed, or the last rank has arrived */
};

static void freed_cancel(void)
{
    TUTTI_INSIDE();
    tutti_lock_take(&lock);
    for (struct tutti_request *entry = freed; entry; entry = entry->next) {
        if (!entry->ended && !entry->kind->cancel)
            tutti_next.MPI_Cancel(&entry->handle);
    }
    tutti_lock_give(&lock);
}

/* Their memory stays: the MPI may still use it. */
static void freed_leave(void)
{
    int left = 0;
    tutti_lock_take(&lock);
    for (const struct tutti_request *entry = freed; entry; entry = entry->next, left++)
        tutti_step_close(&step);
    freed = NULL;
    last = &freed;
    tutti_lock_give(&lock);
    tutti_warn("MPI_Finalize: %d of the requests that the program has freed never ended: no rank takes part in them",
               left);
}

static int freed_ended(void *with)
{
    struct freed_ending *const ending = with;
    freed_poll();
    const int open = atomic_load_explicit(&step.open, memory_order_acquire), were_here = ending->all_here;
    const uint64_t now = tutti_now_ns();
    if (!were_here && tutti_next.MPI_Test(&ending->here, &ending->all_here, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        ending->all_here = 1;
    if (open != ending->open || !were_here)
        ending->since = now;
    ending->open = open;
    if (open == 0 || !ending->all_here || now - ending->since < CANCEL_NS)
        return open == 0 && ending->all_here;
    if (!ending->cancelled)
        freed_cancel();
    ending->cancelled = 1;
    if (now - ending->since < LEAVE_NS)
        return 0;
    freed_leave();
    return 1;
}

static void freed_poll(void)
{
    if (!tutti_sweeps_off)
        freed_looks(freed_need());
}

/* The wait for another thread's look has a limit: the MPI may have called a callback with a lock held for which that
 * thread waits, and the callback may have made this call. */
void tutti_requests_sweep(void)
{
    enum { SECONDS = 10 };
    if (tutti_sweeps_off || none_freed())
        return;
    uint64_t need = freed_need();
    if (tutti_progress_polling())
        freed_looks(need);
    else if (!freed_met(&need))
        tutti_progress_wait(&(const struct tutti_wait){.done = freed_met, .with = &need, .seconds = SECONDS});
}

void tutti_requests_end(MPI_Comm world, long seconds)
{
    struct freed_ending ending = {.here = tutti_handles.no_request};
    if (tutti_next.MPI_Ibarrier(world, &ending.here) != MPI_SUCCESS)
        return;
    tutti_progress_wait(&(const struct tutti_wait){.done = freed_ended,
                                                   .with = &ending,
                                                   .what = "in MPI_Finalize, for requests that were freed",
                                                   .watched = 1,
                                                   .seconds = seconds});
}
