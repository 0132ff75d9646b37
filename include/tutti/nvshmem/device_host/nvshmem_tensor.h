/* NVSHMEM's header of tensors, which are in nvshmemx.h here. */
#include "nvshmemx.h"
