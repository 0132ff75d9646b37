/* One piece of work of a stream of the host device, its pointers already those by which the memory is reached. */
#ifndef TUTTI_DEVICE_HOST_WORK_H
#define TUTTI_DEVICE_HOST_WORK_H

#include "device/device.h"
#include "device/host/queues.h"
#include "kernels/args.h"
#include "kernels/lane_args.h"
#include "kernels/meet_args.h"
#include "kernels/pack_args.h"
#include "kernels/shmem_args.h"

struct tutti_work {
    enum {
        TUTTI_WORK_COPY,
        TUTTI_WORK_FILL,
        TUTTI_WORK_LAUNCH,
        TUTTI_WORK_PACK,
        TUTTI_WORK_STAY, /* a packing kernel that stays */
        TUTTI_WORK_SHMEM,
        TUTTI_WORK_LANE,
        TUTTI_WORK_MEET,
        TUTTI_WORK_CALL,
        TUTTI_WORK_RECORD,
        TUTTI_WORK_WAIT
    } kind;
    struct tutti_work *next;
    struct tutti_host_turn turn;
    struct tutti_event *event; /* record, wait */
    unsigned long number;
    void *to; /* copy, fill */
    const void *from;
    size_t bytes;
    int byte;
    int within;                   /* of a copy: between memory of GPUs, for which it takes turns as a kernel does */
    void (*function)(void *with); /* call, with `to` */
    int kernel, type, op;         /* launch */
    int gpu;                      /* of its stream */
    int is_flow;                  /* it is `flow` that holds */
    unsigned blocks;
    unsigned places;                 /* of a launch: multiprocessors for its blocks; see places.h */
    unsigned jitter;                 /* not 0: kernels that wait pause now and then, as follows from it */
    struct tutti_pack_args *pack;    /* freed when it has run; tutti_work_drop() where it never does */
    struct tutti_update_item *items; /* of a launch; likewise */
    union {
        struct tutti_kernel_args args;
        struct tutti_flow_args flow;
        struct tutti_amo_args amo;
        struct tutti_update_args update;
        struct tutti_shmem_args shmem;
        struct tutti_lane_args lane;
        struct tutti_meet_args meet;
        struct tutti_pack_stay_args stay;
    };
};

/* Fill *work. A pointer into memory of the device that is not allocated gives TUTTI_ERR_DEVICE, with a message; so
 * does, but in copies, memory that kernels of `gpu` do not reach (gpus.h). */
int tutti_work_copy(struct tutti_work *work, void *to, const void *from, size_t bytes);
int tutti_work_fill(struct tutti_work *work, int gpu, void *device, int byte, size_t bytes);
int tutti_work_launch(struct tutti_work *work, int gpu, const struct tutti_launch *launch);
int tutti_work_shmem(struct tutti_work *work, int gpu, const struct tutti_shmem_args *args);
int tutti_work_lane(struct tutti_work *work, int gpu, const struct tutti_lane_args *args);
int tutti_work_meet(struct tutti_work *work, int gpu, const struct tutti_meet_args *args);
int tutti_work_pack(struct tutti_work *work, int gpu, const struct tutti_pack_launch *launch);
int tutti_work_stay(struct tutti_work *work, int gpu, const struct tutti_pack_stay_args *args);
/* The args of work that is never run. */
int tutti_work_mail(int gpu, const struct tutti_pack_launch *launch, struct tutti_pack_mailed *out);
void tutti_work_drop(struct tutti_work *work);
/* Runs copy, fill or launch on the calling thread. */
int tutti_work_run(struct tutti_work *work);

#endif
