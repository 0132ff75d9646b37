#include "core/stack.h"

#include <pthread.h>
#include <stddef.h>

/* Of the thread; 0: not asked yet. Where the C library does not know them, `end` is 1. */
static _Thread_local struct {
    uintptr_t begin, end;
} bounds;

static void stack_ask(void)
{
    pthread_attr_t attributes;
    void *begin = NULL;
    size_t bytes = 0;
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
        stack_ask();
    return frame >= bounds.begin && frame < bounds.end && at >= frame && at < bounds.end;
}
