/* How the host works on memory of its GPU: in streams of its own, which wait for no other, so that a kernel of the
 * program that runs for ever keeps nothing back. A lane is such a stream with a line of pinned memory; one operation
 * has it at a time. What may be done later goes into a stream by itself. */
#ifndef TUTTI_SHMEM_LANE_H
#define TUTTI_SHMEM_LANE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/types.h"
#include "device/device.h"
#include "kernels/args.h"
#include "tutti/shmem.h"

struct tutti_shmem;

enum { TUTTI_SHMEM_LANES = 4, TUTTI_SHMEM_ROOM = 4096 };

/* Host memory that kernels see too. */
struct tutti_shmem_line {
    _Alignas(128) uint64_t was; /* what an atomic has fetched */
    uint32_t done;              /* its launch number */
    _Alignas(128) char room[TUTTI_SHMEM_ROOM];
};

struct tutti_shmem_lane {
    atomic_int busy;
    struct tutti_stream *stream;
    struct tutti_shmem_line *line, *seen; /* seen: as kernels address it */
    uint32_t launch_number;               /* of the last atomic */
    unsigned looks;
};

/* Of a context: where its operations go that are done later. Stays once it is made. */
struct tutti_shmem_later {
    struct tutti_stream *stream;
    _Atomic uint64_t issued, settled; /* operations in it, counted after they are in; of those seen to be done */
};

struct tutti_shmem_gpu {
    const struct tutti_device *device;
    int gpu;
    struct tutti_shmem_lane lane[TUTTI_SHMEM_LANES];
    struct tutti_shmem_line *lines; /* of all lanes */
    struct tutti_shmem_later later[TSHMEM_CONTEXTS_MAX];
    struct tutti_stream *agent; /* what far PEs ask for, in order */
    void *control;              /* the control page, where it is registered */
    ptrdiff_t agent_shift;      /* from message buffers as the host has them to where kernels do */
    void *parts;                /* room for parts of far heaps, made once */
    atomic_int parts_busy;
    void *heap; /* the own allocation; NULL: it is a range */
    struct {
        struct tutti_export what;
        void *base;  /* NULL: not mapped */
        char *range; /* where the heaps grow: of this PE too; NULL: none */
    } * peer;        /* [PEs] */
};

/* Local; a status, which is said. close: what open has made, also where that failed. */
int tutti_shmem_lanes_open(struct tutti_shmem *space, struct tutti_shmem_gpu *gpu);
void tutti_shmem_lanes_close(struct tutti_shmem_gpu *gpu);
/* Loads the kernels of all atomics, of reductions and of calls in streams: nothing is loaded while kernels of the
 * program run, for which a load may wait, and they for what comes after it. */
int tutti_shmem_lanes_prepare(struct tutti_shmem_gpu *gpu);
/* A free lane; NULL where none comes free before the address space ends, which is said. try: NULL where none is now. */
struct tutti_shmem_lane *tutti_shmem_lane_take(struct tutti_shmem *space);
struct tutti_shmem_lane *tutti_shmem_lane_try(struct tutti_shmem *space);
void tutti_shmem_lane_give(struct tutti_shmem_lane *lane);
/* Waits for what was put into the lane, of which `status` says whether that succeeded. end: gives the lane back, but
 * where it failed: then the address space ends. */
int tutti_shmem_lane_wait(struct tutti_shmem *space, struct tutti_shmem_lane *lane, int status);
int tutti_shmem_lane_end(struct tutti_shmem *space, struct tutti_shmem_lane *lane, int status);
/* 1 where all is done, 0 where not yet, negative: failed. Never waits. */
int tutti_shmem_lane_query(struct tutti_shmem *space, struct tutti_shmem_lane *lane);
/* Puts an atomic into a stream; of a lane: with word and launch number there. */
int tutti_shmem_lane_amo(struct tutti_shmem *space, struct tutti_stream *stream, struct tutti_shmem_lane *lane,
                         int operation, void *at, size_t bytes, uint64_t value, uint64_t compare);
/* The same with everything but args->what said by the caller. */
int tutti_shmem_amo_launch(struct tutti_shmem *space, struct tutti_stream *stream, int operation, size_t bytes,
                           struct tutti_amo_args *args);
/* Waits for it, and gives the lane back as above; what the word was before. */
uint64_t tutti_shmem_lane_fetch(struct tutti_shmem *space, struct tutti_shmem_lane *lane, int status);
/* Something was put into the stream of that context; waits for all of that. */
int tutti_shmem_later(struct tutti_shmem *space, int context, int status);
int tutti_shmem_later_end(struct tutti_shmem *space, int context);
/* Says that an operation of the device has failed, and ends the address space. */
int tutti_shmem_lane_fail(struct tutti_shmem *space, int status);

#endif
