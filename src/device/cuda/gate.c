/* Calls of the driver that may wait for running kernels, each behind the gate (progress/gate.h). */
#include "device/cuda/gate.h"
#include "core/status.h"
#include "device/cuda/gpu.h"
#include "kernels/args.h"
#include "progress/gate.h"

#define GATED_BY(shut, call)                                                                                           \
    do {                                                                                                               \
        if (!tutti_cuda_ready())                                                                                       \
            return call;                                                                                               \
        shut();                                                                                                        \
        CUstreamCaptureMode mode = tutti_cuda_relax();                                                                 \
        int status = call;                                                                                             \
        tutti_cuda_unrelax(mode);                                                                                      \
        tutti_gate_open();                                                                                             \
        return status;                                                                                                 \
    } while (0)
#define GATED(call) GATED_BY(tutti_gate_shut, call)
/* Those that were seen to wait for a kernel that waits in a stream (driver 13.0), and keep other threads back: freeing,
 * registering and unregistering host memory, loading code. Mappings of peers' memory are taken for the same. */
#define GATED_BY_STEPS(call) GATED_BY(tutti_gate_shut_steps, call)

int tutti_cuda_gated_alloc(int gpu, size_t bytes, void **device)
{
    GATED(tutti_cuda_alloc(gpu, bytes, device));
}

int tutti_cuda_gated_free(void *device)
{
    GATED_BY_STEPS(tutti_cuda_free(device));
}

int tutti_cuda_gated_alloc_pinned(size_t bytes, void **host)
{
    GATED(tutti_cuda_alloc_pinned(bytes, host));
}

int tutti_cuda_gated_free_pinned(void *host)
{
    GATED_BY_STEPS(tutti_cuda_free_pinned(host));
}

int tutti_cuda_gated_map_host(int gpu, void *host, size_t bytes, void **device)
{
    GATED_BY_STEPS(tutti_cuda_map_host(gpu, host, bytes, device));
}

int tutti_cuda_gated_unmap_host(int gpu, void *host)
{
    GATED_BY_STEPS(tutti_cuda_unmap_host(gpu, host));
}

int tutti_cuda_gated_export(const void *device, struct tutti_export *out, int *fd)
{
    GATED(tutti_cuda_export(device, out, fd));
}

int tutti_cuda_gated_import(int gpu, const struct tutti_export *what, int fd, void **base)
{
    GATED_BY_STEPS(tutti_cuda_import(gpu, what, fd, base));
}

int tutti_cuda_gated_release(int gpu, const struct tutti_export *what, void *base)
{
    GATED_BY_STEPS(tutti_cuda_release(gpu, what, base));
}

int tutti_cuda_gated_reach_memory(int gpu, const void *pointer)
{
    GATED(tutti_cuda_reach_memory(gpu, pointer));
}

int tutti_cuda_gated_range_open(int gpu, size_t bytes, void **base)
{
    GATED(tutti_cuda_range_open(gpu, bytes, base));
}

int tutti_cuda_gated_range_add(int gpu, void *at, size_t bytes)
{
    GATED(tutti_cuda_range_add(gpu, at, bytes));
}

int tutti_cuda_gated_range_import(int gpu, const struct tutti_export *what, int fd, void *at)
{
    GATED_BY_STEPS(tutti_cuda_range_import(gpu, what, fd, at));
}

int tutti_cuda_gated_range_cut(int gpu, void *at)
{
    GATED_BY_STEPS(tutti_cuda_range_cut(gpu, at));
}

int tutti_cuda_gated_range_close(int gpu, void *base)
{
    GATED_BY_STEPS(tutti_cuda_range_close(gpu, base));
}

int tutti_cuda_gated_stream_create(int gpu, struct tutti_stream **out)
{
    GATED(tutti_cuda_stream_create(gpu, out));
}

static int gate_stream_destroy(struct tutti_stream *stream)
{
    tutti_cuda_spares_drop_of(stream);
    return tutti_cuda_stream_destroy(stream);
}

int tutti_cuda_gated_stream_destroy(struct tutti_stream *stream)
{
    GATED(gate_stream_destroy(stream));
}

static int gate_make_beside(struct tutti_cuda_context *context)
{
    struct tutti_cuda_scope scope;
    int status = tutti_cuda_enter_context(context, &scope);
    if (status != TUTTI_OK)
        return status;
    status = tutti_cuda_make_beside(context);
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_gated_make_beside(struct tutti_cuda_context *context)
{
    GATED(gate_make_beside(context));
}

int tutti_cuda_gated_launch_prepare(struct tutti_stream *stream, const struct tutti_launch *launch,
                                    struct tutti_prepared **out)
{
    GATED(tutti_cuda_launch_prepare(stream, launch, out));
}

int tutti_cuda_gated_keep_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch,
                               struct tutti_prepared **out)
{
    GATED(tutti_cuda_keep_pack(stream, launch, out));
}

static int gate_drop(struct tutti_prepared *prepared)
{
    tutti_cuda_launch_drop(prepared);
    return TUTTI_OK;
}

static int gated_drop(struct tutti_prepared *prepared)
{
    GATED(gate_drop(prepared));
}

void tutti_cuda_gated_launch_drop(struct tutti_prepared *prepared)
{
    if (prepared)
        (void)gated_drop(prepared);
}

static int gate_prepare(int gpu, uint32_t kernels, int type, int op)
{
    struct tutti_cuda_scope scope;
    int status = tutti_cuda_enter(gpu >= 0 ? gpu : tutti_cuda_any(), 1, &scope);
    if (status != TUTTI_OK)
        return status;
    CUfunction function = NULL;
    for (int kernel = 0; kernel < TUTTI_KERNELS && status == TUTTI_OK; kernel++) {
        if (kernels >> kernel & 1)
            status = tutti_cuda_function(scope.context, kernel, type, op, &function);
    }
    if (function && status == TUTTI_OK)
        tutti_cuda_first_graphs(scope.context, function);
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_prepare(int gpu, uint32_t kernels, int type, int op)
{
    GATED_BY_STEPS(gate_prepare(gpu, kernels, type, op));
}

int tutti_cuda_gated_prepare_shmem(int gpu, int type)
{
    GATED_BY_STEPS(tutti_cuda_prepare_shmem(gpu, type));
}

int tutti_cuda_gated_prepare_meet(int gpu)
{
    GATED_BY_STEPS(tutti_cuda_prepare_meet(gpu));
}

int tutti_cuda_gated_prepare_lane(int gpu)
{
    GATED_BY_STEPS(tutti_cuda_prepare_lane(gpu));
}

int tutti_cuda_gated_prepare_pack(int gpu, int all, size_t *room)
{
    GATED_BY_STEPS(tutti_cuda_prepare_pack(gpu, all, room));
}
