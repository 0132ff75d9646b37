#include "core/ordinary.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BRK_FIELD = 47 /* of /proc/self/stat: where the heap begins */, COMMAND_FIELD = 2 };

_Atomic uint64_t tutti_ordinary_pages[TUTTI_ORDINARY_PAGES];

static pthread_once_t found = PTHREAD_ONCE_INIT;
static uintptr_t heap;               /* where it begins; 0: not known */
static uintptr_t data_from, data_to; /* the program's static data */

/* The first object is the program. Calls for others do not come. */
static int ordinary_data(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W))
            continue;
        data_from = info->dlpi_addr + part->p_vaddr;
        data_to = data_from + part->p_memsz;
    }
    return 1;
}

/* The command in parentheses may contain anything. */
static uintptr_t ordinary_heap(void)
{
    char text[2048];
    const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const ssize_t n = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[n > 0 ? n : 0] = 0;
    const char *at = strrchr(text, ')');
    for (int field = COMMAND_FIELD; at && field < BRK_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at ? (uintptr_t)strtoull(at, NULL, 10) : 0;
}

static void ordinary_find(void)
{
    (void)dl_iterate_phdr(ordinary_data, NULL);
    heap = ordinary_heap();
}

/* glibc's: the end of the heap. sbrk(0) is not safe beside another thread's malloc() where a library of the MPI has
 * replaced it: UCX's sets the end that it has read before, and so takes the other thread's memory away. */
extern void *__curbrk __attribute__((weak));

static uintptr_t heap_end(void)
{
    return &__curbrk ? (uintptr_t) * (void *volatile *)&__curbrk : (uintptr_t)syscall(SYS_brk, 0);
}

/* The heap may have become shorter: then others may map what was behind its end. */
static int ordinary_is_there(uintptr_t at)
{
    return (at >= data_from && at < data_to) || (heap && at >= heap && at < heap_end());
}

int tutti_ordinary_holds_slow(uintptr_t at, uint64_t known)
{
    const uintptr_t page = at >> TUTTI_ORDINARY_PAGE;
    const int left = (known & ((UINT64_C(1) << TUTTI_ORDINARY_LEFT) - 1)) != 0;
    atomic_store_explicit(&tutti_ordinary_pages[page % TUTTI_ORDINARY_PAGES], left ? known - 1 : 0,
                          memory_order_relaxed);
    return left && ordinary_is_there(at);
}

void tutti_ordinary_note(const void *pointer)
{
    const uintptr_t at = (uintptr_t)pointer, page = at >> TUTTI_ORDINARY_PAGE;
    pthread_once(&found, ordinary_find);
    if (ordinary_is_there(at))
        atomic_store_explicit(&tutti_ordinary_pages[page % TUTTI_ORDINARY_PAGES],
                              (uint64_t)page << TUTTI_ORDINARY_LEFT | TUTTI_ORDINARY_TIMES, memory_order_relaxed);
}

void tutti_ordinary_forget(const void *base, size_t bytes)
{
    const uintptr_t first = (uintptr_t)base >> TUTTI_ORDINARY_PAGE,
                    last = ((uintptr_t)base + (bytes ? bytes - 1 : 0)) >> TUTTI_ORDINARY_PAGE;
    for (uintptr_t page = first; page <= last && page - first < TUTTI_ORDINARY_PAGES; page++)
        atomic_store_explicit(&tutti_ordinary_pages[page % TUTTI_ORDINARY_PAGES], 0, memory_order_relaxed);
}
