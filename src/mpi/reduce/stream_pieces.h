/* Large reductions in stream order over several nodes, in pieces: while the host exchanges some, the stream copies
 * others to host memory, and kernels in it combine what has arrived and store the result. In between the stream
 * notifies the host without waiting, and waits for the end of a piece's exchange (ring/host_step.h).
 *
 * Beside coll/hier/wire.h, where the host starts each copy and combination when the messages before it have arrived:
 * here all of them are in the stream before the call returns, and a graph can hold them. The host only starts and tests
 * the collectives of the MPI that exchange the pieces. */
#ifndef TUTTI_MPI_STREAM_PIECES_H
#define TUTTI_MPI_STREAM_PIECES_H

#include "mpi/reduce/stream_reduce.h"
#include "ring/host_step.h"

struct tutti_bounce;
struct tutti_piece_slot;
struct tutti_stream;

/* An exchange of a piece: of contributions, or of results. All but the steps on the server's thread. */
struct tutti_piece_round {
    struct tutti_host_step post, wait; /* `post` is the first field */
    struct tutti_piece_slot *of;
    int started, done, waiting;     /* waiting: the stream waits for its end */
    struct tutti_piece_round *next; /* of those under way, in the order of their posts */
};

/* The memory of a piece, and of each TUTTI_STREAM_PIECES-th after it. */
struct tutti_piece_slot {
    struct tutti_stream_piece piece;
    struct tutti_piece_round round[2];
    struct tutti_stream_pieces *all;
};

struct tutti_stream_pieces {
    struct tutti_stream_reduction *of;
    struct tutti_piece_slot slot[TUTTI_STREAM_PIECES];
    struct tutti_bounce *memory;
    /* Of an execution, on the server's thread: pieces whose contributions were posted; exchanges that have ended; waits
     * that the stream has passed; exchanges that have not ended. */
    size_t posted, ended, passed;
    struct tutti_piece_round *under_way;
    /* Set by the user. begun: an execution begins; over: the stream has passed its last wait. On the server's thread.
     */
    void (*begun)(void *user);
    void (*over)(void *user);
    void *user;
    const atomic_int *failed; /* not 0: nothing begins any more, and no stream waits */
};

/* Local. `of` stays the caller's. Takes memory. A status; close() in any case. */
int tutti_stream_pieces_open(struct tutti_stream_pieces *all, struct tutti_stream_reduction *of);
void tutti_stream_pieces_close(struct tutti_stream_pieces *all);
/* Local. Puts the whole call into the stream. A status. */
int tutti_stream_pieces_enqueue(struct tutti_stream_pieces *all, struct tutti_host_steps *steps,
                                struct tutti_stream *stream);
/* On the server's thread, during an execution. 1: all exchanges have ended; 0: not yet; or a negative status. Never
 * waits. */
int tutti_stream_pieces_poll(struct tutti_stream_pieces *all);
/* On the server's thread, after a failure: the stream continues. */
void tutti_stream_pieces_release(struct tutti_stream_pieces *all);

#endif
