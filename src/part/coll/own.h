/* Private to src/part/coll/. */
#ifndef TUTTI_PART_COLL_OWN_H
#define TUTTI_PART_COLL_OWN_H

#include <pthread.h>
#include <stdatomic.h>

#include "bounce/bounce.h"
#include "core/status.h"
#include "device/device.h"
#include "part/coll/pcoll.h"
#include "part/marks.h"
#include "progress/engine.h"

/* ---- what builders describe ---- */

enum tutti_pcoll_base {
    TUTTI_PCOLL_SENDBUF,
    TUTTI_PCOLL_RECVBUF,
    TUTTI_PCOLL_SCRATCH,
    TUTTI_PCOLL_AGREEMENT,
    TUTTI_PCOLL_BASES
};

/* Partition p begins at base + offset + p * stride. */
struct tutti_pcoll_at {
    enum tutti_pcoll_base base;
    int64_t offset, stride;
};

/* A message to or from a neighbour, in as many partitions as this rank divides it. */
struct tutti_pcoll_edge {
    int peer, send, label, partitions;
    enum tutti_pcoll_base base;
    int64_t offset, count; /* count: elements of a partition */
    const struct tutti_plan *plan;
    int in_order, solid;
    int agreement;           /* 1: of ranks that agree to meet, in some rounds */
    struct tutti_part *part; /* NULL: it has no bytes */
};

/* Combines the terms of a partition from the left. With several groups: the terms of each, then the results. */
struct tutti_pcoll_fold {
    struct tutti_pcoll_at *term, out;
    int terms, groups;
    int *group_end; /* [groups]: ends of runs of terms */
    int64_t count;  /* elements */
};

/* Copies a partition, laid out by plans. */
struct tutti_pcoll_copy {
    struct tutti_pcoll_at from, to;
    const struct tutti_plan *from_plan, *to_plan; /* NULL: packed bytes */
    int64_t count;                                /* elements */
    uint64_t bytes;                               /* packed */
};

/* Waits for partitions of `ins` messages (and for the program's own, if `own`), works, marks those of `outs` messages.
 */
struct tutti_pcoll_step {
    int own;
    int in, ins, out, outs; /* places in the list of edges */
    int fold, copy;         /* numbers; -1: none */
};

/* Partitions that go through the same steps; each has a state of its own. */
struct tutti_pcoll_state {
    int step, arrived;         /* arrived: of the step's messages */
    int runs;                  /* 1: the device combines; `event` is recorded behind it */
    struct tutti_event *event; /* NULL: not created yet */
    atomic_int done;           /* 1: all steps */
};
struct tutti_pcoll_track {
    int partitions, steps, step_room, left; /* left: partitions that have not done all steps */
    struct tutti_pcoll_step *step;
    struct tutti_pcoll_state *state;
};
enum { TUTTI_PCOLL_SEND, TUTTI_PCOLL_RECV, TUTTI_PCOLL_TRACKS }; /* reductions and broadcasts use RECV alone */

/* Where the buffers of a round lie, and so who combines. */
enum tutti_pcoll_way {
    TUTTI_PCOLL_ON_HOST, /* all is host memory */
    TUTTI_PCOLL_KERNELS, /* kernels reach both buffers; the scratch is device memory */
    TUTTI_PCOLL_STAGED   /* the host combines; device memory is copied */
};

struct tutti_pcoll {
    struct tutti_pcoll_args args;
    const struct tutti_pcoll_row *row;
    int size;       /* bytes of an element that kernels combine */
    int partitions; /* of a broadcast or a reduction */
    int *order;     /* ranks in the order in which their contributions are combined */
    int *group_end, groups;
    /* The schedule. */
    struct tutti_pcoll_edge *edge;
    int edges, edge_room;
    int *list; /* numbers of edges */
    int listed, list_room;
    struct tutti_pcoll_fold *fold;
    int folds, fold_room;
    struct tutti_pcoll_copy *copy;
    int copies, copy_room;
    int finish; /* copies from here on are made for all partitions when nothing of the round is left */
    const struct tutti_plan **plan;
    int plans, plan_room;
    uint64_t scratch_bytes;
    struct tutti_pcoll_track track[TUTTI_PCOLL_TRACKS];
    int failed; /* a builder had no memory */
    /* Of the combination under way. */
    const struct tutti_plan *plan0; /* of a contribution */
    const void **in, **result;      /* terms; results of groups */
    unsigned char *writable, *result_writable;
    /* The round. */
    atomic_int active, open; /* open: messages that have not ended */
    int status;
    int met_ended;
    int met;                       /* 1: kernels of the ranks meet in this round */
    struct tutti_part_marks marks; /* of the send */
    enum tutti_pcoll_way way;
    char *base[TUTTI_PCOLL_BASES];
    /* Memory of a round, which is kept. */
    void *host_scratch;
    struct tutti_bounce *scratch;
    struct tutti_stream *stream;
    int gpu;
    unsigned life;
    struct tutti_pcoll *next, **at;        /* among the active ones */
    struct tutti_meeting *meeting;         /* NULL: kernels never meet */
    struct tutti_pcoll_prequest *prequest; /* NULL: kernels of the program do not use it */
};

/* An algorithm. */
struct tutti_pcoll_row {
    const char *name;
    unsigned kinds; /* bits 1 << enum tutti_pcoll_kind */
    /* 1 if it can make the call: by facts that are the same on all ranks. NULL: always. */
    int (*can)(const struct tutti_pcoll *pcoll);
    /* Describes the schedule of this rank. */
    void (*build)(struct tutti_pcoll *pcoll);
};
#define TUTTI_PCOLL(id, name, text) extern const struct tutti_pcoll_row tutti_pcoll_##id;
#include "tutti/pcoll.def"

/* Elements of a slice of `count` elements among `of` ranks. */
struct tutti_part_slice {
    int64_t begin, count;
};
static inline struct tutti_part_slice tutti_pcoll_slice(int64_t count, int of, int which)
{
    const int64_t each = count / of, more = count % of;
    return (struct tutti_part_slice){which * each + (which < more ? which : more), each + (which < more)};
}

/* choose.c: by the rules. agree: collective over the transport. */
void tutti_pcoll_agree(struct tutti_transport *transport);
const struct tutti_pcoll_row *tutti_pcoll_choose(const struct tutti_pcoll *pcoll);

/* Protects everything in this room; taken before that of part/. */
extern pthread_mutex_t tutti_pcoll_lock;

/* How `partitions` partitions of so many bytes each are reduced inside a node: by the schedule alone; in the engine's
 * kernels; or in those of the program too. The same on all ranks. */
enum tutti_pcoll_meets { TUTTI_PCOLL_MEET_NEVER, TUTTI_PCOLL_MEET_ENGINE, TUTTI_PCOLL_MEET_KERNEL };
enum tutti_pcoll_meets tutti_pcoll_meets(uint64_t bytes, int partitions);

/* ---- meet.c: kernels of the ranks meet (meet.h). The lock is held. ---- */

/* Local, when the request is built. free: it is not active. */
void tutti_pcoll_meet_new(struct tutti_pcoll *p);
void tutti_pcoll_meet_free(struct tutti_pcoll *p);
/* Of a round by the schedule: begins, if it is time, and advances the agreement. */
void tutti_pcoll_meet_attempt(struct tutti_pcoll *p);
void tutti_pcoll_meet_advance(struct tutti_pcoll *p);
/* 1 if the agreement needs this round to stay open. */
int tutti_pcoll_meet_is_open(const struct tutti_pcoll *p);
/* Ends the memory that all requests share. */
void tutti_pcoll_memory_close(void);
/* 1 if messages of the agreement are sent in this round. */
int tutti_pcoll_meet_attempts(const struct tutti_pcoll *p);
void *tutti_pcoll_meet_agreement(const struct tutti_pcoll *p);

/* meet_round.c. start: 1 if kernels meet in the round that begins. is_on: they do. */
int tutti_pcoll_meet_start(struct tutti_pcoll *p);
int tutti_pcoll_meet_is_on(const struct tutti_pcoll *p);
/* The host has marked partitions [first, last], or a kernel that could not combine them. A status. */
int tutti_pcoll_meet_mark(struct tutti_pcoll *p, int first, int last);
/* 1 if the result of a partition is complete. Any thread. */
int tutti_pcoll_meet_has(const struct tutti_pcoll *p, int partition);
enum tutti_meet_answer {
    TUTTI_MEET_WAITS,
    TUTTI_MEET_DONE,
    TUTTI_MEET_SCHEDULE, /* a rank has refused */
    TUTTI_MEET_LOST      /* *status: why the round cannot be completed */
};
enum tutti_meet_answer tutti_pcoll_meet_poll(struct tutti_pcoll *p, int *status);
/* This rank cannot complete the round. */
void tutti_pcoll_meet_fail(struct tutti_pcoll *p);
void tutti_pcoll_meet_leave(struct tutti_pcoll *p);
void tutti_pcoll_meet_end(struct tutti_pcoll *p);
/* For kernels of `gpu`: the view of this round, the marks of results, and what they hold when they are complete. 0:
 * they do not meet in this round. */
struct tutti_meet_seen {
    uint64_t view, marks;
    uint32_t reached;
};
int tutti_pcoll_meet_see(const struct tutti_pcoll *p, int gpu, struct tutti_meet_seen *out);

/* prequest.c: device requests of collectives. The lock is held. */
void tutti_pcoll_prequest_start(struct tutti_pcoll *p);
/* Calls `mark` for runs of partitions that kernels have marked; is_met: they have met other ranks. A status. */
int tutti_pcoll_prequest_poll(struct tutti_pcoll *p,
                              void (*mark)(struct tutti_pcoll *p, int first, int last, int is_met));
/* The round goes by the schedule after all. */
void tutti_pcoll_prequest_schedule(struct tutti_pcoll *p);
void tutti_pcoll_prequest_arrived(struct tutti_pcoll *p, int partition);
void tutti_pcoll_prequest_ended(struct tutti_pcoll *p);

/* ---- build.c: what builders call. Without memory pcoll->failed is set. ---- */

/* A message of block `block`, or of `count` elements of `plan` a partition from `at` on. Its number. */
int tutti_pcoll_edge_block(struct tutti_pcoll *p, int send, int peer, int label, enum tutti_pcoll_base base,
                           const struct tutti_pcoll_block *block, int partitions);
/* The same of `bytes` bytes from each `at` on. */
int tutti_pcoll_edge_bytes(struct tutti_pcoll *p, int send, int peer, int label, struct tutti_pcoll_at at,
                           uint64_t bytes, int partitions);
/* A new last step of a track; then its messages: all `in` before all `out`. */
struct tutti_pcoll_step *tutti_pcoll_step(struct tutti_pcoll *p, int track);
void tutti_pcoll_in(struct tutti_pcoll *p, struct tutti_pcoll_step *step, int edge);
void tutti_pcoll_out(struct tutti_pcoll *p, struct tutti_pcoll_step *step, int edge);
/* Room in the scratch. Its offset. */
int64_t tutti_pcoll_scratch(struct tutti_pcoll *p, uint64_t bytes);
/* A fold of `terms` terms in one group, or in `groups` groups; the caller fills in term[] and group_end[]. NULL without
 * memory. */
struct tutti_pcoll_fold *tutti_pcoll_fold(struct tutti_pcoll *p, struct tutti_pcoll_step *step, int terms, int groups,
                                          struct tutti_pcoll_at out, int64_t count);
void tutti_pcoll_copy(struct tutti_pcoll *p, struct tutti_pcoll_step *step, struct tutti_pcoll_copy copy);
/* A copy of all partitions at the end of the round; after all other copies. */
void tutti_pcoll_finish(struct tutti_pcoll *p, struct tutti_pcoll_copy copy);
/* Where partition 0 of a block lies. */
struct tutti_pcoll_at tutti_pcoll_at(enum tutti_pcoll_base base, const struct tutti_pcoll_block *block);
/* Room in the scratch for all partitions of a block as it is laid out. */
struct tutti_pcoll_at tutti_pcoll_slot(struct tutti_pcoll *p, const struct tutti_pcoll_block *block, int partitions);
void tutti_pcoll_schedule_free(struct tutti_pcoll *p);
/* Where this rank's own contribution lies. */
static inline enum tutti_pcoll_base tutti_pcoll_own(const struct tutti_pcoll *p)
{
    return p->args.in_place ? TUTTI_PCOLL_RECVBUF : TUTTI_PCOLL_SENDBUF;
}
/* 1 if the result of several terms has the same bits for any order and any brackets. */
int tutti_pcoll_exact(const struct tutti_pcoll *p);
/* 1 if the partial result of some terms can be a term: half precision is rounded once. */
int tutti_pcoll_partial(const struct tutti_pcoll *p);

/* ---- combine.c, memory.c. The lock is held. ---- */

static inline char *tutti_pcoll_address(const struct tutti_pcoll *p, struct tutti_pcoll_at at, int64_t partition)
{
    return p->base[at.base] + at.offset + partition * at.stride;
}
/* 1: done; 0: `state` runs; a status. */
int tutti_pcoll_combine(struct tutti_pcoll *p, const struct tutti_pcoll_fold *fold, int partition,
                        struct tutti_pcoll_state *state);
int tutti_pcoll_run_copy(struct tutti_pcoll *p, const struct tutti_pcoll_copy *copy, int partition);
/* Finds where the buffers lie, and gets the scratch. A status. */
int tutti_pcoll_prepare(struct tutti_pcoll *p);
void tutti_pcoll_memory_free(struct tutti_pcoll *p);

/* engine.c: a message has ended; with: its collective. */
void tutti_pcoll_edge_ended(void *with);
/* 1 if a partition of the result is complete in the round that is active. */
int tutti_pcoll_has(const struct tutti_pcoll *p, int partition);
/* Before a request is freed: what only the lock protects. */
void tutti_pcoll_detach(struct tutti_pcoll *p);

#endif
