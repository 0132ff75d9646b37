/* Contexts in kernels: the host creates them, and keeps a word of each where kernels read it. For a kernel a context is
 * only the team that its PEs are numbered in: the PE is translated, then the call is the same as without a context. A
 * call that completes operations completes those of all contexts. Calls without a context use nothing of this file. */
#ifndef TUTTI_DEVICE_CTX_H
#define TUTTI_DEVICE_CTX_H

/* The team of the context; TSHMEM_TEAM_INVALID if the context does not exist, or no longer. */
TUTTI_DEV tshmem_team_t tutti_dev_ctx_team(tshmem_ctx_t ctx)
{
    const struct tshmem_state *const state = tutti_dev_state();
    const uint64_t handle = (uint64_t)(uintptr_t)ctx, turn = handle >> TSHMEM_CONTEXT_BITS;
    const uint64_t number = (handle & ((1u << TSHMEM_CONTEXT_BITS) - 1)) - 1;
    if (ctx == TSHMEM_CTX_DEFAULT)
        return TSHMEM_TEAM_WORLD;
    if (!state || !state->context || number >= TSHMEM_CONTEXTS_MAX || turn == 0)
        return TSHMEM_TEAM_INVALID;
    const uint64_t word = state->context[number];
    return word >> 32 == turn ? (tshmem_team_t)(uint32_t)word : TSHMEM_TEAM_INVALID;
}

TUTTI_DEV_COLD void tutti_dev_ctx_refuse(tshmem_ctx_t ctx, int pe)
{
    tutti_dev_refuse(TSHMEM_KERNEL_CONTEXT, TSHMEM_WHY_NO_CONTEXT, pe, -1, (uint64_t)(uintptr_t)ctx, 0);
}

/* The PE of the world; TSHMEM_NO_PE, which every call refuses, if the context or its PE does not exist. */
TUTTI_DEV_APART int tutti_dev_ctx_find(tshmem_ctx_t ctx, int pe)
{
    struct tutti_dev_team team;
    const tshmem_team_t number = tutti_dev_ctx_team(ctx);
    if (number == TSHMEM_TEAM_WORLD)
        return pe;
    if (!tutti_dev_team(number, &team)) {
        tutti_dev_ctx_refuse(ctx, pe);
        return TSHMEM_NO_PE;
    }
    if ((unsigned)pe < (unsigned)team.size)
        return tutti_dev_pe(&team, pe);
    tutti_dev_refuse(TSHMEM_KERNEL_CONTEXT, TSHMEM_WHY_NO_CONTEXT_PE, pe, number, (uint64_t)(uintptr_t)ctx,
                     (uint64_t)team.size);
    return TSHMEM_NO_PE;
}

TUTTI_DEV int tutti_dev_ctx_pe(tshmem_ctx_t ctx, int pe)
{
    return ctx == TSHMEM_CTX_DEFAULT ? pe : tutti_dev_ctx_find(ctx, pe);
}

/* Requests in the ring are counted for the PE, not for each context. */
TUTTI_DEV void tutti_dev_ctx_quiet(int group, tshmem_ctx_t ctx)
{
    if (tutti_dev_ctx_team(ctx) == TSHMEM_TEAM_INVALID)
        tutti_dev_ctx_refuse(ctx, -1);
    tutti_dev_quiet(group);
}

/* Asking for the team of TSHMEM_CTX_INVALID is no error of the program. */
TUTTI_DEV int tutti_dev_ctx_get_team(tshmem_ctx_t ctx, tshmem_team_t *team)
{
    *team = tutti_dev_ctx_team(ctx);
    if (*team != TSHMEM_TEAM_INVALID)
        return TUTTI_DEV_OK;
    if (ctx != TSHMEM_CTX_INVALID)
        tutti_dev_ctx_refuse(ctx, -1);
    return TUTTI_DEV_ERR_ARGUMENT;
}

#endif
