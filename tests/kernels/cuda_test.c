/* The CUDA kernels on the GPUs of the machine: participants as streams, results to the bit those of the C kernels. Exit
 * status 77 (skipped) without a driver or a GPU. Several participants share a GPU if there are fewer GPUs. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/clock.h"
#include "core/types.h"
#include "exact.h"
#include "kernels/args.h"
#include "kernels/fatbin.h"
#include "kernels/reduce.h"

/* The few entry points of the driver that are needed here. */
#define DRIVER(X)                                                                                                      \
    X(init, "cuInit", (unsigned))                                                                                      \
    X(device_count, "cuDeviceGetCount", (int *))                                                                       \
    X(retain, "cuDevicePrimaryCtxRetain", (void **, int))                                                              \
    X(set_current, "cuCtxSetCurrent", (void *))                                                                        \
    X(enable_peer, "cuCtxEnablePeerAccess", (void *, unsigned))                                                        \
    X(module_load, "cuModuleLoadData", (void **, const void *))                                                        \
    X(get_function, "cuModuleGetFunction", (void **, void *, const char *))                                            \
    X(alloc, "cuMemAlloc_v2", (uint64_t *, size_t))                                                                    \
    X(alloc_host, "cuMemHostAlloc", (void **, size_t, unsigned))                                                       \
    X(copy, "cuMemcpy", (uint64_t, uint64_t, size_t))                                                                  \
    X(fill, "cuMemsetD8_v2", (uint64_t, unsigned char, size_t))                                                        \
    X(stream_create, "cuStreamCreate", (void **, unsigned))                                                            \
    X(stream_query, "cuStreamQuery", (void *))                                                                         \
    X(launch, "cuLaunchKernel",                                                                                        \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))
#define X(field, name, parameters) static int(*field) parameters;
DRIVER(X)
#undef X

#define FINE(call) assert_int_equal(call, 0)

enum { PARTS = 4, LOCALS = 3, RANKS = PARTS * LOCALS, BLOCKS = 8, JOBS = 3, MOST = 100003, GUARD = 64 };
enum { SLOT = (MOST * 16 + 255) / 256 * 256, HALF = (RANKS + 1) * SLOT };
enum { WINDOW = sizeof(struct tutti_channel_flags) + 2 * HALF, BUFFER = MOST * 16 + 2 * GUARD + 256 };
enum { ONESHOT, TWOSHOT, DIRECT, KERNELS };

static const size_t counts[] = {0, 1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 1000, 4097, 30000, MOST};

struct words {
    uint32_t abort, done[PARTS], where[PARTS];
};

static int gpus;
static void *context[PARTS], *stream[PARTS], *module[PARTS][TUTTI_FATBINS];
static uint64_t window[PARTS], in_room[JOBS][RANKS], out_room[JOBS][RANKS];
static unsigned char *host[RANKS], *wanted[JOBS], *got;
static struct words *words;

/* Room of `rank` lies on the GPU of the participant that holds it; ranks are dealt out in turn. */
static int open_gpus(void)
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return 0;
#define X(field, name, parameters)                                                                                     \
    *(void **)(void *)&field = dlsym(library, name);                                                                   \
    if (!field)                                                                                                        \
        return 0;
    DRIVER(X)
#undef X
    /* A kernel that is loaded at its first launch would wait for the ones that wait for it. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    return init(0) == 0 && device_count(&gpus) == 0 && gpus > 0;
}

static int setup(void **state)
{
    (void)state;
    void *of_gpu[PARTS] = {0};
    gpus = gpus < PARTS ? gpus : PARTS;
    for (int g = 0; g < gpus; g++)
        FINE(retain(&of_gpu[g], g));
    for (int g = 0; g < gpus; g++) {
        FINE(set_current(of_gpu[g]));
        for (int p = 0; p < gpus; p++) {
            if (p != g && enable_peer(of_gpu[p], 0) != 0)
                gpus = 1;
        }
    }
    for (int p = 0; p < PARTS; p++) {
        context[p] = of_gpu[p % gpus];
        FINE(set_current(context[p]));
        FINE(stream_create(&stream[p], 1));
        FINE(alloc(&window[p], WINDOW));
        for (int i = 0; i < TUTTI_FATBINS; i++) {
            if (p < gpus)
                FINE(module_load(&module[p][i], tutti_fatbin(i).data));
            module[p][i] = module[p % gpus][i];
        }
        for (int r = p; r < RANKS; r += PARTS) {
            for (int j = 0; j < JOBS; j++) {
                FINE(alloc(&in_room[j][r], BUFFER));
                FINE(alloc(&out_room[j][r], BUFFER));
            }
        }
    }
    for (int r = 0; r < RANKS; r++)
        host[r] = malloc(BUFFER);
    for (int j = 0; j < JOBS; j++)
        wanted[j] = malloc(MOST * 16);
    got = malloc(BUFFER);
    FINE(alloc_host((void **)&words, sizeof *words, 3)); /* portable and mapped */
    printf("%d GPUs for %d participants\n", gpus, PARTS);
    return 0;
}

struct job {
    int kernel, type, op, in_place;
    unsigned in_at[RANKS], out_at[RANKS];
    size_t count;
};

static unsigned parts, ranks;

static void lay(uint64_t room, unsigned at, const void *from, size_t bytes)
{
    FINE(fill(room, 0xa5, BUFFER));
    if (from && bytes)
        FINE(copy(room + at, (uint64_t)(uintptr_t)from, bytes));
}

static void make_job(uint64_t *random, struct job *job, int j)
{
    static const unsigned offsets[] = {0, 0, 0, 1, 2, 4, 8};
    const size_t size = tutti_type_size(job->type);
    const void *in[RANKS];
    job->count = counts[exact_random(random) % (sizeof counts / sizeof *counts)];
    job->in_place = (int)(exact_random(random) % 2);
    const int same = (int)(exact_random(random) % 3);
    const unsigned common = offsets[exact_random(random) % 7];
    for (unsigned r = 0; r < ranks; r++) {
        job->in_at[r] = GUARD + (same ? common : offsets[exact_random(random) % 7]);
        job->out_at[r] = GUARD + (same ? common : offsets[exact_random(random) % 7]);
        exact_fill(random, job->type, host[r], job->count);
        lay(in_room[j][r], job->in_at[r], host[r], job->count * size);
        lay(out_room[j][r], job->out_at[r], NULL, 0);
        in[r] = host[r];
    }
    tutti_reduce_host(job->type, job->op, (int)ranks, in, wanted[j], job->count);
}

static void launch_job(const struct job *job, int j, int half, uint32_t epoch, uint32_t finished, unsigned blocks,
                       unsigned part)
{
    char name[TUTTI_FATBIN_NAME];
    void *function, *parameters[2];
    struct tutti_sense sense = tutti_kernel_served(job->type, job->op).sense;
    struct tutti_kernel_args args = {0};
    const int image = tutti_fatbin_kernel(job->kernel, job->type, job->op, name);
    assert_true(image >= 0);
    FINE(get_function(&function, module[part][image], name));
    args.count = job->count;
    args.slice = (job->count + parts - 1) / parts;
    if (j % 2)
        args.slice = (args.slice + 255) / 256 * 256;
    args.ranks = ranks;
    args.gpus = parts;
    args.gpu = part;
    args.epoch = epoch;
    args.blocks = blocks;
    args.finished = finished;
    args.slot_bytes = SLOT;
    args.slots = sizeof(struct tutti_channel_flags) + (half ? HALF : 0);
    args.result = args.slots + RANKS * SLOT;
    for (unsigned r = 0; r < ranks; r++) {
        const int own = r % parts == part;
        if (own)
            args.local[args.locals++] = (uint16_t)r;
        if (own || job->kernel == DIRECT) {
            const uint64_t in = in_room[j][r] + job->in_at[r], out = out_room[j][r] + job->out_at[r];
            args.in[r] = (const void *)(uintptr_t)in;
            args.out[args.outs++] = (void *)(uintptr_t)(job->in_place ? in : out);
        }
    }
    for (unsigned p = 0; p < parts; p++)
        args.window[p] = (void *)(uintptr_t)window[p];
    args.abort = &words->abort;
    args.done = &words->done[part];
    args.where = &words->where[part];
    args.timeout_ns = 20000000000u;
    parameters[0] = &args;
    parameters[1] = &sense;
    FINE(set_current(context[part]));
    FINE(launch(function, blocks, 1, 1, TUTTI_FATBIN_THREADS, 1, 1, 0, stream[part], parameters, NULL));
}

static int streams_idle(uint64_t limit_ns)
{
    const uint64_t start = tutti_now_ns();
    for (unsigned p = 0; p < parts; p++) {
        int state;
        FINE(set_current(context[p]));
        while ((state = stream_query(stream[p])) == 600 && tutti_now_ns() - start < limit_ns)
            tutti_pause();
        if (state != 0)
            fail_msg("stream of participant %u: driver error %d", p, state);
    }
    return 1;
}

static uint32_t make_team(uint64_t *random, uint32_t epoch)
{
    struct tutti_channel_flags fresh = {0};
    fresh.finished = (uint32_t)exact_random(random) | 0xfffffff0u;
    for (int f = 0; f < TUTTI_FLAG_PHASES * TUTTI_MAX_GPUS * TUTTI_MAX_BLOCKS; f++)
        (&fresh.flag[0][0][0])[f] = epoch;
    for (unsigned p = 0; p < PARTS; p++) {
        FINE(copy(window[p], (uint64_t)(uintptr_t)&fresh, sizeof fresh));
        FINE(fill(window[p] + sizeof fresh, 0xee, 1 << 16));
    }
    memset(words, 0, sizeof *words);
    return fresh.finished;
}

static void series(uint64_t *random, struct job job[JOBS])
{
    parts = 1 + (unsigned)(exact_random(random) % PARTS);
    ranks = parts * (1 + (unsigned)(exact_random(random) % LOCALS));
    const unsigned blocks = 1 + (unsigned)(exact_random(random) % BLOCKS);
    uint32_t epoch = (uint32_t)exact_random(random) / 2 + 1, finished = make_team(random, epoch);
    int half = 0;
    for (int j = 0; j < JOBS; j++)
        make_job(random, &job[j], j);
    for (int j = 0; j < JOBS; j++) {
        epoch++;
        finished += blocks;
        half ^= job[j].kernel != DIRECT;
        for (unsigned p = 0; p < parts; p++)
            launch_job(&job[j], j, half, epoch, finished, blocks, p);
    }
    streams_idle(60000000000u);
    for (unsigned p = 0; p < parts; p++)
        assert_int_equal(words->done[p], epoch);
    for (int j = 0; j < JOBS; j++) {
        const size_t bytes = job[j].count * tutti_type_size(job[j].type);
        for (unsigned r = 0; r < ranks; r++) {
            const unsigned at = job[j].in_place ? job[j].in_at[r] : job[j].out_at[r];
            FINE(copy((uint64_t)(uintptr_t)got, job[j].in_place ? in_room[j][r] : out_room[j][r], bytes + at + GUARD));
            size_t bad = 0;
            while (bad < bytes && got[at + bad] == wanted[j][bad])
                bad++;
            if (bad < bytes)
                fail_msg(
                    "kernel %d, %s %s, %u participants, %u ranks, %u blocks, %zu elements, in place %d, launch %d, "
                    "rank %u: byte %zu of %zu is %02x, not %02x",
                    job[j].kernel, tutti_type_name(job[j].type), tutti_op_name(job[j].op), parts, ranks, blocks,
                    job[j].count, job[j].in_place, j, r, bad, bytes, got[at + bad], wanted[j][bad]);
            for (unsigned i = 0; i < GUARD; i++) {
                if (got[at - 1 - i] != 0xa5 || got[at + bytes + i] != 0xa5)
                    fail_msg("kernel %d, %s %s: a guard byte was written", job[j].kernel, tutti_type_name(job[j].type),
                             tutti_op_name(job[j].op));
            }
        }
    }
}

static void every_pair(void **state)
{
    (void)state;
    uint64_t random = exact_seed();
    long launches = 0;
    for (int type = 0; type < TUTTI_TYPES; type++) {
        for (int op = 0; op < TUTTI_OPS; op++) {
            for (int kernel = 0; tutti_has_kernel(type, op) && kernel < KERNELS; kernel++) {
                struct job job[JOBS];
                for (int j = 0; j < JOBS; j++)
                    job[j] = (struct job){.kernel = kernel, .type = type, .op = op};
                series(&random, job);
                launches += JOBS * (int)parts;
            }
        }
    }
    printf("%ld launches\n", launches);
}

/* A participant alone: abort ends it, so does the time limit; `done` stays, `where` says for whom it waited. */
static void peer_absent(void **state)
{
    (void)state;
    uint64_t random = exact_seed() + 1;
    struct job job = {.kernel = TWOSHOT, .type = TUTTI_TYPE_F32, .op = TUTTI_OP_SUM};
    parts = 2;
    ranks = 2;
    const uint32_t finished = make_team(&random, 6);
    do
        make_job(&random, &job, 0);
    while (job.count < 1000);
    launch_job(&job, 0, 0, 7, finished + 2, 2, 0);
    const uint64_t start = tutti_now_ns();
    while (tutti_now_ns() - start < 50000000)
        assert_int_equal(stream_query(stream[0]), 600);
    assert_int_equal(*(volatile uint32_t *)&words->where[0], 1);
    *(volatile uint32_t *)&words->abort = 1;
    streams_idle(5000000000u);
    assert_int_equal(words->done[0], 0);
    struct tutti_channel_flags after;
    FINE(copy((uint64_t)(uintptr_t)&after, window[0], sizeof after));
    assert_int_equal(after.finished, finished + 2);
    assert_int_equal(after.left, 7);
}

int main(void)
{
    exact_seed();
    if (!open_gpus()) {
        printf("no CUDA driver or no GPU: skipped\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair),
        cmocka_unit_test(peer_absent),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
