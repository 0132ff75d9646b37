/* Private to recv_request.c and recv_again.c: a receive that may get an RTS. */
#ifndef TUTTI_MPI_RECV_REQUEST_OWN_H
#define TUTTI_MPI_RECV_REQUEST_OWN_H

#include "mpi/message/rndv_recv.h"
#include "mpi/request/request.h"

struct tutti_receive {
    const char *call;
    int counted; /* this time */
    struct tutti_recv_request *recv;
    struct tutti_stage stage;
    int open; /* 1: counted among the steps */
};

static inline struct tutti_receive *tutti_receive_of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct tutti_receive, entry);
}

/* recv_again.c. 1 if the receive, which has ended, can be kept whole for the next one. keep: keeps it if there is room;
 * 0: the caller frees it. */
int tutti_receive_is_kept(const struct tutti_request *entry);
int tutti_receive_keep(struct tutti_request *entry);

#endif
