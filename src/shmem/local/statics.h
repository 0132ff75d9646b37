/* Static variables of the program as symmetric objects, with heaps in host memory. */
#ifndef TUTTI_SHMEM_STATICS_H
#define TUTTI_SHMEM_STATICS_H

#include <stdint.h>

struct tutti_shmem;

struct tutti_shmem_statics {
    char *from; /* the program's segment */
    uint64_t bytes;
    uint64_t at; /* its block's offset in the heap */
    int there;
};

/* Collective over all PEs. Bytes of the heap for the segment, the same everywhere; 0: not wanted, or not one program.
 */
uint64_t tutti_shmem_statics_find(struct tutti_shmem *space, int wanted);
/* Collective over all PEs, before programs allocate. A status, of all. Threads of the program must be still. */
int tutti_shmem_statics_open(struct tutti_shmem *space);
/* Local, also in a child after fork: the variables are the process's own again, with the values that they have. */
void tutti_shmem_statics_close(struct tutti_shmem *space);

#endif
