/* The calls of tutti/shmem_ctx.h for one group, as forms.h. */

TSHMEM_FORM void TSHMEM_DO(tshmem_ctx_fence)(tshmem_ctx_t ctx)
{
    tutti_dev_ctx_quiet(TSHMEM_GROUP, ctx);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_ctx_quiet)(tshmem_ctx_t ctx)
{
    tutti_dev_ctx_quiet(TSHMEM_GROUP, ctx);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_ctx_putmem)(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe)
{
    tutti_dev_put(TSHMEM_GROUP, dest, source, bytes, tutti_dev_ctx_pe(ctx, pe), 1);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_ctx_getmem)(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe)
{
    tutti_dev_get(TSHMEM_GROUP, dest, source, bytes, tutti_dev_ctx_pe(ctx, pe), 1);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_ctx_putmem_nbi)(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes,
                                                  int pe)
{
    tutti_dev_put(TSHMEM_GROUP, dest, source, bytes, tutti_dev_ctx_pe(ctx, pe), 0);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_ctx_getmem_nbi)(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes,
                                                  int pe)
{
    tutti_dev_get(TSHMEM_GROUP, dest, source, bytes, tutti_dev_ctx_pe(ctx, pe), 0);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_ctx_putmem_signal)(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes,
                                                     uint64_t *signal, uint64_t value, int operation, int pe)
{
    tutti_dev_put_signal(TSHMEM_GROUP, dest, source, bytes, signal, value, operation, tutti_dev_ctx_pe(ctx, pe), 1);
}

TSHMEM_FORM void TSHMEM_DO(tshmem_ctx_putmem_signal_nbi)(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes,
                                                         uint64_t *signal, uint64_t value, int operation, int pe)
{
    tutti_dev_put_signal(TSHMEM_GROUP, dest, source, bytes, signal, value, operation, tutti_dev_ctx_pe(ctx, pe), 0);
}

#ifdef TSHMEM_GROUP_FORMS /* of threads: in shmem_ctx.h */
TSHMEM_FORM void TSHMEM_DO(tutti_shmem_ctx_put_blocks)(tshmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
                                                       ptrdiff_t sst, size_t block, size_t n, size_t bytes, int pe)
{
    tutti_dev_put_blocks(TSHMEM_GROUP, dest, source, dst, sst, block, n, bytes, tutti_dev_ctx_pe(ctx, pe));
}

TSHMEM_FORM void TSHMEM_DO(tutti_shmem_ctx_get_blocks)(tshmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
                                                       ptrdiff_t sst, size_t block, size_t n, size_t bytes, int pe)
{
    tutti_dev_get_blocks(TSHMEM_GROUP, dest, source, dst, sst, block, n, bytes, tutti_dev_ctx_pe(ctx, pe));
}
#endif
