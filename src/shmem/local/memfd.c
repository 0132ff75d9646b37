/* Host memory that all PEs of the node map: a memfd each. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "shmem/space.h"

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

/* All pages are allocated now: a full machine must fail here, not with SIGBUS at a later store. A size that the
 * machine cannot have is not requested, since some systems end a process for that. */
int tutti_shmem_memfd(size_t bytes, uint64_t all, int pes, char why[TUTTI_SHMEM_WHY])
{
    const uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (all > machine / (uint64_t)pes) {
        snprintf(why, TUTTI_SHMEM_WHY,
                 "%d heaps of %llu MiB (TUTTI_SHMEM_HEAP_MB) are more than the %llu MiB of this machine", pes,
                 (unsigned long long)(all >> 20), (unsigned long long)(machine >> 20));
        return -1;
    }
    const int fd = memfd_create("tutti-shmem", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        snprintf(why, TUTTI_SHMEM_WHY, "memfd_create failed: %s", strerror(errno));
        return -1;
    }
    if (ftruncate(fd, (off_t)bytes) == 0 && fallocate(fd, 0, 0, (off_t)bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) == 0)
        return fd;
    snprintf(why, TUTTI_SHMEM_WHY, "no %zu MiB of memory for the heap (TUTTI_SHMEM_HEAP_MB): %s", bytes >> 20,
             strerror(errno));
    close(fd);
    return -1;
}

/* The descriptor comes from another process: size and seals are checked. */
void *tutti_shmem_memfd_map(int fd, size_t bytes, void *at)
{
    struct stat stat;
    const int seals = fd < 0 ? 0 : fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &stat) != 0 || stat.st_size != (off_t)bytes)
        return NULL;
    void *map = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

static void *reserve_at(void *at, size_t bytes)
{
    void *room = mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);
    return room == MAP_FAILED ? NULL : room;
}

/* Address space is reserved for the worst case; the unused rest is freed. */
void *tutti_shmem_reserve(size_t bytes, size_t before, size_t align)
{
    char *room = reserve_at(NULL, bytes + align);
    if (!room)
        return NULL;
    const size_t skip = -((uintptr_t)room + before) & (align - 1);
    if (skip > 0)
        munmap(room, skip);
    if (skip < align)
        munmap(room + skip + bytes, align - skip);
    return room + skip;
}

void tutti_shmem_memfd_unmap(void *at, size_t bytes)
{
    if (!reserve_at(at, bytes))
        tutti_error("%zu MiB of a heap could not be unmapped: %s", bytes >> 20, strerror(errno));
}
