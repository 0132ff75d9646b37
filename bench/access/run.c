/* The measurement of files and windows, each way in turn (bench/common/columns.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/access/access.h"
#include "bench/common/columns.h"
#include "bench/common/place.h"
#include "core/clock.h"
#include "device/device.h"
#include "tutti/tutti.h"

enum { ACCESS_COLUMNS = ACCESS_WAYS * ACCESS_PARTS, ACCESS_MANY_MOST = 64 << 20 };

const char *access_way_name(int way)
{
    static const char *const names[ACCESS_WAYS] = {
#define ACCESS_WAY(id, name, text) name,
#include "bench/words/access_ways.def"
#undef ACCESS_WAY
    };
    return names[way];
}

static const char *access_call(const struct access *a)
{
    static const char *const calls[ACCESSES] = {
#define ACCESS(id, name, call, group, text) call,
#include "bench/words/accesses.def"
#undef ACCESS
    };
    return calls[a->what->id];
}

void access_must(const struct access *a, int way, int error)
{
    if (error != MPI_SUCCESS)
        bench_fail("MPI_%s (%s) failed with error %d", access_call(a), access_way_name(way), error);
}

char *access_memory(const struct access *a, int way)
{
    return way == ACCESS_WAY_TUTTI ? a->device : a->pinned;
}

static uint64_t access_word(uint64_t seed, size_t at)
{
    return (seed + at) * UINT64_C(0x9e3779b97f4a7c15) ^ seed << 7;
}

void access_fill_at(char out[8], size_t at, uint64_t seed)
{
    const uint64_t word = access_word(seed, at);
    memcpy(out, &word, sizeof word);
}

void access_fill(char *out, size_t bytes, uint64_t seed)
{
    for (size_t at = 0; at < bytes; at += 8) {
        const uint64_t word = access_word(seed, at);
        memcpy(out + at, &word, bytes - at < 8 ? bytes - at : 8);
    }
}

int access_same(const char *got, size_t bytes, uint64_t seed)
{
    for (size_t at = 0; at < bytes; at += 8) {
        const uint64_t word = access_word(seed, at);
        if (memcmp(got + at, &word, bytes - at < 8 ? bytes - at : 8) != 0)
            return 0;
    }
    return 1;
}

int access_times(const struct access *a, int part)
{
    return part == ACCESS_MANY ? a->what->window : 1;
}

/* ---- columns ---- */

static int access_part(int column)
{
    return column / ACCESS_WAYS;
}

static uint64_t access_seed(const struct access *a, int column, long i)
{
    return a->plan->seed + a->bytes * 31 + (uint64_t)i * 1009 + (uint64_t)column * 7 + 1;
}

static void access_prepare(void *with, int column, long i, int new_data)
{
    struct access *a = with;
    if (new_data)
        a->row->prepare(a, column % ACCESS_WAYS, access_part(column), access_seed(a, column, i));
}

static double access_once(void *with, int column, long i)
{
    struct access *a = with;
    (void)i;
    bench_mpi.Barrier(MPI_COMM_WORLD);
    const uint64_t start = tutti_now_ns();
    a->row->run(a, column % ACCESS_WAYS, access_part(column));
    const double took = (double)(tutti_now_ns() - start) * 1e-3;
    return a->row->all || a->rank == 0 ? took : 0;
}

static int access_right(void *with, int column, long i)
{
    struct access *a = with;
    const int way = column % ACCESS_WAYS;
    bench_mpi.Barrier(MPI_COMM_WORLD);
    if (bench_all_agree(a->row->check(a, way, access_part(column), access_seed(a, column, i))))
        return 1;
    bench_say(a->plan, "wrong MPI_%s of %zu bytes by %s: other bytes than were written", access_call(a), a->bytes,
              access_way_name(way));
    return 0;
}

static int access_measure(struct access *a)
{
    struct bench_column columns[ACCESS_COLUMNS] = {{0}};
    const int parts = a->row == &access_files ? 1 : ACCESS_PARTS;
    char what[64];
    const struct bench_timed timed = {.what = what,
                                      .bytes = a->bytes,
                                      .with = a,
                                      .prepare = access_prepare,
                                      .call = access_once,
                                      .check = access_right};
    snprintf(what, sizeof what, "MPI_%s, %zu bytes", access_call(a), a->bytes);
    for (int c = 0; c < parts * ACCESS_WAYS; c++) {
        if (!a->used[c % ACCESS_WAYS])
            continue;
        columns[c] = (struct bench_column){.name = access_way_name(c % ACCESS_WAYS)};
        access_prepare(a, c, 0, 1);
        bench_column_plan(a->plan, &timed, &columns[c], c, 2);
    }
    const int right = bench_columns_run(a->plan, &timed, columns, parts * ACCESS_WAYS);
    if (right) {
        bench_say(a->plan, "row %zu", a->bytes);
        for (int c = 0; c < parts * ACCESS_WAYS; c++) {
            if (columns[c].name)
                bench_say_longest(a->plan, &columns[c], access_part(c));
        }
        bench_say(a->plan, "done");
    }
    bench_columns_free(columns, ACCESS_COLUMNS);
    return right;
}

/* ---- memory ---- */

static size_t access_room(const struct access *a, size_t bytes)
{
    const size_t all = a->row == &access_files ? bytes : bytes * (size_t)a->what->window;
    return all <= ACCESS_MANY_MOST ? all : bytes > ACCESS_MANY_MOST ? bytes : ACCESS_MANY_MOST;
}

static void access_open(struct access *a)
{
    const struct tutti_device *device = tutti_device();
    void *memory = NULL;
    a->rank = a->plan->rank;
    for (int i = 0; i < a->plan->n_sizes; i++) {
        const size_t room = access_room(a, a->plan->sizes[i]);
        a->room = room > a->room ? room : a->room;
    }
    bench_must(tutti_alloc(a->room, &memory), "allocating device memory");
    a->device = memory;
    if (!device || !device->memory.alloc_pinned || device->memory.alloc_pinned(a->room, &memory) != 0)
        bench_fail("no %zu bytes of pinned host memory", a->room);
    a->pinned = memory;
    a->scratch = bench_ordinary(a->room);
    for (int way = 0; way < ACCESS_WAYS; way++) {
        if (way == ACCESS_WAY_TUTTI)
            bench_calls_linked(&a->mpi[way]);
        else
            bench_calls_own(&a->mpi[way]);
        a->used[way] = way == ACCESS_WAY_TUTTI || a->plan->ways >> way & 1;
    }
    a->row->open(a);
    for (int way = 0; way < ACCESS_WAYS; way++) {
        if (a->used[way])
            bench_say(a->plan, "way %s", access_way_name(way));
    }
}

static void access_close(struct access *a)
{
    a->row->close(a);
    tutti_free(a->device);
    tutti_device()->memory.free_pinned(a->pinned);
    free(a->scratch);
}

void bench_access(struct bench_plan *plan, const struct access_plan *what)
{
    static struct access a;
    int right = 1;
    if (!bench_mpi.preloaded)
        bench_fail("libtutti.so is not in front of the MPI: start this with `tutti bench`");
    a = (struct access){.plan = plan, .what = what, .row = what->id < ACCESS_PUT ? &access_files : &access_windows};
    bench_say(plan, "nodes %d", plan->nodes);
    bench_choose_gpu(plan);
    access_open(&a);
    bench_say(plan, "start");
    for (int i = 0; right && i < plan->n_sizes; i++) {
        a.bytes = plan->sizes[i];
        a.places = (int)(access_room(&a, a.bytes) / a.bytes);
        right = access_measure(&a);
    }
    access_close(&a);
    bench_say(plan, "end %d", right);
}
