/* Timing of `tutti bench never-slower`: each call on device memory and the same by hand, in turns (columns.h). A time
 * is that of one call after a barrier, of the rank that takes longest. The last call of each way has new data, and all
 * that it has written is compared with what the MPI itself makes of the same data in ordinary memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/by_hand.h"
#include "bench/common/columns.h"
#include "bench/common/outcome.h"
#include "bench/common/place.h"
#include "bench/hand/hand.h"
#include "bench/pack/pack.h"
#include "core/clock.h"
#include "device/device.h"
#include "tutti/tutti.h"

static const char *const way_names[HAND_WAYS] = {HAND_WAY_NAMES};

struct timing {
    struct hand *hand;
    const struct hand_row *row;
    size_t in, out;      /* bytes of this rank */
    char *device[2];     /* sends, receives */
    char *pinned[2];     /* the same by hand */
    char *ordinary[2];   /* for the check */
    size_t room;         /* of each */
    int pinned_is_plain; /* the device has no pinned memory */
};

static void open_ranks(const struct bench_plan *plan, struct hand *h)
{
    const int n = plan->size, periodic = 1;
    const size_t most = n > 2 ? (size_t)n : 2; /* a rank alone has two neighbours too */
    *h = (struct hand){.plan = plan, .n = n, .rank = plan->rank, .peer = n > 1 && plan->rank < 2 ? 1 - plan->rank : -1};
    bench_calls_linked(&h->mpi[HAND_WAY_TUTTI]);
    bench_calls_own(&h->mpi[HAND_WAY_BY_HAND]);
    h->mpi[HAND_WAY_ORACLE] = h->mpi[HAND_WAY_BY_HAND];
    h->counts = calloc(most, sizeof *h->counts);
    h->displs = calloc(most, sizeof *h->displs);
    h->segments = calloc(most, sizeof *h->segments);
    h->places = calloc(most, sizeof *h->places);
    h->types = calloc(most, sizeof *h->types);
    if (!h->counts || !h->displs || !h->segments || !h->places || !h->types)
        bench_fail("out of memory");
    if (MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &h->ring) != MPI_SUCCESS)
        bench_fail("MPI_Cart_create failed");
}

static void close_ranks(struct hand *h)
{
    MPI_Comm_free(&h->ring);
    free(h->counts);
    free(h->displs);
    free(h->segments);
    free(h->places);
    free(h->types);
}

static void take_size(struct hand *h, size_t bytes)
{
    const int least = h->n, fits = (int)(bytes / sizeof(int)) / h->n * h->n;
    h->bytes = bytes;
    h->count = (int)bytes;
    h->elements = fits > least ? fits : least;
    for (int r = 0; r < (h->n > 2 ? h->n : 2); r++) {
        h->counts[r] = h->count;
        h->displs[r] = r * h->count;
        h->places[r] = (MPI_Aint)r * h->count;
        h->segments[r] = h->elements / h->n;
        h->types[r] = MPI_BYTE;
    }
}

/* ---- memory ---- */

static void open_memory(struct timing *t, size_t room)
{
    const struct tutti_device *device = tutti_device();
    t->room = room;
    for (int i = 0; i < 2; i++) {
        void *memory = NULL, *pinned = NULL;
        bench_must(tutti_alloc(room, &memory), "allocating device memory");
        t->device[i] = memory;
        t->pinned_is_plain |=
            !device || !device->memory.alloc_pinned || device->memory.alloc_pinned(room, &pinned) != 0;
        t->pinned[i] = t->pinned_is_plain ? bench_ordinary(room) : pinned;
        t->ordinary[i] = bench_ordinary(room);
    }
    bench_say(t->hand->plan, "staging %s", t->pinned_is_plain ? "ordinary" : "pinned");
}

static void close_memory(struct timing *t)
{
    for (int i = 0; i < 2; i++) {
        tutti_free(t->device[i]);
        if (t->pinned_is_plain)
            free(t->pinned[i]);
        else
            tutti_device()->memory.free_pinned(t->pinned[i]);
        free(t->ordinary[i]);
    }
}

/* ---- one call ---- */

static struct hand_buffers buffers_of(const struct timing *t, int way)
{
    if (way == HAND_WAY_TUTTI)
        return (struct hand_buffers){.in = t->device[0], .out = t->device[1]};
    return (struct hand_buffers){.in = t->pinned[0],
                                 .out = t->pinned[1],
                                 .device_in = t->row->copies ? t->device[0] : NULL,
                                 .device_out = t->row->copies ? t->device[1] : NULL};
}

static void must_run(const struct timing *t, int way, const struct hand_buffers *buffers)
{
    const int error = t->row->run(t->hand, way, buffers);
    if (error != MPI_SUCCESS)
        bench_fail("MPI_%s (%s) failed with error %d", t->row->name,
                   way < HAND_WAYS ? way_names[way] : "ordinary memory", error);
}

static void run_way(const struct timing *t, int way)
{
    const struct hand_buffers buffers = buffers_of(t, way);
    const int copies = way == HAND_WAY_BY_HAND && !t->row->copies;
    if (copies && t->in > 0)
        bench_copy_by_hand(t->pinned[0], t->device[0], t->in, "copying from the device");
    must_run(t, way, &buffers);
    if (copies && t->out > 0)
        bench_copy_by_hand(t->device[1], t->pinned[1], t->out, "copying to the device");
}

static uint64_t seed_of(const struct timing *t, int way)
{
    return t->hand->plan->seed + t->hand->bytes * 31 + (uint64_t)way * 7 + (uint64_t)t->hand->rank * 1000003 + 1;
}

/* New data to send, and what is no result where it is received. */
static void hand_fill(const struct timing *t, uint64_t seed)
{
    for (size_t b = 0; b < t->in; b++)
        t->ordinary[0][b] = (char)pack_mix(seed + b);
    memset(t->ordinary[1], 0x5a, t->out);
}

static void hand_prepare(void *with, int way, long i, int new_data)
{
    const struct timing *t = with;
    (void)i;
    if (!new_data)
        return;
    hand_fill(t, seed_of(t, way));
    if (t->in > 0)
        bench_must(tutti_copy(t->device[0], t->ordinary[0], t->in), "copying to the device");
    if (t->out > 0)
        bench_must(tutti_copy(t->device[1], t->ordinary[1], t->out), "copying to the device");
    memset(t->pinned[1], 0x5b, t->out);
}

static double hand_once(void *with, int way, long i)
{
    const struct timing *t = with;
    (void)i;
    bench_mpi.Barrier(MPI_COMM_WORLD);
    const uint64_t start = tutti_now_ns();
    run_way(t, way);
    return (double)(tutti_now_ns() - start) * 1e-3;
}

/* The MPI itself on ordinary memory is right. */
static int hand_check(void *with, int way, long i)
{
    const struct timing *t = with;
    const struct bench_plan *plan = t->hand->plan;
    const struct hand_buffers ordinary = {.in = t->ordinary[0], .out = t->ordinary[1]};
    int first, mine = plan->size;
    size_t at = 0;
    char text[200] = "";
    (void)i;
    hand_fill(t, seed_of(t, way));
    if (t->row->open && t->row->open(t->hand, HAND_WAY_ORACLE, &ordinary) != MPI_SUCCESS)
        bench_fail("rank %d: the MPI makes no window on ordinary memory for MPI_%s", plan->rank, t->row->name);
    must_run(t, HAND_WAY_ORACLE, &ordinary);
    if (t->row->close)
        t->row->close(t->hand, HAND_WAY_ORACLE);
    char *got = t->pinned[0]; /* is filled again with the next data */
    if (t->out > 0)
        bench_must(tutti_copy(got, t->device[1], t->out), "copying from the device");
    while (at < t->out && got[at] == t->ordinary[1][at])
        at++;
    if (at < t->out)
        mine = plan->rank;
    bench_mpi.Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == plan->size)
        return 1;
    snprintf(text, sizeof text, "byte %zu of %zu is 0x%02x, right is 0x%02x", at, t->out,
             at < t->out ? (unsigned char)got[at] : 0, at < t->out ? (unsigned char)t->ordinary[1][at] : 0);
    bench_mpi.Bcast(text, (int)sizeof text, MPI_CHAR, first, MPI_COMM_WORLD);
    bench_say(plan, "wrong %s, MPI_%s, %zu bytes, rank %d: %s", way_names[way], t->row->name, t->hand->bytes, first,
              text);
    return 0;
}

/* ---- one row ---- */

/* How the call goes, now that its memory is known everywhere. */
static void say_how(struct timing *t)
{
    char counted[48], text[128];
    int accelerated;
    snprintf(counted, sizeof counted, "_%s", t->row->name);
    bench_outcome_begin();
    hand_once(t, HAND_WAY_TUTTI, 0);
    bench_outcome_end(counted, text, sizeof text, &accelerated);
    bench_say(t->hand->plan, "how %s", text);
}

/* 1 if all ways have what the row opens; otherwise nothing is open, and the table has a note. */
static int hand_open(struct timing *t)
{
    for (int way = 0; way < HAND_WAYS && t->row->open; way++) {
        const struct hand_buffers buffers = buffers_of(t, way);
        if (bench_all_agree(t->row->open(t->hand, way, &buffers) == MPI_SUCCESS))
            continue;
        bench_say(t->hand->plan, "note MPI_%s is left out: the MPI refuses its window or request (%s)", t->row->name,
                  way_names[way]);
        while (--way >= 0)
            t->row->close(t->hand, way);
        return 0;
    }
    return 1;
}

static int hand_measure(struct timing *t)
{
    const struct bench_plan *plan = t->hand->plan;
    struct bench_column columns[HAND_WAYS] = {{0}};
    char what[64];
    const struct bench_timed timed = {.what = what,
                                      .bytes = t->hand->bytes,
                                      .with = t,
                                      .prepare = hand_prepare,
                                      .call = hand_once,
                                      .check = hand_check};
    snprintf(what, sizeof what, "MPI_%s, %zu bytes", t->row->name, t->hand->bytes);
    t->in = t->row->in(t->hand);
    t->out = t->row->out(t->hand);
    if (!hand_open(t))
        return 1;
    for (int way = 0; way < HAND_WAYS; way++) {
        columns[way] = (struct bench_column){.name = way_names[way], .scale = t->row->share};
        hand_prepare(t, way, 0, 1);
        bench_column_plan(plan, &timed, &columns[way], way, 1);
    }
    const int fine = bench_columns_run(plan, &timed, columns, HAND_WAYS);
    if (fine) {
        bench_say(plan, "row %zu MPI_%s", t->hand->bytes, t->row->name);
        say_how(t);
        for (int way = 0; way < HAND_WAYS; way++)
            bench_say_longest(plan, &columns[way], 0);
        bench_say(plan, "done");
    }
    for (int way = 0; way < HAND_WAYS && t->row->close; way++)
        t->row->close(t->hand, way);
    bench_columns_free(columns, HAND_WAYS);
    return fine;
}

static int is_of_pair(int call)
{
    return call == HAND_SEND || call == HAND_WINDOW || call == HAND_START;
}

void bench_hand(struct bench_plan *plan, unsigned long long calls)
{
    struct hand hand;
    struct timing t = {.hand = &hand};
    const size_t blocks = plan->size > HAND_WINDOW_MESSAGES ? (size_t)plan->size : HAND_WINDOW_MESSAGES;
    int fine = 1;
    if (!bench_mpi.preloaded)
        bench_fail("libtutti.so is not in front of the MPI: start this with `tutti bench`");
    bench_say(plan, "nodes %d", plan->nodes);
    bench_choose_gpu(plan);
    open_ranks(plan, &hand);
    open_memory(&t, blocks * plan->most);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* some MPIs make no windows on some machines */
    bench_say(plan, "start");
    for (int call = 0; call < HAND_CALLS && fine; call++) {
        t.row = &hand_rows[call];
        for (int i = 0; i < plan->n_sizes && fine && calls >> call & 1; i++) {
            take_size(&hand, plan->sizes[i]);
            if (plan->size > 1 || !is_of_pair(call))
                fine = hand_measure(&t);
        }
    }
    close_memory(&t);
    close_ranks(&hand);
    bench_say(plan, "end %d", fine);
}
