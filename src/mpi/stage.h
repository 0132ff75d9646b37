/* Staging: a call's device buffer is replaced by pinned host memory, of which the typed bytes are copied in before the
 * real call or out after it. Bytes in the gaps of a derived type are never written in device memory. */
#ifndef TUTTI_MPI_STAGE_H
#define TUTTI_MPI_STAGE_H

#include "mpi/door.h"

enum { TUTTI_SPAN_IN = 1, TUTTI_SPAN_OUT = 2 };

struct tutti_span {
    void *host;              /* what the MPI is given in place of the buffer */
    int staged;              /* 0: the buffer itself */
    int prefix;              /* a message of n bytes fills the first n bytes */
    int solid;               /* no gaps */
    int way;                 /* TUTTI_SPAN_IN | TUTTI_SPAN_OUT */
    char *user;              /* lowest byte in device memory */
    char *memory;            /* lowest byte in host memory */
    size_t room;             /* of `memory`, as the pool counts */
    size_t bytes;            /* of both */
    MPI_Count count;         /* elements */
    MPI_Count extent, first; /* distance of elements; of the first from `user` */
    size_t true_extent;      /* of one element */
    MPI_Datatype type;
};

/* 1 where `buffer` must be staged; also sees absolute addresses (MPI_BOTTOM with a derived type). */
int tutti_bottom_on_device(MPI_Datatype type);
static inline int tutti_needs_span(const void *buffer, MPI_Datatype type)
{
    if (likely(!tutti_door.device || !tutti_door.device->active()))
        return 0;
    return tutti_must_stage(buffer) || (unlikely(buffer == MPI_BOTTOM) && tutti_bottom_on_device(type));
}

/* Prepares a buffer of `count` elements: leaves host buffers, MPI_IN_PLACE, empty ones and what the MPI will refuse as
 * they are; otherwise takes host memory and, for TUTTI_SPAN_IN, copies the contents. Returns a status of Tutti. */
int tutti_span_open(struct tutti_span *span, const void *buffer, MPI_Count count, MPI_Datatype type, int way);
/* After the real call: copies what came to device memory; `bytes` of the message, or -1 for all. */
int tutti_span_out(struct tutti_span *span, MPI_Count bytes);
/* From now on the first `count` elements alone are copied out. */
void tutti_span_shorten(struct tutti_span *span, MPI_Count count);
/* Gives the host memory back. */
void tutti_span_close(struct tutti_span *span);

/* Pinned host memory from a small pool; *room is what the pool counts and wants back. NULL without memory. */
void *tutti_pinned_take(size_t bytes, size_t *room);
void tutti_pinned_give(void *memory, size_t room);
void tutti_pinned_close(void);

/* Bytes of a received message, or -1 where the MPI does not say. */
MPI_Count tutti_received(const MPI_Status *status);

#endif
