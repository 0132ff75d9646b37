/* What `tutti tune` measures, does and finds, as numbers and as names, for the ranks and for the command. */
#ifndef TUTTI_BENCH_WORDS_TUNE_H
#define TUTTI_BENCH_WORDS_TUNE_H

/* Reductions and data movers that rules distinguish, messages, accesses of files, partitions that kernels mark, and
 * puts and gets of kernels by the size of the group, in the order of their sections. */
enum tune_section {
    TUNE_ALLREDUCE,
    TUNE_REDUCE,
    TUNE_REDUCE_SCATTER,
    TUNE_SCAN,
    TUNE_REDUCTIONS,
    TUNE_BCAST = TUNE_REDUCTIONS,
    TUNE_GATHER,
    TUNE_SCATTER,
    TUNE_ALLGATHER,
    TUNE_ALLTOALL,
    TUNE_COLLECTIVES,
    TUNE_MESSAGE = TUNE_COLLECTIVES, /* to ranks of the node */
    TUNE_MESSAGE_FAR,
    TUNE_FILES,
    TUNE_FILE_WRITE = TUNE_FILES,
    TUNE_FILE_READ,
    TUNE_PARTS, /* of kernels */
    TUNE_PARTITIONED = TUNE_PARTS,
    TUNE_PARTITIONED_MEET,
    TUNE_SHMEM, /* put_1, put_32, put_128, put_1024, and the same of get */
    TUNE_SECTIONS = TUNE_SHMEM + 8
};
#define TUNE_SECTION_NAMES                                                                                             \
    "allreduce", "reduce", "reduce_scatter", "scan", "bcast", "gather", "scatter", "allgather", "alltoall", "message", \
        "message_far", "file_write", "file_read", "partitioned", "partitioned_meet", "shmem_put_1", "shmem_put_32",    \
        "shmem_put_128", "shmem_put_1024", "shmem_get_1", "shmem_get_32", "shmem_get_128", "shmem_get_1024"

/* Most rounds of one size. */
enum { TUNE_ROUNDS = 31 };

/* What the ranks are doing. */
#define TUNE_DOES_OPEN    "open"
#define TUNE_DOES_MEASURE "measure"
#define TUNE_DOES_REFINE  "refine"
#define TUNE_DOES_PROVE   "prove"

/* What the proof said of a size. */
enum tune_verdict {
    TUNE_UNPROVEN, /* there was no time: the default stays */
    TUNE_SAME,     /* the default takes the same algorithm */
    TUNE_KEPT,
    TUNE_LOST, /* slower than the default, by more than the noise: the default stays */
    TUNE_VERDICTS
};
#define TUNE_VERDICT_NAMES "unproven", "same", "kept", "lost"

#endif
