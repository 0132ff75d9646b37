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

/* A set of collectives. */
#define TUTTI_ON(collective)     (UINT32_C(1) << TUTTI_COLLECTIVE_##collective)
#define TUTTI_ON_REDUCE_SCATTERS (TUTTI_ON(REDUCE_SCATTER) | TUTTI_ON(REDUCE_SCATTER_BLOCK))
#define TUTTI_ON_SCANS           (TUTTI_ON(SCAN) | TUTTI_ON(EXSCAN))
#define TUTTI_ON_MOVES           (UINT32_C(2) * TUTTI_ON(NEIGHBOR_ALLTOALLW) - TUTTI_ON(BCAST)) /* and all in between */
#define TUTTI_ON_REDUCTIONS      (TUTTI_ON(ALLREDUCE) | TUTTI_ON(REDUCE) | TUTTI_ON_REDUCE_SCATTERS | TUTTI_ON_SCANS)
/* A set of kernels. */
#define TUTTI_LAUNCHES(kernel) (UINT32_C(1) << TUTTI_KERNEL_##kernel)

struct tutti_flow; /* coll/launch/flow.h */
struct tutti_runs; /* coll/move/runs.h */

/* Sets *flow for a launch over `elements` of the call, at most flow->most of an earlier answer (0 asks for `most`
 * alone). For reduce-scatters `elements` are those of the longest segment. Uses only facts that all ranks share. */
typedef void tutti_flow_shape(const struct tutti_team *team, const struct tutti_call *call, size_t elements,
                              struct tutti_flow *flow);
/* Sets *runs for a launch whose longest run on this rank, of those to and from peers, has `longest` bytes. Team open.
 */
typedef void tutti_runs_shape(const struct tutti_team *team, uint64_t longest, struct tutti_runs *runs);

/* One algorithm: the row at the end of its file. Facts about an algorithm that callers need are columns: no other
 * file compares names (tests/laws/laws.sh). The functions get the same facts on all ranks and so decide alike. */
struct tutti_algorithm {
    const char *name;     /* its name in algorithms.def */
    uint32_t collectives; /* collectives that it runs: TUTTI_ON() of each */
    uint32_t kernels;     /* kernels that it may launch: TUTTI_LAUNCHES() of each; leaders launch */
    int maps_buffers;     /* 1: it reads or writes peers' buffers in place, so ranks offer theirs when they arrive */
    int waits_for_peers;  /* 1: its kernels wait for peers' kernels, so all must be resident at once */
    int spares;           /* of a move: 1: it takes no multiprocessor */
    int stands_in;        /* 1: it takes a call if a row that waits for peers got too few multiprocessors */
    int last_resort; /* 1: through host memory and the transport, for any team, open or not. One row has it. Of moves:
                        the row if no rule fits */
    int posts;       /* of a move: 1: ranks post what they send, where they expect this row before they arrive */
    int any_length; /* of a move in stream order: ranks need not know the lengths of others' runs, which may be any. One
                       row has it */
    /* Of a row that is one kernel: how the kernel is launched. Such a row needs no run and no enqueue: callers go
     * through coll/call/row.h. NULL: `run` makes the call. */
    tutti_flow_shape *flow; /* of a reduction */
    tutti_runs_shape *runs; /* of a move */
    int places;             /* of `flow`: 1: the kernel reaches buffers in place that all peers have mapped */
    int lingers;            /* of `flow`: 1: a kernel that stays may make small calls */
    int leads;              /* of `runs`: 1: leaders can launch it for ranks that share GPUs */
    /* 1 if the open team can run the call, which is in `collectives`. A question, which changes nothing. NULL: always.
     */
    int (*can)(const struct tutti_team *team, const struct tutti_call *call);
    /* Local, of a move: a rule names the row, and the call has gone another way: counts what it has lost by that. NULL:
     * nothing. */
    void (*missed)(const struct tutti_team *team, const struct tutti_call *call);
    /* Local: what `run`, or in_stream `enqueue`, needs and peers' kernels must not wait for. When the team is opened
     * and a rule names the row, and again before this rank arrives at a blocking call. NULL: nothing. */
    void (*prepare)(struct tutti_team *team, int in_stream);
    /* Collective. Returns a status; *fits = 0 (on all ranks, nothing done) if it found out that it cannot after all. */
    int (*run)(struct tutti_team *team, const struct tutti_call *call, int *fits);
    /* Puts the call into `stream`; see tutti_enqueue(). NULL, and no shape: not in stream order. */
    int (*enqueue)(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream);
    const char *how; /* of a move: how the data went, for the statistics; static text */
};

/* Collective over the team's ranks: opens the team, agrees on thread blocks and rules. After a local failure the
 * team is unavailable on all ranks, which is no error. */
int tutti_open(struct tutti_team *team, int gpu);
/* A team that could not be opened is tried again: memory may be free by now, or the program may use other GPUs. All
 * ranks have passed device memory to the same calls, so all count alike; each failure doubles the number of calls
 * until the next try. */
void tutti_open_again(struct tutti_team *team);
/* Local. Prepares the kernels that the rules may choose for the call, before peers wait for this rank: loading a
 * kernel at its first launch may wait for other threads' kernels. Loading takes the driver about a millisecond a
 * kernel, so no others are loaded. A failure occurs again at the launch, which reports it to all ranks. Does nothing
 * if the team is not open, or this rank launches nothing. */
void tutti_prepare(struct tutti_team *team, const struct tutti_call *call);

#define TUTTI_ALGORITHM(name, order, text) extern const struct tutti_algorithm tutti_reduce_##name;
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
extern const struct tutti_algorithm *const tutti_algorithms[TUTTI_ALGORITHMS];

/* 1 if the row runs the call's collective and can run it on this team. */
int tutti_algorithm_can(const struct tutti_algorithm *row, const struct tutti_team *team,
                        const struct tutti_call *call);
/* The row that runs every call. */
const struct tutti_algorithm *tutti_algorithm_last(void);
/* The row that replaces one that waits for peers; NULL if none can run the call. */
const struct tutti_algorithm *tutti_algorithm_instead(const struct tutti_team *team, const struct tutti_call *call);

/* Local, when the team is opened, or in_stream when it gets a stream: prepares the rows that the first fitting rules
 * name for calls of any size. */
void tutti_rows_prepare(struct tutti_team *team, int in_stream);
/* Numbers of the sections of rules for a collective: the one for all calls, and the one for calls in stream order,
 * which is searched first. -1: it has no rules. */
int tutti_rules_section(enum tutti_collective collective);
int tutti_rules_section_enqueue(enum tutti_collective collective);

/* Contributions and results of this GPU: of one rank, or in `leader` of all ranks that share it. Indexes count
 * elements. */
struct tutti_locals {
    int n;
    int rank[TUTTI_MAX_RANKS];
    const void *in[TUTTI_MAX_RANKS];
    void *out[TUTTI_MAX_RANKS];
};

/* Collective over the leaders (others do not call): the whole call through windows, in pieces that fit them. On
 * return the results are stored. */
int tutti_oneshot_locals(struct tutti_team *team, const struct tutti_locals *locals, size_t count, int type, int op);
int tutti_twoshot_locals(struct tutti_team *team, const struct tutti_locals *locals, size_t count, int type, int op);

/* The arguments of a kernel for a call. */
enum tutti_shape tutti_shape_of(const struct tutti_call *call);

/* One launch, by every leader: reduces this GPU's share straight from all ranks' buffers into the results; on return
 * it is stored. Pointers are mapped device pointers, one a rank; out[r] if rank r has a result. Results may overlap
 * the same elements of the contribution. */
int tutti_direct_mapped(struct tutti_team *team, const struct tutti_call *call, const void *in[], void *out[]);
/* Collective, after tutti_map_buffers() by the leaders, with its answer: tutti_direct_mapped(), or through the
 * channels if results overlap contributions, until all results are stored. */
int tutti_direct_shared(struct tutti_team *team, const struct tutti_call *call, const void *in[], void *out[],
                        int mapped);

/* Starts filling args for the next launch: epoch, team, words. */
void tutti_launch_begin(struct tutti_team *team, struct tutti_kernel_args *args);
/* Launches on the team's stream; a failure breaks the team. */
int tutti_launch_end(struct tutti_team *team, struct tutti_kernel_args *args, enum tutti_kernel kernel, int type,
                     int op, unsigned blocks);
/* A whole call through the windows, in pieces that fit them, a launch each; on return the results are stored. sliced:
 * each GPU reduces a slice, and the results lie behind the contributions. */
int tutti_launch_windows(struct tutti_team *team, const struct tutti_locals *locals, size_t count, int type, int op,
                         enum tutti_kernel kernel, int sliced);
/* Called around the launches of kernels that wait for each other; see the device's contract. */
void tutti_waiting_begin(const struct tutti_team *team);
void tutti_waiting_end(const struct tutti_team *team);
/* Thread blocks of a GPU that moves `bytes`: the same on all ranks. waits: of a kernel that waits for other GPUs. */
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

/* Local, before this rank arrives at the call, on all ranks or none: shares its buffers, so that tutti_map_buffers()
 * needs no vote. */
void tutti_offer_buffers(struct tutti_team *team, const struct tutti_call *call);
/* Shares this rank's buffers with its peers and maps those of the ranks in the mask `of` (the caller's own pointers
 * are used if it is among them). Collective over the team. *mapped: 1 if all ranks succeeded. The result's buffer
 * does not count on ranks without a result. */
enum {
    TUTTI_NOT_MAPPED,
    TUTTI_MAPPED,
    TUTTI_MAPPED_OVER /* and in a reduce-scatter some rank's result overlaps its contribution */
};
int tutti_map_buffers(struct tutti_team *team, const struct tutti_call *call, uint64_t of, const void *in[],
                      void *out[], int *mapped);

/* Bit r for every rank of the team. */
uint64_t tutti_all_ranks(const struct tutti_team *team);

/* Moves bytes between any two kinds of memory; done on return. */
int tutti_move(const struct tutti_team *team, void *to, const void *from, size_t bytes);

#endif
