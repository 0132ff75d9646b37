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

/* What changes from round to round. Host memory that kernels reach. A GPU reads a line of host memory for one block
 * after the other, about a microsecond each. So there are several copies, each in a line of its own. */
struct tutti_prequest_round {
    union {
        uint64_t to;    /* send: where the message begins in the receiver's buffer, for kernels that store it there; 0:
                           the engine sends this round */
        uint64_t bytes; /* receive: of a transport partition of the sender */
    };
    uint64_t marks; /* send: the receiver's marks [transport partitions], for kernels; receive: its own, or 0; plus 1
                       (marks are aligned to 4 bytes): each mark lies in a line of its own */
    uint64_t pad[14];
};
enum { TUTTI_PREQUEST_COPIES = 32, TUTTI_PREQUEST_LINE = 32 }; /* copies: at most; line: words */

/* What kernels of a send keep of a transport partition, in memory of the GPU. All words are 0 between rounds: the last
 * group that marks a partition clears them. */
struct tutti_prequest_count {
    uint64_t to;    /* of the round, or one of the values below */
    uint64_t marks; /* of the round, if `to` is an address */
    uint64_t ready; /* lower half: partitions that are ready; upper half: those of them that the engine must send */
    uint64_t pad;
};
/* Values of `to` in memory of the GPU: no group has read the round yet; one is reading it; the engine sends it. */
enum { TUTTI_PREQUEST_UNREAD, TUTTI_PREQUEST_READING, TUTTI_PREQUEST_NOWHERE };

/* A flag of a send: what a kernel has done with a transport partition. */
enum { TUTTI_PREQUEST_READY = 1, TUTTI_PREQUEST_STORED };

enum { TUTTI_MEET_RANKS = 16 };

/* Kernels of a node's ranks meet at a counter for each slice of a partition: the group that adds the last rank's mark
 * combines the slice of all ranks, and stores it for all of them. No group waits for another one. In memory of the
 * GPU; addresses are those by which its kernels reach memory of the ranks. */
struct tutti_meet {
    int32_t ranks, type, op;          /* enum tshmem_type, enum tshmem_op */
    int32_t slices;                   /* of a partition */
    uint64_t bytes, slice;            /* of a partition; of a slice, of which the last one may have fewer */
    uint64_t most;                    /* bytes of a partition that kernels of the program combine; more: the engine */
    int32_t aligned, pad;             /* aligned: 1: all buffers begin at multiples of 16 bytes */
    uint64_t in[TUTTI_MEET_RANKS];    /* contributions of the ranks */
    uint64_t out[TUTTI_MEET_RANKS];   /* their results; 0: the rank has no result */
    uint64_t count[TUTTI_MEET_RANKS]; /* counters of 8 bytes at each rank, of partitions rank, rank + ranks, ...: for
                                         each its slices, and one of slices that are complete */
    uint64_t done[TUTTI_MEET_RANKS];  /* a mark of 4 bytes for each partition */
};

/* The members are the library's. */
typedef struct tutti_prequest {
    uint32_t *flag; /* host memory that kernels reach. send: [transport partitions], 0 or one of the above. receive:
                       [partitions * apart], 1: arrived */
    struct tutti_prequest_count *count; /* send: [transport partitions]; NULL if each is one partition */
    uint32_t *wrong;                    /* host memory: 1 after a wrong use in a kernel */
    int32_t partitions;
    int32_t each; /* partitions of a transport partition; the last one may have fewer */
    int32_t send;
    int32_t apart;                      /* receive: words between two flags */
    int32_t copies;                     /* of `round`, all alike */
    void *own;                          /* of the library */
    struct tutti_prequest_round *round; /* [copies] */
    const char
        *from;       /* send: where the message begins, if kernels may store it: one run of bytes of the GPU; or NULL */
    uint64_t bytes;  /* of a partition */
    int32_t results; /* of a collective: partitions of the result, whose flags follow those of the contribution */
    int32_t collective;   /* 1: of a collective. Then round->marks are those of the results, and hold round->bytes when
                             they are complete */
    const uint64_t *here; /* of a collective: in memory of the GPU, since many blocks read it: where its struct
                             tutti_meet lies; 0: kernels do not meet */
} MPIX_Prequest;

#endif
