/* The CUDA device on a real GPU, without an MPI: every operation of the contract, every kernel against the C ones, and
 * memory of all kinds shared with a second process. Exit status 77 on a machine that has no GPU. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/types.h"
#include "device_test.h"
#include "kernels/args.h"
#include "kernels/reduce.h"
#include "support/random.h"

static void *driver;
void *driver_entry(const char *name)
{
    void *found = dlsym(driver, name);
    if (!found) {
        fprintf(stderr, "no %s in libcuda\n", name);
        exit(1);
    }
    return found;
}

static int wait_for(struct tutti_stream *stream)
{
    uint64_t end = tutti_now_ns() + (uint64_t)WAIT_SECONDS * 1000000000u;
    int done;
    while ((done = device->stream.query(stream)) == 0 && tutti_now_ns() < end)
        tutti_pause();
    return done;
}

static void test_identity(int gpus)
{
    unsigned char uuid[16], other[16];
    char text[256];
    for (int g = 0; g < gpus; g++) {
        OK(device->gpu.uuid(g, uuid));
        OK(device->gpu.describe(g, text, sizeof text));
        printf("GPU %d: %s\n", g, text);
        CHECK(device->gpu.blocks(g) >= 1 && device->gpu.blocks(g) <= TUTTI_MAX_BLOCKS, "%u blocks",
              device->gpu.blocks(g));
        CHECK(device->gpu.reach(g, uuid) == 2, "GPU %d does not reach itself", g);
        if (g > 0) {
            OK(device->gpu.uuid(0, other));
            CHECK(memcmp(uuid, other, 16) != 0, "two GPUs with one UUID");
        }
        int now = -1;
        OK(device->gpu.choose(g));
        OK(device->gpu.current(&now));
        CHECK(now == g, "GPU %d chosen, %d current", g, now);
    }
    OK(device->gpu.choose(0));
}

static void test_memory(int gpu)
{
    struct tutti_memory m, again;
    void *memory = NULL, *pinned = NULL;
    CUdeviceptr managed = 0;
    char local[64];
    OK(device->memory.alloc(gpu, BYTES, &memory));
    device->memory.classify((char *)memory + 12345, &m);
    CHECK(m.kind == TUTTI_MEMORY_DEVICE && m.gpu == gpu && m.base == memory && m.bytes >= BYTES && m.id,
          "kind %d gpu %d base %p of %p bytes %zu id %llu", m.kind, m.gpu, m.base, memory, m.bytes,
          (unsigned long long)m.id);
    CHECK((uintptr_t)memory % 256 == 0, "%p is not aligned", memory);
    OK(device->memory.free(memory));
    device->memory.classify(memory, &again);
    CHECK(again.kind == TUTTI_MEMORY_HOST, "freed memory is of kind %d", again.kind);
    OK(device->memory.alloc(gpu, BYTES, &memory));
    device->memory.classify(memory, &again);
    CHECK(again.id != m.id, "an allocation has the id of one before it");
    OK(device->memory.free(memory));
    OK(device->memory.alloc_pinned(4096, &pinned));
    device->memory.classify(pinned, &m);
    CHECK(m.kind == TUTTI_MEMORY_PINNED, "pinned memory is of kind %d", m.kind);
    memset(pinned, 1, 4096);
    OK(device->memory.free_pinned(pinned));
    if (DRIVER(cuMemAllocManaged)(&managed, 4096, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS) {
        device->memory.classify((void *)managed, &m);
        CHECK(m.kind == TUTTI_MEMORY_MANAGED, "managed memory is of kind %d", m.kind);
        DRIVER(cuMemFree_v2)(managed);
    }
    device->memory.classify(local, &m);
    CHECK(m.kind == TUTTI_MEMORY_HOST, "the stack is of kind %d", m.kind);
    uint64_t start = tutti_now_ns();
    for (int i = 0; i < 100000; i++)
        device->memory.classify(local, &m);
    printf("classify of host memory: %.0f ns\n", (double)(tutti_now_ns() - start) / 100000);
}

static void test_streams(int gpu)
{
    struct tutti_stream *first = NULL, *second = NULL;
    struct tutti_event *event = NULL;
    unsigned char *memory = NULL, *host = malloc(BYTES), *back = malloc(BYTES);
    uint64_t random = 17;
    for (int i = 0; i < BYTES; i++)
        host[i] = (unsigned char)random_next(&random);
    OK(device->memory.alloc(gpu, BYTES, (void **)&memory));
    OK(device->stream.create(gpu, &first));
    OK(device->stream.create(gpu, &second));
    OK(device->event.create(gpu, &event));
    OK(device->stream.copy(first, memory, host, BYTES));
    OK(device->stream.fill(first, memory + 5, 0xab, 1001));
    OK(device->event.record(event, first));
    OK(device->event.wait(second, event));
    OK(device->stream.copy(second, back, memory, BYTES));
    CHECK(wait_for(second) == 1, "the second stream did not end");
    CHECK(device->event.query(event) == 1, "the event has not happened");
    OK(device->stream.sync(first));
    memset(host + 5, 0xab, 1001);
    CHECK(memcmp(host, back, BYTES) == 0, "copy and fill over two streams");
    memset(back, 0, BYTES);
    OK(device->memory.copy_now(memory + 1, host, 1000003));
    OK(device->memory.copy_now(back, memory + 1, 1000003));
    CHECK(memcmp(host, back, 1000003) == 0, "copies outside streams");
    OK(device->event.destroy(event));
    OK(device->stream.destroy(second));
    OK(device->stream.destroy(first));
    OK(device->memory.free(memory));
    free(host);
    free(back);
}

/* Bytes between the value and the index of a pair, or after it, that nobody has to keep. */
static int is_padding(int type, size_t at)
{
    if (type == TUTTI_TYPE_F64_I32 || type == TUTTI_TYPE_I64_I32)
        return at % 16 >= 12;
    return type == TUTTI_TYPE_I16_I32 && at % 8 >= 2 && at % 8 < 4;
}

/* Three contributions of one GPU, combined by the direct kernel and by the C kernel: the same bits for every pair. */
static void test_kernels(int gpu)
{
    enum { RANKS = 3, COUNT = 4099, ROOM = COUNT * 16 };
    struct tutti_stream *stream = NULL;
    char *in[RANKS] = {0}, *out = NULL, *window = NULL;
    static char host[RANKS][ROOM], got[ROOM], want[ROOM];
    uint32_t finished = 0, epoch = 0;
    uint64_t random = 4711;
    struct tutti_words {
        uint32_t abort, done, where;
    } *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *seen = NULL;
    const void *from[RANKS];
    OK(device->stream.create(gpu, &stream));
    OK(device->memory.map_host(gpu, words, 4096, (void **)&seen));
    OK(device->memory.alloc(gpu, ROOM, (void **)&out));
    OK(device->memory.alloc(gpu, sizeof(struct tutti_channel_flags), (void **)&window));
    OK(device->stream.fill(stream, window, 0, sizeof(struct tutti_channel_flags)));
    for (int r = 0; r < RANKS; r++) {
        OK(device->memory.alloc(gpu, ROOM, (void **)&in[r]));
        for (int i = 0; i < ROOM; i++)
            host[r][i] = (char)random_next(&random);
        OK(device->memory.copy_now(in[r], host[r], ROOM));
        from[r] = host[r];
    }
    for (int type = 0; type < TUTTI_TYPES && check_failed() == 0; type++) {
        for (int op = 0; op < TUTTI_OPS; op++) {
            if (!tutti_has_kernel(type, op))
                continue;
            size_t bytes = COUNT * tutti_type_size(type);
            struct tutti_kernel_args args = {.count = COUNT,
                                             .slice = COUNT,
                                             .ranks = RANKS,
                                             .outs = 1,
                                             .gpus = 1,
                                             .locals = RANKS,
                                             .local = {0, 1, 2},
                                             .epoch = ++epoch,
                                             .blocks = 3,
                                             .finished = finished += 3,
                                             .in = {in[0], in[1], in[2]},
                                             .out = {out},
                                             .window = {window},
                                             .abort = &seen->abort,
                                             .done = &seen->done,
                                             .where = &seen->where,
                                             .timeout_ns = (uint64_t)WAIT_SECONDS * 1000000000u};
            struct tutti_launch launch = {
                .kernel = TUTTI_KERNEL_DIRECT, .type = type, .op = op, .blocks = 3, .args = &args};
            OK(device->stream.fill(stream, out, 0x5a, bytes));
            OK(device->launch.kernel(stream, &launch));
            CHECK(wait_for(stream) == 1, "%s %s did not end", tutti_type_name(type), tutti_op_name(op));
            CHECK(__atomic_load_n(&words->done, __ATOMIC_ACQUIRE) == epoch, "the done word is %u, not %u", words->done,
                  epoch);
            OK(device->memory.copy_now(got, out, bytes));
            memset(want, 0x5a, sizeof want);
            tutti_reduce_host(type, op, RANKS, from, want, COUNT);
            size_t at = 0;
            while (at < bytes && (got[at] == want[at] || is_padding(type, at)))
                at++;
            CHECK(at == bytes, "%s %s: byte %zu of element %zu is %02x on the GPU, %02x in C", tutti_type_name(type),
                  tutti_op_name(op), at % tutti_type_size(type), at / tutti_type_size(type), (unsigned char)got[at],
                  (unsigned char)want[at]);
        }
    }
    printf("%u kernels launched on GPU %d\n", epoch, gpu);
    for (int r = 0; r < RANKS; r++)
        OK(device->memory.free(in[r]));
    OK(device->memory.free(window));
    OK(device->memory.free(out));
    OK(device->memory.unmap_host(gpu, words));
    OK(device->stream.destroy(stream));
    munmap(words, 4096);
}

/* The program resets the GPU under open streams: errors, no crash, and work goes on in the next context. */
static void test_reset(void)
{
    struct tutti_stream *stream = NULL, *left = NULL;
    void *memory = NULL;
    char text[64] = "reset";
    OK(device->gpu.choose(0));
    OK(device->stream.create(0, &stream));
    OK(device->stream.create(0, &left));
    OK(device->memory.alloc(0, 4096, &memory));
    CHECK(DRIVER(cuDevicePrimaryCtxReset_v2)(0) == CUDA_SUCCESS, "the context could not be reset");
    CHECK(device->stream.sync(stream) == TUTTI_ERR_DEVICE, "a stream outlived its context");
    OK(device->memory.free(memory));
    OK(device->stream.destroy(left));
    DRIVER(cuCtxSetCurrent)(NULL);
    OK(device->memory.alloc(0, 4096, &memory));
    OK(device->stream.copy(stream, memory, text, sizeof text));
    CHECK(wait_for(stream) == 1, "the stream was not made anew");
    OK(device->stream.destroy(stream));
    OK(device->memory.free(memory));
}

int main(int argc, char **argv)
{
    char why[256] = "";
    int pair[2];
    if (argc == 3 && strcmp(argv[1], "peer") == 0)
        return share_peer(atoi(argv[2]));
    int reset = argc < 2 || strcmp(argv[1], "small") != 0;
    alarm(300);
    setvbuf(stdout, NULL, _IOLBF, 0);
    /* Tools such as compute-sanitizer load the driver themselves. */
    int loaded = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) != NULL;
    CHECK(loaded || device->active() == 0, "active before anything was loaded");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0)
        return 1;
    pid_t peer = fork();
    if (peer == 0) {
        char number[16];
        close(pair[0]);
        snprintf(number, sizeof number, "%d", pair[1]);
        execl("/proc/self/exe", argv[0], "peer", number, (char *)NULL);
        _exit(127);
    }
    close(pair[1]);
    int status = device->open(why, sizeof why);
    if (status == TUTTI_ERR_UNAVAILABLE) {
        printf("skipped: %s\n", why);
        return CHECK_SKIP;
    }
    CHECK(status == TUTTI_OK, "open: %s", tutti_status_text(status));
    CHECK(device->active() == 1, "not active after open");
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    int gpus = device->gpu.count();
    test_identity(gpus);
    for (int g = 0; g < gpus; g++) {
        test_memory(g);
        test_streams(g);
        program_streams_test(g, gpus);
        test_kernels(g);
    }
    share_test(pair[0], gpus);
    int left = -1;
    CHECK(waitpid(peer, &left, 0) == peer && left == 0, "the other process ended with status %d", left);
    if (reset)
        test_reset();
    device->close();
    printf("device on %d GPUs: %ld checks, %ld failed\n", gpus, check_done(), check_failed());
    return check_failed() != 0;
}
