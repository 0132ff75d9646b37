/* Blocking calls that go to the MPI while steps of Tutti's are open, which may need this thread: a wait inside the MPI
 * could deadlock. A send or a receive is made by its nonblocking form and awaited by the engine. A collective must be
 * made in the same form on all ranks, and a rank does not know which steps its peers have open. So the collective
 * starts when all ranks have arrived at it, since it completes without help then. It also waits until the nonblocking
 * calls that were started before it on the communicator were given to the team or to the MPI, since it must not
 * overtake them. */
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "mpi/call/calls.h"
#include "mpi/comm/comms.h"
#include "mpi/message/unexpected.h"
#include "mpi/move/mover.h"
#include "mpi/real/hook.h"
#include "mpi/real/quiet.h"
#include "mpi/real/rows.h"
#include "mpi/reduce/nonblocking.h"
#include "mpi/request/request.h"
#include "progress/engine.h"

static inline int progressing_nothing_open(void)
{
    return likely(!tutti_progress_busy()) || tutti_progress_polling();
}

/* Receives also look among the messages that probes have taken out. */
static inline int none_held(void)
{
    return progressing_nothing_open() && !tutti_receives_look();
}

/* Actions of other ranks may show the program that a receive which it has freed is complete: such receives are steps. A
 * step makes such calls too, with its locks held. */
static inline int progressing_swept(int code)
{
    if (tutti_progress_busy() && !tutti_progress_polling())
        tutti_requests_sweep();
    return code;
}

/* ---- collectives ---- */

/* 1 if this rank can see which ranks have arrived. Calls that move nothing are announced where all ranks have endpoints
 * alone (tutti_mover_pass()): elsewhere the numbers of the ranks say nothing of this call. */
static int progressing_seen(const struct tutti_team *team)
{
    return tutti_endpoint_everywhere && team && team->size > 1 && team->whole && team->state != TUTTI_TEAM_BROKEN;
}

static int call_all_arrived(void *with)
{
    struct tutti_comm *state = with;
    if (!tutti_comm_ready(state, 0) || atomic_load_explicit(&state->queued, memory_order_acquire) > 0)
        return 0;
    const struct tutti_team *team = state->team;
    if (!progressing_seen(team))
        return 1;
    for (int r = 0; r < team->size; r++) {
        if (!tutti_team_has_come(team, r))
            return 0;
    }
    return 1;
}

/* Returns 1 if the call now ends without any help; else steps of this rank may be needed before all have arrived. */
static int progressing_meet(MPI_Comm comm)
{
    struct tutti_comm *state = comm == tutti_handles.no_comm ? NULL : tutti_comm_find(comm);
    if (!state ||
        tutti_progress_wait(&(const struct tutti_wait){.done = call_all_arrived, .with = state, .watched = 1}))
        return 0;
    return progressing_seen(state->team) || !tutti_progress_busy();
}

/* ---- messages ---- */

struct ending {
    MPI_Comm comm; /* where an error is raised */
    MPI_Request *request;
    MPI_Status *status;
    int code;
};

static int progressing_ended(void *with)
{
    struct ending *e = with;
    int flag = 0;
    if (!tutti_progress_busy() && !tutti_waits_raise_elsewhere()) {
        e->code = tutti_next.MPI_Wait(e->request, e->status);
        return 1;
    }
    e->code = tutti_test_on(e->comm, e->request, &flag, e->status);
    return flag || e->code != MPI_SUCCESS;
}

static int progressing_finish(MPI_Comm comm, int code, MPI_Request *request, MPI_Status *status)
{
    struct ending e = {comm, request, status, code};
    if (code != MPI_SUCCESS)
        return code;
    tutti_progress_wait(&(const struct tutti_wait){.done = progressing_ended, .with = &e});
    return progressing_swept(e.code);
}

/* ---- the calls ---- */

/* How a call is made, by its word in the column `waits` of calls.def; other words leave the MPI's call as it is. */
#define HOW_SENDS     SENDS, 0
#define HOW_RECEIVES  RECEIVES, 0
#define HOW_TAKES     TAKES, 0
#define HOW_EXCHANGES EXCHANGES, 0
#define HOW_REPLACES  REPLACES, 0
#define HOW_MEETS     MEETS, 0
#define HOW_STANDS    STANDS, 0

/* Nonblocking forms. */
#define FORM_MPI_Send    MPI_Isend
#define FORM_MPI_Send_c  MPI_Isend_c
#define FORM_MPI_Ssend   MPI_Issend
#define FORM_MPI_Ssend_c MPI_Issend_c
#define FORM_MPI_Rsend   MPI_Irsend
#define FORM_MPI_Rsend_c MPI_Irsend_c
#define FORM_MPI_Recv    MPI_Irecv
#define FORM_MPI_Recv_c  MPI_Irecv_c
#define FORM_MPI_Mrecv   MPI_Imrecv
#define FORM_MPI_Mrecv_c MPI_Imrecv_c

/* With nothing open the MPI makes the call, without a frame of this function's. */
#define PLAINLY(name, parameters, arguments)                                                                           \
    static int progressing_##name parameters                                                                           \
    {                                                                                                                  \
        return likely(!tutti_progress_busy()) ? just_##name arguments : open_##name arguments;                         \
    }
#define PLAINLY_RECEIVED(name, parameters, arguments)                                                                  \
    static int progressing_##name parameters                                                                           \
    {                                                                                                                  \
        return likely(!tutti_progress_busy() && !tutti_receives_look()) ? just_##name arguments                        \
                                                                        : open_##name arguments;                       \
    }

#define AND_REQUEST(...) (__VA_ARGS__, &request)
#define SENDS(name, parameters, arguments)                                                                             \
    static int(*just_##name) parameters;                                                                               \
    static __attribute__((noinline)) int open_##name parameters                                                        \
    {                                                                                                                  \
        MPI_Request request;                                                                                           \
        if (progressing_nothing_open())                                                                                \
            return just_##name arguments;                                                                              \
        return progressing_finish(comm, tutti_next.FORM_##name AND_REQUEST arguments, &request, MPI_STATUS_IGNORE);    \
    }                                                                                                                  \
    PLAINLY(name, parameters, arguments)
#define MEETS(name, parameters, arguments)                                                                             \
    static int(*just_##name) parameters;                                                                               \
    static __attribute__((noinline)) int open_##name parameters                                                        \
    {                                                                                                                  \
        if (progressing_nothing_open())                                                                                \
            return just_##name arguments;                                                                              \
        TUTTI_HOOKED(!progressing_meet(comm));                                                                         \
        return progressing_swept(just_##name arguments);                                                               \
    }                                                                                                                  \
    PLAINLY(name, parameters, arguments)
/* This rank cannot see which ranks arrive. */
#define STANDS(name, parameters, arguments)                                                                            \
    static int(*just_##name) parameters;                                                                               \
    static int progressing_##name parameters                                                                           \
    {                                                                                                                  \
        TUTTI_HOOKED(!progressing_nothing_open());                                                                     \
        return progressing_swept(just_##name arguments);                                                               \
    }
#define RECEIVES(name, parameters, arguments)                                                                          \
    static int(*just_##name) parameters;                                                                               \
    static __attribute__((noinline)) int open_##name parameters                                                        \
    {                                                                                                                  \
        MPI_Request request;                                                                                           \
        if (none_held() || source == MPI_PROC_NULL)                                                                    \
            return just_##name arguments;                                                                              \
        return progressing_finish(comm, tutti_next.FORM_##name(buf, count, datatype, source, tag, comm, &request),     \
                                  &request, status);                                                                   \
    }                                                                                                                  \
    PLAINLY_RECEIVED(name, parameters, arguments)
#define TAKES(name, parameters, arguments)                                                                             \
    static int(*just_##name) parameters;                                                                               \
    static __attribute__((noinline)) int open_##name parameters                                                        \
    {                                                                                                                  \
        MPI_Request request;                                                                                           \
        if (none_held())                                                                                               \
            return just_##name arguments;                                                                              \
        const MPI_Comm comm = tutti_handles.world; /* nothing else is known of a matched message */                    \
        return progressing_finish(comm, tutti_next.FORM_##name(buf, count, datatype, message, &request), &request,     \
                                  status);                                                                             \
    }                                                                                                                  \
    PLAINLY_RECEIVED(name, parameters, arguments)
#define EXCHANGES_BY(suffix, name, parameters, arguments)                                                              \
    static int(*just_##name) parameters;                                                                               \
    static __attribute__((noinline)) int open_##name parameters                                                        \
    {                                                                                                                  \
        MPI_Request receive, send;                                                                                     \
        if (none_held())                                                                                               \
            return just_##name arguments;                                                                              \
        if (source == MPI_PROC_NULL) { /* MPI_Irecv may have no status of it: quirks.h */                              \
            int alone = progressing_MPI_Send##suffix(sendbuf, sendcount, sendtype, dest, sendtag, comm);               \
            int empty = just_MPI_Recv##suffix(recvbuf, recvcount, recvtype, source, recvtag, comm, status);            \
            return alone != MPI_SUCCESS ? alone : empty;                                                               \
        }                                                                                                              \
        int code = tutti_next.MPI_Irecv##suffix(recvbuf, recvcount, recvtype, source, recvtag, comm, &receive);        \
        if (code != MPI_SUCCESS)                                                                                       \
            return code;                                                                                               \
        code = tutti_next.MPI_Isend##suffix(sendbuf, sendcount, sendtype, dest, sendtag, comm, &send);                 \
        if (code != MPI_SUCCESS)                                                                                       \
            tutti_next.MPI_Cancel(&receive);                                                                           \
        int sent = progressing_finish(comm, code, &send, MPI_STATUS_IGNORE);                                           \
        int received = progressing_finish(comm, MPI_SUCCESS, &receive, status);                                        \
        return sent != MPI_SUCCESS ? sent : received;                                                                  \
    }                                                                                                                  \
    PLAINLY_RECEIVED(name, parameters, arguments)
#define EXCHANGES_AS(suffix, name, parameters, arguments) EXCHANGES_BY(suffix, name, parameters, arguments)
#define EXCHANGES(name, parameters, arguments)            EXCHANGES_AS(SUFFIX_##name, name, parameters, arguments)
#define SUFFIX_MPI_Sendrecv
#define SUFFIX_MPI_Sendrecv_c _c
/* For an MPI that does not pack from MPI_BOTTOM: the same elements, described from another address. */
static int packed_from(void *buf, int count, MPI_Datatype type, void *packed, int bytes, int *position, MPI_Comm comm)
{
    if (buf || !tutti_quirks.pack_lacks_bottom)
        return tutti_next.MPI_Pack(buf, count, type, packed, bytes, position, comm);
    const MPI_Aint back = -(MPI_Aint)(intptr_t)packed;
    MPI_Datatype shifted;
    int code = tutti_next.MPI_Type_create_struct(1, &count, &back, &type, &shifted);
    if (code != MPI_SUCCESS)
        return code;
    code = tutti_next.MPI_Type_commit(&shifted);
    if (code == MPI_SUCCESS)
        code = tutti_next.MPI_Pack(packed, 1, shifted, packed, bytes, position, comm);
    tutti_next.MPI_Type_free(&shifted);
    return code;
}

/* What is sent is packed first. Where that cannot be, the call is the MPI's. */
#define REPLACES(name, parameters, arguments)                                                                          \
    static int(*just_##name) parameters;                                                                               \
    static int progressing_##name parameters                                                                           \
    {                                                                                                                  \
        MPI_Request receive, send;                                                                                     \
        int bytes = 0, position = 0;                                                                                   \
        if (!none_held() && source == MPI_PROC_NULL && count <= INT_MAX) {                                             \
            int alone = progressing_MPI_Send(buf, (int)count, datatype, dest, sendtag, comm);                          \
            int empty = just_MPI_Recv(buf, (int)count, datatype, source, recvtag, comm, status);                       \
            return alone != MPI_SUCCESS ? alone : empty;                                                               \
        }                                                                                                              \
        if (none_held() || count < 0 || count > INT_MAX || !tutti_type_is_fine(datatype) ||                            \
            tutti_lacks_buffer(buf, count, datatype) ||                                                                \
            tutti_next.MPI_Pack_size((int)count, datatype, comm, &bytes) != MPI_SUCCESS || bytes < 0)                  \
            return just_##name arguments;                                                                              \
        void *packed = malloc((size_t)bytes + 1);                                                                      \
        if (!packed || packed_from(buf, (int)count, datatype, packed, bytes, &position, comm) != MPI_SUCCESS) {        \
            free(packed);                                                                                              \
            return just_##name arguments;                                                                              \
        }                                                                                                              \
        int code = tutti_next.MPI_Irecv(buf, (int)count, datatype, source, recvtag, comm, &receive);                   \
        if (code == MPI_SUCCESS) {                                                                                     \
            int sent = tutti_next.MPI_Isend(packed, position, tutti_handles.packed, dest, sendtag, comm, &send);       \
            if (sent != MPI_SUCCESS)                                                                                   \
                tutti_next.MPI_Cancel(&receive);                                                                       \
            sent = progressing_finish(comm, sent, &send, MPI_STATUS_IGNORE);                                           \
            code = progressing_finish(comm, MPI_SUCCESS, &receive, status);                                            \
            code = sent != MPI_SUCCESS ? sent : code;                                                                  \
        }                                                                                                              \
        free(packed);                                                                                                  \
        return code;                                                                                                   \
    }

#define MADE(how, form, name, parameters, arguments) how(name, parameters, arguments)
#define PASS                                         tutti_calls_progressing
#include "mpi/call/progressing_pass.inc"
