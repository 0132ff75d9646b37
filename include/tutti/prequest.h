/* Device requests: what kernels use of a partitioned request. A kernel that has made data marks partitions of a send as
 * ready, and looks whether partitions of a receive have arrived, without the host.
 *
 * The program makes one with MPIX_Prequest_create() (tutti/mpix.h) and passes it to kernels by value. In kernels the
 * calls of tutti/device/prequest.h take it. */
#ifndef TUTTI_PREQUEST_H
#define TUTTI_PREQUEST_H

#ifndef __CUDACC_RTC__
#include <stdint.h>
#endif

/* The members are the library's. */
typedef struct tutti_prequest {
    uint32_t *flag; /* host memory that kernels reach. send: [transport partitions], 1: ready. receive: [partitions], 1:
                       arrived */
    uint32_t
        *count; /* send: [transport partitions], partitions that are ready; memory of the GPU; NULL where each is 1 */
    uint32_t *wrong; /* host memory: 1 after a wrong use in a kernel */
    int32_t partitions;
    int32_t each; /* partitions of a transport partition; the last one may have fewer */
    int32_t send;
    void *own; /* of the library */
} MPIX_Prequest;

#endif
