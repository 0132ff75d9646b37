/* The device contract over the CUDA runtime, as far as the ring's path to GPUs needs it: for programs that are carried
 * without the library. */
#ifndef TUTTI_TESTS_CUDA_DEVICE_H
#define TUTTI_TESTS_CUDA_DEVICE_H

#include "device/device.h"

extern const struct tutti_device cuda_device;

#endif
