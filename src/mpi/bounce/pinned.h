/* Host memory that the MPI receives into in place of device memory: pinned, from a small pool, or mapped and touched as
 * far as a message reaches. Where the MPI overruns a buffer that is too short before it returns MPI_ERR_TRUNCATE
 * (quirks.h), address space follows that may be written and costs nothing until it is. */
#ifndef TUTTI_MPI_PINNED_H
#define TUTTI_MPI_PINNED_H

#include <stddef.h>

/* Local, safe from any thread. Pinned host memory; *room is what the pool counts and wants back. NULL without memory.
 */
void *tutti_pinned_take(size_t bytes, size_t *room);
void tutti_pinned_give(void *memory, size_t room);
/* The device is still there. */
void tutti_pinned_close(void);

/* Local. Zeroed host memory in whole pages of its own, not pinned, touched by nobody yet; NULL without memory. */
void *tutti_overrun_map(size_t bytes);
/* memory: from tutti_overrun_map(), or NULL. */
void tutti_overrun_unmap(void *memory);

#endif
