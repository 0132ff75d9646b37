/* Memory for packed elements that the MPI is given: device memory where the MPI takes that itself, so that nothing
 * crosses to the host, otherwise pinned host memory. */
#ifndef TUTTI_MPI_SCRATCH_H
#define TUTTI_MPI_SCRATCH_H

#include "dtype/places.h"
#include "mpi/type/datatypes.h"

struct tutti_scratch {
    char *memory; /* NULL: none */
    size_t room;
    int on_device, gpu;
};

/* Local. places: of the elements; NULL: the host must reach it. 0 without memory. */
int tutti_scratch_take(struct tutti_scratch *scratch, const struct tutti_places *places, size_t bytes);
void tutti_scratch_give(struct tutti_scratch *scratch);
/* The device is still there. */
void tutti_scratch_close(void);

#endif
