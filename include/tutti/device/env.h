/* Groups of threads that make a call together, what a call says of its end, and the environment of the compiler. */
#ifndef TUTTI_DEVICE_ENV_H
#define TUTTI_DEVICE_ENV_H

/* The group that makes a call: one thread, or all threads of a warp, of a block or of the grid, all with the same
 * arguments. The first thread of a group is its leader. */
enum { TUTTI_BY_THREAD, TUTTI_BY_WARP, TUTTI_BY_BLOCK, TUTTI_BY_GRID };

/* TUTTI_DEV_OK, TUTTI_DEV_ERR_BROKEN ...: status codes, as tutti_status_text() knows them. */
enum {
#define TUTTI_STATUS(id, number, text) TUTTI_DEV_##id = number,
#include "tutti/status.def"
#undef TUTTI_STATUS
    TUTTI_DEV_STATUS_END
};

/* Of a struct that stands for objects of any type. NVRTC takes no such attribute, and needs none. */
#ifdef __CUDACC_RTC__
#define TUTTI_DEV_ALIAS
#else
#define TUTTI_DEV_ALIAS __attribute__((may_alias))
#endif

#ifdef __CUDACC__
#include "tutti/device/env_cuda.h"
#else
#include "tutti/device/env_c.h"
#endif

/* What host code may call too. */
#ifdef __CUDACC__
#define TUTTI_DEV_BOTH static __attribute__((unused)) __host__ __device__ __forceinline__
#else
#define TUTTI_DEV_BOTH TUTTI_DEV
#endif

#endif
