/* Windows whose ranks are all of one node and map each other's device memory: nothing of that memory passes through the
 * MPI or through host memory. Operations are kernels and copies of the origin on the memory of the target, epochs are
 * words in host memory that the ranks share. Where all memory of a window is device memory, the MPI has a window of no
 * bytes, for the handle and what is kept with it. Otherwise the MPI's window holds the host memory, and its epochs run
 * beside those of the words: windows that some ranks give host memory, and dynamic windows. */
#ifndef TUTTI_MPI_RMA_MAPPED_H
#define TUTTI_MPI_RMA_MAPPED_H

#include <pthread.h>
#include <stdatomic.h>

#include "dtype/elements.h"
#include "kernels/args.h"
#include "mpi/rma/rma.h"
#include "mpi/rma/slots.h"

struct tutti_mapping;
struct tutti_bounce;

/* A region of a peer's attached memory that this rank has mapped. */
struct tutti_reached {
    uint32_t generation; /* of its row; 0: none is mapped */
    int failed;          /* it could not be mapped: its descriptor is gone */
    struct tutti_mapping *mapping;
    char *base;
};

struct tutti_mapped_peer {
    char *base; /* of its window, as kernels of this rank's GPU reach it */
    uint64_t bytes;
    int64_t unit;
    int node;                       /* its node rank */
    struct tutti_mapped_slot *slot; /* its side of the window */
    struct tutti_mapped_line *line; /* of the slot */
    int direct;                     /* its memory is device memory, and mapped; otherwise it is the MPI's */
    struct tutti_reached *reached;  /* [rows] of dynamic windows; under the mutex */
    unsigned rows;
    struct tutti_mapping *mapping;
    int locked;                /* enum tutti_mapped_lock, by this rank */
    int started;               /* by MPI_Win_start of this rank: 1 not yet posted, 2 posted */
    int posted;                /* MPI_Win_post of this rank names it */
    uint32_t posts, completes; /* of that rank that this rank has waited for */
};
enum tutti_mapped_lock { TUTTI_LOCK_NOT, TUTTI_LOCK_SHARED, TUTTI_LOCK_EXCLUSIVE, TUTTI_LOCK_UNCHECKED };

/* Of a put or get whose buffer kernels do not reach: its packed elements in pinned memory. */
struct tutti_mapped_pinned {
    struct tutti_bounce *bounce;
    struct tutti_elements to; /* of a get, whose plan is held; no plan: of a put */
};

enum { TUTTI_MAPPED_JOBS = 64 };

/* Accumulates that the next completing call makes: of one type and operator, on elements that have nothing in common.
 */
struct tutti_mapped_added {
    int target;
    const char *from; /* memory that kernels reach */
    char *to;
    uint64_t bytes;
    struct tutti_bounce *bounce; /* that holds `from`, or NULL */
    struct tutti_memory memory;  /* of `from`, where it is the program's memory on a GPU */
};
struct tutti_mapped_batch {
    pthread_mutex_t mutex; /* taken before the word of a target, and that before the window's mutex */
    int type, op;
    unsigned n;
    const char *low, *end;      /* all of them store between the two */
    struct tutti_memory origin; /* that the latest of them reads: the program keeps it until they have ended */
    struct tutti_mapped_added of[TUTTI_MAPPED_JOBS];
};

/* What the host and the kernels of updates hand each other, in pinned memory. */
struct tutti_mapped_words {
    uint64_t value, expected, was;
    uint32_t done; /* TUTTI_MAPPED_DONE: the kernel has ended */
    struct tutti_update_item item[TUTTI_MAX_BLOCKS];
};
enum { TUTTI_MAPPED_DONE = 1 };

/* The launch of an update that is repeated. */
struct tutti_mapped_kept {
    struct tutti_launch launch; /* update: `args` */
    struct tutti_update_args args;
    unsigned calls;                  /* of this launch; 0: none is known */
    struct tutti_prepared *prepared; /* NULL: it is not ready */
};

struct tutti_mapped {
    MPI_Group group; /* of the window, where grouped */
    int grouped;
    int n, rank;
    int beside;                         /* the MPI's window has memory too, and epochs of its own */
    int met;                            /* `gpu` is known */
    int gpu;                            /* whose kernels work for this rank; -1: any */
    uint64_t bytes;                     /* of this rank's window */
    uint64_t window;                    /* its number, see slots.h */
    struct tutti_mapped_slot *slot;     /* of this rank; NULL: none */
    unsigned pairs;                     /* ranks that a slot has words for */
    int serves;                         /* see tutti_mapped_serve() */
    struct tutti_attachments *attached; /* of dynamic windows, otherwise NULL; the window's */
    int fenced;                         /* a fence has opened an epoch */
    int locked_all;                     /* 0, or 1 + the assertion */
    pthread_mutex_t mutex;              /* of what follows */
    struct tutti_stream *stream;        /* of updates; NULL: none yet */
    struct tutti_bounce *bounce;        /* pinned memory, of `words` */
    struct tutti_mapped_words *words;   /* of mapped_words.c */
    struct tutti_mapped_kept kept;      /* likewise */
    /* Puts and gets that the next completing call makes, in one launch. */
    unsigned jobs;
    int stores_far; /* one of them stores what is not near */
    struct tutti_pack_job job[TUTTI_MAPPED_JOBS];
    struct tutti_mapped_pinned pinned[TUTTI_MAPPED_JOBS];
    struct tutti_mapped_batch batch;
    struct tutti_mapped_peer peer[];
};

/* ---- mapped.c ---- */

/* The GPU that the program has met in this process: one whose memory it has passed, or the calling thread's. 0: none.
 */
int tutti_mapped_meet(int *gpu);
/* Collective over `comm`, whose ranks are known to this rank; some of them have device memory. *out is NULL on all
 * ranks where one of them cannot be mapped. *why: then the reason, on this rank. An MPI code. */
struct tutti_mapped_wish {
    void *base;
    MPI_Aint size, unit;
    int dynamic; /* of mapped.c */
};
int tutti_mapped_open(struct tutti_mapped **out, MPI_Comm comm, const struct tutti_mapped_wish *wish, const char **why);
/* The same for a dynamic window, in two steps without a message: before the MPI's call, which is local, and after it.
 * world: its `n` ranks in the world, or NULL. Its `attached` is empty then, of rows that all ranks see. begin: NULL
 * where this rank cannot. end: drops one that some rank could not begin: then *mapped is NULL on all ranks. */
struct tutti_mapped *tutti_mapped_begin(MPI_Comm comm, const int *world, int n, const char **why);
void tutti_mapped_end(struct tutti_mapped **mapped, const char **why);
/* Local. No rank uses the window any more. */
void tutti_mapped_close(struct tutti_mapped *mapped);

/* ---- mapped_sync.c: epochs. Statuses of Tutti, TUTTI_ERR_ARGUMENT where no such epoch is open. ---- */

/* A fence: arrive, then wait. `all`: also where no rank reaches memory of this one directly. */
int tutti_mapped_arrive(struct tutti_mapped *mapped, int assert);
int tutti_mapped_meet_all(struct tutti_mapped *mapped, int all);
int tutti_mapped_lock(struct tutti_mapped *mapped, int target, int exclusive, int assert);
/* After a flush. */
int tutti_mapped_unlock(struct tutti_mapped *mapped, int target);
int tutti_mapped_lock_all(struct tutti_mapped *mapped, int assert);
int tutti_mapped_unlock_all(struct tutti_mapped *mapped);
int tutti_mapped_post(struct tutti_mapped *mapped, MPI_Group group);
int tutti_mapped_start(struct tutti_mapped *mapped, MPI_Group group);
int tutti_mapped_complete(struct tutti_mapped *mapped);
int tutti_mapped_wait(struct tutti_mapped *mapped);
/* *flag as MPI_Win_test. */
int tutti_mapped_test(struct tutti_mapped *mapped, int *flag);
/* Before an operation on the target: waits until its epoch has begun there. */
int tutti_mapped_enter(struct tutti_mapped *mapped, int target);
/* While this rank updates elements at the target, no other rank does. */
int tutti_mapped_update_begin(struct tutti_mapped *mapped, int target);
void tutti_mapped_update_end(struct tutti_mapped *mapped, int target);

/* ---- mapped_move.c ---- */

/* A buffer of the origin, or a part of the target's window. */
struct tutti_mapped_buffer {
    struct tutti_elements elements; /* no plan: see mapped_long.c */
    void *memory;                   /* of a target: where its elements count from */
    uint64_t bytes;
    int reached; /* kernels of the window's GPU reach all of it */
    int near;    /* all of it is memory of that GPU, which no other rank looks at */
};
/* *out from what the program gave; a type without a plan is TUTTI_ERR_UNAVAILABLE. known: what the memory at the
 * buffer's address is, or NULL. */
int tutti_mapped_buffer(const struct tutti_mapped *mapped, const void *memory, MPI_Count count, MPI_Datatype type,
                        const struct tutti_memory *known, struct tutti_mapped_buffer *out);
/* Bytes [first, first + bytes) of the buffer's packed elements, to or from pinned memory; done on return. */
int tutti_mapped_part(const struct tutti_mapped *mapped, enum tutti_direction direction,
                      struct tutti_mapped_buffer *buffer, uint64_t first, uint64_t bytes, void *pinned);
/* Bytes of `from` go to `to`, done on return. One of them is in a window, the other may be any memory. */
int tutti_mapped_move(const struct tutti_mapped *mapped, struct tutti_mapped_buffer *from,
                      struct tutti_mapped_buffer *to);
/* The same when the next completing call returns; a large buffer that kernels do not reach is moved at once. */
int tutti_mapped_move_later(struct tutti_mapped *mapped, struct tutti_mapped_buffer *from,
                            struct tutti_mapped_buffer *to);
/* All operations of this rank are done. */
int tutti_mapped_flush(struct tutti_mapped *mapped);

/* ---- mapped_update.c ---- */

/* The accumulating operations: `rma` on the part of the target's window that `target` is. now: 0: the next completing
 * call may make it. */
int tutti_mapped_update(struct tutti_mapped *mapped, const struct tutti_rma *rma, struct tutti_mapped_buffer *target,
                        int now);

/* Packed elements of the operation in host memory: `to` = `from` op `to`. */
int tutti_mapped_combine(const struct tutti_rma *rma, const void *from, void *to, uint64_t bytes);

/* ---- mapped_words.c: the stream and the pinned memory of updates. The window's mutex is held. ---- */

/* 1 if the device can make updates so. */
int tutti_mapped_words_can(void);
int tutti_mapped_words_open(struct tutti_mapped *mapped);
int tutti_mapped_words_gpu(const struct tutti_mapped *mapped);
/* Launches the kernel, whose number is TUTTI_MAPPED_DONE, and waits until it stores that in words->done. A launch of an
 * update that is repeated is kept ready. */
int tutti_mapped_words_launch(struct tutti_mapped *mapped, const struct tutti_launch *launch);

/* ---- mapped_batch.c: accumulates that wait for the call that completes them ---- */

/* The most bytes of an accumulate in it. */
enum { TUTTI_MAPPED_BATCH_MOST = 64 << 10 };
/* What the origin's memory is. The device is not asked where an accumulate that waits reads the same allocation. */
void tutti_mapped_batch_origin(struct tutti_mapped *mapped, const void *memory, struct tutti_memory *out);
/* Adds one of this type and operator; those before it run first where it cannot join them. Takes over the bounce
 * buffer, also on failure. */
int tutti_mapped_batch_add(struct tutti_mapped *mapped, const struct tutti_mapped_added *added, int type, int op);
/* Makes all of them, done on return: before each other update of this rank, so that its updates take effect in their
 * order. */
int tutti_mapped_batch_run(struct tutti_mapped *mapped);

/* ---- mapped_long.c: datatypes without a plan ---- */

/* 1 if all types of the operation have one. */
int tutti_mapped_has_plans(const struct tutti_rma *rma);
/* The operation on memory of the target, done on return; bytes: of its elements. kept: 1: it is the window's; 0: it is
 * a copy of it in host memory, and this rank is the target's updater if the operation accumulates. */
int tutti_mapped_long(struct tutti_mapped *mapped, const struct tutti_rma *rma, void *memory, uint64_t bytes, int kept);

/* ---- mapped_attach.c: dynamic windows ---- */

/* Makes a region of this rank's device memory reachable for all ranks: *share is for its row. A status;
 * TUTTI_ERR_UNAVAILABLE where some rank could not reach it. Never waits. */
int tutti_mapped_show(struct tutti_mapped *mapped, const void *base, uint64_t bytes, struct tutti_share *share);
/* After its row is filled. */
void tutti_mapped_shown(struct tutti_mapped *mapped, const struct tutti_share *share);
/* The region of this row, as kernels of this rank reach it. A status. */
struct tutti_attachment;
int tutti_mapped_reach(struct tutti_mapped *mapped, int target, const struct tutti_attachment *region, char **base);
/* Shows the others the GPU by which this rank reaches windows, if the program has met one. */
void tutti_mapped_show_gpu(struct tutti_mapped *mapped);
/* The same, and takes in what the ranks have shown since the last time. Never waits. */
void tutti_mapped_look(struct tutti_mapped *mapped);
/* Local. Unmaps what this rank has mapped. */
void tutti_mapped_leave(struct tutti_mapped *mapped);

/* ---- mapped_owner.c: attached memory that this rank cannot map ---- */

/* From now on this rank reads and writes its attached memory for others, by a thread. Again does nothing. */
void tutti_mapped_serve(struct tutti_mapped *mapped);
/* No rank uses the window any more. */
void tutti_mapped_serve_end(struct tutti_mapped *mapped);
struct tutti_by_owner {
    uint32_t row, generation; /* of the region */
    uint64_t at, span;        /* bytes of the region that the operation reaches, gaps included */
    int64_t lower;            /* of `at` from where the elements count from */
    uint64_t bytes;           /* of the elements */
};
/* The operation, done on return. A status. */
int tutti_mapped_by_owner(struct tutti_mapped *mapped, const struct tutti_rma *rma, const struct tutti_by_owner *what);

/* ---- mapped_run.c ---- */

/* The operation, with an MPI request that is complete where `request` is not NULL. PASS: the MPI raises the error.
 * STAGED: it is not on mapped memory, and goes the way of other windows, to rma->disp. */
enum tutti_rma_way tutti_mapped_run(const struct tutti_window *window, struct tutti_rma *rma, MPI_Request *request);

#endif
