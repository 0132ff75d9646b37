/* The CUDA device on a real GPU, without an MPI: every operation of the contract, every kernel against the C ones, and
 * memory of all kinds shared with a second process. Exit status 77 where there is no GPU. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>

#include "core/clock.h"
#include "core/status.h"
#include "core/types.h"
#include "device/device.h"
#include "kernels/args.h"
#include "kernels/reduce.h"
#include "support/check.h"
#include "support/random.h"

static const struct tutti_device *const device = &tutti_device_cuda;
enum { BYTES = 3 << 20, WAIT_SECONDS = 20 };

#define OK(call) CHECK((call) == TUTTI_OK, "%s", #call)

/* The program's own use of the driver: what Tutti never allocates itself. */
static void *driver;
static void *entry(const char *name)
{
    void *found = dlsym(driver, name);
    if (!found) {
        fprintf(stderr, "no %s in libcuda\n", name);
        exit(1);
    }
    return found;
}
#define DRIVER(symbol) ((__typeof__(&symbol))entry(#symbol))

static void *make_vmm(int gpu, int shareable, size_t *bytes)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu}};
    CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;
    size_t granule;
    if (shareable)
        prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (DRIVER(cuMemGetAllocationGranularity)(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
        return NULL;
    *bytes = (*bytes + granule - 1) / granule * granule;
    if (DRIVER(cuMemCreate)(&handle, *bytes, &prop, 0) != CUDA_SUCCESS ||
        DRIVER(cuMemAddressReserve)(&at, *bytes, 0, 0, 0) != CUDA_SUCCESS ||
        DRIVER(cuMemMap)(at, *bytes, 0, handle, 0) != CUDA_SUCCESS ||
        DRIVER(cuMemSetAccess)(at, *bytes, &access, 1) != CUDA_SUCCESS)
        return NULL;
    DRIVER(cuMemRelease)(handle);
    return (void *)at;
}

static void *make_pooled(int gpu, int shareable, size_t bytes)
{
    CUmemPoolProps prop = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                           .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu}};
    CUmemoryPool pool;
    CUdeviceptr at = 0;
    if (shareable)
        prop.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (DRIVER(cuMemPoolCreate)(&pool, &prop) != CUDA_SUCCESS ||
        DRIVER(cuMemAllocFromPoolAsync)(&at, bytes, pool, NULL) != CUDA_SUCCESS ||
        DRIVER(cuStreamSynchronize)(NULL) != CUDA_SUCCESS)
        return NULL;
    return (void *)at;
}

static int wait_for(struct tutti_stream *stream)
{
    uint64_t end = tutti_now_ns() + (uint64_t)WAIT_SECONDS * 1000000000u;
    int done;
    while ((done = device->stream_query(stream)) == 0 && tutti_now_ns() < end)
        tutti_pause();
    return done;
}

static void test_identity(int gpus)
{
    unsigned char uuid[16], other[16];
    char text[256];
    for (int g = 0; g < gpus; g++) {
        OK(device->uuid(g, uuid));
        OK(device->describe(g, text, sizeof text));
        printf("GPU %d: %s\n", g, text);
        CHECK(device->blocks(g) >= 1 && device->blocks(g) <= TUTTI_MAX_BLOCKS, "%u blocks", device->blocks(g));
        CHECK(device->reach(g, uuid) == 1, "GPU %d does not reach itself", g);
        if (g > 0) {
            OK(device->uuid(0, other));
            CHECK(memcmp(uuid, other, 16) != 0, "two GPUs with one UUID");
        }
        int now = -1;
        OK(device->choose(g));
        OK(device->current(&now));
        CHECK(now == g, "GPU %d chosen, %d current", g, now);
    }
    OK(device->choose(0));
}

static void test_memory(int gpu)
{
    struct tutti_memory m, again;
    void *memory = NULL, *pinned = NULL;
    CUdeviceptr managed = 0;
    char local[64];
    OK(device->alloc(gpu, BYTES, &memory));
    device->classify((char *)memory + 12345, &m);
    CHECK(m.kind == TUTTI_MEMORY_DEVICE && m.gpu == gpu && m.base == memory && m.bytes >= BYTES && m.id,
          "kind %d gpu %d base %p of %p bytes %zu id %llu", m.kind, m.gpu, m.base, memory, m.bytes,
          (unsigned long long)m.id);
    CHECK((uintptr_t)memory % 256 == 0, "%p is not aligned", memory);
    OK(device->free(memory));
    device->classify(memory, &again);
    CHECK(again.kind == TUTTI_MEMORY_HOST, "freed memory is of kind %d", again.kind);
    OK(device->alloc(gpu, BYTES, &memory));
    device->classify(memory, &again);
    CHECK(again.id != m.id, "an allocation has the id of one before it");
    OK(device->free(memory));
    OK(device->alloc_pinned(4096, &pinned));
    device->classify(pinned, &m);
    CHECK(m.kind == TUTTI_MEMORY_PINNED, "pinned memory is of kind %d", m.kind);
    memset(pinned, 1, 4096);
    OK(device->free_pinned(pinned));
    if (DRIVER(cuMemAllocManaged)(&managed, 4096, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS) {
        device->classify((void *)managed, &m);
        CHECK(m.kind == TUTTI_MEMORY_MANAGED, "managed memory is of kind %d", m.kind);
        DRIVER(cuMemFree_v2)(managed);
    }
    device->classify(local, &m);
    CHECK(m.kind == TUTTI_MEMORY_HOST, "the stack is of kind %d", m.kind);
    uint64_t start = tutti_now_ns();
    for (int i = 0; i < 100000; i++)
        device->classify(local, &m);
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
    OK(device->alloc(gpu, BYTES, (void **)&memory));
    OK(device->stream_create(gpu, &first));
    OK(device->stream_create(gpu, &second));
    OK(device->event_create(gpu, &event));
    OK(device->copy(first, memory, host, BYTES));
    OK(device->fill(first, memory + 5, 0xab, 1001));
    OK(device->event_record(event, first));
    OK(device->event_wait(second, event));
    OK(device->copy(second, back, memory, BYTES));
    CHECK(wait_for(second) == 1, "the second stream did not end");
    CHECK(device->event_query(event) == 1, "the event has not happened");
    OK(device->stream_sync(first));
    memset(host + 5, 0xab, 1001);
    CHECK(memcmp(host, back, BYTES) == 0, "copy and fill over two streams");
    memset(back, 0, BYTES);
    OK(device->copy_now(memory + 1, host, 1000003));
    OK(device->copy_now(back, memory + 1, 1000003));
    CHECK(memcmp(host, back, 1000003) == 0, "copies outside streams");
    OK(device->event_destroy(event));
    OK(device->stream_destroy(second));
    OK(device->stream_destroy(first));
    OK(device->free(memory));
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
    OK(device->stream_create(gpu, &stream));
    OK(device->map_host(gpu, words, 4096, (void **)&seen));
    OK(device->alloc(gpu, ROOM, (void **)&out));
    OK(device->alloc(gpu, sizeof(struct tutti_channel_flags), (void **)&window));
    OK(device->fill(stream, window, 0, sizeof(struct tutti_channel_flags)));
    for (int r = 0; r < RANKS; r++) {
        OK(device->alloc(gpu, ROOM, (void **)&in[r]));
        for (int i = 0; i < ROOM; i++)
            host[r][i] = (char)random_next(&random);
        OK(device->copy_now(in[r], host[r], ROOM));
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
            struct tutti_launch launch = {TUTTI_KERNEL_DIRECT, type, op, 3, &args};
            OK(device->fill(stream, out, 0x5a, bytes));
            OK(device->launch(stream, &launch));
            CHECK(wait_for(stream) == 1, "%s %s did not end", tutti_type_name(type), tutti_op_name(op));
            CHECK(__atomic_load_n(&words->done, __ATOMIC_ACQUIRE) == epoch, "the done word is %u, not %u", words->done,
                  epoch);
            OK(device->copy_now(got, out, bytes));
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
        OK(device->free(in[r]));
    OK(device->free(window));
    OK(device->free(out));
    OK(device->unmap_host(gpu, words));
    OK(device->stream_destroy(stream));
    munmap(words, 4096);
}

/* ---- the second process ---- */
struct message {
    struct tutti_export what;
    uint64_t offset;
    int gpu, last;
};

static int send_message(int socket, const struct message *message, int fd)
{
    char room[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec data = {(void *)message, sizeof *message};
    struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
    if (fd >= 0) {
        header.msg_control = room;
        header.msg_controllen = sizeof room;
        struct cmsghdr *control = CMSG_FIRSTHDR(&header);
        *control = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(control), &fd, sizeof fd);
    }
    return sendmsg(socket, &header, MSG_NOSIGNAL) == (ssize_t)sizeof *message;
}

static int receive_message(int socket, struct message *message, int *fd)
{
    char room[CMSG_SPACE(sizeof *fd)];
    struct iovec data = {message, sizeof *message};
    struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    *fd = -1;
    if (recvmsg(socket, &header, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof *message)
        return 0;
    struct cmsghdr *control = CMSG_FIRSTHDR(&header);
    if (control)
        memcpy(fd, CMSG_DATA(control), sizeof *fd);
    return 1;
}

/* Reads 1000 bytes of the other's memory, adds one to each and writes them back. */
static int peer_main(int socket)
{
    char why[256];
    struct message message;
    int fd;
    alarm(300);
    if (device->open(why, sizeof why) != TUTTI_OK)
        return 1;
    while (receive_message(socket, &message, &fd) && !message.last) {
        unsigned char text[1000];
        void *base = NULL;
        int status = device->import_memory(message.gpu, &message.what, fd, &base);
        if (status == TUTTI_OK) {
            unsigned char *at = (unsigned char *)base + message.offset;
            status = device->copy_now(text, at, sizeof text);
            for (size_t i = 0; i < sizeof text; i++)
                text[i]++;
            if (status == TUTTI_OK)
                status = device->copy_now(at, text, sizeof text);
            int released = device->release_memory(message.gpu, &message.what, base);
            status = status != TUTTI_OK ? status : released;
        }
        if (fd >= 0)
            close(fd);
        if (write(socket, &status, sizeof status) != (ssize_t)sizeof status)
            return 1;
    }
    return 0;
}

static void test_share_one(int socket, const char *name, void *memory, int gpu, int needs_fd)
{
    unsigned char text[1000], back[1000];
    struct message message = {.offset = 777, .gpu = gpu};
    int fd = -1, status = -1;
    if (!CHECK(memory != NULL, "%s: could not be allocated", name))
        return;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)(i * 7);
    OK(device->copy_now((char *)memory + 777, text, sizeof text));
    uint64_t start = tutti_now_ns();
    status = device->export_memory((char *)memory + 5, &message.what, &fd);
    if (!CHECK(status == TUTTI_OK, "%s: export: %s", name, tutti_status_text(status)))
        return;
    uint64_t exported = tutti_now_ns();
    CHECK((int)message.what.needs_fd == needs_fd && (fd >= 0) == needs_fd, "%s: descriptor %d", name, fd);
    int sent = send_message(socket, &message, fd);
    int answered = sent && read(socket, &status, sizeof status) == (ssize_t)sizeof status;
    CHECK(answered && status == TUTTI_OK, "%s: the other process: %s", name, tutti_status_text(status));
    printf("%s to GPU %d: export %.0f us, import to release %.0f us\n", name, gpu, (double)(exported - start) / 1000,
           (double)(tutti_now_ns() - exported) / 1000);
    OK(device->copy_now(back, (char *)memory + 777, sizeof back));
    for (size_t i = 0; i < sizeof text; i++)
        text[i]++;
    CHECK(memcmp(text, back, sizeof text) == 0, "%s: what the other process wrote is not here", name);
    void *base = NULL;
    OK(device->import_memory(gpu, &message.what, fd, &base)); /* ranks may be threads of one process */
    if (base) {
        OK(device->copy_now(back, (char *)base + 777, sizeof back));
        CHECK(memcmp(text, back, sizeof text) == 0, "%s: its own memory imported", name);
        OK(device->release_memory(gpu, &message.what, base));
    }
    if (fd >= 0)
        close(fd);
}

static void test_share(int socket, int gpus)
{
    struct message message = {.last = 1};
    struct tutti_export what;
    size_t bytes = BYTES;
    int fd;
    void *plain = NULL, *small = NULL;
    OK(device->choose(0));
    OK(device->alloc(0, BYTES, &plain));
    OK(device->alloc(0, 2000, &small)); /* shares a page of the driver with others */
    void *vmm = make_vmm(0, 1, &bytes), *pooled = make_pooled(0, 1, BYTES);
    for (int gpu = 0; gpu < gpus && gpu < 2; gpu++) {
        test_share_one(socket, "cuMemAlloc memory", plain, gpu, 0);
        test_share_one(socket, "small cuMemAlloc memory", small, gpu, 0);
        test_share_one(socket, "cuMemCreate memory", vmm, gpu, 1);
        test_share_one(socket, "memory of a shareable pool", pooled, gpu, 1);
    }
    vmm = make_vmm(0, 0, &bytes);
    pooled = make_pooled(0, 0, BYTES);
    if (CHECK(vmm && pooled, "memory that is not to be shared could not be allocated")) {
        CHECK(device->export_memory(vmm, &what, &fd) == TUTTI_ERR_NOT_EXPORTABLE, "private cuMemCreate memory");
        CHECK(device->export_memory(pooled, &what, &fd) == TUTTI_ERR_NOT_EXPORTABLE, "memory of a private pool");
    }
    CHECK(send_message(socket, &message, -1), "the other process has gone");
}

/* The program resets the GPU under open streams: errors, no crash, and work goes on in the next context. */
static void test_reset(void)
{
    struct tutti_stream *stream = NULL, *left = NULL;
    void *memory = NULL;
    char text[64] = "reset";
    OK(device->choose(0));
    OK(device->stream_create(0, &stream));
    OK(device->stream_create(0, &left));
    OK(device->alloc(0, 4096, &memory));
    CHECK(DRIVER(cuDevicePrimaryCtxReset_v2)(0) == CUDA_SUCCESS, "the context could not be reset");
    CHECK(device->stream_sync(stream) == TUTTI_ERR_DEVICE, "a stream outlived its context");
    OK(device->free(memory));
    OK(device->stream_destroy(left));
    DRIVER(cuCtxSetCurrent)(NULL);
    OK(device->alloc(0, 4096, &memory));
    OK(device->copy(stream, memory, text, sizeof text));
    CHECK(wait_for(stream) == 1, "the stream was not made anew");
    OK(device->stream_destroy(stream));
    OK(device->free(memory));
}

int main(int argc, char **argv)
{
    char why[256] = "";
    int pair[2];
    if (argc == 3 && strcmp(argv[1], "peer") == 0)
        return peer_main(atoi(argv[2]));
    int reset = argc < 2 || strcmp(argv[1], "small") != 0;
    alarm(300);
    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK(device->active() == 0, "active before anything was loaded");
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
    int gpus = device->gpus();
    test_identity(gpus);
    for (int g = 0; g < gpus; g++) {
        test_memory(g);
        test_streams(g);
        test_kernels(g);
    }
    test_share(pair[0], gpus);
    int left = -1;
    CHECK(waitpid(peer, &left, 0) == peer && left == 0, "the other process ended with status %d", left);
    if (reset)
        test_reset();
    device->close();
    printf("device on %d GPUs: %ld checks, %ld failed\n", gpus, check_done(), check_failed());
    return check_failed() != 0;
}
