/* Types and operators of the program that a call still needs after it has returned, though the program may free them as
 * soon as it has. A holder keeps the program's own handle, not a duplicate: making a duplicate runs the attribute
 * callbacks of the program, and a function of the program may compare handles. MPI_Type_free and MPI_Op_free of a held
 * handle wait for its last holder. All local, safe from any thread. */
#ifndef TUTTI_MPI_LENT_H
#define TUTTI_MPI_LENT_H

#include "mpi/real/door.h"

/* Returns 0 without memory: nothing is held then. Predefined and null handles need no holder: returns 1. */
int tutti_type_hold(MPI_Datatype type);
int tutti_handles_hold(MPI_Datatype type, MPI_Op op);
/* Ends one hold. Frees the handle if the program has freed it and this was the last holder. */
void tutti_type_release(MPI_Datatype type);
void tutti_handles_release(MPI_Datatype type, MPI_Op op);

/* MPI_Type_free of any type, Tutti's own too: now, or at the end of the last hold. An MPI code. */
int tutti_type_free(MPI_Datatype *type);

#endif
