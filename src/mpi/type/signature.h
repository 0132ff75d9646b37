/* A type's basic elements in their order, without gaps. */
#ifndef TUTTI_MPI_SIGNATURE_H
#define TUTTI_MPI_SIGNATURE_H

#include "mpi/real/door.h"

/* Local. Makes a type (not committed, to be freed) of the same signature whose elements follow each other without gaps.
 * TUTTI_OK, or another status where a constructor is not known or the MPI makes no such type. */
int tutti_signature_of(MPI_Datatype type, MPI_Datatype *out);

#endif
