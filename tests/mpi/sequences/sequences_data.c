/* Contents of the buffers of a sequence, and what must be in them at its end.
 *
 * Quick calls are sums of values that are linear in a pattern: element i of rank q is P(i) * m_q + a_q, so a result is
 * the pattern times a sum of m, plus a sum of a, for any number of ranks. All others are small, and the oracle's.
 *
 * Buffers lie at the same place of the arena, or of their communicator's part of it (sequences_memory.c). Where all of
 * a sequence fits, its image is made in host memory and copied at once; otherwise buffer by buffer, piece by piece. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "sequences.h"
#include "tutti/tutti.h"

enum { STAGE = 4 << 20, POISON = 0xa5, LEAD = 128, LOOK = 1 << 20 };

static char *load;  /* device */
static char *stage; /* pinned */
static char poison[1024];

#define FINE(call)                                                                                                     \
    do {                                                                                                               \
        int status_ = (call);                                                                                          \
        if (!CHECK(status_ == 0, "%s: %s", #call, tutti_status_text(status_)))                                         \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
    } while (0)

void seq_data_open(size_t most)
{
    void *memory = NULL;
    seq_memory_open(seq_arena_bytes(most));
    FINE(tutti_alloc((size_t)2 * SEQ_LOAD, &memory));
    load = memory;
    FINE(tutti_device()->memory.alloc_pinned(STAGE, &memory));
    stage = memory;
    memset(poison, POISON, sizeof poison);
}

void seq_data_close(void)
{
    seq_memory_close();
    FINE(tutti_free(load));
    FINE(tutti_device()->memory.free_pinned(stage));
}

void *seq_data_arena(void)
{
    return seq_memory_at(0);
}

void seq_data_load(void *stream, size_t bytes)
{
    FINE(tutti_stream_copy(stream, load, load + SEQ_LOAD, bytes));
}

/* ---- where ---- */

struct region {
    size_t at; /* in the arena */
    size_t elements;
};

/* 0 if the call has no such buffer on this rank. */
static int region_of(const struct seq_call *call, int which, struct region *region)
{
    int q = seq_place_of(&call->shape, kit_rank);
    size_t begin;
    if (q < 0 || call->kind == SEQ_BARRIER || (which && call->in_place))
        return 0;
    uint64_t shift = random_mix((uint64_t)call->place[which] * 31 + (uint64_t)kit_rank);
    region->at = call->place[which] + LEAD + (shift % 2 ? shift / 2 % 8 : 0) * call->handle->size;
    region->elements = which ? seq_result(call, q, &begin) : call->total;
    if (seq_moves(call->kind))
        region->elements = seq_move_elements(call, q, which);
    return 1;
}

void *seq_data_at(const struct seq_call *call, int which)
{
    struct region region;
    return region_of(call, which, &region) ? seq_memory_at(call->slot) + region.at : NULL;
}

/* ---- quick contents ---- */

struct line {
    uint32_t seed;
    uint64_t m, a;
};

static inline uint32_t pattern(uint32_t seed, size_t i)
{
    uint32_t x = ((uint32_t)i + seed) * UINT32_C(0x9e3779b1);
    return (x ^ (x >> 15)) * UINT32_C(0x85ebca6b);
}

#define QUICK(name, type, value)                                                                                       \
    static void fill_##name(void *out, const struct line *line, size_t first, size_t n)                                \
    {                                                                                                                  \
        const uint64_t m = line->m, a = line->a;                                                                       \
        type *to = out;                                                                                                \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const uint32_t p = pattern(line->seed, first + i);                                                         \
            to[i] = (type)(value);                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    static size_t wrong_##name(const void *data, const struct line *line, size_t first, size_t n)                      \
    {                                                                                                                  \
        const uint64_t m = line->m, a = line->a;                                                                       \
        const type *got = data;                                                                                        \
        size_t wrong = 0;                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const uint32_t p = pattern(line->seed, first + i);                                                         \
            const type want = (type)(value);                                                                           \
            wrong += got[i] != want;                                                                                   \
        }                                                                                                              \
        return wrong;                                                                                                  \
    }
/* Numbers of floating point stay below 2^24: any sum is exact. */
QUICK(i32, uint32_t, p *(uint32_t)m + (uint32_t)a)
QUICK(u64, uint64_t, p *(m *UINT64_C(0x9e3779b97f4a7c15)) + a)
QUICK(f32, float, (int32_t)((p >> 26) * (uint32_t)m + (uint32_t)a))
QUICK(f64, double, (int32_t)((p >> 26) * (uint32_t)m + (uint32_t)a))
QUICK(u8, uint8_t, (p >> 24) * (uint32_t)m + (uint32_t)a)

static void quick_fill(int type, void *out, const struct line *line, size_t first, size_t n)
{
    (type == TUTTI_TYPE_I32   ? fill_i32
     : type == TUTTI_TYPE_U64 ? fill_u64
     : type == TUTTI_TYPE_F32 ? fill_f32
     : type == TUTTI_TYPE_F64 ? fill_f64
                              : fill_u8)(out, line, first, n);
}

static size_t quick_wrong(int type, const void *got, const struct line *line, size_t first, size_t n)
{
    return (type == TUTTI_TYPE_I32   ? wrong_i32
            : type == TUTTI_TYPE_U64 ? wrong_u64
            : type == TUTTI_TYPE_F32 ? wrong_f32
            : type == TUTTI_TYPE_F64 ? wrong_f64
                                     : wrong_u8)(got, line, first, n);
}

/* The contribution of rank q, or what is in its buffer after the call was made `times` times in place. */
static struct line line_of(const struct seq_call *call, int q, int times)
{
    struct line lines[SEQ_RANKS];
    for (int r = 0; r < call->shape.size; r++) {
        uint64_t random = random_mix(call->seed + (uint64_t)r);
        lines[r] = (struct line){(uint32_t)call->seed, 1 + random % 3, (random >> 8) % 16};
    }
    for (int t = 0; t < times; t++) {
        struct line sum = lines[0], before = {.seed = lines[0].seed}, old;
        for (int r = 1; r < call->shape.size; r++) {
            sum.m += lines[r].m;
            sum.a += lines[r].a;
        }
        for (int r = 0; r < call->shape.size; r++) {
            old = lines[r];
            if (call->kind == SEQ_EXSCAN && r > 0)
                lines[r] = before;
            before.m += old.m;
            before.a += old.a;
            if (call->kind == SEQ_SCAN)
                lines[r] = before;
            else if (call->kind != SEQ_EXSCAN && (call->kind != SEQ_REDUCE || r == call->root))
                lines[r] = sum;
        }
    }
    return lines[q];
}

/* ---- contents by the oracle ---- */

static char model[SEQ_RANKS][SEQ_SMALL * 16], made[SEQ_RANKS][SEQ_SMALL * 16];

static struct oracle_case case_of(const struct seq_call *call)
{
    struct kit_pair pair = {call->handle, call->op};
    return kit_case(&pair, call->seed % 4 ? ORACLE_HARD : ORACLE_PLAIN, call->seed);
}

/* What is in all ranks' buffers afterwards. */
static void make_model(const struct seq_call *call, int q)
{
    struct oracle_case c = case_of(call);
    size_t size = call->handle->size;
    int times = call->in_place ? call->times : 1;
    for (int r = 0; r < call->shape.size; r++)
        oracle_fill(model[r], &c, r, 0, call->total);
    for (int t = 0; t < times; t++) {
        for (int r = 0; r < call->shape.size; r++) {
            const void *in[SEQ_RANKS];
            size_t begin, n = seq_result(call, r, &begin);
            int depth = call->kind == SEQ_SCAN ? r + 1 : call->kind == SEQ_EXSCAN ? r : call->shape.size;
            if (n == 0 || (times == 1 && r != q))
                continue;
            for (int s = 0; s < depth; s++)
                in[s] = model[s] + begin * size;
            oracle_reduce(made[r], &c, depth, in, n);
        }
        for (int r = 0; r < call->shape.size && call->in_place; r++) {
            size_t begin;
            if (times > 1 || r == q)
                memcpy(model[r], made[r], seq_result(call, r, &begin) * size);
        }
    }
}

/* ---- before ---- */

/* Elements first, first + 1 ... of a buffer before the calls. */
static void fill(const struct seq_call *call, int which, size_t first, size_t n, char *to)
{
    int q = seq_place_of(&call->shape, kit_rank);
    if (which) {
        memset(to, POISON, n * call->handle->size);
    } else if (call->quick) {
        struct line line = line_of(call, q, 0);
        quick_fill(call->handle->element, to, &line, first, n);
    } else {
        struct oracle_case c = case_of(call);
        oracle_fill(to, &c, q, first, n);
    }
}

void seq_data_fill(const struct seq *seq)
{
    struct region region;
    int whole = seq->used <= STAGE && !seq_lives();
    if (whole)
        memset(stage, POISON, seq->used);
    for (int i = 0; i < 2 * seq->calls; i++) {
        const struct seq_call *call = &seq->call[i / 2];
        size_t size = call->handle->size, step = whole ? SIZE_MAX : STAGE / size;
        char *const arena = seq_memory_at(call->slot);
        if (!region_of(call, i % 2, &region))
            continue;
        if (!whole) {
            FINE(tutti_copy(arena + region.at - SEQ_GUARD, poison, SEQ_GUARD));
            FINE(tutti_copy(arena + region.at + region.elements * size, poison, SEQ_GUARD));
        }
        for (size_t first = 0; first < region.elements; first += step) {
            size_t n = region.elements - first < step ? region.elements - first : step;
            char *to = whole ? stage + region.at : stage;
            fill(call, i % 2, first, n, to);
            if (whole)
                break;
            FINE(tutti_copy(arena + region.at + first * size, to, n * size));
        }
    }
    if (whole && seq->used > 0)
        FINE(tutti_copy(seq_memory_at(0), stage, seq->used));
}

/* ---- after ---- */

struct found {
    size_t wrong, first; /* elements */
    char got[96], want[96];
};

static void differ(struct found *found, const struct seq_call *call, size_t at, const char *got, const char *want)
{
    if (found->wrong++ > 0)
        return;
    found->first = at;
    oracle_text(found->got, sizeof found->got, call->handle->element, got);
    oracle_text(found->want, sizeof found->want, call->handle->element, want);
}

/* Elements of a quick call that follow one line. */
static void look_line(struct found *found, const struct seq_call *call, const struct line *line, size_t index,
                      size_t at, size_t n, const char *got)
{
    size_t size = call->handle->size, wrong = quick_wrong(call->handle->element, got, line, index, n);
    for (size_t i = 0; wrong > 0 && found->wrong == 0 && i < n; i++) {
        uint64_t want[2];
        quick_fill(call->handle->element, want, line, index + i, 1);
        if (memcmp(want, got + i * size, size) != 0) {
            differ(found, call, at + i, got + i * size, (const char *)want);
            found->wrong += wrong - 1;
            return;
        }
    }
    found->wrong += wrong;
}

/* The same of the result of a mover. */
static void look_pieces(struct found *found, const struct seq_call *call, int q, size_t first, size_t n,
                        const char *got)
{
    struct seq_piece pieces[SEQ_RANKS];
    const int many = seq_move_pieces(call, q, call->in_place ? call->times : 1, pieces);
    size_t at = 0;
    for (int i = 0; i < many; i++) {
        const size_t end = at + pieces[i].elements, from = first > at ? first : at,
                     to = first + n < end ? first + n : end;
        const struct line line = line_of(call, pieces[i].rank, 0);
        if (from < to)
            look_line(found, call, &line, pieces[i].begin + from - at, from, to - from,
                      got + (from - first) * call->handle->size);
        at = end;
    }
}

/* Elements first, first + 1 ... of a buffer after the calls. */
static void look(struct found *found, const struct seq_call *call, int which, size_t first, size_t n, const char *got)
{
    int q = seq_place_of(&call->shape, kit_rank);
    size_t size = call->handle->size, begin, results = seq_result(call, q, &begin);
    int result = which || call->in_place;
    if (!call->quick) {
        const char *want = result && which ? made[q] : model[q];
        for (size_t i = 0; i < n; i++) {
            if (memcmp(got + i * size, want + i * size, size) != 0)
                differ(found, call, first + i, got + i * size, want + i * size);
        }
        return;
    }
    if (result && seq_moves(call->kind)) {
        look_pieces(found, call, q, first, n, got);
        return;
    }
    struct line line = line_of(call, q, result ? which ? 1 : call->times : 0), own = line_of(call, q, 0);
    if (call->in_place && results < call->total &&
        (call->kind == SEQ_REDUCE_SCATTER || call->kind == SEQ_REDUCE_SCATTER_BLOCK)) {
        /* The result, then what was there. */
        size_t n_results = first >= results ? 0 : results - first < n ? results - first : n;
        look_line(found, call, &line, begin + first, first, n_results, got);
        look_line(found, call, &own, first + n_results, first + n_results, n - n_results, got + n_results * size);
        return;
    }
    look_line(found, call, &line, (result ? begin : 0) + first, first, n, got);
}

static int check(const struct seq_call *call, int number, int which, const struct region *region, int whole,
                 const char *where)
{
    struct found found = {.wrong = 0};
    char guard[2 * SEQ_GUARD];
    const char *const arena = seq_memory_at(call->slot);
    size_t size = call->handle->size, step = STAGE / size;
    if (whole) {
        look(&found, call, which, 0, region->elements, stage + region->at);
        memcpy(guard, stage + region->at - SEQ_GUARD, SEQ_GUARD);
        memcpy(guard + SEQ_GUARD, stage + region->at + region->elements * size, SEQ_GUARD);
    } else {
        FINE(tutti_copy(guard, arena + region->at - SEQ_GUARD, SEQ_GUARD));
        FINE(tutti_copy(guard + SEQ_GUARD, arena + region->at + region->elements * size, SEQ_GUARD));
        for (size_t first = 0; first < region->elements; first += step) {
            size_t n = region->elements - first < step ? region->elements - first : step;
            FINE(tutti_copy(stage, arena + region->at + first * size, n * size));
            look(&found, call, which, first, n, stage);
        }
    }
    int guarded = memcmp(guard, poison, sizeof guard) == 0;
    const char *what = which ? "result" : call->in_place ? "buffer" : "contribution";
    CHECK(found.wrong == 0, "%s, call %d: element %zu of %zu of the %s is %s, not %s; %zu wrong", where, number,
          found.first, region->elements, what, found.got, found.want, found.wrong);
    CHECK(guarded, "%s, call %d: bytes round the %s were written", where, number, what);
    return found.wrong > 0 || !guarded;
}

int seq_data_check(const struct seq *seq, const char *where)
{
    struct region region;
    int whole = seq->used <= STAGE && !seq_lives(), wrong = 0;
    if (whole && seq->used > 0)
        FINE(tutti_copy(stage, seq_memory_at(0), seq->used));
    for (int i = 0; i < seq->calls; i++) {
        const struct seq_call *call = &seq->call[i];
        int q = seq_place_of(&call->shape, kit_rank), bad = 0;
        if (q < 0 || call->kind == SEQ_BARRIER)
            continue;
        if (!call->quick) {
            make_model(call, q);
            if (call->kind == SEQ_EXSCAN && q == 0)
                memset(made[0], POISON, sizeof made[0]);
        }
        for (int which = 0; which < 2; which++) {
            /* Long contributions are looked at now and then. */
            int skip = which == 0 && !call->in_place && call->total * call->handle->size > LOOK && call->seed % 8 != 0;
            if (region_of(call, which, &region) && !skip)
                bad |= check(call, i, which, &region, whole, where);
        }
        wrong += bad;
    }
    return wrong;
}
