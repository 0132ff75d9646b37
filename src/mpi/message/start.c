/* Starting staged nonblocking calls. */
#include "mpi/message/start.h"
#include "mpi/bounce/alive.h"
#include "mpi/bounce/early.h"
#include "mpi/message/counted.h"
#include "mpi/message/matched.h"
#include "mpi/message/requests.h"
#include "mpi/message/rndv.h"
#include "mpi/message/rndv_recv.h"
#include "mpi/message/unexpected.h"
#include "mpi/real/errors.h"
#include "mpi/real/quiet.h"
#include "mpi/request/unwatched.h"
#include "progress/engine.h"

/* The MPI's argument in place of the buffer, and the entry of the request, if it needs one. A status; on failure
 * nothing is left, `recv` neither. */
static int open_call(struct tutti_stage *stage, struct tutti_recv_request *recv, struct tutti_request **entry,
                     const struct tutti_message *m, int way, int persistent, const struct tutti_there *there)
{
    int status = tutti_stage_open_at(stage, m->buffer, m->count, m->type, way, there);
    *entry = NULL;
    if (status == TUTTI_OK && recv)
        *entry = tutti_receive_entry(m->comm, m->name, stage, recv, persistent);
    else if (status == TUTTI_OK && stage->staged)
        *entry = tutti_staged_entry(m->comm, m->name, stage, persistent);
    if (status == TUTTI_OK && !*entry && (recv || stage->staged)) {
        tutti_stage_close(stage);
        status = TUTTI_ERR_MEMORY;
    }
    if (status != TUTTI_OK)
        tutti_recv_free(recv);
    return status;
}

/* The end of a call that the MPI has made, with this code: the request gets its entry, or nothing is left. */
static int start_end(int code, const MPI_Request *request, struct tutti_stage *stage, struct tutti_recv_request *recv,
                     struct tutti_request *entry)
{
    if (code == MPI_SUCCESS && entry)
        return tutti_request_begun(entry, *request);
    if (entry)
        tutti_request_give(entry);
    tutti_recv_free(recv);
    tutti_stage_close(stage);
    return code;
}

/* The same of a receive or a persistent call, and its count. A persistent send with an entry is counted at each start
 * instead, which copies its elements in. */
static int receive_or_init_end(const char *call, int code, const MPI_Request *request, struct tutti_stage *stage,
                               struct tutti_recv_request *recv, struct tutti_request *entry)
{
    const enum tutti_reason reason = tutti_why_take(TUTTI_REASON_CALL);
    if (code == MPI_SUCCESS && !recv && stage->way & TUTTI_STAGE_IN && !entry)
        tutti_count_send(call, stage, reason);
    if (code == MPI_SUCCESS && entry && recv)
        tutti_receive_begun(entry);
    else if (code == MPI_SUCCESS && entry)
        tutti_staged_because(entry, reason);
    return start_end(code, request, stage, recv, entry);
}

/* Opens the stage of a send, which an early copy may fill. */
static int open_send(struct tutti_stage *stage, struct tutti_request **entry, const struct tutti_message *m,
                     struct tutti_early *early, const struct tutti_there *there)
{
    const int way = TUTTI_STAGE_IN | TUTTI_STAGE_PACKED | tutti_early_way(early);
    int status = open_call(stage, NULL, entry, m, way, 0, there);
    if (status != TUTTI_OK)
        return status;
    status = tutti_early_fill(early, stage);
    if (status != TUTTI_OK)
        start_end(MPI_ERR_OTHER, NULL, stage, NULL, *entry);
    return status;
}

/* The same of a send that is no persistent one, which is counted now. */
static int send_end(const char *call, int code, const MPI_Request *request, struct tutti_stage *stage,
                    struct tutti_request *entry, const struct tutti_early *early, const struct tutti_there *there)
{
    const enum tutti_reason reason = tutti_why_take(TUTTI_REASON_CALL);
    if (code == MPI_SUCCESS) {
        tutti_count_send(call, stage, reason);
        if (reason == TUTTI_REASON_UNMAPPED)
            tutti_early_learn(early, stage, there);
        if (entry)
            tutti_staged_because(entry, reason);
    }
    return start_end(code, request, stage, NULL, entry);
}

/* 1 if no RTS can match a receive into host memory before tutti_unwatched_end(). */
static inline int tutti_need_not_watch(MPI_Count count, MPI_Datatype type)
{
    return tutti_unwatched_on && tutti_requests_none() && !tutti_progress_busy() && tutti_endpoint_long(count, type);
}

/* 1 if a message may still arrive for a persistent receive: the MPI has not completed it. Not every MPI may be asked.
 */
static int is_under_way(const struct tutti_unwatched *receive)
{
    MPI_Status status;
    int flag = 0;
    if (!receive->active || tutti_quirks.get_status_ends_persistent)
        return receive->active;
    TUTTI_INSIDE();
    return tutti_look(receive->request, &flag, &status) == MPI_SUCCESS && !flag;
}

/* The MPI has begun it, into the program's buffer. What calls this may be in a call of the library's own. */
static void watch_receive(const struct tutti_unwatched *receive)
{
    const int inside = tutti_inside;
    const struct tutti_there there = {.memory.kind = TUTTI_MEMORY_HOST};
    tutti_inside = 0;
    struct tutti_recv_request *recv = tutti_recv_new(receive->buffer, receive->count, receive->type, receive->comm);
    tutti_inside = inside;
    const struct tutti_message like = {receive->call, receive->buffer, receive->count, receive->type, -1, -1,
                                       receive->comm, TUTTI_SEND};
    struct tutti_stage stage;
    struct tutti_request *entry;
    if (!recv)
        return;
    tutti_count("receives of host memory", TUTTI_OUTCOME_PASSED, "they are open and have to be watched");
    const int later = receive->persistent ? TUTTI_STAGE_LATER : 0;
    if (open_call(&stage, recv, &entry, &like, TUTTI_STAGE_OUT | TUTTI_STAGE_PACKED | later, receive->persistent,
                  &there) != TUTTI_OK) {
        tutti_request_lost(receive->comm);
        return;
    }
    if (receive->persistent && is_under_way(receive)) {
        entry->active = entry->kind->prepare(entry) == MPI_SUCCESS;
    } else if (!receive->persistent) {
        tutti_recv_keep(recv, &stage);
        tutti_receive_begun(entry);
    }
    tutti_request_begun(entry, receive->request);
}

void tutti_receives_end(void)
{
    tutti_unwatched_end();
    tutti_persistent_stamp();
}

void tutti_receives_begin(void)
{
    tutti_unwatched_begin(tutti_endpoint && !tutti_far_on && !tutti_door.multiple, watch_receive);
    if (tutti_endpoint)
        tutti_endpoint_on_use(tutti_endpoint, tutti_receives_end, tutti_receives_listen);
}

/* A persistent send that the MPI need not make. The MPI has made one, so the arguments are right. */
static int is_not_the_mpis(const struct tutti_message *message, struct tutti_stage *stage, MPI_Request *request,
                           int *code)
{
    MPI_Request real = *request;
    if (!tutti_persistent_send_new(message, stage, request, code) && !tutti_far_init(message, stage, request, code))
        return 0;
    tutti_next.MPI_Request_free(&real);
    return 1;
}

/* The same where the MPI need not be asked whether the arguments are right. */
static int is_made_alone(const struct tutti_message *message, const struct tutti_there *there, MPI_Request *request,
                         int *code)
{
    struct tutti_stage stage;
    if (!tutti_persistent_send_is_fine(message, request) ||
        tutti_stage_open_at(&stage, message->buffer, message->count, message->type,
                            TUTTI_STAGE_IN | TUTTI_STAGE_PACKED | TUTTI_STAGE_LATER, there) != TUTTI_OK)
        return 0;
    if (tutti_persistent_send_new(message, &stage, request, code))
        return 1;
    tutti_stage_close(&stage);
    return 0;
}

#define WIDTHS_OF "mpi/message/start.inc"
#include "mpi/real/widths.inc"
