#include "mpi/standing.h"

#include <limits.h>
#include <stdlib.h>

#include "core/log.h"
#include "mpi/own.h"
#include "mpi/requests.h"
#include "mpi/sent.h"

struct tutti_standing {
    struct tutti_message message;
    struct tutti_span span;  /* for starts without a letter */
    struct tutti_sent *sent; /* under way */
    MPI_Request request;
    int tag;
};

int tutti_standing_new(const struct tutti_message *message, struct tutti_span *span, MPI_Request *request, int *code)
{
    if (!tutti_lane || !span->staged || message->mode == TUTTI_SEND_BUFFERED ||
        tutti_lanes_peer(message->comm, message->dest) < 0)
        return 0;
    struct tutti_standing *standing = calloc(1, sizeof *standing);
    if (!standing || tutti_own_request(1, &standing->request, &standing->tag) != 0) {
        free(standing);
        return 0;
    }
    standing->message = *message;
    standing->span = *span;
    *request = standing->request;
    *code = tutti_pending_put(*request, message->comm, &(struct tutti_pending){.standing = standing, .persistent = 1});
    return 1;
}

/* A staged message, looked after like a letter. NULL: *code says why not. */
static struct tutti_sent *send_staged(struct tutti_standing *standing, int *code)
{
    const struct tutti_message *m = &standing->message;
    struct tutti_sent *sent = calloc(1, sizeof *sent);
    int status = sent ? tutti_span_in(&standing->span) : TUTTI_ERR_MEMORY;
    if (status != TUTTI_OK) {
        tutti_error("%s: staging device memory failed: %s", m->name, tutti_status_text(status));
        free(sent);
        *code = tutti_fail_comm(m->comm, tutti_error_code(status));
        return NULL;
    }
    *sent = (struct tutti_sent){
        .message = *m, .mail = tutti_handles.no_request, .data = tutti_handles.no_request, .tag = -1};
    TUTTI_INSIDE();
#define SEND(call)                                                                                                     \
    (m->count > INT_MAX ? tutti_real.call##_c(standing->span.host, m->count, standing->span.given, m->dest, m->tag,    \
                                              m->comm, &sent->mail)                                                    \
                        : tutti_real.call(standing->span.host, (int)m->count, standing->span.given, m->dest, m->tag,   \
                                          m->comm, &sent->mail))
    *code = m->mode == TUTTI_SEND_SYNCHRONOUS ? SEND(MPI_Issend)
            : m->mode == TUTTI_SEND_READY     ? SEND(MPI_Irsend)
                                              : SEND(MPI_Isend);
#undef SEND
    if (*code != MPI_SUCCESS) {
        free(sent);
        return NULL;
    }
    tutti_count(m->name, "staged", tutti_span_how(&standing->span));
    return sent;
}

int tutti_standing_start(struct tutti_standing *standing)
{
    int code = MPI_SUCCESS;
    if (standing->sent) {
        tutti_error("%s: MPI_Start of a request that is active", standing->message.name);
        return tutti_fail_comm(standing->message.comm, MPI_ERR_REQUEST);
    }
    struct tutti_sent *sent = tutti_sent_begin(&standing->message, 0, &code);
    if (!sent && code == MPI_SUCCESS)
        sent = send_staged(standing, &code);
    if (!sent)
        return code;
    {
        TUTTI_INSIDE();
        MPI_Request request = standing->request;
        code = tutti_real.MPI_Start(&request);
    }
    sent->tag = standing->tag; /* completes when it has left */
    sent->borrowed = 1;
    standing->sent = sent;
    tutti_sent_list(sent);
    return code;
}

int tutti_standing_deliver(const struct tutti_standing *standing)
{
    return standing->sent ? tutti_sent_deliver(standing->sent) : MPI_SUCCESS;
}

void tutti_standing_settle(struct tutti_standing *standing)
{
    if (standing->sent)
        tutti_sent_let_go(standing->sent);
    standing->sent = NULL;
}

void tutti_standing_free(struct tutti_standing *standing)
{
    tutti_standing_settle(standing);
    tutti_own_release(standing->tag);
    tutti_span_close(&standing->span);
    free(standing);
}
