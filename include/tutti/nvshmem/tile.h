/* NVSHMEM's puts and gets of tiles in kernels: nvshmemx::tile_put and tile_get. A tile is a tensor of one or two
 * dimensions: an address, a shape and strides, in elements. Included by nvshmemx.h alone, for C++17. */
#ifndef TUTTI_NVSHMEM_TILE_H
#define TUTTI_NVSHMEM_TILE_H

#ifdef __CUDACC__
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#define TUTTI_NVSHMEM_STD  cuda::std
#define TUTTI_NVSHMEM_BOTH __host__ __device__
#else
#include <tuple>
#include <type_traits>
#define TUTTI_NVSHMEM_STD std
#define TUTTI_NVSHMEM_BOTH
#endif

/* A number that the compiler knows, in shapes and strides. */
template <int number> struct ConstInt : TUTTI_NVSHMEM_STD::integral_constant<int, number> {
    TUTTI_NVSHMEM_BOTH constexpr operator int() const
    {
        return number;
    }
};

namespace nvshmemx
{

template <class... Numbers> using shape = TUTTI_NVSHMEM_STD::tuple<Numbers...>;
template <class... Numbers> using stride = TUTTI_NVSHMEM_STD::tuple<Numbers...>;

template <class... Numbers> TUTTI_NVSHMEM_BOTH constexpr shape<Numbers...> make_shape(const Numbers &...numbers)
{
    return shape<Numbers...>(numbers...);
}

template <class... Numbers> TUTTI_NVSHMEM_BOTH constexpr stride<Numbers...> make_stride(const Numbers &...numbers)
{
    return stride<Numbers...>(numbers...);
}

template <class Shape, class Stride> class Layout
{
    Shape tutti_shape;
    Stride tutti_stride;

  public:
    TUTTI_NVSHMEM_BOTH constexpr Layout(const Shape &shape_ = {}, const Stride &stride_ = {})
        : tutti_shape(shape_), tutti_stride(stride_)
    {
    }
    TUTTI_NVSHMEM_BOTH constexpr Shape shape() const
    {
        return tutti_shape;
    }
    TUTTI_NVSHMEM_BOTH constexpr Stride stride() const
    {
        return tutti_stride;
    }
};

template <class Shape, class Stride>
TUTTI_NVSHMEM_BOTH constexpr Layout<Shape, Stride> make_layout(const Shape &shape_, const Stride &stride_)
{
    return Layout<Shape, Stride>(shape_, stride_);
}

template <typename T, class LayoutType> struct Tensor {
    using value_type = T;
    using layout_type = LayoutType;
    T *_data;
    const LayoutType _layout;

    TUTTI_NVSHMEM_BOTH constexpr Tensor(T *data_, LayoutType layout_) : _data(data_), _layout(layout_)
    {
    }
    TUTTI_NVSHMEM_BOTH constexpr Tensor(LayoutType layout_) : _data(nullptr), _layout(layout_)
    {
    }
    TUTTI_NVSHMEM_BOTH constexpr LayoutType layout() const
    {
        return _layout;
    }
    TUTTI_NVSHMEM_BOTH constexpr T *data() const
    {
        return _data;
    }
    TUTTI_NVSHMEM_BOTH constexpr auto stride() const
    {
        return _layout.stride();
    }
    TUTTI_NVSHMEM_BOTH constexpr auto shape() const
    {
        return _layout.shape();
    }
};

/* How NVSHMEM moves a tile. Tutti takes the way that reaches the PE, with any of them. */
typedef enum { PEER_PUSH_NBI = 0, PEER_PULL_NBI = 0, REMOTE_PUSH_NBI = 1, REMOTE_PULL_NBI = 1 } tile_algo_t;

} // namespace nvshmemx

/* Number i of a tuple, or `otherwise` where the tuple is shorter. */
template <size_t i, class Tuple> TUTTI_DEV ptrdiff_t tutti_nvshmem_number(const Tuple &tuple, ptrdiff_t otherwise)
{
    if constexpr (i < TUTTI_NVSHMEM_STD::tuple_size<Tuple>::value)
        return (ptrdiff_t)(int)TUTTI_NVSHMEM_STD::get<i>(tuple);
    else
        return otherwise;
}

/* How many elements of `all` along dimension i are in front of the boundary. An empty Tuple sets none. */
template <size_t i, class Tuple>
TUTTI_DEV ptrdiff_t tutti_nvshmem_inside(const Tuple &start, const Tuple &boundary, ptrdiff_t all)
{
    if constexpr (TUTTI_NVSHMEM_STD::is_empty<Tuple>::value) {
        return all;
    } else {
        const ptrdiff_t left = tutti_nvshmem_number<i>(boundary, all) - tutti_nvshmem_number<i>(start, 0);
        return left < 0 ? 0 : left < all ? left : all;
    }
}

/* Rows of elements that follow each other: n of `block` elements, whose beginnings are dst and sst elements apart. */
struct tutti_nvshmem_rows {
    ptrdiff_t dst, sst, block, n;
};

enum { TUTTI_NVSHMEM_WARPGROUP = -1 }; /* four warps, each of which moves some of the rows */

template <bool put>
TUTTI_DEV void tutti_nvshmem_move_rows(int group, void *dest, const void *source, size_t bytes,
                                       const tutti_nvshmem_rows &rows, int pe)
{
    const ptrdiff_t warps = group == TUTTI_NVSHMEM_WARPGROUP && tutti_dev_size(TUTTI_BY_BLOCK) >= 128 ? 4 : 1;
    const ptrdiff_t first = warps == 1 ? 0 : (ptrdiff_t)(tutti_dev_rank(TUTTI_BY_BLOCK) / 32 % 4);
    const ptrdiff_t n = rows.n > first ? (rows.n - first + warps - 1) / warps : 0;
    char *const to = (char *)dest + first * rows.dst * (ptrdiff_t)bytes;
    const char *const from = (const char *)source + first * rows.sst * (ptrdiff_t)bytes;
    if (group == TUTTI_NVSHMEM_WARPGROUP)
        group = TUTTI_BY_WARP;
    if (n == 0 || rows.block == 0)
        return;
    if (put)
        tutti_dev_put_blocks(group, to, from, rows.dst * warps, rows.sst * warps, (size_t)rows.block, (size_t)n, bytes,
                             pe);
    else
        tutti_dev_get_blocks(group, to, from, rows.dst * warps, rows.sst * warps, (size_t)rows.block, (size_t)n, bytes,
                             pe);
}

/* The part of the tile in front of the boundary. 0, or NVSHMEM's number of an error; then nothing is moved. */
template <bool put, class Source, class Dest, class Tuple>
TUTTI_DEV int tutti_nvshmem_tile(int group, Source source, Dest dest, const Tuple &start, const Tuple &boundary, int pe,
                                 uint64_t flag)
{
    using T = typename Source::value_type;
    using Shape = decltype(source.shape());
    static_assert(sizeof(T) == sizeof(typename Dest::value_type), "source and destination have different elements");
    static_assert(TUTTI_NVSHMEM_STD::tuple_size<Shape>::value <= 2, "a tile has one or two dimensions");
    const ptrdiff_t n0 = tutti_nvshmem_number<0>(source.shape(), 1), n1 = tutti_nvshmem_number<1>(source.shape(), 1);
    const ptrdiff_t in0 = tutti_nvshmem_inside<0>(start, boundary, n0);
    const ptrdiff_t in1 = tutti_nvshmem_inside<1>(start, boundary, n1);
    const ptrdiff_t d0 = tutti_nvshmem_number<0>(dest.stride(), 0), d1 = tutti_nvshmem_number<1>(dest.stride(), 0);
    const ptrdiff_t s0 = tutti_nvshmem_number<0>(source.stride(), 0), s1 = tutti_nvshmem_number<1>(source.stride(), 0);
    if (!source.data() || !dest.data() || n0 != tutti_nvshmem_number<0>(dest.shape(), 1) ||
        n1 != tutti_nvshmem_number<1>(dest.shape(), 1))
        return NVSHMEMX_ERROR_INVALID_VALUE;
    if (flag != 0)
        return NVSHMEMX_ERROR_NOT_SUPPORTED;
    if (d0 == 1 && s0 == 1) {
        tutti_nvshmem_move_rows<put>(group, dest.data(), source.data(), sizeof(T), {d1, s1, in0, in1}, pe);
    } else if (d1 == 1 && s1 == 1) {
        tutti_nvshmem_move_rows<put>(group, dest.data(), source.data(), sizeof(T), {d0, s0, in1, in0}, pe);
    } else { /* columns, an element each */
        for (ptrdiff_t i = 0; i < in1; i++)
            tutti_nvshmem_move_rows<put>(group, dest.data() + i * d1, source.data() + i * s1, sizeof(T),
                                         {d0, s0, in0 ? 1 : 0, in0}, pe);
    }
    return NVSHMEMX_SUCCESS;
}

namespace nvshmemx
{

/* Called by all threads of the group, whose source is ready. Puts and gets of a thread, a warp and a block are complete
 * on return; those of a warpgroup, four warps of a block, past the next wait of these for each other. Elements at
 * `boundary` and behind it, counted from start_coord, are left out. Both are tuples of as many numbers as the tile has
 * dimensions, or of an empty type: no boundary. flag: 0. */
#define TUTTI_NVSHMEM_TILES(suffix, group)                                                                             \
    template <typename src_tensor_t, typename dst_tensor_t, typename tuple_t, tile_algo_t algo>                        \
    TUTTI_DEV int tile_put##suffix(src_tensor_t src, dst_tensor_t dst, tuple_t start_coord, tuple_t boundary, int pe,  \
                                   uint64_t flag)                                                                      \
    {                                                                                                                  \
        return tutti_nvshmem_tile<true>(group, src, dst, start_coord, boundary, pe, flag);                             \
    }                                                                                                                  \
    template <typename src_tensor_t, typename dst_tensor_t, typename tuple_t, tile_algo_t algo>                        \
    TUTTI_DEV int tile_get##suffix(src_tensor_t src, dst_tensor_t dst, tuple_t start_coord, tuple_t boundary, int pe,  \
                                   uint64_t flag)                                                                      \
    {                                                                                                                  \
        return tutti_nvshmem_tile<false>(group, src, dst, start_coord, boundary, pe, flag);                            \
    }
TUTTI_NVSHMEM_TILES(, TUTTI_BY_THREAD)
TUTTI_NVSHMEM_TILES(_warp, TUTTI_BY_WARP)
TUTTI_NVSHMEM_TILES(_warpgroup, TUTTI_NVSHMEM_WARPGROUP)
TUTTI_NVSHMEM_TILES(_block, TUTTI_BY_BLOCK)
#undef TUTTI_NVSHMEM_TILES

} // namespace nvshmemx

#endif
