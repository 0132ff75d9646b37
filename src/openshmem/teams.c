/* OpenSHMEM's calls that give a team back: a team of <shmem.h> is as wide as a pointer, one of tutti/shmem.h is not. */
#include "openshmem/names.h"

/* Gives the program the team that a call has made. */
static int team_made(int status, tshmem_team_t number, shmem_team_t *team)
{
    *team = SHMEM_TEAM(number);
    return status;
}

int pshmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team)
{
    tshmem_team_t number = TSHMEM_TEAM_INVALID;
    const int status = tshmem_ctx_get_team(ctx, &number);
    return team_made(status, number, team);
}
int shmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team) TUTTI_WEAK_ALIAS("pshmem_ctx_get_team");

int pshmem_team_split_strided(shmem_team_t parent, int start, int stride, int size, const shmem_team_config_t *config,
                              long mask, shmem_team_t *team)
{
    tshmem_team_t number = TSHMEM_TEAM_INVALID;
    const int status =
        tshmem_team_split_strided(TSHMEM_TEAM_NUMBER(parent), start, stride, size, config, mask, &number);
    return team_made(status, number, team);
}
int shmem_team_split_strided(shmem_team_t parent, int start, int stride, int size, const shmem_team_config_t *config,
                             long mask, shmem_team_t *team) TUTTI_WEAK_ALIAS("pshmem_team_split_strided");

int pshmem_team_split_2d(shmem_team_t parent, int xrange, const shmem_team_config_t *xconfig, long xmask,
                         shmem_team_t *xteam, const shmem_team_config_t *yconfig, long ymask, shmem_team_t *yteam)
{
    tshmem_team_t x = TSHMEM_TEAM_INVALID, y = TSHMEM_TEAM_INVALID;
    const int status = tshmem_team_split_2d(TSHMEM_TEAM_NUMBER(parent), xrange, xconfig, xmask, &x, yconfig, ymask, &y);
    team_made(status, x, xteam);
    return team_made(status, y, yteam);
}
int shmem_team_split_2d(shmem_team_t parent, int xrange, const shmem_team_config_t *xconfig, long xmask,
                        shmem_team_t *xteam, const shmem_team_config_t *yconfig, long ymask, shmem_team_t *yteam)
    TUTTI_WEAK_ALIAS("pshmem_team_split_2d");
