/* Partitioned point-to-point messages at the door: arguments, handles, statuses and errors. The messages are of
 * src/part/, with every MPI: the two sides must agree who carries the message, and neither knows where the other's
 * buffer lies. An MPI's own calls get requests on communicators that reach processes outside MPI_COMM_WORLD. */
#ifndef TUTTI_MPI_PARTITIONED_H
#define TUTTI_MPI_PARTITIONED_H

#include "mpi/real/door.h"
#include "part/part.h"

/* Collective over MPI_COMM_WORLD, after tutti_endpoints_open(); the same on all ranks. */
void tutti_partitioned_open(void);
void tutti_partitioned_close(void);

/* ---- request.c ---- */

struct tutti_partitioned; /* a request */

struct tutti_partitioned_args {
    int send, partitions, peer, tag;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Comm comm;
    MPI_Info info;
};
/* Puts a new request under watch. part: what tutti_part_new() gets; `ended` and `with` are set here. An MPI code, not
 * raised. */
int tutti_partitioned_new(const struct tutti_partitioned_args *args, struct tutti_part_args *part,
                          MPI_Request *request);
/* NULL: the request is none of these. Valid as long as the request; any thread. */
struct tutti_part *tutti_partitioned_find(MPI_Request request, MPI_Comm *comm);
/* 1: the program has started the request and has not completed it, also where the round has ended by itself. */
int tutti_partitioned_is_started(MPI_Request request);
/* Frees the table. */
void tutti_partitioned_forget(void);

#endif
