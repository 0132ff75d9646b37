/* Calls while the packing kernels are not loaded, see later.c. Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_LATER_H
#define TUTTI_DTYPE_PACK_LATER_H

#include "device/device.h"
#include "dtype/pack.h"

/* Local, any thread. The jobs by copy engines, if the kernels of the GPU are not loaded and that takes long. Otherwise,
 * and if a job is not between runs of bytes: TUTTI_ERR_UNAVAILABLE, and nothing was done. */
int tutti_pack_unloaded(const struct tutti_device *device, int gpu, const struct tutti_pack_job *jobs, unsigned n);

#endif
