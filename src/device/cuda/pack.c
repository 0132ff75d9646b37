/* The packing kernel: its module, loaded by itself, and its launch. */
#include "kernels/pack.h"
#include "core/log.h"
#include "core/status.h"
#include "device/cuda/stream.h"

static const struct {
    const char *name;
    size_t bytes; /* of the args that it takes */
    int module;
    const void *(*fatbin)(void);
} packs[] = {
    {"tutti_pack_few", TUTTI_PACK_FEW_BYTES, 0, tutti_pack_few_fatbin},
    {"tutti_pack_some", TUTTI_PACK_SOME_BYTES, 1, tutti_pack_fatbin},
    {"tutti_pack_many", TUTTI_PACK_MANY_BYTES, 1, tutti_pack_fatbin},
    {"tutti_pack_stay", sizeof(struct tutti_pack_stay_args), 2, tutti_pack_stay_fatbin},
};
enum { STAYS = TUTTI_CUDA_PACKS };

/* TUTTI_ERR_UNAVAILABLE, not reported, where the kernels were made without this one. */
static int pack_function_of(struct tutti_cuda_context *context, int pack, CUfunction *out)
{
    const char *const name = packs[pack].name;
    const CUresult result = tutti_cuda_image_function(context, &context->pack_module[packs[pack].module],
                                                      packs[pack].fatbin, name, &context->pack[pack], out);
    if (result == CUDA_ERROR_NOT_FOUND && pack >= TUTTI_CUDA_PACKS - 1)
        return TUTTI_ERR_UNAVAILABLE;
    return tutti_cuda_check(result, name, context);
}

/* The kernel for few messages, and the one that stays: the first of two launches stays, dtype/pack.h. */
static int pack_prepare_first(struct tutti_cuda_context *context, size_t *room)
{
    CUfunction few, stays;
    int status = pack_function_of(context, 0, &few);
    if (status != TUTTI_OK)
        return status;
    status = pack_function_of(context, STAYS, &stays);
    tutti_cuda_first_graphs(context, few);
    *room = packs[0].bytes;
    return status == TUTTI_ERR_UNAVAILABLE ? TUTTI_OK : status;
}

static int pack_prepare_others(struct tutti_cuda_context *context, size_t *room)
{
    int status = TUTTI_OK;
    *room = packs[0].bytes;
    for (int pack = 1; pack < TUTTI_CUDA_PACKS && status == TUTTI_OK; pack++) {
        CUfunction function;
        status = pack_function_of(context, pack, &function);
        if (status == TUTTI_OK)
            *room = packs[pack].bytes;
    }
    return status == TUTTI_ERR_UNAVAILABLE ? TUTTI_OK : status;
}

int tutti_cuda_prepare_pack(int gpu, int all, size_t *room)
{
    struct tutti_cuda_scope scope;
    int status = tutti_cuda_enter(gpu >= 0 ? gpu : tutti_cuda_any(), 1, &scope);
    if (status != TUTTI_OK)
        return status;
    status = all ? pack_prepare_others(scope.context, room) : pack_prepare_first(scope.context, room);
    tutti_cuda_leave(&scope);
    return status;
}

/* The kernel that takes the launch's arguments. */
static int function_for(struct tutti_cuda_context *context, const struct tutti_pack_launch *launch, CUfunction *out)
{
    int pack = 0;
    while (pack < TUTTI_CUDA_PACKS && packs[pack].bytes < launch->args->head.bytes)
        pack++;
    return pack < TUTTI_CUDA_PACKS ? pack_function_of(context, pack, out) : TUTTI_ERR_ARGUMENT;
}

/* Launches the kernel in the stream; own: see tutti_cuda_start_own(); keep not NULL: keeps the launch ready instead. */
static int pack_launch(struct tutti_stream *stream, const struct tutti_pack_launch *launch, int own,
                       struct tutti_prepared **keep)
{
    struct tutti_cuda_scope scope;
    CUfunction function;
    int status = tutti_cuda_enter_stream(stream, &scope);
    if (status != TUTTI_OK)
        return status;
    status = function_for(scope.context, launch, &function);
    if (status == TUTTI_OK) {
        const struct tutti_cuda_grid grid = {launch->args->head.blocks, TUTTI_PACK_THREADS, 1};
        void *parameters[] = {(void *)(uintptr_t)launch->args};
        status =
            keep
                ? tutti_cuda_keep_kernel(scope.context, function, grid, parameters, stream->handle, keep)
                : tutti_cuda_check(own ? tutti_cuda_start_own(stream, function, grid, parameters)
                                       : tutti_cuda_start(scope.context, function, 0, grid, stream->handle, parameters),
                                   "launching the packing kernel", scope.context);
    }
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_stay_pack(struct tutti_stream *stream, const struct tutti_pack_stay_args *args)
{
    struct tutti_cuda_scope scope;
    CUfunction function;
    int status = tutti_cuda_enter_stream(stream, &scope);
    if (status != TUTTI_OK)
        return status;
    status = pack_function_of(scope.context, STAYS, &function);
    if (status == TUTTI_OK) {
        void *parameters[] = {(void *)(uintptr_t)args};
        const struct tutti_cuda_grid grid = {args->stay.blocks, TUTTI_PACK_THREADS, 1};
        status = tutti_cuda_check(tutti_cuda_start_own(stream, function, grid, parameters),
                                  "launching the packing kernel that stays", scope.context);
    }
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_launch_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch)
{
    return pack_launch(stream, launch, 0, NULL);
}

int tutti_cuda_launch_own_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch)
{
    return pack_launch(stream, launch, 1, NULL);
}

int tutti_cuda_keep_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch,
                         struct tutti_prepared **out)
{
    return pack_launch(stream, launch, 0, out);
}
