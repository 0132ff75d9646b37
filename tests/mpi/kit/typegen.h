/* Random datatypes: compositions of every constructor, with what a test wants to know of them. */
#ifndef TUTTI_TESTS_TYPEGEN_H
#define TUTTI_TESTS_TYPEGEN_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

struct typegen {
    MPI_Datatype type; /* committed; typegen_free() */
    MPI_Count size, lower, extent, true_lower, true_extent;
    char text[600]; /* the constructors, outermost first */
};

enum typegen_maker {
    TYPEGEN_DUP,
    TYPEGEN_CONTIGUOUS,
    TYPEGEN_VECTOR,
    TYPEGEN_HVECTOR,
    TYPEGEN_INDEXED,
    TYPEGEN_HINDEXED,
    TYPEGEN_INDEXED_BLOCK,
    TYPEGEN_HINDEXED_BLOCK,
    TYPEGEN_STRUCT,
    TYPEGEN_SUBARRAY,
    TYPEGEN_DARRAY,
    TYPEGEN_RESIZED,
    TYPEGEN_MAKERS
};

/* A type of at most `depth` constructors on each other, of at most `most` bytes of data and 16 times as much of extent.
 * `tame`: without negative displacements, overlaps and reduced extents. */
void typegen_make(struct typegen *out, uint64_t *state, int depth, MPI_Count most, int tame);
void typegen_free(struct typegen *of);

/* Where `count` elements lie: the lowest byte from the buffer's address, and how many bytes there are. */
size_t typegen_span(const struct typegen *of, MPI_Count count, MPI_Count *lowest);
/* 1 if `count` elements touch no byte twice, as the MPI itself unpacks. */
int typegen_disjoint(const struct typegen *of, int count);

/* The MPI's own packing of host memory, without the library; the bytes packed. `position` starts at 0. */
size_t typegen_pack(const struct typegen *of, int count, const void *from, void *packed, size_t room);
void typegen_unpack(const struct typegen *of, int count, void *to, const void *packed, size_t bytes);

#endif
