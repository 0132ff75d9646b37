/* Collectives in stream order through a channel, see flow.c. */
#ifndef TUTTI_SHMEM_STREAM_FLOW_H
#define TUTTI_SHMEM_STREAM_FLOW_H

#include "shmem/stream/stream.h"

/* 1 where the call, of which a PE has so many bytes, goes through its team's channel, alike on all members. */
int tutti_shmem_flow_takes(struct tutti_shmem *space, const struct tutti_shmem_streamed *call, size_t bytes);
/* Puts it into the stream: REDUCE, REDUCESCATTER, INSCAN, EXSCAN, SYNC, BROADCAST, FCOLLECT or ALLTOALL, with what
 * call->args says; moves of no bytes do not go this way. A status;
 * TUTTI_ERR_UNAVAILABLE, on all members, where it is to go another way. */
int tutti_shmem_flow_put(struct tutti_shmem *space, const struct tutti_shmem_streamed *call,
                         enum tutti_shmem_what what);

#endif
