/* Every way to put and get x every type x element offsets x counts x strides, against plain copies. Bytes around
 * the elements must not change. TUTTI_TEST_EVERY: every so-manieth type. */
#include "shmem/on_stream.h"

enum way { PUT, PUT_NBI, P, IPUT, IBPUT, PUT_SIGNAL, PUT_SIGNAL_NBI, GET, GET_NBI, G, IGET, IBGET, WAYS };
static const char *const way_names[] = {"put", "put_nbi", "p", "iput", "ibput", "put_signal", "put_signal_nbi",
                                        "get", "get_nbi", "g", "iget", "ibget"};

struct move {
    void *dest;
    const void *source;
    ptrdiff_t dst, sst;
    size_t block, n; /* n blocks; one block but in the strided ways */
    uint64_t *signal;
    int pe;
};

#ifdef SHMEM_ON_STREAM
#define GET_ONE(name, value, source, pe) in_order(tshmem_##name##_g_on_stream(value, source, pe, on_stream))
#else
#define GET_ONE(name, value, source, pe) *(value) = tshmem_##name##_g(source, pe)
#endif
#define MOVE(name, type, kind, what)                                                                                   \
    static void move_##name(enum way way, const struct move *m)                                                        \
    {                                                                                                                  \
        type *dest = m->dest;                                                                                          \
        const type *source = m->source;                                                                                \
        switch (way) {                                                                                                 \
        case PUT:                                                                                                      \
            IN_ORDER(tshmem_##name##_put, dest, source, m->n, m->pe);                                                  \
            break;                                                                                                     \
        case PUT_NBI:                                                                                                  \
            IN_ORDER(tshmem_##name##_put_nbi, dest, source, m->n, m->pe);                                              \
            break;                                                                                                     \
        case P:                                                                                                        \
            for (size_t i = 0; i < m->n; i++)                                                                          \
                IN_ORDER(tshmem_##name##_p, dest + i, source[i], m->pe);                                               \
            break;                                                                                                     \
        case IPUT:                                                                                                     \
            IN_ORDER(tshmem_##name##_iput, dest, source, m->dst, m->sst, m->n, m->pe);                                 \
            break;                                                                                                     \
        case IBPUT:                                                                                                    \
            IN_ORDER(tshmem_##name##_ibput, dest, source, m->dst, m->sst, m->block, m->n, m->pe);                      \
            break;                                                                                                     \
        case PUT_SIGNAL:                                                                                               \
            IN_ORDER(tshmem_##name##_put_signal, dest, source, m->n, m->signal, 5, TSHMEM_SIGNAL_ADD, m->pe);          \
            break;                                                                                                     \
        case PUT_SIGNAL_NBI:                                                                                           \
            IN_ORDER(tshmem_##name##_put_signal_nbi, dest, source, m->n, m->signal, 5, TSHMEM_SIGNAL_SET, m->pe);      \
            break;                                                                                                     \
        case GET:                                                                                                      \
            IN_ORDER(tshmem_##name##_get, dest, source, m->n, m->pe);                                                  \
            break;                                                                                                     \
        case GET_NBI:                                                                                                  \
            IN_ORDER(tshmem_##name##_get_nbi, dest, source, m->n, m->pe);                                              \
            break;                                                                                                     \
        case G:                                                                                                        \
            for (size_t i = 0; i < m->n; i++)                                                                          \
                GET_ONE(name, dest + i, source + i, m->pe);                                                            \
            break;                                                                                                     \
        case IGET:                                                                                                     \
            IN_ORDER(tshmem_##name##_iget, dest, source, m->dst, m->sst, m->n, m->pe);                                 \
            break;                                                                                                     \
        default:                                                                                                       \
            IN_ORDER(tshmem_##name##_ibget, dest, source, m->dst, m->sst, m->block, m->n, m->pe);                      \
        }                                                                                                              \
    }
TSHMEM_RMA(MOVE, )

static const struct type {
    const char *name;
    size_t size, whole; /* whole: bytes of the size that hold the value */
    void (*move)(enum way way, const struct move *m);
} types[] = {
#define ROW(name, type, kind, what) {#name, sizeof(type), sizeof(type) == 16 ? 10 : sizeof(type), move_##name},
    TSHMEM_RMA(ROW, )
#undef ROW
};
enum { TYPES = sizeof types / sizeof types[0], ROOM = 600 * 16 };

static int differ(const struct type *type, const char *a, const char *b, size_t elements)
{
    for (size_t i = 0; i < elements; i++) {
        if (memcmp(a + i * type->size, b + i * type->size, type->whole) != 0)
            return (int)i;
    }
    return -1;
}

static char *box, *other; /* symmetric: what is put to, what is got from */
static uint64_t *signal_word;
static char local[ROOM], expected[ROOM];

/* Where the own side lies: in a stream, in memory of the GPU in every second round. */
static char *own_side(enum way way, uint64_t round)
{
#ifdef SHMEM_ON_STREAM
    static void *device;
    if (round % 2 == 0 && way != P) { /* whose values the test reads */
        if (!device)
            CHECK(tutti_alloc(ROOM, &device) == 0, "memory of the GPU");
        CHECK(tutti_copy(device, local, ROOM) == 0, "copy");
        return device;
    }
#endif
    (void)way;
    (void)round;
    return local;
}

/* One call: from this PE to the next, or from the next to this one. */
static void one(const struct type *type, enum way way, size_t n, size_t to, size_t from, uint64_t round)
{
    const int me = tshmem_my_pe(), pes = tshmem_n_pes(), next = (me + 1) % pes, before = (me + pes - 1) % pes;
    const int puts = way < GET, strided = way == IPUT || way == IGET, blocks = way == IBPUT || way == IBGET;
    const size_t block = blocks ? 3 : 1;
    const ptrdiff_t dst = strided ? 3 : blocks ? 5 : 1, sst = strided ? 2 : blocks ? 4 : 1;
    /* whose bytes lie at the source, and at the place that is looked at */
    const int writer = puts ? before : next;
    static char theirs[ROOM], there[ROOM];
    shmem_fill_own(box, ROOM, shmem_draw(round, 1, (uint64_t)me));
    shmem_fill_own(other, ROOM, shmem_draw(round, 2, (uint64_t)me));
    shmem_fill(local, ROOM, shmem_draw(round, 3, (uint64_t)me));
    shmem_fill(theirs, ROOM, shmem_draw(round, puts ? 3 : 2, (uint64_t)writer));
    shmem_fill(expected, ROOM, shmem_draw(round, puts ? 1 : 3, (uint64_t)me));
    SET(signal_word, 7);
    for (size_t i = 0; i < n; i++)
        memcpy(expected + (to + i * (size_t)dst) * type->size, theirs + (from + i * (size_t)sst) * type->size,
               block * type->size);
    tshmem_barrier_all();
    char *const own = own_side(way, round);
    struct move m = {.dest = (puts ? box : own) + to * type->size,
                     .source = (puts ? own : other) + from * type->size,
                     .dst = dst,
                     .sst = sst,
                     .block = block,
                     .n = n,
                     .signal = signal_word,
                     .pe = next};
    type->move(way, &m);
#ifdef SHMEM_ON_STREAM
    CHECK(in_order(tshmem_quiet_on_stream(on_stream)) == 0, "quiet");
    if (own != local)
        CHECK(tutti_copy(local, own, ROOM) == 0, "copy");
#endif
    tshmem_barrier_all();
    const char *seen = puts ? there : local;
    shmem_load(there, box, ROOM);
    CHECK(differ(type, seen, expected, ROOM / type->size) < 0, "%s_%s, %zu elements at %zu from %zu: element %d",
          type->name, way_names[way], n, to, from, differ(type, seen, expected, ROOM / type->size));
    const uint64_t signalled = SEE(signal_word);
    CHECK(signalled == (way == PUT_SIGNAL       ? 12u
                        : way == PUT_SIGNAL_NBI ? 5u
                                                : 7u),
          "signal after %s: %llu", way_names[way], (unsigned long long)signalled);
    tshmem_barrier_all(); /* before the next one fills */
}

static void every_way(void)
{
    static const size_t counts[] = {0, 1, 2, 7, 33, 100};
    uint64_t round = 0;
    for (size_t t = 0; t < TYPES; t += (size_t)check_setting("TUTTI_TEST_EVERY", 1)) {
        for (int way = 0; way < WAYS; way++) {
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
                round++;
                one(&types[t], (enum way)way, counts[c], shmem_draw(round, 8, 8) % 5, shmem_draw(round, 9, 9) % 5,
                    round);
            }
        }
    }
}

/* By bits, by bytes, and without a type in the name. */
static void other_names(void)
{
    const int pes = tshmem_n_pes(), next = (tshmem_my_pe() + 1) % pes, me = tshmem_my_pe();
    unsigned char data[64], back[64];
    for (int i = 0; i < 64; i++)
        data[i] = (unsigned char)(100 * me + i);
#define SIZE(bits, what)                                                                                               \
    shmem_set(box, 0, 256);                                                                                            \
    memset(back, 0, sizeof back);                                                                                      \
    tshmem_barrier_all();                                                                                              \
    tshmem_put##bits(box, data, 2, next);                                                                              \
    tshmem_put##bits##_nbi(box + 64, data, 3, next);                                                                   \
    tshmem_iput##bits(box + 128, data, 2, 1, 2, next);                                                                 \
    tshmem_get##bits(back, box, 2, next);                                                                              \
    CHECK(memcmp(back, data, 2 * (bits / 8)) == 0, "put%d and get%d", bits, bits);                                     \
    tshmem_get##bits##_nbi(back, box + 64, 3, next);                                                                   \
    tshmem_quiet();                                                                                                    \
    CHECK(memcmp(back, data, 3 * (bits / 8)) == 0, "put%d_nbi and get%d_nbi", bits, bits);                             \
    memset(back, 0, sizeof back);                                                                                      \
    tshmem_iget##bits(back, box + 128, 1, 2, 2, next);                                                                 \
    CHECK(memcmp(back, data, 2 * (bits / 8)) == 0, "iput%d and iget%d", bits, bits);                                   \
    memset(back, 0, sizeof back);                                                                                      \
    IN_ORDER(tshmem_ibput##bits, box + 128, data, 3, 2, 2, 2, next);                                                   \
    IN_ORDER(tshmem_ibget##bits, back, box + 128, 2, 3, 2, 2, next);                                                   \
    CHECK(memcmp(back, data, 4 * (bits / 8)) == 0, "ibput%d and ibget%d", bits, bits);                                 \
    IN_ORDER(tshmem_put##bits##_signal, box, data, 3, signal_word, bits, TSHMEM_SIGNAL_SET, next);                     \
    IN_ORDER(tshmem_put##bits##_signal_nbi, box + 64, data, 2, signal_word, 1, TSHMEM_SIGNAL_ADD, next);               \
    order_quiet();                                                                                                     \
    tshmem_getmem(back, box, sizeof back, next);                                                                       \
    CHECK(memcmp(back, data, 3 * (bits / 8)) == 0, "put%d_signal", bits);                                              \
    tshmem_getmem(back, box + 64, sizeof back, next);                                                                  \
    CHECK(memcmp(back, data, 2 * (bits / 8)) == 0, "put%d_signal_nbi", bits);                                          \
    CHECK(tshmem_uint64_atomic_fetch(signal_word, next) == bits + 1, "signals of put%d_signal", bits);                 \
    tshmem_barrier_all();
    TSHMEM_SIZES(SIZE, )
#undef SIZE
    shmem_store(other, data, 32);
    tshmem_barrier_all();
    IN_ORDER(tshmem_alltoallsmem, TSHMEM_TEAM_WORLD, box, other, 2, 1, 3);
    shmem_load(back, box, 64);
    for (int i = 0; i < 3 * pes && i < 32; i++)
        CHECK(back[2 * i] == (unsigned char)(100 * (i / 3) + 3 * me + i % 3), "byte %d of alltoallsmem", i);
    tshmem_barrier_all();
    int *ints = (int *)(void *)box;
    tshmem_p(ints, 10 + me, next);
    tshmem_put(ints + 1, ((int[]){20 + me, 30 + me}), 2, next);
    tshmem_barrier_all();
    const int before = (me + pes - 1) % pes;
    CHECK(SEE(ints) == 10 + before && SEE(ints + 1) == 20 + before && SEE(ints + 2) == 30 + before,
          "generic p and put");
    CHECK(tshmem_g((const int *)ints, next) == 10 + me, "generic g");
    CHECK((tshmem_ptr(ints, next) != NULL) == shmem_is_near(next) && tshmem_ptr(data, next) == NULL, "ptr");
    CHECK(tshmem_addr_accessible(ints, next) && !tshmem_addr_accessible(data, next), "accessible");
    if (shmem_is_plain(ints) && shmem_is_near(next))
        CHECK(*(int *)tshmem_ptr(ints, next) == 10 + me, "what ptr points to");
    CHECK(tshmem_ptr(ints, me) == (void *)ints && tshmem_ptr(ints, pes) == NULL, "ptr to oneself, and to nobody");
    tshmem_barrier_all();
}

/* Both sides in memory of the GPU: the program's own, and the heap itself. */
static void other_memory(void)
{
    enum { BYTES = 3000, AT = 5 };
    const int pes = tshmem_n_pes(), me = tshmem_my_pe(), next = (me + 1) % pes, before = (me + pes - 1) % pes;
    char mine[BYTES], theirs[BYTES], back[BYTES];
    void *device = NULL;
    shmem_fill(mine, BYTES, (uint64_t)me + 1);
    shmem_fill(theirs, BYTES, (uint64_t)before + 1);
    shmem_store(other, mine, BYTES);
    tshmem_barrier_all();
    tshmem_putmem(box + AT, other, BYTES, next);
    tshmem_barrier_all();
    CHECK(shmem_holds(box + AT, theirs, BYTES), "put from the heap");
    tshmem_getmem(box, other, BYTES, before);
    CHECK(shmem_holds(box, theirs, BYTES), "get into the heap");
    tshmem_barrier_all();
    if (shmem_is_plain(box) || !CHECK(tutti_alloc(BYTES, &device) == 0, "memory of the GPU"))
        return;
    CHECK(tutti_copy(device, mine, BYTES) == 0, "copy");
    tshmem_putmem(box + AT, device, BYTES, next);
    tshmem_int64_iput((int64_t *)(void *)other, device, 2, 3, 20, next);
    tshmem_barrier_all();
    CHECK(shmem_holds(box + AT, theirs, BYTES), "put from memory of the GPU");
    shmem_load(back, other, BYTES);
    for (int i = 0; i < 20; i++)
        CHECK(memcmp(back + 16 * i, theirs + 24 * i, 8) == 0, "iput from memory of the GPU: element %d", i);
    tshmem_getmem_nbi(device, box + AT, BYTES, next);
    tshmem_quiet();
    CHECK(tutti_copy(back, device, BYTES) == 0 && memcmp(back, mine, BYTES) == 0, "get into memory of the GPU");
    tshmem_barrier_all();
    tutti_free(device);
}

#ifdef SHMEM_ON_STREAM
static void errors(void)
{
    char mine[8] = "before";
    int *const ints = (int *)(void *)box;
    const int pes = tshmem_n_pes();
    shmem_hush_begin();
    CHECK(tshmem_int_p_on_stream(ints, 1, pes, on_stream) < 0 && tshmem_error() < 0, "a PE that is not there");
    CHECK(tshmem_int_p_on_stream((int *)(void *)mine, 1, 0, on_stream) < 0 && tshmem_error() < 0, "not symmetric");
    CHECK(tshmem_char_iput_on_stream(box, mine, 0, 1, 2, 0, on_stream) < 0 && tshmem_error() < 0, "no stride");
    CHECK(tshmem_char_iget_on_stream(mine, box, 1, PTRDIFF_MAX, 3, 0, on_stream) < 0 && tshmem_error() < 0,
          "a stride beyond all");
    CHECK(tshmem_putmem_nbi_on_stream(box, mine, (size_t)1 << 40, 0, on_stream) < 0 && tshmem_error() < 0,
          "more than the heap has");
    CHECK(tshmem_putmem_signal_nbi_on_stream(box, mine, 8, signal_word, 1, 9, 0, on_stream) < 0 && tshmem_error() < 0,
          "no operation on signals");
    shmem_hush_end();
    CHECK(tshmem_int_iput_on_stream(NULL, NULL, 1, 1, 0, 0, on_stream) == 0 && tshmem_error() == 0, "no elements");
    tshmem_barrier_all();
}
#else
static void errors(void)
{
    char mine[8] = "before";
    const int pes = tshmem_n_pes();
    shmem_hush_begin();
    tshmem_putmem(box, mine, 8, pes);
    CHECK(tshmem_error() < 0, "a PE that is not there");
    tshmem_putmem(mine, box, 8, 0);
    CHECK(tshmem_error() < 0 && strcmp(mine, "before") == 0, "a target that is not symmetric");
    tshmem_getmem(mine, box - (1 << 30), 8, 0);
    CHECK(tshmem_error() < 0 && strcmp(mine, "before") == 0, "a source before the heap");
    tshmem_getmem(mine, box, (size_t)1 << 40, 0);
    CHECK(tshmem_error() < 0 && strcmp(mine, "before") == 0, "more than the heap has");
    tshmem_char_iput(box, mine, 0, 1, 2, 0);
    CHECK(tshmem_error() < 0, "no stride");
    tshmem_char_iget(mine, box, 1, PTRDIFF_MAX, 3, 0);
    CHECK(tshmem_error() < 0 && strcmp(mine, "before") == 0, "a stride beyond all");
    tshmem_putmem_signal(box, mine, 8, (uint64_t *)(void *)(box + 1), 1, TSHMEM_SIGNAL_SET, 0);
    CHECK(tshmem_error() < 0, "a signal that is not aligned");
    tshmem_putmem_signal(box, mine, 8, signal_word, 1, 9, 0);
    CHECK(tshmem_error() < 0, "no operation on signals");
    shmem_hush_end();
    tshmem_putmem(NULL, NULL, 0, 0);
    CHECK(tshmem_error() == 0, "no bytes");
    tshmem_barrier_all();
}

/* A loop of wrong calls is said 50 times, then once that no more is said; after tshmem_error() again. */
static void said(void)
{
    for (int round = 0; round < 2; round++) {
        shmem_hush_begin();
        for (int i = 0; i < 200; i++)
            tshmem_putmem(box, box, 8, tshmem_n_pes());
        const long lines = shmem_hush_end();
        CHECK(lines == 51, "round %d: 200 wrong calls were said in %ld lines", round, lines);
        const int first = tshmem_error(), second = tshmem_error();
        CHECK(first < 0 && second == 0, "the error is reported once");
    }
}
#endif

void shmem_test(void)
{
    box = tshmem_malloc(ROOM);
    other = tshmem_malloc(ROOM);
    signal_word = tshmem_malloc(sizeof *signal_word);
    if (!CHECK(box && other && signal_word, "memory") || !CHECK(order_begin(), "a stream"))
        return;
    every_way();
    other_names();
    other_memory();
    errors();
#ifndef SHMEM_ON_STREAM
    said();
#endif
    order_end();
    tshmem_free(box);
    tshmem_free(other);
    tshmem_free(signal_word);
}
