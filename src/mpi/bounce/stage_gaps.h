/* Images of elements with gaps, whose typed bytes alone are copied. */
#ifndef TUTTI_MPI_STAGE_GAPS_H
#define TUTTI_MPI_STAGE_GAPS_H

#include "mpi/bounce/stage.h"

/* Local. Copies the typed bytes of all elements between the program's buffer and the image of the stage, by way of the
 * packed elements: a kernel instead of a copy for each run of bytes. out: to the buffer. Not in a stream; complete on
 * return. TUTTI_OK, TUTTI_ERR_MEMORY, or the device's error. */
int tutti_stage_copy_gaps(const struct tutti_stage *stage, int out);

#endif
