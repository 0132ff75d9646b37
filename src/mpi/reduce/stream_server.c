/* Calls in stream order over several nodes, while the host makes them: on the server's thread, which calls the MPI and
 * never the device. */
#include "core/clock.h"
#include "core/log.h"
#include "mpi/comm/starting.h"
#include "mpi/real/errors.h"
#include "mpi/reduce/stream_own.h"
#include "mpi/reduce/stream_persistent.h"

static __thread struct proxy_call *under_way;

void tutti_proxy_call_begun(void *with)
{
    struct proxy_call *const call = with;
    call->since = tutti_now_ns();
    call->reported = 0;
    call->request = tutti_handles.no_request;
    call->piece.round = 0;
    call->behind = under_way;
    under_way = call;
}

void tutti_proxy_call_begin(struct tutti_host_step *step)
{
    struct proxy_call *const call = (struct proxy_call *)step;
    if (atomic_load(&call->of->base.failed) == TUTTI_OK)
        tutti_proxy_call_begun(call);
    else
        tutti_host_step_end(step);
}

/* 1: it has ended; 0: not yet; or a negative status. */
static int mover_poll(struct proxy_call *call)
{
    int ended = 0, code = MPI_SUCCESS;
    if (call->request == tutti_handles.no_request)
        code = tutti_collective_start(call->exchange, &call->later->args, &call->request);
    if (code == MPI_SUCCESS)
        code = tutti_next.MPI_Test(&call->request, &ended, MPI_STATUS_IGNORE);
    return code != MPI_SUCCESS ? TUTTI_ERR_TRANSPORT : ended;
}

static void call_ended(struct proxy_call *call, int status)
{
    int none = TUTTI_OK;
    if (status < 0 && atomic_compare_exchange_strong(&call->of->base.failed, &none, status))
        tutti_error("%s, in the order of a stream, has failed: %s", call->name, tutti_status_text(status));
    if (call->message) {
        tutti_proxy_message_ended(call, status);
        return;
    }
    if (status > 0 && !call->later)
        tutti_count_staged(call->name, TUTTI_REASON_NODES, NULL, call->reduction.call.count * call->reduction.size);
    if (!call->pieces)
        tutti_host_step_end(&call->step);
    else if (status < 0)
        tutti_stream_pieces_release(call->pieces);
}

/* 1: it has ended; 0: not yet; or a negative status. */
static int call_poll(struct proxy_call *call)
{
    if (call->message)
        return tutti_proxy_message_poll(call);
    if (call->later)
        return mover_poll(call);
    if (!call->pieces)
        return tutti_stream_piece_poll(&call->piece);
    const size_t before = call->pieces->ended;
    const int status = tutti_stream_pieces_poll(call->pieces);
    if (call->pieces->ended != before)
        call->since = tutti_now_ns();
    return status;
}

void tutti_proxy_poll(void)
{
    TUTTI_INSIDE();
    for (struct proxy_call **at = &under_way, *call; (call = *at) != NULL;) {
        tutti_deferred_call_starting++;
        int status = call_poll(call);
        tutti_deferred_call_starting--;
        if (status == 0 && (!call->message || tutti_proxy_message_waits(call)))
            status = tutti_proxy_look_at_time(call->since, &call->reported, call->name);
        if (status == 0) {
            at = &call->behind;
            continue;
        }
        *at = call->behind;
        call_ended(call, status);
    }
    tutti_persistent_poll();
}

void tutti_proxy_call_passed(void *with)
{
    atomic_store_explicit(&((struct proxy_call *)with)->over, 1, memory_order_release);
}

void tutti_proxy_call_over(struct tutti_host_step *step)
{
    tutti_proxy_call_passed(step);
}
