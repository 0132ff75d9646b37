/* <nvshmemx_error.h> of NVSHMEM 2: the codes of errors, which are in nvshmem.h here. */
#include "nvshmem.h"
