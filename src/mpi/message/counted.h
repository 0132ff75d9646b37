/* Counts messages: sends at their start, receives at their end, persistent ones at each start. */
#ifndef TUTTI_MPI_COUNTED_H
#define TUTTI_MPI_COUNTED_H

#include "mpi/bounce/stage.h"
#include "mpi/message/rndv_recv.h"

/* The peer is MPI_PROC_NULL: the MPI gets the program's own buffer, which it does not touch. */
static inline int tutti_to_proc_null(const char *call, int peer)
{
    if (likely(peer != MPI_PROC_NULL))
        return 0;
    tutti_count(call, TUTTI_OUTCOME_PASSED, "MPI_PROC_NULL");
    return 1;
}

/* A send that the MPI makes from staged memory; nothing if the stage is the program's buffer. reason: that of
 * tutti_why_take(). */
static inline void tutti_count_send(const char *call, const struct tutti_stage *stage, enum tutti_reason reason)
{
    if (stage->staged)
        tutti_count_staged(call, reason, tutti_stage_how(stage), tutti_stage_bytes(stage));
}

/* A receive that has ended with this code. recv: NULL if it could not be an RTS. Nothing for a message from host
 * memory into host memory. Local; called before the stage is closed. */
void tutti_count_receive(const char *call, const struct tutti_recv_request *recv, const struct tutti_stage *stage,
                         MPI_Comm comm, const MPI_Status *status, int code);

#endif
