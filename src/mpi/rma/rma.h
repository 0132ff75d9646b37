/* One operation on a window: its kind, and its way. Local; MPI codes. */
#ifndef TUTTI_MPI_RMA_RMA_H
#define TUTTI_MPI_RMA_RMA_H

#include "mpi/rma/slots.h"
#include "mpi/rma/windows.h"

struct tutti_rma_buffer {
    const void *memory;
    MPI_Count count; /* 0: the operation does not use it */
    MPI_Datatype type;
};

enum tutti_rma_kind {
    TUTTI_RMA_PUT,
    TUTTI_RMA_GET,
    TUTTI_RMA_ACCUMULATE,
    TUTTI_RMA_GET_ACCUMULATE,
    TUTTI_RMA_FETCH_AND_OP,
    TUTTI_RMA_COMPARE_AND_SWAP
};

struct tutti_rma {
    const char *call;
    enum tutti_rma_kind kind;
    MPI_Win win;
    int target;
    MPI_Aint disp;
    struct {
        MPI_Count count;
        MPI_Datatype type;
    } to;      /* the elements at the target */
    MPI_Op op; /* of accumulating operations */
    int typed; /* the MPI must know the basic type of the elements: types are not to be replaced */
    struct tutti_rma_buffer buffer[TUTTI_RMA_BUFFERS];
    struct tutti_unfinished *staged;
    struct tutti_request *entry; /* NULL: the window alone hands on the results */
    int code;
};

/* 1 if no operation of this process can need Tutti. */
static inline int tutti_rma_idle(void)
{
    return (likely(!tutti_device_active(tutti_door.device)) && likely(!tutti_windows_have_foreign()) &&
            likely(atomic_load_explicit(&tutti_windows_far, memory_order_relaxed) == 0)) ||
           tutti_inside || tutti_door.aware;
}

/* PASS: the MPI's call as the program gave it; STAGED: with the buffers of rma->staged; both to rma->disp. DONE:
 * without the MPI, rma->code is the call's; FAILED: rma->code is to be raised. request: NULL, or the program's. */
enum tutti_rma_way { TUTTI_RMA_PASS, TUTTI_RMA_STAGED, TUTTI_RMA_DONE, TUTTI_RMA_FAILED };
enum tutti_rma_way tutti_rma_open(struct tutti_rma *rma, MPI_Request *request);
/* After the MPI's call of a STAGED one. request: NULL, or the program's. The code of the program's call. */
int tutti_rma_close(struct tutti_rma *rma, int code, const MPI_Request *request);

#endif
