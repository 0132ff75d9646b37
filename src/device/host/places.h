/* Places of thread blocks on the simulated GPUs (TUTTI_HOST_BLOCKS). Kernels that wait for peers hold one for each of
 * their blocks, two blocks of a launch in rows one, as on a GPU whose blocks take a multiprocessor each; others, which
 * end by themselves, need none. */
#ifndef TUTTI_DEVICE_HOST_PLACES_H
#define TUTTI_DEVICE_HOST_PLACES_H

#include "device/host/work.h"

/* Places of one GPU; 0: they are not counted. */
unsigned tutti_host_places(void);
/* 1 if kernels of this kind wait for peers. */
int tutti_host_waits(enum tutti_kernel kernel);
/* Takes the places of a launch, one by one, and keeps those it has while it waits for more. Returns how many it got:
 * fewer than it needs where the launch is to leave, which its kernel then does by itself. */
unsigned tutti_host_places_take(const struct tutti_work *work);
void tutti_host_places_give(const struct tutti_work *work, unsigned held);

#endif
