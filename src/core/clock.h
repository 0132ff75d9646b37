/* Time and the processor's pause, for waits. */
#ifndef TUTTI_CORE_CLOCK_H
#define TUTTI_CORE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t tutti_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void tutti_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
