/* A buffer of a call with a block for each of several ranks, as the program describes it. */
#ifndef TUTTI_MPI_BUFFER_H
#define TUTTI_MPI_BUFFER_H

#include "mpi/real/door.h"

struct tutti_buffer {
    const void *buffer;
    MPI_Count count;    /* of each block, if there are no counts */
    const void *counts; /* one for each block, or NULL: `count` */
    const void *displs; /* likewise, in extents of the type, or in bytes if there are types; NULL: one after another */
    MPI_Datatype type;
    const MPI_Datatype *types;      /* one for each block, or NULL */
    int large_counts, large_displs; /* counts are MPI_Count; displs are MPI_Aint. Otherwise int */
};

static inline struct tutti_buffer tutti_buffer_of(const void *buffer, MPI_Count count, MPI_Datatype type)
{
    return (struct tutti_buffer){.buffer = buffer, .count = count, .type = type};
}
/* Of a call whose name ends in v. */
static inline struct tutti_buffer tutti_buffer_v(const void *buffer, const void *counts, const void *displs,
                                                 MPI_Datatype type, int large)
{
    return (struct tutti_buffer){.buffer = buffer,
                                 .counts = counts,
                                 .displs = displs,
                                 .type = type,
                                 .large_counts = large,
                                 .large_displs = large};
}
/* In w. */
static inline struct tutti_buffer tutti_buffer_w(const void *buffer, const void *counts, const void *displs,
                                                 const MPI_Datatype *types, int large_counts, int large_displs)
{
    return (struct tutti_buffer){.buffer = buffer,
                                 .counts = counts,
                                 .displs = displs,
                                 .type = tutti_handles.no_type,
                                 .types = types,
                                 .large_counts = large_counts,
                                 .large_displs = large_displs};
}

static inline MPI_Count tutti_buffer_count(const struct tutti_buffer *buffer, int i)
{
    if (!buffer->counts)
        return buffer->count;
    return buffer->large_counts ? ((const MPI_Count *)buffer->counts)[i] : ((const int *)buffer->counts)[i];
}

static inline MPI_Datatype tutti_buffer_type(const struct tutti_buffer *buffer, int i)
{
    return buffer->types ? buffer->types[i] : buffer->type;
}

/* Where block i begins. extent: of its type; not looked at where displacements are bytes. */
static inline char *tutti_buffer_block(const struct tutti_buffer *buffer, int i, MPI_Count extent)
{
    const MPI_Count displ = !buffer->displs        ? (MPI_Count)i * buffer->count
                            : buffer->large_displs ? ((const MPI_Aint *)buffer->displs)[i]
                                                   : ((const int *)buffer->displs)[i];
    return (char *)(uintptr_t)buffer->buffer + displ * (buffer->types ? 1 : extent);
}

/* The program's memory; NULL: none is named. */
static inline const void *tutti_buffer_own(const struct tutti_buffer *buffer)
{
    return buffer->buffer == MPI_IN_PLACE ? NULL : buffer->buffer;
}

#endif
