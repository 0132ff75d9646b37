/* Streams of the program on a real GPU: in order with its own work, captured and replayed, and beside other work. */
#include <string.h>

#include "core/types.h"
#include "device_test.h"

#define CUDA(call)                                                                                                     \
    do {                                                                                                               \
        CUresult result_ = (call);                                                                                     \
        CHECK(result_ == CUDA_SUCCESS, "%s: CUDA error %d", #call, (int)result_);                                      \
    } while (0)

static int all(const void *memory, int byte)
{
    static unsigned char host[BYTES];
    OK(device->memory.copy_now(host, memory, BYTES));
    return host[0] == byte && memcmp(host, host + 1, BYTES - 1) == 0;
}

/* While a stream is captured in global mode the device does the rest of its work all the same. */
static void beside(int gpu)
{
    struct tutti_stream *own = NULL;
    struct tutti_event *event = NULL;
    void *memory = NULL, *pinned = NULL;
    OK(device->memory.alloc(gpu, BYTES, &memory));
    OK(device->memory.alloc_pinned(4096, &pinned));
    OK(device->stream.create(gpu, &own));
    OK(device->event.create(gpu, &event));
    OK(device->launch.prepare(gpu, UINT32_MAX, TUTTI_TYPE_I16, TUTTI_OP_BXOR));
    OK(device->stream.fill(own, memory, 9, BYTES));
    OK(device->event.record(event, own));
    int done;
    while ((done = device->event.query(event)) == 0)
        ;
    CHECK(done == 1, "an event beside a capture: %d", done);
    OK(device->stream.sync(own));
    OK(device->event.destroy(event));
    OK(device->stream.destroy(own));
    OK(device->memory.free_pinned(pinned));
    OK(device->memory.free(memory));
}

static void capture(int gpu, CUstream handle, struct tutti_stream *stream, CUstreamCaptureMode mode)
{
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    char *a = NULL, *b = NULL;
    OK(device->memory.alloc(gpu, BYTES, (void **)&a));
    OK(device->memory.alloc(gpu, BYTES, (void **)&b));
    OK(device->stream.fill(stream, b, 1, BYTES));
    CUDA(DRIVER(cuStreamBeginCapture_v2)(handle, mode));
    CHECK(device->stream.capturing(stream) == 1, "a capture is not seen");
    OK(device->stream.fill(stream, a, 40 + (int)mode, BYTES));
    beside(gpu);
    OK(device->stream.copy(stream, b, a, BYTES));
    CUDA(DRIVER(cuStreamEndCapture)(handle, &graph));
    CHECK(device->stream.capturing(stream) == 0, "the capture has not ended");
    CUDA(DRIVER(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    OK(device->stream.sync(stream));
    CHECK(all(b, 1), "captured work was done at once");
    for (int i = 0; i < 3; i++) {
        CUDA(DRIVER(cuGraphLaunch)(exec, handle));
        OK(device->stream.sync(stream));
        CHECK(all(b, 40 + (int)mode), "launch %d of a graph captured in mode %d", i, (int)mode);
        OK(device->stream.fill(stream, b, 2, BYTES));
    }
    OK(device->stream.sync(stream));
    CUDA(DRIVER(cuGraphExecDestroy)(exec));
    CUDA(DRIVER(cuGraphDestroy)(graph));
    OK(device->memory.free(a));
    OK(device->memory.free(b));
}

void program_streams_test(int gpu, int gpus)
{
    struct tutti_stream *stream = NULL, *wrong = NULL;
    CUstream handle = NULL;
    void *memory = NULL, *same = NULL;
    int on = -1;
    OK(device->gpu.choose(gpu));
    CUDA(DRIVER(cuStreamCreate)(&handle, CU_STREAM_NON_BLOCKING));
    OK(device->stream.wrap(-1, handle, &stream));
    OK(device->stream.identity(stream, &on, &same));
    CHECK(on == gpu && same == (void *)handle, "a stream of GPU %d is said to be of %d", gpu, on);
    if (gpus > 1)
        CHECK(device->stream.wrap((gpu + 1) % gpus, handle, &wrong) == TUTTI_ERR_ARGUMENT, "another GPU's stream");
    CHECK(device->stream.capturing(stream) == 0, "nothing is captured");
    capture(gpu, handle, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    capture(gpu, handle, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    capture(gpu, handle, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    OK(device->stream.destroy(stream));
    CUDA(DRIVER(cuStreamSynchronize)(handle)); /* it is the program's still */
    CUDA(DRIVER(cuStreamDestroy_v2)(handle));
    OK(device->memory.alloc(gpu, BYTES, &memory));
    for (uintptr_t special = 0; special < 3; special++) {
        OK(device->stream.wrap(gpu, (void *)special, &stream));
        CHECK(device->stream.capturing(stream) == 0, "default stream %d is captured", (int)special);
        OK(device->stream.fill(stream, memory, 70 + (int)special, BYTES));
        OK(device->stream.sync(stream));
        CHECK(all(memory, 70 + (int)special), "default stream %d", (int)special);
        OK(device->stream.destroy(stream));
    }
    OK(device->memory.free(memory));
}
