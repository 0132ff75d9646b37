/* The calls and ways of `tutti bench never-slower` as numbers, for the ranks and for the command. */
#ifndef TUTTI_BENCH_WORDS_HAND_H
#define TUTTI_BENCH_WORDS_HAND_H

enum hand_call_id {
#define HAND_CALL(id, group, name) HAND_##id,
#include "bench/words/hand_calls.def"
#undef HAND_CALL
    HAND_CALLS
};
enum hand_group {
    HAND_MESSAGES,
    HAND_REDUCTIONS,
    HAND_MOVERS,
    HAND_NEIGHBOURS,
    HAND_NONBLOCKING,
    HAND_WINDOWS,
    HAND_GROUPS
};
#define HAND_GROUP_NAMES "messages", "reductions", "movers", "neighbours", "nonblocking", "windows"

/* ORACLE: the MPI itself on ordinary memory, which is not timed. */
enum hand_way { HAND_WAY_TUTTI, HAND_WAY_BY_HAND, HAND_WAYS, HAND_WAY_ORACLE = HAND_WAYS, HAND_ALL_WAYS };
#define HAND_WAY_NAMES "tutti", "by_hand"

#endif
