#include "mpi/reduce/stream_proxy.h"

#include <stdlib.h>

#include "bounce/bounce.h"
#include "coll/hierarchy.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "dtype/pack.h"
#include "kernels/args.h"
#include "mpi/comm/clone.h"
#include "mpi/comm/starting.h"
#include "mpi/move/collective.h"
#include "mpi/real/errors.h"
#include "mpi/reduce/deferred_call.h"
#include "mpi/reduce/stream_pieces.h"
#include "progress/engine.h"
#include "progress/gate.h"
#include "ring/host_step.h"
#include "team/deferred_free.h"

/* One call in the stream, or in a graph. */
struct proxy_call {
    struct tutti_host_step step; /* the first field */
    struct proxy *of;
    const char *name;
    struct tutti_stream_reduction reduction; /* where `later` is NULL */
    struct tutti_bounce *memory;             /* of `piece`, */
    struct tutti_stream_piece piece;         /* which is all of it, */
    struct tutti_stream_pieces *pieces;      /* if it does not go by these */
    struct tutti_deferred_call *later;       /* holds a mover's arguments */
    struct tutti_exchange *exchange;         /* and its memory */
    MPI_Request request;
    uint64_t since; /* the stream waits, ns */
    int reported;
    int captured;              /* 1: a graph may be launched again; the gate knows */
    atomic_int over;           /* 1: the host has made it */
    struct tutti_event *event; /* the stream has passed it */
    struct proxy_call *next;
    struct proxy_call *behind; /* of those under way */
};

struct proxy {
    struct tutti_stream_proxy base; /* the first field */
    MPI_Comm own;
    struct tutti_stream_reduction_form form;
    struct tutti_host_steps *steps;
    struct tutti_node *node;
    struct tutti_stream *stream;
    int gpu;
    struct proxy_call *calls;
};

static struct proxy *proxy_of(const struct tutti_comm *comm)
{
    return (struct proxy *)comm->proxy;
}

/* ---- calls under way: on the server's thread, which calls the MPI and never the device ---- */

static __thread struct proxy_call *under_way;

static void call_begun(void *with)
{
    struct proxy_call *const call = with;
    call->since = tutti_now_ns();
    call->reported = 0;
    call->request = tutti_handles.no_request;
    call->piece.round = 0;
    call->behind = under_way;
    under_way = call;
}

static void call_begin(struct tutti_host_step *step)
{
    struct proxy_call *const call = (struct proxy_call *)step;
    if (atomic_load(&call->of->base.failed) == TUTTI_OK)
        call_begun(call);
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

static int call_look_at_time(struct proxy_call *call)
{
    const uint64_t seconds = (tutti_now_ns() - call->since) / UINT64_C(1000000000);
    if (seconds >= (uint64_t)tutti_settings()->timeout_seconds)
        return TUTTI_ERR_TIMEOUT;
    if (!call->reported && seconds >= (uint64_t)tutti_settings()->stall_seconds) {
        call->reported = 1;
        tutti_warn("waiting for %llu s: %s, in the order of a stream, for other ranks", (unsigned long long)seconds,
                   call->name);
    }
    return 0;
}

static void call_ended(struct proxy_call *call, int status)
{
    int none = TUTTI_OK;
    if (status < 0 && atomic_compare_exchange_strong(&call->of->base.failed, &none, status))
        tutti_error("%s, in the order of a stream, has failed: %s", call->name, tutti_status_text(status));
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

static void poll_calls(void)
{
    TUTTI_INSIDE();
    for (struct proxy_call **at = &under_way, *call; (call = *at) != NULL;) {
        tutti_deferred_call_starting++;
        int status = call_poll(call);
        tutti_deferred_call_starting--;
        if (status == 0)
            status = call_look_at_time(call);
        if (status == 0) {
            at = &call->behind;
            continue;
        }
        *at = call->behind;
        call_ended(call, status);
    }
}

static void call_passed(void *with)
{
    atomic_store_explicit(&((struct proxy_call *)with)->over, 1, memory_order_release);
}

static void call_over(struct tutti_host_step *step)
{
    call_passed(step);
}

/* ---- putting calls into the stream ---- */

static void call_free(struct proxy_call *call)
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
    free(call);
}

static int call_is_passed(const struct proxy_call *call)
{
    return !call->captured && atomic_load_explicit(&call->over, memory_order_acquire) && call->event &&
           tutti_door.device->event.query(call->event) != 0;
}

/* Frees calls that the stream has passed; all of them: all 1. */
static void proxy_sweep(struct proxy *proxy, int all)
{
    for (struct proxy_call **at = &proxy->calls, *call; (call = *at) != NULL;) {
        if (!all && !call_is_passed(call)) {
            at = &call->next;
            continue;
        }
        *at = call->next;
        call_free(call);
    }
}

static struct proxy_call *call_new(struct proxy *proxy, const char *name)
{
    struct proxy_call *const call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->step = (struct tutti_host_step){.begin = call_begin, .over = call_over};
    call->of = proxy;
    call->name = name;
    return call;
}

/* Before anything is put into the stream. */
static int call_prepare(struct proxy_call *call)
{
    struct proxy *const proxy = call->of;
    const int status = atomic_load(&proxy->base.failed);
    proxy_sweep(proxy, 0);
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
static int call_finish(struct proxy_call *call, int status, int is_put)
{
    struct proxy *const proxy = call->of;
    int none = TUTTI_OK;
    if (status == TUTTI_OK && !call->captured)
        status = tutti_door.device->event.record(call->event, proxy->stream);
    if (status != TUTTI_OK && !is_put) {
        call_free(call);
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
    const struct tutti_device *const device = tutti_door.device;
    const struct proxy *const proxy = call->of;
    const struct tutti_stream_reduction *const r = &call->reduction;
    const struct tutti_stream_room room = tutti_stream_piece_room(r);
    const size_t all = room.in + room.room + room.out, in = r->call.count * r->size;
    const size_t out = r->result[r->me].count * r->size;
    call->memory = all > 0 ? tutti_bounce_take(&tutti_bounce_pinned, -1, all) : NULL;
    int status = all > 0 && !call->memory ? TUTTI_ERR_MEMORY : TUTTI_OK;
    if (status == TUTTI_OK)
        status = tutti_stream_piece_open(&call->piece, r, call->memory ? call->memory->memory : NULL);
    if (status == TUTTI_OK && in > 0) {
        *is_put = 1;
        status = device->stream.copy(proxy->stream, call->piece.in, r->call.in, in);
    }
    if (status == TUTTI_OK)
        status = tutti_host_step_enqueue(proxy->steps, proxy->stream, &call->step);
    *is_put |= status == TUTTI_OK;
    if (status == TUTTI_OK && out > 0)
        status = device->stream.copy(proxy->stream, r->call.out, call->piece.out, out);
    return status;
}

static int call_put_pieces(struct proxy_call *call, int *is_put)
{
    struct proxy *const proxy = call->of;
    struct tutti_stream_pieces *const pieces = call->pieces = calloc(1, sizeof *pieces);
    const int status = pieces ? tutti_stream_pieces_open(pieces, &call->reduction) : TUTTI_ERR_MEMORY;
    if (status != TUTTI_OK)
        return status;
    pieces->begun = call_begun;
    pieces->over = call_passed;
    pieces->user = call;
    pieces->failed = &proxy->base.failed;
    *is_put = 1;
    return tutti_stream_pieces_enqueue(pieces, proxy->steps, proxy->stream);
}

static int proxy_reduce(const struct tutti_comm *comm, const char *name, const struct tutti_call *args)
{
    struct proxy *const proxy = proxy_of(comm);
    struct proxy_call *const call = call_new(proxy, name);
    if (!call)
        return TUTTI_ERR_MEMORY;
    int is_put = 0, status = call_prepare(call);
    if (status == TUTTI_OK)
        status = tutti_stream_reduction_open(&call->reduction, args, proxy->own, &proxy->form);
    if (status == TUTTI_OK)
        status = call->reduction.pieces > 1 ? call_put_pieces(call, &is_put) : call_put_whole(call, &is_put);
    return call_finish(call, status, is_put);
}

static int proxy_move(const struct tutti_comm *comm, const struct tutti_collective_args *args)
{
    struct proxy *const proxy = proxy_of(comm);
    struct proxy_call *const call = call_new(proxy, args->name);
    if (!call)
        return TUTTI_ERR_MEMORY;
    int is_put = 0, status = call_prepare(call);
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
        status = tutti_host_step_enqueue(proxy->steps, proxy->stream, &call->step);
    if (status == TUTTI_OK)
        status = tutti_collective_out(call->exchange);
    tutti_inside = depth;
    return call_finish(call, status, is_put);
}

/* ---- life ---- */

static void proxy_close(struct tutti_stream_proxy *base, int quick)
{
    struct proxy *const proxy = (struct proxy *)base;
    TUTTI_INSIDE();
    tutti_host_steps_close(proxy->steps, !quick);
    if (quick) /* the memory of calls is lost: kernels may wait in them */
        return;
    proxy_sweep(proxy, 1);
    tutti_deferred_free_release(proxy->node);
    if (atomic_load(&base->failed) == TUTTI_OK) /* otherwise a rank may not get there */
        tutti_next.MPI_Comm_free(&proxy->own);
    free(proxy);
}

/* 1 if `fine` is 1 on all ranks. */
static int all_fine(struct tutti_comm *comm, int fine)
{
    struct tutti_transport *transport = &comm->transport.base;
    int64_t word = fine;
    return transport->ops->allreduce(transport, &word, 1, TUTTI_COMBINE_MIN) == TUTTI_OK && word;
}

/* Loads all kernels of the GPU: while a stream waits, the driver would not (progress/gate.h). */
static int proxy_prepare(int gpu)
{
    const struct tutti_device *const device = tutti_door.device;
    int status = TUTTI_OK;
    for (int type = 0; type < TUTTI_TYPES && device->launch.prepare; type++) {
        for (int op = 0; op < TUTTI_OPS && status == TUTTI_OK; op++) {
            if (tutti_has_kernel(type, op))
                status = device->launch.prepare(gpu, UINT32_MAX, type, op);
        }
    }
    return status == TUTTI_OK ? tutti_pack_prepare(gpu, NULL) : status;
}

static int proxy_prepare_once(int gpu)
{
    enum { GPUS = 64 };
    static atomic_uint lives[GPUS]; /* 1 more than the life of the GPU in which it was prepared; 0: not yet */
    const unsigned life = tutti_gpu_life(gpu) + 1;
    if (gpu < 0 || gpu >= GPUS || atomic_load(&lives[gpu]) != life) {
        const int status = proxy_prepare(gpu);
        if (status != TUTTI_OK)
            return status;
        if (gpu >= 0 && gpu < GPUS)
            atomic_store(&lives[gpu], life);
    }
    return TUTTI_OK;
}

static int is_made(void *with)
{
    struct tutti_comm *const comm = with;
    return tutti_comm_hierarchy(comm) || !comm->hierarchy_opening;
}

/* Collective: which rank is on which node, and what the settings of all ranks say. */
static int proxy_find_nodes(struct proxy *proxy)
{
    enum { PARTS = 8 }; /* shorter pieces than those of blocking calls: a piece costs less here */
    struct tutti_comm *const own = tutti_comm_make(proxy->own);
    if (!own)
        return TUTTI_ERR_MEMORY;
    tutti_comm_hierarchy_begin(own);
    const int status = tutti_progress_wait(&(const struct tutti_wait){
        .done = is_made, .with = own, .what = "in MPIX_Stream_comm_create, for the ranks of several nodes"});
    const struct tutti_settings *const settings = tutti_settings();
    struct tutti_transport *const transport = &own->transport.base;
    int64_t words[2] = {(int64_t)settings->nodes_piece_kb << 10, -(settings->order == TUTTI_SET_ORDER_RANKS)};
    if (status != TUTTI_OK || transport->ops->allreduce(transport, words, 2, TUTTI_COMBINE_MIN) != TUTTI_OK)
        return TUTTI_ERR_TRANSPORT;
    proxy->form = (struct tutti_stream_reduction_form){
        .hierarchy = own->hierarchy, .piece = (size_t)words[0] / PARTS, .by_ranks = words[1] < 0};
    return own->hierarchy ? TUTTI_OK : TUTTI_ERR_UNAVAILABLE;
}

static int is_crowded(const struct tutti_node *node, int ranks)
{
    const int wait = tutti_settings()->wait;
    return wait == TUTTI_SET_WAIT_AUTO ? ranks > tutti_node_cores(node) : wait != TUTTI_SET_WAIT_SPIN;
}

static struct proxy *proxy_new(struct tutti_comm *comm, const struct tutti_mpix_stream *stream)
{
    struct proxy *const proxy = calloc(1, sizeof *proxy);
    if (!proxy)
        return NULL;
    proxy->base.reduce = proxy_reduce;
    proxy->base.move = proxy_move;
    proxy->base.close = proxy_close;
    proxy->node = comm->team->node;
    proxy->stream = stream->stream;
    proxy->gpu = stream->gpu;
    proxy->own = tutti_handles.no_comm;
    if (tutti_host_steps_open(tutti_door.device, stream->gpu, is_crowded(proxy->node, comm->team->size), poll_calls,
                              &proxy->steps) == TUTTI_OK)
        return proxy;
    free(proxy);
    return NULL;
}

const char *tutti_stream_proxy_open(struct tutti_comm *comm, const struct tutti_mpix_stream *stream)
{
    if (!all_fine(comm, comm->transport.base.any_thread))
        return "over several nodes calls in stream order need MPI_THREAD_MULTIPLE: ask MPI_Init_thread for it, or set "
               "TUTTI_ASYNC_PROGRESS=1";
    if (!all_fine(comm, stream->order == TUTTI_STREAM_FREE))
        return "over several nodes a stream must not wait for the default stream: make it with cudaStreamNonBlocking";
    struct proxy *const proxy = proxy_new(comm, stream);
    if (!all_fine(comm, proxy != NULL)) {
        if (proxy) {
            tutti_host_steps_close(proxy->steps, 1);
            free(proxy);
        }
        return "a rank has no memory or no thread for calls in stream order over several nodes";
    }
    if (tutti_comm_clone(comm->handle, 0, &proxy->own) != MPI_SUCCESS)
        return "the MPI made no communicator for calls in stream order over several nodes";
    tutti_next.MPI_Comm_set_errhandler(proxy->own, tutti_handles.errors_return);
    tutti_deferred_free_hold(proxy->node);
    const int made = proxy_find_nodes(proxy) == TUTTI_OK && proxy_prepare_once(stream->gpu) == TUTTI_OK;
    if (!all_fine(comm, made)) {
        proxy_close(&proxy->base, 0);
        return "a rank has no memory for calls in stream order over several nodes, or could not load the kernels";
    }
    comm->proxy = &proxy->base;
    return NULL;
}
