/* The protocols of messages: one row each, made from tutti/protocols.def, with the operations of its file. Rules
 * name rows; tutti_p2p_choose() (p2p.h) chooses one for a message. Only a row's own file knows which protocol it is. */
#ifndef TUTTI_P2P_PROTOCOLS_H
#define TUTTI_P2P_PROTOCOLS_H

#include "core/counters.h"
#include "rules/rules.h"

struct tutti_memory;
struct tutti_p2p_asked;
struct tutti_p2p_worker;
struct tutti_p2p_send;
struct tutti_p2p_recv;
struct tutti_p2p_fetch;
struct tutti_p2p_batch;
struct tutti_pack_job;

enum tutti_protocol {
#define TUTTI_PROTOCOL(name, node, far, outcome, reason, text) TUTTI_PROTOCOL_##name,
#include "tutti/protocols.def"
#undef TUTTI_PROTOCOL
    TUTTI_PROTOCOLS
};

/* What a protocol still needs before the message can be sent. The least is best. */
enum tutti_protocol_cost {
    TUTTI_COST_READY,
    TUTTI_COST_MAP,  /* the receiver must first map memory of the sender, or ask for another protocol */
    TUTTI_COST_NEVER /* this protocol cannot carry the message now */
};

/* All operations are local and never wait. NULL: nothing to do. */
struct tutti_protocol_ops {
    /* -- sender -- */
    /* Before a rendezvous is taken: 1 if rank `peer` of the node can receive messages from memory of this GPU by the
     * protocol now; otherwise the reason is set. NULL: of messages to other nodes, and the MPI's. */
    int (*reaches)(struct tutti_p2p_worker *worker, int peer, int gpu);
    /* Before a rendezvous is taken: 1 if the row and its substitute leave this message, a run of bytes in this memory,
     * to the rows behind them; the reason is set. NULL: never. */
    int (*leaves)(struct tutti_p2p_worker *worker, int peer, const struct tutti_memory *memory, uint64_t bytes,
                  struct tutti_p2p_asked *asked);
    /* 1 if the protocol can carry this message at all. */
    int (*can)(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send);
    /* What it needs for this message, which it can carry. May take resources that post() uses. */
    enum tutti_protocol_cost (*cost)(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send);
    /* Makes the message ready for its receiver, so that the RTS can be sent. 0: not possible, and nothing has
     * changed. job: NULL: packs what is necessary; otherwise the caller packs if job->bytes > 0 afterwards. NULL:
     * the MPI carries the message. */
    int (*post)(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_pack_job *job);
    /* Advances a posted message, at the time `now`: the next piece, or another way if the receiver does not fetch.
     * Packing jobs are added to the batch. */
    void (*poll)(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_p2p_batch *batch,
                 uint64_t now);
    /* 1 if the data of a message whose rendezvous is in a state of the protocol have left the program's buffer, and
     * need no further call of this rank. NULL: they never have. */
    int (*out)(const struct tutti_p2p_worker *worker, const struct tutti_p2p_send *send);
    /* No RTS of the posted message was sent. */
    void (*cancel)(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send);
    /* -- receiver -- */
    /* Fetches as much of the message as possible now. 1: *job must be run on fetch->gpu, many in one launch, and
     * then fetched() called; 0: later; -1: the message is complete, or has failed. */
    int (*fetch)(struct tutti_p2p_fetch *fetch, struct tutti_pack_job *job);
    /* The job has been run. 1: the message is complete. NULL: it always is. */
    int (*fetched)(struct tutti_p2p_fetch *fetch);
    /* The message is too long for the buffer. 1: its sender may be released; 0: later. */
    int (*drop)(struct tutti_p2p_fetch *fetch);
    /* -- both -- */
    int repeats;                 /* 1: messages like the last one may take it without a choice, see again.h */
    enum tutti_protocol instead; /* the substitute, if this row is not READY; TUTTI_PROTOCOLS: there is no substitute */
};

struct tutti_protocol_row {
    const char *name;
    int reaches[2];             /* ranks of the node; of other nodes */
    enum tutti_outcome outcome; /* its outcome in the counters */
    const char *reason;
    const char *text;
    const struct tutti_protocol_ops *ops;
};
extern const struct tutti_protocol_row tutti_protocols[TUTTI_PROTOCOLS];

/* The operations for a rendezvous in this state (enum tutti_rndv_state). The protocol may differ from the one that
 * posted the message: the sender packs a message that the receiver does not fetch in time. NULL: nothing to do now. */
const struct tutti_protocol_ops *tutti_protocol_at(uint32_t state);

/* direct.c, engines.c, packed.c, landed.c, carried.c, put.c, pipelined_row.c. carried: the fallback of packed if the
 * receiver can map nothing of the sender; put: what the receiver of an offered message may ask for. The section
 * `message` names neither. */
extern const struct tutti_protocol_ops tutti_direct_ops, tutti_engines_ops, tutti_packed_ops, tutti_landed_ops,
    tutti_carried_ops, tutti_put_ops, tutti_pipelined_ops;

/* The names in rules of messages to ranks of the node. */
extern const struct tutti_names tutti_protocol_names;

#endif
