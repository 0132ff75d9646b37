/* Long rows of blocks have one plan, described by one list, by `int`s, part by part, or in loops. */
#include "dtype/check_type.h"

#include "core/status.h"
#include "support/check.h"
#include "support/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 6000, PART = 300, UNIT = 4 };

/* Blocks of some units of 4 bytes. */
struct row {
    uint64_t n, lengths[MOST];
    int64_t offsets[MOST];
};

static struct any_room room;
static uint64_t state;

static uint64_t below(uint64_t n)
{
    return random_next(&state) % n;
}

static const struct tutti_plan *built(any_type what)
{
    const struct tutti_plan *plan = NULL;
    assert_int_equal(tutti_plan_build(what, &plan), TUTTI_OK);
    return plan;
}

static void shuffle(struct row *row)
{
    for (uint64_t i = row->n; i > 1; i--) {
        uint64_t k = below(i);
        int64_t at = row->offsets[k];
        row->offsets[k] = row->offsets[i - 1];
        row->offsets[i - 1] = at;
    }
}

/* Lengths: 0: all equal, so that neighbours are twice as long; 1: 1 to 3. Order: 0: up, 1: down, 2: none (of places:
 * blocks may overlap then). Stretches of equal steps between, where `stretches`. */
static void make_row(struct row *row, uint64_t n, int lengths, int order, int stretches)
{
    int64_t at = 0, step = 0;
    uint64_t in_step = 0;
    row->n = n;
    for (uint64_t i = 0; i < n; i++) {
        if (in_step > 0)
            in_step--;
        else if (stretches && below(60) == 0)
            in_step = 20 + below(200);
        row->lengths[i] = lengths == 0 || in_step > 0 ? 1 : 1 + below(3);
        row->offsets[i] = at;
        if (in_step == 0 || step == 0)
            step = UNIT * (int64_t)(row->lengths[i] + below(6));
        at += step;
    }
    for (uint64_t i = 0; order == 1 && i < n; i++)
        row->offsets[i] = -row->offsets[i];
    if (order == 2)
        shuffle(row);
}

static any_type listed(const struct row *row, uint64_t from, uint64_t to, int64_t less)
{
    int64_t *offsets = any_take(&room, to - from + 1, sizeof *offsets);
    for (uint64_t i = from; i < to; i++)
        offsets[i - from] = row->offsets[i] - less;
    return any_indexed(&room, to - from, row->lengths + from, 0, offsets, any_bytes(&room, UNIT));
}

/* A struct of a part after the other, each a list from an address of its own. */
static any_type in_parts(const struct row *row)
{
    any_type part[MOST / PART];
    uint64_t ones[MOST / PART], parts = 0;
    int64_t places[MOST / PART];
    for (uint64_t from = 0, to; from < row->n; from = to, parts++) {
        to = row->n - from < 2 * PART ? row->n : from + PART + below(PART);
        to = row->n - to < PART ? row->n : to;
        ones[parts] = 1;
        places[parts] = (int64_t)below(1000);
        part[parts] = listed(row, from, to, places[parts]);
    }
    return any_struct(&room, parts, ones, places, part);
}

static any_type of_structs(const struct row *row)
{
    any_type *child = any_take(&room, row->n, sizeof *child), byte = any_bytes(&room, UNIT);
    for (uint64_t i = 0; i < row->n; i++)
        child[i] = byte;
    return any_struct(&room, row->n, row->lengths, row->offsets, child);
}

static void check_ways(const struct row *row)
{
    any_type whole = listed(row, 0, row->n, 0);
    any_type ways[] = {whole, any_short(&room, whole), in_parts(row), of_structs(row),
                       any_short(&room, of_structs(row))};
    const struct tutti_plan *plan[sizeof ways / sizeof ways[0]];
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        plan[i] = built(ways[i]);
        CHECK(plan[i] == plan[0], "way %zu of %ju blocks has a plan of its own: %u segments, not %u", i,
              (uintmax_t)row->n, plan[i]->segments, plan[0]->segments);
    }
    assert_true(check_type(whole, 1 + below(2), &state));
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        tutti_plan_drop(plan[i]);
    any_free(&room);
    assert_int_equal(check_failed(), 0);
}

static void ways(void **unused)
{
    (void)unused;
    static struct row row;
    state = check_seed();
    for (int i = 0; i < 48; i++) {
        uint64_t n = i % 8 == 7 ? 4097 + below(MOST - 4097) : 2 * PART + below(4 * PART);
        make_row(&row, n, i % 2, i / 2 % 3, i / 6 % 2);
        check_ways(&row);
    }
}

/* Three times the same list, and as a loop; a prime number of blocks, and one of many divisors. */
static void loops(void **unused)
{
    (void)unused;
    static struct row row, all;
    static const uint64_t lengths[] = {1009, 1024, 720, 2};
    state = check_seed() + 1;
    for (int i = 0; i < 8; i++) {
        make_row(&row, lengths[i % 4], 1, 0, 0);
        const int64_t by = row.offsets[row.n - 1] + 64;
        all.n = 3 * row.n;
        for (uint64_t k = 0; k < all.n; k++) {
            all.lengths[k] = row.lengths[k % row.n];
            all.offsets[k] = row.offsets[k % row.n] + (int64_t)(k / row.n) * by;
        }
        any_type once = any_vector(&room, 3, 1, by, listed(&row, 0, row.n, 0)), told = listed(&all, 0, all.n, 0);
        const struct tutti_plan *a = built(once), *b = built(told);
        CHECK(a == b, "a loop around %ju blocks has another plan than all of them", (uintmax_t)row.n);
        if (row.n > 2)
            CHECK(a->segments == 1 && a->segment[0].entries > 0 && a->segment[0].dims == 1, "it is a list in a loop");
        assert_true(check_type(told, 2, &state));
        tutti_plan_drop(a);
        tutti_plan_drop(b);
        any_free(&room);
        assert_int_equal(check_failed(), 0);
    }
}

/* The same atoms of six arrays, as LAMMPS tells them: blocks of 24 and 8 bytes, some of them neighbours. */
static void atoms(void **unused)
{
    (void)unused;
    enum { ARRAYS = 6, ATOMS = 700 };
    static int64_t places[ARRAYS][ATOMS], offsets[ARRAYS * ATOMS], begin[ARRAYS];
    static uint64_t sizes[ARRAYS * ATOMS], ones[ARRAYS];
    any_type part[ARRAYS];
    int64_t before = INT64_C(0x7f0000000000);
    state = check_seed() + 2;
    for (uint64_t i = 0; i < ATOMS; i++)
        places[0][i] = (int64_t)(8 * i + below(8)) * 24;
    for (uint64_t a = 0; a < ARRAYS; a++) {
        const uint64_t bytes = a ? 8 : 24;
        for (uint64_t i = 0; i < ATOMS; i++) {
            places[a][i] = places[0][i] / 24 * (int64_t)bytes;
            offsets[a * ATOMS + i] = before + places[a][i];
            sizes[a * ATOMS + i] = bytes;
        }
        part[a] = any_indexed(&room, ATOMS, NULL, bytes / 8, places[a], any_bytes(&room, 8));
        begin[a] = before;
        ones[a] = 1;
        before += ATOMS * 8 * (int64_t)bytes;
    }
    any_type by_arrays = any_struct(&room, ARRAYS, ones, begin, part);
    any_type by_atoms = any_indexed(&room, (uint64_t)ARRAYS * ATOMS, sizes, 0, offsets, any_bytes(&room, 1));
    const struct tutti_plan *a = built(by_arrays), *b = built(by_atoms);
    assert_ptr_equal(a, b);
    assert_int_equal(a->segments, 1);
    assert_int_equal(a->segment[0].block, 8);
    assert_null(a->segment[0].begins);
    tutti_plan_drop(a);
    tutti_plan_drop(b);
    any_free(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ways), cmocka_unit_test(loops), cmocka_unit_test(atoms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
