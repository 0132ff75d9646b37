/* <nvshmemx.h>: NVSHMEM's extensions are in nvshmem.h here, but those of tiles, which need C++17. */
#include "nvshmem.h"
#if defined(__cplusplus) && __cplusplus >= 201703L && !defined(__CUDACC_RTC__) &&                                      \
    (defined(__CUDACC__) || defined(TSHMEM_KERNELS))
#include "tutti/nvshmem/tile.h"
#endif
