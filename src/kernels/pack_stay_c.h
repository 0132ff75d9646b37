/* What the body of the packing kernel that stays needs, in C; see pack_stay.inc. */
#ifndef TUTTI_KERNELS_PACK_STAY_C_H
#define TUTTI_KERNELS_PACK_STAY_C_H

#include <sched.h>
#include <string.h>

#include "core/clock.h"
#include "kernels/pack_c.h"

#define TUTTI_PACK_SHORTER(args) __asm__("" : "+r"(args))

TUTTI_PACK_FN uint64_t tutti_pack_clock(void)
{
    return tutti_now_ns();
}

TUTTI_PACK_FN void tutti_pack_take_first(const struct tutti_pack_stay_args *launch, struct tutti_pack_mailed *call)
{
    *call = launch->first;
}

TUTTI_PACK_FN void tutti_pack_serve_short(const uint32_t word[])
{
    const uint32_t what = word[TUTTI_PACK_SHORT_WHAT];
    const void *from;
    void *to;
    volatile uint32_t *done;
    memcpy(&from, &word[TUTTI_PACK_SHORT_FROM], sizeof from);
    memcpy(&to, &word[TUTTI_PACK_SHORT_TO], sizeof to);
    memcpy(&done, &word[TUTTI_PACK_SHORT_DONE], sizeof done);
    memcpy(to, from, (size_t)(what & TUTTI_PACK_SHORT_COUNT) << (what >> TUTTI_PACK_SHORT_SHIFT & 0xff));
    __atomic_store_n(done, word[TUTTI_PACK_SHORT_NUMBER], __ATOMIC_RELEASE);
}

/* Waits for the mail behind *served, serves those that are short, and copies another one to *call. 0: the time is over.
 */
TUTTI_PACK_FN int tutti_pack_await_mail(const struct tutti_pack_stay *stay, struct tutti_pack_mailed *call,
                                        uint32_t *served, uint64_t born)
{
    uint64_t since = tutti_now_ns();
    for (;;) {
        const uint32_t sequence = *served + 1;
        struct tutti_pack_mailed mailed;
        unsigned there = 0;
        for (unsigned i = 0; i < TUTTI_PACK_MAIL_WORDS && there == i; i++) {
            const uint64_t word = __atomic_load_n(&stay->mail->word[i], __ATOMIC_ACQUIRE);
            mailed.word[i] = (uint32_t)word;
            there += word >> 32 == sequence;
        }
        if (there == TUTTI_PACK_MAIL_WORDS) {
            *call = mailed;
            return 1;
        }
        const uint64_t now = tutti_now_ns();
        if (there >= TUTTI_PACK_SHORT_WORDS && mailed.word[TUTTI_PACK_SHORT_WHAT] & TUTTI_PACK_SHORT_MARK) {
            tutti_pack_serve_short(mailed.word);
            *served = sequence;
            since = now;
        }
        if (now - since >= stay->linger_ns || now - born >= TUTTI_PACK_STAY_LIFE_NS)
            return 0;
        sched_yield();
    }
}

TUTTI_PACK_FN void tutti_pack_leave(const struct tutti_pack_stay *stay, uint32_t served)
{
    __atomic_store_n(&stay->answer->served, served, __ATOMIC_RELAXED);
    __atomic_store_n(&stay->answer->left, stay->number, __ATOMIC_RELEASE);
}

#include "kernels/pack_stay.inc"

#endif
