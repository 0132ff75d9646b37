/* Random programs of calls in stream order: each team has a stream and objects of its own, and all run at once, beside
 * collectives and atomics of the host. A program is put into the streams TIMES times; with CUDA it is captured once and
 * launched as often. All PEs draw all, so each knows what its memory holds in the end. TUTTI_TEST_ROUNDS: programs;
 * TUTTI_TEST_SEED: the first one. */
#include "tutti/device.h"

#include "shmem/stream/calls_model.h"
#include "shmem/stream/graphs.h"

enum { STEPS = 10, TIMES = 20 };

static struct memory *mine; /* symmetric; [TEAMS] */
static uint64_t *host;      /* symmetric */
static void *streams[TEAMS];
static int kernels; /* the calls in kernels work here: the heap is memory of the host device that is not kept from us */

static int change(const struct act *a, struct memory *at, int pe, void *stream)
{
    uint64_t *const word = &at->a[a->n - 1], *const to = &at->fetched;
    switch (a->n % CHANGES) {
    case FETCH_ADD:
        return tshmem_uint64_atomic_fetch_add_on_stream(to, word, program, pe, stream);
    case SWAP:
        return tshmem_uint64_atomic_swap_on_stream(to, word, program, pe, stream);
    case COMPARE_SWAP:
        return tshmem_uint64_atomic_compare_swap_on_stream(to, word, a->n, program, pe, stream);
    case SET_WORD:
        return tshmem_uint64_atomic_set_on_stream(word, a->n, pe, stream);
    case FETCH_XOR:
        return tshmem_uint64_atomic_fetch_xor_on_stream(to, word, program << 20, pe, stream);
    case AND:
        return tshmem_uint64_atomic_and_on_stream(word, ~program, pe, stream);
    case FETCH_OR:
        return tshmem_uint64_atomic_fetch_or_nbi_on_stream(to, word, program << 7, pe, stream);
    default:
        return tshmem_uint64_atomic_inc_on_stream(word, pe, stream);
    }
}

/* Words and signals, between two meetings. */
static int put_words(const struct act *a, tshmem_team_t team, struct memory *at, int next, void *stream)
{
    const int own = tshmem_my_pe();
    int status = tshmem_sync_on_stream(team, stream);
    switch (a->action) {
    case ATOMIC: /* on a word that this PE alone changes */
        status |= change(a, at, next, stream);
        break;
    case SIGNALS:
        status |= tshmem_uint64_put_nbi_on_stream(at->b, at->a, a->n, next, stream) | tshmem_fence_on_stream(stream);
        status |= tshmem_signal_add_on_stream(&at->signal, a->n, next, stream);
        status |= tshmem_signal_wait_until_on_stream(&at->signal, TSHMEM_CMP_NE, 0, stream);
        status |= tshmem_signal_fetch_on_stream(&at->fetched, &at->signal, stream);
        status |= tshmem_signal_set_on_stream(&at->signal, 0, own, stream);
        status |= tshmem_pe_quiet_on_stream(next, stream);
        break;
    case ANY:
        status |= tshmem_short_p_on_stream(&at->word[a->n % 2], -1, next, stream);
        status |= tshmem_short_wait_until_any_on_stream(&at->index, at->word, 2, NULL, TSHMEM_CMP_LT, 0, stream);
        status |=
            tshmem_short_wait_until_some_on_stream(&at->found, at->word, 2, at->some, NULL, TSHMEM_CMP_LT, 0, stream);
        status |= tshmem_short_p_on_stream(&at->word[a->n % 2], 0, own, stream);
        break;
    default: /* TESTS: b gets indices */
        status |= tshmem_uint64_test_all_vector_on_stream(&at->holds, at->a, a->n, NULL, TSHMEM_CMP_NE, at->b, stream);
        status |= tshmem_uint64_test_any_on_stream(&at->index, at->a, a->n, NULL, TSHMEM_CMP_GT, PIVOT, stream);
        status |= tshmem_uint64_test_some_on_stream(&at->found, at->a, a->n, at->b, NULL, TSHMEM_CMP_GT, PIVOT, stream);
    }
    return status | tshmem_barrier_on_stream(team, stream);
}

static void put(const struct act *a, tshmem_team_t team, struct memory *at, void *stream)
{
    const int members = tshmem_team_n_pes(team), me = tshmem_team_my_pe(team);
    const int next = teams_world(team, (me + 1) % members), own = tshmem_my_pe();
    const size_t each = a->n / (size_t)members;
    int status = 0;
    switch (a->action) {
    case SUM:
        status = tshmem_uint64_sum_reduce_on_stream(team, at->a, at->a, a->n, stream);
        break;
    case XOR:
        status = tshmem_uint64_xor_reduce_on_stream(team, at->b, at->a, a->n, stream);
        break;
    case BROADCAST:
        status = tshmem_uint64_broadcast_on_stream(team, at->b, at->a, a->n, a->root, stream);
        break;
    case FCOLLECT:
        status = tshmem_uint64_fcollect_on_stream(team, at->b, at->a, a->n, stream);
        break;
    case ALLTOALL:
        status = tshmem_uint64_alltoall_on_stream(team, at->b, at->a, each, stream);
        break;
    case COLLECT:
        status = tshmem_uint64_collect_on_stream(team, at->b, at->a, brought(a, me), stream);
        break;
    case INSCAN:
        status = tshmem_uint64_sum_inscan_on_stream(team, at->a, at->a, a->n, stream);
        break;
    case EXSCAN:
        status = tshmem_uint64_sum_exscan_on_stream(team, at->b, at->a, a->n, stream);
        break;
    case SCATTER:
        status = tshmem_uint64_max_reducescatter_on_stream(team, at->b, at->a, each, stream);
        break;
    case COPY:
        status = tshmem_uint64_put_on_stream(at->a, at->b, a->n, own, stream);
        break;
    case RING: /* nobody looks at b any more; the signal is taken back before anybody goes on */
        status = tshmem_sync_on_stream(team, stream);
        status |=
            tshmem_uint64_put_signal_on_stream(at->b, at->a, a->n, &at->signal, 1, TSHMEM_SIGNAL_SET, next, stream);
        status |= tshmem_signal_wait_until_on_stream(&at->signal, TSHMEM_CMP_EQ, 1, stream);
        status |= tshmem_signal_op_on_stream(&at->signal, 0, TSHMEM_SIGNAL_SET, own, stream);
        status |= tshmem_sync_on_stream(team, stream);
        break;
    case WORDS: /* the same with words of another type, and what is under way until quiet */
        status = tshmem_sync_on_stream(team, stream);
        status |= tshmem_uint64_put_nbi_on_stream(at->b, at->a, a->n, next, stream) | tshmem_quiet_on_stream(stream);
        status |= tshmem_short_p_on_stream(&at->word[0], -1, next, stream);
        status |= tshmem_short_p_on_stream(&at->word[1], -2, next, stream);
        status |= tshmem_short_wait_until_all_on_stream(at->word, 2, NULL, TSHMEM_CMP_LT, 0, stream);
        status |= tshmem_short_p_on_stream(&at->word[0], 0, own, stream);
        status |= tshmem_short_p_on_stream(&at->word[1], 0, own, stream);
        status |= tshmem_barrier_on_stream(team, stream);
        break;
    case ELEMENT:
        status = tshmem_sync_on_stream(team, stream);
        status |= tshmem_uint64_p_on_stream(&at->a[a->n - 1], program + a->n, next, stream);
        status |= tshmem_barrier_on_stream(team, stream);
        break;
    case STRIDED:
        status = tshmem_sync_on_stream(team, stream);
        status |= tshmem_uint64_iput_on_stream(at->b, at->a, 3, 1, a->n, next, stream);
        status |= tshmem_uint64_iget_on_stream(at->b + 1, at->a, 3, 1, a->n, next, stream);
        status |= tshmem_barrier_on_stream(team, stream);
        break;
    case ALLTOALLS:
        status = tshmem_uint64_alltoalls_on_stream(team, at->b, at->a, 2, 1, each, stream);
        break;
    case GET:
        status = tshmem_barrier_on_stream(team, stream);
        status |= tshmem_uint64_get_on_stream(at->b, at->a, a->n, next, stream);
        status |= tshmem_sync_on_stream(team, stream);
        break;
    case ATOMIC:
    case SIGNALS:
    case ANY:
    case TESTS:
        status = put_words(a, team, at, next, stream);
        break;
    default:
        status = tshmem_barrier_on_stream(team, stream) | tshmem_quiet_on_stream(stream);
    }
    CHECK(status == 0, "program %llu: call %d: %d", (unsigned long long)program, (int)a->action, status);
}

static void put_program(int t, tshmem_team_t team)
{
    for (int step = 0; step < STEPS; step++) {
        const struct act a = act_of(t, step, tshmem_team_n_pes(team));
        put(&a, team, &mine[t], streams[t]);
    }
}

static void *capture(int t, tshmem_team_t team)
{
    void *graph = NULL, *exec = NULL;
    CHECK(cu.begin(streams[t], 1) == 0, "a capture begins");
    put_program(t, team);
    CHECK(cu.end(streams[t], &graph) == 0 && cu.make(&exec, graph, 0) == 0, "a graph");
    return exec;
}

/* ---- */

static void start(uint64_t *to, int team, int member)
{
    for (size_t i = 0; i < LONGS; i++)
        to[i] = shmem_draw(program, (uint64_t)(team * 100 + member), i);
}

static void beside(int me, int pes)
{
    uint64_t all = 0;
    for (uint64_t i = 0; i < 5; i++) {
        SET(&host[0], i + (uint64_t)me);
        CHECK(tshmem_sum_reduce(TSHMEM_TEAM_WORLD, host + 1, host, 1) == 0, "a sum of the host beside");
        all = SEE(&host[1]);
        CHECK(all == i * (uint64_t)pes + (uint64_t)(pes * (pes - 1) / 2), "its result: %llu", (unsigned long long)all);
        tshmem_atomic_inc(&host[2], (me + 1) % pes);
        if (!kernels)
            continue;
        host[3] = i + (uint64_t)me;
        CHECK(tshmem_uint64_sum_reduce_block(TSHMEM_TEAM_WORLD, host + 4, host + 3, 1) == 0, "a kernel's beside");
        CHECK(host[4] == all, "its result: %llu", (unsigned long long)host[4]);
    }
}

/* Every program has teams of its own, whose numbers were other teams' before. */
static void make(tshmem_team_t teams[TEAMS])
{
    tshmem_team_t other[TEAMS];
    if (program % 2 == 0) {
        teams_make(teams);
        return;
    }
    CHECK(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, 0, 2, (tshmem_n_pes() + 1) / 2, NULL, 0, &teams[2]) == 0,
          "every second");
    teams_make(other);
    if (other[2] != TSHMEM_TEAM_INVALID)
        tshmem_team_destroy(other[2]);
    teams[0] = other[0];
    teams[1] = other[1];
}

static void run(tshmem_team_t teams[TEAMS], int has_graphs)
{
    const int me = tshmem_my_pe(), pes = tshmem_n_pes();
    void *exec[TEAMS] = {NULL};
    struct memory now;
    memset(&now, 0, sizeof now);
    for (int t = 0; t < TEAMS; t++) {
        if (teams[t] == TSHMEM_TEAM_INVALID)
            continue;
        start(now.a, t, tshmem_team_my_pe(teams[t]));
        shmem_store(&mine[t], &now, sizeof now);
        exec[t] = has_graphs ? capture(t, teams[t]) : NULL;
    }
    tshmem_barrier_all();
    for (int i = 0; i < TIMES; i++) {
        for (int t = 0; t < TEAMS; t++) {
            if (teams[t] == TSHMEM_TEAM_INVALID)
                continue;
            if (has_graphs)
                CHECK(cu.launch(exec[t], streams[t]) == 0, "launch");
            else
                put_program(t, teams[t]);
        }
    }
    beside(me, pes);
    for (int t = 0; t < TEAMS; t++) {
        if (teams[t] == TSHMEM_TEAM_INVALID)
            continue;
        const int members = tshmem_team_n_pes(teams[t]), own = tshmem_team_my_pe(teams[t]);
        CHECK(tutti_stream_sync(streams[t]) == 0, "sync");
        memset(model, 0, sizeof model);
        for (int m = 0; m < members; m++)
            start(model[m].a, t, m);
        for (int step = 0; step < STEPS * TIMES; step++) {
            const struct act a = act_of(t, step % STEPS, members);
            model_act(&a, members);
        }
        shmem_load(&now, &mine[t], sizeof now);
        CHECK(memcmp(now.a, model[own].a, sizeof now.a) == 0, "program %llu, team %d: a", (unsigned long long)program,
              t);
        CHECK(memcmp(now.b, model[own].b, sizeof now.b) == 0, "program %llu, team %d: b", (unsigned long long)program,
              t);
        CHECK(memcmp(&now.signal, &model[own].signal, sizeof now - offsetof(struct memory, signal)) == 0,
              "program %llu, team %d: words", (unsigned long long)program, t);
        if (has_graphs)
            cu.drop(exec[t]);
    }
    tshmem_barrier_all();
}

void shmem_test(void)
{
    const uint64_t first = check_seed();
    const long programs = check_many("TUTTI_TEST_ROUNDS", 20);
    tshmem_team_t teams[TEAMS];
    mine = tshmem_malloc(TEAMS * sizeof *mine);
    host = tshmem_calloc(5, sizeof *host);
    kernels = strcmp(tutti_device_name(), "host") == 0 && check_setting("TUTTI_HOST_STRICT", 1) == 0;
    if (!CHECK(mine && host && tshmem_n_pes() <= PES, "memory"))
        return;
    for (int t = 0; t < TEAMS; t++)
        CHECK(tutti_stream_create(&streams[t]) == 0, "a stream");
    const int has_graphs = graphs(streams[0]);
    for (long i = 0; i < programs && check_failed() == 0; i++) {
        program = first + (uint64_t)i;
        make(teams);
        run(teams, has_graphs);
        teams_free(teams);
    }
    CHECK(SEE(&host[2]) == 5 * (uint64_t)programs, "additions of the host beside");
    for (int t = 0; t < TEAMS; t++)
        tutti_stream_destroy(streams[t]);
    tshmem_free(host);
    tshmem_free(mine);
}
