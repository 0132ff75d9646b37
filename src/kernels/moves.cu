/* The kernels that move data, for CUDA: an image by themselves, see fatbin.h. */
#include "kernels/env_cuda.h"

#include "kernels/threads/moves.inc"
