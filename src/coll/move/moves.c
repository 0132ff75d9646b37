#include "coll/move/moves.h"

#include <stdatomic.h>

#include "coll/sections.h"

const struct tutti_algorithm *const tutti_moves[TUTTI_MOVES] = {
#define TUTTI_MOVE(name, order, text) &tutti_move_##name,
#include "tutti/moves.def"
#undef TUTTI_MOVE
};

/* ---- rules ---- */

enum { MOVES_MPI = TUTTI_MOVES }; /* the MPI has the call */

static const struct tutti_names moves = {
    .what = "algorithm of moves",
#define TUTTI_MOVE(name, order, text) #name " "
    .known =
#include "tutti/moves.def"
        "mpi",
#undef TUTTI_MOVE
};

enum {
    MOVES_NONBLOCKING = TUTTI_MOVER_SECTIONS, /* of nonblocking and persistent calls, before that of the call */
    MOVES_MIXED,                              /* of calls in which some blocks lie in memory of the host */
    MOVES_SECTIONS = MOVES_MIXED + TUTTI_MIXED_SECTIONS
};

static const struct tutti_section sections[MOVES_SECTIONS] = {
#define TUTTI_COLLECTIVE(ID, name)
#define TUTTI_MOVER_RULES(ID, name) [TUTTI_MOVER_RULES_##ID] = {name, &moves},
#include "tutti/collectives.def"
    [MOVES_NONBLOCKING] = {"moves_nonblocking", &moves},
    [MOVES_MIXED + TUTTI_MIXED_ORDINARY] = {"moves_mixed", &moves},
    [MOVES_MIXED + TUTTI_MIXED_ROOT] = {"moves_mixed_root", &moves},
    [MOVES_MIXED + TUTTI_MIXED_PINNED_ROOT] = {"moves_pinned_root", &moves},
    [MOVES_MIXED + TUTTI_MIXED_PINNED] = {"moves_pinned", &moves},
    [MOVES_MIXED + TUTTI_MIXED_LEADERS] = {"moves_mixed_leaders", &moves},
};

static struct tutti_rules_room room = {
    .by_ranks = 1,
    .section = sections,
    .sections = MOVES_SECTIONS,
    .known = "bcast, gather, scatter, allgather, alltoall, neighbor, "
             "moves_nonblocking, moves_mixed, moves_mixed_root, moves_pinned, moves_pinned_root, "
             "moves_mixed_leaders"};

__attribute__((constructor)) static void moves_register(void)
{
    tutti_rules_register(&room);
}

/* Rows that the rules of a section name before one that names `mpi`, or up to the last resort, which takes any call: so
 * rules that end with it replace those behind them. *any: 1 if a rule fits. */
static uint32_t moves_look_up(int section, size_t bytes, int ranks, int *any)
{
    int from = tutti_rules_in_force(), choice;
    uint32_t rows = 0;
    *any = 0;
    while ((choice = tutti_rules_next_of(room.first + section, bytes, ranks, &from)) >= 0) {
        *any = 1;
        if (choice == MOVES_MPI)
            break;
        rows |= UINT32_C(1) << choice;
        if (tutti_moves[choice]->last_resort)
            break;
    }
    return rows;
}

/* The same. The answer for the call before is kept: many calls have one length. */
static uint32_t moves_named(int section, size_t bytes, int ranks, int *any)
{
    static _Thread_local struct {
        size_t bytes;
        int rules, ranks, any; /* rules: those in force + 1 */
        uint32_t rows;
    } last[MOVES_SECTIONS];
    const int rules = tutti_rules_in_force() + 1;
    if (last[section].rules != rules || last[section].bytes != bytes || last[section].ranks != ranks) {
        last[section].rows = moves_look_up(section, bytes, ranks, &last[section].any);
        last[section].rules = rules;
        last[section].bytes = bytes;
        last[section].ranks = ranks;
    }
    *any = last[section].any;
    return last[section].rows;
}

uint32_t tutti_moves_first(enum tutti_collective collective, size_t bytes, int ranks, int nonblocking)
{
    uint32_t rows = 0;
    for (int pass = 0; pass <= (nonblocking ? 1 : 0); pass++) {
        const int section = room.first + (pass ? MOVES_NONBLOCKING : tutti_mover_rules_of(collective));
        int from = tutti_rules_in_force(), choice;
        while ((choice = tutti_rules_next_of(section, bytes, ranks, &from)) >= 0) {
            if (!tutti_rules_is_users(from) || choice == MOVES_MPI)
                break; /* others come behind */
            rows |= UINT32_C(1) << choice;
        }
    }
    return rows;
}

/* Rows that take no multiprocessor, and the last resort. */
static uint32_t moves_sparing(void)
{
    uint32_t rows = 0;
    for (int i = 0; i < TUTTI_MOVES; i++)
        rows |= (uint32_t)(tutti_moves[i]->spares || tutti_moves[i]->last_resort) << i;
    return rows;
}

uint32_t tutti_moves_of_any_length(void)
{
    uint32_t rows = 0;
    for (int i = 0; i < TUTTI_MOVES; i++)
        rows |= (uint32_t)tutti_moves[i]->any_length << i;
    return rows;
}

uint32_t tutti_moves_permitted(enum tutti_collective collective, size_t bytes, int ranks, int nonblocking, int spare,
                               int aside)
{
    int any;
    uint32_t rows = moves_named(tutti_mover_rules_of(collective), bytes, ranks, &any);
    const int mpi = any && rows == 0;
    for (int i = 0; i < TUTTI_MOVES && !any; i++)
        rows |= (uint32_t)tutti_moves[i]->last_resort << i;
    if (mpi)
        return 0;
    if (nonblocking)
        rows |= moves_named(MOVES_NONBLOCKING, bytes, ranks, &any);
    rows |= aside ? tutti_moves_of_any_length() : 0;
    return spare ? moves_sparing() : rows;
}

/* Rows whose kernels take runs that have passed through scratch. */
static uint32_t moves_by_kernel(void)
{
    uint32_t rows = 0;
    for (int i = 0; i < TUTTI_MOVES; i++)
        rows |= (uint32_t)(tutti_moves[i]->runs != NULL) << i;
    return rows;
}

uint32_t tutti_moves_mixed(uint32_t permitted, enum tutti_mixed mixed, size_t bytes, int ranks)
{
    int any;
    const uint32_t named = moves_named(MOVES_MIXED + (int)mixed, bytes, ranks, &any);
    return moves_by_kernel() & (any ? named : permitted | tutti_moves_of_any_length());
}

/* Rows that the section names for calls of any length. */
static uint32_t moves_mixed_named(enum tutti_mixed mixed, int ranks)
{
    static _Atomic uint64_t known[TUTTI_MIXED_SECTIONS]; /* of the rules in force: their number + 1, ranks, rows */
    const uint64_t of = (uint64_t)(unsigned)(tutti_rules_in_force() + 1) << 32 | (uint64_t)(unsigned)ranks << 16;
    uint64_t mask = atomic_load_explicit(&known[mixed], memory_order_relaxed);
    if (mask >> 16 != of >> 16) {
        int from = tutti_rules_in_force(), choice;
        mask = of;
        while ((choice = tutti_rules_next_any(room.first + MOVES_MIXED + (int)mixed, ranks, &from)) >= 0)
            mask |= choice == MOVES_MPI ? 0 : UINT64_C(1) << choice;
        atomic_store_explicit(&known[mixed], mask, memory_order_relaxed);
    }
    return (uint32_t)(mask & 0xffff);
}

uint32_t tutti_moves_mixed_any(uint32_t permitted, int ranks, int led)
{
    const uint32_t every = permitted | tutti_moves_of_any_length();
    uint32_t rows = 0;
    for (int mixed = led ? TUTTI_MIXED_LEADERS : 0; mixed < (led ? TUTTI_MIXED_SECTIONS : TUTTI_MIXED_LEADERS);
         mixed++) {
        const uint32_t named = moves_mixed_named((enum tutti_mixed)mixed, ranks);
        rows |= named ? named : every;
    }
    return moves_by_kernel() & rows;
}

int tutti_moves_next(enum tutti_collective collective, size_t bytes, int ranks, int *from)
{
    const int section = room.first + tutti_mover_rules_of(collective);
    int choice;
    do
        choice = tutti_rules_next_of(section, bytes, ranks, from);
    while (choice == MOVES_MPI);
    return choice;
}
