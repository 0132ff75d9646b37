/* Random programs: puts, gets, atomics, signals, waits, collectives and teams, drawn from a seed, with an oracle. All
 * PEs draw the whole program, so each knows what its memory holds after every round, in which no two PEs touch the same
 * bytes but by atomics that commute. Some steps of a PE are put into a stream, where that goes. programs/bytes.c draws
 * long transfers, all element sizes and places, and more collectives. TUTTI_TEST_ROUNDS:
 * programs; TUTTI_TEST_SEED: the first one. */
#include "shmem/programs/programs.h"

enum { SLOTS = 6, LONGS = 48, COUNTERS = 4, STEPS = 12 };

/* What the heap of one PE holds: an area for each that may write into it, counters, signals. */
struct memory {
    uint64_t area[PES][SLOTS][LONGS];
    uint64_t counter[COUNTERS];
    uint64_t signal[PES];
    uint64_t source[LONGS], dest[PES * LONGS];
};
static struct memory *mine;      /* symmetric */
static struct memory model[PES]; /* of every PE */
static uint64_t program;
/* Of the program: one over all PEs, and one over them in reverse. */
static tshmem_ctx_t contexts[2];
static void *stream; /* NULL: there is none */

static uint64_t draw(uint64_t step, uint64_t pe, uint64_t what)
{
    return shmem_draw(program, step * 64 + pe, what);
}

enum action { PUT, GET, IPUT, PUT_SIGNAL, SET, ADD, XOR, P, IGET, CTX_PUT, CTX_PUT_SIGNAL, CTX_GET, ACTIONS };
struct act {
    enum action action;
    int to; /* whom it concerns */
    size_t slot, n, at;
    uint64_t key, value;
    int counter;
};

/* What PE `pe` does in a step. */
static struct act act_of(uint64_t step, int pe, int pes)
{
    const uint64_t d = draw(step, (uint64_t)pe, 1), e = draw(step, (uint64_t)pe, 2);
    struct act a = {.action = (enum action)(d % ACTIONS),
                    .to = (int)(d / 16 % (uint64_t)pes),
                    .slot = d / 256 % SLOTS,
                    .at = d / 4096 % (LONGS / 2),
                    .key = draw(step, (uint64_t)pe, 3),
                    .value = e / 16 % 1000,
                    .counter = (int)(e % COUNTERS)};
    a.n = d / 65536 % (LONGS - a.at) + 1;
    if (a.action == IPUT || a.action == IGET)
        a.n = (a.n + 1) / 2;
    return a;
}

static uint64_t word_of(const struct act *a, size_t i)
{
    return shmem_draw(a->key, i, 5);
}

/* Its effect on all memories. Counters are added to by even steps, changed by exclusive or in odd ones: those of one
 * kind commute. */
static void model_act(const struct act *a, int pe, uint64_t step)
{
    struct memory *to = &model[a->to];
    const uint64_t odd = step % 2;
    switch (a->action) {
    case PUT:
    case PUT_SIGNAL:
    case CTX_PUT:
    case CTX_PUT_SIGNAL:
        for (size_t i = 0; i < a->n; i++)
            to->area[pe][a->slot][a->at + i] = word_of(a, i);
        if (a->action == PUT_SIGNAL || a->action == CTX_PUT_SIGNAL)
            to->signal[pe] += a->value + 1;
        break;
    case IPUT:
        for (size_t i = 0; i < a->n && a->at + 2 * i < LONGS; i++)
            to->area[pe][a->slot][a->at + 2 * i] = word_of(a, 3 * i);
        break;
    case P:
        to->area[pe][a->slot][a->at] = word_of(a, 0);
        break;
    case SET: /* into the area of this PE alone, so that nobody else does */
        to->area[pe][a->slot][a->at] = a->value;
        break;
    case ADD:
    case XOR:
        if (odd)
            to->counter[a->counter] ^= a->value;
        else
            to->counter[a->counter] += a->value;
        break;
    default:
        break;
    }
}

/* Does it; what is got is compared with the model as it was before the step. */
static void do_act(const struct act *a, int pe, uint64_t step)
{
    static uint64_t words[3 * LONGS]; /* put_nbi may read it until the fence that follows */
    uint64_t got[LONGS];
    uint64_t *at = &mine->area[pe][a->slot][a->at];
    size_t n = a->n;
    const tshmem_ctx_t ctx = contexts[a->value % 2];
    const int to = a->value % 2 ? tshmem_n_pes() - 1 - a->to : a->to;
    for (size_t i = 0; i < 3 * LONGS; i++)
        words[i] = word_of(a, i);
    switch (a->action) {
    case PUT:
        if (a->value % 2)
            tshmem_uint64_put(at, words, n, a->to);
        else
            tshmem_put_nbi(at, words, n, a->to);
        break;
    case PUT_SIGNAL:
        tshmem_ulong_put_signal(at, words, n, &mine->signal[pe], a->value + 1, TSHMEM_SIGNAL_ADD, a->to);
        break;
    case CTX_PUT:
        tshmem_put_nbi(ctx, at, words, n, to);
        tshmem_ctx_quiet(ctx);
        break;
    case CTX_PUT_SIGNAL:
        tshmem_ctx_ulong_put_signal_nbi(ctx, at, words, n, &mine->signal[pe], a->value + 1, TSHMEM_SIGNAL_ADD, to);
        tshmem_ctx_fence(ctx);
        break;
    case CTX_GET:
        tshmem_get_nbi(ctx, got, at, n, to);
        tshmem_ctx_quiet(ctx);
        for (size_t i = 0; i < n; i++)
            CHECK(got[i] == model[a->to].area[pe][a->slot][a->at + i], "program %llu step %llu: get in a context",
                  (unsigned long long)program, (unsigned long long)step);
        break;
    case IPUT:
        while (a->at + 2 * (n - 1) >= LONGS)
            n--;
        tshmem_uint64_iput(at, words, 2, 3, n, a->to);
        break;
    case P:
        tshmem_p(at, words[0], a->to);
        break;
    case SET:
        tshmem_atomic_set(at, a->value, a->to);
        break;
    case ADD:
    case XOR:
        if (step % 2)
            tshmem_uint64_atomic_xor(&mine->counter[a->counter], a->value, a->to);
        else
            tshmem_uint64_atomic_fetch_add(&mine->counter[a->counter], a->value, a->to);
        break;
    default: { /* of what this PE alone writes there, and does not in this step */
        const ptrdiff_t stride = a->action == IGET ? 2 : 1;
        while (a->at + (size_t)stride * (n - 1) >= LONGS)
            n--;
        if (a->action == IGET)
            tshmem_uint64_iget(got, at, 1, stride, n, a->to);
        else
            tshmem_get(got, at, n, a->to);
        for (size_t i = 0; i < n; i++)
            CHECK(got[i] == model[a->to].area[pe][a->slot][a->at + (size_t)stride * i], "program %llu step %llu: get",
                  (unsigned long long)program, (unsigned long long)step);
    }
    }
}

/* Of host memory or, as drawn, of the GPU: what streams put from, and get to. */
static uint64_t *stream_words(size_t act, uint64_t value)
{
    static uint64_t host[3][4 * LONGS];
    static void *device;
    if (!device)
        CHECK(tutti_alloc(sizeof host, &device) == 0, "memory of the GPU");
    return value % 4 < 2 ? host[act] : (uint64_t *)device + act * 4 * LONGS;
}

/* The same in a stream, where it has the call; what is under way there when act k of the step has been put in stays so.
 * 0: it has none. */
static int do_in_stream(const struct act *a, int pe, uint64_t step, size_t k)
{
    static const uint64_t other[4 * LONGS];
    uint64_t words[4 * LONGS];
    uint64_t *const at = &mine->area[pe][a->slot][a->at], *const own = stream_words(k, a->value);
    size_t n = a->n;
    const int odd = a->value % 2;
    int status = 0;
    for (size_t i = 0; i < 3 * LONGS; i++)
        words[i] = word_of(a, i);
    if (a->action != GET && a->action != IGET)
        CHECK(tutti_copy(own, words, sizeof words) == 0, "copy");
    switch (a->action) {
    case PUT:
        status = odd ? tshmem_uint64_put_on_stream(at, own, n, a->to, stream)
                     : tshmem_uint64_put_nbi_on_stream(at, own, n, a->to, stream);
        break;
    case PUT_SIGNAL:
        status = odd ? tshmem_uint64_put_signal_on_stream(at, own, n, &mine->signal[pe], a->value + 1,
                                                          TSHMEM_SIGNAL_ADD, a->to, stream)
                     : tshmem_uint64_put_signal_nbi_on_stream(at, own, n, &mine->signal[pe], a->value + 1,
                                                              TSHMEM_SIGNAL_ADD, a->to, stream);
        break;
    case IPUT:
        while (a->at + 2 * (n - 1) >= LONGS)
            n--;
        status = tshmem_uint64_iput_on_stream(at, own, 2, 3, n, a->to, stream);
        break;
    case P:
        status = tshmem_uint64_p_on_stream(at, words[0], a->to, stream);
        break;
    case SET:
        status = tshmem_uint64_atomic_set_on_stream(at, a->value, a->to, stream);
        break;
    case ADD:
    case XOR:
        if (step % 2)
            status = tshmem_uint64_atomic_xor_on_stream(&mine->counter[a->counter], a->value, a->to, stream);
        else /* what it fetches goes to the GPU */
            status = tshmem_uint64_atomic_fetch_add_on_stream(stream_words(k, 2), &mine->counter[a->counter], a->value,
                                                              a->to, stream);
        break;
    case GET:
    case IGET:
        break;
    default:
        return 0;
    }
    if (a->action == GET || a->action == IGET) {
        const ptrdiff_t stride = a->action == IGET ? 2 : 1;
        while (a->at + (size_t)stride * (n - 1) >= LONGS)
            n--;
        if (a->action == IGET)
            status = tshmem_uint64_iget_on_stream(own, at, 1, stride, n, a->to, stream);
        else
            status = odd ? tshmem_uint64_get_on_stream(own, at, n, a->to, stream)
                         : tshmem_uint64_get_nbi_on_stream(own, at, n, a->to, stream);
        if (a->action == GET && !odd)
            status |= tshmem_quiet_on_stream(stream);
        status |= tutti_stream_copy(stream, words, own, n * sizeof *own) | tutti_stream_sync(stream);
        for (size_t i = 0; i < n; i++)
            CHECK(words[i] == model[a->to].area[pe][a->slot][a->at + (size_t)stride * i],
                  "program %llu: get in a stream", (unsigned long long)program);
    }
    if (a->action == P || a->action == SET || !odd)
        status |= tshmem_quiet_on_stream(stream);
    status |= tutti_stream_copy(stream, own, other, sizeof other); /* the source is free for later work */
    CHECK(status == 0, "program %llu: call %d in a stream: %d", (unsigned long long)program, (int)a->action, status);
    return 1;
}

/* What was put into the stream is complete. */
static void end_stream(void)
{
    if (stream)
        CHECK(tshmem_quiet_on_stream(stream) == 0 && tutti_stream_sync(stream) == 0, "the stream");
}

/* A collective of a team that is drawn, after which all compare. */
static void collective(uint64_t step, int me, int pes)
{
    const uint64_t d = draw(step, 63, 4);
    const int start = (int)(d % (uint64_t)pes), stride = (int)(d / 16 % 2) + 1;
    const int size = (int)(d / 64 % (uint64_t)((pes - 1 - start) / stride + 1)) + 1,
              root = (int)(d / 4096 % (uint64_t)size);
    const size_t n = d / 65536 % LONGS + 1;
    tshmem_team_t team;
    CHECK(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team) == 0, "split");
    if (team == TSHMEM_TEAM_INVALID)
        return;
    uint64_t data[PES][LONGS], expected[PES * LONGS] = {0};
    const int own = tshmem_team_my_pe(team);
    size_t length = n;
    for (int i = 0; i < size; i++) {
        for (size_t k = 0; k < LONGS; k++)
            data[i][k] = shmem_draw(program, step * 1000 + (uint64_t)i, k);
    }
    CHECK(team != TSHMEM_TEAM_INVALID && me == start + own * stride, "who is in it");
    shmem_store(mine->source, data[own], sizeof mine->source);
    switch (d / 1048576 % 5) {
    case 0:
        CHECK(tshmem_broadcast(team, mine->dest, mine->source, n, root) == 0, "broadcast");
        memcpy(expected, data[root], n * sizeof *expected);
        break;
    case 1:
        CHECK(tshmem_fcollect(team, mine->dest, mine->source, n) == 0, "fcollect");
        for (int i = 0; i < size; i++)
            memcpy(expected + (size_t)i * n, data[i], n * sizeof *expected);
        length = n * (size_t)size;
        break;
    case 2:
        CHECK(tshmem_sum_reduce(team, mine->dest, mine->source, n) == 0, "sum");
        for (size_t k = 0; k < n; k++) {
            for (int i = 0; i < size; i++)
                expected[k] += data[i][k];
        }
        break;
    case 3:
        CHECK(tshmem_xor_reduce(team, mine->dest, mine->source, n) == 0, "xor");
        for (size_t k = 0; k < n; k++) {
            for (int i = 0; i < size; i++)
                expected[k] ^= data[i][k];
        }
        break;
    default:
        length = n / (size_t)size;
        CHECK(tshmem_alltoall(team, mine->dest, mine->source, length) == 0, "alltoall");
        for (int i = 0; i < size; i++)
            memcpy(expected + (size_t)i * length, data[i] + (size_t)own * length, length * sizeof *expected);
        length *= (size_t)size;
    }
    CHECK(shmem_holds(mine->dest, expected, length * sizeof *expected),
          "program %llu step %llu: collective %llu of %zu", (unsigned long long)program, (unsigned long long)step,
          (unsigned long long)(d / 1048576 % 5), n);
    tshmem_team_destroy(team);
}

static void run(void)
{
    const int me = tshmem_my_pe(), pes = tshmem_n_pes();
    tshmem_team_t back;
    CHECK(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, pes - 1, -1, pes, NULL, 0, &back) == 0, "in reverse");
    CHECK(tshmem_ctx_create(0, &contexts[0]) == 0 && tshmem_team_create_ctx(back, 0, &contexts[1]) == 0, "contexts");
    memset(model, 0, sizeof model);
    shmem_set(mine, 0, sizeof *mine);
    bytes_begin();
    tshmem_barrier_all();
    for (uint64_t step = 0; step < STEPS; step++) {
        const uint64_t acts = draw(step, 62, 9) % 3 + 1;
        for (uint64_t k = 0; k < acts; k++) {
            const struct act a = act_of(step * 8 + k, me, pes);
            if (!stream || draw(step, (uint64_t)me, 12) % 2 == 0 || !do_in_stream(&a, me, step, k)) {
                end_stream(); /* what it has put there comes before */
                do_act(&a, me, step);
            }
            tshmem_fence();
            for (int pe = 0; pe < pes; pe++) {
                const struct act theirs = act_of(step * 8 + k, pe, pes);
                model_act(&theirs, pe, step);
            }
        }
        end_stream();
        /* Signals come without a barrier, and what was put before them is there. */
        for (int pe = 0; pe < pes; pe++)
            tshmem_signal_wait_until(&mine->signal[pe], TSHMEM_CMP_GE, model[me].signal[pe]);
        if (draw(step, 62, 10) % 2 == 0) {
            tshmem_barrier_all();
            CHECK(shmem_holds(mine->area, model[me].area, sizeof mine->area), "program %llu step %llu: areas",
                  (unsigned long long)program, (unsigned long long)step);
            CHECK(shmem_holds(mine->signal, model[me].signal, sizeof mine->signal), "program %llu step %llu: signals",
                  (unsigned long long)program, (unsigned long long)step);
        }
        tshmem_barrier_all(); /* additions of this step before exclusive ors of the next */
        CHECK(shmem_holds(mine->counter, model[me].counter, sizeof mine->counter), "program %llu step %llu: counters",
              (unsigned long long)program, (unsigned long long)step);
        tshmem_barrier_all();
        if (draw(step, 62, 11) % 3 == 0)
            collective(step, me, pes);
        if (draw(step, 62, 13) % 4 == 0)
            bytes_step(program, step);
        if (draw(step, 62, 14) % 4 == 0)
            bytes_collective(program, step);
    }
    tshmem_ctx_destroy(contexts[0]);
    tshmem_team_destroy(back); /* its context with it */
    tshmem_barrier_all();
}

/* Collective: a PE that ends by itself would leave the others waiting. */
static int failed_anywhere(void)
{
    const uint64_t failed = (uint64_t)check_failed();
    shmem_store(mine->source, &failed, sizeof failed);
    CHECK(tshmem_uint64_max_reduce(TSHMEM_TEAM_WORLD, mine->dest, mine->source, 1) == 0, "a reduction");
    return check_failed() > 0 || SEE(mine->dest) > 0;
}

void shmem_test(void)
{
    const uint64_t first = check_seed();
    const long programs = check_many("TUTTI_TEST_ROUNDS", 120);
    mine = tshmem_malloc(sizeof *mine);
    if (!CHECK(bytes_open() && mine && tshmem_n_pes() <= PES, "memory"))
        return;
    /* A stream that waits for PEs of other nodes needs a thread that brings the wire on. */
    if (!shmem_is_plain(mine) && (!getenv("TUTTI_NODE_RANKS") || check_setting("TUTTI_ASYNC_PROGRESS", 0)))
        CHECK(tutti_stream_create(&stream) == 0, "a stream");
    for (long i = 0; i < programs && !failed_anywhere(); i++) {
        program = first + (uint64_t)i;
        run();
    }
    tutti_stream_destroy(stream);
    bytes_close();
    tshmem_free(mine);
}
