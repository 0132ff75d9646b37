/* The CUDA device against a pretended driver: pages of the heap and of static data that the driver did not know, and
 * that the program or the library registers afterwards, or whose addresses are those of other memory then. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/ordinary.h"
#include "core/status.h"
#include "device/device.h"
#include "fake_libcuda.h"

enum { PAGE = 1 << TUTTI_ORDINARY_PAGE, TIMES = TUTTI_ORDINARY_TIMES, FLAGS = 3 /* portable, mapped */ };

static const struct tutti_device *const device = &tutti_device_cuda;
static struct fake_control *fake;
static int (*driver_register)(void *host, size_t bytes, unsigned flags);
static int (*driver_unregister)(void *host);

/* The kind of the memory, by so many questions to the driver. */
static void is_kind(const void *at, enum tutti_memory_kind kind, unsigned long questions)
{
    struct tutti_memory memory;
    const unsigned long before = fake->queries;
    device->memory.classify(at, &memory);
    assert_int_equal(memory.kind, kind);
    assert_int_equal(fake->queries - before, questions);
}

/* The driver is asked about the page, which is ordinary, and again behind TIMES looks at it. */
static void is_believed(const char *page, int times)
{
    for (int i = 0; i < times; i++)
        is_kind(page + i, TUTTI_MEMORY_HOST, 0);
}

/* By the program, past the library: pages count as ordinary for the rest of the times, then as what they are. */
static void registered_by_the_program(char *page)
{
    for (int before = 0; before <= TIMES; before += TIMES / 4) {
        is_kind(page, TUTTI_MEMORY_HOST, 1);
        is_believed(page, before);
        assert_int_equal(driver_register(page, PAGE, FLAGS), 0);
        is_believed(page, TIMES - before);
        for (int i = 0; i < 3; i++)
            is_kind(page, TUTTI_MEMORY_PINNED, 1);
        assert_int_equal(driver_unregister(page), 0);
    }
    is_kind(page, TUTTI_MEMORY_HOST, 1);
    is_believed(page, TIMES);
}

/* By the library: at once, on each page of the memory. */
static void mapped_by_the_library(char *pages)
{
    void *mapped = NULL;
    for (int i = 0; i < 4; i++) {
        is_kind(pages + i * PAGE, TUTTI_MEMORY_HOST, 1);
        is_kind(pages + i * PAGE, TUTTI_MEMORY_HOST, 0);
    }
    assert_int_equal(device->memory.map_host(0, pages + PAGE, 2 * PAGE, &mapped), TUTTI_OK);
    is_kind(pages, TUTTI_MEMORY_HOST, 0);
    is_kind(pages + PAGE, TUTTI_MEMORY_PINNED, 1);
    is_kind(pages + 3 * PAGE - 1, TUTTI_MEMORY_PINNED, 1);
    is_kind(pages + 3 * PAGE, TUTTI_MEMORY_HOST, 0);
    assert_int_equal(device->memory.unmap_host(0, pages + PAGE), TUTTI_OK);
    is_kind(pages + PAGE, TUTTI_MEMORY_HOST, 1);
}

static char data[8 * PAGE] __attribute__((aligned(PAGE)));

static void test_data(void **state)
{
    (void)state;
    registered_by_the_program(data);
    mapped_by_the_library(data + PAGE);
}

static void test_heap(void **state)
{
    (void)state;
    char *const heap = sbrk(8 * PAGE), *const pages = heap + PAGE - (uintptr_t)heap % PAGE;
    assert_true(heap != (void *)-1);
    registered_by_the_program(pages);
    mapped_by_the_library(pages + PAGE);
}

/* The heap becomes shorter, and the program maps and registers memory behind its end: the driver is asked at once.
 * Nothing else allocates meanwhile. */
static void test_behind_the_heap(void **state)
{
    (void)state;
    char *const end = sbrk(0), *const pages = end + PAGE - (uintptr_t)end % PAGE;
    assert_true(sbrk(8 * PAGE) != (void *)-1);
    is_kind(pages, TUTTI_MEMORY_HOST, 1);
    is_kind(pages, TUTTI_MEMORY_HOST, 0);
    assert_true(sbrk(0) == end + 8 * PAGE && sbrk(-8 * PAGE) != (void *)-1);
    void *const other =
        mmap(pages, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert_ptr_equal(other, pages);
    is_kind(pages, TUTTI_MEMORY_HOST, 1);
    is_kind(pages, TUTTI_MEMORY_HOST, 1); /* never noted there */
    assert_int_equal(driver_register(pages, PAGE, FLAGS), 0);
    is_kind(pages, TUTTI_MEMORY_PINNED, 1);
    assert_int_equal(driver_unregister(pages), 0);
    munmap(pages, PAGE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_data), cmocka_unit_test(test_heap),
                                       cmocka_unit_test(test_behind_the_heap)};
    void *const library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    fake = fake_open(library);
    if (!fake)
        return 2;
    *(void **)&driver_register = dlsym(library, "cuMemHostRegister_v2");
    *(void **)&driver_unregister = dlsym(library, "cuMemHostUnregister");
    fake->current(0);
    (void)fake->make(0, FAKE_MALLOC, PAGE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
