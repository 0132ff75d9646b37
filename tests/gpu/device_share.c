/* The CUDA device's memory in a second process: memory of every kind that a program may allocate. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "device_test.h"

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
int share_peer(int socket)
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
        int status = device->share.import(message.gpu, &message.what, fd, &base);
        if (status == TUTTI_OK) {
            unsigned char *at = (unsigned char *)base + message.offset;
            status = device->memory.copy_now(text, at, sizeof text);
            for (size_t i = 0; i < sizeof text; i++)
                text[i]++;
            if (status == TUTTI_OK)
                status = device->memory.copy_now(at, text, sizeof text);
            int released = device->share.release(message.gpu, &message.what, base);
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
    OK(device->memory.copy_now((char *)memory + 777, text, sizeof text));
    uint64_t start = tutti_now_ns();
    status = device->share.export((char *)memory + 5, &message.what, &fd);
    if (!CHECK(status == TUTTI_OK, "%s: export: %s", name, tutti_status_text(status)))
        return;
    uint64_t exported = tutti_now_ns();
    CHECK((int)message.what.needs_fd == needs_fd && (fd >= 0) == needs_fd, "%s: descriptor %d", name, fd);
    int sent = send_message(socket, &message, fd);
    int answered = sent && read(socket, &status, sizeof status) == (ssize_t)sizeof status;
    CHECK(answered && status == TUTTI_OK, "%s: the other process: %s", name, tutti_status_text(status));
    printf("%s to GPU %d: export %.0f us, import to release %.0f us\n", name, gpu, (double)(exported - start) / 1000,
           (double)(tutti_now_ns() - exported) / 1000);
    OK(device->memory.copy_now(back, (char *)memory + 777, sizeof back));
    for (size_t i = 0; i < sizeof text; i++)
        text[i]++;
    CHECK(memcmp(text, back, sizeof text) == 0, "%s: what the other process wrote is not here", name);
    void *base = NULL;
    OK(device->share.import(gpu, &message.what, fd, &base)); /* ranks may be threads of one process */
    if (base) {
        OK(device->memory.copy_now(back, (char *)base + 777, sizeof back));
        CHECK(memcmp(text, back, sizeof text) == 0, "%s: its own memory imported", name);
        OK(device->share.release(gpu, &message.what, base));
    }
    if (fd >= 0)
        close(fd);
}

void share_test(int socket, int gpus)
{
    struct message message = {.last = 1};
    struct tutti_export what;
    size_t bytes = BYTES;
    int fd;
    void *plain = NULL, *small = NULL;
    OK(device->gpu.choose(0));
    OK(device->memory.alloc(0, BYTES, &plain));
    OK(device->memory.alloc(0, 2000, &small)); /* shares a page of the driver with others */
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
        CHECK(device->share.export(vmm, &what, &fd) == TUTTI_ERR_NOT_EXPORTABLE, "private cuMemCreate memory");
        CHECK(device->share.export(pooled, &what, &fd) == TUTTI_ERR_NOT_EXPORTABLE, "memory of a private pool");
    }
    CHECK(send_message(socket, &message, -1), "the other process has gone");
}
