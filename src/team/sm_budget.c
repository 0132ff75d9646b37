#include "team/sm_budget.h"

#include "progress/fiber.h"
#include "team/node.h"

/* Fields of the word: calls 0 to 15, shares 16 to 31. */
enum { CALLS = 0, SHARES = 16, FIELD = 0xffff, RESERVED_OF = 33, TURN_OWN = 1 };
static const uint64_t several = UINT64_C(1) << 32;

static unsigned calls_of(uint64_t word)
{
    return (unsigned)(word & FIELD);
}

static unsigned shares_of(uint64_t word)
{
    return (unsigned)(word >> SHARES & FIELD);
}

/* Blocks that a single thread leaves to calls that begin while it waits for late ranks. */
static unsigned budget_reserved(unsigned all)
{
    return all / RESERVED_OF > 1 ? all / RESERVED_OF : 1;
}

/* NULL if nothing is counted. */
static struct tutti_sm_budget *budget_of_team(const struct tutti_team *team, unsigned *all)
{
    if (team->gpu < 0 || team->gpu >= TUTTI_BUDGET_GPUS)
        return NULL;
    struct tutti_sm_budget *budget = &team->node->sm_budget[team->gpu];
    *all = atomic_load_explicit(&budget->all, memory_order_relaxed);
    return *all ? budget : NULL;
}

void tutti_sm_budget_open(struct tutti_team *team)
{
    if (team->gpu >= 0 && team->gpu < TUTTI_BUDGET_GPUS && team->device->gpu.resident)
        atomic_store(&team->node->sm_budget[team->gpu].all, team->device->gpu.resident(team->gpu));
}

/* 1 if no other thread has made a reduction on this GPU. */
static int only_thread(const struct tutti_team *team, struct tutti_sm_budget *budget)
{
    static _Thread_local char here;
    /* The engine's fibers take turns, as threads do: one for each team, whichever thread runs its job. */
    uintptr_t me = team->is_nonblocking || tutti_fiber_here() ? (uintptr_t)team : (uintptr_t)&here,
              first = atomic_load_explicit(&budget->thread, memory_order_relaxed);
    if (first == me)
        return 1;
    if (first == 0 && atomic_compare_exchange_strong(&budget->thread, &first, me))
        return 1;
    if (!(atomic_load_explicit(&budget->word, memory_order_relaxed) & several))
        atomic_fetch_or(&budget->word, several);
    return 0;
}

/* How many blocks of `all` a caller that wants so many gets, by the word now; 0: none. */
typedef unsigned budget_rule(uint64_t word, unsigned all, unsigned want, int can_wait);

/* Takes the blocks that the rule gives, in the field at this bit of the word. */
static inline unsigned budget_take(struct tutti_sm_budget *budget, unsigned all, unsigned want, int can_wait, int field,
                                   budget_rule *rule)
{
    uint64_t word = atomic_load(&budget->word);
    for (;;) {
        const unsigned blocks = rule(word, all, want, can_wait);
        if (blocks == 0 || atomic_compare_exchange_weak(&budget->word, &word, word + ((uint64_t)blocks << field)))
            return blocks;
    }
}

static unsigned budget_alone(uint64_t word, unsigned all, unsigned want, int can_wait)
{
    const unsigned given = calls_of(word) + shares_of(word) + budget_reserved(all);
    (void)can_wait;
    if (word & several || given >= all)
        return 0;
    return all - given < want ? all - given : want;
}

unsigned tutti_sm_budget_alone(struct tutti_team *team, unsigned want)
{
    unsigned all;
    struct tutti_sm_budget *budget = budget_of_team(team, &all);
    if (!budget)
        return want;
    if (!only_thread(team, budget))
        return 0;
    const unsigned blocks = budget_take(budget, all, want, 0, CALLS, budget_alone);
    team->held += blocks;
    return blocks;
}

/* can_wait: such a caller takes no less than half of what it could get at best. */
static unsigned budget_call(uint64_t word, unsigned all, unsigned want, int can_wait)
{
    const unsigned most = all - shares_of(word), left = calls_of(word) < most ? most - calls_of(word) : 0;
    const unsigned blocks = left < want ? left : want, aim = most < want ? most : want;
    return can_wait && blocks < (aim + 1) / 2 ? 0 : blocks;
}

unsigned tutti_sm_budget_try(struct tutti_team *team, unsigned want, int can_wait)
{
    unsigned all;
    struct tutti_sm_budget *budget = budget_of_team(team, &all);
    if (!budget)
        return want;
    const unsigned blocks = budget_take(budget, all, want, can_wait, CALLS, budget_call);
    team->held += blocks;
    return blocks;
}

void tutti_sm_budget_give(struct tutti_team *team, unsigned keep)
{
    if (team->held <= keep)
        return;
    atomic_fetch_sub(&team->node->sm_budget[team->gpu].word, team->held - keep);
    team->held = keep;
}

/* Blocks of one more share: some are always left to calls. */
static unsigned budget_share(uint64_t word, unsigned all, unsigned most, int can_wait)
{
    const unsigned taken = shares_of(word), left = taken + 1 < all ? all - 1 - taken : 0;
    const unsigned idle = all - calls_of(word) - taken;
    unsigned blocks = taken == 0 ? all / 4 * 3 : left / 2; /* large messages want many */
    blocks = blocks < 1 ? 1 : blocks;
    blocks = blocks < left ? blocks : left;
    blocks = blocks < most ? blocks : most;
    if (blocks > idle) /* calls under way have them: some of what a single thread's leave will do */
        blocks = can_wait || idle < 2 ? 0 : 1;
    return blocks;
}

/* What a team that takes turns has for itself alone. */
static unsigned budget_own(uint64_t word, unsigned all, unsigned want, int can_wait)
{
    const unsigned taken = shares_of(word) + want;
    (void)can_wait;
    return taken < all && taken + calls_of(word) <= all ? want : 0;
}

static void shares_give(struct tutti_sm_budget *budget, unsigned blocks)
{
    atomic_fetch_sub(&budget->word, (uint64_t)blocks << SHARES);
}

/* ---- teams that take turns: blocks in the low half of the word, teams in the high half ---- */

static const uint64_t turns_team = UINT64_C(1) << 32;

static void turns_leave(struct tutti_team *team, struct tutti_sm_budget *budget)
{
    uint64_t turns = atomic_load(&budget->turns), left;
    if (!team->in_turns)
        return;
    do
        left = turns < 2 * turns_team ? 0 : turns - turns_team;
    while (!atomic_compare_exchange_weak(&budget->turns, &turns, left));
    if (left == 0)
        shares_give(budget, (unsigned)turns);
    team->in_turns = 0;
}

/* The blocks of teams that take turns, and one of its own; 0: no team takes turns any more, or no block is left. */
static unsigned turns_join(struct tutti_team *team, struct tutti_sm_budget *budget, unsigned all)
{
    uint64_t turns = atomic_load(&budget->turns);
    do {
        if (turns == 0)
            return 0;
    } while (!atomic_compare_exchange_weak(&budget->turns, &turns, turns + turns_team));
    team->in_turns = 1;
    team->share_own = budget_take(budget, all, TURN_OWN, 0, SHARES, budget_own);
    if (team->share_own > 0)
        return (unsigned)turns + team->share_own;
    turns_leave(team, budget);
    return 0;
}

static void turns_begin(struct tutti_team *team, struct tutti_sm_budget *budget)
{
    uint64_t none = 0;
    if (team->share_own > TURN_OWN &&
        atomic_compare_exchange_strong(&budget->turns, &none, turns_team | (team->share_own - TURN_OWN))) {
        team->share_own = TURN_OWN;
        team->in_turns = 1;
    }
}

unsigned tutti_sm_budget_share(struct tutti_team *team, unsigned most, int can_wait)
{
    unsigned all;
    struct tutti_sm_budget *budget = budget_of_team(team, &all);
    if (!budget)
        return most;
    if (team->turns && atomic_load(&budget->turns) != 0) {
        const unsigned together = turns_join(team, budget, all);
        return together < most ? together : most;
    }
    team->share_own = budget_take(budget, all, most, can_wait, SHARES, budget_share);
    return team->share_own;
}

int tutti_sm_budget_ends(const struct tutti_team *team)
{
    unsigned all;
    struct tutti_sm_budget *budget = budget_of_team(team, &all);
    return !budget || shares_of(atomic_load(&budget->word)) + 1 < all;
}

void tutti_sm_budget_settle(struct tutti_team *team, unsigned share)
{
    unsigned all;
    struct tutti_sm_budget *budget = budget_of_team(team, &all);
    if (!budget)
        return;
    const unsigned own = share < team->share_own ? share : team->share_own;
    shares_give(budget, team->share_own - own);
    team->share_own = own;
    if (share == 0)
        turns_leave(team, budget);
    else if (team->turns && !team->in_turns)
        turns_begin(team, budget);
}
