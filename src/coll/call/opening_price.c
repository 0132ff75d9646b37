#include "coll/call/opening_price.h"

/* A copy of few bytes that a staged call makes and one by kernels does not. Calls of 8 bytes, staged less by kernels,
 * on two H200: MPI_Allreduce 13.8 - 7.8 us, MPI_Allgather 16.4 - 9.2, which copy twice, MPI_Bcast 10.5 - 5.9, which
 * copies once. Two ranks on one H200 with MPS: 14.3 - 14.4, 15.1 - 11.7, 8.7 - 10.4; without: 18.5 - 15.4, 19.4
 * - 13.3, 10.9 - 11.2 (results/2026-11-30-h200/opening.txt). */
static const uint32_t copy_ns[TUTTI_OPENING_GPUS][TUTTI_OPENING_KINDS] = {
    [TUTTI_OPENING_ALONE] = {[TUTTI_OPENING_REDUCES] = 3500, [TUTTI_OPENING_MOVES] = 3500},
    [TUTTI_OPENING_BESIDE] = {[TUTTI_OPENING_REDUCES] = 200, [TUTTI_OPENING_MOVES] = 2000},
    [TUTTI_OPENING_TURNS] = {[TUTTI_OPENING_REDUCES] = 1500, [TUTTI_OPENING_MOVES] = 1800},
};
enum { ORDERED_NS = 6000 }; /* that a reduction takes longer which Tutti makes in rank order (few-shared.txt) */

/* 8 KiB 6 to 8 us, 64 KiB 20 to 24, 1 MiB 170 to 220 (opening.txt). */
static uint64_t copy_loses(uint64_t shortest, uint64_t bytes)
{
    enum { FIRST_BYTES = 4096 };
    return bytes ? shortest + (bytes < FIRST_BYTES ? bytes : FIRST_BYTES) * 3 / 4 + bytes / 4 : 0;
}

/* The first team with its kernels takes 7 to 8.4 ms on two H200, 4 to 7 on one that both ranks share, where alone it is
 * not lent (opening.txt). Further ones on one: results/2026-11-29-h200/new-communicators.txt; images: images.txt. */
static const uint32_t team_ns[] = {
    [TUTTI_OPENING_NO_TEAM] = 0,
    [TUTTI_OPENING_KNOWN_TEAM] = 500000,
    [TUTTI_OPENING_NEW_TEAM] = 1500000,
    [TUTTI_OPENING_FIRST_TEAM] = 6000000,
};
enum { KERNELS_NS = 2000000 };

/* What calls lose before the first opening, which is lent. OMB warms up by 100 short calls or 10 long ones, hipBone by
 * 10 exchanges of 8 KiB or more. */
static const uint32_t lent_ns[TUTTI_OPENING_KINDS] = {[TUTTI_OPENING_REDUCES] = 490000, [TUTTI_OPENING_MOVES] = 100000};

uint64_t tutti_opening_loses(enum tutti_opening_gpu gpu, enum tutti_opening_kind kind, int ordered, uint64_t out,
                             uint64_t in)
{
    return copy_loses(copy_ns[gpu][kind], out) + copy_loses(copy_ns[gpu][kind], in) + (ordered ? ORDERED_NS : 0);
}

uint64_t tutti_opening_takes(enum tutti_opening_team team, int lacks_kernels)
{
    return team_ns[team] + (lacks_kernels && team != TUTTI_OPENING_FIRST_TEAM ? KERNELS_NS : 0);
}

uint64_t tutti_opening_due(enum tutti_opening_gpu gpu, enum tutti_opening_kind kind, enum tutti_opening_team team,
                           int lacks_kernels)
{
    return team == TUTTI_OPENING_FIRST_TEAM && gpu == TUTTI_OPENING_ALONE ? lent_ns[kind]
                                                                          : tutti_opening_takes(team, lacks_kernels);
}
