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

TUTTI_PACK_FN uint32_t tutti_pack_role(const struct tutti_pack_stay *stay)
{
    return __atomic_fetch_add(&stay->relay->started, 1, __ATOMIC_ACQ_REL) - stay->started;
}

/* The shares of block `role`; the last one reports. */
TUTTI_PACK_FN void tutti_pack_share(const struct tutti_pack_stay *stay, const uint32_t word[], uint32_t role)
{
    const uint32_t what = word[TUTTI_PACK_SHORT_WHAT], units = what & TUTTI_PACK_SHORT_COUNT;
    const uint32_t share = TUTTI_PACK_SHARE_OF(what), blocks = TUTTI_PACK_BLOCKS_OF(what, stay->blocks);
    const unsigned shift = TUTTI_PACK_SHORT_SHIFT_OF(what);
    const char *from;
    char *to;
    volatile uint32_t *done;
    if (role >= blocks)
        return;
    memcpy(&from, &word[TUTTI_PACK_SHORT_FROM], sizeof from);
    memcpy(&to, &word[TUTTI_PACK_SHORT_TO], sizeof to);
    memcpy(&done, &word[TUTTI_PACK_SHORT_DONE], sizeof done);
    for (uint32_t begin = role * share; begin < units; begin += blocks * share)
        memcpy(to + ((size_t)begin << shift), from + ((size_t)begin << shift),
               (size_t)(units - begin < share ? units - begin : share) << shift);
    if (blocks > 1) {
        if (__atomic_add_fetch(&stay->relay->ended, 1, __ATOMIC_ACQ_REL) != blocks)
            return;
        __atomic_store_n(&stay->relay->ended, 0, __ATOMIC_RELAXED);
    }
    __atomic_store_n(done, word[TUTTI_PACK_SHORT_NUMBER], __ATOMIC_RELEASE);
}

TUTTI_PACK_FN void tutti_pack_share_first(const struct tutti_pack_stay_args *launch, uint32_t role)
{
    tutti_pack_share(&launch->stay, launch->first.word, role);
}

/* The first block passes a mail to the others. */
TUTTI_PACK_FN void tutti_pack_relay(const struct tutti_pack_stay *stay, const uint32_t word[], uint32_t *relayed)
{
    const uint64_t number = ++*relayed;
    for (unsigned i = 0; i < TUTTI_PACK_SHORT_WORDS; i++)
        __atomic_store_n(&stay->relay->word[i], number << 32 | word[i], __ATOMIC_RELEASE);
}

/* Waits for the mail behind *served, serves those that are short, and copies another one to *call. 0: the time is over.
 * *relayed: the last mail that other blocks have a share of. */
TUTTI_PACK_FN int tutti_pack_await_mail(const struct tutti_pack_stay *stay, struct tutti_pack_mailed *call,
                                        uint32_t *served, uint32_t *relayed, uint64_t born)
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
            if (TUTTI_PACK_BLOCKS_OF(mailed.word[TUTTI_PACK_SHORT_WHAT], stay->blocks) > 1)
                tutti_pack_relay(stay, mailed.word, relayed);
            tutti_pack_share(stay, mailed.word, 0);
            *served = sequence;
            since = now;
        }
        if (now - since >= stay->linger_ns || now - born >= TUTTI_PACK_STAY_LIFE_NS)
            return 0;
        sched_yield();
    }
}

/* Waits for a mail that the first block passes on, and does this block's share of it. 0: the first block has left. */
TUTTI_PACK_FN int tutti_pack_await_relay(const struct tutti_pack_stay *stay, uint32_t role, uint32_t *relayed)
{
    for (int closed = 0;;) {
        uint32_t word[TUTTI_PACK_SHORT_WORDS], number = 0;
        unsigned there = 0;
        for (unsigned i = 0; i < TUTTI_PACK_SHORT_WORDS && there == i; i++) {
            const uint64_t seen = __atomic_load_n(&stay->relay->word[i], __ATOMIC_ACQUIRE);
            number = i == 0 ? (uint32_t)(seen >> 32) : number;
            word[i] = (uint32_t)seen;
            there += seen >> 32 == number;
        }
        if (there == TUTTI_PACK_SHORT_WORDS && (int32_t)(number - *relayed) > 0) {
            *relayed = number;
            tutti_pack_share(stay, word, role);
            return 1;
        }
        if (closed) /* what was passed on before that was looked for once more */
            return 0;
        closed = __atomic_load_n(&stay->relay->word[TUTTI_PACK_RELAY_CLOSED], __ATOMIC_ACQUIRE) == stay->number;
        if (!closed)
            sched_yield();
    }
}

TUTTI_PACK_FN void tutti_pack_leave(const struct tutti_pack_stay *stay, uint32_t served)
{
    if (stay->blocks > 1)
        __atomic_store_n(&stay->relay->word[TUTTI_PACK_RELAY_CLOSED], stay->number, __ATOMIC_RELEASE);
    __atomic_store_n(&stay->answer->served, served, __ATOMIC_RELAXED);
    __atomic_store_n(&stay->answer->left, stay->number, __ATOMIC_RELEASE);
}

#include "kernels/pack_stay.inc"

#endif
