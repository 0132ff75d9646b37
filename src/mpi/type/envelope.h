/* A constructor's arguments as the MPI returns them, and the memory that a description is made of. */
#ifndef TUTTI_MPI_ENVELOPE_H
#define TUTTI_MPI_ENVELOPE_H

#include "mpi/type/describe.h"

/* Open MPI and MPICH number a combiner's form with INTEGER arguments one below it; the standard ABI has no such form.
 * Value index types follow the last of the older combiners. */
#ifdef TUTTI_FRONT_MPIABI
enum {
    TUTTI_HVECTOR_INTEGER = -1,
    TUTTI_HINDEXED_INTEGER = -2,
    TUTTI_STRUCT_INTEGER = -3,
    TUTTI_VALUE_INDEX = MPI_COMBINER_VALUE_INDEX
};
#else
enum {
    TUTTI_HVECTOR_INTEGER = MPI_COMBINER_HVECTOR - 1,
    TUTTI_HINDEXED_INTEGER = MPI_COMBINER_HINDEXED - 1,
    TUTTI_STRUCT_INTEGER = MPI_COMBINER_STRUCT - 1,
    TUTTI_VALUE_INDEX = MPI_COMBINER_HINDEXED_BLOCK + 1
};
#endif

/* Everything that a constructor was given. The counts, lengths, displacements and extents are numbered in the order of
 * the constructor's arguments, whether the MPI returns them as integers, addresses or large counts (`large`; of array
 * types `integer` then holds the other arguments alone). */
struct tutti_contents {
    int combiner, large;
    size_t integers, addresses, counts, types;
    const int *integer;
    const int64_t *address, *count;
    MPI_Datatype *type;
};
_Static_assert(sizeof(MPI_Aint) == sizeof(int64_t) && sizeof(MPI_Count) == sizeof(int64_t), "contents are not copied");

static inline int64_t tutti_contents_number(const struct tutti_contents *what, size_t i)
{
    if (what->large)
        return what->count[i];
    return i < what->integers ? what->integer[i] : what->address[i - what->integers];
}
/* The numbers from the i-th on, as the envelope has them; may be NULL. */
static inline const int *tutti_contents_short(const struct tutti_contents *what, size_t i)
{
    return !what->large && i < what->integers ? what->integer + i : NULL;
}
static inline const int64_t *tutti_contents_long(const struct tutti_contents *what, size_t i)
{
    if (what->large)
        return what->count + i;
    return i < what->integers ? NULL : what->address + (i - what->integers);
}

/* Statuses of Tutti, not reported. The second call wants the answer of the first. */
int tutti_envelope(MPI_Datatype type, struct tutti_contents *out);
int tutti_contents(struct tutti_reading *reading, MPI_Datatype type, struct tutti_contents *what);
/* 1 for types of the MPI itself (F90 and value index types too). */
int tutti_combiner_predefined(int combiner);

/* Memory for `n` things of `size` bytes that lives as long as the reading; NULL without memory. */
void *tutti_reading_take(struct tutti_reading *reading, size_t n, size_t size);

#endif
