/* Queues of matched persistent requests, as mpix.h finds them by name. */
#ifndef TUTTI_MPI_QUEUE_H
#define TUTTI_MPI_QUEUE_H

#include "mpi/real/door.h"

struct tutti_mpix_queue;
struct tutti_mpix_request;
enum { TUTTI_QUEUE_STREAM = 3 }; /* MPIX_QUEUE_GPU_MEM_OPS */

#define MPIX_Queue                                   struct tutti_mpix_queue *
#define MPIX_Request                                 struct tutti_mpix_request *
#define TUTTI_MPIX_CALL(name, parameters, arguments) int tutti_door_##name parameters;
#include "tutti/mpix_queue.def"
#undef MPIX_Queue
#undef MPIX_Request

/* At the end; alive: the device may be called. */
void tutti_queues_close(int alive);

#endif
