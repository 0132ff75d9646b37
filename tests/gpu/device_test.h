/* What the two files of the device's test share. */
#ifndef TUTTI_TESTS_GPU_DEVICE_TEST_H
#define TUTTI_TESTS_GPU_DEVICE_TEST_H

#include <cuda.h>

#include "core/status.h"
#include "device/device.h"
#include "support/check.h"

enum { BYTES = 3 << 20, WAIT_SECONDS = 20 };

#define OK(call) CHECK((call) == TUTTI_OK, "%s", #call)

static const struct tutti_device *const device = &tutti_device_cuda;

/* The program's own use of the driver: what Tutti never calls for itself. */
void *driver_entry(const char *name);
#define DRIVER(symbol) ((__typeof__(&symbol))driver_entry(#symbol))

/* Streams of the program. */
void program_streams_test(int gpu, int gpus);
/* The second process: imports what comes over the socket until it is told to end. Returns its exit status. */
int share_peer(int socket);
/* Memory of all kinds, shared with the second process. */
void share_test(int socket, int gpus);

#endif
