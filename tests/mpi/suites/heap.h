/* Included before each source of another project's test: what it takes from the heap lies in device memory of the host
 * device, which a program may read and write as its own while TUTTI_HOST_STRICT is 0. Without the library it is
 * ordinary memory. */
#ifndef TUTTI_TESTS_HEAP_H
#define TUTTI_TESTS_HEAP_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { HEAP_HEAD = 64 };
static const char heap_mark[16] = "tutti test heap";

int tutti_alloc(size_t bytes, void **device) __attribute__((weak));
int tutti_free(void *device) __attribute__((weak));

static inline void *heap_malloc(size_t bytes)
{
    char *base = NULL;
    void *memory = NULL;
    if (!tutti_alloc)
        base = (malloc)(bytes + HEAP_HEAD);
    else if (tutti_alloc(bytes + HEAP_HEAD, &memory) == 0)
        base = memory;
    if (!base)
        return NULL;
    memcpy(base, heap_mark, sizeof heap_mark);
    memcpy(base + sizeof heap_mark, &bytes, sizeof bytes);
    return base + HEAP_HEAD;
}

static inline void heap_free(void *memory)
{
    char *base = memory ? (char *)memory - HEAP_HEAD : NULL;
    if (base && memcmp(base, heap_mark, sizeof heap_mark) != 0)
        (free)(memory); /* from a library */
    else if (base && tutti_free)
        tutti_free(base);
    else
        (free)(base);
}

static inline void *heap_calloc(size_t n, size_t bytes)
{
    void *memory = heap_malloc(n * bytes);
    if (memory)
        memset(memory, 0, n * bytes);
    return memory;
}

static inline void *heap_realloc(void *old, size_t bytes)
{
    void *memory = heap_malloc(bytes);
    size_t had = 0;
    if (old)
        memcpy(&had, (char *)old - HEAP_HEAD + sizeof heap_mark, sizeof had);
    if (memory && old)
        memcpy(memory, old, had < bytes ? had : bytes);
    if (memory)
        heap_free(old);
    return memory;
}

#define malloc(bytes)       heap_malloc(bytes)
#define calloc(n, bytes)    heap_calloc(n, bytes)
#define realloc(old, bytes) heap_realloc(old, bytes)
#define free(memory)        heap_free(memory)

#endif
