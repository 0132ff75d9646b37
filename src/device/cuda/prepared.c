/* Launches kept ready: a graph of one kernel, which the driver starts in a third of the time of cuLaunchKernel.
 *
 * To make one takes 12 us, now and then 50 to 600, in which the driver keeps launches of other threads back. To give an
 * existing one another kernel and other parameters takes 1 us. So some are made with the first kernels, whose loading
 * takes longer, and one that is dropped is kept for the next.
 *
 * Launches that do not repeat are made in the same way: each stream of Tutti has one for itself, which gets the kernel
 * and the parameters before each launch. Launches that are still under way keep theirs. That takes 1.9 us, a fresh
 * launch 3.5 us (H200). */
#include <stdlib.h>

#include "core/log.h"
#include "core/status.h"
#include "device/cuda/stream.h"
#include "kernels/pack_args.h"

enum {
    READY = 10,     /* made with the first kernels: two H200, 0.2 ms, of 32 0.5 to 1.6 */
    LEFT_READY = 5, /* of these, for launches that are kept */
    SPARES = 64     /* at most */
};

struct tutti_prepared {
    struct tutti_cuda_context *context;
    CUgraph graph; /* of which the driver names the node */
    CUgraphNode node;
    CUgraphExec exec;
    CUstream stream; /* of its launches; NULL: it was launched into none. Launches of one graph follow each other */
    struct tutti_prepared *next;
};

static CUDA_KERNEL_NODE_PARAMS prepared_node(CUfunction function, struct tutti_cuda_grid grid, void **parameters)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = function,
                                     .gridDimX = grid.blocks,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = grid.threads,
                                     .blockDimY = grid.rows,
                                     .blockDimZ = 1,
                                     .kernelParams = parameters};
}

static void prepared_free(struct tutti_prepared *prepared)
{
    if (prepared->exec)
        tutti_cuda_check_free(tutti_cuda.GraphExecDestroy(prepared->exec), "dropping a prepared launch",
                              prepared->context);
    if (prepared->graph)
        tutti_cuda.GraphDestroy(prepared->graph);
    free(prepared);
}

/* The context is entered. upload: the stream of its first launch; NULL: not known. */
static CUresult prepared_make(struct tutti_cuda_context *context, const CUDA_KERNEL_NODE_PARAMS *what, CUstream upload,
                              struct tutti_prepared **out)
{
    struct tutti_prepared *const made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->context = context;
    CUresult result = tutti_cuda.GraphCreate(&made->graph, 0);
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.GraphAddKernelNode(&made->node, made->graph, NULL, 0, what);
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.GraphInstantiateWithFlags(&made->exec, made->graph, 0);
    if (result == CUDA_SUCCESS && upload)
        result = tutti_cuda.GraphUpload(made->exec, upload);
    if (result == CUDA_SUCCESS)
        *out = made;
    else
        prepared_free(made);
    return result;
}

/* ---- spares ---- */

static void spare_give(struct tutti_prepared *prepared)
{
    struct tutti_cuda_context *const context = prepared->context;
    pthread_mutex_lock(&context->spare_lock);
    const int keep = context->spares < SPARES;
    if (keep) {
        prepared->next = context->spare;
        context->spare = prepared;
        context->spares++;
    }
    pthread_mutex_unlock(&context->spare_lock);
    if (!keep)
        prepared_free(prepared);
}

/* One that was never launched, or into this stream: a launch into another stream would wait for the one before. NULL if
 * no such one, or no more than `left`, are there. */
static struct tutti_prepared *spare_take(struct tutti_cuda_context *context, CUstream stream, int left)
{
    pthread_mutex_lock(&context->spare_lock);
    struct tutti_prepared **at = &context->spare, *found = NULL;
    while (context->spares > left && (found = *at) && found->stream && found->stream != stream)
        at = &found->next;
    if (found) {
        *at = found->next;
        context->spares--;
    }
    pthread_mutex_unlock(&context->spare_lock);
    return found;
}

/* Of a stream, or all of the context (NULL). The context is entered. */
static void spares_drop(struct tutti_cuda_context *context, CUstream stream)
{
    struct tutti_prepared *dropped = NULL, *next;
    pthread_mutex_lock(&context->spare_lock);
    for (struct tutti_prepared **at = &context->spare, *it; (it = *at) != NULL;) {
        if (stream && it->stream != stream) {
            at = &it->next;
            continue;
        }
        *at = it->next;
        it->next = dropped;
        dropped = it;
        context->spares--;
    }
    pthread_mutex_unlock(&context->spare_lock);
    for (; dropped; dropped = next) {
        next = dropped->next;
        prepared_free(dropped);
    }
}

void tutti_cuda_spares_drop(struct tutti_cuda_context *context)
{
    spares_drop(context, NULL);
}

static void own_drop(struct tutti_stream *stream);

void tutti_cuda_spares_drop_of(struct tutti_stream *stream)
{
    struct tutti_cuda_scope scope;
    if (!stream)
        return;
    own_drop(stream);
    if (stream->wrapped || tutti_cuda_enter_context(stream->context, &scope) != TUTTI_OK)
        return;
    spares_drop(stream->context, stream->handle);
    tutti_cuda_leave(&scope);
}

void tutti_cuda_first_graphs(struct tutti_cuda_context *context, CUfunction function)
{
    static unsigned char nothing[TUTTI_PACK_MANY_BYTES]; /* as much as any kernel takes */
    void *parameters[] = {nothing, nothing};
    const CUDA_KERNEL_NODE_PARAMS what = prepared_node(function, (struct tutti_cuda_grid){1, 32, 1}, parameters);
    if (atomic_exchange(&context->graphs, 1))
        return;
    for (int i = 0; i < READY; i++) {
        struct tutti_prepared *made;
        if (prepared_make(context, &what, NULL, &made) != CUDA_SUCCESS)
            return; /* each launch to be kept tries again, and reports it */
        spare_give(made);
    }
}

/* ---- launches ---- */

/* A spare with this kernel; NULL: all are in use, or the driver declines to change one. */
static struct tutti_prepared *prepared_again(struct tutti_cuda_context *context, const CUDA_KERNEL_NODE_PARAMS *what,
                                             CUstream stream)
{
    struct tutti_prepared *const spare = spare_take(context, stream, 0);
    if (!spare)
        return NULL;
    const CUresult result = tutti_cuda.GraphExecKernelNodeSetParams(spare->exec, spare->node, what);
    if (result == CUDA_SUCCESS)
        return spare;
    (void)tutti_cuda_declined(result, "giving a prepared launch another kernel", context->gpu);
    prepared_free(spare);
    return NULL;
}

int tutti_cuda_keep_kernel(struct tutti_cuda_context *context, CUfunction function, struct tutti_cuda_grid grid,
                           void **parameters, CUstream stream, struct tutti_prepared **out)
{
    const CUDA_KERNEL_NODE_PARAMS what = prepared_node(function, grid, parameters);
    struct tutti_prepared *prepared = prepared_again(context, &what, stream);
    if (!prepared) {
        const int status = tutti_cuda_check(prepared_make(context, &what, stream, &prepared),
                                            "preparing a launch that is repeated", context);
        if (status != TUTTI_OK)
            return status;
    }
    prepared->stream = stream;
    *out = prepared;
    return TUTTI_OK;
}

/* ---- launches that do not repeat ---- */

/* The launch that the stream has for itself, or gets now; NULL: too few are left. */
static struct tutti_prepared *own_take(struct tutti_stream *stream)
{
    struct tutti_prepared *const own = atomic_exchange_explicit(&stream->own, NULL, memory_order_acquire);
    if (own && own->context == stream->context)
        return own;
    if (own) { /* it has gone with its context */
        own->exec = NULL;
        prepared_free(own);
    }
    return spare_take(stream->context, stream->handle, LEFT_READY);
}

static void own_give(struct tutti_stream *stream, struct tutti_prepared *own)
{
    struct tutti_prepared *none = NULL;
    own->stream = stream->handle;
    if (!atomic_compare_exchange_strong_explicit(&stream->own, &none, own, memory_order_release, memory_order_relaxed))
        spare_give(own); /* another thread launches into this stream too */
}

/* 1: launched, with *result. */
static int own_launch(struct tutti_stream *stream, const CUDA_KERNEL_NODE_PARAMS *what, CUresult *result)
{
    struct tutti_prepared *const own = own_take(stream);
    if (!own)
        return 0;
    const CUresult set = tutti_cuda.GraphExecKernelNodeSetParams(own->exec, own->node, what);
    if (set != CUDA_SUCCESS) {
        (void)tutti_cuda_declined(set, "giving a prepared launch another kernel", stream->gpu);
        prepared_free(own);
        return 0;
    }
    *result = tutti_cuda.GraphLaunch(own->exec, stream->handle);
    own_give(stream, own);
    return 1;
}

CUresult tutti_cuda_start_own(struct tutti_stream *stream, CUfunction function, struct tutti_cuda_grid grid,
                              void **parameters)
{
    const CUDA_KERNEL_NODE_PARAMS what = prepared_node(function, grid, parameters);
    CUresult result;
    return own_launch(stream, &what, &result)
               ? result
               : tutti_cuda_start(stream->context, function, 0, grid, stream->handle, parameters);
}

static void own_drop(struct tutti_stream *stream)
{
    tutti_cuda_launch_drop(atomic_exchange(&stream->own, NULL));
}

/* ---- launches that are kept ---- */

int tutti_cuda_launch_prepared(struct tutti_stream *stream, struct tutti_prepared *prepared)
{
    struct tutti_cuda_scope scope;
    if (stream->context != prepared->context || tutti_cuda_enter_context(prepared->context, &scope) != TUTTI_OK)
        return TUTTI_ERR_UNAVAILABLE;
    int status =
        tutti_cuda_check(tutti_cuda.GraphLaunch(prepared->exec, stream->handle), "launching a kernel", scope.context);
    tutti_cuda_leave(&scope);
    return status;
}

void tutti_cuda_launch_drop(struct tutti_prepared *prepared)
{
    struct tutti_cuda_scope scope;
    if (!prepared)
        return;
    if (tutti_cuda_enter_context(prepared->context, &scope) == TUTTI_OK) {
        spare_give(prepared);
        tutti_cuda_leave(&scope);
        return;
    }
    prepared->exec = NULL; /* it has gone with its context */
    prepared_free(prepared);
}
