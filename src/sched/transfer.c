/* The tasks send and receive. */
#include "core/status.h"
#include "sched/hooks.h"

/* 1, 0 or a status. */
static int transfer_done(struct tutti_transfer_task *task)
{
    int done = 0;
    const int status = task->transport->ops->test(task->transport, &task->transfer, NULL, &done);
    return status != TUTTI_OK ? status : done;
}

static int send_post(void *with, uint64_t number)
{
    struct tutti_transfer_task *task = with;
    const int ready = tutti_task_ready(&task->user, number);
    if (ready <= 0)
        return ready == 0 ? TUTTI_TASK_LATER : ready;
    const int status = task->transport->ops->send(task->transport, task->memory, task->bytes, task->rank, task->tag,
                                                  task->synchronous, &task->transfer);
    return tutti_task_begin(&task->user, number, status != TUTTI_OK ? status : TUTTI_TASK_RUNS, TUTTI_TASK_LOST);
}

static int send_poll(void *with, uint64_t number)
{
    struct tutti_transfer_task *task = with;
    return tutti_task_poll(&task->user, number, transfer_done(task), TUTTI_TASK_LOST);
}

/* A send cannot be taken back. */
static void send_cancel(void *with, uint64_t number)
{
    tutti_task_end(&((struct tutti_transfer_task *)with)->user, number, TUTTI_TASK_LOST);
}

static int receive_post(void *with, uint64_t number)
{
    struct tutti_transfer_task *task = with;
    const int ready = tutti_task_ready(&task->user, number);
    if (ready <= 0)
        return ready == 0 ? TUTTI_TASK_LATER : ready;
    const int status = task->transport->ops->receive(task->transport, task->memory, task->bytes, task->rank, task->tag,
                                                     &task->transfer);
    return tutti_task_begin(&task->user, number, status != TUTTI_OK ? status : TUTTI_TASK_RUNS, TUTTI_TASK_FAILED);
}

/* A receive that fails has ended. */
static int receive_poll(void *with, uint64_t number)
{
    struct tutti_transfer_task *task = with;
    return tutti_task_poll(&task->user, number, transfer_done(task), TUTTI_TASK_FAILED);
}

static void receive_cancel(void *with, uint64_t number)
{
    struct tutti_transfer_task *task = with;
    int cancelled = 0;
    const int status = task->transport->ops->cancel(task->transport, &task->transfer, &cancelled);
    tutti_task_end(&task->user, number, status == TUTTI_OK && cancelled ? TUTTI_TASK_FAILED : TUTTI_TASK_LOST);
}

static const struct tutti_task_ops sends = {
    .name = "send to rank", .post = send_post, .poll = send_poll, .cancel = send_cancel};
static const struct tutti_task_ops receives = {
    .name = "receive from rank", .post = receive_post, .poll = receive_poll, .cancel = receive_cancel};

int tutti_task_send(struct tutti_sched *sched, struct tutti_transfer_task *task, uint64_t number)
{
    return tutti_sched_add(sched, &sends, task, number);
}

int tutti_task_receive(struct tutti_sched *sched, struct tutti_transfer_task *task, uint64_t number)
{
    return tutti_sched_add(sched, &receives, task, number);
}
