/* Memory that a rank exposes to the peers of an open team, so that their kernels may load and store it. Peers map it
 * without a call of all ranks: a rank publishes its allocations in its control page, each peer maps them when it finds
 * time, and publishes the addresses. A mapping stays until its owner has freed the allocation or the team ends, so
 * kernels in stream order, and graphs, may use an address that was read once. */
#ifndef TUTTI_TEAM_EXPOSE_H
#define TUTTI_TEAM_EXPOSE_H

#include "team/team.h"

/* A buffer of this rank that the kernels of one peer are to reach. */
struct tutti_expose_buffer {
    const void *at;
    uint64_t bytes; /* 0: none */
    uint64_t id;    /* of its allocation, as memory.classify() returns it now; 0: not known */
};

/* Local; never waits for a peer longer than a few milliseconds, and only if memory is new. Sets there[r] to the address
 * of buffer[r] in the address space of rank r's kernels; 0: rank r has not mapped it (yet). `stream`: of the kernels
 * that follow. Exposes and maps memory only while no kernel waits for a peer that the driver might wait for: if the
 * device maps beside running kernels (share.maps_beside), also while streams are busy or captured; otherwise if the
 * stream is idle and not captured, and no other communicator has a stream. In that state alone mappings are given up.
 * Not between waiting_begin and waiting_end. All ranks make the same calls on a team, so that ranks meet in the first
 * ones. Team open, one rank a GPU. */
void tutti_expose(struct tutti_team *team, struct tutti_stream *stream, const struct tutti_expose_buffer buffer[],
                  uint64_t there[]);

/* Private to team/. begin: clears the page's entries of the set `words`, before the team is open. end: releases what is
 * mapped; no kernel of the team runs any more. */
void tutti_expose_begin(struct tutti_node *node, int words);
void tutti_expose_end(struct tutti_team *team);

#endif
