/* Transport: a group of ranks that can exchange host memory. Made by src/mpi/ over a communicator, and by the tests
 * over threads. All pointers are host pointers, sizes bytes. Functions return TUTTI_OK or a negative status. Collective
 * calls are made by all ranks in the same order.
 *
 * Messages are as MPI's: those of one rank to another that a receive or probe could take are taken in the order in
 * which they were sent, receives are served in the order in which they were made. None of the calls waits. Memory
 * belongs to a transfer until test() says that it is done, or cancel() that it never was.
 *
 * Tags: several users share a transport. Each takes a range of tags by tutti_transport_tags(). */
#ifndef TUTTI_PROGRESS_TRANSPORT_H
#define TUTTI_PROGRESS_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

enum tutti_combine { TUTTI_COMBINE_MIN, TUTTI_COMBINE_MAX };

enum { TUTTI_ANY_RANK = -1, TUTTI_ANY_TAG = -1 };
enum { TUTTI_TRANSFER_MOST = INT32_MAX }; /* bytes of one message */

/* A send or receive that is under way. */
struct tutti_transfer {
    uintptr_t handle;
};
/* What a receive or a probe has met. */
struct tutti_transfer_status {
    int from, tag;
    size_t bytes;
};
/* A message that a probe has taken out: only receive_caught() gets it. */
struct tutti_caught {
    uintptr_t handle;
    struct tutti_transfer_status came;
};

/* A nonblocking collective that is under way. */
struct tutti_pending {
    uintptr_t handle;
};

enum { TUTTI_TAGS_LEAST = 32768 }; /* every MPI has so many */

struct tutti_transport {
    const struct tutti_transport_ops *ops;
    int rank, size;
    int tags;       /* there are tags from 0 to tags - 1, as many on all ranks; 0: it has no messages */
    int tags_taken; /* of tutti_transport_tags() */
    int any_thread; /* 1: threads that are not the program's may call it */
    char label[64]; /* name of the communicator, for reports */
};

struct tutti_transport_ops {
    /* Collective. */
    int (*barrier)(struct tutti_transport *transport);
    /* Collective; every rank gives `bytes`, rank r's land at out + r * bytes. in may not overlap out. */
    int (*allgather)(struct tutti_transport *transport, const void *in, void *out, size_t bytes);
    /* Collective; block r of `in` (bytes each) goes to rank r, block r of `out` comes from rank r. */
    int (*alltoall)(struct tutti_transport *transport, const void *in, void *out, size_t bytes);
    /* Collective, in place over `count` words. */
    int (*allreduce)(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how);
    /* Local; lets messages of the program move while it waits in the library. Cheap, never blocks. */
    void (*progress)(struct tutti_transport *transport);
    /* Local; node of this rank as an integer that is equal for ranks of one machine. Collective over the transport. */
    int (*node_color)(struct tutti_transport *transport, int64_t *color);

    /* ---- nonblocking collectives ---- */

    /* Collective, as above; all ranks make the nonblocking form. None waits. Buffers belong to the call until
     * pending_test() says that it has ended. Blocks of up to TUTTI_TRANSFER_MOST bytes. */
    int (*iallgather)(struct tutti_transport *transport, const void *in, void *to, size_t bytes,
                      struct tutti_pending *out);
    int (*iallreduce)(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how,
                      struct tutti_pending *out);
    /* Local. *done: the call has ended; its handle is not used again. */
    int (*pending_test)(struct tutti_transport *transport, struct tutti_pending *pending, int *done);

    /* ---- messages ---- */

    /* Local. A synchronous send is done when its receive has been matched, another one perhaps before. */
    int (*send)(struct tutti_transport *transport, const void *memory, size_t bytes, int to, int tag, int synchronous,
                struct tutti_transfer *out);
    /* Local. from may be TUTTI_ANY_RANK, tag TUTTI_ANY_TAG. A message that is longer than `room` is an error that
     * test() returns; the transfer has ended then, and the memory holds nothing of use. */
    int (*receive)(struct tutti_transport *transport, void *memory, size_t room, int from, int tag,
                   struct tutti_transfer *out);
    /* Local. *flag: such a message has arrived, and is taken out. */
    int (*probe)(struct tutti_transport *transport, int from, int tag, struct tutti_caught *out, int *flag);
    /* Local. Once for each message that was taken out. */
    int (*receive_caught)(struct tutti_transport *transport, struct tutti_caught *caught, void *memory, size_t room,
                          struct tutti_transfer *out);
    /* Local. *done: the transfer has ended; its handle is not used again. came (may be NULL) is set by receives. */
    int (*test)(struct tutti_transport *transport, struct tutti_transfer *transfer, struct tutti_transfer_status *came,
                int *done);
    /* Local. Takes back a receive. *cancelled: it has ended without a message; otherwise it has one, see test(). */
    int (*cancel)(struct tutti_transport *transport, struct tutti_transfer *transfer, int *cancelled);
};

/* Local, once at set-up by each user of the transport, by all ranks in the same order: the first of a range of `count`
 * tags that no other user has; -1: there are not so many left. The first range begins at 0. Ranges are not given back.
 */
static inline int tutti_transport_tags(struct tutti_transport *transport, int count)
{
    const int first = transport->tags_taken;
    if (count < 0 || count > transport->tags - first)
        return -1;
    transport->tags_taken += count;
    return first;
}

#endif
