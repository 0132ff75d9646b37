#include "mpi/reduce/stream_proxy.h"

#include <stdlib.h>

#include "coll/hierarchy.h"
#include "core/log.h"
#include "core/settings.h"
#include "dtype/pack.h"
#include "kernels/args.h"
#include "mpi/bounce/scratch.h"
#include "mpi/comm/clone.h"
#include "mpi/real/errors.h"
#include "mpi/reduce/moves.h"
#include "mpi/reduce/nonblocking.h"
#include "progress/engine.h"
#include "progress/gate.h"
#include "ring/host_step.h"
#include "team/deferred_free.h"

/* One call in the stream, or in a graph. */
struct proxy_call {
    struct tutti_host_step step; /* the first field */
    struct proxy *of;
    struct tutti_open_call *open;
    int captured;    /* 1: a graph may be launched again; the gate knows */
    atomic_int over; /* 1: the stream has passed it */
    struct proxy_call *next;
};

struct proxy {
    struct tutti_stream_proxy base; /* the first field */
    MPI_Comm own;
    struct tutti_host_steps *steps;
    struct tutti_node *node;
    struct tutti_stream *stream;
    struct proxy_call *calls;
    int64_t word[2]; /* of barriers */
};

static struct proxy *proxy_of(const struct tutti_comm *comm)
{
    return (struct proxy *)comm->proxy;
}

/* ---- a call under way ---- */

/* The stream has reached it. */
static void call_begin(struct tutti_host_step *step)
{
    struct proxy_call *const call = (struct proxy_call *)step;
    if (atomic_load(&call->of->base.failed) != TUTTI_OK)
        tutti_host_step_end(step);
    else
        tutti_open_call_ask(call->open);
}

/* The host has made it. */
static void call_ended(struct tutti_open_call *open)
{
    struct proxy_call *const call = open->with;
    int none = TUTTI_OK;
    if (open->code != MPI_SUCCESS) {
        const int status = open->status != TUTTI_OK ? open->status : TUTTI_ERR_TRANSPORT;
        if (atomic_compare_exchange_strong(&call->of->base.failed, &none, status))
            tutti_error("%s, in the order of a stream, has failed: %s", open->args.name, tutti_status_text(status));
    }
    tutti_host_step_end(&call->step);
}

static void call_over(struct tutti_host_step *step)
{
    atomic_store_explicit(&((struct proxy_call *)step)->over, 1, memory_order_release);
}

/* ---- putting calls into the stream ---- */

static void call_free(struct proxy_call *call)
{
    if (call->captured > 0)
        tutti_gate_captured(-1);
    if (call->open)
        tutti_open_call_close(call->open);
    free(call);
}

/* Frees calls that the stream has passed; all of them: all 1. */
static void proxy_sweep(struct proxy *proxy, int all)
{
    for (struct proxy_call **at = &proxy->calls, *call; (call = *at) != NULL;) {
        if (!all && (call->captured || !atomic_load_explicit(&call->over, memory_order_acquire))) {
            at = &call->next;
            continue;
        }
        *at = call->next;
        call_free(call);
    }
}

static struct proxy_call *call_new(struct proxy *proxy)
{
    struct proxy_call *const call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->step = (struct tutti_host_step){.begin = call_begin, .over = call_over};
    call->of = proxy;
    return call;
}

/* Takes the call; `open` is NULL without memory. */
static int proxy_put(struct proxy *proxy, struct proxy_call *call, struct tutti_open_call *open)
{
    int status = atomic_load(&proxy->base.failed);
    proxy_sweep(proxy, 0);
    call->open = open;
    if (!open)
        status = TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK) {
        open->with = call;
        call->captured = tutti_door.device->stream.capturing(proxy->stream);
        tutti_gate_captured(call->captured > 0);
        status =
            call->captured < 0 ? call->captured : tutti_host_step_enqueue(proxy->steps, proxy->stream, &call->step);
    }
    if (status != TUTTI_OK) {
        call_free(call);
        return status;
    }
    call->next = proxy->calls;
    proxy->calls = call;
    return TUTTI_OK;
}

static struct tutti_open_call *open_reduction(struct proxy *proxy, const struct tutti_reduction_args *args)
{
    struct tutti_reduction_args own = *args;
    own.comm = proxy->own;
    if (own.collective == TUTTI_COLLECTIVE_BARRIER) { /* a rank has the sum when all ranks have arrived */
        own.collective = TUTTI_COLLECTIVE_ALLREDUCE;
        own.sendbuf = &proxy->word[0];
        own.recvbuf = &proxy->word[1];
        own.count = 1;
        own.datatype = tutti_handles.int64;
        own.op = tutti_handles.sum;
    }
    return tutti_open_call_quiet(&own, call_ended);
}

static int proxy_reduce(const struct tutti_comm *comm, const struct tutti_reduction_args *args)
{
    struct proxy *const proxy = proxy_of(comm);
    struct proxy_call *const call = call_new(proxy);
    return call ? proxy_put(proxy, call, open_reduction(proxy, args)) : TUTTI_ERR_MEMORY;
}

static int proxy_move(const struct tutti_comm *comm, const struct tutti_collective_args *args)
{
    struct proxy *const proxy = proxy_of(comm);
    struct proxy_call *const call = call_new(proxy);
    struct tutti_collective_args own = *args;
    own.comm = proxy->own;
    return call ? proxy_put(proxy, call, tutti_moves_quiet(&own, call_ended)) : TUTTI_ERR_MEMORY;
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

static int is_ended(void *with)
{
    return atomic_load_explicit(&((struct proxy_call *)with)->step.ended, memory_order_acquire);
}

/* A call on memory of the GPU, before there are calls in the stream: what the host keeps for later ones is allocated
 * and loaded now, not while a stream waits. Collective. */
static int proxy_try(struct proxy *proxy, void *memory, size_t bytes)
{
    struct proxy_call call = {.of = proxy};
    const struct tutti_reduction_args args = {.collective = TUTTI_COLLECTIVE_ALLREDUCE,
                                              .name = "MPIX_Stream_comm_create",
                                              .sendbuf = MPI_IN_PLACE,
                                              .recvbuf = memory,
                                              .count = (MPI_Count)(bytes / sizeof(int64_t)),
                                              .datatype = tutti_handles.int64,
                                              .op = tutti_handles.sum};
    if (!(call.open = open_reduction(proxy, &args)))
        return TUTTI_ERR_MEMORY;
    call.open->with = &call;
    tutti_open_call_ask(call.open);
    int status = tutti_progress_wait(&(const struct tutti_wait){
        .done = is_ended, .with = &call, .what = "in MPIX_Stream_comm_create, for a first call over the nodes"});
    tutti_open_call_close(call.open);
    return status == TUTTI_OK ? atomic_load(&proxy->base.failed) : status;
}

/* Loads all kernels of the GPU, and registers memory for messages of the MPI's: while a stream waits the driver would
 * do neither (progress/gate.h). */
static int proxy_prepare(int gpu)
{
    enum { STAGES = 4, STAGE = 4 << 20, CHANNELS = 4 };
    const struct tutti_device *const device = tutti_door.device;
    struct tutti_scratch scratch[STAGES];
    int status = TUTTI_OK;
    for (int type = 0; type < TUTTI_TYPES && device->launch.prepare; type++) {
        for (int op = 0; op < TUTTI_OPS && status == TUTTI_OK; op++) {
            if (tutti_has_kernel(type, op))
                status = device->launch.prepare(gpu, UINT32_MAX, type, op);
        }
    }
    if (status == TUTTI_OK)
        status = tutti_pack_prepare(gpu, NULL);
    if (status == TUTTI_OK)
        status = tutti_pack_channels(gpu, CHANNELS);
    for (int i = 0; i < STAGES; i++)
        (void)tutti_scratch_take(&scratch[i], NULL, STAGE);
    for (int i = 0; i < STAGES; i++)
        tutti_scratch_give(&scratch[i]);
    return status;
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

/* Of a size for each of the default rules, the largest of as much as is under way at a time. */
static int proxy_warm(struct proxy *proxy, int gpu)
{
    enum { SMALL = 8, MIDDLE = 48 << 10, AREAS = 3, LEADERS = 4 };
    const size_t piece = (size_t)tutti_settings()->nodes_piece_kb << 10;
    const size_t sizes[] = {SMALL, MIDDLE < AREAS * piece ? MIDDLE : AREAS * piece, AREAS * piece};
    const struct tutti_comm *const own = tutti_comm_find(proxy->own);
    struct tutti_bounce *memory = NULL;
    int status = proxy_prepare_once(gpu);
    if (status == TUTTI_OK && !(memory = tutti_bounce_take(&tutti_bounce_device, gpu, sizes[2] * LEADERS)))
        status = TUTTI_ERR_MEMORY;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && status == TUTTI_OK; i++) {
        const int leaders = i > 0 && own->hierarchy ? own->hierarchy->least : 1;
        status = proxy_try(proxy, memory->memory, sizes[i] * (size_t)(leaders < LEADERS ? leaders : LEADERS));
    }
    tutti_bounce_give(memory);
    return status;
}

static int is_crowded(const struct tutti_node *node, int ranks)
{
    const int wait = tutti_settings()->wait;
    return wait == TUTTI_SET_WAIT_AUTO ? ranks > tutti_node_cores(node) : wait != TUTTI_SET_WAIT_SPIN;
}

/* On a thread of the library. */
static void poll_steps(void)
{
    TUTTI_INSIDE();
    tutti_progress_poll();
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
    proxy->own = tutti_handles.no_comm;
    if (tutti_host_steps_open(tutti_door.device, stream->gpu, is_crowded(proxy->node, comm->team->size), poll_steps,
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
    const char *const why = tutti_door.device->no_host_steps();
    if (!all_fine(comm, why == NULL))
        return why ? why : "on another rank the device cannot make calls in stream order over several nodes";
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
    const int warm = tutti_comm_make(proxy->own) && proxy_warm(proxy, stream->gpu) == TUTTI_OK;
    if (!all_fine(comm, warm)) {
        proxy_close(&proxy->base, 0);
        return "a first call over the nodes of the communicator has failed";
    }
    comm->proxy = &proxy->base;
    return NULL;
}
