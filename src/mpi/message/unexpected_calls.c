/* Receives of the MPI, if messages may wait in the list of those that probes have taken out. */
#include <limits.h>

#include "mpi/message/matched.h"
#include "mpi/message/unexpected_own.h"

static int (*just_MPI_Irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
static int (*just_MPI_Irecv_c)(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
static int (*just_MPI_Imrecv)(void *, int, MPI_Datatype, MPI_Message *, MPI_Request *);
static int (*just_MPI_Imrecv_c)(void *, MPI_Count, MPI_Datatype, MPI_Message *, MPI_Request *);

int tutti_unexpected_receive(struct tutti_unexpected *unexpected, void *buf, MPI_Count count, MPI_Datatype type,
                             MPI_Request *request)
{
    MPI_Message *message = tutti_unexpected_message(unexpected);
    return count > INT_MAX ? just_MPI_Imrecv_c(buf, count, type, message, request)
                           : just_MPI_Imrecv(buf, (int)count, type, message, request);
}

int tutti_unexpected_post(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                          MPI_Request *request)
{
    return count > INT_MAX ? just_MPI_Irecv_c(buf, count, type, source, tag, comm, request)
                           : just_MPI_Irecv(buf, (int)count, type, source, tag, comm, request);
}

/* A receive has begun, or has failed to. */
static int unexpected_begun(int code, const MPI_Request *request, struct tutti_unexpected *unexpected,
                            struct tutti_short_recv *short_recv)
{
    if (code != MPI_SUCCESS) {
        if (unexpected)
            tutti_unexpected_unclaim(unexpected);
        tutti_short_recv_free(short_recv);
        return code;
    }
    if (unexpected && !tutti_unexpected_begun(unexpected))
        unexpected = NULL;
    return unexpected || short_recv ? tutti_unexpected_stamp(*request, unexpected, short_recv) : MPI_SUCCESS;
}

#define RECEIVES(suffix, COUNT)                                                                                        \
    static int stamped_MPI_Irecv##suffix(void *buf, COUNT count, MPI_Datatype type, int source, int tag,               \
                                         MPI_Comm comm, MPI_Request *request)                                          \
    {                                                                                                                  \
        if (likely(!tutti_receives_look()) || source == MPI_PROC_NULL)                                                 \
            return just_MPI_Irecv##suffix(buf, count, type, source, tag, comm, request);                               \
        struct tutti_short_recv *short_recv =                                                                          \
            tutti_short_recv_may() ? tutti_short_recv_new(buf, count, type, comm) : NULL;                              \
        if (short_recv) {                                                                                              \
            buf = short_recv->memory;                                                                                  \
            count = TUTTI_FAR_RTS_BYTES;                                                                               \
            type = tutti_handles.byte;                                                                                 \
        }                                                                                                              \
        tutti_unexpected_enter();                                                                                      \
        struct tutti_unexpected *unexpected = tutti_unexpected_claim(source, tag, comm);                               \
        int code = unexpected ? tutti_unexpected_receive(unexpected, buf, count, type, request)                        \
                              : just_MPI_Irecv##suffix(buf, count, type, source, tag, comm, request);                  \
        code = unexpected_begun(code, request, unexpected, short_recv);                                                \
        tutti_unexpected_leave();                                                                                      \
        return code;                                                                                                   \
    }                                                                                                                  \
    static int stamped_MPI_Imrecv##suffix(void *buf, COUNT count, MPI_Datatype type, MPI_Message *message,             \
                                          MPI_Request *request)                                                        \
    {                                                                                                                  \
        if (likely(!tutti_receives_look()) || !message || *message == MPI_MESSAGE_NO_PROC)                             \
            return just_MPI_Imrecv##suffix(buf, count, type, message, request);                                        \
        struct tutti_unexpected *unexpected = tutti_unexpected_claim_of(*message);                                     \
        struct tutti_short_recv *short_recv =                                                                          \
            tutti_short_recv_may() ? tutti_short_recv_new(buf, count, type, tutti_matched_see(*message)) : NULL;       \
        if (short_recv) {                                                                                              \
            buf = short_recv->memory;                                                                                  \
            count = TUTTI_FAR_RTS_BYTES;                                                                               \
            type = tutti_handles.byte;                                                                                 \
        }                                                                                                              \
        const int code = just_MPI_Imrecv##suffix(buf, count, type, message, request);                                  \
        return unexpected_begun(code, request, unexpected, short_recv);                                                \
    }
RECEIVES(, int)
RECEIVES(_c, MPI_Count)

void tutti_calls_unexpected(void)
{
    HOLD(MPI_Irecv)
    HOLD(MPI_Irecv_c)
    tutti_unexpected_imrecv = tutti_next.MPI_Imrecv;
    HOLD(MPI_Imrecv)
    HOLD(MPI_Imrecv_c)
    tutti_calls_stamped();
    tutti_calls_listed();
    tutti_calls_persistent();
}
