/* Heaps that grow: random sequences of allocations that do not fit into what the heap begins with, with data that lie
 * over the seams of pieces; what lies past the end is refused until it is there; a PE that cannot grow keeps all from
 * it, and nothing is lost. The settings: BEGINS, of which at most MOST. */
#include "shmem/kit.h"

#include <sys/resource.h>
#include <unistd.h>

enum { BEGINS = 2 << 20, MOST = 32 << 20, OBJECTS = 12, STEPS = 60, FEW = 3000 };

static struct object {
    unsigned char *at;
    size_t bytes;
    uint64_t key;
} objects[OBJECTS];

static int next_pe(int by)
{
    return (tshmem_my_pe() + by + tshmem_n_pes()) % tshmem_n_pes();
}

/* What PE `pe` puts into the object of the next one. */
static unsigned char *data_of(const struct object *o, int pe)
{
    unsigned char *data = malloc(o->bytes + 8);
    shmem_fill(data, o->bytes, shmem_draw(o->key, 1, (uint64_t)pe));
    return data;
}

static void write_object(struct object *o, uint64_t key)
{
    o->key = key;
    unsigned char *data = data_of(o, tshmem_my_pe());
    tshmem_putmem(o->at, data, o->bytes, next_pe(1));
    free(data);
}

static void check_object(const struct object *o, size_t bytes)
{
    unsigned char *data = data_of(o, next_pe(-1)), *seen = malloc(bytes);
    CHECK(shmem_holds(o->at, data, bytes), "%zu bytes of an object of %zu", bytes, o->bytes);
    free(data);
    data = data_of(o, next_pe(1)); /* the object of the PE after the next one */
    tshmem_getmem(seen, o->at, bytes, next_pe(2));
    CHECK(memcmp(seen, data, bytes) == 0, "%zu bytes from another PE", bytes);
    free(data);
    free(seen);
}

static char *first_of_heap(void)
{
    char *first = tshmem_malloc(1);
    tshmem_free(first);
    return first;
}

static void step(uint64_t round, const char *first)
{
    const uint64_t draw = shmem_draw(check_seed(), round, 7);
    struct object *o = &objects[draw % OBJECTS];
    const size_t bytes = (size_t)(draw / 64 % 3 == 0 ? draw / 512 % (3 << 20) : draw / 512 % 100000) + 1;
    tshmem_barrier_all();
    if (o->at) {
        check_object(o, o->bytes);
        if (draw / 64 % 2) {
            struct object was = *o;
            tshmem_barrier_all(); /* what others look at moves */
            o->at = tshmem_realloc(o->at, bytes);
            if (!CHECK(o->at != NULL, "realloc to %zu bytes", bytes))
                return;
            was.at = o->at;
            check_object(&was, was.bytes < bytes ? was.bytes : bytes);
            tshmem_barrier_all();
            o->bytes = bytes;
            write_object(o, draw);
            return;
        }
        tshmem_free(o->at);
        o->at = NULL;
        return;
    }
    o->bytes = bytes;
    o->at = draw / 64 % 4 == 0   ? tshmem_calloc(bytes, 1)
            : draw / 64 % 4 == 1 ? tshmem_align(1 << 21, bytes)
                                 : tshmem_malloc(bytes);
    if (!CHECK(o->at != NULL, "%zu bytes", bytes))
        return;
    CHECK((char *)o->at >= first && (char *)o->at + bytes <= first + MOST, "in the heap");
    if (draw / 64 % 4 == 0) {
        unsigned char *zeros = calloc(bytes, 1);
        CHECK(shmem_holds(o->at, zeros, bytes), "calloc of %zu bytes: not all zeros", bytes);
        free(zeros);
        tshmem_barrier_all();
    }
    write_object(o, draw);
}

/* What lies past the end is no memory of a heap, before and after it has grown by the object. */
static void bounds(char *first)
{
    uint64_t word = 5;
    char *beyond = first + BEGINS;
    shmem_hush_begin();
    CHECK(tshmem_ptr(beyond, tshmem_my_pe()) == NULL, "an address past the end");
    tshmem_putmem(beyond, &word, sizeof word, next_pe(1));
    CHECK(tshmem_error() < 0, "put past the end");
    tshmem_putmem(beyond - 1, &word, sizeof word, next_pe(1));
    CHECK(tshmem_error() < 0, "put over the end");
    CHECK(tshmem_malloc(MOST + 1) == NULL && tshmem_error() < 0, "more than there may be");
    CHECK(tshmem_ptr(beyond, tshmem_my_pe()) == NULL, "nothing has grown for nothing");
    shmem_hush_end();
    char *object = tshmem_malloc(BEGINS + 64);
    if (!CHECK(object == first, "an object that begins with the heap"))
        return;
    CHECK(tshmem_ptr(beyond, tshmem_my_pe()) == beyond, "an address that was past the end");
    tshmem_putmem(beyond - 4, &word, sizeof word, next_pe(1));
    tshmem_barrier_all();
    CHECK(shmem_holds(beyond - 4, &word, sizeof word), "a word over the seam");
    tshmem_barrier_all();
    const int64_t mine = 1 + tshmem_my_pe(), pes = tshmem_n_pes();
    SET((int64_t *)(void *)beyond, mine);
    tshmem_barrier_all();
    CHECK(tshmem_int64_atomic_fetch_add((int64_t *)(void *)beyond, 7, next_pe(1)) == next_pe(1) + 1, "an atomic");
    tshmem_barrier_all();
    CHECK(SEE((int64_t *)(void *)beyond) == mine + 7, "an atomic past what the heap began with");
    tshmem_free(object);
    /* Collectives from one side of the seam to the other. */
    int64_t *from = tshmem_malloc(2 * BEGINS), *to = from + BEGINS / sizeof *from - FEW / 2, values[FEW];
    for (int i = 0; i < FEW; i++)
        values[i] = i + tshmem_my_pe();
    shmem_store(from, values, sizeof values);
    CHECK(tshmem_int64_sum_reduce(TSHMEM_TEAM_WORLD, to, from, FEW) == 0, "a sum over the seam");
    shmem_load(values, to, sizeof values);
    int wrong = 0;
    for (int i = 0; i < FEW; i++)
        wrong += values[i] != pes * i + pes * (pes - 1) / 2;
    CHECK(wrong == 0, "%d sums", wrong);
    tshmem_barrier_all();
    CHECK(tshmem_int64_fcollect(TSHMEM_TEAM_WORLD, to, from, (size_t)(FEW / pes)) == 0, "fcollect over the seam");
    CHECK(SEE(to + FEW / pes * (pes - 1)) == pes - 1, "fcollect");
    tshmem_free(from);
}

/* PE 1 has no descriptors left but `left`: it cannot make its piece, or those of others do not come to it. */
static void without_descriptors(int left)
{
    struct rlimit limit, less;
    getrlimit(RLIMIT_NOFILE, &limit);
    char *object = tshmem_malloc(1000);
    less = limit;
    tshmem_barrier_all();
    shmem_hush_begin();
    const int next = dup(0);
    close(next);
    less.rlim_cur = (rlim_t)(next + left);
    if (tshmem_my_pe() == 1)
        setrlimit(RLIMIT_NOFILE, &less);
    CHECK(tshmem_malloc(MOST / 2) == NULL && tshmem_error() < 0, "PE 1 cannot grow, with %d descriptors", left);
    setrlimit(RLIMIT_NOFILE, &limit);
    shmem_hush_end();
    shmem_set(object, 7, 1000);
    CHECK(tshmem_ptr(first_of_heap() + MOST - 1, tshmem_my_pe()) == NULL, "others have not grown alone");
    tshmem_free(object);
}

void shmem_test(void)
{
    char *first = first_of_heap();
    bounds(first);
    if (shmem_open_operations(TSHMEM_CTX_DEFAULT) == 0 && tshmem_n_pes() > 1) { /* an MPI needs its descriptors */
        without_descriptors(0);
        without_descriptors(1);
    }
    for (uint64_t round = 0; round < STEPS; round++)
        step(round, first);
    tshmem_barrier_all();
    for (int i = 0; i < OBJECTS; i++) {
        if (!objects[i].at)
            continue;
        check_object(&objects[i], objects[i].bytes);
        tshmem_free(objects[i].at);
        objects[i].at = NULL;
    }
    char *all = tshmem_malloc(MOST);
    CHECK(all == first, "all that there may be");
    char last = 3;
    if (all) {
        tshmem_putmem(all + MOST - 1, &last, 1, next_pe(1));
        tshmem_barrier_all();
        CHECK(shmem_holds(all + MOST - 1, &last, 1), "the last byte");
    }
    shmem_hush_begin();
    CHECK(tshmem_malloc(1) == NULL && tshmem_error() < 0, "full");
    shmem_hush_end();
    tshmem_free(all);
}
