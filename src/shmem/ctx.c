/* Contexts: which exist, and the PEs of their teams. Each context has a number; nonblocking operations are counted
 * by it in the kind of the heaps. Kernels read this PE's control page to find the contexts, and complete what they
 * begin themselves. */
#include "shmem/far.h"
#include "shmem/here.h"
#include "shmem/meet.h"

enum { NUMBER_BITS = TSHMEM_CONTEXT_BITS };

struct context {
    /* The turn of a context, as in its handle above the number. 0: never made; even: ended. Turns only grow, so a
     * handle of an ended context is recognised. */
    _Atomic uint32_t turn;
    tshmem_team_t team;
};
/* [0]: the default context, which always exists. The array outlives the address space because turns must. */
static struct context contexts[TSHMEM_CONTEXTS_MAX];

static tshmem_ctx_t ctx_handle_of(uint32_t turn, int number)
{
    return (tshmem_ctx_t)((uintptr_t)turn << NUMBER_BITS | (uintptr_t)(number + 1));
}

/* Published to kernels: turn and team while the context can be used; 0 once it has ended. */
static void ctx_publish(struct tutti_shmem *space, int number, uint64_t turn, tshmem_team_t team)
{
    uint64_t *const word = &tutti_shmem_kernel_view(space)->context[number];
    __atomic_store_n(word, turn << 32 | (uint32_t)team, __ATOMIC_RELEASE);
    tutti_shmem_publish(space, word, sizeof *word);
}

/* The number of a context. -1, after an error message, if there is no such context. */
static int number_of(struct tutti_shmem *space, tshmem_ctx_t ctx, const char *call)
{
    const uintptr_t bits = (uintptr_t)ctx;
    const int number = (int)(bits & ((1 << NUMBER_BITS) - 1)) - 1;
    if (space->state.pes == 0)
        tutti_shmem_down(space, call);
    else if (ctx == TSHMEM_CTX_DEFAULT)
        return 0;
    else if (number < 1 || number >= TSHMEM_CONTEXTS_MAX ||
             bits >> NUMBER_BITS != atomic_load(&contexts[number].turn) || (bits >> NUMBER_BITS) % 2 == 0)
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "%p is no context, or has ended", (void *)ctx);
    else
        return number;
    return -1;
}

static tshmem_team_t team_of(int number)
{
    return number > 0 && number < TSHMEM_CONTEXTS_MAX ? contexts[number].team : TSHMEM_TEAM_WORLD;
}

static int ctx_pe_of(struct tutti_shmem *space, int number, int pe, const char *call)
{
    const tshmem_team_t team = team_of(number);
    if (number < 0)
        return TSHMEM_NO_PE;
    if (team == TSHMEM_TEAM_WORLD)
        return pe;
    const struct tshmem_team_state *state = &tutti_shmem_kernel_view(space)->team[team];
    if (pe >= 0 && pe < state->size)
        return tutti_shmem_pe_of(space, state, pe);
    tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "there is no PE %d in the context's team of %d", pe, state->size);
    return TSHMEM_NO_PE;
}

int tutti_shmem_ctx_pe(tshmem_ctx_t ctx, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char call[] = "a tshmem_ctx_ call";
    return ctx_pe_of(space, number_of(space, ctx, call), pe, call);
}

/* ---- making and ending ---- */

int tshmem_team_create_ctx(tshmem_team_t team, long options, tshmem_ctx_t *ctx)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char call[] = "tshmem_team_create_ctx";
    *ctx = TSHMEM_CTX_INVALID;
    if (space->state.pes == 0)
        return tutti_shmem_down(space, call);
    if (team == TSHMEM_TEAM_INVALID) /* an unknown handle is no error of the program here */
        return TUTTI_ERR_ARGUMENT;
    if (!tutti_shmem_team(space, team))
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "%d is no team of this PE", team);
    if (options & ~(long)(TSHMEM_CTX_SERIALIZED | TSHMEM_CTX_PRIVATE | TSHMEM_CTX_NOSTORE))
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "there are no options %ld", options);
    for (int i = 1; i < TSHMEM_CONTEXTS_MAX; i++) {
        uint32_t turn = atomic_load(&contexts[i].turn);
        if (turn % 2 != 0 || !atomic_compare_exchange_strong(&contexts[i].turn, &turn, turn + 1))
            continue;
        contexts[i].team = team;
        const int status = space->kind->open_context ? space->kind->open_context(space, i) : TUTTI_OK;
        if (status != TUTTI_OK) {
            atomic_fetch_add(&contexts[i].turn, 1);
            return tutti_shmem_answer(space, status, call, "%s", tutti_status_text(status));
        }
        ctx_publish(space, i, turn + 1, team);
        *ctx = ctx_handle_of(turn + 1, i);
        return TUTTI_OK;
    }
    return tutti_shmem_answer(space, TUTTI_ERR_MEMORY, call, "more than %d contexts at a time", TSHMEM_CONTEXTS_MAX);
}

int tshmem_ctx_create(long options, tshmem_ctx_t *ctx)
{
    return tshmem_team_create_ctx(TSHMEM_TEAM_WORLD, options, ctx);
}

/* Kernels must not find the context once its number can be given to another one. */
static void ctx_forget(struct tutti_shmem *space, int number)
{
    ctx_publish(space, number, 0, 0);
    atomic_fetch_add(&contexts[number].turn, 1);
}

static void ctx_end(struct tutti_shmem *space, int number)
{
    tutti_shmem_complete(space, number, tutti_shmem_far_quiet, -1);
    ctx_forget(space, number);
}

void tshmem_ctx_destroy(tshmem_ctx_t ctx)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char call[] = "tshmem_ctx_destroy";
    if (ctx == TSHMEM_CTX_INVALID)
        return;
    const int number = number_of(space, ctx, call);
    if (number == 0)
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "the default context is always there");
    else if (number > 0)
        ctx_end(space, number);
}

void tutti_shmem_contexts_leave(struct tutti_shmem *space, tshmem_team_t team)
{
    for (int i = 1; i < TSHMEM_CONTEXTS_MAX && tutti_shmem_team(space, team); i++) {
        if (atomic_load(&contexts[i].turn) % 2 != 0 && contexts[i].team == team)
            ctx_end(space, i);
    }
}

void tutti_shmem_contexts_close(struct tutti_shmem *space)
{
    for (int i = 1; i < TSHMEM_CONTEXTS_MAX; i++) {
        if (atomic_load(&contexts[i].turn) % 2 == 0)
            continue;
        if (!__atomic_load_n(space->state.abort, __ATOMIC_RELAXED))
            space->kind->quiet(space, i);
        ctx_forget(space, i);
    }
}

int tshmem_ctx_get_team(tshmem_ctx_t ctx, tshmem_team_t *team)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    *team = TSHMEM_TEAM_INVALID;
    if (ctx == TSHMEM_CTX_INVALID)
        return TUTTI_ERR_ARGUMENT; /* an unknown handle is no error of the program here */
    const int number = number_of(space, ctx, "tshmem_ctx_get_team");
    if (number < 0)
        return TUTTI_ERR_ARGUMENT;
    *team = team_of(number);
    return TUTTI_OK;
}

/* ---- order ---- */

/* A fence also completes operations inside the node, as that of the default context does. */
static void ctx_order(struct tutti_shmem *space, tshmem_ctx_t ctx, int (*far)(struct tutti_shmem *space, int pe),
                      const char *call)
{
    const int number = ctx == TSHMEM_CTX_INVALID ? -1 : number_of(space, ctx, call);
    if (number >= 0)
        tutti_shmem_complete(space, number, far, -1);
}

void tshmem_ctx_fence(tshmem_ctx_t ctx)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    ctx_order(space, ctx, tutti_shmem_far_fence, "tshmem_ctx_fence");
}

void tshmem_ctx_quiet(tshmem_ctx_t ctx)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    ctx_order(space, ctx, tutti_shmem_far_quiet, "tshmem_ctx_quiet");
}

/* Sessions are hints about the calls to come: their arguments are checked and have no effect. */
void tshmem_ctx_session_start(tshmem_ctx_t ctx, long options, const tshmem_ctx_session_config_t *config, long mask)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char call[] = "tshmem_ctx_session_start";
    if (ctx == TSHMEM_CTX_INVALID || number_of(space, ctx, call) < 0)
        return;
    if (options & ~(long)TSHMEM_CTX_SESSION_BATCH)
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "there is no option %#lx, but TSHMEM_CTX_SESSION_BATCH is",
                         options & ~(long)TSHMEM_CTX_SESSION_BATCH);
    else if (mask & ~(long)TSHMEM_CTX_SESSION_TOTAL_OPS)
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call,
                         "the mask has a bit %#lx, but only TSHMEM_CTX_SESSION_TOTAL_OPS is",
                         mask & ~(long)TSHMEM_CTX_SESSION_TOTAL_OPS);
    else if (mask && !config)
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "the mask is %#lx, but config is NULL: give one, or mask 0",
                         mask);
}

void tshmem_ctx_session_stop(tshmem_ctx_t ctx)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    if (ctx != TSHMEM_CTX_INVALID)
        number_of(space, ctx, "tshmem_ctx_session_stop");
}

/* ---- put, get and signals ---- */

void tshmem_ctx_putmem(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char call[] = "tshmem_ctx_put";
    tutti_shmem_put(space, dest, source, bytes, ctx_pe_of(space, number_of(space, ctx, call), pe, call), 0, call);
}

void tshmem_ctx_getmem(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char call[] = "tshmem_ctx_get";
    tutti_shmem_get(space, dest, source, bytes, ctx_pe_of(space, number_of(space, ctx, call), pe, call), 0, call);
}

void tshmem_ctx_putmem_nbi(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char call[] = "tshmem_ctx_put_nbi";
    const int number = number_of(space, ctx, call);
    tutti_shmem_put(space, dest, source, bytes, ctx_pe_of(space, number, pe, call), number + 1, call);
}

void tshmem_ctx_getmem_nbi(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char call[] = "tshmem_ctx_get_nbi";
    const int number = number_of(space, ctx, call);
    tutti_shmem_get(space, dest, source, bytes, ctx_pe_of(space, number, pe, call), number + 1, call);
}

void tshmem_ctx_putmem_signal(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, uint64_t *signal,
                              uint64_t value, int operation, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char call[] = "tshmem_ctx_put_signal";
    tutti_shmem_put_signal(space, dest, source, bytes, signal, value, operation,
                           ctx_pe_of(space, number_of(space, ctx, call), pe, call), 0, call);
}

void tshmem_ctx_putmem_signal_nbi(tshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, uint64_t *signal,
                                  uint64_t value, int operation, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char call[] = "tshmem_ctx_put_signal_nbi";
    const int number = number_of(space, ctx, call);
    tutti_shmem_put_signal(space, dest, source, bytes, signal, value, operation, ctx_pe_of(space, number, pe, call),
                           number + 1, call);
}
