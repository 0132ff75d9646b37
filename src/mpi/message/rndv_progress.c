/* Progress of messages by rendezvous: polls of sends, and looks at the open receives. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/spares.h"
#include "mpi/bounce/stage.h"
#include "mpi/comm/comms.h"
#include "mpi/message/requests.h"
#include "mpi/message/rndv_send.h"
#include "mpi/message/short_recv.h"
#include "mpi/real/errors.h"
#include "mpi/real/self.h"
#include "mpi/request/request.h"
#include "mpi/request/waits.h"

enum { ENDING_NS = 1000000000 };

static void rndv_poll(void);
static struct tutti_step sends = {.name = "sends to ranks of the node", .poll = rndv_poll};
struct tutti_lock tutti_sends_lock;
/* With an RTS or data on the way, or not left; the oldest first. Their requests complete in the order in which the MPI
 * has them, so that the message that completes one finds it at the head of the MPI's list. */
static struct tutti_send_request *all TUTTI_GUARDED(tutti_sends_lock), **last TUTTI_GUARDED(tutti_sends_lock) = &all;

/* Those that have ended, for the next ones. */
static struct tutti_spares spares;

struct tutti_send_request *tutti_send_new(const struct tutti_message *message)
{
    struct tutti_send_request *sent =
        tutti_spares_take(&spares, offsetof(struct tutti_send_request, next), tutti_door_alone());
    if (!sent && !(sent = malloc(sizeof *sent)))
        return NULL;
    memset(sent, 0, offsetof(struct tutti_send_request, text));
    sent->message = *message;
    sent->rts = tutti_handles.no_request;
    sent->tag = -1;
    return sent;
}

void tutti_send_destroy(struct tutti_send_request *sent)
{
    if (sent->given_up)
        tutti_self_end(0, &sent->request);
    if (sent->claimed && !sent->borrowed)
        tutti_self_keep(sent->tag, sent->request);
    else if (sent->tag >= 0 && !sent->borrowed)
        tutti_self_release(sent->tag);
    if (sent->plan_held)
        tutti_plan_drop(sent->core.elements.plan);
    tutti_spares_give(&spares, sent, offsetof(struct tutti_send_request, next), tutti_door_alone());
}

static void list_append(struct tutti_send_request *sent) TUTTI_HOLDS(tutti_sends_lock)
{
    sent->next = NULL;
    *last = sent;
    last = &sent->next;
    if (sent->core.rndv)
        tutti_p2p_list(&tutti_p2p, &sent->core);
    tutti_step_open_locked(&sends);
}

static int sends_are_open(void)
{
    return tutti_step_busy(&sends);
}

void tutti_send_list(struct tutti_send_request *sent)
{
    tutti_progress_add(&sends);
    tutti_lock_take_alone(&tutti_sends_lock, tutti_door_alone());
    list_append(sent);
    tutti_lock_give(&tutti_sends_lock);
}

/* The data are out of the program's buffer. */
static int rndv_progress_has_left(struct tutti_send_request *sent)
{
    int status = TUTTI_OK;
    const int left = tutti_p2p_data_out(&tutti_p2p, &sent->core, &status);
    if (status != TUTTI_OK)
        sent->code = tutti_error_code(status);
    return left;
}

/* 1 if a synchronous message will not be received any more. */
static int in_vain(struct tutti_send_request *sent)
{
    const int status = tutti_p2p_alive(&tutti_p2p, &sent->core);
    if (status != TUTTI_OK)
        sent->code = tutti_error_code(status);
    return status != TUTTI_OK;
}

/* A probe of the receiver has taken the RTS out, and must not count as a receive of it. */
static int is_held(const struct tutti_send_request *sent)
{
    return sent->core.rndv && atomic_load_explicit(&sent->core.rndv->held, memory_order_acquire) != TUTTI_HELD_NOT;
}

static int handle_complete(MPI_Request *request)
{
    int flag = 1;
    if (*request != tutti_handles.no_request && tutti_next.MPI_Test(request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        flag = 1;
    return flag;
}

int tutti_send_is_over(struct tutti_send_request *sent)
{
    TUTTI_INSIDE();
    if (!handle_complete(&sent->rts))
        return 0;
    atomic_store_explicit(&sent->state, TUTTI_SEND_OUT, memory_order_release);
    return 1;
}

/* Whether the RTS is sent. A test of one that is not polls the MPI's networks: behind one such RTS (*open) those are
 * not asked whose data have not left, unless the data wait for the RTS. */
static int rts_is_gone(struct tutti_send_request *sent, int waits_for_rts, int *open)
{
    if (sent->rts == tutti_handles.no_request)
        return 1;
    if (*open && !waits_for_rts && sent->state == TUTTI_SEND_ON_ITS_WAY)
        return 0;
    const int gone = handle_complete(&sent->rts);
    *open |= !gone;
    return gone;
}

/* 1 if the entry leaves the list. The RTS may leave after the data: an MPI may report one to itself as sent only
 * when it is received. */
static int rndv_step(struct tutti_send_request *sent, int *open) TUTTI_HOLDS(tutti_sends_lock)
{
    const int synchronous = sent->message.mode == TUTTI_SEND_SYNCHRONOUS;
    const int waits_for_rts = !sent->core.elements.plan || synchronous;
    const int gone = rts_is_gone(sent, waits_for_rts, open), carried = tutti_p2p_send_done(&tutti_p2p, &sent->core);
    const int waits = gone ? synchronous && is_held(sent) : waits_for_rts;
    if (sent->state == TUTTI_SEND_ON_ITS_WAY && (!waits || in_vain(sent)) && rndv_progress_has_left(sent)) {
        atomic_store_explicit(&sent->state, TUTTI_SEND_LEFT, memory_order_release);
        if (sent->tag >= 0 && !sent->claimed)
            tutti_self_complete(sent->tag); /* before the list is empty: see self.h */
        tutti_step_close_locked(&sends);
    }
    return sent->state == TUTTI_SEND_LEFT && gone && carried;
}

static void rndv_progress_poll_locked(void) TUTTI_HOLDS(tutti_sends_lock)
{
    struct tutti_send_request **at = &all;
    int open = 0, left = 0;
    tutti_p2p_poll(&tutti_p2p);
    while (*at && (left < TUTTI_SENDS_LOOKS || tutti_p2p.looks_at_all)) {
        struct tutti_send_request *sent = *at;
        if (!rndv_step(sent, &open)) {
            at = &sent->next;
            left++;
            continue;
        }
        *at = sent->next;
        if (last == &sent->next)
            last = at;
        sent->next = NULL;
        if (sent->freed)
            tutti_send_destroy(sent);
        else
            atomic_store_explicit(&sent->state, TUTTI_SEND_OUT, memory_order_release);
    }
}

static void rndv_poll(void)
{
    if (!tutti_endpoint)
        return;
    tutti_endpoint_announce_rest(tutti_endpoint, tutti_door_alone());
    if (!tutti_lock_try_alone(&tutti_sends_lock, tutti_door_alone()))
        return;
    TUTTI_INSIDE();
    if (all)
        rndv_progress_poll_locked();
    tutti_lock_give(&tutti_sends_lock);
    tutti_endpoint_poll(tutti_endpoint);
}

int tutti_send_claim(struct tutti_send_request *sent)
{
    return sent->claimed = !tutti_send_has_left(sent);
}

/* 1 if the MPI does not know yet that the data have left. */
static int claim_ends(struct tutti_send_request *sent) TUTTI_HOLDS(tutti_sends_lock)
{
    const int lacks = sent->claimed && tutti_send_has_left(sent);
    sent->claimed = 0;
    return lacks;
}

void tutti_send_unclaim(struct tutti_send_request *sent)
{
    tutti_lock_take_alone(&tutti_sends_lock, tutti_door_alone());
    const int lacks = claim_ends(sent);
    tutti_lock_give(&tutti_sends_lock);
    if (lacks)
        tutti_self_complete(sent->tag);
}

/* The poll that takes it out of the list destroys it; 1: one has. */
static int list_frees(struct tutti_send_request *sent) TUTTI_HOLDS(tutti_sends_lock)
{
    sent->freed = 1;
    return sent->state == TUTTI_SEND_OUT;
}

void tutti_send_release(struct tutti_send_request *sent)
{
    if (atomic_load_explicit(&sent->state, memory_order_acquire) == TUTTI_SEND_OUT) { /* no poll reads it any more */
        tutti_send_destroy(sent);
        return;
    }
    tutti_lock_take_alone(&tutti_sends_lock, tutti_door_alone());
    const int out = list_frees(sent);
    tutti_lock_give(&tutti_sends_lock);
    if (out)
        tutti_send_destroy(sent);
}

static int has_left_now(void *with)
{
    return tutti_send_has_left(with);
}

/* A receiver that waits in another call, perhaps in a send of its own, fetches the message meanwhile. The rendezvous is
 * not given back while the lock is held. */
static void send_urge(struct tutti_send_request *sent) TUTTI_HOLDS(tutti_sends_lock)
{
    if (sent->core.rndv)
        tutti_endpoint_urge(tutti_endpoint, sent->core.rndv);
}

void tutti_send_await(struct tutti_send_request *sent)
{
    tutti_lock_take_alone(&tutti_sends_lock, tutti_door_alone());
    send_urge(sent);
    tutti_lock_give(&tutti_sends_lock);
    tutti_progress_wait(&(const struct tutti_wait){.done = has_left_now, .with = sent});
}

/* ---- receives ---- */

/* A look asks the MPI about each open receive. One that finds no RTS is the last for REST times as long as it took:
 * RTSs may be for receives that the program posts later. */
enum { REST = 8 };

/* Those that the program holds, and those with memory of their own. */
static void receives_look(void)
{
    tutti_requests_look();
    tutti_stamped_look();
}

/* Where this rank waits for its sends, its peers may wait for theirs too, in calls that fetch no message. So this rank
 * fetches their messages then, before they are packed. With several threads it does not: other calls would wait at the
 * table's lock. */
static void receives_poll_exchange(void)
{
    static uint64_t next;
    const uint64_t now = tutti_now_ns();
    const uint32_t seen = tutti_endpoint_rtss(tutti_endpoint);
    if (now < next)
        return;
    receives_look();
    if (tutti_endpoint_rtss(tutti_endpoint) == seen) {
        const uint64_t then = tutti_now_ns();
        next = then + REST * (then - now);
    }
}

/* A peer's send may wait for a receive of this rank, in any wait of this rank. */
static void receives_poll(void)
{
    if (!tutti_endpoint)
        return;
    if (tutti_endpoint_urged(tutti_endpoint))
        receives_look();
    else if (tutti_waits_for_claimed && !tutti_door.multiple && sends_are_open() &&
             tutti_endpoint_expects(tutti_endpoint))
        receives_poll_exchange();
}

static struct tutti_lock receives_lock; /* of its count */
static struct tutti_step receives = {.name = "receives of device memory", .poll = receives_poll};

static void receives_count(int more) TUTTI_HOLDS(receives_lock)
{
    if (more)
        tutti_step_open_locked(&receives);
    else
        tutti_step_close_locked(&receives);
}

void tutti_receives_open(void)
{
    tutti_progress_add(&receives);
    tutti_lock_take_alone(&receives_lock, tutti_door_alone());
    receives_count(1);
    tutti_lock_give(&receives_lock);
}

void tutti_receives_close(void)
{
    tutti_lock_take_alone(&receives_lock, tutti_door_alone());
    receives_count(0);
    tutti_lock_give(&receives_lock);
}

/* ---- the end ---- */

/* In MPI_Finalize. Once all ranks are there no rank receives any more: a message that does not leave soon after that
 * never will. */
struct ending {
    MPI_Request here; /* all ranks are */
    uint64_t since;   /* when they were; 0: not yet */
    int dropped;
};

TUTTI_UNGUARDED static int rndv_ended(void *with) /* only whether the list is empty */
{
    struct ending *ending = with;
    rndv_poll(); /* also what has left, whose RTSs are on their way */
    if (ending->since == 0 && handle_complete(&ending->here))
        ending->since = tutti_now_ns();
    const int left = (tutti_endpoint && all) || tutti_step_busy(&tutti_far_step);
    ending->dropped = left && ending->since != 0 && tutti_now_ns() - ending->since > ENDING_NS;
    return ending->since != 0 && (!left || ending->dropped);
}

/* No poll looks at dropped messages, neither in the rest of MPI_Finalize nor in a later session. Their memory stays:
 * the MPI may still have their RTSs, or parts of their data. */
static void sends_drop(void)
{
    tutti_lock_take_alone(&tutti_sends_lock, tutti_door_alone());
    for (const struct tutti_send_request *sent = all; sent; sent = sent->next) {
        if (sent->state == TUTTI_SEND_ON_ITS_WAY)
            tutti_step_close_locked(&sends);
    }
    all = NULL;
    last = &all;
    tutti_lock_give(&tutti_sends_lock);
}

void tutti_rndv_end(void)
{
    struct ending ending = {.here = tutti_handles.no_request};
    if (tutti_next.MPI_Ibarrier(tutti_endpoints_own_world(), &ending.here) != MPI_SUCCESS)
        return;
    tutti_progress_wait(
        &(const struct tutti_wait){.done = rndv_ended,
                                   .with = &ending,
                                   .what = "in MPI_Finalize, for messages that no rank has received",
                                   .watched = 1,
                                   .seconds = tutti_comms_broken() ? 2 : tutti_settings()->timeout_seconds});
    if (tutti_endpoint)
        sends_drop();
    if (ending.dropped)
        tutti_warn(
            "MPI_Finalize: messages of this rank are dropped: they were not received, or the receiver's buffer was too "
            "short");
}
