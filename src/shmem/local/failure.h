/* Turns the record of a kernel that gave up (tutti/shmem_failure.h) into text. */
#ifndef TUTTI_SHMEM_LOCAL_FAILURE_H
#define TUTTI_SHMEM_LOCAL_FAILURE_H

#include "tutti/shmem_state.h"

enum { TUTTI_SHMEM_FAILURE_TEXT = 200 };

/* The PE of the record, and facts about it. */
struct tutti_shmem_failure_of {
    int pe, pes;
    const void *begin, *end; /* its heap; NULL: of another process */
    /* The world's PE of each member of its team, -1: none; NULL: not known. */
    int (*pe_of)(void *with, int32_t team, int member);
    void *with;
};

/* A status. where: the kernel's block and thread; text: the call and its error. */
int tutti_shmem_failure_text(const struct tshmem_failure *record, const struct tutti_shmem_failure_of *of,
                             char where[TUTTI_SHMEM_FAILURE_TEXT], char text[2 * TUTTI_SHMEM_FAILURE_TEXT]);

#endif
