/* Host memory that all PEs of the node map: a memfd each. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "shmem/space.h"

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

/* All pages are taken now: a full machine must fail here, not with SIGBUS at a later store. What it cannot have at all
 * is not even asked for, since some systems end a process for that. */
int tutti_shmem_memfd(size_t bytes, int pes)
{
    const uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (bytes > machine / (uint64_t)pes) {
        tutti_error("tshmem_init: %d heaps of %zu MiB (TUTTI_SHMEM_HEAP_MB) are more than the %llu MiB of this machine",
                    pes, bytes >> 20, (unsigned long long)(machine >> 20));
        return -1;
    }
    const int fd = memfd_create("tutti-shmem", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        tutti_error("tshmem_init: memfd_create failed: %s", strerror(errno));
        return -1;
    }
    if (ftruncate(fd, (off_t)bytes) == 0 && fallocate(fd, 0, 0, (off_t)bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) == 0)
        return fd;
    tutti_error("tshmem_init: no %zu MiB of memory for the heap (TUTTI_SHMEM_HEAP_MB): %s", bytes >> 20,
                strerror(errno));
    close(fd);
    return -1;
}

/* Room is reserved for the worst case, and what is left over of it goes back. */
static void *map_aligned(int fd, size_t bytes, size_t before)
{
    const size_t align = TUTTI_SHMEM_ALIGN_MOST;
    char *room = mmap(NULL, bytes + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    const size_t skip = -((uintptr_t)room + before) & (align - 1);
    void *map = mmap(room + skip, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    if (map == MAP_FAILED) {
        munmap(room, bytes + align);
        return NULL;
    }
    if (skip > 0)
        munmap(room, skip);
    if (skip < align)
        munmap(room + skip + bytes, align - skip);
    return map;
}

/* The descriptor comes from another process: nothing about it is believed. */
void *tutti_shmem_memfd_map(int fd, size_t bytes, size_t before)
{
    struct stat stat;
    const int seals = fd < 0 ? 0 : fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &stat) != 0 || stat.st_size != (off_t)bytes)
        return NULL;
    return map_aligned(fd, bytes, before);
}
