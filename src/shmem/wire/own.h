/* Private to wire/. All functions are called with the wire's lock held. */
#ifndef TUTTI_SHMEM_WIRE_OWN_H
#define TUTTI_SHMEM_WIRE_OWN_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/status.h"
#include "shmem/wire/wire.h"

enum { RECEIVES = 32, REQUESTS = 48, REPLIES = 16 };

/* Kinds of messages. Those up to NOTICE take a credit, and are numbered. */
enum what { PUT, GET, AMO, NOTICE, REPLY, ACK, ABORT, BYE, WHATS };

struct head {
    uint32_t what, data;   /* data: bytes behind the head */
    uint64_t number;       /* number, from 1 on, of messages that take a credit; REPLY: of the question */
    uint64_t applied;      /* messages of the receiver that the sender has applied */
    uint64_t at, n, block; /* as in struct tutti_wire_op */
    int64_t step;
    uint32_t bytes, changes, amo, word_bytes, fetches, unused;
    uint64_t word, value, compare;
};
enum { HEAD = 128 };
_Static_assert(sizeof(struct head) <= HEAD, "a head");

/* A message buffer: of a receive, or of a send. */
struct message {
    struct message *next;
    struct head *head;
    char *data;
    int pe;
    int under_way; /* the transport has it */
    struct tutti_transfer transfer;
    struct tutti_wire_op *op; /* send: complete once this has left; receive: answered by this */
    struct message **home;    /* send: the pool that it goes back to */
};

/* A question that was sent, in order: the part of the operation that it asks for. */
struct ask {
    struct tutti_wire_op *op;
    char *to; /* GET */
    size_t n, block, bytes;
    uint64_t number;
};

/* Of one far PE: messages without a buffer of the pool. */
struct control {
    struct head head;
    struct tutti_transfer transfer;
    int under_way;
};

struct peer {
    int pe;
    struct tutti_wire_op *first, **end; /* operations to be sent, in order */
    struct tutti_wire_op *unconfirmed, **unconfirmed_end;
    uint64_t sent, acked;           /* messages with a credit that were sent; those of them that were applied there */
    uint64_t applied, acknowledged; /* the peer's messages applied here; how many of them the peer knows of */
    uint64_t came;                  /* number of the last message received */
    uint64_t asked, answered, taken_answers; /* questions of this PE; answers that were stored, that arrived */
    struct ask ask[TUTTI_WIRE_CREDITS];
    uint64_t owed_in, owed_out; /* the peer's questions, to be answered in order */
    struct head owed[TUTTI_WIRE_CREDITS];
    struct control ack, abort, bye;
    int said_bye, has_bye;
};

struct tutti_shmem_wire {
    struct tutti_shmem_wire *next; /* among those whose buffers are lost */
    pthread_mutex_t lock;
    struct tutti_transport *transport;
    const struct tutti_wire_local *local;
    struct tutti_wire_users users;
    char *heap;
    _Atomic uint64_t heap_bytes;
    int status; /* not TUTTI_OK: the wire has failed */
    void *room; /* of all buffers */
    struct message receive[RECEIVES];
    unsigned head;  /* the receive that was posted first */
    unsigned taken; /* receives from it on that have arrived, and are in the batch */
    struct message request[REQUESTS], reply[REPLIES];
    struct message *free_requests, *free_replies;
    struct message *sending, **sending_end;
    /* Messages whose local work has begun and not ended, in order. No more is begun before it has ended. */
    struct message *batch, **batch_end;
    int begun; /* some of them have such work */
    int turn;  /* the peer that is first to send */
    struct tutti_wire_op *spare;
    const unsigned char *far; /* [size]: 1 if that PE is reached by messages */
    /* Peers with messages in either direction; others take no memory, and no time of a poll. */
    struct peer **peer;  /* [size], by PE; NULL: none */
    struct peer **known; /* [peers], in order of their first message */
    int peers;
};

/* wire.c. The state of a far PE, made with the first message; NULL: there is no memory. */
struct peer *tutti_wire_peer(struct tutti_shmem_wire *wire, int pe);
void tutti_wire_fail(struct tutti_shmem_wire *wire, int from, int status);
void tutti_wire_end_op(struct tutti_shmem_wire *wire, struct tutti_wire_op *op, int status);
/* Puts a message at the end of the batch; status: of its local work. */
void tutti_wire_batch(struct tutti_shmem_wire *wire, struct message *message, int status);
int tutti_wire_give_message(struct tutti_shmem_wire *wire, struct message *message);
/* value: of ABORT, see wire.h. */
int tutti_wire_give_control(struct tutti_shmem_wire *wire, struct peer *peer, struct control *control, enum what what,
                            uint64_t value);
struct message *tutti_wire_take_message(struct message **pool);
/* out.c: sends what may be sent; sends the answers that are due. finish: its local work has ended. */
void tutti_wire_push(struct tutti_shmem_wire *wire);
void tutti_wire_finish_send(struct tutti_shmem_wire *wire, struct message *message);
void tutti_wire_confirm(struct tutti_shmem_wire *wire, struct peer *peer);
/* in.c: handles received messages. */
void tutti_wire_take(struct tutti_shmem_wire *wire);
void tutti_wire_finish_receive(struct tutti_shmem_wire *wire, struct message *message);
int tutti_wire_post_receive(struct tutti_shmem_wire *wire, struct message *message);

#endif
