/* Random programs of calls in stream order: each team has a stream and objects of its own, and all run at once, beside
 * collectives and atomics of the host. A program is put into the streams TIMES times; with CUDA it is captured once and
 * launched as often. All PEs draw all, so each knows what its memory holds in the end. TUTTI_TEST_ROUNDS: programs;
 * TUTTI_TEST_SEED: the first one. */
#include <dlfcn.h>

#include "shmem/teams_of.h"
#include "tutti/device.h"

enum { PES = 8, LONGS = 96, STEPS = 10, TIMES = 20 };

/* Of one team at one PE. */
struct memory {
    uint64_t a[LONGS], b[PES * LONGS], signal;
    short word[2];
};
static struct memory *mine;                /* symmetric; [TEAMS] */
static struct memory model[PES], was[PES]; /* of every member of the team that is looked at */
static uint64_t *host;                     /* symmetric */
static void *streams[TEAMS];
static uint64_t program;
static int kernels; /* the calls in kernels work here: the heap is memory of the host device that is not kept from us */

enum action {
    SUM,
    XOR,
    BROADCAST,
    FCOLLECT,
    ALLTOALL,
    COLLECT,
    INSCAN,
    EXSCAN,
    SCATTER,
    ALLTOALLS,
    COPY,
    RING,
    WORDS,
    ELEMENT,
    STRIDED,
    GET,
    BARRIER,
    ACTIONS
};
struct act {
    enum action action;
    size_t n;
    int root;
};

static struct act act_of(int team, int step, int members)
{
    const uint64_t d = shmem_draw(program, (uint64_t)(team * 1000 + step), 7);
    return (struct act){
        .action = (enum action)(d % ACTIONS), .n = d / 64 % LONGS + 1, .root = (int)(d / 65536 % (uint64_t)members)};
}

static size_t brought(const struct act *a, int member)
{
    return (a->n + 5 * (size_t)member) % LONGS;
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
    default:
        status = tshmem_barrier_on_stream(team, stream) | tshmem_quiet_on_stream(stream);
    }
    CHECK(status == 0, "program %llu: call %d: %d", (unsigned long long)program, (int)a->action, status);
}

/* The same on the memories of all members. */
static void model_act(const struct act *a, int members)
{
    const size_t each = a->n / (size_t)members, bytes = a->n * sizeof(uint64_t);
    memcpy(was, model, (size_t)members * sizeof *model);
    for (int m = 0; m < members; m++) {
        struct memory *to = &model[m];
        size_t at = 0;
        for (size_t i = 0; i < a->n; i++) {
            uint64_t sum = 0, bits = 0, through = 0, before = 0;
            for (int r = 0; r < members; r++) {
                sum += was[r].a[i];
                bits ^= was[r].a[i];
                through += r <= m ? was[r].a[i] : 0;
                before += r < m ? was[r].a[i] : 0;
            }
            if (a->action == SUM)
                to->a[i] = sum;
            else if (a->action == XOR)
                to->b[i] = bits;
            else if (a->action == INSCAN)
                to->a[i] = through;
            else if (a->action == EXSCAN)
                to->b[i] = before;
        }
        for (size_t i = 0; a->action == SCATTER && i < each; i++) {
            to->b[i] = 0;
            for (int r = 0; r < members; r++) {
                const uint64_t it = was[r].a[(size_t)m * each + i];
                to->b[i] = it > to->b[i] ? it : to->b[i];
            }
        }
        for (int r = 0; r < members; r++) {
            if (a->action == FCOLLECT)
                memcpy(to->b + (size_t)r * a->n, was[r].a, bytes);
            if (a->action == ALLTOALL)
                memcpy(to->b + (size_t)r * each, was[r].a + (size_t)m * each, each * sizeof(uint64_t));
            if (a->action == COLLECT)
                memcpy(to->b + at, was[r].a, brought(a, r) * sizeof(uint64_t));
            at += brought(a, r);
        }
        for (size_t i = 0; a->action == ALLTOALLS && i < each * (size_t)members; i++)
            to->b[2 * i] = was[i / each].a[(size_t)m * each + i % each];
        for (size_t i = 0; a->action == STRIDED && i < a->n; i++) {
            to->b[3 * i] = was[(m + members - 1) % members].a[i];
            to->b[3 * i + 1] = was[(m + 1) % members].a[i];
        }
        if (a->action == ELEMENT)
            to->a[a->n - 1] = program + a->n;
        if (a->action == BROADCAST)
            memcpy(to->b, was[a->root].a, bytes);
        else if (a->action == COPY)
            memcpy(to->a, was[m].b, bytes);
        else if (a->action == RING || a->action == WORDS)
            memcpy(to->b, was[(m + members - 1) % members].a, bytes);
        else if (a->action == GET)
            memcpy(to->b, was[(m + 1) % members].a, bytes);
    }
}

/* ---- graphs: the driver is opened, where it is the device ---- */

static struct {
    int (*begin)(void *stream, int mode);
    int (*end)(void *stream, void **graph);
    int (*make)(void **exec, void *graph, unsigned long long flags);
    int (*launch)(void *exec, void *stream);
    int (*drop)(void *exec);
    int (*context)(void *stream, void **context);
    int (*enter)(void *context);
} cu;

static int graphs(void)
{
    void *driver = strcmp(tutti_device_name(), "cuda") == 0 ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
#define FIND(field, name) *(void **)(void *)&cu.field = driver ? dlsym(driver, name) : NULL
    FIND(begin, "cuStreamBeginCapture_v2");
    FIND(end, "cuStreamEndCapture");
    FIND(make, "cuGraphInstantiateWithFlags");
    FIND(launch, "cuGraphLaunch");
    FIND(drop, "cuGraphExecDestroy");
    FIND(context, "cuStreamGetCtx");
    FIND(enter, "cuCtxSetCurrent");
    if (!cu.begin || !cu.end || !cu.make || !cu.launch || !cu.drop || !cu.context || !cu.enter)
        return 0;
    void *context = NULL; /* as a program with graphs has one */
    CHECK(cu.context(streams[0], &context) == 0 && cu.enter(context) == 0, "the context of the streams");
    return 1;
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
        CHECK(now.signal == 0 && now.word[0] == 0 && now.word[1] == 0, "program %llu, team %d: signal",
              (unsigned long long)program, t);
        if (has_graphs)
            cu.drop(exec[t]);
    }
    tshmem_barrier_all();
}

void shmem_test(void)
{
    const uint64_t first = check_seed();
    const long programs = check_setting("TUTTI_TEST_ROUNDS", 20);
    tshmem_team_t teams[TEAMS];
    mine = tshmem_malloc(TEAMS * sizeof *mine);
    host = tshmem_calloc(5, sizeof *host);
    kernels = strcmp(tutti_device_name(), "host") == 0 && check_setting("TUTTI_HOST_STRICT", 1) == 0;
    if (!CHECK(mine && host && tshmem_n_pes() <= PES, "memory"))
        return;
    for (int t = 0; t < TEAMS; t++)
        CHECK(tutti_stream_create(&streams[t]) == 0, "a stream");
    const int has_graphs = graphs();
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
