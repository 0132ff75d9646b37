/* The kernels for CUDA, as fat binaries inside the library: machine code for some GPUs and PTX for later ones. A
 * program loads what it uses: one image for the kernels of a part (kernels.def) and a group of types (images.inc).
 * Loading takes as long as the image is, unpacked, so kernels that first calls need are not in one image with large or
 * rare ones. The parts: PACKETS: short reductions; their sums, which most programs reduce first, are images of their
 * own, SUMS (pairs are never summed). PLAIN: kernels that combine what lies in the GPU's own memory or in windows, and
 * atomics. LARGE: large reductions. LEAD: short reductions whose ranks share GPUs. MOVES: kernels that move data, of no
 * type.
 *
 * The kernel of a type is named tutti_KERNEL_TYPE_FAMILY with the names of kernels.def, the IDs of
 * types.def and the families of families.def: tutti_oneshot_F32_SUM, tutti_direct_U64_ORDER. tutti_fatbin_kernel()
 * writes the name. Those that move data are the last image, and named tutti_KERNEL; they have no second
 * parameter either.
 *
 * Launch: TUTTI_FATBIN_THREADS threads a block (flow kernels of packets also fewer, whole warps), args.blocks blocks,
 * no dynamic shared memory. Parameters: struct tutti_kernel_args or tutti_flow_args by value, then struct tutti_sense
 * (tutti_kernel_served()) by value; kernels of SUM and PROD have no such second parameter, and what is handed over is
 * not looked at. Blocks of oneshot and twoshot wait for peers' blocks, so that all of a launch must be resident. */
#ifndef TUTTI_KERNELS_FATBIN_H
#define TUTTI_KERNELS_FATBIN_H

#include <stddef.h>

#include "kernels/families.h"
#include "kernels/grains.h"

enum { TUTTI_FATBIN_THREADS = TUTTI_FLOW_THREADS, TUTTI_FATBIN_ROWS = 2, TUTTI_FATBIN_NAME = 64, TUTTI_FATBINS = 31 };

struct tutti_fatbin {
    const void *data; /* for cuModuleLoadData() */
    size_t size;      /* bytes */
};

/* Image `i`, of TUTTI_FATBINS. */
struct tutti_fatbin tutti_fatbin(int i);
/* 0 if the kernels were compiled without optimisation (TUTTI_CUDA_OPTIMIZE=OFF): right, and slow. */
int tutti_fatbin_optimized(void);
/* Image that holds the kernels of (type, op), and the kernel's name (at most TUTTI_FATBIN_NAME bytes). `kernel` is a
 * position in kernels.def. Returns the image's number, or -1 if no kernel exists for the pair. */
int tutti_fatbin_kernel(int kernel, int type, int op, char name[TUTTI_FATBIN_NAME]);

#endif
