/* Regions without strictness that are kept when they are unmapped, for the next one of their size: an allocation costs
 * some ten system calls, one that is kept two. Under the arena's lock. */
#ifndef TUTTI_DEVICE_HOST_KEPT_H
#define TUTTI_DEVICE_HOST_KEPT_H

#include <stddef.h>

/* Keeps the region of `mapped` bytes at `base`, which is not accessible then. 0: it cannot be kept. may: 0 if peers may
 * have it mapped: they would see the next one. */
int tutti_host_kept_put(char *base, size_t mapped, int may);
/* The last kept region of this size, accessible and, if it is small, cleared. NULL: no such region is kept. */
char *tutti_host_kept_take(size_t mapped);
/* The last kept region, not kept any longer and not accessible. NULL: no such region is kept. */
char *tutti_host_kept_drop(void);

#endif
