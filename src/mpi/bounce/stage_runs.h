/* Types without a plan: the typed bytes of an element are found by packing it. */
#ifndef TUTTI_MPI_STAGE_RUNS_H
#define TUTTI_MPI_STAGE_RUNS_H

#include "mpi/bounce/stage.h"

/* Local. Copies the typed bytes of all elements between the program's buffer and the image of the stage, run by run.
 * out: to the buffer. Not in a stream; complete on return. TUTTI_OK, TUTTI_ERR_MEMORY, or the device's error. */
int tutti_stage_copy_runs(const struct tutti_stage *stage, int out);

#endif
