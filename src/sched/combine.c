/* The task combine. */
#include "core/status.h"
#include "core/types.h"
#include "kernels/args.h"
#include "kernels/reduce.h"
#include "sched/hooks.h"

enum { BLOCK_BYTES = 16 * 512, BLOCKS = 64 }; /* enough for host memory, and some are left for other kernels */

int tutti_combine_in_stream(struct tutti_stream *stream, int type, int op, const void *const in[], int inputs,
                            void *out, size_t count)
{
    const struct tutti_device *device = tutti_device();
    const size_t bytes = count * tutti_type_size(type);
    const size_t blocks = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
    struct tutti_kernel_args args = {.count = count,
                                     .slice = count,
                                     .ranks = (uint32_t)inputs,
                                     .outs = 1,
                                     .gpus = 1,
                                     .shape = TUTTI_SHAPE_ALL,
                                     .out = {out},
                                     .blocks = (uint32_t)(blocks < BLOCKS ? blocks : BLOCKS)};
    if (inputs == 1)
        return device->stream.copy(stream, out, in[0], bytes);
    for (int i = 0; i < inputs; i++)
        args.in[i] = in[i];
    const struct tutti_launch launch = {
        .kernel = TUTTI_KERNEL_DIRECT, .type = type, .op = op, .blocks = args.blocks, .args = &args};
    return device->launch.kernel(stream, &launch);
}

static int combine_in_stream(const struct tutti_combine_task *task)
{
    const int status =
        tutti_combine_in_stream(task->stream, task->type, task->op, task->in, task->inputs, task->out, task->count);
    return status == TUTTI_OK ? tutti_device()->event.record(task->event, task->stream) : status;
}

static int combine_post(void *with, uint64_t number)
{
    struct tutti_combine_task *task = with;
    const int ready = tutti_task_ready(&task->user, number);
    if (ready <= 0)
        return ready == 0 ? TUTTI_TASK_LATER : ready;
    int answer = TUTTI_TASK_ENDED;
    if (task->stream && task->count > 0) {
        const int status = combine_in_stream(task);
        answer = status != TUTTI_OK ? status : TUTTI_TASK_RUNS;
    } else if (task->count > 0) {
        tutti_reduce_host(task->type, task->op, task->inputs, task->in, task->out, task->count);
    }
    return tutti_task_begin(&task->user, number, answer, TUTTI_TASK_LOST);
}

static int combine_poll(void *with, uint64_t number)
{
    struct tutti_combine_task *task = with;
    return tutti_task_poll(&task->user, number, tutti_device()->event.query(task->event), TUTTI_TASK_LOST);
}

static void combine_cancel(void *with, uint64_t number)
{
    tutti_task_end(&((struct tutti_combine_task *)with)->user, number, TUTTI_TASK_LOST);
}

static const struct tutti_task_ops combines = {
    .name = "combine", .post = combine_post, .poll = combine_poll, .cancel = combine_cancel};

int tutti_task_combine(struct tutti_sched *sched, struct tutti_combine_task *task, uint64_t number)
{
    return tutti_sched_add(sched, &combines, task, number);
}
