/* Types with gaps for a GPU-aware MPI: where they are packed. */
#ifndef TUTTI_DTYPE_AWARE_H
#define TUTTI_DTYPE_AWARE_H

#include <stddef.h>

/* Local. 1: `bytes` packed bytes go into memory of the device, 0: into pinned memory; by the rules of the section
 * `aware`. */
int tutti_aware_on_device(size_t bytes);

#endif
