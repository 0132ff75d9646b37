/* The kernels for CUDA, as compressed fat binaries inside the library: machine code for sm_80 and sm_90 and PTX for
 * what comes later. One image a family of types, so that a program loads what it uses.
 *
 * In the image of `type` the kernel is named tutti_KERNEL_TYPE_OP with the names of kernels.def and the IDs of
 * types.def and ops.def: tutti_oneshot_F32_SUM, tutti_direct_I64_MIN. (type, op) is a pair as tutti_kernel_type() gives
 * it: sums of signed integers are found under the unsigned type. tutti_fatbin_kernel() writes the name.
 *
 * Launch: TUTTI_FATBIN_THREADS threads a block (flow kernels of packets also fewer, whole warps), args.blocks blocks,
 * no dynamic shared memory, one parameter: struct
 * tutti_kernel_args or tutti_flow_args by value. Blocks of oneshot and twoshot wait for peers' blocks, so that all of a
 * launch must be resident. */
#ifndef TUTTI_KERNELS_FATBIN_H
#define TUTTI_KERNELS_FATBIN_H

#include <stddef.h>

enum { TUTTI_FATBIN_THREADS = 512, TUTTI_FATBIN_NAME = 64 };

struct tutti_fatbin {
    const void *data; /* for cuModuleLoadData() */
    size_t size;      /* bytes */
};

/* Number of images, and image `i`. */
int tutti_fatbin_count(void);
struct tutti_fatbin tutti_fatbin(int i);
/* Image that holds the kernels of (type, op), and the kernel's name (at most TUTTI_FATBIN_NAME bytes). `kernel` is a
 * position in kernels.def. Returns the image's number, or -1 where no kernel exists for the pair. */
int tutti_fatbin_kernel(int kernel, int type, int op, char name[TUTTI_FATBIN_NAME]);

#endif
