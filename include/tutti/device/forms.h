/* clang-format off */
/* The calls of tutti/shmem.h, made from the bodies of this folder for one kind of group. tutti/device.h includes this file
 * once for each kind, and defines before:
 *   TSHMEM_FORM       how these functions are declared
 *   TSHMEM_DO(call)   their names
 *   TSHMEM_GROUP      the group that calls: TUTTI_BY_THREAD ... */
/* clang-format on */

TSHMEM_FORM void TSHMEM_DO(tshmem_fence)(void)
{
    tutti_dev_order(TSHMEM_GROUP);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_quiet)(void)
{
    tutti_dev_quiet(TSHMEM_GROUP);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_pe_quiet)(int pe)
{
    (void)pe;
    tutti_dev_quiet(TSHMEM_GROUP);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_putmem)(void *dest, const void *source, size_t bytes, int pe)
{
    tutti_dev_put(TSHMEM_GROUP, dest, source, bytes, pe, 1);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_getmem)(void *dest, const void *source, size_t bytes, int pe)
{
    tutti_dev_get(TSHMEM_GROUP, dest, source, bytes, pe, 1);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_putmem_nbi)(void *dest, const void *source, size_t bytes, int pe)
{
    tutti_dev_put(TSHMEM_GROUP, dest, source, bytes, pe, 0);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_getmem_nbi)(void *dest, const void *source, size_t bytes, int pe)
{
    tutti_dev_get(TSHMEM_GROUP, dest, source, bytes, pe, 0);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_putmem_signal)(void *dest, const void *source, size_t bytes, uint64_t *signal,
                                                 uint64_t value, int operation, int pe)
{
    tutti_dev_put_signal(TSHMEM_GROUP, dest, source, bytes, signal, value, operation, pe, 1);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_putmem_signal_nbi)(void *dest, const void *source, size_t bytes, uint64_t *signal,
                                                     uint64_t value, int operation, int pe)
{
    tutti_dev_put_signal(TSHMEM_GROUP, dest, source, bytes, signal, value, operation, pe, 0);
}

TSHMEM_FORM uint64_t TSHMEM_DO(tshmem_signal_wait_until)(uint64_t *signal, int comparison, uint64_t value)
{
    return tutti_dev_signal_wait(TSHMEM_GROUP, signal, comparison, value);
}

TSHMEM_FORM int TSHMEM_DO(tshmem_team_sync)(tshmem_team_t team)
{
    tutti_dev_drain(TSHMEM_GROUP);
    return tutti_dev_barrier(TSHMEM_GROUP, team);
}

TSHMEM_FORM int TSHMEM_DO(tshmem_sync)(tshmem_team_t team)
{
    tutti_dev_drain(TSHMEM_GROUP);
    return tutti_dev_barrier(TSHMEM_GROUP, team);
}

TSHMEM_FORM int TSHMEM_DO(tshmem_barrier)(tshmem_team_t team)
{
    tutti_dev_drain(TSHMEM_GROUP);
    return tutti_dev_barrier(TSHMEM_GROUP, team);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_sync_all)(void)
{
    tutti_dev_drain(TSHMEM_GROUP);
    tutti_dev_barrier(TSHMEM_GROUP, TSHMEM_TEAM_WORLD);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_barrier_all)(void)
{
    tutti_dev_drain(TSHMEM_GROUP);
    tutti_dev_barrier(TSHMEM_GROUP, TSHMEM_TEAM_WORLD);
}

TSHMEM_FORM int TSHMEM_DO(tshmem_broadcastmem)(tshmem_team_t team, void *dest, const void *source, size_t bytes,
                                               int root)
{
    return tutti_dev_broadcast(TSHMEM_GROUP, team, dest, source, bytes, root);
}

TSHMEM_FORM int TSHMEM_DO(tshmem_collectmem)(tshmem_team_t team, void *dest, const void *source, size_t bytes)
{
    return tutti_dev_collect(TSHMEM_GROUP, team, dest, source, bytes);
}

TSHMEM_FORM int TSHMEM_DO(tshmem_fcollectmem)(tshmem_team_t team, void *dest, const void *source, size_t bytes)
{
    return tutti_dev_fcollect(TSHMEM_GROUP, team, dest, source, bytes);
}

TSHMEM_FORM int TSHMEM_DO(tshmem_alltoallmem)(tshmem_team_t team, void *dest, const void *source, size_t bytes)
{
    return tutti_dev_alltoalls(TSHMEM_GROUP, team, dest, source, 1, 1, bytes, 1);
}

/* ---- what the typed names are made of ---- */

TSHMEM_FORM void TSHMEM_DO(tutti_shmem_put_blocks)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                                   size_t block, size_t n, size_t bytes, int pe)
{
    tutti_dev_put_blocks(TSHMEM_GROUP, dest, source, dst, sst, block, n, bytes, pe);
}

TSHMEM_FORM void TSHMEM_DO(tutti_shmem_get_blocks)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                                   size_t block, size_t n, size_t bytes, int pe)
{
    tutti_dev_get_blocks(TSHMEM_GROUP, dest, source, dst, sst, block, n, bytes, pe);
}

TSHMEM_FORM size_t TSHMEM_DO(tutti_shmem_wait)(int which, int type, const void *words, size_t n, size_t *indices,
                                               const int *status, int comparison, const void *values)
{
    return tutti_dev_wait(TSHMEM_GROUP, which, type, words, n, indices, status, comparison, values);
}

TSHMEM_FORM int TSHMEM_DO(tutti_shmem_broadcast)(tshmem_team_t team, void *dest, const void *source, size_t n,
                                                 size_t bytes, int root)
{
    return tutti_dev_broadcast(TSHMEM_GROUP, team, dest, source, n * bytes, root);
}

TSHMEM_FORM int TSHMEM_DO(tutti_shmem_collect)(tshmem_team_t team, void *dest, const void *source, size_t n,
                                               size_t bytes)
{
    return tutti_dev_collect(TSHMEM_GROUP, team, dest, source, n * bytes);
}

TSHMEM_FORM int TSHMEM_DO(tutti_shmem_fcollect)(tshmem_team_t team, void *dest, const void *source, size_t n,
                                                size_t bytes)
{
    return tutti_dev_fcollect(TSHMEM_GROUP, team, dest, source, n * bytes);
}

TSHMEM_FORM int TSHMEM_DO(tutti_shmem_alltoalls)(tshmem_team_t team, void *dest, const void *source, ptrdiff_t dst,
                                                 ptrdiff_t sst, size_t n, size_t bytes)
{
    return tutti_dev_alltoalls(TSHMEM_GROUP, team, dest, source, dst, sst, n, bytes);
}

TSHMEM_FORM int TSHMEM_DO(tutti_shmem_reduce)(tshmem_team_t team, void *dest, const void *source, size_t n, int type,
                                              int op)
{
    return tutti_dev_reduce(TSHMEM_GROUP, team, dest, source, n, type, op, TUTTI_DEV_ALL);
}

TSHMEM_FORM int TSHMEM_DO(tutti_shmem_reducescatter)(tshmem_team_t team, void *dest, const void *source, size_t n,
                                                     int type, int op)
{
    return tutti_dev_reducescatter(TSHMEM_GROUP, team, dest, source, n, type, op);
}

TSHMEM_FORM int TSHMEM_DO(tutti_shmem_scan)(tshmem_team_t team, void *dest, const void *source, size_t n, int type,
                                            int exclusive)
{
    return tutti_dev_reduce(TSHMEM_GROUP, team, dest, source, n, type, TSHMEM_OP_SUM,
                            exclusive ? TUTTI_DEV_BEFORE : TUTTI_DEV_THROUGH);
}
