/* Packing on a device. Local calls; TUTTI_OK or a negative status, reported. */
#ifndef TUTTI_DTYPE_PACK_H
#define TUTTI_DTYPE_PACK_H

#include "device/device.h"
#include "dtype/plan.h"

enum tutti_direction { TUTTI_PACK, TUTTI_UNPACK, TUTTI_RELAYOUT };

/* One message. Pointers may be of any memory that kernels on `gpu` reach (device, pinned, managed, a peer's mapped
 * memory). PACK: memory by plan -> packed; UNPACK: packed -> memory by plan; RELAYOUT: memory by plan -> to by to_plan,
 * without the packed middle; both hold the same number of bytes. A part of a message: bytes [first, first + bytes) of
 * the packed form, `packed` pointing at byte `first`. */
struct tutti_pack_job {
    enum tutti_direction direction;
    const struct tutti_plan *plan;
    uint64_t count; /* elements */
    void *memory;
    void *packed;
    const struct tutti_plan *to_plan;
    uint64_t to_count;
    void *to;
    uint64_t first, bytes;
};

/* All jobs in one launch into `stream` of `gpu`, as long as what describes them has room in a kernel's parameters
 * (about 250 regular messages; 30 with kernels made by nvcc 12), otherwise in as few as it takes. What devices keep of
 * a plan (lists, tables of small elements) is uploaded at first use: that may allocate and copies with a wait, so not
 * while a graph is captured (TUTTI_ERR_UNAVAILABLE then, where the plan has lists) and not between waiting_begin and
 * waiting_end; tutti_pack_prepare() does it before (plan NULL: the kernels alone). The caller holds the plans until the
 * work is done. RELAYOUT between two irregular types of some hundred segments: TUTTI_ERR_UNAVAILABLE. */
int tutti_pack_prepare(int gpu, const struct tutti_plan *plan);
/* The kernels for few messages between runs of bytes alone, which are loaded in less time: for callers that may wait
 * for the others to be loaded at a launch that needs them. */
int tutti_pack_prepare_few(int gpu);
/* Local, any thread, no lock: what a launch on the GPU (-1: the current one) would do first. */
enum tutti_pack_state {
    TUTTI_PACK_UNLOADED, /* load the kernels, or there is no device */
    TUTTI_PACK_LOADED,   /* make a stream, which allocates */
    TUTTI_PACK_READY     /* nothing; also on a device that never loads kernels */
};
enum tutti_pack_state tutti_pack_state(int gpu);
/* ns that loading the kernels for few messages takes, of two H200: the images 0.3 ms, their functions 0.5, the launches
 * that are kept ready 1.5. All copies and launches of all threads of the process wait for the driver meanwhile. */
enum { TUTTI_PACK_LOADING_NS = 2500000 };
/* ns that copying a message between ranks takes less than the MPI's way, through host memory: on two H200 3 to 7 us at
 * 8 bytes, 8 to 11 at 4 KiB, 15 to 18 at 64 KiB, 200 at 1 MiB. */
static inline uint64_t tutti_pack_gains(uint64_t bytes)
{
    return 5500 + (bytes < 4096 ? bytes : 4096) * 3 / 4 + bytes / 5;
}
/* Local, any thread, no lock: the one account of the kernels that are not loaded. Once it has what loading takes, a
 * thread loads them. lost: a call has lost so many ns without them; TUTTI_PACK_FEW_LOST: one of few bytes. gained: copy
 * engines have made these copies of other ranks' messages. They have gained so much beside the MPI's way that the
 * loading makes no program slower than that way. A window of many copies is enough: a program repeats it. */
enum { TUTTI_PACK_FEW_LOST = 6000 };
void tutti_pack_lost(int gpu, uint64_t ns);
void tutti_pack_gained(int gpu, const struct tutti_pack_job *jobs, unsigned n);
/* Local. Waits for such a thread, before the device is closed. */
void tutti_pack_load_end(void);

/* Whether a packing kernel or a copy of the driver moves few bytes between one run of memory of a GPU and pinned memory
 * (pack/few.c). ALONE: one copy, of a call that makes no other. REPEATED: one of many like it, of a collective. PAIR:
 * the first or the second one of a call (TUTTI_PACK_FIRST, TUTTI_PACK_SECOND). */
enum tutti_few { TUTTI_FEW_ALONE, TUTTI_FEW_REPEATED, TUTTI_FEW_PAIR };
/* Local, any thread. 1: by a kernel, which is ready. may_load: kernels that would be of use and are not ready may be
 * loaded for the next ones. On a GPU that ranks share no kernel copies few bytes. */
int tutti_few_by_kernel(int gpu, uint64_t bytes, enum tutti_few use, int may_load);
/* Local, any thread. Copies a run of bytes between memory of the GPU, as memory.classify() has just found it or as it
 * is mapped from a peer, and pinned memory of the library: by a kernel if they are few, otherwise as
 * memory.copy_pinned(). in: into memory of the GPU. how: TUTTI_PACK_KEEP where a launch may be kept ready, otherwise 0.
 */
int tutti_run_copy(int gpu, int in, void *to, const void *from, uint64_t bytes, unsigned how, int may_load);
int tutti_pack_enqueue(struct tutti_stream *stream, int gpu, const struct tutti_pack_job *jobs, unsigned n);
/* The same of one job, which is one run of bytes on both sides; then the kernel stores the number, which is not zero,
 * in *done, mapped host memory: the host, other processes too, sees it after the bytes. *ended: device memory of
 * launches in this stream alone, zero at first. */
struct tutti_pack_notice {
    volatile uint32_t *done;
    uint32_t *ended;
    uint32_t number;
};
int tutti_pack_enqueue_telling(struct tutti_stream *stream, int gpu, const struct tutti_pack_job *job,
                               const struct tutti_pack_notice *notice);
/* A run of bytes from one memory that kernels on `gpu` reach to another, in the stream: by a kernel up to so many
 * bytes, otherwise by a copy of the device. Between kernels of the stream a copy of 8 bytes takes 5 us longer than a
 * kernel, of 64 KiB 8 us (H200). tutti_pack_run: the same as a job, of any number of bytes; its plan is NULL without
 * memory. */
enum { TUTTI_PACK_RUN_MOST = 64 << 10 };
int tutti_pack_run_enqueue(struct tutti_stream *stream, int gpu, void *to, const void *from, uint64_t bytes);
struct tutti_pack_job tutti_pack_run(void *to, const void *from, uint64_t bytes);
/* The same, done on return: picks the host's way for small messages in memory that the host can reach, and otherwise a
 * launch on a stream of its own (one a GPU and thread at most) with a notice in mapped memory. A message between memory
 * that only kernels reach and memory that only the host does: TUTTI_ERR_ARGUMENT. What lies at a layout's first byte is
 * taken to be what all of it is. */
int tutti_pack_now(int gpu, const struct tutti_pack_job *jobs, unsigned n);
/* The same for callers that have another way. *reached: 0 in place of an error message for that case. */
int tutti_pack_where_reached(int gpu, const struct tutti_pack_job *jobs, unsigned n, int *reached);
/* The same by a launch, for a caller that knows that kernels of the GPU reach all memory of the jobs: the device is not
 * asked for its kind. how: TUTTI_PACK_NEAR: all that is stored lies in memory of this GPU. TUTTI_PACK_KEEP: a launch
 * that is repeated may be kept ready, which may wait for running kernels (device/device.h: launch.keep_pack).
 * TUTTI_PACK_ALONE: the caller waits for this launch alone, so that its kernel may stay for the next one
 * (pack/stay_forecast.h).
 * TUTTI_PACK_FIRST and TUTTI_PACK_SECOND: the two launches of one call, with messages between them. The kernel of the
 * first one stays on the GPU for TUTTI_PACK_PAIR_NS at most, takes the second one without a launch, and leaves. What
 * waits for the whole GPU waits so long for it. Where the kernel has left too often before the second one, it does not
 * stay for a while. */
enum { TUTTI_PACK_NEAR = 1, TUTTI_PACK_KEEP = 2, TUTTI_PACK_FIRST = 4, TUTTI_PACK_SECOND = 8, TUTTI_PACK_ALONE = 16 };
enum {
    TUTTI_PACK_PAIR_NS = 50000,
    TUTTI_PACK_PAIR_FEW = 4 /* so many times memory.few: a kernel copies more in less time, if only one is launched */
};
int tutti_pack_reached(int gpu, const struct tutti_pack_job *jobs, unsigned n, unsigned how);
/* The same in two halves: begin returns when the kernel is launched; on success poll, until it does not return 0 (1:
 * all is done; negative: a status), or end, which waits. The caller holds the plans until then. */
struct tutti_pack_channel;
struct tutti_pack_flight {
    const struct tutti_device *device;
    struct tutti_pack_channel *channel; /* NULL: there was nothing to be done */
    uint64_t start, asked;
    unsigned how;
    int mailed; /* 1: a kernel that stays has taken the launch */
    int failed; /* a status: why it could not be launched afresh */
};
int tutti_pack_begin(int gpu, const struct tutti_pack_job *jobs, unsigned n, unsigned how,
                     struct tutti_pack_flight *out);
int tutti_pack_poll(struct tutti_pack_flight *flight);
int tutti_pack_end(struct tutti_pack_flight *flight);

/* The same by copy engines, several jobs at once. TUTTI_ERR_UNAVAILABLE, and nothing was done, where a job is not
 * between runs of bytes, or no streams are idle and may_make is 0. may_make: streams may be created. That may wait for
 * running kernels, so a caller whose kernels in stream order may wait for this process passes 0. */
int tutti_pack_copies(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make);
/* The same in two halves: begin returns when the copies are started (TUTTI_OK also if one of them could not be: poll
 * returns that); then poll, until it does not return 0 (1: all is done; negative: a status), or end, which waits. */
struct tutti_copy_streams;
struct tutti_copy_flight {
    struct tutti_copy_streams *streams;
    int status; /* of the starts */
};
int tutti_pack_copies_begin(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make,
                            struct tutti_copy_flight *out);
int tutti_pack_copies_poll(struct tutti_copy_flight *flight);
int tutti_pack_copies_end(struct tutti_copy_flight *flight);
/* A copy by an engine of the GPU that has the stream of `gpu`, behind those that were started before; at most four are
 * open. start: 1: it is started; 0: too many are open, and nothing was done; negative: a status, TUTTI_ERR_UNAVAILABLE
 * as above. On success poll until it does not return 0: 1: the copy has ended; negative: a status. copy->queue is NULL
 * then. */
struct tutti_copy_queue;
struct tutti_queued_copy {
    struct tutti_copy_queue *queue; /* NULL: no copy is open */
    unsigned event;
};
int tutti_copy_queue_is_full(int gpu); /* 1: start would probably return 0 */
int tutti_copy_queue_start(int gpu, void *to, const void *from, uint64_t bytes, int may_make,
                           struct tutti_queued_copy *out);
int tutti_copy_queue_poll(struct tutti_queued_copy *copy);
/* The same between memory that the GPU reaches, by copies to pinned memory and from there: they wait for no turn of
 * this process on the GPU (device.h, gpu.turns). TUTTI_ERR_UNAVAILABLE too where no pinned memory can be had, or it
 * would be more than 16 MiB. */
int tutti_pack_through(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make);

#endif
