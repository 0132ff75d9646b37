/* The host's own share of packing launches, in nanoseconds a call: against a device that takes launches and does
 * nothing, but reads what a driver reads. Beside each: the driver's copies of what is launched, as plain memory moves.
 *
 * packhost [part of a row's name] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/status.h"
#include "dtype/pack.h"
#include "kernels/pack_args.h"
#include "rim.h"

enum { FACES = 26, CALLS = 20000, ROUNDS = 7, BIG = 64 << 20 };

static unsigned long classified, launched, bytes;
static unsigned char *memory, *packed;

static int quiet_open(char *why, size_t size)
{
    (void)why;
    (void)size;
    return TUTTI_OK;
}

static int quiet_current(int *gpu)
{
    *gpu = 0;
    return TUTTI_OK;
}

static void quiet_classify(const void *pointer, struct tutti_memory *out)
{
    classified++;
    *out = (struct tutti_memory){.kind = TUTTI_MEMORY_DEVICE, .gpu = 0, .id = 1};
    unsigned char *const base = (uintptr_t)pointer - (uintptr_t)memory < BIG ? memory : packed;
    out->base = base;
    out->bytes = BIG;
}

static int quiet_alloc(int gpu, size_t size, void **made)
{
    (void)gpu;
    *made = malloc(size);
    return *made ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

static int quiet_free(void *made)
{
    free(made);
    return TUTTI_OK;
}

static int quiet_map(int gpu, void *host, size_t size, void **device)
{
    (void)gpu;
    (void)size;
    *device = host;
    return TUTTI_OK;
}

static int quiet_stream(int gpu, struct tutti_stream **out)
{
    static char any;
    (void)gpu;
    *out = (struct tutti_stream *)(void *)&any;
    return TUTTI_OK;
}

static int quiet_copy(struct tutti_stream *stream, void *to, const void *from, size_t size)
{
    (void)stream;
    memcpy(to, from, size);
    return TUTTI_OK;
}

static int quiet_fill(struct tutti_stream *stream, void *to, int byte, size_t size)
{
    (void)stream;
    memset(to, byte, size);
    return TUTTI_OK;
}

static int quiet_sync(struct tutti_stream *stream)
{
    (void)stream;
    return TUTTI_OK;
}

static int quiet_room(int gpu, size_t *room)
{
    (void)gpu;
    *room = TUTTI_PACK_MANY_BYTES;
    return TUTTI_OK;
}

static int quiet_launch(struct tutti_stream *stream, const struct tutti_pack_launch *launch)
{
    static unsigned char copy[TUTTI_PACK_MANY_BYTES];
    (void)stream;
    const size_t size = launch->args->head.bytes;
    bytes = size;
    memcpy(copy, launch->args, size);
    launched++;
    if (launch->args->head.launch_number)
        __atomic_store_n(launch->args->head.done, launch->args->head.launch_number, __ATOMIC_RELEASE);
    return TUTTI_OK;
}

static const struct tutti_device quiet = {.name = "quiet",
                                          .open = quiet_open,
                                          .gpu.current = quiet_current,
                                          .memory.classify = quiet_classify,
                                          .memory.alloc = quiet_alloc,
                                          .memory.free = quiet_free,
                                          .memory.map_host = quiet_map,
                                          .stream.create = quiet_stream,
                                          .stream.copy = quiet_copy,
                                          .stream.fill = quiet_fill,
                                          .stream.sync = quiet_sync,
                                          .launch.prepare_pack = quiet_room,
                                          .launch.pack = quiet_launch};

/* In place of the library's: there is no other device here. */
const struct tutti_device *tutti_device(void)
{
    return &quiet;
}

static void need(int fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "packhost: %s failed\n", what);
    exit(1);
}

static double least(const double *of, int n)
{
    double least = of[0];
    for (int i = 1; i < n; i++)
        least = of[i] < least ? of[i] : least;
    return least;
}

static void show(const char *name, struct tutti_pack_job *jobs, unsigned n, int moves)
{
    double now[ROUNDS], queued[ROUNDS];
    struct tutti_stream *stream = NULL;
    need(quiet_stream(0, &stream) == TUTTI_OK, "a stream");
    classified = launched = 0;
    need(tutti_pack_now(0, jobs, n) == TUTTI_OK, "tutti_pack_now");
    printf("%-34s %7lu launches %5lu classified %6lu bytes", name, launched, classified, bytes);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = tutti_now_ns();
        for (int i = 0; i < CALLS; i++) {
            for (unsigned k = 0; moves && k < n; k++)
                jobs[k].packed = packed + k * (BIG / FACES / 16 * 16) + i % 256 * 256;
            need(tutti_pack_now(0, jobs, n) == TUTTI_OK, "tutti_pack_now");
        }
        now[round] = (double)(tutti_now_ns() - start) / CALLS;
        start = tutti_now_ns();
        for (int i = 0; i < CALLS; i++)
            need(tutti_pack_enqueue(stream, 0, jobs, n) == TUTTI_OK, "tutti_pack_enqueue");
        queued[round] = (double)(tutti_now_ns() - start) / CALLS;
    }
    printf(" %9.0f now %9.0f enqueue\n", least(now, ROUNDS), least(queued, ROUNDS));
}

/* The faces, edges and corners of 64^3 cells of 8 bytes: quantities in arrays of their own. */
static const struct tutti_plan *face(int k, uint64_t quantities)
{
    uint64_t cells[3];
    const struct tutti_plan *plan = rim_plan(k, 64, 8, quantities, cells);
    need(plan != NULL, "a plan");
    return plan;
}

static void halo(const char *only, const char *name, uint64_t quantities, unsigned split, int moves)
{
    struct tutti_pack_job jobs[FACES * 8];
    unsigned n = 0;
    if (only && !strstr(name, only))
        return;
    for (int k = 0; k < 27; k++) {
        if (k == 13)
            continue;
        const struct tutti_plan *plan = face(k, quantities);
        for (unsigned q = 0; q < split; q++, n++) {
            jobs[n] = (struct tutti_pack_job){.plan = plan,
                                              .count = 1,
                                              .memory = memory + q * (size_t)(70 * 70 * 70 * 8),
                                              .packed = packed + n * (BIG / FACES / split / 16 * 16),
                                              .bytes = plan->size};
        }
    }
    show(name, jobs, n, moves);
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    memory = calloc(1, BIG);
    packed = calloc(1, BIG);
    need(memory && packed, "memory");
    struct tutti_pack_job one = {.plan = face(4, 1), .count = 1, .memory = memory, .packed = packed};
    one.bytes = one.plan->size;
    if (!only || strstr("one face", only))
        show("one face", &one, 1, 0);
    halo(only, "26 faces", 1, 1, 0);
    halo(only, "26 faces of 8 quantities", 8, 1, 0);
    halo(only, "26 faces, packed elsewhere", 8, 1, 1);
    halo(only, "26 x 8 messages", 1, 8, 0);
    return 0;
}
