/* Host memory that the MPI receives into in place of device memory, with address space behind it that may be written
 * and costs nothing until it is, where tutti_quirks.overruns: the MPI writes a message whole before it returns
 * MPI_ERR_TRUNCATE, past a buffer that is too short for it. */
#ifndef TUTTI_MPI_OVERRUN_H
#define TUTTI_MPI_OVERRUN_H

#include <stddef.h>

#include "bounce/bounce.h"

/* Local. Pinned memory that this MPI may receive into. */
const struct tutti_bounce_kind *tutti_overrun_kind(void);

/* Local. The same of ordinary memory, of which only pages that a message has reached are there. */
const struct tutti_bounce_kind *tutti_ordinary_kind(void);

/* Local. Memory that this MPI may get with types that have gaps: ordinary host memory if it takes pinned memory for a
 * device's. */
const struct tutti_bounce_kind *tutti_image_kind(void);

/* Local. Host memory in whole pages of its own, not pinned, untouched, of megabytes that mostly come back untouched but
 * for their first page: such memory is kept for the next one, which may ask for less. Its contents are undefined; NULL
 * without memory. return: takes NULL. close: unmaps what is kept. */
void *tutti_overrun_lend(size_t bytes);
void tutti_overrun_return(void *memory);
void tutti_overrun_close(void);

#endif
