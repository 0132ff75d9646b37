/* Private to src/dtype/: the device of a call, and its packing kernels. */
#ifndef TUTTI_DTYPE_PACK_LOAD_H
#define TUTTI_DTYPE_PACK_LOAD_H

#include "dtype/pack.h"

/* -1 becomes the current GPU. */
int tutti_pack_gpu(const struct tutti_device *device, int gpu);
/* The device, opened, if it packs. *gpu: -1 becomes the current one. */
int tutti_pack_open(int *gpu, const struct tutti_device **out);
/* Loads the kernels that the jobs need on the GPU, if they are not loaded: *room, the bytes of args that a launch
 * takes. Where nothing may be loaded now, kernels for few messages do many in several launches. */
int tutti_pack_load(const struct tutti_device *device, int gpu, const struct tutti_pack_job *jobs, unsigned n,
                    size_t *room);

#endif
