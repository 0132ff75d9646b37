/* Teams on which collectives are tried: all PEs, the same in reverse, and every second one. */
#ifndef TUTTI_TESTS_SHMEM_TEAMS_OF_H
#define TUTTI_TESTS_SHMEM_TEAMS_OF_H

#include "shmem/kit.h"

enum { TEAMS = 3 };
static inline void teams_make(tshmem_team_t teams[TEAMS])
{
    const int pes = tshmem_n_pes();
    teams[0] = TSHMEM_TEAM_WORLD;
    CHECK(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, pes - 1, -1, pes, NULL, 0, &teams[1]) == 0, "in reverse");
    CHECK(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, 0, 2, (pes + 1) / 2, NULL, 0, &teams[2]) == 0, "every second");
}

static inline void teams_free(tshmem_team_t teams[TEAMS])
{
    for (int i = 1; i < TEAMS; i++) {
        if (teams[i] != TSHMEM_TEAM_INVALID)
            tshmem_team_destroy(teams[i]);
    }
}

/* PE of the world of a member. */
static inline int teams_world(tshmem_team_t team, int member)
{
    return tshmem_team_translate_pe(team, member, TSHMEM_TEAM_WORLD);
}

#endif
