/* A datatype as its constructors describe it, without mpi.h: what src/mpi/ reads from the MPI's envelope and contents
 * and a plan is built from. Plain host memory. Displacements and extents are bytes; those that the constructor counts
 * in extents of the inner type are already multiplied. Children are shared, not owned: a node's children live at least
 * as long as the call that it is given to. */
#ifndef TUTTI_DTYPE_DESCRIBE_H
#define TUTTI_DTYPE_DESCRIBE_H

#include <stddef.h>
#include <stdint.h>

/* What all constructors come down to. Each of MPI's has one row in the comment beside it. */
enum tutti_form {
    TUTTI_FORM_BYTES,      /* a predefined type without holes: `bytes` long; pair types with holes are STRUCT */
    TUTTI_FORM_CONTIGUOUS, /* contiguous: `count` children, one extent apart */
    TUTTI_FORM_VECTOR,     /* vector, hvector: `count` blocks of `length` children, `stride` bytes apart */
    TUTTI_FORM_INDEXED,    /* indexed, hindexed: `count` blocks of lengths[i] children at offsets[i] bytes */
    TUTTI_FORM_BLOCKS,     /* indexed_block, hindexed_block: `count` blocks of `length` children at offsets[i] bytes */
    TUTTI_FORM_STRUCT,     /* struct: lengths[i] children of children[i] at offsets[i] bytes */
    TUTTI_FORM_SUBARRAY,   /* subarray: `dims` dimensions, slowest first; sizes, subsizes, starts in children */
    TUTTI_FORM_DARRAY,     /* darray: `dims` dimensions, slowest first (column-major is turned around by the reader) */
    TUTTI_FORM_RESIZED     /* resized, dup: lower bound and extent of the child are replaced (dup: by themselves) */
};

enum tutti_distribution { TUTTI_DISTRIBUTE_NONE, TUTTI_DISTRIBUTE_BLOCK, TUTTI_DISTRIBUTE_CYCLIC };
enum { TUTTI_ARRAY_DIMS = 64 }; /* of subarray and darray; more: TUTTI_ERR_UNAVAILABLE */

struct tutti_description {
    enum tutti_form form;
    uint64_t bytes;    /* BYTES */
    uint32_t children; /* entries of child[] : 0 for BYTES, `count` for STRUCT, 1 otherwise */
    const struct tutti_description *const *child;
    uint64_t count, length;
    int64_t stride;
    const uint64_t *lengths; /* [count] */
    const int64_t *offsets;  /* [count] */
    /* INDEXED, BLOCKS and STRUCT: `int`s that stand for one of these or both, where those are NULL; offsets count
     * `unit` bytes then, at most 2^31 and at least -2^31 */
    const int *short_lengths, *short_offsets;
    int64_t unit;
    uint32_t dims;
    const uint64_t *sizes, *subsizes, *starts; /* SUBARRAY [dims]; DARRAY: sizes alone */
    const uint32_t *distribution;              /* DARRAY [dims], enum tutti_distribution */
    const uint64_t *dargs;                     /* DARRAY [dims]: block sizes; UINT64_MAX: the default of MPI */
    const uint64_t *grid, *coords;             /* DARRAY [dims]: processes in each dimension, and this one's place */
    int64_t lower;                             /* RESIZED */
    int64_t extent;
};

#endif
