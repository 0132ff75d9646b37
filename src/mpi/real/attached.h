/* Buffers for MPI_Bsend. The MPI is given host memory in place of device memory. */
#ifndef TUTTI_MPI_ATTACHED_H
#define TUTTI_MPI_ATTACHED_H

#include "mpi/real/door.h"

/* 1 if the MPI has a buffer that takes a message of so many bytes while no other is in it, or may have one. */
int tutti_attached_takes(uint64_t bytes);
/* Bytes of the buffer of the process; 0: no buffer is attached. */
int64_t tutti_attached_room(void);

#endif
