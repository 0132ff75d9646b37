/* Collectives in stream order through a channel, see flow.c. */
#ifndef TUTTI_SHMEM_STREAM_FLOW_H
#define TUTTI_SHMEM_STREAM_FLOW_H

#include "shmem/stream/stream.h"

/* 1 where collectives of that team with so many bytes of a PE go through the channel, alike on all members. */
int tutti_shmem_flow_takes(struct tutti_shmem *space, tshmem_team_t team, size_t bytes);
/* Puts it into the stream: REDUCE, REDUCESCATTER, INSCAN, EXSCAN, or SYNC, with what call->args says. A status;
 * TUTTI_ERR_UNAVAILABLE, on all members, where it is to go another way. */
int tutti_shmem_flow_put(struct tutti_shmem *space, const struct tutti_shmem_streamed *call,
                         enum tutti_shmem_what what);

#endif
