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
    char *block;  /* of the own heap, which lies under it; NULL: none does */
    uint64_t all; /* bytes of the block: behind the segment's there are copies of constants */
    int constants;
    struct tutti_shmem_constants {
        const char *from;
        uint64_t bytes, at; /* of the copy in the block */
    } constant[TUTTI_SHMEM_CONSTANTS];
};

/* Local. The copy of a constant of the program; NULL: the address is none. */
const char *tutti_shmem_constant(const struct tutti_shmem_statics *statics, const void *address);

/* Collective over all PEs. Bytes of the heap for the segment, the same everywhere; 0: not wanted, or not one program.
 */
uint64_t tutti_shmem_statics_find(struct tutti_shmem_statics *statics, struct tutti_transport *all, int wanted);
/* Collective over all PEs, before programs allocate; first: where the heap begins of which these are the books. A
 * status, of all. Threads of the program must be still. */
int tutti_shmem_statics_open(struct tutti_shmem_statics *statics, struct tutti_transport *all, struct tutti_heap *heap,
                             char *first);
/* Local, also in a child after fork: the variables are the process's own again, with the values that they have. */
void tutti_shmem_statics_close(struct tutti_shmem_statics *statics);

#endif
