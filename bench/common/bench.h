/* The programs that `tutti bench` starts as ranks, one for each MPI interface, all from these sources. They measure;
 * the command shows. Rank 0 writes records to standard output, one per line: "@tutti KIND ...". */
#ifndef TUTTI_BENCH_BENCH_H
#define TUTTI_BENCH_BENCH_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/words/plan.h"

/* The MPI's own functions, reached on its handle and not through the preloaded library. */
struct bench_mpi {
    int (*Allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*Reduce)(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
    int (*Reduce_scatter)(const void *, void *, const int *, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*Reduce_scatter_block)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*Scan)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*Exscan)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*Allgather)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
    int (*Barrier)(MPI_Comm);
    int (*Bcast)(void *, int, MPI_Datatype, int, MPI_Comm);
    int (*Comm_split_type)(MPI_Comm, int, int, MPI_Info, MPI_Comm *);
    int (*Comm_rank)(MPI_Comm, int *);
    int (*Comm_size)(MPI_Comm, int *);
    int (*Comm_free)(MPI_Comm *);
    int (*Pack)(const void *, int, MPI_Datatype, void *, int, int *, MPI_Comm);
    int (*Unpack)(const void *, int, int *, void *, int, MPI_Datatype, MPI_Comm);
    int (*Type_commit)(MPI_Datatype *);
    int (*Send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    int (*Recv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    int (*Neighbor_alltoallw)(const void *, const int *, const MPI_Aint *, const MPI_Datatype *, void *, const int *,
                              const MPI_Aint *, const MPI_Datatype *, MPI_Comm);
    int (*Query_cuda_support)(void); /* NULL if the MPI lacks it */
    int preloaded;                   /* 1: MPI_Allreduce is the library's in front */
};
extern struct bench_mpi bench_mpi;
/* Finds them in the MPI that is loaded; ends the program if there is no MPI. */
void bench_mpi_find(void);
/* Another function of that MPI; NULL if the MPI lacks it. */
void *bench_mpi_symbol(const char *name);

/* Joules in place of times (energy.h). */
struct bench_energy_plan {
    int trials; /* counted windows of each way; 0: times are measured */
    double seconds;
    long updates;  /* least of the counters in a window */
    unsigned ways; /* mask of enum energy_way */
};

struct bench_plan {
    int collective;                  /* enum tutti_collective */
    int order;                       /* enum bench_order */
    size_t sizes[BENCH_SIZES], most; /* bytes of one rank's contribution */
    int n_sizes;
    long iterations, warm_up; /* 0 and -1: by size */
    double seconds;           /* approximate limit of the time of one way at one size; 0: no limit */
    unsigned types, ops;      /* masks: all legal pairs of them; for a single pair: */
    int type, op;             /* enum tutti_type, enum tutti_op */
    int pairs;                /* 1: pairs are compared with the sum of float */
    int root;                 /* of a reduce; BENCH_ALL_ROOTS: each in turn */
    unsigned ways;            /* mask of the ways that are wanted */
    int in_place, check, phases;
    struct bench_energy_plan energy;
    const char *algorithm; /* the only algorithm to be measured; "": any */
    uint64_t seed;
    int rank, size; /* in MPI_COMM_WORLD */
    int node_rank, nodes;
};

/* Writes a record on rank 0. */
void bench_say(const struct bench_plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports on any rank why it cannot continue, and ends all ranks with status 1. */
void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Fails if `status` of the library is negative. */
void bench_must(int status, const char *what);
/* Ordinary memory, page-aligned, touched. Freed with free(). */
void *bench_ordinary(size_t bytes);
/* Collective over all ranks: the least and the largest of their numbers. `mine` of the first: 0 or 1. */
int bench_all_agree(int mine);
double bench_longest(double mine);

#endif
