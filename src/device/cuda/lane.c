/* The lane kernels: their module, loaded by itself, and their launch. */
#include "kernels/lane.h"

#include "core/status.h"
#include "device/cuda/stream.h"

enum { LANE_OTHERS, LANE_DO, LANE_GROUP };
static const char *const lane_name[TUTTI_CUDA_LANES] = {"tutti_lane_kernel", "tutti_lane_do_kernel",
                                                        "tutti_lane_group_kernel"};

static int function_of(struct tutti_cuda_context *context, int which, CUfunction *out)
{
    return tutti_cuda_check(tutti_cuda_image_function(context, &context->lane_module, tutti_lane_fatbin,
                                                      lane_name[which], &context->lane[which], out),
                            "loading the lane kernel", context);
}

int tutti_cuda_prepare_lane(int gpu)
{
    struct tutti_cuda_scope scope;
    CUfunction function;
    int status = tutti_cuda_enter(gpu >= 0 ? gpu : tutti_cuda_any(), 1, &scope);
    if (status != TUTTI_OK)
        return status;
    for (int which = 0; which < TUTTI_CUDA_LANES && status == TUTTI_OK; which++)
        status = function_of(scope.context, which, &function);
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_launch_lane(struct tutti_stream *stream, const struct tutti_lane_args *args)
{
    struct tutti_cuda_scope scope;
    CUfunction function;
    int status = tutti_cuda_enter_stream(stream, &scope);
    if (status != TUTTI_OK)
        return status;
    const int which = args->what == TUTTI_LANE_DO ? LANE_DO : args->what == TUTTI_LANE_GROUP ? LANE_GROUP : LANE_OTHERS;
    status = function_of(scope.context, which, &function);
    if (status == TUTTI_OK) {
        void *parameters[] = {(void *)(uintptr_t)args};
        const unsigned threads = args->threads ? args->threads : TUTTI_LANE_THREADS;
        CUresult result = tutti_cuda_start(
            scope.context, function, 0, (struct tutti_cuda_grid){args->blocks, threads, 1}, stream->handle, parameters);
        status = tutti_cuda_check(result, "launching the lane kernel", scope.context);
    }
    tutti_cuda_leave(&scope);
    return status;
}
