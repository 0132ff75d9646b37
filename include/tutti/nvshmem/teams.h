/* NVSHMEM's teams, whose configuration has more fields than that of OpenSHMEM. On the host. Included by nvshmem.h
 * alone. */
#ifndef TUTTI_NVSHMEM_TEAMS_H
#define TUTTI_NVSHMEM_TEAMS_H

/* The configuration of tutti/shmem.h, with its mask; of none: zeros, and no mask. */
TUTTI_NVSHMEM tshmem_team_config_t tutti_nvshmem_config(const nvshmem_team_config_t *config, long *mask)
{
    tshmem_team_config_t plain;
    memset(&plain, 0, sizeof plain);
    *mask = config ? *mask & NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS : 0;
    if (*mask)
        plain.num_contexts = config->num_contexts;
    return plain;
}

TUTTI_NVSHMEM int nvshmem_team_split_strided(nvshmem_team_t parent, int start, int stride, int size,
                                             const nvshmem_team_config_t *config, long mask, nvshmem_team_t *made)
{
    const tshmem_team_config_t plain = tutti_nvshmem_config(config, &mask);
    return tshmem_team_split_strided(parent, start, stride, size, &plain, mask, made);
}

TUTTI_NVSHMEM int nvshmem_team_split_2d(nvshmem_team_t parent, int xrange, const nvshmem_team_config_t *xconfig,
                                        long xmask, nvshmem_team_t *xteam, const nvshmem_team_config_t *yconfig,
                                        long ymask, nvshmem_team_t *yteam)
{
    const tshmem_team_config_t x = tutti_nvshmem_config(xconfig, &xmask), y = tutti_nvshmem_config(yconfig, &ymask);
    return tshmem_team_split_2d(parent, xrange, &x, xmask, xteam, &y, ymask, yteam);
}

/* Local, by one PE. An id for one team, which the PE gives to the members. */
TUTTI_NVSHMEM int nvshmemx_team_get_uniqueid(nvshmemx_team_uniqueid_t *id)
{
    *id = tutti_shmem_id_make();
    return NVSHMEMX_SUCCESS;
}

/* Collective over the npes members, of which this one has number `index`. mask: NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID;
 * config->uniqueid is the same on all. */
TUTTI_NVSHMEM int nvshmemx_team_init(nvshmem_team_t *team, nvshmem_team_config_t *config, long mask, int npes,
                                     int index)
{
    *team = NVSHMEM_TEAM_INVALID;
    if (!config || !(mask & NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID))
        return NVSHMEMX_ERROR_INVALID_VALUE;
    const tshmem_team_config_t plain = tutti_nvshmem_config(config, &mask);
    return tutti_shmem_team_by_id(config->uniqueid, npes, index, &plain, mask, team);
}

/* Local. *config is unchanged if the team does not exist. */
TUTTI_NVSHMEM void nvshmem_team_get_config(nvshmem_team_t team, nvshmem_team_config_t *config)
{
    const nvshmem_team_config_t none = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    tshmem_team_config_t plain;
    if (tshmem_team_get_config(team, TSHMEM_TEAM_NUM_CONTEXTS, &plain) != 0)
        return;
    *config = none;
    config->num_contexts = plain.num_contexts;
}

#endif
