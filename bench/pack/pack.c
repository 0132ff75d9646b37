/* MPI_Pack and MPI_Unpack beside the other ways. All ways of all descriptions of a layout take turns. A time is that of
 * one call, until all is done. The last calls of every way get new data and are checked. */
#include "bench/pack/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/gpu.h"
#include "bench/common/outcome.h"
#include "bench/common/place.h"
#include "core/clock.h"
#include "tutti/tutti.h"

enum { COLUMNS = 64, BLOCKS_WHOLE = 4096 };

/* What a column of the same number times. */
struct work {
    int way, unpack, of; /* of: the description; -1: all of them */
    size_t blocks;       /* that it takes; fewer than there are: times are extrapolated */
    char name[32];
};
struct run {
    const struct bench_plan *plan;
    const struct pack_plan *pack;
    struct pack_layout layout;
    struct pack_set device, ordinary;
    char *sink; /* of the contiguous copy */
    size_t sink_bytes;
    int plain, native; /* 1: there */
    int bottom;        /* 1: the MPI takes MPI_BOTTOM */
    const char *description[PACK_DESCRIPTIONS_MOST];
    MPI_Datatype type[PACK_DESCRIPTIONS_MOST], plain_type[PACK_DESCRIPTIONS_MOST];
    char how[PACK_DESCRIPTIONS_MOST][2][96];
    int descriptions;
    struct work work[COLUMNS];
    struct bench_column column[COLUMNS];
    int columns;
};

static const char *way_name(int way)
{
    static const char *const names[PACK_WAYS] = {
#define PACK_WAY(id, name, text) name,
#include "bench/words/pack_ways.def"
#undef PACK_WAY
    };
    return names[way];
}

static int pack_wanted(const struct run *run, int way)
{
    return way == PACK_TUTTI || run->pack->ways >> way & 1;
}

static struct pack_set *set_of(struct run *run, const struct work *work)
{
    return work->way == PACK_PLAIN ? &run->ordinary : &run->device;
}

static void call_mpi(const struct run *run, const struct work *work, const struct pack_set *set)
{
    int position = 0, bytes = (int)run->layout.bytes, error;
    void *memory = run->layout.absolute ? MPI_BOTTOM : set->memory;
    MPI_Datatype type = work->way == PACK_PLAIN ? run->plain_type[work->of] : run->type[work->of];
    if (work->way == PACK_TUTTI)
        error = work->unpack ? MPI_Unpack(set->in, bytes, &position, memory, 1, type, MPI_COMM_SELF)
                             : MPI_Pack(memory, 1, type, set->out, bytes, &position, MPI_COMM_SELF);
    else
        error = work->unpack ? bench_mpi.Unpack(set->in, bytes, &position, memory, 1, type, MPI_COMM_SELF)
                             : bench_mpi.Pack(memory, 1, type, set->out, bytes, &position, MPI_COMM_SELF);
    pack_mpi(error, work->unpack ? "MPI_Unpack" : "MPI_Pack");
    if (position != bytes)
        bench_fail("%s moved %d bytes of %d", work->unpack ? "MPI_Unpack" : "MPI_Pack", position, bytes);
    if (work->way == PACK_NATIVE)
        pack_copy_wait();
}

static double pack_call(struct run *run, const struct work *work)
{
    const struct pack_set *set = set_of(run, work);
    const uint64_t start = tutti_now_ns();
    switch (work->way) {
    case PACK_BLOCKS:
        pack_copy_blocks(&run->layout, set, work->blocks, work->unpack);
        break;
    case PACK_COPY3D:
        pack_copy_box(&run->layout, set, work->unpack);
        break;
    case PACK_LIMIT:
        pack_copy_flat(run->sink, set->memory, run->sink_bytes);
        break;
    default:
        call_mpi(run, work, set);
    }
    return (double)(tutti_now_ns() - start) * 1e-3;
}

static void add_column(struct run *run, int way, int unpack, int of)
{
    if (run->columns == COLUMNS)
        bench_fail("too many ways for one layout");
    struct work *work = &run->work[run->columns];
    *work = (struct work){.way = way, .unpack = unpack, .of = of, .blocks = run->layout.n};
    snprintf(work->name, sizeof work->name, "%s %s", way_name(way), unpack ? "unpack" : "pack");
    run->column[run->columns++] = (struct bench_column){.name = work->name};
}

static void add_columns(struct run *run)
{
    run->columns = 0;
    for (int of = 0; of < run->descriptions; of++) {
        for (int unpack = 0; unpack < 2; unpack++) {
            add_column(run, PACK_TUTTI, unpack, of);
            if (run->plain)
                add_column(run, PACK_PLAIN, unpack, of);
            if (run->native)
                add_column(run, PACK_NATIVE, unpack, of);
        }
    }
    for (int unpack = 0; unpack < 2; unpack++) {
        if (pack_wanted(run, PACK_BLOCKS))
            add_column(run, PACK_BLOCKS, unpack, -1);
        if (pack_wanted(run, PACK_COPY3D) && pack_copy_has_box(&run->layout))
            add_column(run, PACK_COPY3D, unpack, -1);
    }
    if (pack_wanted(run, PACK_LIMIT))
        add_column(run, PACK_LIMIT, 0, -1);
}

static double timed_call(void *with, int column, long i)
{
    struct run *run = with;
    (void)i;
    return pack_call(run, &run->work[column]);
}

static void timed_prepare(void *with, int column, long i, int new_data)
{
    struct run *run = with;
    const struct work *work = &run->work[column];
    (void)i;
    if (new_data && work->unpack)
        pack_set_renew(set_of(run, work), &run->layout, work->blocks,
                       run->plan->seed + run->layout.bytes * 31 + (uint64_t)column * 7 + 1);
    else if (new_data)
        pack_set_spoil(set_of(run, work), &run->layout, work->blocks);
}

static int timed_check(void *with, int column, long i)
{
    struct run *run = with;
    const struct work *work = &run->work[column];
    struct pack_set *set = set_of(run, work);
    char text[160];
    (void)i;
    if (work->unpack ? pack_set_check_memory(set, &run->layout, text, sizeof text)
                     : pack_set_check_packed(set, &run->layout, work->blocks, text, sizeof text))
        return 1;
    bench_say(run->plan, "wrong %s of %s, described as %s, %zu bytes: %s", work->name, run->layout.name,
              work->of < 0 ? "-" : run->description[work->of], run->layout.bytes, text);
    return 0;
}

/* A copy for each block is made for some thousand blocks alone where all of them take too long. */
static void plan_column(struct run *run, const struct bench_timed *timed, int number)
{
    struct work *work = &run->work[number];
    struct bench_column *column = &run->column[number];
    if (work->way == PACK_BLOCKS && run->layout.n > BLOCKS_WHOLE) {
        work->blocks = BLOCKS_WHOLE;
        pack_call(run, work);
        if (pack_call(run, work) * (double)run->layout.n / BLOCKS_WHOLE < 1e6)
            work->blocks = run->layout.n;
    }
    column->scale = (double)run->layout.n / (double)work->blocks;
    bench_column_plan(run->plan, timed, column, number, work->way != PACK_LIMIT);
}

/* Which way the library takes, asked of its counters by one call in each direction. */
static void find_how(struct run *run, int of)
{
    int accelerated;
    for (int unpack = 0; unpack < 2; unpack++) {
        const struct work work = {.way = PACK_TUTTI, .unpack = unpack, .of = of};
        bench_outcome_begin();
        pack_call(run, &work);
        bench_outcome_end(unpack ? "_Unpack" : "_Pack", run->how[of][unpack], sizeof run->how[of][unpack],
                          &accelerated);
    }
}

static MPI_Datatype pack_committed(const struct run *run, int of, char *base)
{
    MPI_Datatype type = run->layout.make(&run->layout, run->description[of], base);
    pack_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
    int size;
    pack_mpi(MPI_Type_size(type, &size), "MPI_Type_size");
    if ((size_t)size != run->layout.bytes)
        bench_fail("%s, described as %s, has %d bytes instead of %zu", run->layout.name, run->description[of], size,
                   run->layout.bytes);
    return type;
}

static void open_layout(struct run *run)
{
    pack_set_room(&run->device, &run->layout, run->plan->seed);
    pack_set_settle(&run->device, &run->layout);
    if (run->plain) {
        pack_set_room(&run->ordinary, &run->layout, run->plan->seed);
        pack_set_settle(&run->ordinary, &run->layout);
    }
    const size_t bytes = (run->layout.bytes + run->layout.touched) / 2;
    void *sink = NULL;
    run->sink_bytes = bytes < run->device.room ? bytes : run->device.room;
    bench_must(tutti_alloc(run->sink_bytes, &sink), "allocating device memory");
    run->sink = sink;
    for (int of = 0; of < run->descriptions; of++) {
        run->type[of] = pack_committed(run, of, run->device.memory);
        run->plain_type[of] =
            run->plain && run->layout.absolute ? pack_committed(run, of, run->ordinary.memory) : run->type[of];
        find_how(run, of);
    }
}

static void close_layout(struct run *run)
{
    for (int of = 0; of < run->descriptions; of++) {
        if (run->plain_type[of] != run->type[of])
            MPI_Type_free(&run->plain_type[of]);
        MPI_Type_free(&run->type[of]);
    }
    bench_columns_free(run->column, run->columns);
    tutti_free(run->sink);
}

/* A row of the table; `call`: " pack", " unpack", or none. */
static void say_row(const struct run *run, int of, const char *call)
{
    const struct pack_layout *layout = &run->layout;
    bench_say(run->plan, "row %zu %zu %zu %s%s", layout->bytes, layout->n, layout->touched, run->description[of], call);
    bench_say(run->plan, "layout %s", layout->name);
}

static void commit_layout(const struct run *run)
{
    static const char *const names[COMMIT_WAYS] = {COMMIT_WAY_NAMES};
    for (int of = 0; of < run->descriptions; of++) {
        struct bench_figures figures[COMMIT_WAYS];
        pack_commit_measure(run->plan, &run->layout, run->description[of], figures);
        say_row(run, of, "");
        for (int way = 0; way < COMMIT_WAYS; way++) {
            if (figures[way].iterations > 0)
                bench_say_time(run->plan, names[way], 0, &figures[way]);
        }
        bench_say(run->plan, "done");
    }
}

/* One direction of a description. The limit is the same for both. */
static void say_call(const struct run *run, int of, int unpack, struct bench_figures figures[])
{
    say_row(run, of, unpack ? " unpack" : " pack");
    bench_say(run->plan, "how %s", run->how[of][unpack]);
    for (int l = 0; l < run->columns; l++) {
        const struct work *work = &run->work[l];
        if ((work->of < 0 || work->of == of) && (work->unpack == unpack || work->way == PACK_LIMIT))
            bench_say_time(run->plan, way_name(work->way), 0, &figures[l]);
    }
    bench_say(run->plan, "done");
}

/* The spread of the descriptions: the library's slowest median by its fastest. */
static double spread_of(const struct run *run, int unpack, const struct bench_figures figures[])
{
    double least = 0, most = 0;
    for (int l = 0; l < run->columns; l++) {
        if (run->work[l].way != PACK_TUTTI || run->work[l].unpack != unpack)
            continue;
        const double us = figures[l].median;
        least = least == 0 || us < least ? us : least;
        most = us > most ? us : most;
    }
    return least > 0 ? most / least : 0;
}

static void say_layout(const struct run *run)
{
    struct bench_figures figures[COLUMNS];
    for (int l = 0; l < run->columns; l++) {
        figures[l] = bench_figures_of(run->column[l].samples, run->column[l].iterations);
        figures[l].extrapolated = run->work[l].blocks < run->layout.n;
    }
    for (int of = 0; of < run->descriptions; of++) {
        for (int unpack = 0; unpack < 2; unpack++)
            say_call(run, of, unpack, figures);
    }
    const double pack = spread_of(run, 0, figures), unpack = spread_of(run, 1, figures);
    if (run->descriptions > 1 && pack > 0)
        bench_say(run->plan, "spread %.9f %.9f %s", pack, unpack, run->layout.name);
}

static int run_layout(struct run *run)
{
    const struct bench_timed timed = {.what = run->layout.name,
                                      .bytes = run->layout.bytes,
                                      .with = run,
                                      .prepare = timed_prepare,
                                      .call = timed_call,
                                      .check = timed_check};
    open_layout(run);
    add_columns(run);
    for (int l = 0; l < run->columns; l++)
        plan_column(run, &timed, l);
    const int fine = bench_columns_run(run->plan, &timed, run->column, run->columns);
    if (fine)
        say_layout(run);
    close_layout(run);
    return fine;
}

static int in_list(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return 1;
    }
    return 0;
}

/* Unless they are chosen: one description of plain strides, all of the others. */
static void choose_descriptions(struct run *run)
{
    const char *list = run->pack->descriptions;
    run->descriptions = 0;
    for (int i = 0; i < run->layout.descriptions; i++) {
        const int take = strcmp(list, "all") == 0 || (*list ? in_list(list, run->layout.description[i])
                                                            : i == 0 || run->pack->kind != PACK_STRIDED);
        if (take)
            run->description[run->descriptions++] = run->layout.description[i];
    }
}

/* MPICH 4.0 refuses it as a null pointer. */
static int takes_bottom(void)
{
    int number = 1, position = 0, length = 1;
    char packed[64];
    MPI_Aint address = (MPI_Aint)&number;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    pack_mpi(MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &type), "MPI_Type_create_hindexed");
    pack_mpi(bench_mpi.Type_commit(&type), "MPI_Type_commit");
    int error = bench_mpi.Pack(MPI_BOTTOM, 1, type, packed, (int)sizeof packed, &position, MPI_COMM_SELF);
    pack_mpi(MPI_Type_free(&type), "MPI_Type_free");
    return error == MPI_SUCCESS;
}

void bench_pack(struct bench_plan *plan, const struct pack_plan *pack)
{
    static struct run run;
    run.plan = plan;
    run.pack = pack;
    run.ordinary.ordinary = 1;
    if (!bench_mpi.preloaded)
        bench_fail("libtutti.so is not in front of the MPI: start this with `tutti bench`");
    if (!bench_mpi.Pack || !bench_mpi.Unpack || !bench_mpi.Type_commit)
        bench_fail("the MPI library that is loaded has no PMPI_Pack");
    bench_choose_gpu(plan);
    /* The process uses a device from here on; the driver needs a context. */
    void *memory = NULL;
    char byte = 0;
    bench_must(tutti_alloc(1, &memory), "allocating device memory");
    bench_must(tutti_copy(memory, &byte, 1), "making a context");
    pack_mpi(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    run.bottom = takes_bottom();
    if (!run.bottom)
        bench_say(plan, "note this MPI refuses MPI_BOTTOM in MPI_Pack: offsets instead of addresses");
    if (pack->kind != PACK_COMMIT) {
        pack_copy_open();
        run.plain = pack_wanted(&run, PACK_PLAIN) && bench_on_host();
        run.native = pack_wanted(&run, PACK_NATIVE) && bench_mpi_takes_device();
    }
    if (pack->kind != PACK_COMMIT && pack_wanted(&run, PACK_COPY3D) && !bench_on_host())
        bench_say(plan, "way %s", way_name(PACK_COPY3D)); /* a column, also where the first layout is no box */
    bench_say(plan, "start");
    int fine = 1;
    for (int i = 0; fine && pack_layout_make(plan, pack, i, &run.layout); i++) {
        run.layout.absolute &= run.bottom;
        choose_descriptions(&run);
        if (run.descriptions && pack->kind == PACK_COMMIT)
            commit_layout(&run);
        else if (run.descriptions)
            fine = run_layout(&run);
        pack_layout_free(&run.layout);
    }
    pack_set_free(&run.device);
    pack_set_free(&run.ordinary);
    pack_commit_end();
    tutti_free(memory);
    bench_gpu_close();
    bench_say(plan, "end %d", fine);
}
