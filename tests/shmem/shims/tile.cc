// Tiles of NVSHMEM. Random tiles, strides and boundaries; all elements of the destination are compared, those outside
// the tile too. On the host device a process is a kernel of one thread, which is every group. By nvcc a tile is moved
// by a kernel of one block.
#ifndef __CUDACC__
#define TSHMEM_KERNELS
#endif
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <device_host/nvshmem_tensor.h>
#include <random>
#include <vector>

#include "check_pe.h"

namespace
{

struct none {
};
constexpr nvshmemx::tile_algo_t push = nvshmemx::PEER_PUSH_NBI;
const int most = 40;

template <typename T, class Shape, class Stride> auto tensor(T *data, Shape shape, Stride stride)
{
    const auto layout = nvshmemx::make_layout(shape, stride);
    return nvshmemx::Tensor<T, nvshmemx::Layout<Shape, Stride>>(data, layout);
}

/* The call of a group, 0 to 3. */
template <class Source, class Dest, class Tuple>
TUTTI_DEV int move(bool put, int group, Source source, Dest dest, Tuple start, Tuple boundary, int pe, uint64_t flag)
{
#define CALL(suffix)                                                                                                   \
    (put ? nvshmemx::tile_put##suffix<Source, Dest, Tuple, push>(source, dest, start, boundary, pe, flag)              \
         : nvshmemx::tile_get##suffix<Source, Dest, Tuple, push>(source, dest, start, boundary, pe, flag))
    return group == 0 ? CALL() : group == 1 ? CALL(_warp) : group == 2 ? CALL(_warpgroup) : CALL(_block);
#undef CALL
}

#ifdef __CUDACC__
#define CUDA(call) CHECK((call) == cudaSuccess)

/* The threads of the group move the tile. The PEs' warpgroups meet behind it. */
template <class Source, class Dest, class Tuple>
__global__ void move_kernel(bool put, int group, Source source, Dest dest, Tuple start, Tuple boundary, int pe,
                            uint64_t flag, int *status)
{
    const unsigned threads = group == 0 ? 1 : group == 1 ? 32 : group == 2 ? 128 : blockDim.x;
    if (threadIdx.x >= threads || nvshmemx_init_status() != NVSHMEM_STATUS_IS_INITIALIZED)
        return;
    const int moved = move(put, group, source, dest, start, boundary, pe, flag);
    const int met = group == 2 ? nvshmemx_barrier_warpgroup(NVSHMEM_TEAM_WORLD) : 0;
    if (threadIdx.x == 0)
        *status = moved ? moved : met;
}

template <class Source, class Dest, class Tuple>
int run(bool put, int group, Source source, Dest dest, Tuple start, Tuple boundary, int pe, uint64_t flag = 0)
{
    static int *status = nullptr;
    if (!status)
        CUDA(cudaMallocHost(&status, sizeof *status));
    *status = -1;
    move_kernel<<<1, 256>>>(put, group, source, dest, start, boundary, pe, flag, status);
    CUDA(cudaDeviceSynchronize());
    return *status;
}

void *allocate(size_t bytes)
{
    void *data = nullptr;
    CUDA(cudaMalloc(&data, bytes));
    return data;
}

void copy(void *to, const void *from, size_t bytes)
{
    CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}
#else
template <class Source, class Dest, class Tuple>
int run(bool put, int group, Source source, Dest dest, Tuple start, Tuple boundary, int pe, uint64_t flag = 0)
{
    return move(put, group, source, dest, start, boundary, pe, flag);
}

void *allocate(size_t bytes)
{
    return std::malloc(bytes);
}

void copy(void *to, const void *from, size_t bytes)
{
    std::memcpy(to, from, bytes);
}
#endif

template <typename T> void store(T *to, const std::vector<T> &from)
{
    copy(to, from.data(), from.size() * sizeof(T));
}

template <typename T> std::vector<T> load(const T *from, size_t elements)
{
    std::vector<T> to(elements);
    copy(to.data(), from, elements * sizeof(T));
    return to;
}

/* One tile of n0 times n1 elements. contiguous: the dimension whose elements follow each other, 2: none. */
template <typename T> void tile(std::mt19937 &draw, T *shared, T *own, size_t elements)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    const int n0 = (int)(draw() % 7), n1 = (int)(draw() % 7), contiguous = (int)(draw() % 3), gap = (int)(draw() % 3);
    const int s0 = contiguous == 0 ? 1 : contiguous == 1 ? n1 + gap : 2, s1 = contiguous == 1 ? 1 : s0 * n0 + gap;
    const int d0 = contiguous == 0 ? 1 : contiguous == 1 ? n1 + 1 : 3, d1 = contiguous == 1 ? 1 : d0 * n0 + 2;
    const int start = (int)(draw() % 3), end0 = start + (int)(draw() % 8) - 1, end1 = start + (int)(draw() % 8) - 1;
    const bool put = draw() % 2, bounded = draw() % 2;
    const int group = (int)(draw() % 4), in0 = bounded ? std::max(0, std::min(n0, end0 - start)) : n0;
    const int in1 = bounded ? std::max(0, std::min(n1, end1 - start)) : n1;
    std::vector<T> full(elements), wanted(elements, T(7));
    const auto value = [](int pe, size_t i) { return T(pe * 50 + (int)i % 50 + 10); };
    for (size_t i = 0; i < elements; i++)
        full[i] = value(me, i);
    T *const dest = put ? shared : own, *const source = put ? own : shared;
    store(source, full);
    store(dest, wanted);
    nvshmem_barrier_all();
    const auto source_tile = tensor(source, nvshmemx::make_shape(n0, n1), nvshmemx::make_stride(s0, s1));
    const auto dest_tile = tensor(dest, nvshmemx::make_shape(n0, n1), nvshmemx::make_stride(d0, d1));
    const int status = bounded ? run(put, group, source_tile, dest_tile, nvshmemx::make_shape(start, start),
                                     nvshmemx::make_shape(end0, end1), next)
                               : run(put, group, source_tile, dest_tile, none(), none(), next);
    CHECK(status == 0);
    nvshmem_barrier_all();
    for (int i = 0; i < in0; i++)
        for (int j = 0; j < in1; j++)
            wanted[(size_t)(i * d0 + j * d1)] = value(put ? before : next, (size_t)(i * s0 + j * s1));
    const std::vector<T> found = load(dest, elements);
    size_t wrong = 0;
    for (size_t i = 0; i < elements; i++)
        wrong += found[i] != wanted[i];
    CHECK(wrong == 0);
    nvshmem_barrier_all();
}

/* Numbers that the compiler knows, one dimension, and what is refused. */
void particular(float *shared, float *own)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    std::vector<float> row(8);
    for (int i = 0; i < 8; i++)
        row[(size_t)i] = (float)(me * 8 + i);
    store(own, row);
    store(shared, std::vector<float>(8, -1.0f));
    nvshmem_barrier_all();
    const auto two = tensor(own, nvshmemx::make_shape(ConstInt<2>(), 3), nvshmemx::make_stride(ConstInt<1>(), 2));
    const auto to = tensor(shared, nvshmemx::make_shape(ConstInt<2>(), 3), nvshmemx::make_stride(ConstInt<1>(), 2));
    CHECK(run(true, 3, two, to, none(), none(), next) == 0);
    nvshmem_barrier_all();
    const std::vector<float> there = load(shared, 8);
    for (int i = 0; i < 8; i++)
        CHECK(there[(size_t)i] == (i < 6 ? (float)(before * 8 + i) : -1.0f));
    store(own, std::vector<float>(4, 0.0f));
    const auto line = tensor(shared, nvshmemx::make_shape(4), nvshmemx::make_stride(1));
    const auto half = tensor(own, nvshmemx::make_shape(4), nvshmemx::make_stride(1));
    CHECK(run(false, 1, line, half, nvshmemx::make_shape(0), nvshmemx::make_shape(3), me) == 0);
    const std::vector<float> other = load(own, 4);
    CHECK(other[0] == there[0] && other[2] == there[2] && other[3] == 0.0f);
    const auto longer = tensor(own, nvshmemx::make_shape(3), nvshmemx::make_stride(1));
    CHECK(run(true, 0, longer, line, none(), none(), next) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK(run(true, 0, half, line, none(), none(), next, 1) == NVSHMEMX_ERROR_NOT_SUPPORTED);
    nvshmem_barrier_all();
}

} // namespace

int main()
{
    nvshmem_init();
    const char *const seed = std::getenv("TUTTI_TEST_SEED"), *const rounds = std::getenv("TUTTI_TEST_ROUNDS");
    std::mt19937 draw(seed ? (unsigned)std::atoi(seed) : 1); // the same on all PEs
    const size_t elements = (size_t)most * most;
    void *const shared = nvshmem_malloc(elements * sizeof(double)), *const own = allocate(elements * sizeof(double));
    for (int i = rounds ? std::atoi(rounds) : 60; i > 0; i--) {
        tile(draw, static_cast<float *>(shared), static_cast<float *>(own), elements);
        tile(draw, static_cast<uint16_t *>(shared), static_cast<uint16_t *>(own), elements);
#ifndef __CUDACC__ /* each type takes nvcc most of a minute */
        tile(draw, static_cast<double *>(shared), static_cast<double *>(own), elements);
#endif
    }
    particular(static_cast<float *>(shared), static_cast<float *>(own));
    nvshmem_free(shared);
    nvshmem_finalize();
    return failures != 0;
}
