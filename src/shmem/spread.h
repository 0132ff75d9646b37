/* Operations of collectives on the heaps of all members, near and far. */
#ifndef TUTTI_SHMEM_SPREAD_H
#define TUTTI_SHMEM_SPREAD_H

#include "shmem/space.h"

/* A reduction of more members than a kernel takes; fields as in struct tutti_shmem_job. */
struct tutti_shmem_large_job {
    int type, op;
    enum tutti_shape shape;
    int ranks, outs;
    size_t count;
    const char **in; /* [ranks] */
    char **out;      /* [outs] */
};

enum { TUTTI_SHMEM_PARTS = 64 }; /* the most parts of one call of move_all() */

/* As in struct tutti_shmem_kind. Stores to far heaps are complete after tutti_shmem_end(). */
int tutti_shmem_move_all(struct tutti_shmem *space, const struct tutti_shmem_part *parts, size_t n);
int tutti_shmem_clear_all(struct tutti_shmem *space, void *at, size_t bytes);
int tutti_shmem_reduce_all(struct tutti_shmem *space, const struct tutti_shmem_job *job);
int tutti_shmem_reduce_large(struct tutti_shmem *space, const struct tutti_shmem_large_job *job);

#endif
