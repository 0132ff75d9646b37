/* Waits for words of this PE that peers change, and tests of them: one, all, any, some. */
#include <stdatomic.h>
#include <stdio.h>

#include "shmem/far.h"
#include "shmem/here.h"
#include "shmem/meet.h"

struct words {
    int which, type, comparison;
    const void *words, *values;
    size_t n, *indices;
    const int *status;
    size_t result;
    uint64_t seen; /* the word that was tested last */
    struct tutti_shmem_peek peek;
    const char *name;
};

static size_t shmem_wait_size_of(int type)
{
    return (size_t)1 << type / 2; /* INT8, UINT8, INT16 ... */
}

/* An integer widened to 64 bits, with its sign where the type has one. shared: peers change it. */
static uint64_t word_load(int type, const void *base, size_t i, int shared)
{
    const int order = shared ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
    switch (type) {
    case TSHMEM_INT16:
        return (uint64_t)(int64_t)__atomic_load_n((const int16_t *)base + i, order);
    case TSHMEM_UINT16:
        return __atomic_load_n((const uint16_t *)base + i, order);
    case TSHMEM_INT32:
        return (uint64_t)(int64_t)__atomic_load_n((const int32_t *)base + i, order);
    case TSHMEM_UINT32:
        return __atomic_load_n((const uint32_t *)base + i, order);
    default:
        return __atomic_load_n((const uint64_t *)base + i, order);
    }
}

static int word_compare(int type, int comparison, uint64_t a, uint64_t b)
{
    const int with_sign = type % 2 == 0;
    switch (comparison) {
#define ROW(id, is)                                                                                                    \
    case TSHMEM_CMP_##id:                                                                                              \
        return with_sign ? (int64_t)a is(int64_t) b : a is b;
        TSHMEM_COMPARISONS(ROW)
#undef ROW
    default:
        return 0;
    }
}

static int word_holds(struct words *w, size_t i)
{
    const size_t value = w->which & TSHMEM_WAIT_VECTOR ? i : 0;
    w->seen = word_load(w->type, w->peek.seen, i, 1);
    return word_compare(w->type, w->comparison, w->seen, word_load(w->type, w->values, value, 0));
}

/* One test of all words: 1 if enough of them hold. `any` starts behind the last word that it found: so each word
 * that holds is found in turn. */
static int words_look(struct words *w)
{
    static _Atomic size_t past;
    size_t wanted = 0, found = 0;
    const int how = w->which & 3;
    const size_t first =
        how == TSHMEM_WAIT_ANY && w->n > 0 ? atomic_load_explicit(&past, memory_order_relaxed) % w->n : 0;
    for (size_t k = 0; k < w->n; k++) {
        const size_t i = k < w->n - first ? first + k : k - (w->n - first);
        if (w->status && w->status[i])
            continue;
        wanted++;
        if (!word_holds(w, i)) {
            if (how == TSHMEM_WAIT_ALL)
                break;
            continue;
        }
        if (how == TSHMEM_WAIT_ANY) {
            w->result = i;
            atomic_store_explicit(&past, i + 1, memory_order_relaxed);
            return 1;
        }
        if (how == TSHMEM_WAIT_SOME)
            w->indices[found] = i;
        found++;
    }
    w->result = how == TSHMEM_WAIT_ANY ? SIZE_MAX : how == TSHMEM_WAIT_ALL ? wanted == found : found;
    return wanted == 0 || (how == TSHMEM_WAIT_ALL ? wanted == found : found > 0);
}

/* 1 if the words are in the heap. */
static int are_seen(struct tutti_shmem *space, void *with)
{
    struct words *w = with;
    return space->kind->peek(space, &w->peek, w->words, w->n * shmem_wait_size_of(w->type));
}

static int is_enough(struct tutti_shmem *space, void *with)
{
    const int seen = are_seen(space, with);
    if (seen < 0)
        return seen;
    if (seen && words_look(with))
        return 1;
    return __atomic_load_n(space->state.abort, __ATOMIC_RELAXED) ? TUTTI_ERR_BROKEN : 0;
}

static void say_words(struct tutti_shmem *space, void *with, char *text, size_t size)
{
    (void)space;
    const struct words *w = with;
    snprintf(text, size, "in %s for %s of %zu words at %p, the first of which is %lld", tutti_shmem_called(w->name),
             (w->which & 3) == TSHMEM_WAIT_ALL ? "all" : "one", w->n, w->words,
             w->n && w->peek.seen ? (long long)word_load(w->type, w->peek.seen, 0, 1) : 0);
}

static size_t words_run(struct tutti_shmem *space, struct words *w)
{
    if (space->state.pes == 0) {
        tutti_shmem_down(space, w->name);
    } else if (w->comparison < 0 || w->comparison >= TSHMEM_COMPARISON_COUNT) {
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, w->name, "%d is no comparison: TSHMEM_CMP_EQ ...", w->comparison);
    } else if (w->n > 0 && (uintptr_t)w->words % shmem_wait_size_of(w->type) != 0) {
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, w->name, "%p is not aligned to %zu bytes", w->words,
                         shmem_wait_size_of(w->type));
    } else {
        const int test = w->which & TSHMEM_WAIT_TEST;
        if (test)
            tutti_shmem_far_serve(space);
        const int status = tutti_shmem_await(space, test ? are_seen : is_enough, say_words, w);
        if (status == TUTTI_OK && test)
            words_look(w);
        space->kind->forget(space, &w->peek);
        if (status == TUTTI_OK)
            return w->result;
    }
    return (w->which & 3) == TSHMEM_WAIT_ANY ? SIZE_MAX : 0;
}

static const char *wait_name_of(int which)
{
    static const char *const names[][4] = {
        [TSHMEM_WAIT_ALL] = {"tshmem_wait_until_all", "tshmem_wait_until_all_vector", "tshmem_test_all",
                             "tshmem_test_all_vector"},
        [TSHMEM_WAIT_ANY] = {"tshmem_wait_until_any", "tshmem_wait_until_any_vector", "tshmem_test_any",
                             "tshmem_test_any_vector"},
        [TSHMEM_WAIT_SOME] = {"tshmem_wait_until_some", "tshmem_wait_until_some_vector", "tshmem_test_some",
                              "tshmem_test_some_vector"},
        [3] = {"tshmem_wait_until", "tshmem_wait_until", "tshmem_test", "tshmem_test"}};
    return names[which & 3][(which & TSHMEM_WAIT_TEST ? 2 : 0) + (which & TSHMEM_WAIT_VECTOR ? 1 : 0)];
}

size_t tutti_shmem_wait(int which, int type, const void *words, size_t n, size_t *indices, const int *status,
                        int comparison, const void *values)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    struct words w = {.which = which,
                      .type = type,
                      .comparison = comparison,
                      .words = words,
                      .values = values,
                      .n = n,
                      .indices = indices,
                      .status = status,
                      .name = wait_name_of(n == 1 && which == (which & TSHMEM_WAIT_TEST) ? which | 3 : which)};
    return words_run(space, &w);
}

int tutti_shmem_wait_word(struct tutti_shmem *space, const uint32_t *word, int comparison, uint32_t value,
                          const char *call)
{
    struct words w = {
        .type = TSHMEM_UINT32, .comparison = comparison, .words = word, .values = &value, .n = 1, .name = call};
    return words_run(space, &w) == 1 ? TUTTI_OK : TUTTI_ERR_BROKEN;
}

uint64_t tshmem_signal_wait_until(uint64_t *signal, int comparison, uint64_t value)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    struct words w = {.type = TSHMEM_UINT64,
                      .comparison = comparison,
                      .words = signal,
                      .values = &value,
                      .n = 1,
                      .name = "tshmem_signal_wait_until"};
    words_run(space, &w);
    return w.seen;
}

uint64_t tshmem_signal_fetch(const uint64_t *signal)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    uint64_t value = 0;
    tutti_shmem_far_serve(space);
    if (space->state.pes == 0 || space->kind->host_reaches)
        return __atomic_load_n(signal, __ATOMIC_ACQUIRE);
    space->kind->element(space, &value, signal, sizeof value);
    return value;
}
