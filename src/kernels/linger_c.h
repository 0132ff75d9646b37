/* What the body of `linger` needs, in C; see linger.inc. */
#ifndef TUTTI_KERNELS_LINGER_C_H
#define TUTTI_KERNELS_LINGER_C_H

#include "kernels/flow_c.h"

enum { TUTTI_LINGER_LAST = 4, TUTTI_LINGER_LIFE_NS = 2000000 };

TUTTI_FN uint64_t tutti_linger_clock(void)
{
    return tutti_now_ns();
}

TUTTI_FN void tutti_linger_first(const struct tutti_flow_args *args, struct tutti_flow_args *call)
{
    *call = *args;
}

/* Takes the command where it is there; enum tutti_mail_what. */
TUTTI_FN unsigned tutti_linger_look(const struct tutti_flow_args *args, struct tutti_flow_args *call, uint32_t sequence)
{
    uint64_t data[TUTTI_MAIL_WORDS];
    for (unsigned i = 0; i < TUTTI_MAIL_WORDS; i++) {
        const uint64_t word = __atomic_load_n(&args->mail->word[i], __ATOMIC_ACQUIRE);
        if (word >> 32 != sequence)
            return TUTTI_MAIL_NONE;
        data[i] = (uint32_t)word;
    }
    call->in = (const void *)(uintptr_t)(data[TUTTI_MAIL_IN_HIGH] << 32 | data[TUTTI_MAIL_IN]);
    call->out = (void *)(uintptr_t)(data[TUTTI_MAIL_OUT_HIGH] << 32 | data[TUTTI_MAIL_OUT]);
    call->count = data[TUTTI_MAIL_COUNT];
    call->shape = (uint32_t)data[TUTTI_MAIL_SHAPE] & 0xff;
    call->root = (uint32_t)data[TUTTI_MAIL_SHAPE] >> 8;
    call->launch_number = (uint32_t)data[TUTTI_MAIL_NUMBER];
    return (unsigned)data[TUTTI_MAIL_WHAT];
}

/* Waits for the command of `sequence`: enum tutti_mail_what, with TUTTI_LINGER_LAST where no further one will be taken.
 */
TUTTI_FN unsigned tutti_linger_mail(const struct tutti_flow_args *args, struct tutti_flow_args *call, uint32_t sequence,
                                    uint64_t born)
{
    const uint64_t since = tutti_now_ns();
    for (unsigned spins = 1;; spins++) {
        const uint64_t now = tutti_now_ns();
        if (now - since >= args->linger_ns || now - born >= TUTTI_LINGER_LIFE_NS ||
            __atomic_load_n(args->abort, __ATOMIC_RELAXED))
            break;
        const unsigned mail = tutti_linger_look(args, call, sequence);
        if (mail != TUTTI_MAIL_NONE)
            return mail;
        if (spins % TUTTI_SPINS_BUSY == 0)
            sched_yield();
        else
            tutti_pause();
    }
    __atomic_store_n(&args->answer->leaving, args->launch_number, __ATOMIC_SEQ_CST);
    return tutti_linger_look(args, call, sequence) | TUTTI_LINGER_LAST;
}

TUTTI_FN void tutti_linger_left(const struct tutti_flow_args *args, uint32_t served)
{
    __atomic_store_n(&args->answer->leaving, args->launch_number, __ATOMIC_RELAXED);
    __atomic_store_n(&args->answer->served, served, __ATOMIC_RELAXED);
    __atomic_store_n(&args->answer->left, args->launch_number, __ATOMIC_RELEASE);
}

#endif
