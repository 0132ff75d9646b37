/* Buffers of kernels that meet in channels: reductions, and moves of data. */
#include "device/host/work_reach.h"

#include "core/status.h"
#include "core/types.h"
#include "kernels/reduce.h"

/* The elements of the contribution and of this rank's result. */
static void flow_elements(const struct tutti_flow_args *args, uint64_t *in, uint64_t *out)
{
    *in = *out = args->count;
    if (args->shape != TUTTI_SHAPE_SEGMENTS)
        return;
    *in = 0;
    for (uint32_t r = 0; r < args->ranks; r++)
        *in = args->begin[r] + args->n[r] > *in ? args->begin[r] + args->n[r] : *in;
    *out = args->n[args->rank];
}

/* 0 if the result's pointer may be anything, as the MPI has it. */
static int flow_gets(const struct tutti_flow_args *args)
{
    return args->shape == TUTTI_SHAPE_ROOT     ? args->rank == args->root
           : args->shape == TUTTI_SHAPE_BEFORE ? args->number > 0
                                               : 1;
}

/* *address is replaced; 0 if bytes is 0. */
static int flow_reach(int gpu, const char *what, uint64_t *address, uint64_t bytes)
{
    void *at = NULL;
    const int status =
        bytes > 0 ? tutti_work_reach(gpu, what, (const void *)(uintptr_t)*address, (size_t)bytes, &at) : TUTTI_OK;
    *address = (uint64_t)(uintptr_t)at;
    return status;
}

/* What a kernel that moves data sends and receives, and the block that it repeats. */
static int flow_runs(struct tutti_flow_args *args, int gpu)
{
    uint64_t in = (uint64_t)(uintptr_t)args->in, out = (uint64_t)(uintptr_t)args->out;
    int status = flow_reach(gpu, "block that a kernel repeats", &in, args->chunk > 0 ? args->count : 0);
    if (status == TUTTI_OK)
        status = flow_reach(gpu, "runs of the block that a kernel repeats", &out, args->chunk);
    args->in = (const void *)(uintptr_t)in;
    args->out = (void *)(uintptr_t)out;
    for (uint32_t r = 0; r < args->ranks && status == TUTTI_OK; r++) {
        status = flow_reach(gpu, "kernel's run to send", &args->begin[r], args->n[r]);
        if (status == TUTTI_OK)
            status = flow_reach(gpu, "kernel's run to receive", &args->result[r], args->result_n[r]);
    }
    return status;
}

static int flow_buffers(struct tutti_flow_args *args, int gpu, const struct tutti_launch *launch)
{
    const uint64_t size = tutti_type_size(launch->type);
    uint64_t in, out;
    void *at;
    flow_elements(args, &in, &out);
    int status = tutti_work_reach(gpu, "kernel's contribution", args->in, (size_t)(in * size), &at);
    args->in = at;
    if (status == TUTTI_OK && flow_gets(args))
        status = tutti_work_reach(gpu, "kernel's result", args->out, (size_t)(out * size), &at);
    args->out = at;
    uint64_t *const locals = args->shape == TUTTI_SHAPE_SEGMENTS ? args->result : args->begin;
    for (uint32_t l = 1; l < args->locals && status == TUTTI_OK; l++) {
        status = tutti_work_reach(gpu, "contribution of a rank that the kernel's leads",
                                  (const void *)(uintptr_t)locals[l], (size_t)(in * size), &at);
        locals[l] = (uint64_t)(uintptr_t)at;
    }
    for (uint32_t o = 1; o < args->outs && status == TUTTI_OK; o++) {
        status = tutti_work_reach(gpu, "result of a rank that the kernel's leads",
                                  (const void *)(uintptr_t)args->result[o], (size_t)(out * size), &at);
        args->result[o] = (uint64_t)(uintptr_t)at;
    }
    return status;
}

int tutti_work_flow(struct tutti_flow_args *args, int gpu, const struct tutti_launch *launch)
{
    return tutti_kernel_moves(launch->kernel) ? flow_runs(args, gpu) : flow_buffers(args, gpu, launch);
}
