/* <nvshmemx.h>: NVSHMEM's extensions are in nvshmem.h here. */
#include "nvshmem.h"
