/* The contract that every device keeps. One const table a device; a missing entry is NULL and tutti_device_missing()
 * reports it by operation and device. All functions are local, safe from any thread, and return TUTTI_OK or a negative
 * status unless said otherwise; outputs are set on success alone. "GPU" is an ordinal of this process. Pointers named
 * `device` may be dereferenced by kernels and copies alone. Sizes are bytes. */
#ifndef TUTTI_DEVICE_DEVICE_H
#define TUTTI_DEVICE_DEVICE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/lives.h"
#include "core/types.h"

enum tutti_memory_kind {
    TUTTI_MEMORY_HOST,    /* ordinary host memory, unknown to the device */
    TUTTI_MEMORY_PINNED,  /* host memory registered with the device: the host may load and store it */
    TUTTI_MEMORY_MANAGED, /* migrates: host and kernels may use it, other processes may not */
    TUTTI_MEMORY_DEVICE   /* kernels and copies alone */
};

struct tutti_memory {
    enum tutti_memory_kind kind;
    int gpu;      /* that owns it; -1: any GPU of this process */
    uint64_t id;  /* of the allocation: never used again in this process, also when the address is */
    void *base;   /* device: start of the allocation */
    size_t bytes; /* of the allocation */
};

/* How another process reaches an allocation. Plain bytes: sent through shared memory or a transport. */
enum { TUTTI_EXPORT_TOKEN = 64 };
struct tutti_export {
    uint64_t id;       /* struct tutti_memory.id of the owner */
    uint64_t base;     /* owner's address of the allocation's start, for reports */
    uint64_t bytes;    /* of the allocation */
    uint32_t needs_fd; /* 1: token alone is not enough, a descriptor travels beside it */
    uint32_t kind;     /* private to the device */
    unsigned char token[TUTTI_EXPORT_TOKEN];
};

/* 1 if two allocations of one owner have addresses in common: one of them has been freed. */
static inline int tutti_export_overlaps(const struct tutti_export *one, const struct tutti_export *other)
{
    return one->base < other->base + other->bytes && other->base < one->base + one->bytes;
}

/* A copy that has begun; private to the device. */
struct tutti_copying {
    void *context, *to;
    const void *from;
    size_t bytes;
};

/* A launch is kept ready (launch.keep) when it occurs for this time: making it ready takes as long as one launch saves,
 * and the first ones of a GPU as long as ten (device/cuda/prepared.c). */
enum { TUTTI_LAUNCH_SEEN = 8 };

struct tutti_stream; /* ordered work on one GPU */
/* Some devices have a default stream that waits for other streams, and they for it. */
enum tutti_stream_order {
    TUTTI_STREAM_FREE,     /* waits for no other */
    TUTTI_STREAM_BLOCKING, /* its work and that of the default stream run one after the other */
    TUTTI_STREAM_DEFAULT
};
struct tutti_event;
struct tutti_prepared; /* a launch that is kept ready */

/* Kernels, see src/kernels/args.h. */
enum tutti_kernel {
#define TUTTI_KERNEL(id, name, args, part) TUTTI_KERNEL_##id,
#include "kernels/kernels.def"
#undef TUTTI_KERNEL
    TUTTI_KERNELS
};

/* What kernels that move data are launched as: elements of a byte each. */
enum { TUTTI_MOVES_TYPE = TUTTI_TYPE_U8, TUTTI_MOVES_OP = TUTTI_OP_SUM };

/* Blocks that the GPU sees of a launch of `blocks` in `rows`: each takes a multiprocessor if it waits for peers. */
static inline unsigned tutti_launched_blocks(unsigned blocks, unsigned rows)
{
    return rows > 1 ? (blocks + rows - 1) / rows : blocks;
}

struct tutti_kernel_args;
struct tutti_flow_args;
struct tutti_amo_args;
struct tutti_update_args;
struct tutti_launch {
    enum tutti_kernel kernel;
    int type, op;     /* element type and operator; a pair for which tutti_has_kernel() holds. Kernels that move data:
                         TUTTI_MOVES_TYPE, TUTTI_MOVES_OP */
    unsigned blocks;  /* thread blocks; a device may run them one after the other, in order: a block waits for peers'
                         blocks of its own number alone */
    unsigned threads; /* of a block, where the device has them; 0: as many as the kernels are made for */
    unsigned rows;    /* 2: two blocks take the room of one and half its threads each, as rows of its threads, on one
                         multiprocessor; `chain`, `pipeline` and `mapped`; `blocks` is even. 0: one each */
    int gpu;          /* that the kernel is for, where the stream is of none in particular */
    int early;        /* 1: the kernel waits by itself for earlier work of the stream, so that the device may start it
                         before */
    /* What the kernel takes, by its row in kernels.def; host pointers, copied before launch() returns. */
    const struct tutti_kernel_args *args;
    const struct tutti_flow_args *flow;
    const struct tutti_amo_args *amo;
    const struct tutti_update_args *update; /* its items are read until the kernel has ended */
};

struct tutti_pack_args;
/* A pointer in the args of a packing kernel, and the memory that the kernel reaches through it. */
struct tutti_pack_reach {
    uint32_t at; /* place of the pointer in the args, in bytes */
    const void *start;
    size_t bytes;
};
struct tutti_pack_launch {
    /* Copied before launch_pack() returns: args->head.bytes bytes, or the next larger of TUTTI_PACK_FEW_BYTES,
     * TUTTI_PACK_SOME_BYTES and the whole struct, all of which must be there to be read. */
    const struct tutti_pack_args *args;
    const struct tutti_pack_reach *reach;
    unsigned reaches;
};

struct tutti_pack_stay_args;
struct tutti_pack_mailed;
struct tutti_shmem_args;
struct tutti_lane_args;
struct tutti_meet_args;

/* Whose interface to GPUs a program uses beside Tutti's calls, and asks an MPI for (MPIX_Query_cuda_support). */
enum tutti_gpu_interface { TUTTI_GPU_INTERFACE_NONE, TUTTI_GPU_INTERFACE_CUDA };

/* A word that is 0 only while active() of a device would return 0, so that a call on host memory asks no device. `at`
 * may change at any time. What it has pointed to stays valid. */
struct tutti_device_sign {
    const uintptr_t *_Atomic at;
};

struct tutti_device {
    const char *name;
    const char *kinds;       /* memory that MPI calls take with it, by MPI 4.1's key mpi_memory_alloc_kinds */
    const char *stream_type; /* of its streams, by the key "type" of MPIX_Stream_create() */
    const char *rules;       /* its default rules, in the grammar of TUTTI_RULES */
    enum tutti_gpu_interface interface;
    int simulates;       /* 1: simulated: taken only if the user asks for it by name */
    int graphs;          /* 1: what is put into a stream may be captured in a graph, which is launched later */
    unsigned channel_mb; /* scratch of a communicator where TUTTI_CHANNEL_MB does not say, in MiB */
    int lingers;         /* 1: kernels run beside the thread that launches them, and see what it writes meanwhile */
    int reaches_host;    /* 1: kernels load and store ordinary host memory too */
    int host_steps; /* 1: a kernel may wait in a stream until the host has made a call of the MPI, for which it makes
                       none of the device: calls in stream order over several nodes. Meanwhile the device may keep all
                       its calls back (progress/gate.h). */

    /* Opens the device; further calls return the first result. `why` (of `size` bytes) says what is missing on
     * TUTTI_ERR_UNAVAILABLE. */
    int (*open)(char *why, size_t size);
    /* 1 if this process may hold memory of the device now. Cheap enough for every call of a program: a load or two.
     * Never loads, opens or initialises anything. */
    int (*active)(void);
    struct tutti_device_sign *sign; /* see tutti_device_active(); NULL: active() is asked every time */
    void (*close)(void); /* frees what open() took; only where the device is still alive, never from a destructor */

    /* GPUs of this process. */
    struct {
        int (*count)(void);       /* number of GPUs this process sees; 0 before the program uses the device */
        int (*current)(int *gpu); /* the GPU that the calling thread has chosen; -1: none in particular */
        int (*choose)(int gpu);   /* makes it the calling thread's */
        /* The program asks Tutti itself for memory or a stream: *gpu is the calling thread's GPU, or the first where it
         * has chosen none, which gets a context. No other operation may be what makes the first context on a GPU: Tutti
         * works on a GPU only after the program has passed memory of it. NULL: *gpu stays -1. */
        int (*meet)(int *gpu);
        /* Checks whether the program has reset GPUs (core/lives.h), in some ten nanoseconds a GPU. Callers that use
         * memory or mappings kept on a GPU check first, unless they have just classified a pointer of the program.
         * NULL: the device reports resets at once. */
        void (*look)(void);
        int (*uuid)(int gpu, unsigned char uuid[16]); /* equal over processes for the same hardware */
        int (*describe)(int gpu, char *text, size_t size);
        /* 0 if kernels on `gpu` cannot load and store memory of `peer`; 1 if they can; 2 if atomic operations besides
         * are not known to be missing. */
        int (*reach)(int gpu, const unsigned char peer[16]);
        /* 1 if the 128 bytes that a warp stores at once are seen whole, and atomic operations work, between two GPUs of
         * the machine that reach each other (NVLink), which the process need not see. NULL: between all. */
        int (*lines)(const unsigned char one[16], const unsigned char other[16]);
        /* 1 if lines answers at once for any two of the GPUs. 0: it would wait for something that takes long, which
         * begins in the background if `ask` is 1. NULL: it never waits. */
        int (*ready)(const unsigned char (*gpus)[16], int n, int ask);
        unsigned (*blocks)(int gpu); /* most thread blocks that are resident at once for kernels that wait */
        /* Most blocks of kernels that wait, of all calls and streams together, that are resident at once. NULL or 0:
         * kernels take no room from each other. */
        unsigned (*resident)(int gpu);
        /* 1 if kernels of different processes take turns on the GPU, each of which is longer than a short message
         * takes, while copies of 32 KiB and more between it and pinned host memory do not wait for a turn, nor do
         * shorter ones by stream.copy_in() and memory.copy_pinned(). Answers from the second call on are a load. NULL:
         * they run side by side. */
        int (*turns)(int gpu);
    } gpu;

    /* Memory. */
    struct {
        /* What `pointer` is. Always succeeds; unknown pointers are TUTTI_MEMORY_HOST. */
        void (*classify)(const void *pointer, struct tutti_memory *out);
        /* Synchronous copies and fills of the program may return before they are complete, but those of allocations
         * that classify() has been asked about. From now on all of them on `gpu` (-1: any) are complete when they
         * return: Tutti's kernels are about to reach memory that is not classified. Waits for those under way, for a
         * limited time. From the second call on a load or two. NULL: they always are. */
        void (*complete_all)(int gpu);
        int (*alloc)(int gpu, size_t bytes, void **device); /* 256-byte aligned; gpu -1: the current one */
        /* The same; the memory holds zeros and may be taken from the machine when it is touched. NULL: alloc and fill.
         */
        int (*alloc_cleared)(int gpu, size_t bytes, void **device);
        int (*free)(void *device);
        int (*alloc_pinned)(size_t bytes, void **host); /* host memory that copies reach fast */
        int (*free_pinned)(void *host);
        /* Makes host memory (page-aligned, shared with other processes or not) visible to kernels of `gpu`, and pinned.
         * gpu -1: of any. */
        int (*map_host)(int gpu, void *host, size_t bytes, void **device);
        int (*unmap_host)(int gpu, void *host);
        /* Copy outside any stream, done on return. For memory of the program: earlier work of its own default stream is
         * ordered before it, as a plain copy call of the device would be; but not while a capture keeps everybody from
         * that stream. May wait as memory.alloc() may: not between waiting_begin and waiting_end. */
        int (*copy_now)(void *to, const void *from, size_t bytes);
        /* As copy_now(), between memory of `gpu` as memory.classify() has just found it and memory of
         * memory.alloc_pinned(): the device is not asked for their kinds. in: 1: into memory of the GPU; such a copy
         * may be ordered behind no work of the program. NULL: copy_now(). */
        int (*copy_pinned)(int gpu, int in, void *to, const void *from, size_t bytes);
        /* copy_pinned() out of memory of `gpu`, in two parts between which the caller does other work, of the device
         * too: begin starts the copy, and end returns when the bytes are there. Each begun copy is ended once, by the
         * same thread. TUTTI_ERR_UNAVAILABLE, not reported, where a copy cannot begin now. NULL: copies are not
         * divided. */
        int (*copy_begin)(int gpu, void *to, const void *from, size_t bytes, struct tutti_copying *copying);
        int (*copy_end)(struct tutti_copying *copying);
        /* copy_pinned() between memory of `gpu` and ordinary host memory. */
        int (*copy_ordinary)(int gpu, int in, void *to, const void *from, size_t bytes);
        /* Bytes up to which a launch of launch.pack() copies between the two in less time. */
        size_t few;
    } memory;

    /* Memory that several processes or GPUs reach. */
    struct {
        /* Names the allocation that holds `device` so that another process can import it; *fd is set to a new
         * descriptor that the caller closes, or -1. TUTTI_ERR_NOT_EXPORTABLE where this memory cannot be shared. */
        int (*export)(const void *device, struct tutti_export *out, int *fd);
        /* Maps another process's allocation for kernels of `gpu`; *base is its start here. fd stays the caller's.
         * Memory of the calling process may be imported too (ranks may be threads). */
        int (*import)(int gpu, const struct tutti_export *what, int fd, void **base);
        int (*release)(int gpu, const struct tutti_export *what, void *base);
        /* ns that import, and memory.alloc of a scratch, usually take if that may be longer than a message takes:
         * messages do not wait for them then, and they are called on a thread of their own. 0, or NULL: they are quick.
         */
        uint64_t (*usual_ns)(void);
        /* The same of import where memory of that process, of about that size, is mapped already, which has joined the
         * two GPUs. NULL: as usual_ns(). */
        uint64_t (*joined_ns)(void);
        /* 1 if export and import, of ranges too, and memory.alloc() never wait for kernels that run: they may be called
         * while kernels in stream order wait for this process. release() may wait for them. NULL: all may. */
        int (*maps_beside)(void);
        /* Lets kernels of `gpu` load and store the allocation of this process that holds `device`, which lies on
         * another of its GPUs. Nothing else makes them: a kernel that is given such a pointer without it fails, and the
         * GPU is lost to the process. Copies need nothing. TUTTI_ERR_UNAVAILABLE (not reported) where no link joins the
         * two: stage. Asked once an allocation and GPU. NULL: all kernels reach all memory. */
        int (*reach)(int gpu, const void *device);
    } share;

    /* Ranges: addresses for memory that grows. Pieces are mapped on them one behind the other from the beginning on, in
     * sizes that are multiples of range.grain() (0: `gpu` has no ranges); kernels and copies see one memory.
     * memory.classify() and share.export() know each piece for itself, as an allocation. open: addresses alone, at a
     * multiple of the grain. add: the next piece at `at`, new memory of `gpu`; what it holds is undefined. import: the
     * next piece at `at` is a peer's, which was made so; fd stays the caller's. cut: takes the last piece off, which
     * begins at `at`; close: all there are, and the addresses. All NULL: not on this device. */
    struct {
        size_t (*grain)(int gpu);
        int (*open)(int gpu, size_t bytes, void **base);
        int (*add)(int gpu, void *at, size_t bytes);
        int (*import)(int gpu, const struct tutti_export *what, int fd, void *at);
        int (*cut)(int gpu, void *at);
        int (*close)(int gpu, void *base);
    } range;

    /* Streams. */
    struct {
        int (*create)(int gpu, struct tutti_stream **out);
        int (*destroy)(struct tutti_stream *stream);
        /* A stream that the program made itself: `handle` is what the device's own interface calls a stream (CUDA: a
         * cudaStream_t or CUstream by value, also NULL and the two special ones; host: a result of
         * tutti_stream_create()). stream.destroy() frees *out alone. gpu: the stream's; -1: any.
         * TUTTI_ERR_ARGUMENT (not reported) if it is no stream of this GPU. Its work never runs on the calling thread.
         */
        int (*wrap)(int gpu, void *handle, struct tutti_stream **out);
        /* The stream's GPU (-1: none in particular) and its handle, as stream_wrap takes it. */
        int (*identity)(const struct tutti_stream *stream, int *gpu, void **handle);
        /* Of enum tutti_stream_order. NULL: all are FREE. */
        int (*order)(const struct tutti_stream *stream);
        /* 1 if what is put into the stream goes into a graph that is being captured, 0 if not, negative: failed.
         */
        int (*capturing)(struct tutti_stream *stream);
        int (*sync)(struct tutti_stream *stream);  /* waits; bounded only by the work itself */
        int (*query)(struct tutti_stream *stream); /* 1 done, 0 not yet, negative: failed */
        /* Ordered copy between any two kinds of memory; returns before it is done where the device can. */
        int (*copy)(struct tutti_stream *stream, void *to, const void *from, size_t bytes);
        /* The same from pinned memory into memory of the stream's GPU, and the copy waits for no turn (gpu.turns).
         * NULL: copy(). */
        int (*copy_in)(struct tutti_stream *stream, void *to, const void *from, size_t bytes);
        /* Copies out of memory of the stream's GPU into mapped host memory, and then stores `value` in *word: the host,
         * other processes too, sees it after the bytes. `to` and `word`: addresses that memory.map_host() has returned
         * for this GPU. TUTTI_ERR_UNAVAILABLE, not reported, where the driver cannot store the word: no copy is under
         * way. */
        int (*land)(struct tutti_stream *stream, void *to, const void *from, size_t bytes, void *word, uint32_t value);
        int (*fill)(struct tutti_stream *stream, void *device, int byte, size_t bytes);
        /* Calls function(with) on a thread of the device when the stream reaches it; later work of the stream waits for
         * its return. It makes no call of the device. In a graph it is called at every launch. If the device fails
         * before, it is never called. NULL: not on this device. */
        int (*call)(struct tutti_stream *stream, void (*function)(void *with), void *with);
    } stream;

    /* Events. */
    struct {
        int (*create)(int gpu, struct tutti_event **out);
        int (*destroy)(struct tutti_event *event);
        int (*record)(struct tutti_event *event, struct tutti_stream *stream);
        /* The event is reached when the default stream of the event's GPU has done what the program has put into it so
         * far, which copies of the program wait for too. TUTTI_ERR_UNAVAILABLE (not reported) while that stream takes
         * part in a capture. NULL: there is no such stream. */
        int (*record_default)(struct tutti_event *event);
        /* Later work of the stream waits for the last record of the event. An event that was never recorded is not
         * waited for; but what goes into a graph may only wait for events that the same capture has recorded. */
        int (*wait)(struct tutti_stream *stream, struct tutti_event *event);
        int (*query)(struct tutti_event *event); /* 1 done, 0 not yet, negative: failed */
    } event;

    /* Launches of kernels. */
    struct {
        int (*kernel)(struct tutti_stream *stream, const struct tutti_launch *launch);
        /* The same of a flow kernel, into a stream of stream.create() that takes part in no capture: cheaper, see
         * cuda/prepared.c. NULL: use launch.kernel(). */
        int (*own)(struct tutti_stream *stream, const struct tutti_launch *launch);
        /* A launch with a flow kernel's or an update's arguments into a stream of stream.create(), kept ready, where
         * that is cheaper than launch.kernel() when it comes again. launch.keep() may wait for running kernels: not
         * between waiting_begin and waiting_end. launch.kept(): TUTTI_ERR_UNAVAILABLE (not reported) where it has gone
         * with its context; drop it. launch.drop() takes NULL too. NULL, all three: not on this device. */
        int (*keep)(struct tutti_stream *stream, const struct tutti_launch *launch, struct tutti_prepared **out);
        int (*kept)(struct tutti_stream *stream, struct tutti_prepared *prepared);
        void (*drop)(struct tutti_prepared *prepared);
        /* The packing kernel, see src/kernels/pack_args.h. */
        int (*pack)(struct tutti_stream *stream, const struct tutti_pack_launch *launch);
        int (*own_pack)(struct tutti_stream *stream, const struct tutti_pack_launch *launch); /* as launch.own() */
        /* Makes it ready on `gpu`, as launch.prepare() below; *room: most bytes of args that launch.pack() takes then
         * without loading more. all: 0: the kernels for few messages alone will do. */
        int (*prepare_pack)(int gpu, int all, size_t *room);
        /* As launch.keep(), of the packing kernel: what its args point to must be there when launch.kept() is called.
         * NULL if launch.keep() is. */
        int (*keep_pack)(struct tutti_stream *stream, const struct tutti_pack_launch *launch,
                         struct tutti_prepared **out);
        /* A packing kernel that stays, see src/kernels/pack_stay.inc; the args are copied before it returns.
         * TUTTI_ERR_UNAVAILABLE, not reported, where the kernels were made without it. NULL: not on this device. */
        int (*stay_pack)(struct tutti_stream *stream, const struct tutti_pack_stay_args *args);
        /* ns that such a kernel stays after a small fetch where the user leaves that to the library: about as long as a
         * launch and a message take. 0, NULL: it does not stay then. */
        uint64_t (*stay_ns)(void);
        unsigned (*stay_blocks)(int gpu); /* most blocks of such a kernel */
        /* What such a kernel of the stream is given for a launch, whose args have TUTTI_PACK_MAIL_BYTES at most; it may
         * also be launched by launch.pack() without reaches. NULL: the args as they are. */
        int (*mail_pack)(struct tutti_stream *stream, const struct tutti_pack_launch *launch,
                         struct tutti_pack_mailed *out);
        /* A kernel of the global address space, see src/kernels/shmem_args.h; the args are copied before it returns.
         * threads: of a block. The heaps of all PEs and what the args point to are memory that kernels reach. */
        int (*shmem)(struct tutti_stream *stream, const struct tutti_shmem_args *args, unsigned threads);
        /* Makes it ready, as launch.prepare() below: type -1: those of all but reductions; otherwise enum tshmem_type,
         * and with it the kernel `direct` of that type with every operator, which combines what is larger. */
        int (*prepare_shmem)(int gpu, int type);
        /* The lane kernel, see src/kernels/lane_args.h; the args are copied before it returns. What it waits for are
         * kernels of peers. prepare_lane: makes it ready, as launch.prepare() below. */
        int (*lane)(struct tutti_stream *stream, const struct tutti_lane_args *args);
        int (*prepare_lane)(int gpu);
        /* Makes kernels of the pair ready on `gpu` (-1: the current one), those whose bits (1 << enum tutti_kernel) are
         * set, so that launch.kernel() loads nothing. Not between waiting_begin and waiting_end. NULL: nothing is ever
         * loaded. */
        int (*prepare)(int gpu, uint32_t kernels, int type, int op);
        /* 1 if launch.prepare() of the kernel would load an image of kernels, which takes long. Loads nothing. NULL:
         * never. */
        int (*lacks)(int gpu, int kernel, int type, int op);
        /* Around launches of kernels that wait for other GPUs' kernels: from when all ranks are there to launch until
         * their kernels have ended. Meanwhile the device keeps calls back, of all threads, that may wait for running
         * kernels (load, allocate, free, map): two ranks that made one each in between would wait for each other for
         * ever. The calling thread makes no such call itself. NULL: no call waits for kernels. */
        void (*waiting_begin)(void);
        void (*waiting_end)(void);
        /* Local; does not wait. 1: no kernel is between waiting_begin and waiting_end, and none comes there before
         * apart_end(): meanwhile this thread (or fiber) makes calls that are otherwise kept back. 0: some kernel waits.
         * For calls of a rank that has arrived: the kernels of its peers may already wait for its launch, so
         * it must not wait for other kernels. NULL, both: no call waits for kernels. */
        int (*apart_begin)(void);
        void (*apart_end)(void);
        /* The kernel by which a rank marks partitions of a collective, see src/kernels/meet_args.h; the args are copied
         * before it returns. It waits for no kernel. prepare_meet: makes it ready, as launch.prepare() below; NULL:
         * nothing is ever loaded. */
        int (*meet)(struct tutti_stream *stream, const struct tutti_meet_args *args);
        int (*prepare_meet)(int gpu);
    } launch;
};

#define TUTTI_DEVICE(name_, ...) extern const struct tutti_device tutti_device_##name_;
#include "tutti/devices.def"
#undef TUTTI_DEVICE

/* How often the program has freed memory by Tutti's own calls. Tutti cannot observe other frees of device memory. */
extern _Atomic uint64_t tutti_device_frees;

/* device->active() of a device, which may be NULL. Makes no call while the process has not met it. */
static inline int tutti_device_active(const struct tutti_device *device)
{
    if (!device)
        return 0;
    if (__builtin_expect(device->sign != NULL, 1) &&
        __builtin_expect(
            !__atomic_load_n(atomic_load_explicit(&device->sign->at, memory_order_acquire), __ATOMIC_ACQUIRE), 1))
        return 0;
    return device->active();
}

/* The device of this process, by TUTTI_DEVICE; NULL with TUTTI_DEVICE=none. Chosen once, opens nothing. */
const struct tutti_device *tutti_device(void);
/* Device `index` of the list, or NULL past the last; *built is 0 if this build left it out. */
const struct tutti_device *tutti_device_at(int index, int *built);
/* Reports that `device` lacks `operation`; returns TUTTI_ERR_UNAVAILABLE. */
int tutti_device_missing(const struct tutti_device *device, const char *operation);

/* A stream of the library in which nothing runs on the calling thread: one that the device makes, wrapped as those of
 * programs are. Members that were not made are NULL. */
struct tutti_own_stream {
    void *handle;
    struct tutti_stream *made;
    struct tutti_stream *stream; /* the same: what work is put into */
};
/* Local. On `gpu`. A status; in any case tutti_own_stream_destroy() takes what was made. */
int tutti_own_stream_create(const struct tutti_device *device, int gpu, struct tutti_own_stream *own);
/* Local. Waits for no work. Takes one that is all NULL. A status: the first error. */
int tutti_own_stream_destroy(const struct tutti_device *device, struct tutti_own_stream *own);
/* 1 if the machine seems to have the hardware of `auto`'s first choice (looks at /dev, loads nothing). */
int tutti_device_present(const char *name);

#endif
