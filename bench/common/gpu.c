#include "bench/common/gpu.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bench/common/bench.h"
#include "core/clock.h"
#include "device/device.h"
#include "tutti/tutti.h"

/* What is needed of cuda.h; these calls and numbers are part of the driver's binary interface. */
enum { CAPTURE_THREAD_LOCAL = 1, EVENT_DEFAULT = 0 };

static struct {
    int (*EventCreate)(void **, unsigned);
    int (*EventRecord)(void *, void *);
    int (*EventSynchronize)(void *);
    int (*EventElapsedTime)(float *, void *, void *);
    int (*EventDestroy)(void *);
    int (*StreamBeginCapture)(void *, int);
    int (*StreamEndCapture)(void *, void **);
    int (*GraphInstantiate)(void **, void *, unsigned long long);
    int (*GraphLaunch)(void *, void *);
    int (*GraphExecDestroy)(void *);
    int (*GraphDestroy)(void *);
    int cuda; /* 1: all of them are there */
    void *stream, *event[2];
    uint64_t start;
} gpu;

static void cuda_check(int error, const char *call)
{
    if (error != 0)
        bench_fail("%s: error %d of the CUDA driver", call, error);
}
#define CHECK(name, ...) cuda_check(gpu.name(__VA_ARGS__), "cu" #name)

int bench_on_cuda(void)
{
    const struct tutti_device *device = tutti_device();
    return device && device->interface == TUTTI_GPU_INTERFACE_CUDA;
}

int bench_on_host(void)
{
    const struct tutti_device *device = tutti_device();
    return device && device->simulates;
}

int bench_gpu_open(char *why, size_t size)
{
    if (gpu.stream)
        return 1;
    if (bench_on_cuda()) {
        void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        int all = driver != NULL;
#define FIND(field, name) all = all && (*(void **)(void *)&gpu.field = dlsym(driver, name)) != NULL
        FIND(EventCreate, "cuEventCreate");
        FIND(EventRecord, "cuEventRecord");
        FIND(EventSynchronize, "cuEventSynchronize");
        *(void **)(void *)&gpu.EventElapsedTime = driver ? dlsym(driver, "cuEventElapsedTime_v2") : NULL;
        if (!gpu.EventElapsedTime) /* before CUDA 12.8 */
            FIND(EventElapsedTime, "cuEventElapsedTime");
        FIND(EventDestroy, "cuEventDestroy_v2");
        FIND(StreamBeginCapture, "cuStreamBeginCapture_v2");
        FIND(StreamEndCapture, "cuStreamEndCapture");
        FIND(GraphInstantiate, "cuGraphInstantiateWithFlags");
        FIND(GraphLaunch, "cuGraphLaunch");
        FIND(GraphExecDestroy, "cuGraphExecDestroy");
        FIND(GraphDestroy, "cuGraphDestroy");
#undef FIND
        if (!all) {
            snprintf(why, size, "libcuda.so.1 lacks calls that are needed for events and graphs");
            return 0;
        }
        gpu.cuda = 1;
    }
    int status = tutti_stream_create(&gpu.stream);
    if (status != 0) {
        snprintf(why, size, "no stream could be made: %s", tutti_status_text(status));
        return 0;
    }
    for (int i = 0; gpu.cuda && i < 2; i++)
        CHECK(EventCreate, &gpu.event[i], EVENT_DEFAULT);
    return 1;
}

void bench_gpu_close(void)
{
    if (!gpu.stream)
        return;
    for (int i = 0; gpu.cuda && i < 2; i++)
        gpu.EventDestroy(gpu.event[i]);
    tutti_stream_destroy(gpu.stream);
    gpu.stream = NULL;
}

int bench_gpu_has_graphs(void)
{
    return gpu.cuda;
}

void *bench_gpu_stream(void)
{
    return gpu.stream;
}

void bench_gpu_sync(void)
{
    bench_must(tutti_stream_sync(gpu.stream), "waiting for the stream");
}

void bench_gpu_start(void)
{
    if (gpu.cuda) {
        CHECK(EventRecord, gpu.event[0], gpu.stream);
        return;
    }
    bench_gpu_sync();
    gpu.start = tutti_now_ns();
}

double bench_gpu_stop(void)
{
    if (!gpu.cuda) {
        bench_gpu_sync();
        return (double)(tutti_now_ns() - gpu.start) * 1e-3;
    }
    float ms = 0;
    CHECK(EventRecord, gpu.event[1], gpu.stream);
    CHECK(EventSynchronize, gpu.event[1]);
    CHECK(EventElapsedTime, &ms, gpu.event[0], gpu.event[1]);
    bench_gpu_sync(); /* also says what the library has to say of the stream */
    return (double)ms * 1e3;
}

void bench_graph_begin(void)
{
    CHECK(StreamBeginCapture, gpu.stream, CAPTURE_THREAD_LOCAL);
}

struct bench_graph *bench_graph_end(void)
{
    void *graph = NULL, *ready = NULL;
    CHECK(StreamEndCapture, gpu.stream, &graph);
    CHECK(GraphInstantiate, &ready, graph, 0);
    CHECK(GraphDestroy, graph);
    return ready;
}

struct bench_graph *bench_graph_try_end(void)
{
    void *graph = NULL, *ready = NULL;
    if (gpu.StreamEndCapture(gpu.stream, &graph) != 0 || !graph)
        return NULL;
    if (gpu.GraphInstantiate(&ready, graph, 0) != 0)
        ready = NULL;
    gpu.GraphDestroy(graph);
    return ready;
}

void bench_graph_launch(struct bench_graph *graph)
{
    CHECK(GraphLaunch, graph, gpu.stream);
}

void bench_graph_free(struct bench_graph *graph)
{
    if (graph)
        gpu.GraphExecDestroy(graph);
}
