// Tiles of NVSHMEM on the host device, where a process is a kernel of one thread, which is every group. Random tiles,
// strides and boundaries; all elements of the destination are compared, those outside the tile too.
#define TSHMEM_KERNELS
#include <algorithm>
#include <cstdlib>
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
int move(bool put, int group, Source source, Dest dest, Tuple start, Tuple boundary, int pe)
{
#define CALL(suffix)                                                                                                   \
    (put ? nvshmemx::tile_put##suffix<Source, Dest, Tuple, push>(source, dest, start, boundary, pe, 0)                 \
         : nvshmemx::tile_get##suffix<Source, Dest, Tuple, push>(source, dest, start, boundary, pe, 0))
    return group == 0 ? CALL() : group == 1 ? CALL(_warp) : group == 2 ? CALL(_warpgroup) : CALL(_block);
#undef CALL
}

/* One tile of n0 times n1 elements. contiguous: the dimension whose elements follow each other, 2: none. */
template <typename T> void tile(std::mt19937 &draw, T *shared, size_t elements)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    const int n0 = (int)(draw() % 7), n1 = (int)(draw() % 7), contiguous = (int)(draw() % 3), gap = (int)(draw() % 3);
    const int s0 = contiguous == 0 ? 1 : contiguous == 1 ? n1 + gap : 2, s1 = contiguous == 1 ? 1 : s0 * n0 + gap;
    const int d0 = contiguous == 0 ? 1 : contiguous == 1 ? n1 + 1 : 3, d1 = contiguous == 1 ? 1 : d0 * n0 + 2;
    const int start = (int)(draw() % 3), end0 = start + (int)(draw() % 8) - 1, end1 = start + (int)(draw() % 8) - 1;
    const bool put = draw() % 2, bounded = draw() % 2;
    const int group = (int)(draw() % 4), in0 = bounded ? std::max(0, std::min(n0, end0 - start)) : n0;
    const int in1 = bounded ? std::max(0, std::min(n1, end1 - start)) : n1;
    std::vector<T> mine(elements), wanted(elements, T(7));
    const auto value = [](int pe, size_t i) { return T(pe * 50 + (int)i % 50 + 10); };
    for (size_t i = 0; i < elements; i++) {
        mine[i] = put ? value(me, i) : T(7);
        shared[i] = put ? T(7) : value(me, i);
    }
    nvshmem_barrier_all();
    T *const dest = put ? shared : mine.data();
    const auto source_tile =
        tensor(put ? mine.data() : shared, nvshmemx::make_shape(n0, n1), nvshmemx::make_stride(s0, s1));
    const auto dest_tile = tensor(dest, nvshmemx::make_shape(n0, n1), nvshmemx::make_stride(d0, d1));
    const int status = bounded ? move(put, group, source_tile, dest_tile, nvshmemx::make_shape(start, start),
                                      nvshmemx::make_shape(end0, end1), next)
                               : move(put, group, source_tile, dest_tile, none(), none(), next);
    CHECK(status == 0);
    nvshmem_barrier_all();
    for (int i = 0; i < in0; i++)
        for (int j = 0; j < in1; j++)
            wanted[(size_t)(i * d0 + j * d1)] = value(put ? before : next, (size_t)(i * s0 + j * s1));
    size_t wrong = 0;
    for (size_t i = 0; i < elements; i++)
        wrong += dest[i] != wanted[i];
    CHECK(wrong == 0);
    nvshmem_barrier_all();
}

/* Numbers that the compiler knows, one dimension, and what is refused. */
void particular(float *shared)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    float row[8], other[4] = {};
    for (int i = 0; i < 8; i++) {
        row[i] = (float)(me * 8 + i);
        shared[i] = -1;
    }
    nvshmem_barrier_all();
    const auto two = tensor(row, nvshmemx::make_shape(ConstInt<2>(), 3), nvshmemx::make_stride(ConstInt<1>(), 2));
    const auto to = tensor(shared, nvshmemx::make_shape(ConstInt<2>(), 3), nvshmemx::make_stride(ConstInt<1>(), 2));
    CHECK(move(true, 3, two, to, none(), none(), next) == 0);
    nvshmem_barrier_all();
    for (int i = 0; i < 8; i++)
        CHECK(shared[i] == (i < 6 ? (float)(before * 8 + i) : -1.0f));
    const auto line = tensor(shared, nvshmemx::make_shape(4), nvshmemx::make_stride(1));
    const auto half = tensor(other, nvshmemx::make_shape(4), nvshmemx::make_stride(1));
    CHECK(move(false, 1, line, half, nvshmemx::make_shape(0), nvshmemx::make_shape(3), me) == 0);
    CHECK(other[0] == shared[0] && other[2] == shared[2] && other[3] == 0.0f);
    const auto longer = tensor(other, nvshmemx::make_shape(3), nvshmemx::make_stride(1));
    CHECK(move(true, 0, longer, line, none(), none(), next) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK((nvshmemx::tile_put<decltype(half), decltype(line), none, push>(half, line, {}, {}, next, 1)) ==
          NVSHMEMX_ERROR_NOT_SUPPORTED);
    nvshmem_barrier_all();
}

} // namespace

int main()
{
    nvshmem_init();
    const char *const seed = std::getenv("TUTTI_TEST_SEED"), *const rounds = std::getenv("TUTTI_TEST_ROUNDS");
    std::mt19937 draw(seed ? (unsigned)std::atoi(seed) : 1); // the same on all PEs
    const size_t elements = (size_t)most * most;
    double *const shared = static_cast<double *>(nvshmem_malloc(elements * sizeof(double)));
    for (int i = rounds ? std::atoi(rounds) : 60; i > 0; i--) {
        tile(draw, reinterpret_cast<float *>(shared), elements);
        tile(draw, reinterpret_cast<uint16_t *>(shared), elements);
        tile(draw, shared, elements);
    }
    particular(reinterpret_cast<float *>(shared));
    nvshmem_free(shared);
    nvshmem_finalize();
    return failures != 0;
}
