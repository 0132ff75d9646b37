#include "device/host/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/log.h"

static int pool = -1; /* opened once */

static int pool_open(size_t most)
{
    const int fd = memfd_create("tutti-device-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)most) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int tutti_host_pool_take(size_t most, size_t offset, size_t bytes)
{
    int failed;
    if (pool < 0)
        pool = pool_open(most);
    if (pool < 0)
        return -1;
    do
        failed = fallocate(pool, 0, (off_t)offset, (off_t)bytes) != 0;
    while (failed && errno == EINTR);
    return failed ? -1 : pool;
}

void tutti_host_pool_give(size_t offset, size_t bytes)
{
    int failed;
    do
        failed = fallocate(pool, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes) != 0;
    while (failed && errno == EINTR);
    if (failed)
        tutti_info("host device: memory of a small allocation stays in the pool");
}

int tutti_host_pool_is(int fd)
{
    return fd >= 0 && fd == pool;
}
