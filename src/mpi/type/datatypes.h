/* Plans of datatypes. A type is read when it first describes memory that may be a device's, not at its commit: that
 * takes about as long as the MPI took to make it, and many types are parts of others, describe files or host memory
 * alone, or are never used. A derived type's is kept as an attribute of the type: so it goes when the MPI itself lets
 * the type go, and a handle that is used again finds nothing. Those of predefined types are kept by handle. */
#ifndef TUTTI_MPI_DATATYPES_H
#define TUTTI_MPI_DATATYPES_H

#include <stdatomic.h>

#include "dtype/plan.h"
#include "mpi/real/door.h"

struct tutti_layout {
    const struct tutti_plan *plan; /* NULL: no plan, for this reason: */
    const char *why;
    _Atomic(const struct tutti_plan *) bytes;        /* tutti_layout_bytes(); NULL: not made yet */
    MPI_Count size, extent, true_lower, true_extent; /* as the MPI says, or the plan where it is narrower */
    unsigned basic;                                  /* as in struct tutti_reading */
    int derived;                                     /* not predefined */
    int in_order;                                    /* an element is one run of bytes as it is in memory */
    int solid;                                       /* and the next one begins where it ends */
    _Atomic(MPI_Datatype) packed;                    /* tutti_layout_packed(); Tutti's own; no_type: not made yet */
    atomic_int committed;                            /* 0: not known */
    struct tutti_layout *next, **at;
    MPI_Datatype handle; /* of a predefined type */
};

/* 1 if the type is predefined and its elements are bytes without gaps, from their address on. */
static inline int tutti_layout_is_bytes(const struct tutti_layout *layout)
{
    return !layout->derived && layout->solid && layout->true_lower == 0 && layout->size == layout->extent;
}

/* Local, any thread. The layout of a valid type, made at its first use; NULL without memory. Valid as long as the type:
 * a caller that needs the plan for longer holds a reference. */
struct tutti_layout *tutti_layout_of(MPI_Datatype type);
/* 1 if the MPI takes the type for messages: it has been committed. `layout` is that of `type`. */
int tutti_layout_committed(struct tutti_layout *layout, MPI_Datatype type);
/* A committed type of as many bytes as an element of the layout, which is that of `type`, without gaps: what stands for
 * the type in a message of packed elements, so that counts stay as they are. 0, or -1 if it cannot be made. */
int tutti_layout_packed(struct tutti_layout *layout, MPI_Datatype type, MPI_Datatype *out);

/* Local, any thread. Of a layout without a plan, which is that of `type`: a plan of the bytes that an element has, in
 * the order of their addresses, the lowest at 0, with the type's extent. It copies elements to and from an image of
 * them; the order of its packed form is not the type's. Made at the first use, valid as long as the layout. NULL
 * without memory. */
const struct tutti_plan *tutti_layout_bytes(struct tutti_layout *layout, MPI_Datatype type);

int tutti_layouts_open(void);
/* The device is still there. */
void tutti_layouts_close(void);
/* After fork. */
void tutti_layouts_forget(void);

#endif
