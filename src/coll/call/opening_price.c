#include "coll/call/opening_price.h"

/* A copy of few bytes that a staged call makes and one by kernels does not. Calls of 8 bytes, staged less by kernels,
 * on two H200: MPI_Allreduce 17.3 - 8.5 us, MPI_Allgather 17.3 - 9.1, which copy twice, MPI_Bcast 10.8 - 8.7, which
 * copies once (results/2026-11-30-h200/first-calls.txt). Two ranks on one H200 with MPS: 14.3 - 14.4, 14.6 - 10.2, 8.7
 * - 10.4; without: 16.5 - 13.5, 18.9 - 13.3, 9.7 - 10.8 (opening.txt). */
static const uint32_t copy_ns[TUTTI_OPENING_GPUS][TUTTI_OPENING_KINDS] = {
    [TUTTI_OPENING_ALONE] = {[TUTTI_OPENING_REDUCES] = 3500, [TUTTI_OPENING_MOVES] = 3500},
    [TUTTI_OPENING_BESIDE] = {[TUTTI_OPENING_REDUCES] = 200, [TUTTI_OPENING_MOVES] = 2000},
    [TUTTI_OPENING_TURNS] = {[TUTTI_OPENING_REDUCES] = 1500, [TUTTI_OPENING_MOVES] = 1800},
};
enum { ORDERED_NS = 6000 }; /* that a reduction takes longer which Tutti makes in rank order (few-shared.txt) */

/* 8 KiB 5 to 7 us a copy, 64 KiB 19 to 20, 1 MiB 155 to 240 (opening.txt). */
static uint64_t bytes_lose(uint64_t bytes)
{
    enum { FIRST_BYTES = 4096 };
    return (bytes < FIRST_BYTES ? bytes : FIRST_BYTES) * 3 / 4 + bytes / 4;
}

/* Two H200: results/2026-11-29-h200/new-communicators.txt and first-team.txt, images.txt of the next day. One H200: the
 * first team with its kernels 4 to 6 ms, with MPS and without (opening.txt). */
static const uint32_t team_ns[] = {
    [TUTTI_OPENING_NO_TEAM] = 0,
    [TUTTI_OPENING_KNOWN_TEAM] = 500000,
    [TUTTI_OPENING_NEW_TEAM] = 1500000,
    [TUTTI_OPENING_FIRST_TEAM] = 6000000,
};
enum { KERNELS_NS = 2000000 };

/* What calls lose before the first opening, which is lent. OMB warms up by 100 short calls or 10 long ones, hipBone by
 * 10 exchanges of 8 KiB or more. The images of moves are loaded from half of that on. */
static const struct tutti_opening_due lent[TUTTI_OPENING_KINDS] = {
    [TUTTI_OPENING_REDUCES] = {.loads = 490000, .opens = 490000},
    [TUTTI_OPENING_MOVES] = {.loads = 50000, .opens = 100000},
};

uint64_t tutti_opening_loses(enum tutti_opening_gpu gpu, enum tutti_opening_kind kind, int copies, int ordered,
                             uint64_t bytes)
{
    return (uint64_t)copies * (copy_ns[gpu][kind] + bytes_lose(bytes)) + (ordered ? ORDERED_NS : 0);
}

uint64_t tutti_opening_takes(enum tutti_opening_team team, int lacks_kernels)
{
    return team_ns[team] + (lacks_kernels && team != TUTTI_OPENING_FIRST_TEAM ? KERNELS_NS : 0);
}

struct tutti_opening_due tutti_opening_due(enum tutti_opening_gpu gpu, enum tutti_opening_kind kind,
                                           enum tutti_opening_team team, int lacks_kernels)
{
    const uint64_t takes = tutti_opening_takes(team, lacks_kernels);
    return team == TUTTI_OPENING_FIRST_TEAM && gpu == TUTTI_OPENING_ALONE ? lent[kind]
                                                                          : (struct tutti_opening_due){.opens = takes};
}
