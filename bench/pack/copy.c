/* Copies by the driver: through libcuda, opened at run time, in the bench's stream. */
#include <dlfcn.h>
#include <string.h>

#include "bench/common/gpu.h"
#include "bench/pack/pack.h"
#include "tutti/tutti.h"

/* CUDA_MEMCPY3D_v2, part of the driver's binary interface. */
struct box_side {
    size_t x, y, z, lod;
    int kind;
    void *host;
    unsigned long long device;
    void *array, *reserved;
    size_t pitch, height;
};
struct box {
    struct box_side from, to;
    size_t width, height, depth;
};
_Static_assert(sizeof(struct box) == 200, "as cuda.h has it");
enum { KIND_DEVICE = 2 };

static struct {
    int (*MemcpyAsync)(unsigned long long, unsigned long long, size_t, void *);
    int (*Memcpy3DAsync)(const struct box *, void *);
    int (*CtxSynchronize)(void);
    int cuda;
} driver;

void pack_copy_open(void)
{
    char why[256];
    if (!bench_on_cuda())
        return;
    if (!bench_gpu_open(why, sizeof why))
        bench_fail("%s", why);
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library) {
        *(void **)(void *)&driver.MemcpyAsync = dlsym(library, "cuMemcpyAsync");
        *(void **)(void *)&driver.Memcpy3DAsync = dlsym(library, "cuMemcpy3DAsync_v2");
        *(void **)(void *)&driver.CtxSynchronize = dlsym(library, "cuCtxSynchronize");
    }
    driver.cuda = driver.MemcpyAsync && driver.CtxSynchronize;
    if (!driver.cuda)
        bench_fail("libcuda.so.1 lacks calls that are needed for copies");
}

static void cuda_check(int error, const char *call)
{
    if (error != 0)
        bench_fail("%s: error %d of the CUDA driver", call, error);
}

static unsigned long long pointer_address(const char *pointer)
{
    return (unsigned long long)(uintptr_t)pointer;
}

static void copy_bytes(char *to, const char *from, size_t bytes)
{
    if (driver.cuda)
        cuda_check(driver.MemcpyAsync(pointer_address(to), pointer_address(from), bytes, bench_gpu_stream()),
                   "cuMemcpyAsync");
    else
        bench_must(tutti_copy(to, from, bytes), "copying");
}

void pack_copy_blocks(const struct pack_layout *layout, const struct pack_set *set, size_t n, int unpack)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        struct pack_piece piece = pack_layout_piece(layout, i);
        if (unpack)
            copy_bytes(set->memory + piece.offset, set->in + at, piece.length);
        else
            copy_bytes(set->out + at, set->memory + piece.offset, piece.length);
        at += piece.length;
    }
    if (driver.cuda)
        bench_gpu_sync();
}

int pack_copy_has_box(const struct pack_layout *layout)
{
    if (!driver.cuda || !driver.Memcpy3DAsync || layout->piece || layout->dims < 1)
        return 0;
    size_t row = layout->dim[layout->dims - 1].stride;
    return row >= layout->block && (layout->dims == 1 || layout->dim[0].stride % row == 0);
}

void pack_copy_box(const struct pack_layout *layout, const struct pack_set *set, int unpack)
{
    const int last = layout->dims - 1;
    const size_t row = layout->dim[last].stride, rows = layout->dim[last].count;
    const struct box_side wide = {.kind = KIND_DEVICE,
                                  .device = pointer_address(set->memory),
                                  .pitch = row,
                                  .height = last ? layout->dim[0].stride / row : rows};
    const struct box_side narrow = {.kind = KIND_DEVICE,
                                    .device = pointer_address(unpack ? set->in : set->out),
                                    .pitch = layout->block,
                                    .height = rows};
    const struct box box = {.from = unpack ? narrow : wide,
                            .to = unpack ? wide : narrow,
                            .width = layout->block,
                            .height = rows,
                            .depth = last ? layout->dim[0].count : 1};
    cuda_check(driver.Memcpy3DAsync(&box, bench_gpu_stream()), "cuMemcpy3DAsync");
    bench_gpu_sync();
}

void pack_copy_flat(char *to, const char *from, size_t bytes)
{
    copy_bytes(to, from, bytes);
    if (driver.cuda)
        bench_gpu_sync();
}

void pack_copy_wait(void)
{
    if (driver.cuda)
        cuda_check(driver.CtxSynchronize(), "cuCtxSynchronize");
}
