/* Contributions of a team's members to a collective on the host, and texts about them: names of calls, differences
 * between two members. */
#ifndef TUTTI_SHMEM_SAID_H
#define TUTTI_SHMEM_SAID_H

#include <stddef.h>
#include <stdint.h>

/* The collectives: ROW(ID, name). */
#define TUTTI_SHMEM_CALLS(ROW)                                                                                         \
    ROW(SYNC, "tshmem_sync")                                                                                           \
    ROW(BARRIER, "tshmem_barrier")                                                                                     \
    ROW(FINALIZE, "tshmem_finalize")                                                                                   \
    ROW(MALLOC, "tshmem_malloc")                                                                                       \
    ROW(MALLOC_WITH_HINTS, "tshmem_malloc_with_hints")                                                                 \
    ROW(CALLOC, "tshmem_calloc")                                                                                       \
    ROW(ALIGN, "tshmem_align")                                                                                         \
    ROW(REALLOC, "tshmem_realloc")                                                                                     \
    ROW(FREE, "tshmem_free")                                                                                           \
    ROW(SPLIT, "tshmem_team_split_strided")                                                                            \
    ROW(SPLIT_2D, "tshmem_team_split_2d")                                                                              \
    ROW(DESTROY, "tshmem_team_destroy")                                                                                \
    ROW(BROADCAST, "tshmem_broadcast")                                                                                 \
    ROW(COLLECT, "tshmem_collect")                                                                                     \
    ROW(FCOLLECT, "tshmem_fcollect")                                                                                   \
    ROW(ALLTOALL, "tshmem_alltoall")                                                                                   \
    ROW(ALLTOALLS, "tshmem_alltoalls")                                                                                 \
    ROW(REDUCE, "tshmem_%s_reduce")                                                                                    \
    ROW(REDUCESCATTER, "tshmem_%s_reducescatter")                                                                      \
    ROW(INSCAN, "tshmem_sum_inscan")                                                                                   \
    ROW(EXSCAN, "tshmem_sum_exscan")
enum tutti_shmem_calls {
    TUTTI_SHMEM_WRONG, /* a call whose arguments this PE has refused */
#define TUTTI_SHMEM_ROW(id, name) TUTTI_SHMEM_##id,
    TUTTI_SHMEM_CALLS(TUTTI_SHMEM_ROW)
#undef TUTTI_SHMEM_ROW
        TUTTI_SHMEM_CALL_COUNT
};

/* The contribution of a PE to a meeting: the call, and words of which the first must be the same on all PEs. */
enum { TUTTI_SHMEM_ALIKE = 4, TUTTI_SHMEM_WORDS = 7, TUTTI_SHMEM_RECORD = 64 };
struct tutti_shmem_contribution {
    uint64_t call; /* enum tutti_shmem_calls; 0: its arguments are wrong */
    uint64_t word[TUTTI_SHMEM_WORDS];
};
/* The arrival of a PE at a meeting: its sequence, and the call in the low byte. */
static inline uint64_t tutti_shmem_arrival(uint64_t sequence, uint64_t call)
{
    return sequence << 8 | (call & 0xff);
}

/* The word behind the words that must agree: bytes of an element, for calls that count elements; not for reductions. */
enum { TUTTI_SHMEM_ELEMENT = TUTTI_SHMEM_WORDS - 1 };

/* The same word of SYNC and BARRIER: the name that the program called. */
enum { TUTTI_SHMEM_OF_TEAM, TUTTI_SHMEM_OF_ALL, TUTTI_SHMEM_NAMED_TEAM };
/* The name of a contribution's call, as programs write it; valid until the calling thread asks again. */
const char *tutti_shmem_contribution_name(unsigned kind, const uint64_t word[TUTTI_SHMEM_WORDS]);
/* The difference between two members with the same call: "count 5 here, 6 on PE 1". first: offset of the first
 * object of a heap. */
void tutti_shmem_differ(const struct tutti_shmem_contribution *mine, const struct tutti_shmem_contribution *theirs,
                        int pe, uint64_t first, char *text, size_t size);

#endif
