/* A send by rendezvous, under a request of Tutti's own. */
#include "mpi/bounce/alive.h"
#include "mpi/message/requests.h"
#include "mpi/message/rndv_send.h"
#include "mpi/request/request.h"

struct by_rndv {
    struct tutti_send_request *sent;
};

static struct by_rndv *by_rndv_of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct by_rndv, entry);
}

int tutti_send_cancel(struct tutti_request *entry, MPI_Request *request)
{
    (void)entry;
    (void)request;
    return MPI_SUCCESS;
}

static int send_request_free(struct tutti_request *entry, MPI_Request *request)
{
    struct tutti_send_request *sent = by_rndv_of(entry)->sent;
    *request = tutti_handles.no_request;
    sent->given_up = 1;
    tutti_send_release(sent);
    return MPI_SUCCESS;
}

static int by_rndv_deliver(struct tutti_request *entry, MPI_Status *status)
{
    (void)status;
    return tutti_send_deliver(by_rndv_of(entry)->sent);
}

static void by_rndv_claim(struct tutti_request *const entries[], int n)
{
    tutti_lock_take_alone(&tutti_sends_lock, tutti_door_alone());
    for (int i = 0; i < n; i++)
        entries[i]->claimed = tutti_send_claim(by_rndv_of(entries[i])->sent);
    tutti_lock_give(&tutti_sends_lock);
}

static void by_rndv_unclaim(struct tutti_request *entry)
{
    tutti_send_unclaim(by_rndv_of(entry)->sent);
}

static int by_rndv_claimed_done(const struct tutti_request *entry)
{
    return tutti_send_has_left(by_rndv_of(entry)->sent);
}

static MPI_Comm *send_request_comm_at(struct tutti_request *entry)
{
    return &by_rndv_of(entry)->sent->message.comm;
}

static void by_rndv_close(struct tutti_request *entry)
{
    tutti_send_release(by_rndv_of(entry)->sent);
}

static const struct tutti_request_kind rndv = {.name = "send by rendezvous",
                                               .fills = 1,
                                               .stays = 1,
                                               .comm = send_request_comm_at,
                                               .cancel = tutti_send_cancel,
                                               .free = send_request_free,
                                               .claim = by_rndv_claim,
                                               .unclaim = by_rndv_unclaim,
                                               .claimed_done = by_rndv_claimed_done,
                                               .deliver = by_rndv_deliver,
                                               .close = by_rndv_close};

int tutti_rndv_put(MPI_Request request, MPI_Comm comm, struct tutti_send_request *sent,
                   const struct tutti_memory *memory)
{
    struct tutti_request *entry = tutti_request_new(&rndv, request, comm);
    if (!entry)
        return tutti_request_lost(comm);
    by_rndv_of(entry)->sent = sent;
    if (memory && sent->message.mode != TUTTI_SEND_BUFFERED)
        entry->alive = tutti_alive_hold(TUTTI_ALIVE_SENT, memory);
    return tutti_request_put(entry);
}
