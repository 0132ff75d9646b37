/* Calls in stream order over several nodes: what their files share. Private to src/mpi/reduce/stream_*.c. */
#ifndef TUTTI_MPI_STREAM_OWN_H
#define TUTTI_MPI_STREAM_OWN_H

#include "dtype/elements.h"
#include "mpi/move/collective.h"
#include "mpi/reduce/deferred_call.h"
#include "mpi/reduce/stream_pieces.h"
#include "mpi/reduce/stream_proxy.h"

struct proxy;
struct proxy_message;

/* One call in the stream, or in a graph: a reduction, the move of `later`, or a message. */
struct proxy_call {
    struct tutti_host_step step; /* the first field */
    struct proxy *of;
    const char *name;
    struct tutti_stream_reduction reduction;
    struct tutti_bounce *memory;        /* of `piece`, */
    struct tutti_stream_piece piece;    /* which is all of it, */
    struct tutti_stream_pieces *pieces; /* if it does not go by these */
    struct tutti_deferred_call *later;  /* holds a mover's arguments */
    struct tutti_exchange *exchange;    /* and its memory */
    struct proxy_message *message;
    MPI_Request request;
    uint64_t since; /* the stream waits, ns */
    int reported;
    int captured;              /* 1: a graph may be launched again; the gate knows */
    atomic_int over;           /* 1: the host has made it */
    struct tutti_event *event; /* the stream has passed it */
    struct proxy_call *next;
    struct proxy_call *behind; /* of those under way */
};

struct proxy {
    struct tutti_stream_proxy base; /* the first field */
    MPI_Comm own;
    struct tutti_stream_reduction_form form;
    struct tutti_host_steps *steps;
    struct tutti_node *node;
    struct tutti_stream *stream;
    int gpu;
    struct proxy_call *calls;
    atomic_long open; /* messages that the MPI has not ended */
    struct tutti_host_step last;
};

static inline struct proxy *proxy_of(const struct tutti_comm *comm)
{
    return (struct proxy *)comm->proxy;
}

struct proxy_message {
    struct tutti_host_step post; /* the first field */
    struct proxy_call *call;
    int send, peer, tag;
    int on_host; /* only the host reaches the run: the server's thread copies a receive, the stream what is sent */
    size_t bytes;
    char *run;                      /* the buffer, or NULL: */
    struct tutti_elements elements; /* its plan is held */
    struct tutti_bounce *memory;    /* NULL: no bytes */
    MPI_Status *status;             /* of the program, or NULL */
    /* On the server's thread: the MPI has not ended it; it has; the stream waits. */
    int open, done, waiting;
    MPI_Status found;
};

/* stream_server.c: calls under way, on the server's thread. begun: the host makes the call; begin: the same of a step.
 * poll: for tutti_host_steps_open(). over: the stream has passed it. */
void tutti_proxy_call_begun(void *with);
void tutti_proxy_call_begin(struct tutti_host_step *step);
void tutti_proxy_poll(void);
void tutti_proxy_call_passed(void *with);
void tutti_proxy_call_over(struct tutti_host_step *step);

/* stream_limit.c: a stream waits since then, ns: TUTTI_ERR_TIMEOUT where that is too long, otherwise 0; reports a long
 * wait once. */
int tutti_proxy_look_at_time(uint64_t since, int *reported, const char *name);

/* stream_proxy.c: the steps of the GPU, and the kernels that must be loaded for them. A status. */
int tutti_proxy_steps_open(const struct tutti_node *node, int gpu, int ranks, struct tutti_host_steps **out);

/* stream_put.c: on the program's thread. new: NULL without memory. prepare: before anything is put into the stream.
 * finish: the call is in the stream, or cannot be: takes it. is_put: something is. sweep: frees those that the stream
 * has passed, or all. Statuses. */
struct proxy_call *tutti_proxy_call_new(struct proxy *proxy, const char *name);
int tutti_proxy_call_prepare(struct proxy_call *call);
int tutti_proxy_call_finish(struct proxy_call *call, int status, int is_put);
void tutti_proxy_sweep(struct proxy *proxy, int all);
int tutti_proxy_reduce(const struct tutti_comm *comm, const char *name, const struct tutti_call *args);
int tutti_proxy_move(const struct tutti_comm *comm, const struct tutti_collective_args *args);

/* stream_message.c. poll: 1, 0 or a negative status; ended: after that. */
int tutti_proxy_message(const struct tutti_comm *comm, const struct tutti_stream_message *args, void **started);
int tutti_proxy_message_wait(const struct tutti_comm *comm, void *started, MPI_Status *status);
int tutti_proxy_message_poll(struct proxy_call *call);
void tutti_proxy_message_ended(struct proxy_call *call, int status);
int tutti_proxy_message_waits(const struct proxy_call *call);
void tutti_proxy_message_free(struct proxy_call *call);

#endif
