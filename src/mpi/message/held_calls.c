/* Receives of the MPI, if messages may wait in the list of those that probes have taken out. */
#include <limits.h>
#include <stdlib.h>

#include "mpi/message/held_own.h"
#include "mpi/message/matched.h"

static int (*just_MPI_Irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
static int (*just_MPI_Irecv_c)(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
static int (*just_MPI_Imrecv)(void *, int, MPI_Datatype, MPI_Message *, MPI_Request *);
static int (*just_MPI_Imrecv_c)(void *, MPI_Count, MPI_Datatype, MPI_Message *, MPI_Request *);

int tutti_held_receive(struct tutti_held *held, void *buf, MPI_Count count, MPI_Datatype type, MPI_Request *request)
{
    MPI_Message *message = tutti_held_message(held);
    return count > INT_MAX ? just_MPI_Imrecv_c(buf, count, type, message, request)
                           : just_MPI_Imrecv(buf, (int)count, type, message, request);
}

/* A receive has begun, or has failed to. */
static int begun(int code, const MPI_Request *request, struct tutti_held *held, struct tutti_landing *landing)
{
    if (code != MPI_SUCCESS) {
        if (held)
            tutti_held_unclaim(held);
        free(landing);
        return code;
    }
    if (held && !tutti_held_begun(held))
        held = NULL;
    return held || landing ? tutti_held_stamp(*request, held, landing) : MPI_SUCCESS;
}

#define RECEIVES(suffix, COUNT)                                                                                        \
    static int held_MPI_Irecv##suffix(void *buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm,   \
                                      MPI_Request *request)                                                            \
    {                                                                                                                  \
        if (likely(!tutti_receives_look()) || source == MPI_PROC_NULL)                                                 \
            return just_MPI_Irecv##suffix(buf, count, type, source, tag, comm, request);                               \
        struct tutti_landing *landing = tutti_landing_may() ? tutti_landing_new(buf, count, type, comm) : NULL;        \
        if (landing) {                                                                                                 \
            buf = landing->memory;                                                                                     \
            count = TUTTI_FAR_RTS_BYTES;                                                                               \
            type = tutti_handles.byte;                                                                                 \
        }                                                                                                              \
        tutti_held_enter();                                                                                            \
        struct tutti_held *held = tutti_held_claim(source, tag, comm);                                                 \
        int code = held ? tutti_held_receive(held, buf, count, type, request)                                          \
                        : just_MPI_Irecv##suffix(buf, count, type, source, tag, comm, request);                        \
        code = begun(code, request, held, landing);                                                                    \
        tutti_held_leave();                                                                                            \
        return code;                                                                                                   \
    }                                                                                                                  \
    static int held_MPI_Imrecv##suffix(void *buf, COUNT count, MPI_Datatype type, MPI_Message *message,                \
                                       MPI_Request *request)                                                           \
    {                                                                                                                  \
        if (likely(!tutti_receives_look()) || !message || *message == MPI_MESSAGE_NO_PROC)                             \
            return just_MPI_Imrecv##suffix(buf, count, type, message, request);                                        \
        struct tutti_held *held = tutti_held_claim_of(*message);                                                       \
        struct tutti_landing *landing =                                                                                \
            tutti_landing_may() ? tutti_landing_new(buf, count, type, tutti_matched_see(*message)) : NULL;             \
        if (landing) {                                                                                                 \
            buf = landing->memory;                                                                                     \
            count = TUTTI_FAR_RTS_BYTES;                                                                               \
            type = tutti_handles.byte;                                                                                 \
        }                                                                                                              \
        const int code = just_MPI_Imrecv##suffix(buf, count, type, message, request);                                  \
        return begun(code, request, held, landing);                                                                    \
    }
RECEIVES(, int)
RECEIVES(_c, MPI_Count)

void tutti_calls_held(void)
{
    HOLD(MPI_Irecv)
    HOLD(MPI_Irecv_c)
    tutti_held_imrecv = tutti_next.MPI_Imrecv;
    HOLD(MPI_Imrecv)
    HOLD(MPI_Imrecv_c)
    tutti_calls_marked();
    tutti_calls_listed();
    tutti_calls_persistent();
}
