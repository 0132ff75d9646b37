/* Memory for packed elements that the MPI is given: device memory where the MPI takes that itself, so that nothing
 * crosses to the host, otherwise pinned host memory, past which it may write (overrun.h). */
#ifndef TUTTI_MPI_SCRATCH_H
#define TUTTI_MPI_SCRATCH_H

#include "bounce/bounce.h"
#include "dtype/places.h"
#include "mpi/type/datatypes.h"

struct tutti_scratch {
    struct tutti_bounce *bounce; /* NULL: none */
    int on_device;
    int ordinary; /* 1: in place of pinned memory, of which none can be made now (progress/gate.h) */
};

/* Local. places: of the elements; NULL: the host must reach it. NULL without memory. image: for elements of a derived
 * type of the program's, in host memory; sent: the MPI only reads it. */
void *tutti_scratch_take(struct tutti_scratch *scratch, const struct tutti_places *places, size_t bytes);
void *tutti_scratch_take_image(struct tutti_scratch *scratch, size_t bytes, int sent);
/* Local. Pinned memory of which the MPI only reads: small pieces share an allocation. brief: given back before the call
 * returns; then memory that a receive has used is preferred, since it is in the core's caches. */
void *tutti_scratch_take_sent(struct tutti_scratch *scratch, size_t bytes, int brief);
/* Local. Host memory that is not pinned, for packed elements. */
void *tutti_scratch_take_ordinary(struct tutti_scratch *scratch, size_t bytes);
void tutti_scratch_give(struct tutti_scratch *scratch);

#endif
