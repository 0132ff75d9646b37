/* Contexts: all forms x all types through contexts of teams, whose PEs they count; a context completes what was begun
 * in it and nothing else; an invalid context is refused; kernels know the same ones. */
#include "core/status.h"
#include "shmem/teams_of.h"

/* As kernels find it, at the last look: of a GPU, they read memory that the program does not. */
static struct tshmem_state state_seen;
#define TSHMEM_STATE() (&state_seen)
#include "tutti/device.h"

enum { ELEMENTS = 40, BIG = 4 << 20 };

static char *object;     /* symmetric */
static uint64_t *signal; /* symmetric */
static char *big;        /* symmetric */
static uint64_t *copied; /* symmetric: what kernels find of contexts, by way of the program */

/* Every form of one type: to PE `to` of the context's team, which is `world` of the world. */
#define RMA(name, type, kind, what)                                                                                    \
    static void rma_##name(tshmem_ctx_t ctx, int to, int world)                                                        \
    {                                                                                                                  \
        type values[ELEMENTS], got[ELEMENTS] = {0}, *const at = (type *)(void *)object;                                \
        for (int i = 0; i < ELEMENTS; i++)                                                                             \
            values[i] = (type)(i + 3);                                                                                 \
        tshmem_ctx_##name##_put(ctx, at, values, 4, to);                                                               \
        tshmem_ctx_##name##_put_nbi(ctx, at + 4, values + 4, 4, to);                                                   \
        tshmem_ctx_quiet(ctx);                                                                                         \
        tshmem_ctx_##name##_p(ctx, at + 8, values[8], to);                                                             \
        tshmem_ctx_##name##_iput(ctx, at + 9, values + 9, 2, 2, 3, to);                                                \
        tshmem_ctx_##name##_iput(ctx, at + 10, values + 10, 2, 2, 3, to);                                              \
        tshmem_ctx_##name##_put_signal(ctx, at + 15, values + 15, 2, signal, 1, TSHMEM_SIGNAL_ADD, to);                \
        tshmem_ctx_##name##_put_signal_nbi(ctx, at + 17, values + 17, 2, signal, 1, TSHMEM_SIGNAL_ADD, to);            \
        tshmem_ctx_quiet(ctx);                                                                                         \
        tshmem_##name##_get(got, at, 19, world);                                                                       \
        for (int i = 0; i < 19; i++)                                                                                   \
            CHECK(got[i] == values[i], "%s: element %d", #name, i);                                                    \
        memset(got, 0, sizeof got);                                                                                    \
        tshmem_ctx_##name##_get(ctx, got, at, 4, to);                                                                  \
        tshmem_ctx_##name##_get_nbi(ctx, got + 4, at + 4, 4, to);                                                      \
        tshmem_ctx_quiet(ctx);                                                                                         \
        got[8] = tshmem_ctx_##name##_g(ctx, at + 8, to);                                                               \
        tshmem_ctx_##name##_iget(ctx, got + 9, at + 9, 3, 3, 2, to);                                                   \
        CHECK(got[0] == values[0] && got[3] == values[3] && got[7] == values[7] && got[8] == values[8] &&              \
                  got[9] == values[9] && got[10] == 0 && got[12] == values[12],                                        \
              "%s: got", #name);                                                                                       \
    }
TSHMEM_RMA(RMA, )

#define AMO(name, type, kind, what)                                                                                    \
    static void amo_##name(tshmem_ctx_t ctx, int to, int world)                                                        \
    {                                                                                                                  \
        type *const at = (type *)(void *)object, fetched = 0;                                                          \
        tshmem_ctx_##name##_atomic_set(ctx, at, 7, to);                                                                \
        CHECK(tshmem_ctx_##name##_atomic_fetch(ctx, at, to) == 7 && tshmem_##name##_g(at, world) == 7, "%s set",       \
              #name);                                                                                                  \
        tshmem_ctx_##name##_atomic_add(ctx, at, 5, to);                                                                \
        CHECK(tshmem_ctx_##name##_atomic_fetch_add(ctx, at, 2, to) == 12, "%s fetch_add", #name);                      \
        CHECK(tshmem_ctx_##name##_atomic_swap(ctx, at, 3, to) == 14, "%s swap", #name);                                \
        tshmem_ctx_##name##_atomic_fetch_nbi(ctx, &fetched, at, to);                                                   \
        tshmem_ctx_quiet(ctx);                                                                                         \
        CHECK(fetched == 3 && tshmem_##name##_g(at, world) == 3, "%s fetch_nbi", #name);                               \
    }
TSHMEM_AMO(AMO, )
TSHMEM_AMO_FLOATING(AMO, )

#define BITS(name, type, kind, what)                                                                                   \
    static void bits_##name(tshmem_ctx_t ctx, int to, int world)                                                       \
    {                                                                                                                  \
        type *const at = (type *)(void *)object;                                                                       \
        tshmem_##name##_p(at, 12, world);                                                                              \
        tshmem_ctx_##name##_atomic_or(ctx, at, 3, to);                                                                 \
        tshmem_ctx_##name##_atomic_and(ctx, at, 14, to);                                                               \
        CHECK(tshmem_ctx_##name##_atomic_fetch_xor(ctx, at, 1, to) == 14, "%s bits", #name);                           \
        CHECK(tshmem_##name##_g(at, world) == 15, "%s xor", #name);                                                    \
    }
TSHMEM_BITWISE(BITS, )

/* The names without a type, with a context and without. */
static void generic(tshmem_ctx_t ctx, int to, int world)
{
    const double values[4] = {1.5, 2.5, 3.5, 4.5};
    double *const at = (double *)(void *)object, got[4] = {0};
    long *const counter = (long *)(void *)object + 8, fetched = 0;
    tshmem_put(ctx, at, values, 4, to);
    tshmem_get(got, at, 4, world);
    CHECK(memcmp(got, values, sizeof got) == 0, "put");
    tshmem_p(ctx, at, 9, to); /* becomes a double */
    CHECK(tshmem_g(ctx, at, to) == 9.0 && tshmem_g(at, world) == 9.0, "p and g");
    tshmem_put_nbi(ctx, at + 1, values, 1, to);
    tshmem_get_nbi(ctx, got, at, 1, to);
    tshmem_ctx_quiet(ctx);
    tshmem_iput(ctx, at + 2, values, 1, 3, 2, to);
    CHECK(tshmem_g(at + 1, world) == 1.5 && tshmem_g(at + 3, world) == 4.5 && got[0] == 9, "nbi, iput");
    tshmem_atomic_set(ctx, counter, 5, to);
    tshmem_atomic_inc(ctx, counter, to);
    tshmem_atomic_fetch_add_nbi(ctx, &fetched, counter, 4, to);
    tshmem_ctx_fence(ctx);
    CHECK(fetched == 6 && tshmem_atomic_compare_swap(ctx, counter, 10, 1, to) == 10, "atomics");
    CHECK(tshmem_atomic_fetch(ctx, counter, to) == 1 && tshmem_atomic_fetch(counter, world) == 1, "fetch");
    tshmem_put_signal(ctx, at, values, 1, signal, 1, TSHMEM_SIGNAL_ADD, to);
    CHECK(tshmem_g(at, world) == 1.5, "put_signal");
}

/* One PE after the other, so that nobody else touches the object. */
static void forms(tshmem_ctx_t ctx, tshmem_team_t team)
{
    const int members = tshmem_team_n_pes(team), me = tshmem_team_my_pe(team);
    tshmem_team_t of;
    CHECK(tshmem_ctx_get_team(ctx, &of) == 0 && of == team, "its team");
    for (int turn = 0; turn < members; turn++) {
        const int to = (me + 1) % members, world = teams_world(team, to);
        tshmem_sync(team);
        if (turn != me)
            continue;
#define DO_RMA(name, type, kind, what)  rma_##name(ctx, to, world);
#define DO_AMO(name, type, kind, what)  amo_##name(ctx, to, world);
#define DO_BITS(name, type, kind, what) bits_##name(ctx, to, world);
        TSHMEM_RMA(DO_RMA, )
        TSHMEM_AMO(DO_AMO, )
        TSHMEM_AMO_FLOATING(DO_AMO, )
        TSHMEM_BITWISE(DO_BITS, )
        generic(ctx, to, world);
    }
    tshmem_sync(team);
}

/* What is begun in one is complete past its quiet, and another's quiet does not count it as complete. */
static void apart(int me, int pes)
{
    const int next = (me + 1) % pes;
    char *here = malloc(BIG), *there = malloc(BIG);
    tshmem_ctx_t a, b;
    CHECK(here && there && tshmem_ctx_create(0, &a) == 0 && tshmem_ctx_create(TSHMEM_CTX_PRIVATE, &b) == 0, "two");
    for (uint64_t round = 0; round < 8; round++) {
        const tshmem_ctx_t used = round % 2 ? a : b, other = round % 4 < 2 ? TSHMEM_CTX_DEFAULT : round % 2 ? b : a;
        shmem_fill(here, BIG, shmem_draw(round, (uint64_t)me, 1));
        tshmem_barrier_all();
        tshmem_ctx_putmem_nbi(used, big, here, BIG, next);
        tshmem_ctx_quiet(other);
        const int open = shmem_open_operations(used);
        CHECK(open < 0 || shmem_is_plain(big) || open == 1, "%d under way after the quiet of another one", open);
        tshmem_ctx_quiet(used);
        CHECK(shmem_open_operations(used) <= 0, "under way after its own quiet");
        memset(there, 0, BIG);
        tshmem_getmem(there, big, BIG, next);
        CHECK(memcmp(here, there, BIG) == 0, "round %llu: complete", (unsigned long long)round);
    }
    /* Destroying completes, too. */
    tshmem_barrier_all();
    shmem_fill(here, BIG, 77 + (uint64_t)me);
    tshmem_ctx_putmem_nbi(a, big, here, BIG, next);
    tshmem_ctx_destroy(a);
    tshmem_getmem(there, big, BIG, next);
    CHECK(memcmp(here, there, BIG) == 0, "complete when it is destroyed");
    tshmem_ctx_destroy(b);
    tshmem_barrier_all();
    free(here);
    free(there);
}

#define REFUSED(call, ...)                                                                                             \
    do {                                                                                                               \
        call;                                                                                                          \
        CHECK(tshmem_error() == TUTTI_ERR_ARGUMENT, __VA_ARGS__);                                                      \
    } while (0)

static void errors(int pes)
{
    tshmem_ctx_t ctx, many[TSHMEM_CONTEXTS_MAX], ended;
    tshmem_team_t team, of = 7;
    const tshmem_team_config_t wanted = {.num_contexts = 3}, too_many = {.num_contexts = TSHMEM_CONTEXTS_MAX};
    tshmem_team_config_t config = {.num_contexts = -1};
    int n = 0, value = 1;
    CHECK(tshmem_ctx_create(TSHMEM_CTX_SERIALIZED | TSHMEM_CTX_NOSTORE, &ctx) == 0, "create");
    CHECK(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, 0, 1, pes > 1 ? pes - 1 : 1, &wanted, TSHMEM_TEAM_NUM_CONTEXTS,
                                    &team) == 0,
          "a team");
    CHECK(tshmem_ctx_get_team(TSHMEM_CTX_INVALID, &of) != 0 && of == TSHMEM_TEAM_INVALID, "the team of none");
    CHECK(tshmem_ctx_get_team(TSHMEM_CTX_DEFAULT, &of) == 0 && of == TSHMEM_TEAM_WORLD, "the team of the default one");
    tshmem_ctx_destroy(TSHMEM_CTX_INVALID);
    shmem_hush_begin();
    CHECK(tshmem_error() == 0, "nothing wrong yet");
    REFUSED(tshmem_ctx_create(64, &ended), "no such option");
    CHECK(ended == TSHMEM_CTX_INVALID, "none is made");
    REFUSED(tshmem_team_create_ctx(61, 0, &ended), "no such team");
    REFUSED(tshmem_ctx_destroy(TSHMEM_CTX_DEFAULT), "the default one");
    tshmem_ctx_quiet(TSHMEM_CTX_INVALID);
    tshmem_ctx_fence(TSHMEM_CTX_INVALID);
    CHECK(tshmem_error() == 0, "quiet and fence of none");
    REFUSED(tshmem_ctx_int_put(ctx, (int *)(void *)object, &value, 1, pes), "no such PE");
    REFUSED(tshmem_ctx_int_put(TSHMEM_CTX_INVALID, (int *)(void *)object, &value, 1, 0), "put into none");
    REFUSED(tshmem_ctx_int_put_nbi(ctx, &value, &value, 1, 0), "not symmetric");
    REFUSED(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, 0, 1, 1, &too_many, TSHMEM_TEAM_NUM_CONTEXTS, &of), "many");
    if (team != TSHMEM_TEAM_INVALID) {
        CHECK(tshmem_team_get_config(team, TSHMEM_TEAM_NUM_CONTEXTS, &config) == 0 && config.num_contexts == 3, "kept");
        CHECK(tshmem_team_create_ctx(team, 0, &ended) == 0, "of a team");
        REFUSED(tshmem_ctx_int_p(ended, (int *)(void *)object, 1, tshmem_team_n_pes(team)), "no such PE of the team");
        tshmem_team_destroy(team);
        REFUSED(tshmem_ctx_int_p(ended, (int *)(void *)object, 1, 0), "of a team that has ended");
    }
    ended = ctx;
    tshmem_ctx_destroy(ctx);
    REFUSED(tshmem_ctx_int_p(ended, (int *)(void *)object, 1, 0), "one that has ended");
    while (tshmem_ctx_create(0, &ctx) == 0)
        many[n++] = ctx;
    CHECK(n == TSHMEM_CONTEXTS_MAX - 1 && ctx == TSHMEM_CTX_INVALID && tshmem_error() < 0, "%d at a time", n);
    shmem_hush_end();
    while (n > 0)
        tshmem_ctx_destroy(many[--n]);
    tshmem_barrier_all();
}

static void look(void)
{
    static uint64_t words[TSHMEM_CONTEXTS_MAX];
    const struct tshmem_state *const state = tshmem_state_get();
    state_seen = *state;
    if ((uintptr_t)state->context - (uintptr_t)state->heap < state->heap_bytes) {
        tshmem_putmem(copied, state->context, sizeof words, tshmem_my_pe());
        tshmem_getmem(words, copied, sizeof words, tshmem_my_pe());
        state_seen.context = words;
    }
}

/* What kernels read: every context from when it was made until it has ended, and never a handle of before. */
static void kernels(void)
{
    enum { HANDLES = 300, ALIVE = 30 };
    static struct {
        tshmem_ctx_t ctx;
        tshmem_team_t team; /* TSHMEM_TEAM_INVALID: it has ended */
    } made[HANDLES];
    tshmem_team_t teams[TEAMS];
    uint64_t random = shmem_draw(5, (uint64_t)tshmem_my_pe(), 5);
    int alive = 0;
    teams_make(teams);
    for (int i = 0; i < HANDLES; i++) {
        const tshmem_team_t team = teams[random_next(&random) % TEAMS];
        while (alive >= ALIVE) {
            const int gone = (int)(random_next(&random) % (uint64_t)i);
            if (made[gone].team == TSHMEM_TEAM_INVALID)
                continue;
            tshmem_ctx_destroy(made[gone].ctx);
            made[gone].team = TSHMEM_TEAM_INVALID;
            alive--;
        }
        made[i].team = TSHMEM_TEAM_INVALID;
        if (team != TSHMEM_TEAM_INVALID && CHECK(tshmem_team_create_ctx(team, 0, &made[i].ctx) == 0, "create")) {
            made[i].team = team;
            alive++;
        }
        look();
        for (int k = 0; k <= i; k++)
            CHECK(tutti_dev_ctx_team(made[k].ctx) == made[k].team, "context %d of %d is of team %d, in kernels of %d",
                  k, i, made[k].team, tutti_dev_ctx_team(made[k].ctx));
    }
    tshmem_barrier_all();
    teams_free(teams); /* and the contexts of two of them */
    look();
    for (int k = 0; k < HANDLES; k++) {
        if (made[k].team != TSHMEM_TEAM_WORLD)
            made[k].team = TSHMEM_TEAM_INVALID;
        CHECK(tutti_dev_ctx_team(made[k].ctx) == made[k].team, "context %d when the teams have ended", k);
        if (made[k].team == TSHMEM_TEAM_WORLD)
            tshmem_ctx_destroy(made[k].ctx);
    }
    CHECK(tutti_dev_ctx_team(TSHMEM_CTX_DEFAULT) == TSHMEM_TEAM_WORLD, "the default one");
}

void shmem_test(void)
{
    const int me = tshmem_my_pe(), pes = tshmem_n_pes();
    tshmem_team_t teams[TEAMS];
    object = tshmem_calloc(ELEMENTS, 32);
    signal = tshmem_calloc(1, sizeof *signal);
    big = tshmem_malloc(BIG);
    copied = tshmem_calloc(TSHMEM_CONTEXTS_MAX, sizeof *copied);
    if (!CHECK(object && signal && big && copied, "memory"))
        return;
    teams_make(teams);
    forms(TSHMEM_CTX_DEFAULT, TSHMEM_TEAM_WORLD);
    for (int i = 0; i < TEAMS; i++) {
        tshmem_ctx_t ctx;
        if (teams[i] == TSHMEM_TEAM_INVALID || !CHECK(tshmem_team_create_ctx(teams[i], 0, &ctx) == 0, "create"))
            continue;
        forms(ctx, teams[i]);
        tshmem_ctx_destroy(ctx);
    }
    tshmem_barrier_all();
    apart(me, pes);
    errors(pes);
    teams_free(teams);
    kernels();
    tshmem_free(copied);
    tshmem_free(big);
    tshmem_free(signal);
    tshmem_free(object);
}
