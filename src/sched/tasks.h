/* Tasks that schedules share: send, receive, copy, combine. Each is one file, and a
 * description that its user fills in and keeps as long as the schedule. The task reads it when it is posted.
 *
 * tutti_task_x() adds the task and returns its place, or TUTTI_ERR_MEMORY. `number` is for reports and for the user's
 * functions, so that a description can serve several tasks if at most one of them runs at a time. */
#ifndef TUTTI_SCHED_TASKS_H
#define TUTTI_SCHED_TASKS_H

#include "dtype/pack.h"
#include "dtype/places.h"
#include "progress/transport.h"
#include "sched/sched.h"

enum tutti_task_end {
    TUTTI_TASK_DONE,
    TUTTI_TASK_FAILED, /* the run ends; nothing uses the memory of the task any more */
    TUTTI_TASK_LOST    /* the run ends; the transport or the device may still use the memory of the task */
};

/* What the user of a task does beside it. None of them waits; each may be NULL. */
struct tutti_task_hooks {
    /* Before the task begins: fills in what was not known before. 1; 0: not yet, it is asked again; negative: a status,
     * which ends the run. */
    int (*ready)(void *with, uint64_t number);
    /* The task has begun. */
    void (*begun)(void *with, uint64_t number);
    /* The task has ended; once for each task that has begun, or has failed to. */
    void (*ended)(void *with, uint64_t number, enum tutti_task_end how);
};
struct tutti_task_user {
    const struct tutti_task_hooks *hooks; /* NULL: none */
    void *with;
};

/* A message of the transport. Memory, sizes and tags are as there. Messages of one sender and tag are matched in the
 * order in which their tasks were posted: such tasks come after each other (TUTTI_AFTER_POST). */
struct tutti_transfer_task {
    struct tutti_task_user user;
    struct tutti_transport *transport;
    void *memory; /* send: it is only read */
    size_t bytes;
    int rank, tag;
    int synchronous;                /* send */
    struct tutti_transfer transfer; /* of the task */
};
int tutti_task_send(struct tutti_sched *sched, struct tutti_transfer_task *task, uint64_t number);
int tutti_task_receive(struct tutti_sched *sched, struct tutti_transfer_task *task, uint64_t number);

/* A copy between elements in memory and a run of bytes, job.packed. Without a plan job.memory is a run of bytes too,
 * and `first` is not looked at. Three ways, by what is set:
 * - stream: the device copies, or packs by kernels, in this stream; `event` is the task's meanwhile.
 * - places: as tutti_packed_move(), for elements in memory of several kinds; done when it is posted.
 * - neither: all is host memory; the host copies when it is posted. */
struct tutti_copy_task {
    struct tutti_task_user user;
    struct tutti_pack_job job; /* PACK or UNPACK */
    int gpu;                   /* of the stream */
    struct tutti_stream *stream;
    struct tutti_event *event;
    const struct tutti_places *places;
    int reached; /* 1: kernels of the GPU reach both sides, so that a few bytes may go by a kernel with a notice */
    struct tutti_pack_flight flight; /* of the task, then; without a channel: the event says when it has ended */
};
int tutti_task_copy(struct tutti_sched *sched, struct tutti_copy_task *task, uint64_t number);

/* out[i] = in[0][i] op in[1][i] op ... in this order; out may be one of the inputs. With a stream the device combines
 * memory that its kernels reach; without one the host combines host memory, when the task is posted. */
struct tutti_combine_task {
    struct tutti_task_user user;
    int type, op; /* a pair for which tutti_has_kernel() holds */
    int inputs;   /* up to TUTTI_MAX_RANKS */
    const void *const *in;
    void *out;
    size_t count; /* elements */
    struct tutti_stream *stream;
    struct tutti_event *event; /* of the stream's GPU */
};
int tutti_task_combine(struct tutti_sched *sched, struct tutti_combine_task *task, uint64_t number);
/* Puts the same into a stream, outside of schedules. count is not 0. A status. */
int tutti_combine_in_stream(struct tutti_stream *stream, int type, int op, const void *const in[], int inputs,
                            void *out, size_t count);

#endif
