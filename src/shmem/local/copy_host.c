/* Copies between heaps in host memory. Another PE may wait for an element of the destination, and store to it as soon
 * as it has arrived. So an element must not be stored twice, as memcpy does with the words at both ends of what it
 * copies. */
#include <string.h>

#include "shmem/host.h"

enum { EDGE = 64 }; /* at both ends, where a PE waits: the first elements and the last ones */

/* One store, of which the compiler makes nothing else: no part of a memcpy. */
#define TUTTI_STORE_ONCE(type)                                                                                         \
    do {                                                                                                               \
        __builtin_memcpy(to, from, sizeof(type));                                                                      \
        __asm__ volatile("" ::: "memory");                                                                             \
        to += sizeof(type);                                                                                            \
        from += sizeof(type);                                                                                          \
        bytes -= sizeof(type);                                                                                         \
    } while (0)

struct pair {
    uint64_t word[2];
};

/* Each byte once, and each aligned element of up to 8 bytes at once. */
static inline void host_store_words(char *to, const char *from, size_t bytes)
{
    if ((uintptr_t)to % 8 != 0) {
        if ((uintptr_t)to % 2 != 0 && bytes >= 1)
            TUTTI_STORE_ONCE(uint8_t);
        if ((uintptr_t)to % 4 != 0 && bytes >= 2)
            TUTTI_STORE_ONCE(uint16_t);
        if ((uintptr_t)to % 8 != 0 && bytes >= 4)
            TUTTI_STORE_ONCE(uint32_t);
    }
    while (bytes >= 16)
        TUTTI_STORE_ONCE(struct pair);
    if (bytes >= 8)
        TUTTI_STORE_ONCE(uint64_t);
    if (bytes >= 4)
        TUTTI_STORE_ONCE(uint32_t);
    if (bytes >= 2)
        TUTTI_STORE_ONCE(uint16_t);
    if (bytes >= 1)
        TUTTI_STORE_ONCE(uint8_t);
}

void tutti_shmem_copy_host(void *to, const void *from, size_t bytes)
{
    char *const out = to;
    const char *const in = from;
    const uintptr_t apart = (uintptr_t)out - (uintptr_t)in;
    if (apart < bytes || 0 - apart < bytes) { /* they overlap, so both are of this PE */
        memmove(out, in, bytes);
    } else if (bytes <= 2 * EDGE) {
        host_store_words(out, in, bytes);
    } else {
        host_store_words(out, in, EDGE);
        memcpy(out + EDGE, in + EDGE, bytes - 2 * EDGE);
        host_store_words(out + bytes - EDGE, in + bytes - EDGE, EDGE);
    }
}
