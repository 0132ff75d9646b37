/* Memory that a piece of work reaches. Private to the host device's work. */
#ifndef TUTTI_DEVICE_HOST_WORK_REACH_H
#define TUTTI_DEVICE_HOST_WORK_REACH_H

#include "device/device.h"
#include "kernels/args.h"

/* Sets *at to the address by which a kernel of the GPU (-1: a copy) reaches [pointer, pointer + bytes). A status; what
 * it does not reach is reported as `what`. */
int tutti_work_reach(int gpu, const char *what, const void *pointer, size_t bytes, void **at);
/* Replaces the addresses of the program's buffers in the arguments of such a launch. A status. */
int tutti_work_flow(struct tutti_flow_args *args, int gpu, const struct tutti_launch *launch);
/* Fills the work of a launch of updates. A status; blocks that change the same byte are an error. */
struct tutti_work;
int tutti_work_update(struct tutti_work *work, int gpu, const struct tutti_launch *launch);

#endif
