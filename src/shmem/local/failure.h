/* What a kernel has left of why it gave up (tutti/shmem_failure.h), in words. */
#ifndef TUTTI_SHMEM_LOCAL_FAILURE_H
#define TUTTI_SHMEM_LOCAL_FAILURE_H

#include "tutti/shmem_state.h"

enum { TUTTI_SHMEM_FAILURE_TEXT = 200 };

/* Whose record it is, and what is known of that PE here. */
struct tutti_shmem_failure_of {
    int pe, pes;
    const void *begin, *end; /* its heap; NULL: of another process */
    /* PE of the world of a member of its team, -1: none; NULL: not known. */
    int (*pe_of)(void *with, int32_t team, int member);
    void *with;
};

/* A status. where: the kernel's block and thread; text: the call and what was wrong. */
int tutti_shmem_failure_text(const struct tshmem_failure *record, const struct tutti_shmem_failure_of *of,
                             char where[TUTTI_SHMEM_FAILURE_TEXT], char text[2 * TUTTI_SHMEM_FAILURE_TEXT]);

#endif
