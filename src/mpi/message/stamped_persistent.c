/* Persistent receives. At the start, another receive replaces one until that is complete, in two cases: it gets a
 * message that a probe has taken out; or the MPI ends a persistent request that is looked at
 * (tutti_quirks.get_status_ends_persistent), so that no wait could look for an RTS. */
#include <stdatomic.h>
#include <stdlib.h>

#include "core/log.h"
#include "mpi/message/endpoints.h"
#include "mpi/message/made.h"
#include "mpi/message/unexpected_own.h"
#include "mpi/real/errors.h"
#include "mpi/real/lent.h"
#include "mpi/real/quirks.h"
#include "mpi/real/self.h"
#include "mpi/request/unwatched.h"

static int (*just_MPI_Recv_init)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
static int (*just_MPI_Recv_init_c)(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
static int (*just_MPI_Start)(MPI_Request *);
static int (*just_MPI_Startall)(int, MPI_Request[]);

/* 0: out of memory. */
static int made_stamp(const struct tutti_made_receive *made)
{
    struct tutti_stamped *stamped = calloc(1, sizeof *stamped);
    if (!stamped)
        return 0;
    *stamped = (struct tutti_stamped){.request = made->request,
                                      .persistent = 1,
                                      .instead = tutti_handles.no_request,
                                      .buffer = made->buffer,
                                      .count = made->count,
                                      .type = made->type,
                                      .source = made->source,
                                      .tag = made->tag,
                                      .comm = made->comm};
    tutti_stamped_add(stamped);
    return 1;
}

/* A persistent receive was made. If it cannot be recorded it is freed. */
static int persistent_note(const struct tutti_made_receive *made, MPI_Request *request)
{
    const int held = tutti_type_hold(made->type);
    if (likely(held) && ((tutti_unwatched_on && tutti_made_put(made)) || made_stamp(made)))
        return MPI_SUCCESS;
    if (held)
        tutti_type_release(made->type);
    tutti_next.MPI_Request_free(request);
    return tutti_fail_comm(made->comm, MPI_ERR_NO_MEM);
}

static void made_stamp_later(const struct tutti_made_receive *made)
{
    if (!made_stamp(made))
        tutti_error("out of memory: a persistent receive may miss messages that a probe has found");
}

void tutti_persistent_stamp(void)
{
    tutti_made_end(made_stamp_later);
}

#define INIT(suffix, COUNT)                                                                                            \
    static int stamped_MPI_Recv_init##suffix(void *buf, COUNT count, MPI_Datatype type, int source, int tag,           \
                                             MPI_Comm comm, MPI_Request *request)                                      \
    {                                                                                                                  \
        const int code = just_MPI_Recv_init##suffix(buf, count, type, source, tag, comm, request);                     \
        if (code != MPI_SUCCESS || likely(!tutti_endpoint && !tutti_far_on) || comm == tutti_self_quiet() ||           \
            source == MPI_PROC_NULL)                                                                                   \
            return code;                                                                                               \
        return persistent_note(&(const struct tutti_made_receive){1, *request, buf, count, type, source, tag, comm},   \
                               request);                                                                               \
    }
INIT(, int)
INIT(_c, MPI_Count)

/* 1 if the starts of persistent receives may be those of others. */
static int persistent_may_be_replaced(void)
{
    return unlikely(tutti_unexpected_on()) ||
           (tutti_quirks.get_status_ends_persistent &&
            atomic_load_explicit(&tutti_stamped_persistent, memory_order_relaxed) != 0);
}

int tutti_persistent_is_replaced(MPI_Request request)
{
    const struct tutti_stamped *stamped = tutti_stamped_none() ? NULL : tutti_stamped_see(request);
    return stamped && stamped->persistent;
}

static int stamped_MPI_Start(MPI_Request *request)
{
    struct tutti_stamped *stamped =
        likely(!persistent_may_be_replaced()) || !request ? NULL : tutti_stamped_find(*request);
    if (likely(!stamped || !stamped->persistent))
        return just_MPI_Start(request);
    tutti_unexpected_enter();
    struct tutti_unexpected *unexpected = tutti_unexpected_claim(stamped->source, stamped->tag, stamped->comm);
    const int replaced = /* not where its communicator was freed: the handle may be another one's */
        unexpected || (tutti_quirks.get_status_ends_persistent && stamped->comm != tutti_handles.no_comm);
    int code = unexpected ? tutti_unexpected_receive(unexpected, stamped->buffer, stamped->count, stamped->type,
                                                     &stamped->instead)
               : replaced ? tutti_unexpected_post(stamped->buffer, stamped->count, stamped->type, stamped->source,
                                                  stamped->tag, stamped->comm, &stamped->instead)
                          : just_MPI_Start(request);
    if (replaced && code == MPI_SUCCESS) {
        stamped->unexpected = unexpected && tutti_unexpected_begun(unexpected) ? unexpected : NULL;
        atomic_fetch_add(&tutti_stamped_open, 1);
    } else if (unexpected) {
        tutti_unexpected_unclaim(unexpected);
    }
    tutti_unexpected_leave();
    return code;
}

static int stamped_MPI_Startall(int n, MPI_Request requests[])
{
    int code = MPI_SUCCESS;
    if (likely(!persistent_may_be_replaced()) || !requests)
        return just_MPI_Startall(n, requests);
    for (int i = 0; i < n && code == MPI_SUCCESS; i++)
        code = stamped_MPI_Start(&requests[i]);
    return code;
}

void tutti_calls_persistent(void)
{
    HOLD(MPI_Recv_init)
    HOLD(MPI_Recv_init_c)
    HOLD(MPI_Start)
    HOLD(MPI_Startall)
}
