/* Streams of the program, and communicators whose calls go into them. */
#ifndef TUTTI_MPI_STREAMS_H
#define TUTTI_MPI_STREAMS_H

#include <stdatomic.h>

#include "mpi/comm/comms.h"
#include "mpi/real/door.h"

/* What an MPIX_Stream points to. */
struct tutti_mpix_stream {
    atomic_int users; /* the program, and communicators */
    int gpu;          /* -1: none in particular */
    int order;        /* enum tutti_stream_order */
    struct tutti_stream *stream;
};

/* Of a communicator over several nodes: its calls in stream order are made by the host, while the stream waits
 * (reduce/stream_proxy.c). The functions are local, except close(). */
struct tutti_reduction_args;
struct tutti_collective_args;
struct tutti_elements;
/* A message. run: its bytes, if they are one run; otherwise kernels pack `elements`. */
struct tutti_stream_message {
    const char *name;
    int send, peer, tag;
    size_t bytes;
    void *run;
    const struct tutti_elements *elements;
    int on_host;        /* only the host reaches the run, or, of persistent messages, the host does, too */
    MPI_Status *status; /* of a receive that the stream waits for; NULL: none */
};
struct tutti_stream_proxy {
    atomic_int failed; /* a status: a call has failed, and all further ones do */
    /* Puts the call, whose arguments have been checked, into the stream. A status. */
    int (*reduce)(const struct tutti_comm *comm, const char *name, const struct tutti_call *call);
    int (*move)(const struct tutti_comm *comm, const struct tutti_collective_args *args);
    /* started: NULL for a call that the stream waits for; otherwise *started is for wait(), to be called once; NULL: at
     * once. */
    int (*message)(const struct tutti_comm *comm, const struct tutti_stream_message *message, void **started);
    int (*wait)(const struct tutti_comm *comm, void *started, MPI_Status *status);
    /* Collective over the communicator, which is about to be freed, once its stream is idle; quick 1, in MPI_Finalize:
     * local, and kernels may still wait. */
    void (*close)(struct tutti_stream_proxy *proxy, int quick);
};

/* Messages between nodes that are started again and again, on `comm`, in any streams of one GPU, also by graphs. All
 * are local; statuses. */
struct tutti_persistent_message;
struct tutti_persistent_messages {
    /* args->on_host: the run is memory that the MPI uses itself, which keeps it until the stream has waited. */
    int (*open)(struct tutti_node *node, int gpu, MPI_Comm comm, const struct tutti_stream_message *args,
                struct tutti_persistent_message **out);
    /* Bytes of the pieces in which a message of so many bytes moves: the sender's choice. */
    size_t (*piece)(size_t bytes);
    /* In place of the tag and the bytes of args. */
    int (*match)(struct tutti_persistent_message *message, int tag, size_t bytes, size_t piece);
    /* Messages of one GPU, matched, each one once. A stream that has started one waits for it before the next start. */
    int (*start)(size_t n, struct tutti_persistent_message *const messages[], struct tutti_stream *stream);
    int (*wait)(size_t n, struct tutti_persistent_message *const messages[], struct tutti_stream *stream);
    /* TUTTI_OK, or why a start has failed. */
    int (*fault)(const struct tutti_persistent_message *message);
    /* No stream uses it. Takes NULL. */
    void (*close)(struct tutti_persistent_message *message);
};

/* Frees the communicator's resources of its stream, once the stream has done its work; `closing`, in
 * MPI_Finalize, does not touch the stream. 0 if the team must not be freed: kernels may still use it. */
int tutti_comm_stream_close(struct tutti_comm *comm, int closing);

/* Before the communicator is freed: waits for what is in its stream, if any, and says whether all of it has succeeded:
 * TUTTI_OK, or why not. */
int tutti_comm_stream_settle(MPI_Comm handle);
/* Before a collective on the communicator that is not in stream order: the same, and an error while its stream is
 * captured. */
int tutti_comm_stream_await(const struct tutti_comm *comm);
/* Why calls of communicators with this stream have failed; TUTTI_OK: none is known to. */
int tutti_comms_stream_fault(const struct tutti_mpix_stream *stream);

/* 1 if the info object names a stream of the device. */
int tutti_mpix_stream_named(MPI_Info info);
/* What mpix.h finds as MPIX_Stream_create, _free and _comm_create. */
int tutti_mpix_stream_create(MPI_Info info, struct tutti_mpix_stream **out);
int tutti_mpix_stream_free(struct tutti_mpix_stream **stream);
int tutti_mpix_stream_comm_create(MPI_Comm comm, struct tutti_mpix_stream *stream, MPI_Comm *out);

#endif
