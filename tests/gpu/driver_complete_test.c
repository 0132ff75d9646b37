/* The CUDA device against a pretended driver: copies, of the program and of Tutti, and flags of contexts. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "core/lives.h"
#include "core/status.h"
#include "device/device.h"
#include "fake_libcuda.h"

static const struct tutti_device *const device = &tutti_device_cuda;
static struct fake_control *fake;
enum { PLAIN = 0x08 /* CU_CTX_MAP_HOST, which was set before */, COMPLETE = 0x88 /* CU_CTX_SYNC_MEMOPS besides */ };

/* Synchronous copies of an allocation are complete when they return, from the first question about it on. Copies of
 * other memory in the same context stay as they are. */
static void test_complete_memory(void **state)
{
    (void)state;
    struct tutti_memory memory;
    static char text[64] = "ordinary"; /* the driver is not asked about the stack */
    for (int gpu = 0; gpu < 2; gpu++) {
        fake->current(gpu);
        char *const own = fake->make(gpu, FAKE_MALLOC, 4096), *const other = fake->make(gpu, FAKE_MALLOC, 4096);
        for (int round = 0; round < 3; round++) {
            const unsigned long before = fake->completed;
            device->memory.classify(own + 100 * round, &memory);
            assert_int_equal(memory.gpu, gpu);
            assert_int_equal(fake->completed, before + (round == 0));
        }
        const unsigned long waits = fake->waits;
        assert_int_equal(device->memory.copy_ordinary(gpu, 1, own, text, sizeof text), TUTTI_OK);
        assert_int_equal(device->memory.copy_now(own, text, sizeof text), TUTTI_OK);
        assert_int_equal(fake->waits, waits);
        assert_int_equal(device->memory.copy_now(other, text, sizeof text), TUTTI_OK); /* asked about by no call */
        assert_int_equal(fake->waits, waits + 1);
        assert_int_equal(fake->flags(gpu), PLAIN);
        fake->capturing = fake->make_stream(gpu, 0);
        device->memory.classify(other, &memory);
        fake->capturing = NULL;
        assert_int_equal(fake->flags(gpu), PLAIN);
        assert_int_equal(device->memory.free(own), TUTTI_OK);
        assert_int_equal(device->memory.free(other), TUTTI_OK);
    }
    fake->current(-1);
}

/* Memory of pools has no such attribute: all copies of its context are complete. Other flags stay. It is asked for
 * once. Contexts of other GPUs stay as they are. */
static void test_complete_copies(void **state)
{
    (void)state;
    struct tutti_memory asked;
    void *memory;
    fake->current(0);
    assert_int_equal(device->memory.alloc(0, 100, &memory), TUTTI_OK);
    assert_int_equal(fake->flags(0), PLAIN);
    assert_int_equal(device->memory.free(memory), TUTTI_OK);
    memory = fake->make(0, FAKE_POOL, 4096);
    fake->busy = 3;
    device->memory.classify(memory, &asked);
    assert_int_equal(fake->flags(0), COMPLETE);
    assert_int_equal(fake->busy, 0);
    fake->busy = 3;
    device->memory.classify(memory, &asked);
    device->memory.complete_all(0);
    assert_int_equal(fake->busy, 3);
    fake->busy = 0;
    assert_int_equal(device->memory.free(memory), TUTTI_OK);
    fake->reset(1);
    fake->current(1);
    assert_int_equal(device->memory.alloc(1, 100, &memory), TUTTI_OK);
    assert_int_equal(fake->flags(1), PLAIN);
    assert_int_equal(device->memory.free(memory), TUTTI_OK);
    fake->current(-1);
}

/* The same of a mapping that is the first memory of its GPU: the context in which Tutti works begins with the flag,
 * also one that is made after a reset. */
static void test_complete_later(void **state)
{
    (void)state;
    struct tutti_memory asked;
    void *memory;
    for (int life = 0; life < 2; life++) {
        fake->reset(1);
        fake->current(1);
        assert_int_equal(fake->flags(1), PLAIN);
        if (life == 0) {
            memory = fake->make(1, FAKE_VMM, 4096);
            device->memory.classify(memory, &asked);
            assert_int_equal(device->memory.free(memory), TUTTI_OK);
        }
        assert_int_equal(device->memory.alloc(1, 100, &memory), TUTTI_OK);
        assert_int_equal(fake->flags(1), COMPLETE);
        assert_int_equal(device->memory.free(memory), TUTTI_OK);
    }
    fake->current(-1);
}

/* Calls of the driver by which memory is classified. */
static unsigned long asked(const void *memory)
{
    struct tutti_memory unused;
    const unsigned long before = fake->calls;
    device->memory.classify(memory, &unused);
    return fake->calls - before;
}

/* Two such contexts in turns: each is asked once whether its copies are complete, and later for its number alone, which
 * shows that its handle is not another context's. */
static void test_contexts_in_turns(void **state)
{
    (void)state;
    void *first, *own[2], *context[2];
    fake->current(0);
    assert_int_equal(device->memory.alloc(0, 100, &first), TUTTI_OK);
    fake->current(-1);
    for (int life = 0; life < 2; life++) {
        for (int i = 0; i < 2; i++) {
            context[i] = fake->make_context(0);
            own[i] = fake->make_in(context[i], 4096);
            assert_true(asked(own[i]) > asked(first) + 1);
        }
        for (int round = 0; round < 4; round++)
            assert_int_equal(asked(own[round % 2]), asked(first) + 1);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(device->memory.free(own[i]), TUTTI_OK);
            fake->end_context(context[i]);
        }
    }
    assert_int_equal(device->memory.free(first), TUTTI_OK);
}

/* A program of the driver's API has a context of its own beside the primary one, in which Tutti works already: its
 * copies are complete when they return too, once its memory was seen. Nothing is set or waited for a second time, but
 * in a new context that has the old one's handle. */
static void test_contexts_beside(void **state)
{
    (void)state;
    struct tutti_memory memory;
    void *first, *own;
    fake->current(0);
    assert_int_equal(device->memory.alloc(0, 100, &first), TUTTI_OK);
    fake->current(-1);
    for (int round = 0; round < 2; round++) {
        void *const context = fake->make_context(0);
        own = fake->make_in(context, 4096);
        assert_int_equal(fake->flags_of(context), PLAIN);
        fake->busy = 3;
        device->memory.classify(own, &memory);
        assert_int_equal(memory.gpu, 0);
        assert_int_equal(fake->flags_of(context), COMPLETE);
        assert_int_equal(fake->busy, 0);
        fake->busy = 3;
        device->memory.classify(own, &memory);
        device->memory.classify(first, &memory);
        assert_int_equal(fake->busy, 3);
        fake->busy = 0;
        assert_int_equal(device->memory.free(own), TUTTI_OK);
        fake->end_context(context);
    }
    assert_int_equal(device->memory.free(first), TUTTI_OK);
}

/* A context that the program has made is met: copies under way are waited for, by an event of the legacy stream. A
 * context that Tutti makes has none. The per-thread stream of the calling thread is never made: a forked child that
 * ends would destroy it. */
static void test_copies_under_way(void **state)
{
    (void)state;
    void *memory;
    const unsigned long own = fake->per_thread;
    const int before = fake->live();
    fake->reset(0);
    fake->reset(1);
    fake->current(0);
    fake->busy = 5;
    assert_int_equal(device->memory.alloc(0, 100, &memory), TUTTI_OK);
    assert_int_equal(fake->busy, 0);
    assert_int_equal(device->memory.free(memory), TUTTI_OK);
    fake->current(-1);
    fake->busy = 5;
    assert_int_equal(device->memory.alloc(1, 100, &memory), TUTTI_OK);
    assert_int_equal(fake->busy, 5);
    assert_int_equal(device->memory.free(memory), TUTTI_OK);
    fake->busy = 0;
    assert_int_equal(fake->per_thread, own);
    assert_int_equal(fake->live(), before);
}

/* The legacy stream cannot be asked while a stream that waits for it is captured: the capture stays valid. */
static void test_copies_in_capture(void **state)
{
    (void)state;
    void *memory;
    fake->reset(0);
    fake->current(0);
    fake->capturing = fake->make_stream(0, 0);
    fake->invalidated = 0;
    assert_int_equal(device->memory.alloc(0, 100, &memory), TUTTI_OK);
    assert_int_equal(fake->invalidated, 0);
    fake->capturing = NULL;
    assert_int_equal(device->memory.free(memory), TUTTI_OK);
    fake->current(-1);
}

/* Copies between memory that was classified and ordinary memory: the driver is asked nothing about them, and copies
 * that are complete are not waited for once more. */
static void test_copy_ordinary(void **state)
{
    (void)state;
    void *memory;
    enum { BYTES = 100 };
    char *const text = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *const back = text + BYTES; /* the driver is not asked about the stack, and once about a page of the heap */
    assert_true(text != MAP_FAILED);
    strcpy(text, "ordinary");
    fake->current(0);
    assert_int_equal(device->memory.alloc(0, BYTES, &memory), TUTTI_OK);
    const unsigned long queries = fake->queries, waits = fake->waits;
    unsigned long calls = fake->calls;
    assert_int_equal(device->memory.copy_ordinary(0, 1, memory, text, BYTES), TUTTI_OK);
    const unsigned long in = fake->calls - calls;
    calls = fake->calls;
    assert_int_equal(device->memory.copy_ordinary(0, 0, back, memory, BYTES), TUTTI_OK);
    assert_int_equal(fake->calls - calls, in);
    assert_string_equal(back, "ordinary");
    assert_int_equal(fake->queries, queries);
    assert_int_equal(fake->waits, waits);
    calls = fake->calls;
    assert_int_equal(device->memory.copy_now(memory, text, BYTES), TUTTI_OK);
    assert_int_equal(fake->calls - calls, in + 3); /* what either side is, and whether the context was reset */
    assert_int_equal(fake->queries, queries + 2);
    assert_int_equal(device->memory.free(memory), TUTTI_OK);
    munmap(text, 2 * BYTES);
    fake->current(-1);
}

/* After some copies into the GPU they have a stream of their own, not the program's default stream; copies out of the
 * GPU stay behind the work of that stream, which after some of them writes a word that the host waits for. No capture
 * is disturbed. */
static void test_copies_in(void **state)
{
    (void)state;
    void *memory, *host;
    char text[101] = "into", back[101] = ""; /* of whole words: test_copies_marked() */
    int own = 0, seen = 0;
    fake->current(0);
    assert_int_equal(device->memory.alloc(0, sizeof text, &memory), TUTTI_OK);
    assert_int_equal(device->memory.alloc_pinned(sizeof text, &host), TUTTI_OK);
    for (int i = 0; i < 40; i++) {
        unsigned long plain = fake->plain_copies, waits = fake->waits, words = fake->words;
        text[0] = (char)('a' + i % 26);
        memcpy(host, text, sizeof text);
        fake->capturing = i % 3 ? NULL : fake->make_stream(0, 0);
        fake->invalidated = 0;
        assert_int_equal(i % 2 ? device->memory.copy_ordinary(0, 1, memory, text, sizeof text)
                               : device->memory.copy_pinned(0, 1, memory, host, sizeof text),
                         TUTTI_OK);
        assert_int_equal(fake->invalidated, 0);
        fake->capturing = NULL;
        const int is_own = fake->plain_copies == plain;
        assert_int_equal(fake->waits - waits, is_own);
        assert_int_equal(fake->words, words);
        own += is_own;
        plain = fake->plain_copies;
        waits = fake->waits;
        assert_int_equal(device->memory.copy_pinned(0, 0, back, memory, sizeof text), TUTTI_OK);
        assert_string_equal(back, text);
        assert_int_equal(fake->plain_copies - plain + fake->words - words, 1);
        assert_int_equal(fake->waits, waits);
        seen += (int)(fake->words - words);
    }
    assert_in_range(own, 20, 40);
    assert_in_range(seen, 20, 40);
    assert_int_equal(device->memory.free_pinned(host), TUTTI_OK);
    assert_int_equal(device->memory.free(memory), TUTTI_OK);
    fake->current(-1);
}

/* Copies out of a GPU of up to 2 KiB, in whole words, are complete when all words have arrived, which come late and in
 * another order. Data that look as if they had not are waited for, and later copies know better. */
static void test_copies_marked(void **state)
{
    (void)state;
    enum { MOST = 32 << 10, MARKED = 2 << 10, SOON = 4, LATE = 150, ROUNDS = 16 };
    static const size_t sizes[] = {4, 8, 100, 1024, MARKED, 101, MARKED + 4, MOST};
    static char data[MOST];
    void *memory, *host;
    fake->current(0);
    assert_int_equal(device->memory.alloc(0, MOST, &memory), TUTTI_OK);
    assert_int_equal(device->memory.alloc_pinned(MOST, &host), TUTTI_OK);
    for (size_t i = 0; i < ROUNDS * sizeof sizes / sizeof *sizes; i++) {
        const size_t bytes = sizes[i / ROUNDS], marked = bytes <= MARKED && bytes % 4 == 0;
        fake->late = i % ROUNDS > 2 ? SOON : i % ROUNDS ? LATE : 0; /* within the patience of the host, and beyond */
        memset(data, (int)('a' + i), bytes);
        assert_int_equal(device->memory.copy_ordinary(0, 1, memory, data, bytes), TUTTI_OK);
        const unsigned long plain = fake->plain_copies, words = fake->words;
        assert_int_equal(device->memory.copy_pinned(0, 0, host, memory, bytes), TUTTI_OK);
        assert_memory_equal(host, data, bytes);
        assert_int_equal(fake->plain_copies - plain + fake->words - words, !marked);
    }
    for (size_t at = 0; at < 16; at++) { /* a word of the data would lie in two of the place */
        const unsigned long plain = fake->plain_copies, words = fake->words;
        assert_int_equal(device->memory.copy_pinned(0, 0, host, (char *)memory + at, 64), TUTTI_OK);
        assert_memory_equal(host, data + at, 64);
        assert_int_equal(fake->plain_copies - plain + fake->words - words, at % 4 != 0);
    }
    fake->late = 0;
    assert_int_equal(device->memory.copy_pinned(0, 0, host, memory, 64), TUTTI_OK);
    for (int round = 0; round < 3; round++) { /* the data are the mark of the copy before */
        const unsigned mark = fake->before;
        memcpy(data + 60, &mark, sizeof mark);
        assert_int_equal(device->memory.copy_ordinary(0, 1, memory, data, 64), TUTTI_OK);
        const unsigned long waits = fake->waits;
        assert_int_equal(device->memory.copy_pinned(0, 0, host, memory, 64), TUTTI_OK);
        assert_memory_equal(host, data, 64);
        assert_int_equal(fake->waits - waits, fake->before == mark);
        assert_true(round == 1 ? fake->before != mark : fake->before == mark);
    }
    assert_int_equal(device->memory.free_pinned(host), TUTTI_OK);
    assert_int_equal(device->memory.free(memory), TUTTI_OK);
    fake->current(-1);
}

/* Copies of pinned memory into a GPU where processes take turns: short ones are made of two rows, in a stream that is
 * made for the first. Those into other GPUs, out of GPUs and of 32 KiB and more are plain. */
static void test_copies_in_turns(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 4096, 4097, (32 << 10) - 1, 32 << 10};
    enum { MOST = 32 << 10 };
    static char back[MOST];
    void *host;
    assert_int_equal(device->memory.alloc_pinned(MOST, &host), TUTTI_OK);
    fake->no_mps = 1;
    for (int gpu = 0; gpu < 2; gpu++) {
        void *memory;
        fake->current(gpu);
        assert_int_equal(device->memory.alloc(gpu, MOST, &memory), TUTTI_OK);
        for (int shared = 0; shared <= gpu; shared++) {
            if (shared)
                tutti_gpu_share(gpu, 1);
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                const size_t bytes = sizes[i];
                const unsigned long rows = fake->row_copies;
                for (size_t b = 0; b < bytes; b++)
                    ((char *)host)[b] = (char)(b * 7 + i + (size_t)shared);
                memset(back, 0, sizeof back);
                assert_int_equal(device->memory.copy_pinned(gpu, 1, memory, host, bytes), TUTTI_OK);
                assert_int_equal(fake->row_copies - rows, shared && bytes > 1 && bytes < MOST ? 1 + bytes % 2 : 0);
                assert_int_equal(device->memory.copy_pinned(gpu, 0, back, memory, bytes), TUTTI_OK);
                assert_int_equal(fake->row_copies - rows, shared && bytes > 1 && bytes < MOST ? 1 + bytes % 2 : 0);
                assert_memory_equal(back, host, bytes);
            }
        }
        assert_int_equal(device->memory.free(memory), TUTTI_OK);
    }
    fake->no_mps = 0;
    assert_int_equal(device->memory.free_pinned(host), TUTTI_OK);
    fake->current(-1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete_memory),   cmocka_unit_test(test_complete_copies),
        cmocka_unit_test(test_complete_later),    cmocka_unit_test(test_contexts_beside),
        cmocka_unit_test(test_contexts_in_turns), cmocka_unit_test(test_copies_under_way),
        cmocka_unit_test(test_copies_in_capture), cmocka_unit_test(test_copy_ordinary),
        cmocka_unit_test(test_copies_in),         cmocka_unit_test(test_copies_in_turns),
        cmocka_unit_test(test_copies_marked)};
    if (argc != 2 || !(fake = fake_open(dlopen(argv[1], RTLD_NOW))))
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
