/* Checks of programs written for NVSHMEM: what is not so is printed with the PE, and counted. After nvshmem.h. */
#ifndef TUTTI_TESTS_SHMEM_SHIMS_CHECK_PE_H
#define TUTTI_TESTS_SHMEM_SHIMS_CHECK_PE_H

#include <stdio.h>

static int failures;

#define CHECK(fine)                                                                                                    \
    do {                                                                                                               \
        if (!(fine)) {                                                                                                 \
            fprintf(stderr, "%s:%d: PE %d: not so: %s\n", __FILE__, __LINE__, nvshmem_my_pe(), #fine);                 \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

#endif
