/* MPI_Reduce_local on a GPU: the kernel of `direct` over two contributions, on a stream kept for it or in stream
 * order. */
#include <pthread.h>

#include "coll/algorithm.h"
#include "core/log.h"
#include "core/status.h"
#include "core/types.h"

enum { GPUS = 64, BLOCK_BYTES = 16 * 512 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tutti_stream *streams[GPUS]; /* as long as the process lives */
static unsigned lives[GPUS];               /* of the GPU that each belongs to */

static int local_stream_of(const struct tutti_device *device, int gpu, struct tutti_stream **out)
{
    int status = TUTTI_OK;
    pthread_mutex_lock(&lock);
    if (streams[gpu] && lives[gpu] != tutti_gpu_life(gpu)) {
        device->stream.destroy(streams[gpu]);
        streams[gpu] = NULL;
    }
    lives[gpu] = tutti_gpu_life(gpu);
    if (!streams[gpu])
        status = device->stream.create(gpu, &streams[gpu]);
    if (status != TUTTI_OK)
        tutti_error("no stream for a local reduction on GPU %d: %s", gpu, tutti_status_text(status));
    *out = streams[gpu];
    pthread_mutex_unlock(&lock);
    return status;
}

int tutti_reduce_local_enqueue(struct tutti_stream *stream, const void *in, void *out, size_t count, int type, int op)
{
    const size_t size = tutti_type_size(type), blocks = (count * size + BLOCK_BYTES - 1) / BLOCK_BYTES;
    struct tutti_kernel_args args = {.count = count,
                                     .slice = count,
                                     .ranks = 2,
                                     .outs = 1,
                                     .gpus = 1,
                                     .shape = TUTTI_SHAPE_ALL,
                                     .in = {in, out},
                                     .out = {out},
                                     .blocks = (uint32_t)(blocks < TUTTI_MAX_BLOCKS ? blocks : TUTTI_MAX_BLOCKS)};
    const struct tutti_launch launch = {
        .kernel = TUTTI_KERNEL_DIRECT, .type = type, .op = op, .blocks = args.blocks, .args = &args};
    return tutti_device()->launch.kernel(stream, &launch);
}

int tutti_reduce_local(int gpu, const void *in, void *out, size_t count, int type, int op)
{
    const struct tutti_device *device = tutti_device();
    struct tutti_stream *stream;
    char why[160];
    if (!device || !device->launch.kernel || !device->stream.create || !device->stream.sync)
        return TUTTI_ERR_UNAVAILABLE;
    if (device->open(why, sizeof why) != TUTTI_OK) /* reported by the allocator */
        return TUTTI_ERR_UNAVAILABLE;
    if (gpu < 0 && (device->gpu.current(&gpu) != TUTTI_OK || gpu < 0))
        gpu = 0;
    if (gpu >= GPUS)
        return TUTTI_ERR_UNAVAILABLE;
    int status = local_stream_of(device, gpu, &stream);
    if (status != TUTTI_OK || count == 0)
        return status;
    status = tutti_reduce_local_enqueue(stream, in, out, count, type, op);
    return status == TUTTI_OK ? device->stream.sync(stream) : status;
}
