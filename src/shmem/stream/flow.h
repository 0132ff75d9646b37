/* Collectives in stream order through a channel, see flow.c. */
#ifndef TUTTI_SHMEM_STREAM_FLOW_H
#define TUTTI_SHMEM_STREAM_FLOW_H

#include "shmem/stream/stream.h"

/* 1 if a call of so many bytes a PE goes through its team's channel; the same on all members. */
int tutti_shmem_flow_takes(struct tutti_shmem *space, const struct tutti_shmem_streamed *call, size_t bytes);
/* Puts it into the stream: REDUCE, REDUCESCATTER, INSCAN, EXSCAN, SYNC, BROADCAST, FCOLLECT or ALLTOALL, with the
 * arguments in call->args; not for moves of no bytes. A status; TUTTI_ERR_UNAVAILABLE, on all members, if it must
 * take another way. */
int tutti_shmem_flow_put(struct tutti_shmem *space, const struct tutti_shmem_streamed *call,
                         enum tutti_shmem_what what);

#endif
