/* Chooses the instruction set of the C kernels, once, and enters them with the processor's ordinary floating-point
 * rules. */
#include <stdlib.h>
#include <time.h>

#include "core/log.h"
#include "kernels/reduce.h"
#include "kernels/variants.h"

extern const struct tutti_c_variant tutti_kernels_c_base;
#ifdef TUTTI_KERNELS_X86
extern const struct tutti_c_variant tutti_kernels_c_avx2;
extern const struct tutti_c_variant tutti_kernels_c_avx512;
#endif

const struct tutti_c_variant *tutti_kernels_c(int i)
{
    const struct tutti_c_variant *usable[TUTTI_KERNELS_C_ROOM];
    int n = 0;
#ifdef TUTTI_KERNELS_X86
    __builtin_cpu_init();
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                     __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        usable[n++] = &tutti_kernels_c_avx512;
    if (avx2)
        usable[n++] = &tutti_kernels_c_avx2;
#endif
    usable[n++] = &tutti_kernels_c_base;
    return i >= 0 && i < n ? usable[i] : NULL;
}

const struct tutti_c_pair *tutti_kernels_c_pair(const struct tutti_c_variant *variant, int type, int op)
{
    if (!tutti_has_kernel(type, op)) {
        tutti_error("no kernel reduces %s by %s: ask tutti_has_kernel() first", tutti_type_name(type),
                    tutti_op_name(op));
        abort();
    }
    return &variant->pair[tutti_kernel_type(type, op)][op];
}

static const struct tutti_c_variant *variant_chosen(void)
{
    static const struct tutti_c_variant *widest;
    const struct tutti_c_variant *it = __atomic_load_n(&widest, __ATOMIC_ACQUIRE);
    if (!it) {
        it = tutti_kernels_c(0);
        __atomic_store_n(&widest, it, __ATOMIC_RELEASE);
    }
    return it;
}

/* A program may have chosen another rounding, or zero for subnormal numbers; results must not depend on it. */
#if defined(__x86_64__)
typedef unsigned rules;
static inline rules rules_enter(void)
{
    const rules found = __builtin_ia32_stmxcsr();
    if ((found & ~0x3fu) != 0x1f80)
        __builtin_ia32_ldmxcsr(0x1f80);
    return found;
}

static inline void rules_leave(rules found)
{
    if ((found & ~0x3fu) != 0x1f80)
        __builtin_ia32_ldmxcsr(found);
}
#elif defined(__aarch64__)
typedef uint64_t rules;
static inline rules rules_enter(void)
{
    rules found;
    __asm__ volatile("mrs %0, fpcr" : "=r"(found));
    if (found)
        __asm__ volatile("msr fpcr, %0" ::"r"((rules)0));
    return found;
}

static inline void rules_leave(rules found)
{
    if (found)
        __asm__ volatile("msr fpcr, %0" ::"r"(found));
}
#else
typedef int rules;
static inline rules rules_enter(void)
{
    return 0;
}

static inline void rules_leave(rules found)
{
    (void)found;
}
#endif

void tutti_reduce_host(int type, int op, int ranks, const void *const in[], void *out, size_t count)
{
    const struct tutti_c_variant *const variant = variant_chosen();
    const rules found = rules_enter();
    variant->reduce(tutti_kernels_c_pair(variant, type, op), in, (unsigned)ranks, &out, 1, count);
    rules_leave(found);
}

_Thread_local unsigned tutti_kernel_jitter;

void tutti_kernel_pace(unsigned jitter)
{
    tutti_kernel_jitter = jitter;
}

void tutti_kernel_pause(void)
{
    enum { ONE_IN = 32, MOST_NS = 100000 };
    tutti_kernel_jitter = tutti_kernel_jitter * 1664525u + 1013904223u;
    const struct timespec time = {0, (long)(tutti_kernel_jitter % MOST_NS)};
    if ((tutti_kernel_jitter >> 16) % ONE_IN == 0)
        nanosleep(&time, NULL);
}

void tutti_kernel_host(int kernel, int type, int op, const void *args, unsigned block)
{
    const struct tutti_c_variant *const variant = variant_chosen();
    if (tutti_kernel_jitter)
        tutti_kernel_pause();
    const rules found = rules_enter();
    variant->kernel[kernel](args, block, tutti_kernels_c_pair(variant, type, op));
    rules_leave(found);
}

const char *tutti_kernel_host_isa(void)
{
    return variant_chosen()->name;
}
