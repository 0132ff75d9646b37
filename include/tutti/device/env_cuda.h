/* What the calls in kernels are written upon, in CUDA C++: loads and stores that other GPUs and the host see, atomics,
 * the clock, groups of threads. Included by env.h. */
#ifndef TUTTI_DEVICE_ENV_CUDA_H
#define TUTTI_DEVICE_ENV_CUDA_H

#define TUTTI_DEV static __attribute__((unused)) __device__ __forceinline__
/* APART: seldom called, and long. COLD: failures. Relocatable code has them inlined: its linker gives a kernel the
 * registers that any function it calls takes, 36 to 108 here. Two blocks of 1024 threads fit on a multiprocessor
 * with 32. */
#ifdef __CUDACC_RDC__
#define TUTTI_DEV_APART TUTTI_DEV
#define TUTTI_DEV_COLD  TUTTI_DEV
#define TUTTI_DEV_FEW   1 /* registers */
#else
#define TUTTI_DEV_APART static __attribute__((unused)) __device__ __noinline__
#define TUTTI_DEV_COLD  static __attribute__((unused)) __device__ __noinline__
#define TUTTI_DEV_FEW   0
#endif
#define TUTTI_DEV_UNROLL   _Pragma("unroll")
#define TUTTI_DEV_UNROLL_1 _Pragma("unroll 1")
#define TUTTI_DEV_UNROLL_4 _Pragma("unroll 4")
#define TUTTI_DEV_ZERO                                                                                                 \
    {                                                                                                                  \
    }

typedef uint8_t tutti_dev_u8;
typedef uint16_t tutti_dev_u16;
typedef uint32_t tutti_dev_u32;
typedef unsigned long long tutti_dev_u64;
typedef ulonglong2 tutti_dev_u128;

enum { TUTTI_DEV_SPINS = 256 }; /* between two looks of a wait at the clock and at the abort word, which the host has */

/* Memory order .sys throughout: the other side is another GPU, or the host. A test of the tests leaves the release, the
 * acquire or the fence out by defining these. */
#ifndef TUTTI_DEV_RELEASE
#define TUTTI_DEV_RELEASE "release"
#endif
#ifndef TUTTI_DEV_ACQUIRE
#define TUTTI_DEV_ACQUIRE "acquire"
#endif
#ifndef TUTTI_DEV_FENCE
#define TUTTI_DEV_FENCE() __threadfence_system()
#endif
/* Fences of one direction: a release does not invalidate the cache, an acquire only invalidates it. Without such fences
 * the loads of waits are acquires themselves. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 &&                                                                  \
    (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 8))
#define TUTTI_DEV_ONE_WAY   "fence.release.sys;"
#define TUTTI_DEV_OTHER_WAY "fence.acquire.sys;"
#define TUTTI_DEV_LOOK      "relaxed"
#ifndef TUTTI_DEV_SEEN
#define TUTTI_DEV_SEEN() asm volatile("fence.acquire.sys;" ::: "memory")
#endif
#else
#define TUTTI_DEV_ONE_WAY   "fence.acq_rel.sys;"
#define TUTTI_DEV_OTHER_WAY "fence.acq_rel.sys;"
#define TUTTI_DEV_LOOK      TUTTI_DEV_ACQUIRE
#ifndef TUTTI_DEV_SEEN
#define TUTTI_DEV_SEEN()
#endif
#endif
#ifndef TUTTI_DEV_FENCE_RELEASE
#define TUTTI_DEV_FENCE_RELEASE() asm volatile(TUTTI_DEV_ONE_WAY::: "memory")
#endif
#ifndef TUTTI_DEV_FENCE_ACQUIRE
#define TUTTI_DEV_FENCE_ACQUIRE() asm volatile(TUTTI_DEV_OTHER_WAY::: "memory")
#endif
/* What other PEs reach lies in global memory, and is asked for there. */
#define TUTTI_DEV_GLOBAL(address) "l"(__cvta_generic_to_global(address))
#define TUTTI_DEV_ACCESS(bits, reg, kind)                                                                              \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_load_relaxed##bits(const void *from)                                         \
    {                                                                                                                  \
        kind value;                                                                                                    \
        asm volatile("ld.relaxed.sys.global.b" #bits " %0, [%1];"                                                      \
                     : "=" reg(value)                                                                                  \
                     : TUTTI_DEV_GLOBAL(from)                                                                          \
                     : "memory");                                                                                      \
        return (tutti_dev_u##bits)value;                                                                               \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_load_look##bits(const void *from)                                            \
    {                                                                                                                  \
        kind value;                                                                                                    \
        asm volatile("ld." TUTTI_DEV_LOOK ".sys.global.b" #bits " %0, [%1];"                                           \
                     : "=" reg(value)                                                                                  \
                     : TUTTI_DEV_GLOBAL(from)                                                                          \
                     : "memory");                                                                                      \
        return (tutti_dev_u##bits)value;                                                                               \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_load_acquire##bits(const void *from)                                         \
    {                                                                                                                  \
        kind value;                                                                                                    \
        asm volatile("ld." TUTTI_DEV_ACQUIRE ".sys.global.b" #bits " %0, [%1];"                                        \
                     : "=" reg(value)                                                                                  \
                     : TUTTI_DEV_GLOBAL(from)                                                                          \
                     : "memory");                                                                                      \
        return (tutti_dev_u##bits)value;                                                                               \
    }                                                                                                                  \
    TUTTI_DEV void tutti_dev_store_relaxed##bits(void *to, tutti_dev_u##bits value)                                    \
    {                                                                                                                  \
        asm volatile("st.relaxed.sys.global.b" #bits " [%0], %1;" ::TUTTI_DEV_GLOBAL(to), reg((kind)value)             \
                     : "memory");                                                                                      \
    }                                                                                                                  \
    TUTTI_DEV void tutti_dev_store_release##bits(void *to, tutti_dev_u##bits value)                                    \
    {                                                                                                                  \
        asm volatile("st." TUTTI_DEV_RELEASE ".sys.global.b" #bits " [%0], %1;" ::TUTTI_DEV_GLOBAL(to),                \
                     reg((kind)value)                                                                                  \
                     : "memory");                                                                                      \
    }
TUTTI_DEV_ACCESS(8, "r", unsigned)
TUTTI_DEV_ACCESS(16, "h", unsigned short)
TUTTI_DEV_ACCESS(32, "r", unsigned)
TUTTI_DEV_ACCESS(64, "l", unsigned long long)
#undef TUTTI_DEV_ACCESS

/* 1 if the host, and copy engines, find this memory at the same address. */
TUTTI_DEV int tutti_dev_host_finds(const void *address)
{
    int is;
    asm("{ .reg .pred p; isspacep.global p, %1; selp.b32 %0, 1, 0, p; }" : "=r"(is) : "l"(address));
    return is;
}

/* In relocatable code: the object is in memory from here on, and in no registers. */
TUTTI_DEV void tutti_dev_keep(const void *object)
{
#ifdef __CUDACC_RDC__
    asm volatile("" ::"l"(object) : "memory");
#else
    (void)object;
#endif
}

/* A number that differs from thread to thread. */
TUTTI_DEV uint32_t tutti_dev_spread(void)
{
    return (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) * (blockDim.x * blockDim.y * blockDim.z) +
           threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

TUTTI_DEV void tutti_dev_fence(void)
{
    TUTTI_DEV_FENCE();
}

/* A release: a thread that sees this thread's next store also sees all that this thread has seen or stored before.
 * Cheaper than a fence, as it does not order stores before later loads. */
TUTTI_DEV void tutti_dev_fence_release(void)
{
    TUTTI_DEV_FENCE_RELEASE();
}

/* An acquire: past it this thread sees all stores before those that its relaxed loads and atomics have seen. */
TUTTI_DEV void tutti_dev_fence_acquire(void)
{
    TUTTI_DEV_FENCE_ACQUIRE();
}

/* Among the threads of this GPU: a quarter of what the other fences cost. What one of them says past it to another PE,
 * behind a fence of its own, is past what the others had stored. */
TUTTI_DEV void tutti_dev_fence_gpu(void)
{
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/* A wait looks by tutti_dev_load_look..(), again and again; past this the thread sees all stores before the one that it
 * saw. */
TUTTI_DEV void tutti_dev_seen(void)
{
    TUTTI_DEV_SEEN();
}

/* Says to the compiler that this lies in global memory, as all does that other PEs reach. NULL stays NULL. */
TUTTI_DEV char *tutti_dev_global(char *address)
{
    __builtin_assume(__isGlobal(address));
    return address;
}

TUTTI_DEV uint32_t tutti_dev_rotate(uint32_t value, uint32_t by)
{
    return __funnelshift_r(value, value, by);
}

/* The least s with 1 << s >= n; n from 1 on. */
TUTTI_DEV unsigned tutti_dev_shift(unsigned n)
{
    return 32u - (unsigned)__clz((int)(n - 1));
}

/* 16 bytes, of which each half is stored and loaded at once: two 64-bit words of one instruction. */
TUTTI_DEV void tutti_dev_store_pair(void *to, tutti_dev_u64 a, tutti_dev_u64 b)
{
    asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::TUTTI_DEV_GLOBAL(to), "l"(a), "l"(b) : "memory");
}

TUTTI_DEV void tutti_dev_load_pair(const void *from, tutti_dev_u64 *a, tutti_dev_u64 *b)
{
    asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
                 : "=l"(*a), "=l"(*b)
                 : TUTTI_DEV_GLOBAL(from)
                 : "memory");
}

TUTTI_DEV void tutti_dev_load_pair_acquire(const void *from, tutti_dev_u64 *a, tutti_dev_u64 *b)
{
    asm volatile("ld.acquire.sys.global.v2.b64 {%0, %1}, [%2];"
                 : "=l"(*a), "=l"(*b)
                 : TUTTI_DEV_GLOBAL(from)
                 : "memory");
}

/* Atomics of 32 and 64 bits. The value before. */
#define TUTTI_DEV_ATOMICS(bits)                                                                                        \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_swap##bits(void *at, tutti_dev_u##bits value)                                \
    {                                                                                                                  \
        return atomicExch_system((tutti_dev_u##bits *)(void *)tutti_dev_global((char *)at), value);                    \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_compare_swap##bits(void *at, tutti_dev_u##bits compare,                      \
                                                             tutti_dev_u##bits value)                                  \
    {                                                                                                                  \
        return atomicCAS_system((tutti_dev_u##bits *)(void *)tutti_dev_global((char *)at), compare, value);            \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_add##bits(void *at, tutti_dev_u##bits value)                                 \
    {                                                                                                                  \
        return atomicAdd_system((tutti_dev_u##bits *)(void *)tutti_dev_global((char *)at), value);                     \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_and##bits(void *at, tutti_dev_u##bits value)                                 \
    {                                                                                                                  \
        return atomicAnd_system((tutti_dev_u##bits *)(void *)tutti_dev_global((char *)at), value);                     \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_or##bits(void *at, tutti_dev_u##bits value)                                  \
    {                                                                                                                  \
        return atomicOr_system((tutti_dev_u##bits *)(void *)tutti_dev_global((char *)at), value);                      \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_xor##bits(void *at, tutti_dev_u##bits value)                                 \
    {                                                                                                                  \
        return atomicXor_system((tutti_dev_u##bits *)(void *)tutti_dev_global((char *)at), value);                     \
    }
TUTTI_DEV_ATOMICS(32)
TUTTI_DEV_ATOMICS(64)
#undef TUTTI_DEV_ATOMICS

TUTTI_DEV uint32_t tutti_dev_add_float(void *at, uint32_t bits)
{
    return __float_as_uint(atomicAdd_system((float *)(void *)tutti_dev_global((char *)at), __uint_as_float(bits)));
}

TUTTI_DEV uint64_t tutti_dev_add_double(void *at, uint64_t bits)
{
    return (uint64_t)__double_as_longlong(
        atomicAdd_system((double *)(void *)tutti_dev_global((char *)at), __longlong_as_double((long long)bits)));
}

/* A thread that sees the sum sees all that the group's leader did before it added. */
TUTTI_DEV void tutti_dev_add_release64(void *at, tutti_dev_u64 value)
{
    asm volatile("red." TUTTI_DEV_RELEASE ".sys.global.add.u64 [%0], %1;" ::TUTTI_DEV_GLOBAL(at), "l"(value)
                 : "memory");
}

TUTTI_DEV uint64_t tutti_dev_clock_ns(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

TUTTI_DEV void tutti_dev_pause(void)
{
}

TUTTI_DEV void tutti_dev_die(void)
{
    __trap();
}

/* ---- numbers ---- */

TUTTI_DEV float tutti_dev_bits_float(uint32_t bits)
{
    return __uint_as_float(bits);
}

TUTTI_DEV uint32_t tutti_dev_float_bits(float value)
{
    return __float_as_uint(value);
}

TUTTI_DEV double tutti_dev_bits_double(uint64_t bits)
{
    return __longlong_as_double((long long)bits);
}

TUTTI_DEV uint64_t tutti_dev_double_bits(double value)
{
    return (uint64_t)__double_as_longlong(value);
}

TUTTI_DEV float tutti_dev_from_half(uint16_t bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

TUTTI_DEV uint16_t tutti_dev_to_half(float value)
{
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

/* Products that must not become part of a fused operation. */
TUTTI_DEV float tutti_dev_mul_float(float a, float b)
{
    return __fmul_rn(a, b);
}

TUTTI_DEV double tutti_dev_mul_double(double a, double b)
{
    return __dmul_rn(a, b);
}

/* ---- groups: `group` is a constant wherever these are called ---- */

TUTTI_DEV unsigned tutti_dev_thread(void)
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

TUTTI_DEV unsigned tutti_dev_threads(void)
{
    return blockDim.x * blockDim.y * blockDim.z;
}

TUTTI_DEV unsigned tutti_dev_block(void)
{
    return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

/* As struct tshmem_failure has them. */
TUTTI_DEV uint64_t tutti_dev_block_packed(void)
{
    return (uint64_t)blockIdx.x << 32 | blockIdx.y << 16 | blockIdx.z;
}

TUTTI_DEV uint32_t tutti_dev_thread_packed(void)
{
    return threadIdx.x | threadIdx.y << 10 | threadIdx.z << 20;
}

TUTTI_DEV unsigned tutti_dev_blocks(void)
{
    return gridDim.x * gridDim.y * gridDim.z;
}

/* Threads of this warp: the last one of a block may have fewer than 32. */
TUTTI_DEV unsigned tutti_dev_lanes(void)
{
    const unsigned left = tutti_dev_threads() - tutti_dev_thread() / 32 * 32;
    return left < 32 ? left : 32;
}

/* A wait for a warp names all of its lanes. Lanes that an incomplete last warp lacks must not be named. */
#define TUTTI_DEV_LANES 0xffffffffu

TUTTI_DEV size_t tutti_dev_rank(int group)
{
    return group == TUTTI_BY_THREAD  ? 0
           : group == TUTTI_BY_WARP  ? tutti_dev_thread() % 32
           : group == TUTTI_BY_BLOCK ? tutti_dev_thread()
                                     : (size_t)tutti_dev_block() * tutti_dev_threads() + tutti_dev_thread();
}

TUTTI_DEV size_t tutti_dev_size(int group)
{
    return group == TUTTI_BY_THREAD  ? 1
           : group == TUTTI_BY_WARP  ? tutti_dev_lanes()
           : group == TUTTI_BY_BLOCK ? tutti_dev_threads()
                                     : (size_t)tutti_dev_blocks() * tutti_dev_threads();
}

/* Waits for the threads of a warp or block: what each has stored is seen by all. */
TUTTI_DEV void tutti_dev_near_join(int group)
{
    if (group == TUTTI_BY_WARP)
        __syncwarp(TUTTI_DEV_LANES);
    else if (group == TUTTI_BY_BLOCK)
        __syncthreads();
}

/* The same; 1 to all where any of them brought `failed`. */
TUTTI_DEV int tutti_dev_near_sync(int group, int failed)
{
    if (group == TUTTI_BY_WARP) {
        __syncwarp(TUTTI_DEV_LANES); /* a vote alone orders nothing */
        return __any_sync(TUTTI_DEV_LANES, failed);
    }
    return group == TUTTI_BY_THREAD ? failed : __syncthreads_or(failed);
}

/* The leader's value, to all threads of a warp or block. */
TUTTI_DEV uint64_t tutti_dev_near_share(int group, uint64_t value)
{
    __shared__ uint64_t shared;
    if (group == TUTTI_BY_WARP) {
        __syncwarp(TUTTI_DEV_LANES); /* nor does a shuffle */
        return __shfl_sync(TUTTI_DEV_LANES, (unsigned long long)value, 0);
    }
    if (group == TUTTI_BY_BLOCK) {
        __syncthreads();
        if (tutti_dev_thread() == 0)
            shared = value;
        __syncthreads();
        value = shared;
    }
    return value;
}

TUTTI_DEV uint32_t tutti_dev_grid_add(uint32_t *at, uint32_t value)
{
    return atomicAdd(at, value);
}

#endif
