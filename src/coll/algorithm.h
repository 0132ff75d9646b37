/* Algorithms and what they share. Private to coll/. */
#ifndef TUTTI_COLL_ALGORITHM_H
#define TUTTI_COLL_ALGORITHM_H

#include "coll/coll.h"

enum tutti_algorithm_id {
#define TUTTI_ALGORITHM(name, order, text) TUTTI_ALGORITHM_##name,
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
    TUTTI_ALGORITHMS
};

/* One algorithm. Both functions are given the same facts on all ranks and so decide alike. */
struct tutti_algorithm {
    const char *name, *text;
    /* 1 where the open team can run the call. */
    int (*can)(const struct tutti_team *team, const struct tutti_reduce *call);
    /* Collective. Returns a status; *fits = 0 (on all ranks, nothing done) where it found out that it cannot after all.
     */
    int (*run)(struct tutti_team *team, const struct tutti_reduce *call, int *fits);
    /* Puts the call into `stream`; see tutti_enqueue(). NULL: not in stream order. */
    int (*enqueue)(struct tutti_team *team, const struct tutti_reduce *call, struct tutti_stream *stream);
};

/* Collective over the team's ranks: opens the team, agrees on thread blocks and rules. Local failures make it
 * unavailable on all ranks, which is no error. */
int tutti_open(struct tutti_team *team, int gpu);
/* Local. Makes the call's kernels ready, before anybody waits for this rank: a kernel that is loaded at its first
 * launch may wait for other threads' kernels. A failure shows again at the launch, where all ranks are told. */
void tutti_prepare(struct tutti_team *team, const struct tutti_reduce *call);

extern const struct tutti_algorithm tutti_algorithms[TUTTI_ALGORITHMS];

#define TUTTI_ALGORITHM_HOST(name)
#define TUTTI_ALGORITHM_STREAM(name)                                                                                   \
    int tutti_##name##_enqueue(struct tutti_team *team, const struct tutti_reduce *call, struct tutti_stream *stream);
#define TUTTI_ALGORITHM(name, order, text)                                                                             \
    int tutti_##name##_can(const struct tutti_team *team, const struct tutti_reduce *call);                            \
    int tutti_##name##_run(struct tutti_team *team, const struct tutti_reduce *call, int *fits);                       \
    TUTTI_ALGORITHM_##order(name)
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
#undef TUTTI_ALGORITHM_HOST
#undef TUTTI_ALGORITHM_STREAM

/* Sections of rules. */
enum tutti_section {
    TUTTI_SECTION_ALLREDUCE,
    TUTTI_SECTION_REDUCE,
    TUTTI_SECTION_REDUCE_SCATTER,    /* both kinds */
    TUTTI_SECTION_SCAN,              /* both kinds */
    TUTTI_SECTION_ALLREDUCE_ENQUEUE, /* calls in stream order alone, which come to the section without it next */
    TUTTI_SECTION_REDUCE_ENQUEUE,
    TUTTI_SECTION_REDUCE_SCATTER_ENQUEUE,
    TUTTI_SECTION_SCAN_ENQUEUE,
    TUTTI_SECTION_MESSAGE, /* its rules name ways, not algorithms */
    TUTTI_SECTION_MESSAGE_FAR,
    TUTTI_SECTION_SHMEM_PUT_1, /* of kernels' puts and gets by groups of so many threads: enum tutti_transfer_way */
    TUTTI_SECTION_SHMEM_PUT_32,
    TUTTI_SECTION_SHMEM_PUT_128,
    TUTTI_SECTION_SHMEM_PUT_1024,
    TUTTI_SECTION_SHMEM_GET_1,
    TUTTI_SECTION_SHMEM_GET_32,
    TUTTI_SECTION_SHMEM_GET_128,
    TUTTI_SECTION_SHMEM_GET_1024,
    TUTTI_SECTION_SHMEM_STREAM, /* collectives of the global address space in stream order: enum tutti_stream_way */
    TUTTI_SECTION_AWARE,        /* scratch for types with gaps of a GPU-aware MPI: enum tutti_aware_place */
    TUTTI_SECTIONS              /* none: a barrier has no rules */
};
enum tutti_transfer_way { TUTTI_TRANSFER_DIRECT, TUTTI_TRANSFER_COPY_ENGINE };
enum tutti_stream_way { TUTTI_STREAM_CHANNEL, TUTTI_STREAM_BLOCK, TUTTI_STREAM_BLOCKS };
enum tutti_aware_place { TUTTI_AWARE_HOST, TUTTI_AWARE_DEVICE };
enum tutti_section tutti_rules_section(enum tutti_collective collective);
enum tutti_section tutti_rules_section_enqueue(enum tutti_collective collective);
/* Algorithm of the first rule, from `from` on, that fits the call; *from is moved behind it. -1 past the last. User's
 * rules come first, then those measured on this machine, then the defaults of the device in use; or those of
 * tutti_rules_set() and the defaults. */
int tutti_rules_next(enum tutti_section section, size_t bytes, int *from);
/* A number that is equal where the rules in force are; where they begin, and where among them the defaults do, for
 * tutti_rules_next(). */
uint32_t tutti_rules_hash(int *begin, int *defaults_from);
/* The same of the rules of one section alone, which the ranks of a job may have to agree on. */
uint32_t tutti_rules_section_hash(enum tutti_section section);
/* 1 where the first rule that fits some size is one for `choice`. */
int tutti_rules_choose(enum tutti_section section, int choice);
/* Where the rules of a call begin: at `own`, those that its communicator was opened with, or see tutti_rules_follow().
 */
int tutti_rules_begin(int own);

/* Contributions and results of this GPU: of one rank, or in `leader` of all ranks that share it. Indexes count
 * elements. */
struct tutti_locals {
    int n;
    int rank[TUTTI_MAX_RANKS];
    const void *in[TUTTI_MAX_RANKS];
    void *out[TUTTI_MAX_RANKS];
};

/* Collective over the leaders (others do not call): the whole call through windows, in pieces that fit them. On return
 * the results are stored. */
int tutti_oneshot_locals(struct tutti_team *team, const struct tutti_locals *locals, size_t count, int type, int op);
int tutti_twoshot_locals(struct tutti_team *team, const struct tutti_locals *locals, size_t count, int type, int op);

/* What a kernel does for a call. */
enum tutti_shape tutti_shape_of(const struct tutti_reduce *call);

/* One launch, by every leader: reduces this GPU's share straight from all ranks' buffers into the results; on return it
 * is stored. Pointers are mapped device pointers, one a rank; out[r] where rank r gets something. Results may lie where
 * the same elements of the contribution do. */
int tutti_direct_mapped(struct tutti_team *team, const struct tutti_reduce *call, const void *in[], void *out[]);
/* Collective, after tutti_map_buffers() by the leaders, with what it said: tutti_direct_mapped(), or by way of the
 * channels where results lie over contributions, until all results are stored. */
int tutti_direct_shared(struct tutti_team *team, const struct tutti_reduce *call, const void *in[], void *out[],
                        int mapped);

/* Starts filling args for the next launch: epoch, team, words. */
void tutti_launch_begin(struct tutti_team *team, struct tutti_kernel_args *args);
/* Launches on the team's stream; a failure breaks the team. */
int tutti_launch_end(struct tutti_team *team, struct tutti_kernel_args *args, enum tutti_kernel kernel, int type,
                     int op, unsigned blocks);
/* Around the launches of kernels that wait for each other; see the device's contract. */
void tutti_waiting_begin(const struct tutti_team *team);
void tutti_waiting_end(const struct tutti_team *team);
/* Thread blocks for `bytes` that one GPU moves: alike on all ranks. waits: of a kernel that waits for other GPUs. */
unsigned tutti_launch_blocks(const struct tutti_team *team, size_t bytes, int waits);
/* Regions of a channel, in bytes from its start. */
enum tutti_region_id { TUTTI_REGION_LL, TUTTI_REGION_LINES, TUTTI_REGION_CHUNKS, TUTTI_REGION_HALVES };
struct tutti_region {
    size_t begin, bytes;
    size_t stride; /* a launch of a flow kernel begins at begin + (epoch & 1) * stride, and */
    size_t each;   /* has so many bytes from there on */
};
struct tutti_region tutti_channel_region(const struct tutti_team *team, enum tutti_region_id id);
/* Bytes of each of the channel's two data halves, and the offset of the half that `epoch` uses. */
size_t tutti_channel_half(const struct tutti_team *team);
size_t tutti_channel_data(const struct tutti_team *team, uint32_t epoch);

/* Local, before this rank arrives at the call, on all ranks or none: shares its buffers, which spares
 * tutti_map_buffers() a vote. */
void tutti_offer_buffers(struct tutti_team *team, const struct tutti_reduce *call);
/* Shares this rank's buffers with its peers and maps those of the ranks in the mask `of` (the caller's own pointers are
 * put in where it is among them). Collective over the team. *mapped says whether all ranks could. The result's
 * buffer does not count on ranks that get nothing. */
enum {
    TUTTI_NOT_MAPPED,
    TUTTI_MAPPED,
    TUTTI_MAPPED_OVER /* and of a reduce-scatter some
rank's result lies over its contribution */
};
int tutti_map_buffers(struct tutti_team *team, const struct tutti_reduce *call, uint64_t of, const void *in[],
                      void *out[], int *mapped);

/* Bit r for every rank of the team. */
uint64_t tutti_all_ranks(const struct tutti_team *team);

/* Moves bytes between any two kinds of memory; done on return. */
int tutti_move(const struct tutti_team *team, void *to, const void *from, size_t bytes);

#endif
