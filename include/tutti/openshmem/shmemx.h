/* OpenSHMEM's header of extensions. Tutti has no shmemx_ names: its own extensions are in <tutti/shmem.h>, as
 * tshmem_. The folder of this file comes before an MPI's, so that a shmemx.h of that MPI is not taken. */
#ifndef TUTTI_SHMEMX_H
#define TUTTI_SHMEMX_H

#include "shmem.h"

#endif
