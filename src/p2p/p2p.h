/* Messages of device memory, as the door uses them: the MPI matches, this room moves the data. An RTS takes the
 * message's place in the MPI, and the protocols (protocols.h) do the rest.
 *
 * Among ranks of a node the RTS names a rendezvous (team/rndv.h). The receiver may fetch an offered message from the
 * sender's buffer. If the receiver does not fetch soon, or cannot, the message is packed into scratch, piece after
 * piece. If the receiver can map no memory of the sender, the transport carries it through pinned memory, part after
 * part. So a send is done when the data have left the program's buffer. The receiver is needed only if the scratch
 * has no room for the whole message. Then it is asked to look at its receives in every wait; if it does not for a
 * long time, the whole message goes into pinned memory. Messages to other nodes go in fragments (pipelined.h). */
#ifndef TUTTI_P2P_P2P_H
#define TUTTI_P2P_P2P_H

#include "core/reasons.h"
#include "dtype/elements.h"
#include "p2p/pipelined.h"
#include "p2p/protocols.h"
#include "progress/transport.h"
#include "team/endpoint.h"

/* Receivers mostly take messages in the order in which they were sent. A look at a rendezvous takes its line from the
 * receiver, which is about to write there. */
enum { TUTTI_SENDS_LOOKS = 2 };

/* State of a rank's protocols. All of it belongs to the caller. */
struct tutti_p2p_worker {
    struct tutti_endpoint *endpoint;   /* to ranks of the node; NULL: none */
    struct tutti_node *node;           /* of the transport's ranks */
    struct tutti_transport *transport; /* tags below TUTTI_RNDVS are this room's */
    struct tutti_pipelined *pipelined; /* to ranks of other nodes; NULL: none */
    int takes_always;                  /* 1: receivers take what was sent in all blocking calls of the MPI */
    struct tutti_p2p_send *sends;      /* list of posted sends, the oldest first; NULL at first */
    struct tutti_p2p_send **last;      /* the link behind the newest, if there are any */
    uint64_t watched;                  /* when the receivers' processes were last looked at */
    int watches;                       /* 1: they are, by this poll */
    uint64_t looked;                   /* when all sends were last looked at */
    uint64_t polled, away;             /* when sends were last polled; how long before that they were not */
    uint64_t landed;                   /* when a message was last seen to have landed (landed.c) */
    int looks_at_all;                  /* 1: this poll does; 0: only until it finds TUTTI_SENDS_LOOKS that are open */
    _Atomic uint64_t out;              /* bytes of the posted sends */
    _Atomic uint64_t awaited;          /* bits of ranks whose first memory of a GPU a long message has waited for */
};

/* Rules of messages. */
struct tutti_protocol_rules {
    /* Number of the row that the next rule names for a message of so many bytes; -1 past the last rule. far: of
     * messages to other nodes. *from: 0 at first. */
    int (*next)(int far, size_t bytes, int *from);
    /* The reason for which the rule that next() returned last stages a message. */
    enum tutti_reason (*why)(int from);
};

/* The rules of the sections `message` and `message_far`. The sender decides. */
extern const struct tutti_protocol_rules tutti_rules_of_messages;
/* 1 if TUTTI_RULES leave all messages to the MPI: the same on all ranks. */
int tutti_rules_stage_messages(void);

/* ---- sender ---- */

/* From this length on each receive looks for RTSs, also before the program has met a GPU. */
enum { TUTTI_MESSAGE_LOOKED = 512 };

struct tutti_carried;                 /* a part that the transport has */
enum tutti_shown {                    /* how the rendezvous names the buffer */
                   TUTTI_SHOWN_NOT,   /* it does not: the receiver cannot reach it */
                   TUTTI_SHOWN_BY_ID, /* not yet: if the message is offered, its allocation is named first */
                   TUTTI_SHOWN,       /* as an allocation that the receiver may have to map */
                   TUTTI_SHOWN_KNOWN  /* as an allocation that the receiver keeps mapped */
};

/* What rows have answered before a message had a rendezvous; all zero at first, but for what the caller knows. */
struct tutti_p2p_asked {
    const struct tutti_protocol_row *row; /* which the rules name first of those that do not leave the message; */
    int from;                             /* the place behind it in the rules; 0: no row has been asked */
    unsigned rows;                        /* bits of those that leave it, and of their substitutes */
    int lands;                            /* landed.c: 1: it can land */
    struct tutti_endpoint_verdict verdict;
};

/* One message at its sender. The caller fills the first members, zero for unknown ones, and keeps the memory until
 * tutti_p2p_data_out() and tutti_p2p_send_done() have returned 1. */
struct tutti_p2p_send {
    struct tutti_elements elements; /* another owner holds the plan */
    uint64_t bytes;                 /* of the packed message */
    int gpu;                        /* whose kernels reach the elements */
    uint64_t since;                 /* when it was posted; 0: the first poll sets it */
    uint64_t extra_grace;           /* ns more than usual that the receiver may take */
    int now;                        /* 1: the data must leave the buffer before the receiver fetches */
    int local;                      /* 1: the send ends whether or not the receiver ever receives */
    int agreed; /* 1: a block of a collective: the MPI cannot carry it, and its receiver fetches every piece */
    /* Ranks of the node: */
    struct tutti_rndv *rndv;          /* NULL once the rendezvous is free again */
    const char *lowest;               /* lowest byte of the elements; NULL: they are not in one allocation */
    uint64_t allocation, extent;      /* its id and bytes (struct tutti_memory); 0: not known */
    struct tutti_endpoint_memo *memo; /* NULL: none */
    struct tutti_p2p_asked asked;
    /* Other nodes: */
    int to;            /* rank of the transport */
    uint64_t fragment; /* bytes; set by can() */
    struct tutti_outgoing *out;
    struct tutti_pipelined_rts rts; /* set by post() */
    /* The protocols' own: */
    enum tutti_shown shown;
    char *scratch;               /* of its pieces; NULL: none */
    uint64_t packed;             /* pieces that are packed */
    unsigned looks;              /* at an offer to this rank itself that it has not fetched yet */
    int spared;                  /* 1: the receiver's time has started again since this rank polled late */
    struct tutti_carried *parts; /* that the transport has */
    unsigned part_count;
    uint64_t carried, carried_at;      /* bytes given to it so far; when the last part was given, or sent */
    struct tutti_queued_copy put;      /* PUTTING: of this rank's engine, into the receiver's buffer */
    struct tutti_mapping *put_held;    /* of that buffer; NULL: none */
    int failed;                        /* a status: why the message cannot be sent completely */
    struct tutti_p2p_send *next, **at; /* links of the list */
};

/* The row that the first rule names for a message of so many bytes, to ranks of the node or (far) of others; *from: the
 * place behind that rule. NULL: the MPI has the message. Where it is staged by rule among ranks of the node, the reason
 * is set (core/reasons.h). */
const struct tutti_protocol_row *tutti_p2p_first(const struct tutti_protocol_rules *rules, int far, uint64_t bytes,
                                                 int *from);
/* 1 if a row of the rules moves blocks of collectives of so many bytes; otherwise the reason is set. */
int tutti_p2p_moves_blocks(const struct tutti_protocol_rules *rules, uint64_t bytes);
/* Local, before a rendezvous with rank `peer` of the node is taken for a message of so many bytes in memory of the
 * GPU. 1 if a row of the rules reaches the peer; 0: none does, and the reason is set. */
int tutti_p2p_reaches(struct tutti_p2p_worker *worker, int peer, int gpu, uint64_t bytes,
                      const struct tutti_protocol_rules *rules);
/* The same, of which `first` is the row that tutti_p2p_first() has returned: it is asked without the rules. The first
 * long message to a rank that has passed no memory of a GPU waits until it does, at most a small part of the time that
 * copies through host memory would take. */
int tutti_p2p_row_reaches(struct tutti_p2p_worker *worker, const struct tutti_protocol_row *first, int peer, int gpu,
                          uint64_t bytes, const struct tutti_protocol_rules *rules);
/* Local, after tutti_p2p_row_reaches() of asked->row, which tutti_p2p_first() has returned: 1 if the MPI is to carry
 * the message; the reason is set. No rendezvous is needed then. 0: *asked, which the send keeps. The message is one run
 * of bytes in this memory. Rows behind the first are asked if it is `unwaited`: no other message gains by them before
 * it has a rendezvous. */
int tutti_p2p_leaves(struct tutti_p2p_worker *worker, int peer, const struct tutti_memory *memory, uint64_t bytes,
                     struct tutti_p2p_asked *asked, const struct tutti_protocol_rules *rules);
/* Local, once for each message. 1 if the MPI is to carry a message of so many bytes, since the peer has received the
 * last such messages of this rank into memory of the host (to_host.c). */
int tutti_p2p_goes_to_host(struct tutti_p2p_worker *worker, int peer, uint64_t bytes);
/* Local. 1 if the receives of rank `peer` of the node look for the RTS of a message of so many bytes; otherwise the
 * reason is set. */
int tutti_p2p_is_looked_for(const struct tutti_p2p_worker *worker, int peer, uint64_t bytes);
/* The choice of a protocol for a message to a rank of the node. The rules name rows; of the first one that can carry
 * the message and its substitute, the one with the smaller cost is taken. If neither can now, rows with another
 * substitute are asked. Posts the message, and returns the row; NULL: no protocol can, and the reason is set. job: see
 * tutti_protocol_ops. */
const struct tutti_protocol_row *tutti_p2p_choose(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send,
                                                  const struct tutti_protocol_rules *rules, struct tutti_pack_job *job);

/* The caller serialises the calls below, of one worker. */

/* After the RTS was sent: tutti_p2p_poll() polls the rendezvous from now on. */
void tutti_p2p_list(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send);
/* Packs messages that were not fetched in time, and further pieces of messages under way: one launch for each GPU. */
void tutti_p2p_poll(struct tutti_p2p_worker *worker);
/* After a poll. 1 if the data are out of the program's buffer: the rendezvous is released. *status: TUTTI_OK, or why
 * they will never be received. */
int tutti_p2p_data_out(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, int *status);
/* 1 if the transport holds no part of it. */
int tutti_p2p_send_done(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send);
/* TUTTI_OK as long as the receiver may fetch it. */
int tutti_p2p_alive(struct tutti_p2p_worker *worker, const struct tutti_p2p_send *send);

/* ---- receiver ---- */

/* The content of an RTS of a rank of the node. Plain bytes. */
struct tutti_rts_head {
    uint64_t key[2], sequence, bytes;
    int32_t number, rank; /* of the rendezvous; node rank of the sender */
};

/* One message at its receiver, whose RTS has arrived. */
struct tutti_p2p_recv {
    struct tutti_elements elements;       /* the plan is held by the owner */
    uint64_t capacity;                    /* packed bytes that fit */
    uint64_t bytes;                       /* of the message */
    const struct tutti_protocol_ops *far; /* not NULL: of another node, by far_rts; otherwise by rts */
    struct tutti_rts_head rts;
    struct tutti_pipelined_rts far_rts;
    /* Elements without a plan: stores the whole packed message. A status. */
    int (*unpack)(struct tutti_p2p_recv *recv, char *packed);
    int fetched; /* 1: this rank fetches it, and does not ask the sender to store it */
    int engines; /* 1: copy engines store it, if it is a run of bytes on both sides; 0: a kernel */
    /* The result: */
    int ended;     /* 1: it is complete, or has failed */
    int status;    /* the status, once it is complete */
    int truncated; /* 1: it is longer than `capacity`, and nothing was stored */
    /* The protocols' own: */
    int landed;        /* 1: it has landed (landed.c) */
    int demanded;      /* 1: the sender was asked to pack, so the receiver does not fetch from its buffer any more */
    int asked;         /* not 0: the sender is to store the message here: it was asked, or cannot */
    uint64_t asked_at; /* time */
    uint64_t met;      /* when the receiver first found the sender's memory not mapped; 0: it has not looked */
    uint64_t taken;    /* pieces of a rendezvous that have been taken */
    uint64_t came;     /* bytes that the transport has carried */
    struct tutti_carried_part *part; /* not NULL: a part that the transport is receiving */
    struct tutti_p2p_flight *flight; /* not NULL: a kernel is fetching it */
    struct tutti_bounce *assembly;   /* not NULL: the packed message, of elements without a plan */
    int begun;                       /* 1: fragments were asked for */
    struct tutti_incoming *in;
};

/* Messages that are fetched together. at(): number i of n; NULL: it is not to be fetched. */
struct tutti_p2p_fetching {
    struct tutti_p2p_worker *worker;
    struct tutti_p2p_recv *(*at)(const struct tutti_p2p_fetching *fetching, int i);
    int n;
    int beside; /* 1: kernels may still be fetching on return; then the thread calls again, or calls tutti_p2p_land() */
    int last;   /* 1: the caller waits for no other messages: nothing is gained by leaving these to a later launch */
};
/* Fetches as much as can be fetched now, in one launch for each GPU; with `wait` all of them. */
void tutti_p2p_fetch_all(struct tutti_p2p_fetching *fetching, int wait);
/* Waits for the kernels that this thread has launched with `beside`. Cheap if no kernel runs. */
void tutti_p2p_land(void);
/* For a message of another node, whose recv->far_rts is set: sets its protocol and its bytes. */
void tutti_p2p_from_far(struct tutti_p2p_recv *recv);
/* Asks for the fragments of a message of another node; repeated calls do nothing. */
void tutti_p2p_begin(struct tutti_p2p_worker *worker, struct tutti_p2p_recv *recv);

#endif
