/* Communication contexts: puts, gets, atomics and signals whose order and completion are their own. The tshmem_ctx_
 * calls are those of tutti/shmem.h with a context before their other arguments: tshmem_ctx_long_put(ctx, dest, source,
 * nelems, pe). The names without a type take a context too: tshmem_put(ctx, dest, source, nelems, pe). Included by
 * tutti/shmem.h alone.
 *
 * PEs are numbered as in the team that the context was created from. Operations of the nbi forms in a context are
 * complete after tshmem_ctx_quiet() of that context; tshmem_quiet(), tshmem_fence() and barriers complete those of the
 * default context.
 *
 * Kernels (tutti/device.h) have the same calls, in all group forms. The host creates and destroys contexts, and passes
 * their handles to kernels; a kernel that uses a context must start, or get the handle, after the context was created.
 * In a kernel, quiet of any context completes all puts of the group's threads, and all requests of this PE's kernels to
 * the host, in any context. Only the host completes what the host has started in a context, and only kernels what
 * kernels have started. */
#ifndef TUTTI_SHMEM_CTX_H
#define TUTTI_SHMEM_CTX_H

#ifdef __cplusplus
extern "C" {
#endif

/* Local, on the host. A context over all PEs; over a team. 0 or a negative status, and TSHMEM_CTX_INVALID. */
TUTTI_API int tshmem_ctx_create(long options, tshmem_ctx_t *ctx);
TUTTI_API int tshmem_team_create_ctx(tshmem_team_t team, long options, tshmem_ctx_t *ctx);
/* Local, on the host. Completes what the host began in it; no kernel uses it any more. Nothing of TSHMEM_CTX_INVALID;
 * the default one stays, which is an error. */
TUTTI_API void tshmem_ctx_destroy(tshmem_ctx_t ctx);
/* Local. The team that it was made from. Of no context: TSHMEM_TEAM_INVALID, and a negative status. */
TSHMEM_CALL int tshmem_ctx_get_team(tshmem_ctx_t ctx, tshmem_team_t *team);
/* Local. As tshmem_fence() and tshmem_quiet(), of what was done in this context. */
TSHMEM_CALL void tshmem_ctx_fence(tshmem_ctx_t ctx);
TSHMEM_CALL void tshmem_ctx_quiet(tshmem_ctx_t ctx);
/* Local, on the host. What the program is about to do in the context (TSHMEM_CTX_SESSION_...), and that it has done it:
 * hints, which change no result, and here no speed. Nothing of TSHMEM_CTX_INVALID; a context that has ended, an option,
 * a bit of the mask that does not exist, and a mask without a config are errors. */
TUTTI_API void tshmem_ctx_session_start(tshmem_ctx_t ctx, long options, const tshmem_ctx_session_config_t *config,
                                        long mask);
TUTTI_API void tshmem_ctx_session_stop(tshmem_ctx_t ctx);

/* Local: as the calls without ctx. */
TSHMEM_CALL void tshmem_ctx_putmem(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe);
TSHMEM_CALL void tshmem_ctx_getmem(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe);
TSHMEM_CALL void tshmem_ctx_putmem_nbi(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe);
TSHMEM_CALL void tshmem_ctx_getmem_nbi(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe);
TSHMEM_CALL void tshmem_ctx_putmem_signal(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes,
                                          uint64_t *signal, uint64_t value, int operation, int pe);
TSHMEM_CALL void tshmem_ctx_putmem_signal_nbi(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes,
                                              uint64_t *signal, uint64_t value, int operation, int pe);

/* Local. What the typed names are made of. PE of the world; TSHMEM_NO_PE, after an error message, if there is no such
 * PE. */
enum { TSHMEM_NO_PE = -1000000 };
TSHMEM_CALL int tutti_shmem_ctx_pe(tshmem_ctx_t ctx, int pe);
#ifdef __cplusplus
}
#endif

/* Local: as tshmem_signal_set() and tshmem_signal_add(). */
TSHMEM_INLINE void tshmem_ctx_signal_set(tshmem_ctx_t ctx, uint64_t *signal, uint64_t value, int pe)
{
    tshmem_signal_set(signal, value, tutti_shmem_ctx_pe(ctx, pe));
}
TSHMEM_INLINE void tshmem_ctx_signal_add(tshmem_ctx_t ctx, uint64_t *signal, uint64_t value, int pe)
{
    tshmem_signal_add(signal, value, tutti_shmem_ctx_pe(ctx, pe));
}

TSHMEM_INLINE void tutti_shmem_ctx_p(tshmem_ctx_t ctx, void *dest, const void *value, size_t bytes, int pe)
{
    tutti_shmem_p(dest, value, bytes, tutti_shmem_ctx_pe(ctx, pe));
}
TSHMEM_INLINE void tutti_shmem_ctx_g(tshmem_ctx_t ctx, void *value, const void *source, size_t bytes, int pe)
{
    tutti_shmem_g(value, source, bytes, tutti_shmem_ctx_pe(ctx, pe));
}
TSHMEM_INLINE void tutti_shmem_ctx_put_blocks(tshmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
                                              ptrdiff_t sst, size_t block, size_t n, size_t bytes, int pe)
{
    tutti_shmem_put_blocks(dest, source, dst, sst, block, n, bytes, tutti_shmem_ctx_pe(ctx, pe));
}
TSHMEM_INLINE void tutti_shmem_ctx_get_blocks(tshmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
                                              ptrdiff_t sst, size_t block, size_t n, size_t bytes, int pe)
{
    tutti_shmem_get_blocks(dest, source, dst, sst, block, n, bytes, tutti_shmem_ctx_pe(ctx, pe));
}
TSHMEM_INLINE uint64_t tutti_shmem_ctx_amo(tshmem_ctx_t ctx, int operation, void *dest, size_t bytes, uint64_t value,
                                           uint64_t compare, int pe)
{
    return tutti_shmem_amo(operation, dest, bytes, value, compare, tutti_shmem_ctx_pe(ctx, pe));
}

/* tshmem_ctx_TYPE_put and its like: shmem_typed.h calls these instead. */
#define TSHMEM_CTX_tshmem_putmem            tshmem_ctx_putmem
#define TSHMEM_CTX_tshmem_getmem            tshmem_ctx_getmem
#define TSHMEM_CTX_tshmem_putmem_nbi        tshmem_ctx_putmem_nbi
#define TSHMEM_CTX_tshmem_getmem_nbi        tshmem_ctx_getmem_nbi
#define TSHMEM_CTX_tshmem_putmem_signal     tshmem_ctx_putmem_signal
#define TSHMEM_CTX_tshmem_putmem_signal_nbi tshmem_ctx_putmem_signal_nbi
#define TSHMEM_CTX_tutti_shmem_p            tutti_shmem_ctx_p
#define TSHMEM_CTX_tutti_shmem_g            tutti_shmem_ctx_g
#define TSHMEM_CTX_tutti_shmem_put_blocks   tutti_shmem_ctx_put_blocks
#define TSHMEM_CTX_tutti_shmem_get_blocks   tutti_shmem_ctx_get_blocks
#define TSHMEM_CTX_tutti_shmem_amo          tutti_shmem_ctx_amo

#define TSHMEM_CTX_FORMS
#define TSHMEM_FIRST            tshmem_ctx_t ctx,
#define TSHMEM_GIVEN            ctx,
#define TSHMEM_NAME(type, call) tshmem_ctx_##type##_##call
#define TSHMEM_PLAIN(call)      tshmem_ctx_##call
#define TSHMEM_DO(call)         TSHMEM_CTX_##call
#include "tutti/shmem_typed.h"
#undef TSHMEM_NAME
#undef TSHMEM_PLAIN
#undef TSHMEM_DO
#undef TSHMEM_CTX_FORMS

#endif
