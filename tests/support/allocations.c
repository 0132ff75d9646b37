#include "support/allocations.h"

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Not through dlsym(), which allocates itself. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

enum { PARTS = 32, CALLERS = 64 };
static struct part {
    uintptr_t begin, end, base;
    char library[64];
} part[PARTS];
static int parts;
static struct caller {
    _Atomic uintptr_t at;
    atomic_long times;
} caller[CALLERS];
static atomic_int on;
static atomic_long taken, given_back;

static const struct part *part_of(uintptr_t at)
{
    for (int i = 0; i < parts; i++) {
        if (at >= part[i].begin && at < part[i].end)
            return &part[i];
    }
    return NULL;
}

static void count(atomic_long *what, const void *address)
{
    uintptr_t at = (uintptr_t)address;
    if (!atomic_load_explicit(&on, memory_order_acquire) || !part_of(at))
        return;
    atomic_fetch_add(what, 1);
    for (int i = 0; i < CALLERS; i++) {
        uintptr_t was = 0;
        if (atomic_compare_exchange_strong(&caller[i].at, &was, at) || was == at) {
            atomic_fetch_add(&caller[i].times, 1);
            return;
        }
    }
}

#define CALLED(what) count(&what, __builtin_return_address(0))

void *malloc(size_t size)
{
    CALLED(taken);
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    CALLED(taken);
    return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    CALLED(taken);
    return __libc_realloc(old, size);
}

void *reallocarray(void *old, size_t n, size_t size)
{
    CALLED(taken);
    if (size && n > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(old, n * size);
}

void *memalign(size_t alignment, size_t size)
{
    CALLED(taken);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    CALLED(taken);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    CALLED(taken);
    void *memory = __libc_memalign(alignment, size);
    if (memory)
        *out = memory;
    return memory ? 0 : ENOMEM;
}

char *strndup(const char *text, size_t most)
{
    CALLED(taken);
    size_t length = strnlen(text, most);
    char *copy = __libc_malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *strdup(const char *text)
{
    CALLED(taken);
    size_t bytes = strlen(text) + 1;
    char *copy = __libc_malloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

void free(void *memory)
{
    if (memory)
        CALLED(given_back);
    __libc_free(memory);
}

static int add_parts(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    int ours = strncmp(name, "libtutti", 8) == 0;
    *(int *)data += ours;
    if (!ours && *name) /* the program has no name */
        return 0;
    for (int i = 0; i < info->dlpi_phnum && parts < PARTS; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        struct part *new = &part[parts++];
        new->base = info->dlpi_addr;
        new->begin = info->dlpi_addr + header->p_vaddr;
        new->end = new->begin + header->p_memsz;
        snprintf(new->library, sizeof new->library, "%s", *name ? name : "the program");
    }
    return 0;
}

int allocations_begin(void)
{
    int libraries = 0;
    atomic_store(&on, 0);
    parts = 0;
    dl_iterate_phdr(add_parts, &libraries);
    for (int i = 0; i < CALLERS; i++) {
        atomic_store(&caller[i].at, 0);
        atomic_store(&caller[i].times, 0);
    }
    atomic_store(&taken, 0);
    atomic_store(&given_back, 0);
    atomic_store_explicit(&on, 1, memory_order_release);
    return libraries;
}

struct allocations allocations_end(void)
{
    atomic_store(&on, 0);
    return (struct allocations){atomic_load(&taken), atomic_load(&given_back)};
}

void allocations_tell(void)
{
    for (int i = 0; i < CALLERS && caller[i].at; i++) {
        const struct part *of = part_of(caller[i].at);
        printf("    %8ld by %s+0x%lx\n", atomic_load(&caller[i].times), of->library,
               (unsigned long)(caller[i].at - of->base));
    }
}
