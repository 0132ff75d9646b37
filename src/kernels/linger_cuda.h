/* What the body of `linger` needs, in CUDA C++; see linger.inc. The mail is looked at by the first warp: its lanes read
 * all words of the line at once, and one more the abort word. */
#ifndef TUTTI_KERNELS_LINGER_CUDA_H
#define TUTTI_KERNELS_LINGER_CUDA_H

#include "kernels/flow_cuda.h"

enum { TUTTI_LINGER_LAST = 4, TUTTI_LINGER_LIFE_NS = 2000000 };

static __device__ __forceinline__ uint64_t tutti_linger_clock(void)
{
    return tutti_clock_ns();
}

/* The copy of the arguments that calls change. */
static __device__ __forceinline__ void tutti_linger_first(const struct tutti_flow_args *args,
                                                          struct tutti_flow_args *call)
{
    static_assert(sizeof *args % sizeof(uint64_t) == 0, "copied in words");
    for (unsigned i = threadIdx.x; i < sizeof *args / sizeof(uint64_t); i += blockDim.x)
        ((uint64_t *)call)[i] = ((const uint64_t *)args)[i];
    __syncthreads();
}

/* The first warp alone. Takes the command where it is there: enum tutti_mail_what. *abort is set for all lanes. */
static __device__ __forceinline__ unsigned
tutti_linger_look(const struct tutti_flow_args *args, struct tutti_flow_args *call, uint32_t sequence, int *abort)
{
    const unsigned lane = threadIdx.x;
    uint64_t word = (uint64_t)sequence << 32;
    uint32_t stop = 0;
    if (lane < TUTTI_MAIL_WORDS)
        word = tutti_load_shared_word((const uint64_t *)&args->mail->word[lane]);
    else if (lane == TUTTI_MAIL_WORDS)
        stop = *args->abort;
    *abort = __any_sync(0xffffffffu, stop != 0);
    if (!__all_sync(0xffffffffu, (uint32_t)(word >> 32) == sequence))
        return TUTTI_MAIL_NONE;
    const uint32_t data = (uint32_t)word;
    switch (lane) {
    case TUTTI_MAIL_IN:
    case TUTTI_MAIL_IN_HIGH:
        ((uint32_t *)&call->in)[lane - TUTTI_MAIL_IN] = data;
        break;
    case TUTTI_MAIL_OUT:
    case TUTTI_MAIL_OUT_HIGH:
        ((uint32_t *)&call->out)[lane - TUTTI_MAIL_OUT] = data;
        break;
    case TUTTI_MAIL_COUNT:
        call->count = data;
        break;
    case TUTTI_MAIL_SHAPE:
        call->shape = data & 0xff;
        call->root = data >> 8;
        break;
    case TUTTI_MAIL_NUMBER:
        call->launch_number = data;
        break;
    default:
        break;
    }
    return __shfl_sync(0xffffffffu, data, TUTTI_MAIL_WHAT);
}

static __device__ __forceinline__ unsigned
tutti_linger_await(const struct tutti_flow_args *args, struct tutti_flow_args *call, uint32_t sequence, uint64_t born)
{
    const uint64_t since = tutti_clock_ns();
    int abort = 0, late = __any_sync(0xffffffffu, since - born >= TUTTI_LINGER_LIFE_NS);
    while (!late && !abort) {
        const unsigned mail = tutti_linger_look(args, call, sequence, &abort);
        if (mail != TUTTI_MAIL_NONE)
            return mail;
        const uint64_t now = tutti_clock_ns();
        late = __any_sync(0xffffffffu, now - since >= args->linger_ns || now - born >= TUTTI_LINGER_LIFE_NS);
    }
    if (threadIdx.x == 0) {
        *(volatile uint32_t *)&args->answer->leaving = args->launch_number;
        __threadfence_system();
    }
    __syncwarp();
    return tutti_linger_look(args, call, sequence, &abort) | TUTTI_LINGER_LAST;
}

/* Waits for the command of `sequence`: enum tutti_mail_what, with TUTTI_LINGER_LAST where no further one will be taken.
 * All threads of the block call it and get one answer. */
static __device__ __forceinline__ unsigned
tutti_linger_mail(const struct tutti_flow_args *args, struct tutti_flow_args *call, uint32_t sequence, uint64_t born)
{
    __shared__ unsigned answer; /* read by all before the next call ends, at which all meet */
    if (threadIdx.x < 32) {
        const unsigned mail = tutti_linger_await(args, call, sequence, born);
        if (threadIdx.x == 0)
            answer = mail;
    }
    __syncthreads();
    return answer;
}

static __device__ __forceinline__ void tutti_linger_left(const struct tutti_flow_args *args, uint32_t served)
{
    if (threadIdx.x != 0)
        return;
    *(volatile uint32_t *)&args->answer->leaving = args->launch_number;
    *(volatile uint32_t *)&args->answer->served = served;
    tutti_store_release((uint32_t *)&args->answer->left, args->launch_number);
}

#endif
