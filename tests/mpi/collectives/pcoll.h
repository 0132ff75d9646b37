/* One partitioned collective of a random program: its arguments, what its plain counterpart gives, and its rounds. */
#ifndef TUTTI_TESTS_PCOLL_H
#define TUTTI_TESTS_PCOLL_H

#include "kit.h"
#include <tutti/mpix.h>

enum pcoll_kind {
    PC_BCAST,
    PC_GATHER,
    PC_GATHERV,
    PC_SCATTER,
    PC_SCATTERV,
    PC_ALLGATHER,
    PC_ALLGATHERV,
    PC_ALLTOALL,
    PC_ALLTOALLV,
    PC_ALLTOALLW,
    PC_NEIGHBOR_ALLGATHER,
    PC_NEIGHBOR_ALLGATHERV,
    PC_NEIGHBOR_ALLTOALL,
    PC_NEIGHBOR_ALLTOALLV,
    PC_NEIGHBOR_ALLTOALLW,
    PC_MOVERS,
    PC_REDUCE = PC_MOVERS,
    PC_ALLREDUCE,
    PC_REDUCE_SCATTER,
    PC_REDUCE_SCATTER_BLOCK,
    PC_SCAN,
    PC_EXSCAN,
    PC_KINDS
};

enum { PC_RANKS = 16 };

/* Blocks of one side: elements [first, first + count * partitions) of a type whose elements are `extent` bytes apart.
 */
struct pcoll_side {
    int used, partitions, blocks;
    MPI_Datatype type, types[PC_RANKS];
    MPI_Count counts[PC_RANKS]; /* of a partition */
    MPI_Aint displs[PC_RANKS];  /* bytes */
    size_t extents[PC_RANKS], bytes;
    struct kit_buffer buffer;
    enum kit_kind memory;
    char *data, *image; /* the program's buffer, and what goes or comes there */
};

struct pcoll {
    int kind, root, rank, size, in_place, label;
    MPI_Comm comm;
    struct pcoll_side send, recv;
    struct kit_pair pair; /* of a reduction */
    MPI_Op op;            /* null: pair.op */
    MPI_Request request;
    int marked;     /* by this rank in this round */
    int by_kernels; /* 1: there is a device request: threads mark partitions as kernels do */
    int is_long;    /* 1: a partition has several slices */
    MPIX_Prequest device;
};

extern int pcoll_kernels, pcoll_on_device; /* arguments of the program */
extern const char *const pcoll_names[PC_KINDS];
extern int (*pcoll_pready)(int, MPI_Request);
extern int (*pcoll_pready_range)(int, int, MPI_Request);
extern int (*pcoll_pready_list)(int, const int[], MPI_Request);
extern int (*pcoll_parrived)(MPI_Request, int, int *);

/* Draws the arguments: `dice` gives the same on all ranks, `own` what differs. Creates the request. */
void pcoll_open(struct pcoll *c, int kind, MPI_Comm comm, MPI_Op function, uint64_t *dice, uint64_t *own);
void pcoll_close(struct pcoll *c);
/* Local. Frees some of its device memory, and allocates it again. 1: at the same address. */
int pcoll_again(struct pcoll *c, uint64_t *own);
/* Collective. Sets the images of the round, by the plain counterpart, and what the buffers hold before it. */
void pcoll_fill(struct pcoll *c, uint64_t seed);
/* Writes the contribution of partition p into the buffer. */
void pcoll_produce(struct pcoll *c, int p);
/* The result of partition p (-1: all that is in the buffer) is in the buffer. */
void pcoll_check(struct pcoll *c, int p, const char *what);

/* pcoll_calls.c: the call, and its plain counterpart on host memory, where `in` stands for the send buffer. */
int pcoll_init(struct pcoll *c, const void *in, void *out);
void pcoll_plain(struct pcoll *c, const void *in, void *out);

#endif
