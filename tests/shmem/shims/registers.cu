/* Kernels for blocks of 1024 threads, as programs written for NVSHMEM have them, compiled as relocatable code: their
 * registers are counted by registers.sh. */
#include <nvshmem.h>
#include <nvshmemx.h>

__global__ void element(float *dest, const float *source, int pe)
{
    nvshmem_float_p(dest + threadIdx.x, source[threadIdx.x] + nvshmem_float_g(source, pe), pe);
}

/* As NVIDIA's Jacobi solver: an element of a loop's goes to another PE. */
__global__ void edge_two(float *dest, const float *source, int n, int row, int pe)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const float value = 0.25f * (source[i + 1] + source[i - 1] + source[i + n] + source[i - n]);
        dest[i] = value;
        if (row == blockIdx.y)
            nvshmem_float_p(dest + i, value, pe);
    }
}

/* A block's row with its signal. */
__global__ void signal_two(float *dest, const float *source, size_t n, uint64_t *signal, int pe)
{
    nvshmemx_float_put_signal_nbi_block(dest, source, n, signal, 1, NVSHMEM_SIGNAL_ADD, pe);
}

__global__ void row_two(float *dest, const float *source, size_t n, int pe)
{
    nvshmemx_float_put_nbi_block(dest, source, n, pe);
}

/* As NVIDIA's Jacobi solver by blocks: two rows go to other PEs, and what each thread has computed is summed past them. */
__global__ void rows_two(float *dest, const float *source, float *norm, int first, int end, int n, int above, int above_row, int below, int below_row)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y + first, column = blockIdx.x * blockDim.x + threadIdx.x + 1;
    float sum = 0;
    if (row < end && column < n - 1) {
        const float *const at = source + row * n + column;
        const float value = 0.25f * (at[1] + at[-1] + at[n] + at[-n]);
        dest[row * n + column] = value;
        sum = (value - *at) * (value - *at);
    }
    const int block_row = row - threadIdx.y, block_column = column - threadIdx.x;
    const unsigned some = min(blockDim.x, n - 1 - block_column);
    if (block_row <= first && first < block_row + blockDim.y)
        nvshmemx_float_put_nbi_block(dest + above_row * n + block_column, dest + first * n + block_column, some, above);
    if (block_row < end && end <= block_row + blockDim.y)
        nvshmemx_float_put_nbi_block(dest + below_row * n + block_column, dest + (end - 1) * n + block_column, some, below);
    for (int lanes = 16; lanes > 0; lanes /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, lanes);
    if (threadIdx.x % 32 == 0)
        atomicAdd(norm, sum);
}

__global__ void fetch_three(float *dest, const float *source, size_t n, int pe)
{
    nvshmemx_float_get_block(dest, source, n, pe);
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

/* Rows of a tile, up to a boundary. */
__global__ void tile(float *dest, float *source, int rows, int columns, int pe)
{
    const auto layout =
        nvshmemx::make_layout(nvshmemx::make_shape(columns, rows), nvshmemx::make_stride(ConstInt<1>(), columns));
    const nvshmemx::Tensor<float, decltype(layout)> from(source, layout), to(dest, layout);
    nvshmemx::tile_put_block<decltype(from), decltype(to), decltype(nvshmemx::make_shape(0, 0)),
                             nvshmemx::PEER_PUSH_NBI>(from, to, nvshmemx::make_shape(0, 0),
                                                      nvshmemx::make_shape(columns - 1, rows), pe, 0);
}

int main(void)
{
    return 0;
}
