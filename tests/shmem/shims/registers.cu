/* Kernels for blocks of 1024 threads, as programs written for NVSHMEM have them, compiled as relocatable code: their
 * registers are counted by registers.sh. */
#include <nvshmem.h>
#include <nvshmemx.h>

__global__ void element(float *dest, const float *source, int pe)
{
    nvshmem_float_p(dest + threadIdx.x, source[threadIdx.x] + nvshmem_float_g(source, pe), pe);
}

__global__ void one(float *dest, const float *source, size_t n, uint64_t *signal, int pe)
{
    nvshmem_float_put(dest, source, n, pe);
    nvshmemx_signal_op(signal, 1, NVSHMEM_SIGNAL_SET, pe);
    nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, 1);
    nvshmem_quiet();
}

__global__ void block(float *dest, const float *source, size_t n, int pe)
{
    nvshmemx_float_put_nbi_block(dest, source, n, pe);
    nvshmemx_float_get_block(dest, source, n, pe);
}

__global__ void atomic(int *dest, int *was, int pe)
{
    *was = nvshmem_int_atomic_fetch_add(dest, 1, pe);
    nvshmem_fence();
}

int main(void)
{
    return 0;
}
