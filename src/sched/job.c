/* The task job: runs a job of a worker. */
#include "core/status.h"
#include "sched/hooks.h"

static void job_start(void *with, uint64_t number)
{
    struct tutti_job_task *task = with;
    (void)number;
    tutti_worker_reserve(task->worker, &task->job);
}

static int job_post(void *with, uint64_t number)
{
    struct tutti_job_task *task = with;
    const int ready = tutti_task_ready(&task->user, number);
    if (ready <= 0)
        return ready == 0 ? TUTTI_TASK_LATER : ready;
    const int status = tutti_worker_ready(task->worker, &task->job);
    return tutti_task_begin(&task->user, number, status != TUTTI_OK ? status : TUTTI_TASK_RUNS, TUTTI_TASK_FAILED);
}

static int job_poll(void *with, uint64_t number)
{
    struct tutti_job_task *task = with;
    const int done = tutti_job_done(&task->job);
    return tutti_task_poll(&task->user, number, done && task->job.status < 0 ? task->job.status : done,
                           TUTTI_TASK_FAILED);
}

static void job_cancel(void *with, uint64_t number)
{
    struct tutti_job_task *task = with;
    const int unused = tutti_worker_skip(task->worker, &task->job) || tutti_job_done(&task->job);
    tutti_task_end(&task->user, number, unused ? TUTTI_TASK_FAILED : TUTTI_TASK_LOST);
}

static void job_skip(void *with, uint64_t number)
{
    struct tutti_job_task *task = with;
    (void)number;
    (void)tutti_worker_skip(task->worker, &task->job);
}

static const struct tutti_task_ops jobs = {
    .name = "job", .start = job_start, .post = job_post, .poll = job_poll, .cancel = job_cancel, .skip = job_skip};

int tutti_task_job(struct tutti_sched *sched, struct tutti_job_task *task, uint64_t number)
{
    return tutti_sched_add(sched, &jobs, task, number);
}
