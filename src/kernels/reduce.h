/* The C instantiation of the kernels: what the host device launches and what staged reductions use. Every function
 * picks the widest instructions of this processor once. */
#ifndef TUTTI_KERNELS_REDUCE_H
#define TUTTI_KERNELS_REDUCE_H

#include <stddef.h>

#include "kernels/args.h"

/* out[i] = in[0][i] op in[1][i] op ... op in[ranks-1][i], combined from the left. Ordinary host pointers of any
 * alignment; out may be one of the inputs. count in elements. Half precision is accumulated in float and rounded once.
 */
void tutti_reduce_host(int type, int op, int ranks, const void *const in[], void *out, size_t count);

/* Runs one block of kernel `kernel` (enum tutti_kernel) for the pair of type and op. args: what the kernel takes by its
 * row in kernels.def; pointers in it are directly usable. */
void tutti_kernel_host(int kernel, int type, int op, const void *args, unsigned block);

/* jitter not 0: kernels on the calling thread pause now and then, as follows from it, before a block and before they
 * read what peers have sent; what peers may do meanwhile, they do. 0: they do not. */
void tutti_kernel_pace(unsigned jitter);

/* Name of the instruction set chosen: "avx512", "avx2", "base". */
const char *tutti_kernel_host_isa(void);

#endif
