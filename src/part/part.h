/* Partitioned messages between two ranks, over the transport: the sender marks partitions as ready, in any order and
 * from any thread, and each travels by itself.
 *
 * The two sides are matched when they are created, in the order of their creation, by communicator, ranks and tag. The
 * sender decides everything else: it numbers its request, and every message names that number, the round and the
 * partitions that it holds. So a sender needs nothing of the receiver before it sends, and the two sides may divide the
 * message into different numbers of partitions.
 *
 * All calls are local, wait for no rank and are safe from any thread that may use the transport. */
#ifndef TUTTI_PART_PART_H
#define TUTTI_PART_PART_H

#include "dtype/elements.h"
#include "progress/transport.h"

struct tutti_endpoint;
struct tutti_node;
struct tutti_part;

struct tutti_part_args {
    int send;       /* 1: a send; 0: a receive */
    int peer;       /* rank of the transport; -1: nothing is sent, and a receive gets nothing */
    int tag;        /* of the program */
    uint64_t comm;  /* the communicator: the same number on all of its ranks, and on no other communicator */
    int partitions; /* 0 is valid */
    int64_t count;  /* elements of a partition */
    const struct tutti_plan *plan; /* held by the owner as long as the request */
    void *buffer;
    int transports; /* of a send with a device request: transport partitions that the program wants; 0: it does not say
                     */
    int in_order, solid; /* of the layout: an element is one run of bytes; and the next one begins where it ends */
    /* A round has ended. Called with a lock of this room held: it does not call this room, and does not wait. */
    void (*ended)(void *with);
    void *with;
};

/* Local, by all ranks in the same order, before any other call: takes tags of the transport. endpoint: to ranks of the
 * node; NULL: none. aware: the transport takes device memory. TUTTI_ERR_UNAVAILABLE where there are no tags. */
int tutti_part_open(struct tutti_transport *transport, struct tutti_endpoint *endpoint, struct tutti_node *node,
                    int aware);
/* Nothing is under way any more. Calls without an open are fine. */
void tutti_part_close(void);
/* 1 between open and close. */
int tutti_part_is_open(void);

/* Matches: the order of these calls counts. NULL without memory. */
struct tutti_part *tutti_part_new(const struct tutti_part_args *args);
/* It is not active. Takes NULL. */
void tutti_part_free(struct tutti_part *part);

/* The buffer of the next rounds. It is not active. */
void tutti_part_move(struct tutti_part *part, void *buffer);
/* Begins a round. A status; TUTTI_ERR_ARGUMENT: it is active. */
int tutti_part_start(struct tutti_part *part);
enum tutti_part_wrong {
    TUTTI_PART_FINE,
    TUTTI_PART_NO_SEND,    /* it is a receive */
    TUTTI_PART_NO_RECEIVE, /* it is a send */
    TUTTI_PART_INACTIVE,   /* no round has begun */
    TUTTI_PART_RANGE,      /* there is no such partition */
    TUTTI_PART_TWICE,      /* one of them is ready already */
    TUTTI_PART_FAILED      /* it could not be sent: tutti_part_status() */
};
/* Partitions [first, last] of a send are ready. Nothing is done if the answer is neither FINE nor FAILED. */
enum tutti_part_wrong tutti_part_ready(struct tutti_part *part, int first, int last);
/* The round of a send fails at both sides with this status: partitions that are not ready are not sent. Nothing is done
 * if it has ended or failed already. */
void tutti_part_give_up(struct tutti_part *part, int status);
/* The same of a list; it is checked as a whole. */
enum tutti_part_wrong tutti_part_ready_list(struct tutti_part *part, int n, const int partitions[]);
/* *flag: partition number `partition` of a receive has arrived; 1 if it is not active. FINE, RANGE or NO_RECEIVE. */
enum tutti_part_wrong tutti_part_arrived(struct tutti_part *part, int partition, int *flag);
/* The same of a receive, without progress. The partition exists. */
int tutti_part_has_arrived(const struct tutti_part *part, int partition);

/* Waits until each receive of the list is matched, and until the receive of each send of the list has been started. All
 * have been started. A status. */
int tutti_part_prepare(struct tutti_part *const parts[], int n);

/* prequest.c, local: a device request, before or after the start of a round; *out: for kernels. A status:
 * TUTTI_ERR_ARGUMENT: the request has one already; TUTTI_ERR_UNAVAILABLE: there is no device. end: TUTTI_ERR_ARGUMENT:
 * it is active. The request has ended its device request before it is freed, or frees it. */
struct tutti_prequest;
int tutti_part_prequest_new(struct tutti_part *part, struct tutti_prequest *out);
int tutti_part_prequest_end(struct tutti_part *part);

/* Of the last round that has ended: TUTTI_OK or why it failed. */
int tutti_part_status(const struct tutti_part *part);
/* 1 if the last round has ended with a failure. */
int tutti_part_has_failed(const struct tutti_part *part);
/* 1 if the message of that round was longer than the receive's buffer. */
int tutti_part_truncated(const struct tutti_part *part);
/* Bytes that it has received. */
uint64_t tutti_part_bytes(const struct tutti_part *part);

#endif
