/* Private to src/part/. */
#ifndef TUTTI_PART_OWN_H
#define TUTTI_PART_OWN_H

#include <pthread.h>
#include <stdatomic.h>
#include <uthash.h>

#include "core/status.h"
#include "p2p/p2p.h"
#include "part/marks.h"
#include "progress/engine.h"

/* ---- the channel: messages that the receiver expects from any rank ---- */

enum tutti_part_way {
    TUTTI_PART_RECORD,   /* a send request was created */
    TUTTI_PART_INLINE,   /* the data follow the head in the same message */
    TUTTI_PART_PIECES,   /* the data follow in messages of `piece` bytes, under the tag of the request */
    TUTTI_PART_RNDV,     /* the receiver fetches the data: `rts` */
    TUTTI_PART_PREPARED, /* from the receiver: its buffer is ready for the round */
    TUTTI_PART_ASK,      /* from the sender: it wants PREPARED of this round and of later ones */
    TUTTI_PART_GIVEN_UP  /* from the sender: the rest of the round is not sent; `tag` is the status */
};

struct tutti_part_head {
    uint64_t id, round;     /* of the sender's request */
    uint64_t bytes;         /* of the partitions; of a record: of the whole message */
    uint64_t piece, comm;   /* comm: of a record */
    uint32_t way, first, n; /* first: of a record, partitions of a transport partition */
    int32_t tag, data_tag;  /* of a record: the program's, and that of its pieces */
    int32_t rndv, rndv_rank;
    uint64_t rndv_sequence;
};

/* What follows the head of PREPARED: where kernels of the sender may store the message. */
struct tutti_part_offer {
    struct tutti_share share; /* shared: 0: nowhere */
    int32_t gpu;              /* of the buffer, by the receiver's count */
    int32_t marks, n;         /* marks of the receiver (team/marks.h), one for each transport partition; another one
                                 states the last round for which the offer holds */
    int32_t apart;            /* words between two marks: 1, or TUTTI_PREQUEST_LINE */
    uint32_t serial;          /* another one for each offer that differs from the one before */
    int32_t pad;
};
/* What that mark holds. */
static inline uint32_t tutti_part_offer_mark(uint32_t serial, uint64_t round)
{
    return serial << 20 | (uint32_t)(round & 0xfffff);
}

enum {
    TUTTI_PART_ROOM = 4032, /* bytes of a message of the channel: MPIs send as much without asking the receiver */
    TUTTI_PART_INLINE_MOST = TUTTI_PART_ROOM - (int)sizeof(struct tutti_part_head)
};

/* A message that arrived before its receive had begun that round. */
struct tutti_part_early {
    struct tutti_part_early *next;
    struct tutti_part_head head;
    unsigned char data[];
};

/* ---- data in messages of their own ---- */

/* A run of packed bytes of the request's buffer. */
struct tutti_part_run {
    struct tutti_part_run *next;
    uint64_t first, bytes, piece, at; /* at: so many are with the transport, or have been */
    int last;                         /* send: the last run of a round */
};

enum { TUTTI_PART_DEPTH = 8 }; /* pieces of a request that the transport has at a time */

struct tutti_part_piece {
    int busy;
    struct tutti_transfer transfer;
    uint64_t first, bytes;
    void *memory;                /* NULL: the request's buffer itself */
    struct tutti_bounce *bounce; /* of which `memory` is; NULL: of malloc() */
};

struct tutti_part_pieces {
    struct tutti_part_run *runs, **last;
    struct tutti_part_piece piece[TUTTI_PART_DEPTH];
    int busy;
};

/* ---- requests ---- */

/* What a receiver knows of a send request. */
struct tutti_part_record {
    struct tutti_part_of {
        uint64_t source, id;
    } of;
    uint64_t comm, bytes;
    int tag, data_tag, partitions;
    uint32_t each;                          /* partitions of a transport partition */
    int asked;                              /* 1: the sender wants to know when a round has been started */
    struct tutti_part *receive;             /* NULL: it has not been created yet */
    struct tutti_part_early *early, **last; /* in the order of arrival */
    struct tutti_part_record *next;         /* among those without a receive, in the order of arrival */
    UT_hash_handle hh;
};

struct tutti_part {
    struct tutti_part_args args;
    uint64_t each;                  /* packed bytes of a partition */
    struct tutti_elements elements; /* all of them, of this round */
    atomic_int active;
    int status, truncated;
    uint64_t dead_since; /* when the other side was first seen to be dead; 0: it lives */
    unsigned looks;      /* of lost.c */
    int lost;            /* 1: the other side has died: no round can be completed */
    uint64_t round;
    struct tutti_part *next, **at; /* among the active ones */
    struct tutti_part_pieces pieces;
    int rndvs;                                 /* messages by rendezvous that are under way */
    struct tutti_part_prequest *prequest;      /* NULL: kernels do not use it */
    const struct tutti_prequest *kernels_view; /* of the device request; NULL: none */
    int kernels_gpu;                           /* whose kernels use it */
    uint64_t put_round;                        /* the last round in which kernels may store, or the sender's may */
    int kernels_wait;                          /* 1: a round with a device request is open */
    struct tutti_part_put *put;                /* put.c; NULL: no kernel has stored its data so far */
    /* Of a send: */
    uint64_t id;
    int data_tag;
    int out; /* messages of the channel that the transport has */
    struct tutti_part_marks marks;
    uint32_t held_first, held_n; /* ready partitions that are not sent yet: small ones travel together */
    /* Of a receive: */
    struct tutti_part_record *record; /* NULL: not matched */
    struct tutti_part *behind;        /* among those that are not matched, in the order of their creation */
    int gone;                         /* the program has freed it; it still takes the next record */
    uint64_t prepared;                /* the round for which the sender knows that the buffer is ready */
    uint64_t unnamed;                 /* the sender's partitions that no message of this round has named yet */
    uint64_t missing;                 /* bytes of this round that have not arrived */
    _Atomic uint64_t *left;           /* [partitions]: bytes that have not arrived */
};

struct tutti_part_engine {
    struct tutti_transport *transport;
    struct tutti_p2p_worker worker;
    int aware, channel_tag, data_tag, data_tags, next_tag;
    uint64_t next_id;
    pthread_mutex_t lock; /* protects everything in this room */
    struct tutti_part *active;
    struct tutti_step step;
    /* What the channel and matching call upwards; part.c sets them. */
    void (*record_arrived)(int source, const struct tutti_part_head *head);
    void (*data_arrived)(int source, const struct tutti_part_head *head, const void *data);
    void (*bound)(struct tutti_part *part);
    void (*arrived)(struct tutti_part *part, uint64_t partition); /* of a receive with a device request */
    /* data: head->bytes bytes. */
    void (*prepared)(int source, const struct tutti_part_head *head, const void *data);
};
extern struct tutti_part_engine tutti_part_engine;

/* channel.c. The lock is held. */

/* Sends a head and `bytes` bytes, which `fill` (NULL: none) writes. of: its `out` counts the message; NULL: no
 * request. A status. */
int tutti_part_channel_send(int to, const struct tutti_part_head *head, struct tutti_part *of);
/* The same with data of the request's buffer behind the head. */
int tutti_part_channel_send_data(const struct tutti_part_head *head, uint64_t first, struct tutti_part *of);
/* The same with `bytes` bytes, head->bytes of them, and no request. */
int tutti_part_channel_send_more(int to, const struct tutti_part_head *head, const void *data);
/* Expects messages from now on. A status. */
int tutti_part_channel_listen(void);
void tutti_part_channel_poll(void);
void tutti_part_channel_close(void);

/* match.c. The lock is held. */

/* Announces a send request; a receive looks for its sender, or waits for it. A status. */
int tutti_part_match_send(struct tutti_part *part);
int tutti_part_match_receive(struct tutti_part *part);
/* A record has arrived. */
void tutti_part_match_record(int source, const struct tutti_part_head *head);
/* The record of a message; NULL: it is not known. */
struct tutti_part_record *tutti_part_record_of(int source, uint64_t id);
/* The program has freed the receive. 1: the caller frees it, 0: later. */
int tutti_part_match_free(struct tutti_part *part);
void tutti_part_match_close(void);

/* pieces.c. The lock is held. */

void tutti_part_pieces_init(struct tutti_part_pieces *pieces);
/* A status. last: of a send, the last one of the round. */
int tutti_part_pieces_add(struct tutti_part *part, uint64_t first, uint64_t bytes, uint64_t piece, int last);
/* Advances them; a status. */
int tutti_part_pieces_poll(struct tutti_part *part);
static inline int tutti_part_pieces_idle(const struct tutti_part_pieces *pieces)
{
    return !pieces->runs && pieces->busy == 0;
}
void tutti_part_pieces_close(struct tutti_part_pieces *pieces);

/* rndv.c. The lock is held. */

/* 1: the partitions are sent by a rendezvous, which `head` names. */
int tutti_part_rndv_send(struct tutti_part *part, uint64_t first, uint64_t n, struct tutti_part_head *head);
/* The message with that head could not be sent. */
void tutti_part_rndv_withdraw(struct tutti_part *part);
/* It has been sent. */
void tutti_part_rndv_sent(void);
int tutti_part_rndv_receive(struct tutti_part *part, uint64_t first, const struct tutti_part_head *head);
void tutti_part_rndv_poll(void);
void tutti_part_rndv_close(void);

/* send.c, receive.c. The lock is held. */

int tutti_part_send_start(struct tutti_part *part);
int tutti_part_send_done(const struct tutti_part *part);
/* Partitions are ready, as tutti_part_ready() and tutti_part_ready_list() say. */
enum tutti_part_wrong tutti_part_send_range(struct tutti_part *part, int first, int last);
/* A kernel has stored them in the receiver's buffer, and has set their marks. */
enum tutti_part_wrong tutti_part_send_stored(struct tutti_part *part, int first, int last);
enum tutti_part_wrong tutti_part_send_list(struct tutti_part *part, int n, const int partitions[]);
/* Sends the partitions that wait for others, unless runs wait for the transport or many messages for the receiver: then
 * they could not travel yet. A status. */
int tutti_part_send_held(struct tutti_part *part);
int tutti_part_receive_start(struct tutti_part *part);
int tutti_part_receive_done(const struct tutti_part *part);
/* The receive was matched while it was active. */
void tutti_part_receive_bound(struct tutti_part *part);
/* A message of the channel. data: head->bytes bytes of an INLINE message. */
void tutti_part_receive_data(int source, const struct tutti_part_head *head, const void *data);
/* prepare.c. The lock is held. */

/* PREPARED or ASK. data: what follows the head. */
void tutti_part_prepare_message(int source, const struct tutti_part_head *head, const void *data);
/* The receiver's offer for the round of a send that is active; NULL: there is none. */
const struct tutti_part_offer *tutti_part_prepare_offer(const struct tutti_part *part);
/* A round of a receive has been started. A status. */
int tutti_part_prepare_started(struct tutti_part *part);
/* A send request is freed. */
void tutti_part_prepare_forget(uint64_t id);
void tutti_part_prepare_close(void);

/* prequest.c, of a request with a device request. The lock is held. */

void tutti_part_prequest_start(struct tutti_part *part);
/* Sends what kernels have marked. A status. */
int tutti_part_prequest_poll(struct tutti_part *part);
/* A partition of a receive has arrived; the round has ended. */
void tutti_part_prequest_arrived(struct tutti_part *part, uint64_t partition);
void tutti_part_prequest_ended(struct tutti_part *part);

/* put.c: kernels store partitions in the receiver's buffer. The lock is held. */

/* 1 if kernels may store rounds of this request: the other side is of the node, and a rule says so. */
int tutti_part_put_is_possible(const struct tutti_part *part);
/* Of a receive that is active: offers its buffer for this round. 0: kernels cannot store there. */
int tutti_part_put_offer(struct tutti_part *part, struct tutti_part_offer *offer);
/* The offer is the same as the one that the sender knows: 1: it has been told so, without a message. */
int tutti_part_put_offer_again(struct tutti_part *part, struct tutti_part_offer *offer);
/* The sender knows of a round without an offer. */
void tutti_part_put_forget(struct tutti_part *part);
/* Of a send that is active: 1 if the receiver has started this round, and the last offer holds for it. */
int tutti_part_put_is_offered(const struct tutti_part *part, const struct tutti_part_offer *offer);
/* Of a send that is active, with a device request: kernels store this round where the receiver has offered, if they
 * can. 0: not known yet. */
int tutti_part_put_accept(struct tutti_part *part, const struct tutti_part_offer *offer);
/* Of a receive with a device request: its kernels see what kernels store in this round. */
void tutti_part_put_show(struct tutti_part *part);
/* Of a receive: counts what kernels have stored. A status. */
int tutti_part_put_poll(struct tutti_part *part);
/* The round has ended; the request is freed. */
void tutti_part_put_end(struct tutti_part *part);
void tutti_part_put_free(struct tutti_part *part);
/* ways.c. 1 if a rule lets kernels store partitions of some size; of `bytes` bytes. */
int tutti_part_kernels_may_store(void);
int tutti_part_kernels_store(uint64_t bytes);
/* lost.c. The lock is held. TUTTI_ERR_PEER from some time after the death of the other side on, if it is a rank of the
 * node. Looks now and then. */
int tutti_part_look(struct tutti_part *part);
/* 1 if the transport still has something of a request whose other side has died: its memory must stay. */
int tutti_part_must_stay(const struct tutti_part *part);

/* engine.c. The lock is held. */

/* Partitions of a transport partition, of a send. */
int tutti_part_prequest_each(const struct tutti_part *part);
/* A round begins (1) or ends (-1): if it has a device request, kernels may wait for this process meanwhile. */
void tutti_part_kernels(struct tutti_part *part, int more);
/* 1 if kernels may store partitions of this round. */
static inline int tutti_part_put_is_on(const struct tutti_part *part)
{
    return part->put && part->put_round == part->round;
}

/* Packed bytes [first, first + bytes) have arrived, and are in the buffer. */
void tutti_part_landed(struct tutti_part *part, uint64_t first, uint64_t bytes);
/* The round cannot be completed as it should. */
static inline void tutti_part_fail(struct tutti_part *part, int status)
{
    if (part->status == TUTTI_OK)
        part->status = status;
}
/* Packed bytes that the buffer holds. */
static inline uint64_t tutti_part_capacity(const struct tutti_part *part)
{
    return part->each * (uint64_t)part->args.partitions;
}
/* 1 if the transport may use the buffer itself for these elements. */
static inline int tutti_part_is_direct(const struct tutti_part *part)
{
    return part->elements.whole && (!part->elements.places.device || tutti_part_engine.aware);
}
/* Memory for `bytes` packed bytes of the request, from where kernels reach it if they must. NULL without memory. */
void *tutti_part_memory(const struct tutti_part *part, uint64_t bytes, struct tutti_bounce **bounce);
void tutti_part_memory_free(void *memory, struct tutti_bounce *bounce);

/* request.c: the program has freed it before, and nothing needs it any more. */
void tutti_part_destroy(struct tutti_part *part);

#endif
