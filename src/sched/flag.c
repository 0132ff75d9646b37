/* The task flag: waits for a word in memory. */
#include "sched/hooks.h"

static int flag_done(const struct tutti_flag_task *task)
{
    return (int32_t)(atomic_load_explicit(task->word, memory_order_acquire) - task->value) >= 0;
}

static int flag_post(void *with, uint64_t number)
{
    struct tutti_flag_task *task = with;
    const int ready = tutti_task_ready(&task->user, number);
    if (ready <= 0)
        return ready == 0 ? TUTTI_TASK_LATER : ready;
    return tutti_task_begin(&task->user, number, flag_done(task) ? TUTTI_TASK_ENDED : TUTTI_TASK_RUNS,
                            TUTTI_TASK_FAILED);
}

static int flag_poll(void *with, uint64_t number)
{
    struct tutti_flag_task *task = with;
    return tutti_task_poll(&task->user, number, flag_done(task), TUTTI_TASK_FAILED);
}

static void flag_cancel(void *with, uint64_t number)
{
    tutti_task_end(&((struct tutti_flag_task *)with)->user, number, TUTTI_TASK_FAILED);
}

static const struct tutti_task_ops flags = {
    .name = "flag", .post = flag_post, .poll = flag_poll, .cancel = flag_cancel};

int tutti_task_flag(struct tutti_sched *sched, struct tutti_flag_task *task, uint64_t number)
{
    return tutti_sched_add(sched, &flags, task, number);
}
