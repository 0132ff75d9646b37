/* Graphs of the CUDA driver, which is opened where it is the device. */
#ifndef TUTTI_TESTS_SHMEM_STREAM_GRAPHS_H
#define TUTTI_TESTS_SHMEM_STREAM_GRAPHS_H

#include <dlfcn.h>
#include <string.h>

#include "support/check.h"
#include "tutti/tutti.h"

static struct {
    int (*begin)(void *stream, int mode);
    int (*end)(void *stream, void **graph);
    int (*make)(void **exec, void *graph, unsigned long long flags);
    int (*launch)(void *exec, void *stream);
    int (*drop)(void *exec);
    int (*context)(void *stream, void **context);
    int (*enter)(void *context);
} cu;

/* 1 if there are such. stream: one of the program's, whose context becomes the current one. */
static int graphs(void *stream)
{
    void *driver = strcmp(tutti_device_name(), "cuda") == 0 ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
#define FIND(field, name) *(void **)(void *)&cu.field = driver ? dlsym(driver, name) : NULL
    FIND(begin, "cuStreamBeginCapture_v2");
    FIND(end, "cuStreamEndCapture");
    FIND(make, "cuGraphInstantiateWithFlags");
    FIND(launch, "cuGraphLaunch");
    FIND(drop, "cuGraphExecDestroy");
    FIND(context, "cuStreamGetCtx");
    FIND(enter, "cuCtxSetCurrent");
    if (!cu.begin || !cu.end || !cu.make || !cu.launch || !cu.drop || !cu.context || !cu.enter)
        return 0;
    void *context = NULL; /* as a program with graphs has one */
    CHECK(cu.context(stream, &context) == 0 && cu.enter(context) == 0, "the context of the streams");
    return 1;
}

#endif
