/* The task copy. */
#include <string.h>

#include "core/status.h"
#include "sched/hooks.h"

static int copy_in_stream(const struct tutti_copy_task *task)
{
    const struct tutti_device *device = tutti_device();
    const struct tutti_pack_job *job = &task->job;
    int status;
    if (job->plan)
        status = tutti_pack_enqueue(task->stream, task->gpu, job, 1);
    else if (job->direction == TUTTI_PACK)
        status = device->stream.copy(task->stream, job->packed, job->memory, job->bytes);
    else
        status = device->stream.copy(task->stream, job->memory, job->packed, job->bytes);
    return status == TUTTI_OK ? device->event.record(task->event, task->stream) : status;
}

/* A few bytes by a kernel, whose notice takes less time than an event. 1 if it is under way. */
static int copy_by_kernel(struct tutti_copy_task *task)
{
    struct tutti_pack_job job = task->job;
    task->flight = (struct tutti_pack_flight){.channel = NULL};
    if (!task->reached || job.plan || !tutti_few_by_kernel(task->gpu, job.bytes, TUTTI_FEW_REPEATED, 0) ||
        !(job.plan = tutti_plan_of_byte()))
        return 0;
    job.count = job.bytes;
    job.first = 0;
    return tutti_pack_begin(task->gpu, &job, 1, job.direction == TUTTI_UNPACK ? TUTTI_PACK_NEAR : 0, &task->flight) ==
               TUTTI_OK &&
           task->flight.channel;
}

static void copy_on_host(const struct tutti_pack_job *job)
{
    if (job->plan && job->direction == TUTTI_PACK)
        tutti_plan_pack_host(job->plan, job->count, job->memory, job->first, job->bytes, job->packed);
    else if (job->plan)
        tutti_plan_unpack_host(job->plan, job->count, job->memory, job->first, job->bytes, job->packed);
    else if (job->direction == TUTTI_PACK)
        memcpy(job->packed, job->memory, job->bytes);
    else
        memcpy(job->memory, job->packed, job->bytes);
}

static int copy_post(void *with, uint64_t number)
{
    struct tutti_copy_task *task = with;
    const struct tutti_pack_job *job = &task->job;
    const int ready = tutti_task_ready(&task->user, number);
    int status = TUTTI_OK;
    if (ready <= 0)
        return ready == 0 ? TUTTI_TASK_LATER : ready;
    if (task->stream) {
        status = copy_by_kernel(task) ? TUTTI_OK : copy_in_stream(task);
        return tutti_task_begin(&task->user, number, status != TUTTI_OK ? status : TUTTI_TASK_RUNS, TUTTI_TASK_LOST);
    }
    if (task->places)
        status = tutti_packed_move(job->direction, task->places, job->plan, (int64_t)job->count, job->memory,
                                   job->first, job->bytes, job->packed);
    else
        copy_on_host(job);
    return tutti_task_begin(&task->user, number, status != TUTTI_OK ? status : TUTTI_TASK_ENDED, TUTTI_TASK_FAILED);
}

static int copy_poll(void *with, uint64_t number)
{
    struct tutti_copy_task *task = with;
    const int done = task->flight.channel ? tutti_pack_poll(&task->flight) : tutti_device()->event.query(task->event);
    return tutti_task_poll(&task->user, number, done, TUTTI_TASK_LOST);
}

static void copy_cancel(void *with, uint64_t number)
{
    tutti_task_end(&((struct tutti_copy_task *)with)->user, number, TUTTI_TASK_LOST);
}

static const struct tutti_task_ops copies = {
    .name = "copy", .post = copy_post, .poll = copy_poll, .cancel = copy_cancel};

int tutti_task_copy(struct tutti_sched *sched, struct tutti_copy_task *task, uint64_t number)
{
    return tutti_sched_add(sched, &copies, task, number);
}
