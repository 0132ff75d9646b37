/* What joins the GPUs of a node is asked of a library that takes tens of milliseconds to open (NVIDIA's NVML): a thread
 * beside opens it from the first use of a GPU on, so that the first communicator finds it open. */
#ifndef TUTTI_TEAM_LINKS_H
#define TUTTI_TEAM_LINKS_H

#include "device/device.h"

/* Local; returns at once; any thread. From the first call on, once for a process. */
void tutti_links_open(const struct tutti_device *device);
/* Local; before the process ends: waits for that thread's work, if it was begun. */
void tutti_links_close(const struct tutti_device *device);

#endif
