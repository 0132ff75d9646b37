/* Puts calls in stream order over several nodes into the stream. */
#include <stdlib.h>

#include "bounce/bounce.h"
#include "dtype/pack.h"
#include "mpi/real/errors.h"
#include "mpi/reduce/stream_own.h"
#include "progress/gate.h"

static void proxy_call_free(struct proxy_call *call)
{
    if (call->captured > 0)
        tutti_gate_captured(-1);
    if (call->event)
        tutti_door.device->event.destroy(call->event);
    if (call->pieces)
        tutti_stream_pieces_close(call->pieces);
    free(call->pieces);
    tutti_stream_piece_close(&call->piece);
    tutti_bounce_give(call->memory);
    tutti_stream_reduction_close(&call->reduction);
    tutti_collective_end(call->exchange);
    if (call->later)
        tutti_deferred_call_free(call->later);
    if (call->message)
        tutti_proxy_message_free(call);
    free(call);
}

static int call_is_passed(const struct proxy_call *call)
{
    return !call->captured && atomic_load_explicit(&call->over, memory_order_acquire) && call->event &&
           tutti_door.device->event.query(call->event) != 0;
}

/* Frees calls that the stream has passed; all of them: all 1. */
void tutti_proxy_sweep(struct proxy *proxy, int all)
{
    for (struct proxy_call **at = &proxy->calls, *call; (call = *at) != NULL;) {
        if (!all && !call_is_passed(call)) {
            at = &call->next;
            continue;
        }
        *at = call->next;
        proxy_call_free(call);
    }
}

struct proxy_call *tutti_proxy_call_new(struct proxy *proxy, const char *name)
{
    struct proxy_call *const call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->step = (struct tutti_host_step){.begin = tutti_proxy_call_begin, .over = tutti_proxy_call_over};
    call->of = proxy;
    call->name = name;
    return call;
}

/* Before anything is put into the stream. */
int tutti_proxy_call_prepare(struct proxy_call *call)
{
    struct proxy *const proxy = call->of;
    const int status = atomic_load(&proxy->base.failed);
    tutti_proxy_sweep(proxy, 0);
    if (status != TUTTI_OK)
        return status;
    const int captured = tutti_door.device->stream.capturing(proxy->stream);
    if (captured < 0)
        return captured;
    call->captured = captured;
    tutti_gate_captured(captured > 0);
    return captured ? TUTTI_OK : tutti_door.device->event.create(proxy->gpu, &call->event);
}

/* The step, and what is behind it is in the stream: takes the call. After a failure between, its memory may be in use.
 */
int tutti_proxy_call_finish(struct proxy_call *call, int status, int is_put)
{
    struct proxy *const proxy = call->of;
    int none = TUTTI_OK;
    if (status == TUTTI_OK && !call->captured)
        status = tutti_door.device->event.record(call->event, proxy->stream);
    if (status != TUTTI_OK && !is_put) {
        proxy_call_free(call);
        return status;
    }
    if (status != TUTTI_OK)
        atomic_compare_exchange_strong(&proxy->base.failed, &none, status);
    call->next = proxy->calls;
    proxy->calls = call;
    return status;
}

/* A call of one piece: copied in and out as a whole. */
static int call_put_whole(struct proxy_call *call, int *is_put)
{
    const struct proxy *const proxy = call->of;
    const struct tutti_stream_reduction *const r = &call->reduction;
    const struct tutti_stream_room room = tutti_stream_piece_room(r);
    const size_t all = room.in + room.room + room.out, in = r->call.count * r->size;
    const size_t out = r->result[r->me].count * r->size;
    struct tutti_host_copies copies = {0};
    call->memory = all > 0 ? tutti_bounce_take(&tutti_bounce_pinned, -1, all) : NULL;
    int status = all > 0 && !call->memory ? TUTTI_ERR_MEMORY : TUTTI_OK;
    if (status == TUTTI_OK)
        status = tutti_stream_piece_open(&call->piece, r, call->memory ? call->memory->memory : NULL);
    if (status == TUTTI_OK && !tutti_host_copies_add(&copies, TUTTI_HOST_BEFORE, call->piece.in, r->call.in, in)) {
        *is_put = 1;
        status = tutti_pack_run_enqueue(proxy->stream, proxy->gpu, call->piece.in, r->call.in, in);
    }
    const int is_out = status == TUTTI_OK && /* 1: the step copies it */
                       tutti_host_copies_add(&copies, TUTTI_HOST_AFTER, r->call.out, call->piece.out, out);
    if (status == TUTTI_OK)
        status = tutti_host_step_enqueue(proxy->steps, proxy->stream, &call->step, &copies);
    *is_put |= status == TUTTI_OK;
    if (status == TUTTI_OK && !is_out)
        status = tutti_pack_run_enqueue(proxy->stream, proxy->gpu, r->call.out, call->piece.out, out);
    return status;
}

static int call_put_pieces(struct proxy_call *call, int *is_put)
{
    struct proxy *const proxy = call->of;
    struct tutti_stream_pieces *const pieces = call->pieces = calloc(1, sizeof *pieces);
    const int status = pieces ? tutti_stream_pieces_open(pieces, &call->reduction) : TUTTI_ERR_MEMORY;
    if (status != TUTTI_OK)
        return status;
    pieces->begun = tutti_proxy_call_begun;
    pieces->over = tutti_proxy_call_passed;
    pieces->user = call;
    pieces->failed = &proxy->base.failed;
    *is_put = 1;
    return tutti_stream_pieces_enqueue(pieces, proxy->steps, proxy->stream);
}

int tutti_proxy_reduce(const struct tutti_comm *comm, const char *name, const struct tutti_call *args)
{
    struct proxy *const proxy = proxy_of(comm);
    struct proxy_call *const call = tutti_proxy_call_new(proxy, name);
    if (!call)
        return TUTTI_ERR_MEMORY;
    int is_put = 0, status = tutti_proxy_call_prepare(call);
    if (status == TUTTI_OK)
        status = tutti_stream_reduction_open(&call->reduction, args, proxy->own, &proxy->form);
    if (status == TUTTI_OK)
        status = call->reduction.pieces > 1 ? call_put_pieces(call, &is_put) : call_put_whole(call, &is_put);
    return tutti_proxy_call_finish(call, status, is_put);
}

int tutti_proxy_move(const struct tutti_comm *comm, const struct tutti_collective_args *args)
{
    struct proxy *const proxy = proxy_of(comm);
    struct proxy_call *const call = tutti_proxy_call_new(proxy, args->name);
    if (!call)
        return TUTTI_ERR_MEMORY;
    int is_put = 0, status = tutti_proxy_call_prepare(call);
    const int depth = tutti_inside; /* staging ignores calls that the MPI itself makes */
    tutti_inside = 0;
    if (status == TUTTI_OK && !(call->later = tutti_deferred_call_new(args->name, NULL)))
        status = TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK) {
        call->later->args = *args;
        call->later->args.comm = proxy->own;
        tutti_collective_apart(&call->later->args);
        status = tutti_deferred_call_hold(call->later) ? TUTTI_OK : TUTTI_ERR_MEMORY;
    }
    if (status == TUTTI_OK) {
        is_put = 1;
        status = tutti_collective_put(&call->later->args, proxy->stream, proxy->gpu, &call->exchange);
    }
    if (status == TUTTI_OK)
        status = tutti_host_step_enqueue(proxy->steps, proxy->stream, &call->step, NULL);
    if (status == TUTTI_OK)
        status = tutti_collective_out(call->exchange);
    tutti_inside = depth;
    return tutti_proxy_call_finish(call, status, is_put);
}
