#include "core/stack.h"

#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

/* Linux keeps at least 128 MiB below the end of the first thread's stack free of other mappings. */
enum { FIRST_BYTES = 64 << 20 };

/* glibc's: where the first thread's stack began. */
extern void *__libc_stack_end __attribute__((weak));

/* Of the thread; 0: not asked yet. Where the C library does not know them, `end` is 1. */
static _Thread_local struct {
    uintptr_t begin, end;
} bounds;

/* The end of the first thread's stack, as pthread_getattr_np() has it; 0: not known. */
static uintptr_t stack_first_end(void)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return &__libc_stack_end ? ((uintptr_t)__libc_stack_end / page + 1) * page : 0;
}

/* For the first thread the C library reads the list of all mappings, which takes 0.4 to 0.8 ms where a GPU is in use.
 */
static void stack_ask(uintptr_t frame)
{
    pthread_attr_t attributes;
    void *begin = NULL;
    size_t bytes = 0;
    const uintptr_t end = stack_first_end();
    if (frame < end && end - frame < FIRST_BYTES) {
        bounds.begin = end - FIRST_BYTES;
        bounds.end = end;
        return;
    }
    bounds.begin = bounds.end = 1;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &begin, &bytes) == 0) {
        bounds.begin = (uintptr_t)begin;
        bounds.end = bounds.begin + bytes;
    }
    pthread_attr_destroy(&attributes);
}

int tutti_stack_holds_slow(uintptr_t at, uintptr_t frame)
{
    if (bounds.end == 0)
        stack_ask(frame);
    return frame >= bounds.begin && frame < bounds.end && at >= frame && at < bounds.end;
}
