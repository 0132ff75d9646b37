/* Memory of a device in another process: exported, sent over a socket with its descriptor, imported, used by copies and
 * kernels, released. share_test DEVICE. The other process is forked before either has used the device. */
#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/types.h"

/* What one process asks of the other. */
enum order { IMPORT, RELEASE, CHECK, PUT, MAKE, FREE, ADD, DESCRIPTORS, UUID };
struct message {
    enum order order;
    int status; /* of the answer */
    int has_fd;
    uint64_t seed;
    size_t bytes;
    struct tutti_export memory;
    unsigned char uuid[16];
};

static int link_fd = -1;

static int send_message(int socket, const struct message *message, int fd)
{
    struct iovec part = {(void *)(uintptr_t)message, sizeof *message};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        header.msg_control = control.bytes;
        header.msg_controllen = sizeof control.bytes;
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    }
    return sendmsg(socket, &header, MSG_NOSIGNAL) == (ssize_t)sizeof *message;
}

static int receive_message(int socket, struct message *message, int *fd)
{
    struct iovec part = {message, sizeof *message};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct msghdr header = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    *fd = -1;
    if (recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_WAITALL) != (ssize_t)sizeof *message)
        return 0;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    if (rights && rights->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(rights), sizeof *fd);
    return 1;
}

/* Sends an order with a descriptor; the answer replaces *message, and its descriptor *fd. */
static int ask(struct message *message, int *fd)
{
    message->has_fd = *fd >= 0;
    assert_true(send_message(link_fd, message, *fd));
    assert_true(receive_message(link_fd, message, fd));
    assert_int_equal(*fd >= 0, message->has_fd);
    return message->status;
}

static int order(enum order what, uint64_t seed, size_t bytes)
{
    struct message message = {.order = what, .seed = seed, .bytes = bytes};
    int fd = -1;
    return ask(&message, &fd);
}

/* The sum of two vectors of int32 by a kernel; the first gets it. */
static int add(void *first, void *second, size_t bytes)
{
    struct kit_words *seen, *words = kit_words(&seen);
    void *channel = kit_alloc(sizeof(struct tutti_channel_flags));
    struct tutti_stream *stream;
    const uint64_t count = bytes / sizeof(int32_t);
    struct tutti_kernel_args args = {.count = count,
                                     .slice = count,
                                     .ranks = 2,
                                     .outs = 1,
                                     .gpus = 1,
                                     .epoch = 3,
                                     .blocks = 1,
                                     .finished = 1,
                                     .abort = &seen->abort,
                                     .done = &seen->done};
    struct tutti_launch launch = {
        .kernel = TUTTI_KERNEL_DIRECT, .type = TUTTI_TYPE_I32, .op = TUTTI_OP_BXOR, .blocks = 1, .args = &args};
    args.in[0] = args.out[0] = first;
    args.in[1] = second;
    args.window[0] = channel;
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    int status = device->stream.fill(stream, channel, 0, sizeof(struct tutti_channel_flags));
    if (status == TUTTI_OK)
        status = device->launch.kernel(stream, &launch);
    if (status == TUTTI_OK)
        status = device->stream.sync(stream);
    if (status == TUTTI_OK && words->done != 3)
        status = TUTTI_ERR_DEVICE;
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
    kit_free(channel);
    kit_words_free(words);
    return status;
}

/* The other process: holds one imported and one own allocation, and does as it is told. */
static struct message *now;
static int now_fd;
static void *imported, *own;
static struct tutti_export imported_name;

static void obey(void **state)
{
    (void)state;
    struct tutti_memory memory;
    int answer_fd = -1;
    now->status = TUTTI_OK;
    switch (now->order) {
    case IMPORT:
        imported_name = now->memory;
        now->status = device->share.import(0, &now->memory, now_fd, &imported);
        if (now->status == TUTTI_OK) {
            device->memory.classify((char *)imported + now->memory.bytes - 1, &memory);
            assert_int_equal(memory.kind, TUTTI_MEMORY_DEVICE);
        }
        break;
    case RELEASE:
        now->status = device->share.release(0, &imported_name, imported);
        break;
    case CHECK:
        now->status = kit_holds(imported, now->bytes, now->seed) ? TUTTI_OK : TUTTI_ERR_DEVICE;
        break;
    case PUT:
        kit_put(imported, now->bytes, now->seed);
        break;
    case MAKE:
        own = kit_alloc(now->bytes);
        kit_put(own, now->bytes, now->seed);
        now->status = device->share.export(own, &now->memory, &answer_fd);
        break;
    case FREE:
        kit_free(own);
        break;
    case ADD:
        now->status = add(imported, own, now->bytes);
        break;
    case DESCRIPTORS:
        now->seed = (uint64_t)kit_descriptors();
        break;
    case UUID:
        now->status = device->gpu.uuid(0, now->uuid);
        break;
    }
    if (now_fd >= 0)
        close(now_fd);
    now->has_fd = answer_fd >= 0;
    assert_true(send_message(link_fd, now, answer_fd));
    if (answer_fd >= 0)
        close(answer_fd);
}

static int other_process(const char *name)
{
    struct message message;
    const struct CMUnitTest one[] = {cmocka_unit_test(obey)};
    if (kit_open(name) != 0)
        return KIT_SKIP;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    while (receive_message(link_fd, &message, &now_fd)) {
        now = &message;
        if (cmocka_run_group_tests(one, NULL, NULL) != 0)
            return 1;
    }
    return 0;
}

static void export_of(const void *pointer, struct message *message, int *fd)
{
    *fd = -1;
    *message = (struct message){.order = IMPORT};
    assert_int_equal(device->share.export(pointer, &message->memory, fd), TUTTI_OK);
    assert_int_equal(message->memory.needs_fd != 0, *fd >= 0);
}

/* Sends `made` to the other process. */
static void give(const void *made)
{
    struct message message;
    int fd;
    export_of(made, &message, &fd);
    int mine = fd;
    assert_int_equal(ask(&message, &fd), TUTTI_OK);
    if (mine >= 0)
        close(mine);
}

static void test_same_hardware(void **state)
{
    (void)state;
    struct message message = {.order = UUID};
    unsigned char uuid[16];
    int fd = -1;
    assert_int_equal(ask(&message, &fd), TUTTI_OK);
    assert_int_equal(device->gpu.uuid(0, uuid), TUTTI_OK);
    assert_memory_equal(uuid, message.uuid, 16);
}

static void test_give(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 4096, 100001, 5 << 20};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        char *made = kit_alloc(sizes[s]);
        struct message message;
        struct tutti_memory memory;
        int fd;
        /* Any pointer into it names the whole. */
        export_of(made + sizes[s] - 1, &message, &fd);
        device->memory.classify(made, &memory);
        assert_int_equal(message.memory.id, memory.id);
        assert_int_equal(message.memory.base, (uintptr_t)made);
        assert_int_equal(message.memory.bytes, memory.bytes);
        if (fd >= 0)
            close(fd);
        kit_put(made, sizes[s], s);
        give(made);
        assert_int_equal(order(CHECK, s, sizes[s]), TUTTI_OK);
        assert_int_equal(order(PUT, s + 100, sizes[s]), TUTTI_OK);
        assert_true(kit_holds(made, sizes[s], s + 100));
        kit_put(made, sizes[s], s + 200);
        assert_int_equal(order(CHECK, s + 200, sizes[s]), TUTTI_OK);
        assert_int_equal(order(RELEASE, 0, 0), TUTTI_OK);
        kit_free(made);
    }
}

static void test_take(void **state)
{
    (void)state;
    enum { BYTES = 70001 };
    struct message message = {.order = MAKE, .bytes = BYTES, .seed = 31};
    struct tutti_stream *stream;
    void *base = NULL, *copy = kit_alloc(BYTES);
    int fd = -1;
    assert_int_equal(ask(&message, &fd), TUTTI_OK);
    assert_int_equal(device->share.import(0, &message.memory, fd, &base), TUTTI_OK);
    assert_true(kit_holds(base, BYTES, 31));
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    assert_int_equal(device->stream.copy(stream, copy, base, BYTES), TUTTI_OK);
    assert_int_equal(device->stream.sync(stream), TUTTI_OK);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
    assert_true(kit_holds(copy, BYTES, 31));
    if (kit_is("host")) { /* who lets go first is of no account */
        void *made = NULL;
        assert_int_equal(device->share.export(base, &message.memory, &fd), TUTTI_ERR_NOT_EXPORTABLE);
        assert_int_equal(device->memory.free(base), TUTTI_ERR_ARGUMENT);
        assert_int_equal(order(FREE, 0, 0), TUTTI_OK);
        assert_true(kit_holds(base, BYTES, 31));
        assert_int_equal(device->memory.alloc(0, BYTES, &made), TUTTI_OK);
        kit_free(made);
    }
    assert_int_equal(device->share.release(0, &message.memory, base), TUTTI_OK);
    if (!kit_is("host"))
        assert_int_equal(order(FREE, 0, 0), TUTTI_OK);
    if (fd >= 0)
        close(fd);
    kit_free(copy);
}

/* A kernel of the other process over memory of both. */
static void test_kernel(void **state)
{
    (void)state;
    enum { COUNT = 5003, BYTES = COUNT * 4 };
    static int32_t a[COUNT], b[COUNT], got[COUNT];
    struct message message = {.order = MAKE, .bytes = BYTES, .seed = 77};
    int fd = -1;
    void *made = kit_alloc(BYTES);
    kit_pattern(a, BYTES, 76);
    kit_pattern(b, BYTES, 77);
    kit_put(made, BYTES, 76);
    assert_int_equal(ask(&message, &fd), TUTTI_OK);
    if (fd >= 0)
        close(fd);
    give(made);
    assert_int_equal(order(ADD, 0, BYTES), TUTTI_OK);
    assert_int_equal(device->memory.copy_now(got, made, BYTES), TUTTI_OK);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(got[i], a[i] ^ b[i]);
    assert_int_equal(order(RELEASE, 0, 0), TUTTI_OK);
    assert_int_equal(order(FREE, 0, 0), TUTTI_OK);
    kit_free(made);
}

/* Addresses come back with other memory; nothing is left behind. */
static void test_churn(void **state)
{
    (void)state;
    enum { TIMES = 200, BYTES = 12000 };
    struct message before = {.order = DESCRIPTORS}, after = {.order = DESCRIPTORS};
    int none = -1, mine = kit_descriptors();
    assert_int_equal(ask(&before, &none), TUTTI_OK);
    for (int i = 0; i < TIMES; i++) {
        void *made = kit_alloc(BYTES);
        kit_put(made, BYTES, (uint64_t)i);
        give(made);
        assert_int_equal(order(CHECK, (uint64_t)i, BYTES), TUTTI_OK);
        assert_int_equal(order(RELEASE, 0, 0), TUTTI_OK);
        kit_free(made);
    }
    assert_int_equal(ask(&after, &none), TUTTI_OK);
    assert_int_equal(after.seed, before.seed);
    assert_int_equal(kit_descriptors(), mine);
}

/* Ranks may be threads of one process. */
static void test_same_process(void **state)
{
    (void)state;
    enum { BYTES = 30000 };
    char *made = kit_alloc(BYTES);
    void *base[2] = {NULL, NULL};
    struct message message;
    int fd, before = kit_descriptors();
    kit_put(made, BYTES, 1);
    export_of(made + 99, &message, &fd);
    for (int i = 0; i < 2; i++)
        assert_int_equal(device->share.import(0, &message.memory, fd, &base[i]), TUTTI_OK);
    if (fd >= 0)
        close(fd);
    assert_true(kit_holds(base[0], BYTES, 1));
    kit_put(base[0], BYTES, 2);
    assert_true(kit_holds(made, BYTES, 2));
    assert_int_equal(device->share.release(0, &message.memory, base[0]), TUTTI_OK);
    kit_put(made, BYTES, 3);
    assert_true(kit_holds(base[1], BYTES, 3));
    assert_int_equal(device->share.release(0, &message.memory, base[1]), TUTTI_OK);
    assert_true(kit_holds(made, BYTES, 3));
    kit_free(made);
    assert_true(kit_descriptors() <= before);
}

/* Memory that was exported is not used again while a peer has it mapped. */
static void test_freed(void **state)
{
    (void)state;
    enum { BYTES = 64, TIMES = 20 };
    char *made = kit_alloc(BYTES), *others[TIMES];
    void *base = NULL;
    struct message message;
    int fd;
    kit_put(made, BYTES, 1);
    export_of(made, &message, &fd);
    assert_int_equal(device->share.import(0, &message.memory, fd, &base), TUTTI_OK);
    if (fd >= 0)
        close(fd);
    kit_free(made);
    for (int i = 0; i < TIMES; i++) {
        others[i] = kit_alloc(BYTES);
        kit_put(others[i], BYTES, 2);
    }
    if (device->simulates) /* a GPU's memory may go with its owner */
        assert_true(kit_holds(base, BYTES, 1));
    assert_int_equal(device->share.release(0, &message.memory, base), TUTTI_OK);
    for (int i = 0; i < TIMES; i++)
        kit_free(others[i]);
}

static void test_not_exportable(void **state)
{
    (void)state;
    struct tutti_export name;
    int fd = -5, local = 0;
    void *pinned;
    assert_int_equal(device->memory.alloc_pinned(100, &pinned), TUTTI_OK);
    assert_int_equal(device->share.export(&local, &name, &fd), TUTTI_ERR_NOT_EXPORTABLE);
    assert_int_equal(device->share.export(NULL, &name, &fd), TUTTI_ERR_NOT_EXPORTABLE);
    assert_int_equal(device->share.export(pinned, &name, &fd), TUTTI_ERR_NOT_EXPORTABLE);
    assert_int_equal(fd, -5);
    assert_int_equal(device->memory.free_pinned(pinned), TUTTI_OK);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_hardware),  cmocka_unit_test(test_give),  cmocka_unit_test(test_take),
        cmocka_unit_test(test_kernel),         cmocka_unit_test(test_churn), cmocka_unit_test(test_same_process),
        cmocka_unit_test(test_not_exportable), cmocka_unit_test(test_freed),
    };
    const char *name = argc > 1 ? argv[1] : "host";
    const struct timeval limit = {KIT_SECONDS, 0};
    int pair[2], state = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return 1;
    pid_t child = fork();
    link_fd = pair[child == 0];
    close(pair[child != 0]);
    setsockopt(link_fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (child == 0) {
        /* Its protocol of tests is of no interest, unless one fails. */
        return other_process(name);
    }
    int status = kit_open(name);
    if (status == 0)
        status = cmocka_run_group_tests(tests, NULL, NULL);
    close(link_fd);
    if (waitpid(child, &state, 0) != child || (status == 0 && state != 0)) {
        fprintf(stderr, "the other process ended with %d\n", state);
        return 1;
    }
    return status;
}
