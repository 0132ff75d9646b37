/* The context in which Tutti works on each GPU, and the kernels loaded there. Private to src/device/cuda/. */
#ifndef TUTTI_DEVICE_CUDA_GPU_H
#define TUTTI_DEVICE_CUDA_GPU_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/types.h"
#include "device/cuda/driver.h"
#include "device/device.h"
#include "kernels/fatbin.h"

enum {
    TUTTI_CUDA_GPUS = 64,
    TUTTI_CUDA_PACKS = 3,
    TUTTI_CUDA_PACK_IMAGES = 3,
    TUTTI_CUDA_SHMEMS = 15,
    TUTTI_CUDA_LANES = 3
};

/* Which synchronous copies and fills of the program are complete when they return, see complete.c. */
enum tutti_cuda_complete {
    TUTTI_CUDA_COMPLETE_SEEN, /* those of memory that tutti_cuda_classify() has seen */
    TUTTI_CUDA_COMPLETE_ALL,
    TUTTI_CUDA_COMPLETE_NONE /* the driver cannot */
};

/* One life of a context. A reset of the GPU ends it, also where the driver hands out the same handle again: `id`
 * distinguishes them. Never freed, so that streams of a context that has gone can still ask about it. */
struct tutti_cuda_context {
    CUcontext handle;
    unsigned long long id;
    int gpu;
    int retained; /* the primary context: Tutti has retained it */
    atomic_int gone;
    atomic_int early;               /* 1: kernels may be launched early, see struct tutti_launch */
    atomic_int complete;            /* enum tutti_cuda_complete */
    pthread_mutex_t lock;           /* loading of modules */
    CUmodule module[TUTTI_FATBINS]; /* of kernels/fatbin.h, loaded at the first use */
    _Atomic(CUfunction) function[TUTTI_KERNELS][TUTTI_TYPES][TUTTI_OPS];
    CUmodule pack_module[TUTTI_CUDA_PACK_IMAGES];   /* under lock */
    _Atomic(CUfunction) pack[TUTTI_CUDA_PACKS + 1]; /* the last: the one that stays */
    CUmodule shmem_module;                          /* under lock */
    _Atomic(CUfunction) shmem[TUTTI_CUDA_SHMEMS];
    CUmodule lane_module;                       /* under lock */
    _Atomic(CUfunction) lane[TUTTI_CUDA_LANES]; /* see kernels/lane.h and lane.c */
    CUmodule meet_module;                       /* under lock */
    _Atomic(CUfunction) meet;                   /* see kernels/meet.h */
    _Atomic(CUstream) beside;                   /* of copies outside the default stream; made under lock */
    atomic_int copies_in;                       /* while there is no `beside` */
    _Atomic(_Atomic(uint32_t) *) words;         /* pinned, see words.c; made under lock */
    CUdeviceptr words_seen;                     /* where the GPU sees them */
    atomic_int words_tried;                     /* 1: there will be no others */
    _Atomic(uint64_t) words_taken;              /* bits */
    atomic_int copies_out;                      /* while there are no words */
    atomic_int graphs;                          /* 1: the first launches were made ready */
    pthread_mutex_t spare_lock;
    struct tutti_prepared *spare; /* launches that can be kept ready for any kernel, see prepared.c; under spare_lock */
    int spares;                   /* how many; under spare_lock */
    struct tutti_cuda_context *older;
};

/* Between enter and leave the context is the calling thread's current one. */
struct tutti_cuda_scope {
    struct tutti_cuda_context *context;
    int pushed;
};

/* Enters the context of `gpu`: that of the first buffer seen there, else the calling thread's current one, else, with
 * `make`, the GPU's primary context. A missing context is reported; TUTTI_ERR_DEVICE. */
int tutti_cuda_enter(int gpu, int make, struct tutti_cuda_scope *scope);
/* Enters this very context; TUTTI_ERR_DEVICE, without a report, where it has gone. */
int tutti_cuda_enter_context(struct tutti_cuda_context *context, struct tutti_cuda_scope *scope);
/* The same two for a call that has just found memory there with tutti_cuda_classify(), or has entered it before: the
 * driver is not asked once more whether the context was reset. */
int tutti_cuda_enter_found(int gpu, struct tutti_cuda_scope *scope);
int tutti_cuda_enter_seen(struct tutti_cuda_context *context, struct tutti_cuda_scope *scope);
void tutti_cuda_leave(struct tutti_cuda_scope *scope);

/* The context of `gpu`, if one has been chosen and has not been seen to be gone; NULL. One load. */
struct tutti_cuda_context *tutti_cuda_context_of(int gpu);
/* 1 if there is one. */
int tutti_cuda_has_context(int gpu);
/* Notices resets: the context of a GPU is not the one that was chosen. Of all GPUs, since pinned host memory goes
 * with the context that it was taken in. */
void tutti_cuda_look(void);
/* 1 if this is the context in which Tutti works on `gpu`: one load. */
int tutti_cuda_works_in(int gpu, CUcontext handle);
/* The program has memory in this context. If `gpu` has no context yet, this one becomes its context. Else it is one
 * beside that: the contexts of a process reach each other's memory on a GPU, but each completes its own copies. */
void tutti_cuda_adopt(int gpu, CUcontext handle);
/* Number of GPUs; 0 if the driver is not initialised. */
int tutti_cuda_count(void);
/* The calling thread's GPU, or -1. */
int tutti_cuda_current(void);
/* A GPU for work that any can do: the current one, else one that has a context, else 0. */
int tutti_cuda_any(void);

/* From now on synchronous copies and fills of the program are complete when they return: those of the allocation that
 * holds `pointer`, of device memory of `gpu` made in this context (NULL: in none). Waits for those of it that are under
 * way. If the driver cannot, the same as tutti_cuda_complete_all(). Local, any thread. */
void tutti_cuda_complete_memory(int gpu, const void *pointer, CUcontext owner);
/* All that the program makes in the context of `gpu` (-1: of any), or will make once there is one. Waits for those
 * under way, for a limited time. Local, any thread. */
void tutti_cuda_complete_all(int gpu);
/* The contexts of `gpu` that are chosen from now on get the flag. 1: they do. */
void tutti_cuda_complete_flag(int gpu);
int tutti_cuda_complete_flagged(int gpu);
/* Of a context that is chosen for its GPU, which gets the flag if those of its GPU do. fresh: Tutti has just made it,
 * so that nothing is under way. */
void tutti_cuda_complete_begin(struct tutti_cuda_context *context, int fresh);
/* The same, once, for a context of the program beside the one in which Tutti works. Any thread. */
void tutti_cuda_complete_beside(int gpu, CUcontext handle);

/* 1 if this process sees the GPU of this UUID: *device. */
int tutti_cuda_of_uuid(const unsigned char uuid[16], CUdevice *device);
/* 1 if the driver, or else the management library, says that NVLink joins the two GPUs, by their UUIDs, and that they
 * are of one compute capability. If neither can answer, one message at info level reports it. */
int tutti_cuda_nvlink(const unsigned char one[16], const unsigned char other[16]);
/* 1 if the answers for any two of the GPUs are there. ask: otherwise a thread starts NVML and asks it. */
int tutti_cuda_nvlink_ready(const unsigned char (*gpus)[16], int n, int ask);

/* Turns the result of `what` in `context` into a status, reports failures and notices a context that has gone. */
int tutti_cuda_check(CUresult result, const char *what, struct tutti_cuda_context *context);
/* The same for calls that free. TUTTI_OK without a message if the context no longer exists. */
int tutti_cuda_check_free(CUresult result, const char *what, struct tutti_cuda_context *context);

/* Until unrelax the calling thread may allocate, load, free and ask for events though some thread of the program
 * captures a stream in global mode, which forbids it to all. None of it is about the stream that is captured. */
CUstreamCaptureMode tutti_cuda_relax(void);
void tutti_cuda_unrelax(CUstreamCaptureMode mode);

/* The kernel of a pair for which tutti_has_kernel() holds; loads its module at the first use. The context is entered.
 */
/* 1 if the image that holds the kernel is not loaded on the GPU. */
int tutti_cuda_lacks(int gpu, int kernel, int type, int op);
int tutti_cuda_function(struct tutti_cuda_context *context, int kernel, int type, int op, CUfunction *out);
/* Unloads modules and gives primary contexts back. `before` is called for each context before, which is entered. */
void tutti_cuda_contexts_close(void (*before)(struct tutti_cuda_context *context));

/* What the files of this folder give to the table in cuda.c; contracts in device.h. */
void tutti_cuda_classify(const void *pointer, struct tutti_memory *out);
/* The same without where its allocation begins and ends: one call of the driver. *complete (NULL: not wanted): 1 if
 * synchronous copies of it are complete when they return. */
void tutti_cuda_kind(const void *pointer, struct tutti_memory *out, int *complete);
int tutti_cuda_alloc(int gpu, size_t bytes, void **device);
int tutti_cuda_free(void *device);
int tutti_cuda_alloc_pinned(size_t bytes, void **host);
int tutti_cuda_free_pinned(void *host);
int tutti_cuda_map_host(int gpu, void *host, size_t bytes, void **device);
int tutti_cuda_unmap_host(int gpu, void *host);
/* The stream context->beside; the context is entered. */
int tutti_cuda_make_beside(struct tutti_cuda_context *context);
/* words.c. 1 if there are words that streams of the context write; they are made when some copies have been. The
 * context is entered, and the thread is relaxed. */
int tutti_cuda_has_words(struct tutti_cuda_context *context);
/* Waits for the work of a stream of such a context. Returns the driver's result. */
CUresult tutti_cuda_await_stream(struct tutti_cuda_context *context, CUstream stream);
/* marked.c. 1 if the end of a copy of so many bytes of a GPU into this pinned memory can be seen by the data. */
int tutti_cuda_can_mark(const void *to, CUdeviceptr from, size_t bytes);
/* Copies memory of the context, which is entered, into pinned memory, in the legacy stream; done on return. */
CUresult tutti_cuda_copy_marked(void *to, CUdeviceptr from, size_t bytes);
int tutti_cuda_copy_now(void *to, const void *from, size_t bytes);
int tutti_cuda_turns(int gpu);
int tutti_cuda_copy_pinned(int gpu, int in, void *to, const void *from, size_t bytes);
int tutti_cuda_copy_begin(int gpu, void *to, const void *from, size_t bytes, struct tutti_copying *copying);
int tutti_cuda_copy_end(struct tutti_copying *copying);
int tutti_cuda_copy_ordinary(int gpu, int in, void *to, const void *from, size_t bytes);
int tutti_cuda_export(const void *device, struct tutti_export *out, int *fd);
int tutti_cuda_import(int gpu, const struct tutti_export *what, int fd, void **base);
int tutti_cuda_release(int gpu, const struct tutti_export *what, void *base);
int tutti_cuda_reach_memory(int gpu, const void *pointer);
size_t tutti_cuda_range_grain(int gpu);
int tutti_cuda_range_open(int gpu, size_t bytes, void **base);
int tutti_cuda_range_add(int gpu, void *at, size_t bytes);
int tutti_cuda_range_import(int gpu, const struct tutti_export *what, int fd, void *at);
int tutti_cuda_range_cut(int gpu, void *at);
int tutti_cuda_range_close(int gpu, void *base);
/* Of memory of the device: the piece of a range that holds the pointer, if one does. */
void tutti_cuda_range_classify(const void *pointer, struct tutti_memory *memory);
/* share.c: 1 if a peer names memory that is mapped by a descriptor of its own; maps the memory of a handle, for
 * copies and kernels of all GPUs that can reach it, of `device` at least. The context is entered. */
int tutti_cuda_is_piece(const struct tutti_export *what);
CUresult tutti_cuda_map_handle(CUdevice device, CUmemGenericAllocationHandle handle, CUdeviceptr at, size_t bytes);
int tutti_cuda_stream_create(int gpu, struct tutti_stream **out);
int tutti_cuda_stream_wrap(int gpu, void *handle, struct tutti_stream **out);
int tutti_cuda_stream_identity(const struct tutti_stream *stream, int *gpu, void **handle);
int tutti_cuda_stream_order(const struct tutti_stream *stream);
int tutti_cuda_stream_capturing(struct tutti_stream *stream);
int tutti_cuda_stream_destroy(struct tutti_stream *stream);
int tutti_cuda_stream_sync(struct tutti_stream *stream);
int tutti_cuda_stream_query(struct tutti_stream *stream);
int tutti_cuda_event_create(int gpu, struct tutti_event **out);
int tutti_cuda_event_destroy(struct tutti_event *event);
int tutti_cuda_event_record(struct tutti_event *event, struct tutti_stream *stream);
int tutti_cuda_event_record_default(struct tutti_event *event);
int tutti_cuda_event_wait(struct tutti_stream *stream, struct tutti_event *event);
int tutti_cuda_event_query(struct tutti_event *event);
int tutti_cuda_copy(struct tutti_stream *stream, void *to, const void *from, size_t bytes);
/* A copy of pinned memory into a GPU that waits for no turn (gpu.turns), of so many bytes that tutti_cuda_copy() would.
 */
int tutti_cuda_goes_in_rows(size_t bytes);
CUresult tutti_cuda_copy_rows(CUstream stream, CUdeviceptr to, const char *from, size_t bytes);
int tutti_cuda_copy_in(struct tutti_stream *stream, void *to, const void *from, size_t bytes);
int tutti_cuda_land(struct tutti_stream *stream, void *to, const void *from, size_t bytes, void *word, uint32_t value);
int tutti_cuda_fill(struct tutti_stream *stream, void *device, int byte, size_t bytes);
int tutti_cuda_call(struct tutti_stream *stream, void (*function)(void *with), void *with);
int tutti_cuda_launch(struct tutti_stream *stream, const struct tutti_launch *launch);
int tutti_cuda_launch_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch);
int tutti_cuda_stay_pack(struct tutti_stream *stream, const struct tutti_pack_stay_args *args);
int tutti_cuda_prepare_pack(int gpu, int all, size_t *room);
int tutti_cuda_launch_shmem(struct tutti_stream *stream, const struct tutti_shmem_args *args, unsigned threads);
int tutti_cuda_prepare_shmem(int gpu, int type);
int tutti_cuda_launch_lane(struct tutti_stream *stream, const struct tutti_lane_args *args);
int tutti_cuda_prepare_lane(int gpu);
int tutti_cuda_launch_meet(struct tutti_stream *stream, const struct tutti_meet_args *args);
int tutti_cuda_prepare_meet(int gpu);
int tutti_cuda_launch_own(struct tutti_stream *stream, const struct tutti_launch *launch);
int tutti_cuda_launch_own_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch);
int tutti_cuda_launch_prepare(struct tutti_stream *stream, const struct tutti_launch *launch,
                              struct tutti_prepared **out);
int tutti_cuda_launch_prepared(struct tutti_stream *stream, struct tutti_prepared *prepared);
void tutti_cuda_launch_drop(struct tutti_prepared *prepared);
int tutti_cuda_keep_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch,
                         struct tutti_prepared **out);
/* Of a launch: blocks of `rows` rows of `threads` threads. */
struct tutti_cuda_grid {
    unsigned blocks, threads, rows;
};
/* prepared.c. Makes some launches ready of this kernel, once for the context, which is entered, for later use with
 * others: the first one takes the driver 0.25 ms, later ones 16 us (H200). So they come with the first kernels, whose
 * loading takes longer. */
void tutti_cuda_first_graphs(struct tutti_cuda_context *context, CUfunction function);
/* Drops those that are not in use: all of the context, which is entered, or of a stream that is about to be destroyed.
 */
void tutti_cuda_spares_drop(struct tutti_cuda_context *context);
void tutti_cuda_spares_drop_of(struct tutti_stream *stream);
/* prepared.c: a kernel of the context with these parameters, which are copied, kept ready for launches into `stream`.
 */
int tutti_cuda_keep_kernel(struct tutti_cuda_context *context, CUfunction function, struct tutti_cuda_grid grid,
                           void **parameters, CUstream stream, struct tutti_prepared **out);

/* image.c. The kernel `name` of a module that is loaded by itself, in the current context; loaded at the first use,
 * kept in *kept. Not reported. */
CUresult tutti_cuda_image_function(struct tutti_cuda_context *context, CUmodule *module, const void *(*fatbin)(void),
                                   const char *name, _Atomic(CUfunction) *kept, CUfunction *out);

#endif
