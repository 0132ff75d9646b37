/* Separate simulated GPUs (TUTTI_HOST_LINKS=0-1): as strict as real ones. Each case is a process of its own: it ends
 * with TUTTI_HOST_VIOLATED where it has broken a rule, which the case says. Three GPUs, of which the third has no link.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/host/program.h"
#include "kernels/pack_args.h"
#include "kit.h"

enum { BYTES = 5000 };

/* Ends the process at the first thing that is not as it must be. */
#define NEED(fine)                                                                                                     \
    do {                                                                                                               \
        if (!(fine)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #fine);                                         \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* Memory of the program on a GPU; passed: Tutti has been given it. */
static void *program_memory(int gpu, int passed)
{
    void *memory = NULL;
    struct tutti_memory what;
    NEED(tutti_host_program_set(gpu) == TUTTI_OK);
    NEED(tutti_host_program_alloc(BYTES, &memory) == TUTTI_OK);
    if (passed) {
        device->memory.classify(memory, &what);
        NEED(what.kind == TUTTI_MEMORY_DEVICE && what.gpu == gpu && what.base == memory);
    }
    return memory;
}

/* A kernel on `gpu` that stores into memory. */
static int store(int gpu, void *memory)
{
    struct tutti_stream *stream = NULL;
    NEED(device->stream.create(gpu, &stream) == TUTTI_OK);
    const int status = device->stream.fill(stream, memory, 7, BYTES);
    NEED(device->stream.sync(stream) == TUTTI_OK);
    NEED(device->stream.destroy(stream) == TUTTI_OK);
    return status;
}

static void meets(void)
{
    int gpu = 5;
    NEED(tutti_device_active(device) == 0 && device->gpu.count() == 0);
    NEED(tutti_host_program_count() == 3);
    NEED(tutti_device_active(device) == 1 && device->gpu.count() == 3);
    NEED(device->gpu.current(&gpu) == TUTTI_OK && gpu == -1);
    program_memory(1, 0);
    NEED(device->gpu.current(&gpu) == TUTTI_OK && gpu == 1);
    NEED(tutti_host_program_set(0) == TUTTI_OK);
    NEED(device->gpu.current(&gpu) == TUTTI_OK && gpu == 0);
}

static void sees(void)
{
    unsigned char whole[3][16], part[2][16];
    for (int gpu = 0; gpu < 3; gpu++)
        NEED(device->gpu.uuid(gpu, whole[gpu]) == TUTTI_OK);
    NEED(tutti_host_program_see("3") != TUTTI_OK && tutti_host_program_see("x") != TUTTI_OK);
    NEED(tutti_host_program_see("2,0") == TUTTI_OK && tutti_host_program_count() == 2);
    NEED(tutti_host_program_see("0") != TUTTI_OK); /* too late */
    for (int gpu = 0; gpu < 2; gpu++)
        NEED(device->gpu.uuid(gpu, part[gpu]) == TUTTI_OK);
    NEED(memcmp(part[0], whole[2], 16) == 0 && memcmp(part[1], whole[0], 16) == 0);
    NEED(device->gpu.reach(1, whole[1]) == 2); /* that it does not see */
    NEED(device->gpu.reach(1, whole[2]) == 0 && device->gpu.reach(0, whole[2]) == 2);
    NEED(tutti_host_program_set(2) != TUTTI_OK);
}

static void asks(void)
{
    int gpu = -1;
    void *memory = NULL;
    char why[100];
    NEED(device->open(why, sizeof why) == TUTTI_OK && device->gpu.meet(&gpu) == TUTTI_OK && gpu == 0);
    NEED(device->memory.alloc(gpu, BYTES, &memory) == TUTTI_OK && store(0, memory) == TUTTI_OK);
    NEED(device->memory.free(memory) == TUTTI_OK);
}

static void works_early(void)
{
    void *memory = NULL;
    program_memory(1, 0);
    NEED(device->memory.alloc(1, BYTES, &memory) == TUTTI_OK);
    NEED(tutti_host_violations(1) == 1 && tutti_host_violations(-1) == 1);
}

static void works_elsewhere(void)
{
    struct tutti_stream *stream = NULL;
    void *mapped, *pinned;
    size_t room;
    char page[4096], other[4096];
    program_memory(1, 1);
    NEED(device->memory.alloc_pinned(BYTES, &pinned) == TUTTI_OK &&
         device->memory.map_host(1, page, sizeof page, &mapped) == TUTTI_OK);
    NEED(device->launch.prepare_pack(1, 0, &room) == TUTTI_OK && tutti_host_violations(-1) == 0);
    NEED(device->launch.prepare_pack(0, 0, &room) == TUTTI_OK && tutti_host_violations(0) == 1);
    NEED(device->stream.create(2, &stream) == TUTTI_OK && tutti_host_violations(2) == 1);
    NEED(device->memory.map_host(2, other, sizeof other, &mapped) == TUTTI_OK && tutti_host_violations(2) == 2);
}

/* The mapping ends with the GPU that made it, so another GPU maps other addresses; after a reset that one makes a new
 * one. */
static void maps_for_another(void)
{
    void *mapped;
    char page[4096], other[4096];
    program_memory(1, 1);
    program_memory(2, 1);
    NEED(device->memory.map_host(1, page, sizeof page, &mapped) == TUTTI_OK);
    NEED(device->memory.map_host(2, other, sizeof other, &mapped) == TUTTI_OK && tutti_host_violations(-1) == 0);
    NEED(device->memory.map_host(2, page, sizeof page, &mapped) == TUTTI_OK && tutti_host_violations(2) == 1);
}

static void pins_early(void)
{
    void *pinned;
    NEED(tutti_host_program_count() == 3);
    NEED(device->memory.alloc_pinned(BYTES, &pinned) == TUTTI_OK && tutti_host_violations(0) == 1);
}

static void reaches(void)
{
    char got[BYTES], wanted[BYTES];
    void *memory[3] = {program_memory(0, 1), program_memory(1, 1), program_memory(2, 1)};
    NEED(device->share.reach(0, memory[0]) == TUTTI_OK && store(0, memory[0]) == TUTTI_OK);
    NEED(device->share.reach(0, memory[1]) == TUTTI_OK && store(0, memory[1]) == TUTTI_OK);
    NEED(device->share.reach(0, memory[2]) == TUTTI_ERR_UNAVAILABLE);
    NEED(device->memory.copy_now(memory[2], memory[1], BYTES) == TUTTI_OK); /* copies need nothing */
    NEED(device->memory.copy_now(got, memory[2], BYTES) == TUTTI_OK);
    memset(wanted, 7, sizeof wanted);
    NEED(memcmp(got, wanted, BYTES) == 0);
}

static void reaches_too_far(void)
{
    void *memory[3] = {program_memory(0, 1), program_memory(1, 1), program_memory(2, 1)};
    NEED(store(0, memory[1]) == TUTTI_ERR_DEVICE && tutti_host_violations(0) == 1); /* not enabled */
    NEED(device->share.reach(0, memory[1]) == TUTTI_OK);
    NEED(store(1, memory[0]) == TUTTI_ERR_DEVICE && tutti_host_violations(1) == 1); /* the other way */
    NEED(store(0, memory[2]) == TUTTI_ERR_DEVICE && tutti_host_violations(0) == 2); /* no link */
}

static void packs_too_far(void)
{
    struct tutti_stream *stream = NULL;
    struct tutti_pack_args *args = calloc(1, 64 << 10);
    program_memory(0, 1);
    void *memory = program_memory(1, 1);
    const struct tutti_pack_reach reach = {.at = 64, .start = memory, .bytes = 100};
    const struct tutti_pack_launch launch = {.args = args, .reach = &reach, .reaches = 1};
    NEED(args && device->stream.create(0, &stream) == TUTTI_OK);
    args->head.bytes = 4096;
    NEED(device->launch.pack(stream, &launch) == TUTTI_ERR_DEVICE && tutti_host_violations(0) == 1);
    free(args);
}

static void maps(void)
{
    struct tutti_export what;
    void *memory = program_memory(0, 1), *base = NULL;
    int fd = -1;
    program_memory(1, 1);
    program_memory(2, 1);
    NEED(device->share.export(memory, &what, &fd) == TUTTI_OK);
    NEED(device->share.import(2, &what, fd, &base) == TUTTI_ERR_DEVICE); /* no link */
    NEED(device->share.import(1, &what, fd, &base) == TUTTI_OK);
    NEED(store(1, base) == TUTTI_OK && store(0, base) == TUTTI_OK);
    NEED(tutti_host_violations(-1) == 0);
    NEED(store(2, base) == TUTTI_ERR_DEVICE && tutti_host_violations(2) == 1);
    NEED(device->share.release(1, &what, base) == TUTTI_OK);
}

static void frees_anothers(void)
{
    void *memory = program_memory(0, 1);
    NEED(device->memory.free(memory) == TUTTI_OK && tutti_host_violations(0) == 1);
}

static void resets(void)
{
    struct tutti_stream *stream = NULL;
    struct tutti_memory what;
    void *scratch = NULL, *memory = program_memory(1, 1), *kept = program_memory(0, 1);
    NEED(device->memory.alloc(1, BYTES, &scratch) == TUTTI_OK && device->stream.create(1, &stream) == TUTTI_OK);
    NEED(device->stream.fill(stream, scratch, 1, BYTES) == TUTTI_OK);
    NEED(tutti_host_program_set(1) == TUTTI_OK && tutti_host_program_reset() == TUTTI_OK);
    device->memory.classify(memory, &what);
    NEED(what.kind == TUTTI_MEMORY_HOST);
    NEED(device->stream.fill(stream, scratch, 1, 1) == TUTTI_ERR_DEVICE &&
         device->stream.query(stream) == TUTTI_ERR_DEVICE);
    NEED(device->memory.free(scratch) == TUTTI_OK && device->stream.destroy(stream) == TUTTI_OK);
    NEED(store(0, kept) == TUTTI_OK);
    memory = program_memory(1, 1);
    NEED(store(1, memory) == TUTTI_OK && tutti_host_violations(-1) == 0);
}

/* On what the program has passed memory of. */
static void works_after_reset(void)
{
    void *scratch = NULL;
    program_memory(1, 1);
    NEED(tutti_host_program_reset() == TUTTI_OK);
    NEED(device->memory.alloc(1, BYTES, &scratch) == TUTTI_OK && tutti_host_violations(1) == 0);
    NEED(tutti_gpu_life(1) == 1 && tutti_gpu_life(0) == 0 && tutti_gpu_life(-1) == 1);
}

/* Runs the case in a process of its own, to the end with all destructors. */
static int ends_with(void (*body)(void))
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        alarm(KIT_SECONDS);
        body();
        exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_rules(void **state)
{
    (void)state;
    assert_int_equal(ends_with(meets), 0);
    assert_int_equal(ends_with(sees), 0);
    assert_int_equal(ends_with(asks), 0);
    assert_int_equal(ends_with(reaches), 0);
    assert_int_equal(ends_with(resets), 0);
    assert_int_equal(ends_with(works_after_reset), 0);
}

static void test_violations(void **state)
{
    (void)state;
    assert_int_equal(ends_with(works_early), TUTTI_HOST_VIOLATED);
    assert_int_equal(ends_with(works_elsewhere), TUTTI_HOST_VIOLATED);
    assert_int_equal(ends_with(maps_for_another), TUTTI_HOST_VIOLATED);
    assert_int_equal(ends_with(pins_early), TUTTI_HOST_VIOLATED);
    assert_int_equal(ends_with(reaches_too_far), TUTTI_HOST_VIOLATED);
    assert_int_equal(ends_with(packs_too_far), TUTTI_HOST_VIOLATED);
    assert_int_equal(ends_with(maps), TUTTI_HOST_VIOLATED);
    assert_int_equal(ends_with(frees_anothers), TUTTI_HOST_VIOLATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules), cmocka_unit_test(test_violations)};
    device = &tutti_device_host; /* which the processes open */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
