/* The CUDA driver: finding libcuda in the process, its entry points, its errors. Private to src/device/cuda/. */
#ifndef TUTTI_DEVICE_CUDA_DRIVER_H
#define TUTTI_DEVICE_CUDA_DRIVER_H

#include <cuda.h>
#include <stddef.h>

#include "device/device.h"

#if CUDA_VERSION < 11030
#error "cuda.h of CUDA 11.3 or later is needed"
#endif
#if CUDA_VERSION < 12000
CUresult cuCtxGetId(CUcontext context, unsigned long long *id);
#endif
#if CUDA_VERSION < 12010
CUresult cuCtxSetFlags(unsigned flags);
#endif

/* Attributes and flags that headers older than CUDA 12.1 do not name. */
enum { TUTTI_CUDA_MAPPING_SIZE = 18, TUTTI_CUDA_MAPPING_BASE = 19, TUTTI_CUDA_SYNC_MEMOPS = 0x80 };

struct tutti_cuda_driver {
#define TUTTI_CUDA_ENTRY(field, symbol) __typeof__(&symbol) field;
#include "device/cuda/driver.def"
#undef TUTTI_CUDA_ENTRY
};

/* The driver of this process. Valid after tutti_cuda_active() has returned 1 or tutti_cuda_load() TUTTI_OK. */
extern struct tutti_cuda_driver tutti_cuda;

/* Local, any thread: 1 if libcuda is in this process, all its entry points are known and this is not a child of the
 * process that used it. Two or three loads while no object has been loaded since the last call; loads and initialises
 * nothing. */
int tutti_cuda_active(void);
/* Its word: the successor of the last object of the process, while libcuda is not there. */
extern struct tutti_device_sign tutti_cuda_sign;
/* Local: loads libcuda if it is not loaded. TUTTI_OK, or TUTTI_ERR_UNAVAILABLE with the reason in `why`. */
int tutti_cuda_load(char *why, size_t size);
/* 1 if libcuda is known and this is not a forked child; does not look for it. */
int tutti_cuda_ready(void);

/* Reports the failure of `what` on `gpu` (-1: none in particular) once, here, with the driver's name for it and advice.
 * Returns TUTTI_ERR_MEMORY where memory ran out, otherwise TUTTI_ERR_DEVICE. */
int tutti_cuda_failed(CUresult result, const char *what, int gpu);
/* The same for a failure that has a fallback: said at info level. */
int tutti_cuda_declined(CUresult result, const char *what, int gpu);
/* 1 if the result says that the context, or the whole driver, has gone. */
int tutti_cuda_gone(CUresult result);
const char *tutti_cuda_error_name(CUresult result);

#endif
