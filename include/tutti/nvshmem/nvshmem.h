/* <nvshmem.h> for programs written for NVSHMEM: its names, for the calls of tutti/shmem.h and tutti/device.h. This
 * folder is put before the compiler by pkg-config's tutti-nvshmem and CMake's tutti::tutti-nvshmem.
 *
 * nvcc: names of threads, warps and blocks in kernels, and those of the host, in stream order too. A compiler for the
 * host: those of the host; with TSHMEM_KERNELS, defined before, those in kernels as well, for the host device. NVRTC:
 * those in kernels. tutti/shmem.h documents each call; docs/shmem.md lists the missing ones. */
#ifndef TUTTI_NVSHMEM_H
#define TUTTI_NVSHMEM_H

/* The types of this file and those of CUDA, before tutti/shmem.h asks for them. */
#include "tutti/nvshmem/types.h"

#if defined(__CUDACC__) || defined(TSHMEM_KERNELS)
#include "tutti/device.h"
#else
#include "tutti/shmem.h"
#endif

#ifndef __CUDACC_RTC__ /* macros of the program that are words in these files */
#include "tutti/words_push.h"
#endif
#include "tutti/nvshmem/names.h"

#ifndef __CUDACC_RTC__
#include "tutti/nvshmem/begin.h"
#include "tutti/nvshmem/launch.h"
#include "tutti/nvshmem/stream.h"
#include "tutti/nvshmem/teams.h"
#endif
#if defined(__CUDACC__) || defined(TSHMEM_KERNELS)
#include "tutti/nvshmem/groups.h"
#endif
#ifndef __CUDACC_RTC__
#include "tutti/words_pop.h"
#endif

#endif
