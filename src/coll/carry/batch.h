/* Copies between elements in memory of a GPU and host memory, put into a port's stream together. Private to carry/. */
#ifndef TUTTI_COLL_CARRY_BATCH_H
#define TUTTI_COLL_CARRY_BATCH_H

#include "coll/carry/own.h"

enum { TUTTI_CARRY_BATCH = 32 }; /* of a launch, at most */

/* Zeros but for the first two. */
struct tutti_carry_batch {
    const struct tutti_port *port;
    enum tutti_direction direction;
    struct tutti_pack_job job[TUTTI_CARRY_BATCH];
    unsigned jobs, runs;
    int posted;
    char *run, *memory; /* a run of bytes that is still to be copied */
    uint64_t bytes;     /* 0: no run */
};

/* Local. Bytes [first, first + bytes) of the elements, packed, which the port's GPU reaches; memory: of its kernels and
 * copies too. Runs that follow each other in both are one copy. A status. */
int tutti_carry_batch_add(struct tutti_carry_batch *batch, const struct tutti_elements *elements, uint64_t first,
                          uint64_t bytes, char *memory);
/* Puts the rest into the stream. 1: the event says when all is done; 0: there was nothing; a status. */
int tutti_carry_batch_end(struct tutti_carry_batch *batch, struct tutti_event *event);

#endif
