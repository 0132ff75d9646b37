/* The n-th thing that libtutti asks the system for (memory, a memfd, a descriptor's duplicate, a mapping) is refused.
 * What the program and the MPI ask for is not counted. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "refuse.h"

static atomic_int counting;
static atomic_long made;
static long failing; /* of those that are counted */
static struct range {
    uintptr_t begin, end;
} ranges[16];
static int range_count;

static int add_range(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum && strstr(info->dlpi_name, "libtutti") && range_count < 16; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_flags & PF_X)
            ranges[range_count++] =
                (struct range){info->dlpi_addr + part->p_vaddr, info->dlpi_addr + part->p_vaddr + part->p_memsz};
    }
    return 0;
}

/* 1 if the call from `caller` is to fail. */
static int refused(const void *caller)
{
    if (!atomic_load_explicit(&counting, memory_order_relaxed))
        return 0;
    for (int i = 0; i < range_count; i++) {
        if ((uintptr_t)caller - ranges[i].begin >= ranges[i].end - ranges[i].begin)
            continue;
        if (atomic_fetch_add(&made, 1) + 1 != failing)
            return 0;
        errno = ENOMEM;
        return 1;
    }
    return 0;
}
#define REFUSED refused(__builtin_return_address(0))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    return REFUSED ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return REFUSED ? NULL : __libc_calloc(n, size);
}

void *realloc(void *at, size_t size)
{
    return REFUSED ? NULL : __libc_realloc(at, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    return REFUSED || !(*out = __libc_memalign(alignment, size)) ? ENOMEM : 0;
}

int memfd_create(const char *name, unsigned flags)
{
    return REFUSED ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return REFUSED ? MAP_FAILED : (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

int fcntl(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    long argument = va_arg(list, long);
    va_end(list);
    if (command == F_DUPFD_CLOEXEC && REFUSED)
        return -1;
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

void refuse_open(void)
{
    dl_iterate_phdr(add_range, NULL);
}

void refuse_nth(long n)
{
    failing = n;
    atomic_store(&made, 0);
}

void refuse_count(int on)
{
    atomic_store(&counting, on);
}

long refuse_made(void)
{
    return atomic_load(&made);
}
