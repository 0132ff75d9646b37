#include "mpi/reduce/stream_proxy.h"

#include <stdlib.h>

#include "coll/hierarchy.h"
#include "core/log.h"
#include "core/settings.h"
#include "dtype/pack.h"
#include "kernels/args.h"
#include "mpi/comm/clone.h"
#include "mpi/real/errors.h"
#include "mpi/reduce/stream_own.h"
#include "progress/engine.h"
#include "team/deferred_free.h"

static void last_begin(struct tutti_host_step *step)
{
    tutti_host_step_end(step);
}

static int no_message_is_open(void *with)
{
    const struct proxy *const proxy = with;
    return atomic_load(&proxy->open) == 0 || atomic_load(&proxy->base.failed) != TUTTI_OK;
}

/* Messages that were sent leave before their memory does. The last step begins when the host has begun all others. */
static void proxy_settle(struct proxy *proxy)
{
    const struct tutti_device *const device = tutti_door.device;
    proxy->last = (struct tutti_host_step){.begin = last_begin};
    if (tutti_host_step_enqueue(proxy->steps, proxy->stream, &proxy->last, NULL) == TUTTI_OK &&
        device->stream.sync(proxy->stream) == TUTTI_OK)
        tutti_progress_wait(&(const struct tutti_wait){
            .done = no_message_is_open, .with = proxy, .what = "in MPI_Comm_free, for messages in stream order"});
}

static void proxy_close(struct tutti_stream_proxy *base, int quick)
{
    struct proxy *const proxy = (struct proxy *)base;
    TUTTI_INSIDE();
    if (!quick && atomic_load(&base->failed) == TUTTI_OK)
        proxy_settle(proxy);
    tutti_host_steps_close(proxy->steps, !quick);
    if (quick) /* the memory of calls is lost: kernels may wait in them */
        return;
    tutti_proxy_sweep(proxy, 1);
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

static int proxy_is_made(void *with)
{
    struct tutti_comm *const comm = with;
    return tutti_comm_hierarchy(comm) || !comm->hierarchy_opening;
}

/* Collective: which rank is on which node, and what the settings of all ranks say. */
static int proxy_find_nodes(struct proxy *proxy)
{
    enum { PARTS = 4 }; /* shorter pieces than those of blocking calls: a piece costs less here */
    struct tutti_comm *const own = tutti_comm_make(proxy->own);
    if (!own)
        return TUTTI_ERR_MEMORY;
    tutti_comm_hierarchy_begin(own);
    const int status = tutti_progress_wait(&(const struct tutti_wait){
        .done = proxy_is_made, .with = own, .what = "in MPIX_Stream_comm_create, for the ranks of several nodes"});
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

int tutti_proxy_steps_open(const struct tutti_node *node, int gpu, int ranks, struct tutti_host_steps **out)
{
    const int status = proxy_prepare_once(gpu);
    return status == TUTTI_OK
               ? tutti_host_steps_open(tutti_door.device, gpu, is_crowded(node, ranks), tutti_proxy_poll, out)
               : status;
}

static struct proxy *proxy_new(struct tutti_comm *comm, const struct tutti_mpix_stream *stream)
{
    struct proxy *const proxy = calloc(1, sizeof *proxy);
    if (!proxy)
        return NULL;
    proxy->base.reduce = tutti_proxy_reduce;
    proxy->base.move = tutti_proxy_move;
    proxy->base.message = tutti_proxy_message;
    proxy->base.wait = tutti_proxy_message_wait;
    proxy->base.close = proxy_close;
    proxy->node = comm->team->node;
    proxy->stream = stream->stream;
    proxy->gpu = stream->gpu;
    proxy->own = tutti_handles.no_comm;
    if (tutti_host_steps_open(tutti_door.device, stream->gpu, is_crowded(proxy->node, comm->team->size),
                              tutti_proxy_poll, &proxy->steps) == TUTTI_OK)
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
