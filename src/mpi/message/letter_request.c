/* A send by letter, under a request of Tutti's own. */
#include "mpi/message/letters.h"
#include "mpi/message/requests.h"
#include "mpi/request/request.h"

struct by_letter {
    struct tutti_sent *sent;
};

static struct by_letter *of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct by_letter, entry);
}

/* As good as gone: it completes as sent. */
static int cancel(struct tutti_request *entry, MPI_Request *request)
{
    (void)entry;
    (void)request;
    return MPI_SUCCESS;
}

static int free_request(struct tutti_request *entry, MPI_Request *request)
{
    return tutti_sent_free(of(entry)->sent, request);
}

static int deliver(struct tutti_request *entry, MPI_Status *status)
{
    (void)status;
    return tutti_sent_deliver(of(entry)->sent);
}

static void close(struct tutti_request *entry)
{
    tutti_sent_let_go(of(entry)->sent);
}

static const struct tutti_request_kind letter = {
    .name = "send by letter", .stays = 1, .cancel = cancel, .free = free_request, .deliver = deliver, .close = close};

int tutti_letter_put(MPI_Request request, MPI_Comm comm, struct tutti_sent *sent)
{
    struct tutti_request *entry = tutti_request_new(&letter, request, comm);
    if (!entry)
        return tutti_request_lost(comm);
    of(entry)->sent = sent;
    return tutti_request_put(entry);
}
