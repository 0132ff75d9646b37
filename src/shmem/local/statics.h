/* Static variables of the program as symmetric objects, with heaps in host memory; constants to be read. */
#ifndef TUTTI_SHMEM_STATICS_H
#define TUTTI_SHMEM_STATICS_H

#include <stdint.h>

#include "shmem/local/alike.h"

struct tutti_heap;

enum { TUTTI_SHMEM_CONSTANTS = 6 };

struct tutti_shmem_statics {
    char *from; /* the program's segment */
    uint64_t bytes;
    char *block;  /* in this PE's heap, mapped over the segment; NULL: none exists */
    uint64_t all; /* bytes of the block: the segment's, then copies of constants */
    int constants;
    struct tutti_shmem_constants {
        const char *from;
        uint64_t bytes, at; /* of the copy in the block */
    } constant[TUTTI_SHMEM_CONSTANTS];
};

/* Local. The copy of a constant of the program; NULL: the address is not in a constant. */
const char *tutti_shmem_constant(const struct tutti_shmem_statics *statics, const void *address);

/* Collective over all PEs. Bytes of the heap for the segment, the same on all PEs; 0: not wanted, or different
 * programs. */
uint64_t tutti_shmem_statics_find(struct tutti_shmem_statics *statics, struct tutti_transport *all, int wanted);
/* Collective over all PEs, before programs allocate; first: offset of the part of the heap that these books
 * describe. A status, the same on all PEs. Other threads of the program must not run. */
int tutti_shmem_statics_open(struct tutti_shmem_statics *statics, struct tutti_transport *all, struct tutti_heap *heap,
                             char *first);
/* Local, also in a child after fork: the variables become private to the process again and keep their values. */
void tutti_shmem_statics_close(struct tutti_shmem_statics *statics);

#endif
