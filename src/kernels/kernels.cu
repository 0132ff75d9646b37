/* The kernels for CUDA. Compiled once for each image: the part TUTTI_PART, the group TUTTI_IMAGE; see fatbin.h. */
#include "kernels/env_cuda.h"

#include "kernels/threads/kernels.inc"
