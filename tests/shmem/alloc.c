/* Random sequences of tshmem_malloc, calloc, align, realloc and free: the same offsets on all PEs, aligned, never over
 * another object, data kept; then what must be refused on all PEs. */
#include <time.h>

#include "shmem/kit.h"

enum { OBJECTS = 60, STEPS = 700, SECONDS = 10 };

static struct object {
    unsigned char *at;
    size_t bytes;
    uint64_t key;
} objects[OBJECTS];

/* The data that the PE before this one has put here. */
static int is_kept(const struct object *o, size_t bytes)
{
    const int before = (tshmem_my_pe() + tshmem_n_pes() - 1) % tshmem_n_pes();
    unsigned char *expected = malloc(bytes + 8);
    shmem_fill(expected, bytes, shmem_draw(o->key, 1, (uint64_t)before));
    const int kept = shmem_holds(o->at, expected, bytes);
    free(expected);
    return kept;
}

static void write_object(struct object *o, uint64_t key)
{
    unsigned char *data = malloc(o->bytes + 8);
    o->key = key;
    shmem_fill(data, o->bytes, shmem_draw(key, 1, (uint64_t)tshmem_my_pe()));
    tshmem_putmem(o->at, data, o->bytes, (tshmem_my_pe() + 1) % tshmem_n_pes());
    free(data);
}

static void check_place(const struct object *o, size_t align)
{
    uint64_t *offset = tshmem_malloc(sizeof *offset), first;
    const struct tshmem_state *state = tshmem_state_get();
    CHECK((uintptr_t)o->at % align == 0 && (uint64_t)(o->at - (unsigned char *)state->heap) % 128 == 0,
          "aligned to %zu", align);
    const uint64_t mine = (uint64_t)(o->at - (unsigned char *)state->heap);
    SET(offset, mine);
    tshmem_barrier_all();
    tshmem_uint64_get(&first, offset, 1, 0);
    CHECK(first == mine, "the offset of PE 0 is another one");
    for (int i = 0; i < OBJECTS; i++) {
        const struct object *other = &objects[i];
        CHECK(other == o || !other->at || o->at + o->bytes <= other->at || other->at + other->bytes <= o->at,
              "%zu bytes over an object of %zu", o->bytes, other->bytes);
    }
    tshmem_free(offset);
}

static void step(uint64_t round)
{
    const uint64_t draw = shmem_draw(check_seed(), round, 0);
    struct object *o = &objects[draw % OBJECTS];
    const size_t bytes = (size_t)(draw / 64 % 5 == 0 ? draw / 512 % 200000 : draw / 512 % 700) + 1;
    if (!o->at) {
        size_t align = 128;
        o->bytes = bytes;
        if (draw / 64 % 4 == 0) {
            o->at = tshmem_calloc(bytes, 1);
            unsigned char *zeros = calloc(bytes, 1);
            CHECK(!o->at || shmem_holds(o->at, zeros, bytes), "calloc of %zu bytes: not all zeros", bytes);
            free(zeros);
            tshmem_barrier_all();
        } else if (draw / 64 % 4 == 1) {
            align = (size_t)1 << draw / 256 % 22;
            o->at = tshmem_align(align, bytes);
        } else {
            o->at = tshmem_malloc(bytes);
        }
        if (CHECK(o->at != NULL, "%zu bytes", bytes)) {
            check_place(o, align);
            write_object(o, draw);
        }
        return;
    }
    tshmem_barrier_all();
    CHECK(is_kept(o, o->bytes), "the data of an object of %zu bytes", o->bytes);
    if (draw / 64 % 3 == 0) {
        const size_t had = o->bytes;
        o->at = tshmem_realloc(o->at, bytes);
        o->bytes = bytes;
        if (CHECK(o->at != NULL, "realloc to %zu bytes", bytes)) {
            CHECK(is_kept(o, had < bytes ? had : bytes), "the data after realloc");
            check_place(o, 128);
            write_object(o, draw);
        }
        return;
    }
    tshmem_free(o->at);
    o->at = NULL;
}

/* What is on its way to an object when that is freed does not come to the next one in its place. */
static void on_the_way(void)
{
    enum { BYTES = 3 << 20, TIMES = 8 };
    char *data = malloc(BYTES), *zeros = calloc(BYTES, 1);
    memset(data, 7, BYTES);
    for (int i = 0; i < TIMES; i++) {
        char *object = tshmem_malloc(BYTES);
        if (!CHECK(object != NULL, "%d bytes", BYTES))
            break;
        tshmem_putmem_nbi(object, data, BYTES, (tshmem_my_pe() + 1) % tshmem_n_pes());
        tshmem_free(object);
        object = tshmem_calloc(BYTES, 1);
        CHECK(object && shmem_holds(object, zeros, BYTES), "put into an object that was freed");
        tshmem_free(object);
    }
    free(data);
    free(zeros);
}

static void errors(void)
{
    const int me = tshmem_my_pe(), pes = tshmem_n_pes();
    char *object = tshmem_calloc(1000, 1), here[10];
    if (me == 0) { /* of nothing no other PE is waited for */
        CHECK(tshmem_malloc(0) == NULL && tshmem_malloc_with_hints(0, 0) == NULL && tshmem_calloc(0, 9) == NULL &&
                  tshmem_calloc(9, 0) == NULL && tshmem_align(64, 0) == NULL && tshmem_realloc(NULL, 0) == NULL,
              "no bytes");
        tshmem_free(NULL);
        CHECK(tshmem_error() == 0, "nothing is freed");
        SET(object, 5);
    }
    if (me == pes - 1) { /* PE 0 is past it, though nobody else has come */
        const time_t end = time(NULL) + SECONDS;
        while (tshmem_g(object, 0) != 5 && time(NULL) < end)
            tshmem_quiet();
        CHECK(tshmem_g(object, 0) == 5, "the byte that PE 0 has stored is not there after %d s: %d", SECONDS,
              tshmem_g(object, 0));
    }
    tshmem_barrier_all();
    shmem_hush_begin();
    tshmem_free(here);
    CHECK(tshmem_error() < 0, "a foreign pointer");
    tshmem_free(object + 128);
    CHECK(tshmem_error() < 0, "the middle of an object");
    CHECK(tshmem_realloc(here, 10) == NULL && tshmem_error() < 0, "realloc of a foreign pointer");
    CHECK(tshmem_malloc((size_t)1 << 50) == NULL && tshmem_error() < 0, "out of memory");
    CHECK(tshmem_malloc(SIZE_MAX) == NULL && tshmem_error() < 0, "all memory");
    CHECK(tshmem_calloc(SIZE_MAX / 2, 3) == NULL && tshmem_error() < 0, "more than all memory");
    CHECK(tshmem_align(24, 10) == NULL && tshmem_error() < 0, "no power of two");
    CHECK(tshmem_realloc(object, (size_t)1 << 50) == NULL && tshmem_error() < 0, "realloc out of memory");
    if (pes > 1) {
        CHECK(tshmem_malloc(me == 0 ? 100 : 200) == NULL && tshmem_error() < 0, "unequal sizes");
        CHECK((me == 1 ? tshmem_calloc(100, 1) : tshmem_malloc(100)) == NULL && tshmem_error() < 0, "unequal calls");
        char *other = tshmem_malloc(10);
        tshmem_free(me == 1 ? other : object);
        CHECK(tshmem_error() < 0, "unequal pointers");
        if (me == 0)
            tshmem_free(object);
        else
            tshmem_free(here);
        CHECK(tshmem_error() < 0, "a foreign pointer on some PEs");
        tshmem_free(other);
    }
    shmem_hush_end();
    tshmem_free(object); /* it is still there */
    CHECK(tshmem_error() == 0, "free");
    shmem_hush_begin();
    tshmem_free(object);
    CHECK(tshmem_error() < 0, "freed twice");
    shmem_hush_end();
    /* Nothing is lost: one object of what the heap began with. */
    char *first = tshmem_malloc(1);
    tshmem_free(first);
    object = tshmem_malloc((size_t)64 << 20);
    CHECK(object == first, "all of the heap");
    tshmem_free(object);
}

void shmem_test(void)
{
    for (uint64_t round = 0; round < STEPS; round++)
        step(round);
    tshmem_barrier_all();
    for (int i = 0; i < OBJECTS; i++) {
        if (!objects[i].at)
            continue;
        CHECK(is_kept(&objects[i], objects[i].bytes), "the data of object %d", i);
        tshmem_free(objects[i].at);
        objects[i].at = NULL;
    }
    on_the_way();
    errors();
}
