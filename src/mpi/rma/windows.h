/* Windows of the program of which Tutti keeps something: buffers of the origin that are staged until an operation
 * completes, or a copy in host memory of a window in device memory. All local unless said otherwise; MPI codes. */
#ifndef TUTTI_MPI_RMA_WINDOWS_H
#define TUTTI_MPI_RMA_WINDOWS_H

#include <pthread.h>
#include <stdatomic.h>

#include "mpi/bounce/stage.h"
#include "mpi/comm/comms.h"

struct tutti_attachments;
struct tutti_mapped;
struct tutti_shadow;
struct tutti_request;

/* Buffers of one operation that are staged. The window keeps them until it completes the operation, a request of the
 * program's too: the first of the two that completes delivers the data. */
enum { TUTTI_RMA_ORIGIN, TUTTI_RMA_COMPARE, TUTTI_RMA_RESULT, TUTTI_RMA_BUFFERS };
struct tutti_unfinished {
    const char *call;
    int target;
    int users;     /* the window, a request; under the lock of unfinished.c */
    int delivered; /* likewise */
    struct tutti_stage stage[TUTTI_RMA_BUFFERS];
    struct tutti_unfinished *next;
};

struct tutti_window {
    MPI_Win handle;
    int separate;                       /* some rank's memory is device memory: public and private copies are two */
    struct tutti_shadow *shadow;        /* public copies of this rank's device memory; NULL: none */
    struct tutti_mapped *mapped;        /* NULL: operations are the MPI's */
    struct tutti_attachments *attached; /* of a dynamic window: device memory that ranks have attached */
    void *base;    /* the program's, if there is a shadow, or the window is mapped; of dynamic windows NULL */
    MPI_Aint size; /* likewise */
    int allocated; /* by MPI_Win_allocate, in `own` */
    void *own;
    struct tutti_unfinished *first, **last;
    struct tutti_window *next;
};

/* ---- windows.c ---- */

/* Dynamic windows of this process whose ranks may have attached device memory, even if this process has not, and are of
 * several nodes; those of one node have tutti_windows_have_foreign(). */
extern atomic_int tutti_windows_far;
/* NULL: nothing is kept of it. What is found stays until the program frees the window. */
struct tutti_window *tutti_window_find(MPI_Win handle);
/* The same; begins to keep something. NULL without memory. */
struct tutti_window *tutti_window_of(MPI_Win handle);
/* The program has freed the window. */
void tutti_window_drop(struct tutti_window *window);

/* ---- create.c ---- */

/* Whose ranks the communicator has, and their ranks in the world (NULL: not known; the caller frees them).
 * TUTTI_OF_OTHERS: they do not ask each other. */
enum tutti_whose tutti_ranks_asked(MPI_Comm comm, int **world, int *n);
/* 1 if they do. */
int tutti_ranks_ask(MPI_Comm comm);
/* Collective: the least of what the ranks say. An MPI code. */
int tutti_ranks_agree(MPI_Comm comm, int mine, int *least);

/* ---- unfinished.c ---- */

/* NULL without memory. */
struct tutti_unfinished *tutti_unfinished_new(const char *call, int target);
/* The MPI has taken the operation: the window keeps its buffers until it completes it. */
void tutti_unfinished_keep(struct tutti_window *window, struct tutti_unfinished *op);
/* The MPI has refused it. */
void tutti_unfinished_drop(struct tutti_unfinished *op);
/* A request of the operation, before the MPI's call. NULL without memory. */
struct tutti_request *tutti_unfinished_request(struct tutti_unfinished *op, MPI_Win win);
/* The window has completed operations with this target, or with all. */
enum { TUTTI_RMA_ALL = -1 };
int tutti_unfinished_complete(struct tutti_window *window, int target);
/* 1 if the window keeps buffers. */
int tutti_unfinished_any(struct tutti_window *window);
/* 1 if the MPI's data of an operation that it would hand on may still be under way after MPI_Win_flush_local. */
int tutti_unfinished_arrives(const struct tutti_window *window, int target);

/* ---- shadow.c: public copies of a window in device memory ---- */

/* Adds a public copy of `bytes` bytes of device memory, with what they hold, to the list. A status. */
int tutti_shadow_open(struct tutti_shadow **list, void *device, size_t bytes);
/* Of the copy that was added last. */
void *tutti_shadow_memory(const struct tutti_shadow *list);
/* Brings each of the two copies up to date with what has changed in the other since the last time. A status. */
int tutti_shadow_match(struct tutti_shadow **list);
/* The same for the last time; programs may have freed the memory before. */
int tutti_shadow_end(struct tutti_shadow **list);
/* Takes the copy of this memory out of the list; NULL: there is no copy. */
struct tutti_shadow *tutti_shadow_take(struct tutti_shadow **list, const void *device);
void tutti_shadow_close(struct tutti_shadow *list);

#endif
