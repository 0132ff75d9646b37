#include "team/sm_budget.h"

#include "progress/fiber.h"
#include "team/node.h"

/* Fields of the word: calls 0 to 15, shares 16 to 31. */
enum { SHARES = 16, FIELD = 0xffff, RESERVED_OF = 33 };
static const uint64_t several = UINT64_C(1) << 32;

static unsigned calls_of(uint64_t word)
{
    return (unsigned)(word & FIELD);
}

static unsigned shares_of(uint64_t word)
{
    return (unsigned)(word >> SHARES & FIELD);
}

/* Blocks that a single thread leaves to others that come while it waits for late ranks. */
static unsigned reserved(unsigned all)
{
    return all / RESERVED_OF > 1 ? all / RESERVED_OF : 1;
}

/* NULL where nothing is counted. */
static struct tutti_sm_budget *room_of(const struct tutti_team *team, unsigned *all)
{
    if (team->gpu < 0 || team->gpu >= TUTTI_BUDGET_GPUS)
        return NULL;
    struct tutti_sm_budget *room = &team->node->room[team->gpu];
    *all = atomic_load_explicit(&room->all, memory_order_relaxed);
    return *all ? room : NULL;
}

void tutti_sm_budget_open(struct tutti_team *team)
{
    if (team->gpu >= 0 && team->gpu < TUTTI_BUDGET_GPUS && team->device->gpu.resident)
        atomic_store(&team->node->room[team->gpu].all, team->device->gpu.resident(team->gpu));
}

/* 1 where no other thread has made a reduction on this GPU. */
static int only_thread(const struct tutti_team *team, struct tutti_sm_budget *room)
{
    static _Thread_local char here;
    /* The engine's fibers take turns, as threads do: one for each team. */
    uintptr_t me = tutti_fiber_here() ? (uintptr_t)team : (uintptr_t)&here,
              first = atomic_load_explicit(&room->thread, memory_order_relaxed);
    if (first == me)
        return 1;
    if (first == 0 && atomic_compare_exchange_strong(&room->thread, &first, me))
        return 1;
    if (!(atomic_load_explicit(&room->word, memory_order_relaxed) & several))
        atomic_fetch_or(&room->word, several);
    return 0;
}

unsigned tutti_sm_budget_alone(struct tutti_team *team, unsigned want)
{
    unsigned all;
    struct tutti_sm_budget *room = room_of(team, &all);
    if (!room)
        return want;
    if (!only_thread(team, room))
        return 0;
    uint64_t word = atomic_load_explicit(&room->word, memory_order_relaxed);
    for (;;) {
        unsigned given = calls_of(word) + shares_of(word) + reserved(all);
        unsigned blocks = given >= all ? 0 : all - given < want ? all - given : want;
        if (word & several || blocks == 0)
            return 0;
        if (atomic_compare_exchange_weak(&room->word, &word, word + blocks)) {
            team->held += blocks;
            return blocks;
        }
    }
}

unsigned tutti_sm_budget_try(struct tutti_team *team, unsigned want, int patient)
{
    unsigned all;
    struct tutti_sm_budget *room = room_of(team, &all);
    if (!room)
        return want;
    uint64_t word = atomic_load(&room->word);
    for (;;) {
        unsigned most = all - shares_of(word), left = calls_of(word) < most ? most - calls_of(word) : 0;
        unsigned blocks = left < want ? left : want, aim = most < want ? most : want;
        if (blocks == 0 || (patient && blocks < (aim + 1) / 2))
            return 0;
        if (atomic_compare_exchange_weak(&room->word, &word, word + blocks)) {
            team->held += blocks;
            return blocks;
        }
    }
}

void tutti_sm_budget_give(struct tutti_team *team, unsigned keep)
{
    if (team->held <= keep)
        return;
    atomic_fetch_sub(&team->node->room[team->gpu].word, team->held - keep);
    team->held = keep;
}

/* Blocks of one more share: some are always left to calls. */
static unsigned share_of(uint64_t word, unsigned all, unsigned most)
{
    unsigned taken = shares_of(word), left = taken + 1 < all ? all - 1 - taken : 0;
    unsigned blocks = taken == 0 ? all / 4 * 3 : left / 2; /* large messages want many */
    blocks = blocks < 1 ? 1 : blocks;
    blocks = blocks < left ? blocks : left;
    return blocks < most ? blocks : most;
}

unsigned tutti_sm_budget_share(struct tutti_team *team, unsigned most, int patient)
{
    unsigned all;
    struct tutti_sm_budget *room = room_of(team, &all);
    if (!room)
        return most;
    uint64_t word = atomic_load(&room->word);
    for (;;) {
        unsigned blocks = share_of(word, all, most), left = all - calls_of(word) - shares_of(word);
        if (blocks > left) /* calls under way have them: some of what a single thread's leave will do */
            blocks = patient || left < 2 ? 0 : 1;
        if (blocks == 0)
            return 0;
        if (atomic_compare_exchange_weak(&room->word, &word, word + ((uint64_t)blocks << SHARES)))
            return blocks;
    }
}

int tutti_sm_budget_ends(const struct tutti_team *team)
{
    unsigned all;
    struct tutti_sm_budget *room = room_of(team, &all);
    return !room || shares_of(atomic_load(&room->word)) + 1 < all;
}

void tutti_sm_budget_unshare(struct tutti_team *team, unsigned blocks)
{
    unsigned all;
    struct tutti_sm_budget *room = room_of(team, &all);
    if (room)
        atomic_fetch_sub(&room->word, (uint64_t)blocks << SHARES);
}
