/* Staged nonblocking calls in flight: a side table from the MPI's own requests to the buffers that they stand for. */
#ifndef TUTTI_MPI_REQUESTS_H
#define TUTTI_MPI_REQUESTS_H

#include <stdatomic.h>
#include <uthash.h>

#include "mpi/arrivals.h"
#include "mpi/blocks.h"
#include "mpi/joint.h"
#include "mpi/letters.h"
#include "mpi/nonblocking.h"
#include "mpi/standing.h"

enum { TUTTI_PENDING_LISTS = 4 };

struct tutti_pending {
    MPI_Request request;
    MPI_Comm comm;
    struct tutti_span span;
    struct tutti_exchange *exchange; /* not NULL: of a collective, instead of the span */
    struct tutti_watch *watch;       /* not NULL: a receive that may get a mail; staged or not */
    struct tutti_sent *sent;         /* not NULL: the request stands for this send by letter */
    struct tutti_far_mail *far;      /* not NULL: the request is of the mail of a send to another node */
    struct tutti_standing *standing; /* not NULL: a persistent send to a rank of the node */
    struct tutti_joint *joint;       /* not NULL: the request stands for two */
    int delivered;                   /* what was received has been copied to the user */
    int persistent;                  /* the entry lives as long as the request */
    int active;                      /* persistent: started and not completed */
    struct tutti_open *open;         /* not NULL: the request stands for this call and for nothing else here */
    int *list[TUTTI_PENDING_LISTS];  /* narrowed counts that the call reads until it completes */
    struct tutti_pending *next;      /* among the freed ones */
    UT_hash_handle hh;
};

extern atomic_int tutti_pending_open;

static inline int tutti_pending_none(void)
{
    return likely(atomic_load_explicit(&tutti_pending_open, memory_order_relaxed) == 0);
}

/* Puts the request of an open call under watch. A status. */
int tutti_pending_open_call(MPI_Request request, struct tutti_open *open);
/* Puts a started call under watch; a call that is complete already is finished at once. Takes over `span` and `watch`
 * (may be NULL). */
int tutti_pending_add(MPI_Request request, MPI_Comm comm, struct tutti_span *span, struct tutti_watch *watch);
/* A request that lives on or is not complete yet: takes over what `like` has of span, watch, sent, far, standing and
 * joint. */
int tutti_pending_put(MPI_Request request, MPI_Comm comm, const struct tutti_pending *like);
/* Receives of which the mails have come: fetches their data, without waiting for others. The entries were taken out;
 * NULL ones are passed over. */
void tutti_pending_fetch(struct tutti_pending *const pending[], const MPI_Request requests[], int n);
/* The same for requests that have completed with these statuses, all together, before they are delivered; statuses[k]
 * is of pending[which[k]], of pending[k] where `which` is NULL. Waits. */
void tutti_pending_finish(struct tutti_pending *const pending[], const int which[], const MPI_Status statuses[], int n);
/* Looks at all receives that no call is at: what has come is begun to be fetched where it is a mail from another node.
 */
void tutti_pending_look(void);
/* A collective; takes over `exchange`, which was allocated. */
int tutti_pending_exchange(MPI_Request request, struct tutti_exchange *exchange, int persistent);
/* MPI_Start of a persistent one. An MPI code. */
int tutti_pending_start(struct tutti_pending *pending, MPI_Request *request);
/* The same for a call that reads `n` allocated lists while it is in flight. */
int tutti_pending_lists(MPI_Request request, int *const list[], int n);
/* Takes the entry out; NULL where there is none. It is finished, put back, or dropped (its memory given back). */
struct tutti_pending *tutti_pending_take(MPI_Request request);
/* Looks at the entry, which stays. */
struct tutti_pending *tutti_pending_see(MPI_Request request);
void tutti_pending_back(struct tutti_pending *pending);
void tutti_pending_drop(struct tutti_pending *pending);
/* The call has completed with this status: copies what came. Returns an MPI code. */
int tutti_pending_deliver(struct tutti_pending *pending, MPI_Status *status);
/* MPI_Request_free of a request whose entry was taken out, and which is no open call's. An MPI code. */
int tutti_pending_free(struct tutti_pending *pending, MPI_Request *request);
/* A request that the program has freed: stays until it completes. */
void tutti_pending_orphan(struct tutti_pending *pending);
/* Completes freed requests where they are ready; with `all`, waits for each. */
void tutti_pending_sweep(int all);

#endif
