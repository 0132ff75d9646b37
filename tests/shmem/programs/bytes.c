#include "shmem/programs/programs.h"

enum {
    AREA = 72 << 10, /* bytes that one PE may write in another */
    GUARD = 64,
    ACTS = 4,
    WORDS = 16, /* at the end of an area, for atomics alone */
    BULK = AREA - WORDS * 8,
    GATHERED = 3000 /* bytes of a contribution to a collective, at most */
};

/* What the heap of one PE holds. */
struct bytes {
    unsigned char area[PES][AREA]; /* by writer */
    unsigned char own[AREA];       /* from which it puts, into which it gets */
    uint64_t source[PES * GATHERED / 8 + 1], dest[PES * GATHERED / 8 + 1];
};
static struct bytes *mine;
static unsigned char model[PES][PES][AREA]; /* of each PE, by writer */
static unsigned char *host[ACTS], *device;  /* beside the heap; device: NULL: heaps in host memory do not take it */
static uint64_t program, step;

enum what { PUT, GET, SIZED_PUT, SIZED_GET, POINTER, SWAP, COMPARE, ADD, BITS, WHATS };
static const char *const names[WHATS] = {"put",
                                         "get",
                                         "put of a size",
                                         "get of a size",
                                         "store by pointer",
                                         "atomic swap",
                                         "compare and swap",
                                         "fetch and add",
                                         "fetch and or"};
enum kind { HOST, GPU, HEAP, KINDS };

struct act {
    enum what what;
    enum kind kind;      /* of the local memory */
    int to, later, size; /* later: nonblocking; size: of an element, by its exponent */
    size_t at, bytes, shift;
    uint64_t key;
};

/* What a PE does; n: the acts of the step so far. Few are long. */
static struct act act_of(int pe, int pes, size_t n)
{
    const uint64_t d = shmem_draw(program, step * 1024 + (uint64_t)pe * 16 + n, 77),
                   e = shmem_draw(program, step * 1024 + (uint64_t)pe * 16 + n, 78);
    static const size_t most[] = {9, 70, 300, 2100, 5000, 17000, 40000, BULK};
    struct act a = {.what = (enum what)(d % WHATS),
                    .kind = (enum kind)(d / 16 % KINDS),
                    .to = (int)(d / 64 % (uint64_t)pes),
                    .later = (int)(d / 1024 % 2),
                    .size = (int)(d / 4096 % 5),
                    .shift = d / 65536 % GUARD,
                    .key = e};
    a.bytes = d / (1 << 22) % most[e % 24 < 16 ? e % 4 : e % 8] + 1;
    a.at = e / 64 % (BULK - a.bytes + 1);
    if (a.what == SIZED_PUT || a.what == SIZED_GET) {
        const size_t element = (size_t)1 << a.size;
        a.at -= a.at % element;
        a.bytes -= a.bytes % element;
        a.shift -= a.shift % 16; /* elements are where their type may be */
    } else if (a.what >= SWAP) {
        a.size = a.size % 2 ? 2 : 3;
        a.at = BULK + (a.at % WORDS) * 8;
        a.bytes = (size_t)1 << a.size;
    }
    return a;
}

/* The word that an atomic finds, and the one that it leaves. */
static uint64_t word_of(const struct act *a, const unsigned char *at)
{
    uint64_t word = 0;
    uint32_t half = 0;
    memcpy(&word, at, sizeof word);
    memcpy(&half, at, sizeof half);
    return a->size == 3 ? word : half;
}

/* What a compare-and-swap expects: in every second one what is there. */
static uint64_t expected_of(const struct act *a, uint64_t before)
{
    return a->key % 2 ? before : before + a->key / 2 % 2 + 1;
}

static uint64_t result_of(const struct act *a, uint64_t before)
{
    const uint64_t operand = shmem_draw(a->key, 1, 2);
    switch (a->what) {
    case SWAP:
        return operand;
    case COMPARE:
        return a->size == 3 ? (expected_of(a, before) == before ? operand : before)
               : (uint32_t)expected_of(a, before) == (uint32_t)before ? operand
                                                                      : before;
    case ADD:
        return before + operand;
    default:
        return before | operand;
    }
}

static int writes(const struct act *a)
{
    return a->what != GET && a->what != SIZED_GET;
}

static void model_act(const struct act *a, int pe)
{
    unsigned char *const at = model[a->to][pe] + a->at;
    if (a->what >= SWAP) {
        const uint64_t after = result_of(a, word_of(a, at));
        const uint32_t half = (uint32_t)after;
        memcpy(at, a->size == 3 ? (const void *)&after : (const void *)&half, a->bytes);
    } else if (writes(a)) {
        shmem_fill(at, a->bytes, a->key);
    }
}

/* Local memory of that kind, at an odd place. */
static unsigned char *local_of(const struct act *a, size_t n)
{
    switch (a->kind) {
    case GPU:
        return (device ? device + n * (AREA + 2 * GUARD) : host[n]) + a->shift;
    case HEAP:
        return mine->own + a->shift % (AREA - a->bytes + 1);
    default:
        return host[n] + a->shift;
    }
}

static void store(const struct act *a, unsigned char *to, const void *from)
{
    if (a->kind == HEAP)
        shmem_store(to, from, a->bytes);
    else
        CHECK(tutti_copy(to, from, a->bytes) == 0, "copy");
}

static void load(const struct act *a, void *to, const unsigned char *from)
{
    if (a->kind == HEAP)
        shmem_load(to, from, a->bytes);
    else
        CHECK(tutti_copy(to, from, a->bytes) == 0, "copy");
}

#define SIZED(way)                                                                                                     \
    (a->size == 0   ? tshmem_##way##8(to, from, n, a->to)                                                              \
     : a->size == 1 ? tshmem_##way##16(to, from, n, a->to)                                                             \
     : a->size == 2 ? tshmem_##way##32(to, from, n, a->to)                                                             \
     : a->size == 3 ? tshmem_##way##64(to, from, n, a->to)                                                             \
                    : tshmem_##way##128(to, from, n, a->to))
#define SIZED_LATER(way)                                                                                               \
    (a->size == 0   ? tshmem_##way##8_nbi(to, from, n, a->to)                                                          \
     : a->size == 1 ? tshmem_##way##16_nbi(to, from, n, a->to)                                                         \
     : a->size == 2 ? tshmem_##way##32_nbi(to, from, n, a->to)                                                         \
     : a->size == 3 ? tshmem_##way##64_nbi(to, from, n, a->to)                                                         \
                    : tshmem_##way##128_nbi(to, from, n, a->to))

static void put(const struct act *a, void *to, const void *from)
{
    const size_t n = a->bytes >> a->size;
    if (a->what == PUT && a->later)
        tshmem_putmem_nbi(to, from, a->bytes, a->to);
    else if (a->what == PUT)
        tshmem_putmem(to, from, a->bytes, a->to);
    else if (a->later)
        SIZED_LATER(put);
    else
        SIZED(put);
}

static void get(const struct act *a, void *to, const void *from)
{
    const size_t n = a->bytes >> a->size;
    if (a->what == GET && a->later)
        tshmem_getmem_nbi(to, from, a->bytes, a->to);
    else if (a->what == GET)
        tshmem_getmem(to, from, a->bytes, a->to);
    else if (a->later)
        SIZED_LATER(get);
    else
        SIZED(get);
}

static uint64_t atomic(const struct act *a, void *at, uint64_t before)
{
    const uint64_t operand = shmem_draw(a->key, 1, 2), expected = expected_of(a, before);
    uint64_t *const word = at;
    uint32_t *const half = at;
    const uint32_t small = (uint32_t)operand;
    switch (a->what) {
    case SWAP:
        return a->size == 3 ? tshmem_uint64_atomic_swap(word, operand, a->to)
                            : tshmem_uint32_atomic_swap(half, small, a->to);
    case COMPARE:
        return a->size == 3 ? tshmem_uint64_atomic_compare_swap(word, expected, operand, a->to)
                            : tshmem_uint32_atomic_compare_swap(half, (uint32_t)expected, small, a->to);
    case ADD:
        return a->size == 3 ? tshmem_uint64_atomic_fetch_add(word, operand, a->to)
                            : tshmem_uint32_atomic_fetch_add(half, small, a->to);
    default:
        return a->size == 3 ? tshmem_uint64_atomic_fetch_or(word, operand, a->to)
                            : tshmem_uint32_atomic_fetch_or(half, small, a->to);
    }
}

/* n: which of the step's acts: each has local memory of its own, as puts may read it until the quiet. */
static void do_act(const struct act *a, int me, size_t n)
{
    static unsigned char bytes[AREA];
    unsigned char *const at = &mine->area[me][a->at], *const local = local_of(a, n),
                         *const known = model[a->to][me] + a->at;
    if (a->what >= SWAP || a->what == GET || a->what == SIZED_GET || a->kind == HEAP)
        tshmem_quiet();
    if (a->what >= SWAP) {
        const uint64_t before = word_of(a, known), got = atomic(a, at, before);
        CHECK(got == before, "program %llu step %llu: %s found %llx, not %llx", (unsigned long long)program,
              (unsigned long long)step, names[a->what], (unsigned long long)got, (unsigned long long)before);
    } else if (writes(a)) {
        void *const there = a->what == POINTER ? tshmem_ptr(at, a->to) : NULL;
        shmem_fill(bytes, a->bytes, a->key);
        if (there && shmem_is_plain(mine)) {
            tshmem_quiet();
            memcpy(there, bytes, a->bytes);
        } else {
            const struct act other = {.what = a->what == POINTER ? PUT : a->what,
                                      .to = a->to,
                                      .later = a->later,
                                      .size = a->size,
                                      .bytes = a->bytes};
            store(a, local, bytes);
            put(&other, at, local);
        }
    } else {
        get(a, local, at);
        if (a->later)
            tshmem_quiet();
        load(a, bytes, local);
        CHECK(memcmp(bytes, known, a->bytes) == 0, "program %llu step %llu: %s of %zu bytes at %zu",
              (unsigned long long)program, (unsigned long long)step, names[a->what], a->bytes, a->at);
    }
    tshmem_fence();
}

int bytes_open(void)
{
    const size_t room = AREA + 2 * GUARD;
    void *memory = NULL;
    mine = tshmem_malloc(sizeof *mine);
    for (int i = 0; i < ACTS; i++)
        host[i] = malloc(room);
    if (mine && !shmem_is_plain(mine) && CHECK(tutti_alloc(ACTS * room, &memory) == 0, "memory of the GPU"))
        device = memory;
    return mine != NULL;
}

void bytes_close(void)
{
    for (int i = 0; i < ACTS; i++)
        free(host[i]);
    tutti_free(device);
    tshmem_free(mine);
}

void bytes_begin(void)
{
    memset(model, 0, sizeof model);
    shmem_set(mine->area, 0, sizeof mine->area);
}

void bytes_step(uint64_t of, uint64_t at)
{
    const int me = tshmem_my_pe(), pes = tshmem_n_pes();
    int touched[PES] = {0};
    program = of;
    step = at;
    const size_t acts = shmem_draw(program, step, 76) % ACTS + 1;
    for (size_t n = 0; n < acts; n++) {
        const struct act a = act_of(me, pes, n);
        do_act(&a, me, n);
        for (int pe = 0; pe < pes; pe++) {
            const struct act theirs = act_of(pe, pes, n);
            model_act(&theirs, pe);
            touched[pe] |= theirs.to == me;
        }
    }
    tshmem_barrier_all();
    for (int pe = 0; pe < pes; pe++)
        CHECK(!touched[pe] || shmem_holds(mine->area[pe], model[me][pe], AREA),
              "program %llu step %llu: bytes of PE %d", (unsigned long long)program, (unsigned long long)step, pe);
    tshmem_barrier_all();
}

/* ---- collectives ---- */

static int small_of(int pe, size_t i)
{
    return (int)(shmem_draw(program * 64 + (uint64_t)pe, step, i) % 100);
}

/* Fills the contribution by `type`, makes the reduction, and compares: of small whole numbers, so that any order of
 * additions has the same result. */
#define REDUCES(type, name, reduction, begin, fold)                                                                    \
    static void name##_##reduction(size_t n)                                                                           \
    {                                                                                                                  \
        static type in[GATHERED / sizeof(type)], out[GATHERED / sizeof(type)];                                         \
        const int pes = tshmem_n_pes(), in_place = (int)(shmem_draw(program, step, 81) % 2);                           \
        n = n / sizeof(type) + 1 < GATHERED / sizeof(type) ? n / sizeof(type) + 1 : GATHERED / sizeof(type);           \
        for (size_t i = 0; i < n; i++) {                                                                               \
            type all = begin;                                                                                          \
            for (int pe = 0; pe < pes; pe++) {                                                                         \
                const type one = (type)small_of(pe, i);                                                                \
                all = (type)(fold);                                                                                    \
            }                                                                                                          \
            in[i] = (type)small_of(tshmem_my_pe(), i);                                                                 \
            out[i] = all;                                                                                              \
        }                                                                                                              \
        shmem_store(mine->source, in, n * sizeof(type));                                                               \
        type *const from = (type *)mine->source, *const to = in_place ? from : (type *)mine->dest;                     \
        CHECK(tshmem_##name##_##reduction##_reduce(TSHMEM_TEAM_WORLD, to, from, n) == 0, #name " " #reduction);        \
        CHECK(shmem_holds(to, out, n * sizeof(type)), "program %llu step %llu: " #name " " #reduction " of %zu",       \
              (unsigned long long)program, (unsigned long long)step, n);                                               \
    }
REDUCES(float, float, sum, 0, all + one)
REDUCES(double, double, max, 0, one > all ? one : all)
REDUCES(int32_t, int32, min, 1000, one < all ? one : all)
REDUCES(int16_t, int16, sum, 0, all + one)
REDUCES(uint8_t, uint8, max, 0, one > all ? one : all)

/* Each PE gives another length. */
static void collect(size_t n)
{
    static unsigned char all[PES * GATHERED];
    const int me = tshmem_my_pe(), pes = tshmem_n_pes();
    size_t at = 0, own = 0;
    for (int pe = 0; pe < pes; pe++) {
        const size_t length = shmem_draw(program * 64 + (uint64_t)pe, step, 82) % (n + 1);
        shmem_fill(all + at, length, program + step * 64 + (uint64_t)pe);
        if (pe == me) {
            shmem_store(mine->source, all + at, length);
            own = length;
        }
        at += length;
    }
    CHECK(tshmem_collectmem(TSHMEM_TEAM_WORLD, mine->dest, mine->source, own) == 0, "collectmem");
    CHECK(shmem_holds(mine->dest, all, at), "program %llu step %llu: collectmem of %zu in all",
          (unsigned long long)program, (unsigned long long)step, at);
}

static void broadcast(size_t n)
{
    static unsigned char all[GATHERED];
    const int root = (int)(shmem_draw(program, step, 83) % (uint64_t)tshmem_n_pes());
    shmem_fill(all, n, program + step);
    if (tshmem_my_pe() == root)
        shmem_store(mine->source, all, n);
    CHECK(tshmem_broadcastmem(TSHMEM_TEAM_WORLD, mine->dest, mine->source, n, root) == 0, "broadcastmem");
    CHECK(shmem_holds(mine->dest, all, n), "program %llu step %llu: broadcastmem of %zu", (unsigned long long)program,
          (unsigned long long)step, n);
}

void bytes_collective(uint64_t of, uint64_t at)
{
    static void (*const calls[])(size_t) = {float_sum, double_max, int32_min, int16_sum, uint8_max, collect, broadcast};
    program = of;
    step = at;
    const uint64_t d = shmem_draw(program, step, 80);
    calls[d % 7](d / 16 % (d / 65536 % 3 ? 100 : GATHERED) + 1);
    tshmem_barrier_all();
}
