/* What a datatype is made of, from the MPI's envelopes and contents. */
#ifndef TUTTI_MPI_DESCRIBE_H
#define TUTTI_MPI_DESCRIBE_H

#include "dtype/describe.h"
#include "mpi/real/door.h"

/* Owns what a description points to, and the handles that the MPI gave out meanwhile. */
struct tutti_reading {
    struct tutti_reading_chunk *chunks;
    MPI_Datatype *held;
    size_t held_n, held_room;
    uint64_t nodes;  /* read so far; types can name their parts again and again */
    unsigned basic;  /* size of the basic types, where all are of one size; UINT_MAX where they are not */
    const char *why; /* static: what is beyond reach, on TUTTI_ERR_UNAVAILABLE */
};

/* Local. Reads a type (not MPI_DATATYPE_NULL) to the bottom. TUTTI_OK, TUTTI_ERR_UNAVAILABLE where a constructor is not
 * known or the type is too deep, TUTTI_ERR_MEMORY. tutti_describe_end() in any case. */
int tutti_describe(struct tutti_reading *reading, MPI_Datatype type, const struct tutti_description **out);
void tutti_describe_end(struct tutti_reading *reading);
/* Frees the memory that is kept from one reading for the next. */
void tutti_describe_forget(void);

/* 1 for a type of the MPI itself (F90 and value index types too): it cannot be freed or resized. */
int tutti_type_predefined(MPI_Datatype type);

#endif
