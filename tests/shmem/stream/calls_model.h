/* What the random programs of calls in stream order do: drawn, and done to a model of all members' memories. */
#ifndef TUTTI_TESTS_SHMEM_STREAM_CALLS_MODEL_H
#define TUTTI_TESTS_SHMEM_STREAM_CALLS_MODEL_H

#include "shmem/teams_of.h"

enum { PES = 8, LONGS = 96 };

/* Of one team at one PE. */
struct memory {
    uint64_t a[LONGS], b[PES * LONGS], signal, fetched;
    size_t index, found, some[2];
    int holds;
    short word[2]; /* signal and words are zero between calls */
};
static struct memory model[PES], was[PES]; /* of every member of the team that is looked at */
static uint64_t program;

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
    ATOMIC,
    SIGNALS,
    ANY,
    TESTS,
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

/* Atomics, by the last three bits of n: what they do to a word. */
enum { FETCH_ADD, SWAP, COMPARE_SWAP, SET_WORD, FETCH_XOR, AND, FETCH_OR, INC, CHANGES };
static uint64_t change_of(const struct act *a, uint64_t word)
{
    switch (a->n % CHANGES) {
    case FETCH_ADD:
        return word + program;
    case SWAP:
        return program;
    case COMPARE_SWAP:
        return word == a->n ? program : word;
    case SET_WORD:
        return a->n;
    case FETCH_XOR:
        return word ^ program << 20;
    case AND:
        return word & ~program;
    case FETCH_OR:
        return word | program << 7;
    default:
        return word + 1;
    }
}
static int fetches(const struct act *a)
{
    const size_t what = a->n % CHANGES;
    return what != SET_WORD && what != AND && what != INC;
}
#define PIVOT (UINT64_MAX / 2)

/* Tests: which words of a are over the pivot, and whether all differ from those of b. */
static void model_tests(const struct act *a, const struct memory *from, struct memory *to)
{
    to->found = 0;
    to->index = SIZE_MAX;
    to->holds = 1;
    for (size_t i = 0; i < a->n; i++) {
        to->holds &= from->a[i] != from->b[i];
        if (from->a[i] <= PIVOT)
            continue;
        to->index = to->found == 0 ? i : to->index;
        to->b[to->found++] = i;
    }
}

/* One member's memory; before, next: its neighbours' as they were. */
static void model_words(const struct act *a, struct memory *to, const struct memory *before, const struct memory *next)
{
    const size_t last = a->n - 1;
    if (a->action == ATOMIC) {
        to->fetched = fetches(a) ? next->a[last] : to->fetched;
        to->a[last] = change_of(a, to->a[last]);
    } else if (a->action == SIGNALS) {
        memcpy(to->b, before->a, a->n * sizeof *to->b);
        to->fetched = a->n;
    } else if (a->action == ANY) {
        to->index = to->some[0] = a->n % 2;
        to->found = 1;
    }
}

/* The same on the memories of all members. */
static void model_act(const struct act *a, int members)
{
    const size_t each = a->n / (size_t)members, bytes = a->n * sizeof(uint64_t);
    memcpy(was, model, (size_t)members * sizeof *model);
    for (int m = 0; m < members; m++) {
        struct memory *to = &model[m];
        const struct memory *before = &was[(m + members - 1) % members], *next = &was[(m + 1) % members];
        size_t at = 0;
        for (size_t i = 0; i < a->n; i++) {
            uint64_t sum = 0, bits = 0, through = 0, under = 0;
            for (int r = 0; r < members; r++) {
                sum += was[r].a[i];
                bits ^= was[r].a[i];
                through += r <= m ? was[r].a[i] : 0;
                under += r < m ? was[r].a[i] : 0;
            }
            if (a->action == SUM)
                to->a[i] = sum;
            else if (a->action == XOR)
                to->b[i] = bits;
            else if (a->action == INSCAN)
                to->a[i] = through;
            else if (a->action == EXSCAN)
                to->b[i] = under;
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
            to->b[3 * i] = before->a[i];
            to->b[3 * i + 1] = next->a[i];
        }
        model_words(a, to, before, next);
        if (a->action == TESTS)
            model_tests(a, &was[m], to);
        if (a->action == ELEMENT)
            to->a[a->n - 1] = program + a->n;
        if (a->action == BROADCAST)
            memcpy(to->b, was[a->root].a, bytes);
        else if (a->action == COPY)
            memcpy(to->a, was[m].b, bytes);
        else if (a->action == RING || a->action == WORDS)
            memcpy(to->b, before->a, bytes);
        else if (a->action == GET)
            memcpy(to->b, next->a, bytes);
    }
}

#endif
