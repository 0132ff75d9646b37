/* A receive that may get an RTS in place of the message, into the program's memory or into a stage. */
#include "core/trace.h"
#include "mpi/message/counted.h"
#include "mpi/message/recv_request_own.h"
#include "mpi/message/requests.h"
#include "mpi/message/unexpected.h"
#include "mpi/real/quiet.h"
#include "mpi/request/batch.h"
#include "mpi/request/request.h"

/* Counts the receive among the open steps. Peers send no rendezvous to a rank that has passed no memory of a GPU. */
static void receive_begin(struct tutti_receive *receive)
{
    if (receive->open || !tutti_endpoint || !tutti_endpoint_listens(tutti_endpoint))
        return;
    tutti_receives_open();
    receive->open = 1;
}

static void receive_end(struct tutti_receive *receive)
{
    if (receive->open)
        tutti_receives_close();
    receive->open = 0;
}

static int receive_prepare(struct tutti_request *entry)
{
    struct tutti_receive *receive = tutti_receive_of(entry);
    receive->counted = 0;
    entry->rests = TUTTI_RESTS_NOT;
    int code = tutti_staged_in(&receive->stage, entry->comm);
    if (code == MPI_SUCCESS) {
        tutti_recv_again(receive->recv);
        tutti_recv_keep(receive->recv, &receive->stage);
        receive_begin(receive);
    }
    return code;
}

/* Peers send RTSs only to ranks that take them. */
static int receive_listens(const struct tutti_request *entry)
{
    (void)entry;
    return (tutti_endpoint && tutti_endpoint_listens(tutti_endpoint)) || tutti_far_has_arrived();
}

/* Until one may arrive, the MPI alone decides when a receive has completed. */
static int may_be_an_rts(void)
{
    return (tutti_endpoint && tutti_endpoint_listens(tutti_endpoint)) || tutti_far_on;
}

static void receive_fetch(struct tutti_request *entry, struct tutti_batch *batch)
{
    struct tutti_receive *receive = tutti_receive_of(entry);
    struct tutti_stage *stage = &receive->stage;
    if (batch)
        tutti_batch_add(batch, entry, receive->recv, stage);
    else if (receive->recv->state == TUTTI_RECV_RNDV)
        tutti_recv_fetch(&receive->recv, &stage, 1, TUTTI_FETCH_NOW);
    else if (receive->recv->state == TUTTI_RECV_FAR)
        tutti_p2p_begin(&tutti_p2p, &receive->recv->core);
}

/* What the next receive_progress() of a receive in this state has to do. */
static enum tutti_rests rests_in(const struct tutti_recv_request *recv)
{
    if (tutti_recv_is_open(recv))
        return TUTTI_RESTS_NOT;
    return recv->state == TUTTI_RECV_WAITING ? TUTTI_RESTS_MOSTLY
           : recv->state == TUTTI_RECV_PLAIN ? TUTTI_RESTS_UNTIL_ARRIVED
                                             : TUTTI_RESTS;
}

static void receive_fetch_all(struct tutti_batch *batch)
{
    const int last = batch->how == TUTTI_FETCH_BESIDE_ALL && batch->waiting == 0;
    tutti_recv_fetch(batch->recv, batch->stage, batch->n, last ? TUTTI_FETCH_BESIDE_LAST : batch->how);
    for (int i = 0; i < batch->n; i++) {
        if (batch->recv[i]->state == TUTTI_RECV_FETCHED && !batch->entry[i]->persistent &&
            !tutti_receive_is_kept(batch->entry[i]))
            tutti_stage_close(batch->stage[i]); /* now, while the call waits for others, and not behind the last one */
        batch->entry[i]->coming = tutti_recv_is_open(batch->recv[i]);
        batch->entry[i]->rests = rests_in(batch->recv[i]);
    }
}

/* Each look at an incomplete request polls the MPI's networks. So a call that waits for all of its requests looks at
 * receives only after a peer has sent an RTS, and then at the first ones: messages mostly arrive in the order of their
 * receives. In one of ALL turns it looks at all of them, since RTSs may arrive in any order and the peer's count is a
 * hint. */
enum { LOOKS = 2, ALL_OF_EXPECTED = 8, ALL = 64 };
static int is_worth_a_look(struct tutti_batch *batch)
{
    if (!batch || batch->how != TUTTI_FETCH_BESIDE_ALL || tutti_far_on || batch->turn % ALL == 0)
        return 1;
    const int is =
        tutti_endpoint_expects(tutti_endpoint) && (batch->failed < LOOKS || batch->turn % ALL_OF_EXPECTED == 0);
    batch->passes |= !is;
    return is;
}

/* Of a persistent receive: 1 if it is active, and the MPI does not end a request that is looked at. */
static int receive_may_look(const struct tutti_request *entry, MPI_Request request)
{
    return entry->active && (!tutti_quirks.get_status_ends_persistent || tutti_persistent_is_replaced(request));
}

static void receive_progress(struct tutti_request *entry, MPI_Request request, struct tutti_batch *batch)
{
    struct tutti_receive *receive = tutti_receive_of(entry);
    MPI_Status status;
    int flag = 0, there = 0;
    if (batch)
        entry->coming = 0;
    if (request == tutti_handles.no_request || (entry->persistent && !receive_may_look(entry, request)))
        return;
    if (receive->recv->state == TUTTI_RECV_WAITING && batch && tutti_batch_full(batch)) {
        entry->coming = 1;
        return;
    }
    if (receive->recv->state == TUTTI_RECV_WAITING && may_be_an_rts() && is_worth_a_look(batch) &&
        tutti_look(request, &flag, &status) == MPI_SUCCESS) {
        there = flag && !tutti_was_cancelled(&status);
        if (batch) {
            entry->coming = !flag;
            batch->failed += !flag;
        }
    }
    if (there)
        tutti_recv_arrived(receive->recv, &receive->stage, &status);
    if (tutti_recv_is_open(receive->recv))
        receive_fetch(entry, batch);
    entry->rests = rests_in(receive->recv);
}

static int recv_request_arrived(struct tutti_request *entry, const MPI_Status *status, struct tutti_batch *batch)
{
    struct tutti_receive *receive = tutti_receive_of(entry);
    if (receive->recv->state == TUTTI_RECV_WAITING)
        tutti_recv_arrived(receive->recv, &receive->stage, status);
    const int open = tutti_recv_is_open(receive->recv);
    entry->rests = rests_in(receive->recv);
    if (open && batch)
        receive_fetch(entry, batch);
    else if (receive->recv->state == TUTTI_RECV_PLAIN)
        tutti_batch_keep(batch, entry, &receive->stage, status);
    return open;
}

static void receive_count(struct tutti_request *entry, const MPI_Status *status, int code)
{
    struct tutti_receive *receive = tutti_receive_of(entry);
    if (!receive->counted)
        tutti_count_receive(receive->call, receive->recv, &receive->stage, entry->comm, status, code);
    receive->counted = 1;
}

/* The status of an RTS is corrected each time. */
static int receive_deliver(struct tutti_request *entry, MPI_Status *status)
{
    struct tutti_receive *receive = tutti_receive_of(entry);
    const int cancelled = receive->recv->state == TUTTI_RECV_WAITING && tutti_was_cancelled(status);
    int code = MPI_SUCCESS;
    if (cancelled || !tutti_recv_finish(receive->recv, &receive->stage, status, &code))
        code = entry->delivered ? MPI_SUCCESS : tutti_staged_out(&receive->stage, entry->comm, status);
    if (!cancelled)
        receive_count(entry, status, code);
    entry->delivered = code == MPI_SUCCESS;
    tutti_trace(TUTTI_TRACE_RECEIVED, 0);
    return code;
}

static int receive_fail(struct tutti_request *entry, MPI_Status *status, int code)
{
    if (code != MPI_ERR_PENDING)
        receive_count(entry, status, code);
    return code;
}

static void receive_settle(struct tutti_request *entry)
{
    receive_end(tutti_receive_of(entry));
}

static MPI_Comm *recv_request_comm_at(struct tutti_request *entry)
{
    return &tutti_receive_of(entry)->recv->comm;
}

static int recv_request_keep(struct tutti_request *entry)
{
    if (!tutti_receive_keep(entry))
        return 0;
    receive_end(tutti_receive_of(entry));
    return 1;
}

static void receive_close(struct tutti_request *entry)
{
    receive_end(tutti_receive_of(entry));
    tutti_stage_close(&tutti_receive_of(entry)->stage);
    tutti_recv_free(tutti_receive_of(entry)->recv);
}

static const struct tutti_request_kind receive_kind = {.name = "receive that may get an RTS",
                                                       .fills = 1,
                                                       .prepare = receive_prepare,
                                                       .comm = recv_request_comm_at,
                                                       .listens = receive_listens,
                                                       .progress = receive_progress,
                                                       .fetch = receive_fetch_all,
                                                       .arrived = recv_request_arrived,
                                                       .deliver = receive_deliver,
                                                       .fail = receive_fail,
                                                       .settle = receive_settle,
                                                       .keep = recv_request_keep,
                                                       .close = receive_close};

static void receive_listen(struct tutti_request *entry, void *with)
{
    (void)with;
    if (entry->kind == &receive_kind && (!entry->persistent || entry->active))
        receive_begin(tutti_receive_of(entry));
}

void tutti_receives_listen(void)
{
    tutti_requests_each(receive_listen, NULL, NULL);
}

struct tutti_request *tutti_receive_entry(MPI_Comm comm, const char *call, const struct tutti_stage *stage,
                                          struct tutti_recv_request *recv, int persistent)
{
    struct tutti_request *entry = tutti_request_new(&receive_kind, tutti_handles.no_request, comm);
    if (!entry)
        return NULL;
    *tutti_receive_of(entry) = (struct tutti_receive){.call = call, .recv = recv, .stage = *stage};
    entry->persistent = persistent;
    return entry;
}

void tutti_receive_begun(struct tutti_request *entry)
{
    if (!entry->persistent)
        receive_begin(tutti_receive_of(entry));
}
