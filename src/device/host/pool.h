/* Memory of many small regions in one file, so that they need few mappings and one descriptor: what lies at an offset
 * of the arena lies there in the file, and mappings that touch each other are one to the system. Under the arena's
 * lock. */
#ifndef TUTTI_DEVICE_HOST_POOL_H
#define TUTTI_DEVICE_HOST_POOL_H

#include <stddef.h>

/* Memory, cleared, at this offset. most: bytes of the arena. The file, or -1. */
int tutti_host_pool_take(size_t most, size_t offset, size_t bytes);
void tutti_host_pool_give(size_t offset, size_t bytes);
/* 1 if the descriptor is the pool's. */
int tutti_host_pool_is(int fd);

#endif
