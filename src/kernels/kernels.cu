/* The kernels for CUDA. Compiled once for each image (TUTTI_IMAGE) of images.inc, see fatbin.h. */
#include "kernels/env_cuda.h"

#include "kernels/threads/kernels.inc"
