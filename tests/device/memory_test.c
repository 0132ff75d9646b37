/* Memory of a device: allocations, what pointers are, copies. memory_test DEVICE */
#include "kit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tutti/tutti.h"

static struct tutti_memory classify(const void *pointer)
{
    struct tutti_memory memory;
    memset(&memory, 0x77, sizeof memory);
    device->memory.classify(pointer, &memory);
    return memory;
}

static void assert_host(const void *pointer)
{
    assert_int_equal(classify(pointer).kind, TUTTI_MEMORY_HOST);
}

static void test_identity(void **state)
{
    (void)state;
    unsigned char first[16], second[16];
    char text[256] = "", why[256];
    int gpus = device->gpu.count(), gpu = -2;
    assert_int_equal(device->open(why, sizeof why), TUTTI_OK); /* again: the first result */
    assert_true(gpus >= 1);
    assert_int_equal(device->gpu.describe(0, text, sizeof text), TUTTI_OK);
    assert_true(strlen(text) > 8);
    assert_int_equal(device->gpu.uuid(0, first), TUTTI_OK);
    assert_int_equal(device->gpu.uuid(0, second), TUTTI_OK);
    assert_memory_equal(first, second, 16);
    assert_int_equal(device->gpu.reach(0, first), 2);
    if (gpus > 1) {
        assert_int_equal(device->gpu.uuid(gpus - 1, second), TUTTI_OK);
        assert_true(memcmp(first, second, 16) != 0);
    }
    assert_int_equal(device->gpu.choose(gpus - 1), TUTTI_OK);
    assert_int_equal(device->gpu.current(&gpu), TUTTI_OK);
    assert_int_equal(gpu, gpus - 1);
    assert_true(device->gpu.choose(gpus) < 0);
    assert_true(device->gpu.choose(-1) < 0);
    assert_int_equal(device->gpu.current(&gpu), TUTTI_OK);
    assert_int_equal(gpu, gpus - 1);
    assert_int_equal(device->gpu.choose(0), TUTTI_OK);
    assert_true(device->gpu.blocks(0) >= 1 && device->gpu.blocks(0) <= TUTTI_MAX_BLOCKS);
}

static void test_classify(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 255, 256, 4096, 4097, 1 << 20, (5 << 20) + 1};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    char *made[SIZES], *ordinary = malloc(100);
    int local = 0;
    uint64_t ids[SIZES];
    assert_non_null(ordinary);
    for (int i = 0; i < SIZES; i++) {
        made[i] = kit_alloc(sizes[i]);
        assert_int_equal(device->active(), 1);
    }
    for (int i = 0; i < SIZES; i++) {
        const size_t offsets[] = {0, sizes[i] / 2, sizes[i] - 1};
        ids[i] = classify(made[i]).id;
        for (int j = 0; j < 3; j++) {
            struct tutti_memory memory = classify(made[i] + offsets[j]);
            assert_int_equal(memory.kind, TUTTI_MEMORY_DEVICE);
            assert_ptr_equal(memory.base, made[i]);
            assert_true(memory.bytes >= sizes[i] && memory.bytes < sizes[i] + (2 << 20));
            assert_int_equal(memory.id, ids[i]);
            assert_true(memory.gpu == (kit_is("host") ? -1 : 0));
        }
        for (int j = 0; j < i; j++)
            assert_true(ids[j] != ids[i]);
        /* Behind its end is something else. */
        struct tutti_memory behind = classify(made[i] + classify(made[i]).bytes);
        assert_true(behind.kind == TUTTI_MEMORY_HOST || behind.id != ids[i]);
    }
    assert_host(&local);
    assert_host(ordinary);
    assert_host(NULL);
    assert_host((void *)8);
    assert_host((void *)(UINTPTR_MAX - 8));
    assert_host("text");
    assert_int_equal(tutti_is_device(ordinary), 0);
    for (int i = 0; i < SIZES; i++) {
        kit_free(made[i]);
        assert_true(classify(made[i]).id != ids[i]);
    }
    free(ordinary);
    assert_int_equal(device->memory.free(NULL), TUTTI_OK);
}

/* The address may come back, the number of an allocation never does. */
static void test_ids(void **state)
{
    (void)state;
    enum { TIMES = 300 };
    static uint64_t ids[TIMES];
    static void *addresses[TIMES];
    int back = 0;
    for (int i = 0; i < TIMES; i++) {
        void *made = kit_alloc(1 << 20);
        ids[i] = classify(made).id;
        addresses[i] = made;
        for (int j = 0; j < i; j++) {
            assert_true(ids[j] != ids[i]);
            back += addresses[j] == made;
        }
        kit_free(made);
    }
    assert_true(back > 0);
}

/* Copies between all kinds of memory, at odd addresses and sizes; bytes around are not touched. */
enum { ROOM = (1 << 20) + 4096 };
static void *spaces[5]; /* two of the device, ordinary, pinned, mapped into the device */
enum { SPACES = 5 };

static void copy_case(struct tutti_stream *stream, int to, int from, size_t to_at, size_t from_at, size_t bytes)
{
    static uint64_t seed = 1000;
    unsigned char *into = spaces[to], *out_of = spaces[from];
    seed += 10;
    kit_put(into, to_at + bytes + 64, seed);
    kit_put(out_of + from_at, bytes, seed + 1);
    unsigned char *before = malloc(ROOM), *after = malloc(ROOM), *wanted = malloc(ROOM);
    assert_true(before && after && wanted);
    assert_int_equal(device->memory.copy_now(before, into, to_at + bytes + 64), TUTTI_OK);
    if (stream) {
        assert_int_equal(device->stream.copy(stream, into + to_at, out_of + from_at, bytes), TUTTI_OK);
        assert_int_equal(device->stream.sync(stream), TUTTI_OK);
    } else {
        assert_int_equal(device->memory.copy_now(into + to_at, out_of + from_at, bytes), TUTTI_OK);
    }
    assert_int_equal(device->memory.copy_now(after, into, to_at + bytes + 64), TUTTI_OK);
    kit_pattern(wanted, bytes, seed + 1);
    assert_memory_equal(after, before, to_at);
    assert_memory_equal(after + to_at, wanted, bytes);
    assert_memory_equal(after + to_at + bytes, before + to_at + bytes, 64);
    free(before);
    free(after);
    free(wanted);
}

static void test_copies(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 7, 8, 255, 4096, 65537, 1 << 20};
    static const size_t places[][2] = {{0, 0}, {1, 0}, {0, 3}, {13, 7}, {256, 1}};
    struct tutti_stream *stream;
    void *mapped = NULL;
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    spaces[0] = kit_alloc(ROOM);
    spaces[1] = kit_alloc(ROOM);
    spaces[2] = malloc(ROOM);
    assert_non_null(spaces[2]);
    assert_int_equal(device->memory.alloc_pinned(ROOM, &spaces[3]), TUTTI_OK);
    assert_int_equal(posix_memalign(&spaces[4], 4096, (ROOM + 4095) / 4096 * 4096), 0);
    assert_int_equal(device->memory.map_host(0, spaces[4], (ROOM + 4095) / 4096 * 4096, &mapped), TUTTI_OK);
    assert_non_null(mapped);
    int kind = (int)classify(spaces[3]).kind;
    assert_true(kind == TUTTI_MEMORY_HOST || kind == TUTTI_MEMORY_PINNED);
    assert_int_equal(tutti_is_device(spaces[3]), 0);
    assert_int_equal(tutti_is_device(spaces[0]), 1);
    memset(spaces[3], 1, ROOM); /* the host may store into it */
    for (int to = 0; to < SPACES; to++)
        for (int from = 0; from < SPACES; from++)
            for (size_t s = 0; to != from && s < sizeof sizes / sizeof sizes[0]; s++)
                for (size_t p = 0; p < sizeof places / sizeof places[0]; p++)
                    if (sizes[s] < 65536 || p == 3) {
                        copy_case(NULL, to, from, places[p][0], places[p][1], sizes[s]);
                        copy_case(stream, to, from, places[p][0], places[p][1], sizes[s]);
                    }
    assert_int_equal(device->memory.unmap_host(0, spaces[4]), TUTTI_OK);
    free(spaces[4]);
    assert_int_equal(device->memory.free_pinned(spaces[3]), TUTTI_OK);
    assert_int_equal(device->memory.free_pinned(NULL), TUTTI_OK);
    free(spaces[2]);
    kit_free(spaces[1]);
    kit_free(spaces[0]);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
}

static void test_fill(void **state)
{
    (void)state;
    enum { BYTES = 5000 };
    struct tutti_stream *stream;
    unsigned char *a = kit_alloc(BYTES), got[BYTES];
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    for (size_t at = 0; at < 20; at += 3) {
        size_t bytes = BYTES - 2 * at - 1;
        assert_int_equal(device->stream.fill(stream, a, 0x11, BYTES), TUTTI_OK);
        assert_int_equal(device->stream.fill(stream, a + at, 0xee, bytes), TUTTI_OK);
        assert_int_equal(device->stream.fill(stream, a, 0, 0), TUTTI_OK);
        assert_int_equal(device->stream.sync(stream), TUTTI_OK);
        assert_int_equal(device->memory.copy_now(got, a, BYTES), TUTTI_OK);
        for (size_t i = 0; i < BYTES; i++)
            assert_int_equal(got[i], i >= at && i < at + bytes ? 0xee : 0x11);
    }
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
    kit_free(a);
}

/* Static data that kernels are to reach: looked at before, and known as what it is from the call on. */
static void test_mapped_data(void **state)
{
    enum { PAGE = 4096 };
    static char data[3 * PAGE] __attribute__((aligned(PAGE)));
    (void)state;
    for (int round = 0; round < 2; round++) {
        void *mapped = NULL;
        for (int page = 0; page < 3; page++) {
            assert_host(data + page * PAGE);
            assert_host(data + page * PAGE + 1);
        }
        assert_int_equal(device->memory.map_host(0, data, 2 * PAGE, &mapped), TUTTI_OK);
        assert_int_equal(classify(data).kind, TUTTI_MEMORY_PINNED);
        assert_int_equal(classify(data + 2 * PAGE - 1).kind, TUTTI_MEMORY_PINNED);
        assert_host(data + 2 * PAGE);
        assert_int_equal(device->memory.unmap_host(0, data), TUTTI_OK);
    }
}

/* More than there is: an error, nothing set, and the device goes on. */
static void test_too_much(void **state)
{
    (void)state;
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 60, (size_t)1 << 46};
    int mark;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *made = &mark;
        assert_int_equal(device->memory.alloc(-1, sizes[i], &made), TUTTI_ERR_MEMORY);
        assert_ptr_equal(made, &mark);
    }
    char *small = kit_alloc(100);
    kit_put(small, 100, 5);
    assert_true(kit_holds(small, 100, 5));
    kit_free(small);
    void *none = kit_alloc(0); /* may be freed as any other */
    kit_free(none);
}

/* Threads allocate, copy, ask and free at once. */
struct worker {
    int number;
    int failed;
};

static void *work(void *with)
{
    struct worker *worker = with;
    enum { TIMES = 150, BYTES = 9000 };
    unsigned char in[BYTES], out[BYTES];
    for (int i = 0; i < TIMES; i++) {
        void *made = NULL;
        struct tutti_memory memory;
        size_t bytes = (size_t)(1 + (i * 61 + worker->number * 17) % BYTES);
        kit_pattern(in, bytes, (uint64_t)(i * 10 + worker->number));
        if (device->memory.alloc(-1, bytes, &made) != TUTTI_OK) {
            worker->failed++;
            continue;
        }
        device->memory.classify((char *)made + bytes - 1, &memory);
        int wrong = memory.kind != TUTTI_MEMORY_DEVICE || memory.base != made;
        wrong |= device->memory.copy_now(made, in, bytes) != TUTTI_OK ||
                 device->memory.copy_now(out, made, bytes) != TUTTI_OK;
        wrong |= memcmp(in, out, bytes) != 0;
        device->memory.classify(in, &memory);
        wrong |= memory.kind != TUTTI_MEMORY_HOST;
        wrong |= device->memory.free(made) != TUTTI_OK;
        worker->failed += wrong;
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (struct worker){t, 0};
        assert_int_equal(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_int_equal(workers[t].failed, 0);
    }
}

/* The public calls, over the same device (TUTTI_DEVICE names it). */
static void test_public(void **state)
{
    (void)state;
    char in[1000], out[1000];
    void *made = NULL;
    kit_pattern(in, sizeof in, 9);
    assert_string_equal(tutti_device_name(), device->name);
    assert_string_equal(tutti_version(), TUTTI_VERSION);
    assert_string_equal(tutti_status_text(TUTTI_OK), "success");
    assert_int_equal(tutti_gpu_count(), device->gpu.count());
    assert_int_equal(tutti_gpu_set(0), TUTTI_OK);
    assert_true(tutti_gpu_set(device->gpu.count()) < 0);
    assert_int_equal(tutti_alloc(sizeof in, &made), TUTTI_OK);
    assert_int_equal((uintptr_t)made % 256, 0);
    assert_int_equal(tutti_is_device(made), 1);
    assert_int_equal(tutti_is_device((char *)made + sizeof in - 1), 1);
    assert_int_equal(tutti_is_device(in), 0);
    assert_int_equal(tutti_copy(made, in, sizeof in), TUTTI_OK);
    assert_int_equal(tutti_copy(out, made, sizeof out), TUTTI_OK);
    assert_memory_equal(in, out, sizeof in);
    assert_int_equal(tutti_copy(NULL, NULL, 0), TUTTI_OK);
    assert_int_equal(tutti_copy(NULL, in, 1), TUTTI_ERR_ARGUMENT);
    assert_int_equal(tutti_alloc(1, NULL), TUTTI_ERR_ARGUMENT);
    assert_int_equal(tutti_alloc(SIZE_MAX, &made), TUTTI_ERR_MEMORY);
    assert_int_equal(tutti_free(made), TUTTI_OK);
    assert_int_equal(tutti_free(NULL), TUTTI_OK);
    memset(out, 0, sizeof out);
    assert_int_equal(tutti_copy(out, in, sizeof in), TUTTI_OK);
    assert_memory_equal(in, out, sizeof in);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity), cmocka_unit_test(test_classify), cmocka_unit_test(test_ids),
        cmocka_unit_test(test_copies),   cmocka_unit_test(test_fill),     cmocka_unit_test(test_mapped_data),
        cmocka_unit_test(test_too_much), cmocka_unit_test(test_threads),  cmocka_unit_test(test_public),
    };
    int status = kit_open(argc > 1 ? argv[1] : "host");
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
