/* The kernels as they meet each other: threads as blocks of several GPUs, several launches in a row without any other
 * synchronisation, results to the bit those of tutti_reduce_host(); and what happens when a peer does not come. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/clock.h"
#include "device/device.h"
#include "exact.h"
#include "kernels/args.h"
#include "kernels/reduce.h"

enum { GPUS = 4, LOCALS = 3, RANKS = GPUS * LOCALS, BLOCKS = 3, JOBS = 5, MOST = 4097, GUARD = 64 };
enum { SLOT = (MOST * 16 + 255) / 256 * 256, HALF = (RANKS + 1) * SLOT };
enum { WINDOW = sizeof(struct tutti_channel_flags) + 2 * HALF, BUFFER = MOST * 16 + 2 * GUARD + 16 };

struct job {
    enum tutti_kernel kernel;
    int type, op, in_place;
    size_t count;
    unsigned char *in[RANKS], *out[RANKS];
    struct tutti_kernel_args args[GPUS];
};

/* Kernels that take struct tutti_kernel_args; those of flows are tested in tests/coll/; those of
 * atomics and updates in tests/shmem/ and tests/mpi/rma/. */
#define TAKES_kernel(id) TUTTI_KERNEL_##id,
#define TAKES_flow(id)
#define TAKES_amo(id)
#define TAKES_update(id)
static const enum tutti_kernel kernels[] = {
#define TUTTI_KERNEL(id, name, args, part) TAKES_##args(id)
#include "kernels/kernels.def"
#undef TUTTI_KERNEL
};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

static unsigned char *window[GPUS], *in_room[JOBS][RANKS], *out_room[JOBS][RANKS];
static struct job job[JOBS];
static unsigned gpus, ranks, blocks;
static _Atomic uint32_t abort_word;
static uint32_t done[GPUS], where[GPUS];
static _Atomic int wrong;
static pthread_barrier_t stream[GPUS];

static int setup(void **state)
{
    (void)state;
    for (int g = 0; g < GPUS; g++)
        window[g] = aligned_alloc(256, (WINDOW + 255) / 256 * 256);
    for (int j = 0; j < JOBS; j++) {
        for (int r = 0; r < RANKS; r++) {
            in_room[j][r] = aligned_alloc(64, (BUFFER + 63) / 64 * 64);
            out_room[j][r] = aligned_alloc(64, (BUFFER + 63) / 64 * 64);
        }
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int g = 0; g < GPUS; g++)
        free(window[g]);
    for (int j = 0; j < JOBS; j++) {
        for (int r = 0; r < RANKS; r++) {
            free(in_room[j][r]);
            free(out_room[j][r]);
        }
    }
    return 0;
}

static struct tutti_channel_flags *flags(unsigned gpu)
{
    return (struct tutti_channel_flags *)(void *)window[gpu];
}

static uint32_t next_epoch(uint32_t epoch)
{
    return epoch + 1 ? epoch + 1 : 1;
}

/* A team of up to GPUS GPUs with up to LOCALS ranks each, in no particular order; nothing launched yet. */
static void make_team(uint64_t *random, unsigned fixed_gpus, unsigned owner[RANKS])
{
    gpus = fixed_gpus ? fixed_gpus : 1 + (unsigned)(exact_random(random) % GPUS);
    blocks = 1 + (unsigned)(exact_random(random) % BLOCKS);
    ranks = 0;
    for (unsigned g = 0; g < gpus; g++) {
        for (unsigned l = 1 + (unsigned)(exact_random(random) % LOCALS); l > 0; l--)
            owner[ranks++] = g;
    }
    for (unsigned r = ranks; r > 1; r--) { /* shuffled: local ranks need not be neighbours */
        const unsigned other = (unsigned)(exact_random(random) % r), moved = owner[r - 1];
        owner[r - 1] = owner[other];
        owner[other] = moved;
    }
    const uint32_t finished = (uint32_t)exact_random(random) | 0xfffffff0u;
    for (unsigned g = 0; g < gpus; g++) {
        memset(window[g], 0, sizeof(struct tutti_channel_flags));
        memset(window[g] + sizeof(struct tutti_channel_flags), 0xee, 2 * HALF);
        flags(g)->finished = finished;
        done[g] = where[g] = 0;
    }
}

static unsigned char *lay(unsigned char *room, unsigned offset, size_t bytes)
{
    memset(room, 0xa5, GUARD + offset);
    memset(room + GUARD + offset + bytes, 0xa5, GUARD);
    return room + GUARD + offset;
}

/* half: of the window. It changes with every launch that exchanges; a direct one holds nobody back. */
static void make_job(uint64_t *random, struct job *it, int number, int half, uint32_t epoch, uint32_t finished,
                     const unsigned owner[RANKS])
{
    static const size_t counts[] = {0, 1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 1000, 4097};
    static const unsigned offsets[] = {0, 0, 1, 2, 4, 8};
    const size_t size = tutti_type_size(it->type);
    it->count = counts[exact_random(random) % 13];
    it->in_place = (int)(exact_random(random) % 2);
    const int same = (int)(exact_random(random) % 2);
    const unsigned common = offsets[exact_random(random) % 6];
    for (unsigned r = 0; r < ranks; r++) {
        const unsigned a = same ? common : offsets[exact_random(random) % 6];
        const unsigned b = same ? common : offsets[exact_random(random) % 6];
        it->in[r] = lay(in_room[number][r], a, it->count * size);
        it->out[r] = it->in_place ? it->in[r] : lay(out_room[number][r], b, it->count * size);
        exact_fill(random, it->type, it->in[r], it->count);
    }
    uint64_t slice = (it->count + gpus - 1) / gpus;
    if (exact_random(random) % 2)
        slice = (slice * size + 255) / 256 * 256 / size;
    for (unsigned g = 0; g < gpus; g++) {
        struct tutti_kernel_args *const args = &it->args[g];
        memset(args, 0, sizeof *args);
        args->count = it->count;
        args->slice = slice;
        args->ranks = ranks;
        args->gpus = gpus;
        args->gpu = g;
        args->epoch = epoch;
        args->blocks = blocks;
        args->finished = finished;
        args->slot_bytes = SLOT;
        args->slots = sizeof(struct tutti_channel_flags) + (half ? HALF : 0);
        args->result = args->slots + RANKS * SLOT;
        for (unsigned r = 0; r < ranks; r++) {
            if (owner[r] == g)
                args->local[args->locals++] = (uint16_t)r;
            if (owner[r] == g || it->kernel == TUTTI_KERNEL_DIRECT) {
                args->in[r] = it->in[r];
                args->out[args->outs++] = it->out[r];
            }
        }
        for (unsigned p = 0; p < gpus; p++)
            args->window[p] = window[p];
        args->abort = (const volatile uint32_t *)&abort_word;
        args->done = &done[g];
        args->where = &where[g];
        args->timeout_ns = 60000000000u;
    }
}

struct thread {
    pthread_t id;
    unsigned gpu, block;
    int jobs;
    uint64_t random;
};

static void *run_block(void *with)
{
    struct thread *const me = with;
    for (int j = 0; j < me->jobs; j++) {
        if (exact_random(&me->random) % 4 == 0)
            usleep((useconds_t)(exact_random(&me->random) % 300));
        tutti_kernel_host((int)job[j].kernel, job[j].type, job[j].op, &job[j].args[me->gpu], me->block);
        pthread_barrier_wait(&stream[me->gpu]); /* a stream's next launch follows when all blocks have ended */
        if (me->block == 0 && __atomic_load_n(&done[me->gpu], __ATOMIC_ACQUIRE) != job[j].args[me->gpu].epoch)
            atomic_fetch_add(&wrong, 1);
    }
    return NULL;
}

static void run_jobs(uint64_t *random, int jobs)
{
    struct thread thread[GPUS * BLOCKS];
    unsigned n = 0;
    atomic_store(&wrong, 0);
    for (unsigned g = 0; g < gpus; g++)
        pthread_barrier_init(&stream[g], NULL, blocks);
    for (unsigned g = 0; g < gpus; g++) {
        for (unsigned b = 0; b < blocks; b++, n++) {
            thread[n] = (struct thread){.gpu = g, .block = b, .jobs = jobs, .random = exact_random(random)};
            assert_int_equal(pthread_create(&thread[n].id, NULL, run_block, &thread[n]), 0);
        }
    }
    while (n > 0)
        pthread_join(thread[--n].id, NULL);
    for (unsigned g = 0; g < gpus; g++)
        pthread_barrier_destroy(&stream[g]);
}

static void check_guards(const unsigned char *at, size_t bytes, const char *what)
{
    for (int i = 1; i <= GUARD; i++) {
        if (at[-i] != 0xa5 || at[bytes + (size_t)i - 1] != 0xa5)
            fail_msg("%s: a guard byte was written", what);
    }
}

/* Each job's inputs are kept as they were, or are the results; the wanted result was computed before. */
static void series(uint64_t *random, int jobs)
{
    static unsigned char wanted[JOBS][MOST * 16];
    unsigned owner[RANKS];
    make_team(random, 0, owner);
    uint32_t epoch = exact_random(random) % 2 ? 0xfffffffdu : (uint32_t)exact_random(random) | 1;
    for (unsigned g = 0; g < gpus; g++) { /* as earlier launches left them */
        for (int f = 0; f < TUTTI_FLAG_PHASES * TUTTI_MAX_GPUS * TUTTI_MAX_BLOCKS; f++)
            (&flags(g)->flag[0][0][0])[f] = epoch;
    }
    uint32_t finished = flags(0)->finished;
    int half = 0;
    for (int j = 0; j < jobs; j++) {
        finished += blocks;
        epoch = next_epoch(epoch);
        half ^= job[j].kernel != TUTTI_KERNEL_DIRECT;
        make_job(random, &job[j], j, half, epoch, finished, owner);
        tutti_reduce_host(job[j].type, job[j].op, (int)ranks, (const void *const *)job[j].in, wanted[j], job[j].count);
    }
    run_jobs(random, jobs);
    assert_int_equal(atomic_load(&wrong), 0);
    for (int j = 0; j < jobs; j++) {
        const size_t bytes = job[j].count * tutti_type_size(job[j].type);
        char what[200];
        for (unsigned r = 0; r < ranks; r++) {
            snprintf(what, sizeof what,
                     "kernel %d, %s %s, %u GPUs, %u ranks, %u blocks, %zu elements, in place %d, launch %d, rank %u",
                     (int)job[j].kernel, tutti_type_name(job[j].type), tutti_op_name(job[j].op), gpus, ranks, blocks,
                     job[j].count, job[j].in_place, j, r);
            if (memcmp(job[j].out[r], wanted[j], bytes) != 0)
                fail_msg("%s: wrong result", what);
            check_guards(job[j].out[r], bytes, what);
            check_guards(job[j].in[r], bytes, what);
        }
    }
}

static void every_pair(void **state)
{
    (void)state;
    uint64_t random = exact_seed();
    for (int type = 0; type < TUTTI_TYPES; type++) {
        for (int op = 0; op < TUTTI_OPS; op++) {
            if (!tutti_has_kernel(type, op))
                continue;
            for (int kernel = 0; kernel < KERNELS; kernel++) {
                for (int j = 0; j < JOBS; j++) {
                    job[j].kernel = kernels[kernel];
                    job[j].type = type;
                    job[j].op = op;
                }
                series(&random, JOBS);
            }
        }
    }
}

/* Kernels and types in any order over one channel. A direct one waits for nobody: nothing is asked of the others. */
static void mixed(void **state)
{
    (void)state;
    uint64_t random = exact_seed() + 1;
    for (int round = 0; round < 200; round++) {
        for (int j = 0; j < JOBS; j++) {
            job[j].kernel = kernels[exact_random(&random) % KERNELS];
            do {
                job[j].type = (int)(exact_random(&random) % TUTTI_TYPES);
                job[j].op = (int)(exact_random(&random) % TUTTI_OPS);
            } while (!tutti_has_kernel(job[j].type, job[j].op));
        }
        series(&random, JOBS);
    }
}

/* ---- a peer that does not come ---- */
static void make_lonely(unsigned n_blocks, enum tutti_kernel kernel)
{
    uint64_t random = exact_seed() + 2;
    unsigned owner[RANKS];
    do
        make_team(&random, 2, owner);
    while (blocks != n_blocks);
    job[0].kernel = kernel;
    job[0].type = TUTTI_TYPE_F32;
    job[0].op = TUTTI_OP_SUM;
    do
        make_job(&random, &job[0], 0, 0, 7, flags(0)->finished + blocks, owner);
    while (job[0].count < 1000 || job[0].in_place);
    for (unsigned r = 0; r < ranks; r++)
        memset(job[0].out[r], 0x11, job[0].count * 4);
}

static void check_left(void)
{
    assert_int_equal(done[0], 0);
    assert_int_equal(flags(0)->finished, job[0].args[0].finished);
    assert_int_equal(where[0], 1); /* phase 0, GPU 1 */
    for (unsigned o = 0; o < job[0].args[0].outs; o++) {
        const unsigned char *const out = job[0].args[0].out[o];
        for (size_t i = 0; i < job[0].count * 4; i++)
            assert_int_equal(out[i], 0x11);
    }
}

static void *abort_soon(void *with)
{
    (void)with;
    usleep(30000);
    atomic_store(&abort_word, 1);
    return NULL;
}

/* Launched alone and told to leave, long before its time is up. */
static void run_and_abort(int kernel)
{
    pthread_t thread;
    const uint64_t start = tutti_now_ns();
    assert_int_equal(pthread_create(&thread, NULL, abort_soon, NULL), 0);
    tutti_kernel_host(kernel, TUTTI_TYPE_F32, TUTTI_OP_SUM, &job[0].args[0], 0);
    assert_true(tutti_now_ns() - start < job[0].args[0].timeout_ns / 4);
    pthread_join(thread, NULL);
    atomic_store(&abort_word, 0);
}

static int host_says_leave(void *with)
{
    return ++*(int *)with >= 3;
}

static void peer_absent(void **state)
{
    (void)state;
    for (int kernel = TUTTI_KERNEL_ONESHOT; kernel <= TUTTI_KERNEL_TWOSHOT; kernel++) {
        make_lonely(1, (enum tutti_kernel)kernel);
        run_and_abort(kernel);
        check_left();

        make_lonely(1, (enum tutti_kernel)kernel);
        job[0].args[0].timeout_ns = 20000000;
        const uint64_t start = tutti_now_ns();
        tutti_kernel_host(kernel, TUTTI_TYPE_F32, TUTTI_OP_SUM, &job[0].args[0], 0);
        assert_true(tutti_now_ns() - start >= 20000000);
        check_left();

        int calls = 0;
        make_lonely(1, (enum tutti_kernel)kernel);
        job[0].args[0].host_wait = host_says_leave;
        job[0].args[0].host_wait_with = &calls;
        tutti_kernel_host(kernel, TUTTI_TYPE_F32, TUTTI_OP_SUM, &job[0].args[0], 0);
        assert_int_equal(calls, 3);
        check_left();
    }
}

/* The peer has handed over its contributions and comes no further: the second exchange of twoshot is left as well. */
static void peer_stops(void **state)
{
    (void)state;
    make_lonely(1, TUTTI_KERNEL_TWOSHOT);
    flags(0)->flag[0][1][0] = 7;
    run_and_abort(TUTTI_KERNEL_TWOSHOT);
    assert_int_equal(where[0], 1 << 16 | 1); /* phase 1, GPU 1 */
    assert_int_equal(done[0], 0);
    assert_int_equal(flags(0)->left, 7);
    assert_int_equal(flags(0)->finished, job[0].args[0].finished);
}

/* Waits for nobody: what this GPU has to do is done though the other one never comes. */
static void direct_alone(void **state)
{
    (void)state;
    make_lonely(1, TUTTI_KERNEL_DIRECT);
    tutti_kernel_host(TUTTI_KERNEL_DIRECT, TUTTI_TYPE_F32, TUTTI_OP_SUM, &job[0].args[0], 0);
    assert_int_equal(done[0], 7);
    assert_int_equal(where[0], 0);
}

/* One of two blocks gets through: the launch is over, but not done. */
static void half_left(void **state)
{
    (void)state;
    make_lonely(2, TUTTI_KERNEL_ONESHOT);
    job[0].args[0].timeout_ns = 20000000;
    flags(0)->flag[0][1][1] = 7;
    tutti_kernel_host(TUTTI_KERNEL_ONESHOT, TUTTI_TYPE_F32, TUTTI_OP_SUM, &job[0].args[0], 0);
    tutti_kernel_host(TUTTI_KERNEL_ONESHOT, TUTTI_TYPE_F32, TUTTI_OP_SUM, &job[0].args[0], 1);
    assert_int_equal(flags(0)->finished, job[0].args[0].finished);
    assert_int_equal(done[0], 0);
}

/* A flag that was last written half the numbers ago does not count as the future; one a launch ahead does. */
static void flags_wrap(void **state)
{
    (void)state;
    static const struct {
        uint32_t flag;
        int through;
    } cases[] = {{7, 1}, {8, 1}, {6, 0}, {7u - 0x80000001u, 0}, {7u + 0x80000001u, 0}, {0xfffffff0u, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_lonely(1, TUTTI_KERNEL_ONESHOT);
        job[0].args[0].timeout_ns = 5000000;
        flags(0)->flag[0][1][0] = cases[i].flag;
        tutti_kernel_host(TUTTI_KERNEL_ONESHOT, TUTTI_TYPE_F32, TUTTI_OP_SUM, &job[0].args[0], 0);
        assert_int_equal(done[0], cases[i].through ? 7 : 0);
    }
}

int main(void)
{
    exact_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_pair, setup, teardown),
        cmocka_unit_test_setup_teardown(mixed, setup, teardown),
        cmocka_unit_test_setup_teardown(peer_absent, setup, teardown),
        cmocka_unit_test_setup_teardown(peer_stops, setup, teardown),
        cmocka_unit_test_setup_teardown(direct_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(half_left, setup, teardown),
        cmocka_unit_test_setup_teardown(flags_wrap, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
