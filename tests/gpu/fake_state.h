/* What the files of the pretended driver share. */
#ifndef TUTTI_TESTS_GPU_FAKE_STATE_H
#define TUTTI_TESTS_GPU_FAKE_STATE_H

#include <cuda.h>

#include "fake_libcuda.h"
#include "kernels/pack_args.h"

#define EXPORT __attribute__((visibility("default")))
enum { GPUS = 2, ROOM = 256, PAGE = 4096, GRAIN = 2 << 20, OBJECT_FD = 100 };

struct CUctx_st {
    int gpu, alive, retained;
    unsigned flags;
    unsigned long long id;
};
struct CUstream_st {
    CUcontext context;
    unsigned long long id;
    unsigned flags;
};
/* Of one kernel, or captured: without a function. */
struct CUgraph_st {
    CUDA_KERNEL_NODE_PARAMS node;
    unsigned char arguments[TUTTI_PACK_FEW_BYTES]; /* of other kernels the first 256 */
    unsigned long long sense[2];
    CUcontext context;
    unsigned long long life;  /* the context's number: a reset GPU has another context at the same place */
    struct CUgraph_st *of;    /* the graph that it was instantiated from */
    struct CUgraph_st *older; /* instantiated, kept reachable: what a context that is reset held, nobody frees */
};
struct memory {
    char *base;
    size_t bytes;
    unsigned long long id;
    int gpu, fd;
    enum fake_kind kind;
    int registered, mapped;
    int complete;      /* 1: synchronous copies of it are complete when they return */
    CUcontext made_in; /* a context of the program's own; NULL: the primary one */
};

extern struct CUctx_st fake_primary[GPUS];
extern _Thread_local CUcontext fake_stack[16];
extern _Thread_local int fake_depth;
extern _Thread_local int fake_relaxed; /* mode of stream capture */
extern struct memory fake_memories[ROOM];
extern unsigned long long fake_ids;
extern int fake_initialised, fake_objects;
extern struct fake_control fake_state;

/* fake_late.c. 1: the copy arrives later; 0: the caller makes it. */
int fake_late_copy(void *to, const void *from, size_t bytes);
void fake_late_end(void);
/* Counts the call; not zero: it fails with this. */
int fake_call(const char *name);
/* The memory that holds the pointer. */
struct memory *fake_find(CUdeviceptr pointer);
/* Maps a descriptor as memory of the device (at: where, or NULL), which owns it from then on. */
struct memory *fake_add(int gpu, enum fake_kind kind, size_t bytes, int fd, void *at);
struct memory *fake_create(int gpu, enum fake_kind kind, size_t bytes);
void fake_drop(struct memory *memory);
int fake_is_default(CUstream stream);
int fake_is_legacy(CUstream stream);
/* A copy in a stream, now or later (fake_control.late); fake_stream_done: all that the stream was asked for. */
void fake_stream_copy(CUstream stream, void *to, const void *from, size_t bytes);
void fake_stream_done(CUstream stream);
/* Something is put into the stream, or waits for it. */
CUresult fake_used(CUstream stream);
void *fake_make_stream(int gpu, unsigned flags);
int fake_stream_valid(CUstream stream);
int fake_kernel_has_sense(const char *name);

#define ENTER()                                                                                                        \
    do {                                                                                                               \
        int injected = fake_call(__func__);                                                                            \
        if (injected)                                                                                                  \
            return (CUresult)injected;                                                                                 \
        if (!fake_initialised)                                                                                         \
            return CUDA_ERROR_NOT_INITIALIZED;                                                                         \
    } while (0)
#define CONTEXT()                                                                                                      \
    do {                                                                                                               \
        ENTER();                                                                                                       \
        if (!fake_depth || !fake_stack[fake_depth - 1])                                                                \
            return CUDA_ERROR_INVALID_CONTEXT;                                                                         \
        if (!fake_stack[fake_depth - 1]->alive)                                                                        \
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;                                                                    \
    } while (0)

/* What a capture in global mode forbids to all threads that are not relaxed. */
#define UNSAFE()                                                                                                       \
    do {                                                                                                               \
        CONTEXT();                                                                                                     \
        if (fake_state.capturing && !fake_relaxed)                                                                     \
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;                                                              \
    } while (0)

#define STREAM(stream)                                                                                                 \
    do {                                                                                                               \
        CONTEXT();                                                                                                     \
        if (!fake_stream_valid(stream))                                                                                \
            return CUDA_ERROR_INVALID_HANDLE;                                                                          \
    } while (0)
#endif
