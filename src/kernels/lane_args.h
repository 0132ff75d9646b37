/* Messages in stream order: what the lane kernel is given and what lies in the memory that it works on. Plain C, the
 * same bytes for every device. See lane.inc.
 *
 * For each ordered pair of ranks (sender, receiver) there are TUTTI_LANES lanes. A lane is a ring of slots in the
 * receiver's memory. All messages of one tag use one lane, so that the order in a lane is the order that MPI
 * guarantees. The chunks of all messages of a lane are numbered without end from 0: chunk q uses slot q modulo the
 * number of slots. The sender stores q + 1 in the slot's head when the chunk has arrived; the receiver stores q + 1 in
 * the slot's credit, in the sender's memory, when it has read the chunk.
 *
 * A message of up to TUTTI_LANE_PACKETS_OF(lane) bytes is one chunk of packets: 8 bytes each, 4 of the message and a
 * flag made of the chunk's number. The first packet holds the length. A packet arrives whole, so neither side waits for
 * stores to arrive before it stores a flag. Packets have places of their own: other data could look like a flag.
 *
 * Receives from any source or with any tag: lane_match.inc. */
#ifndef TUTTI_KERNELS_LANE_ARGS_H
#define TUTTI_KERNELS_LANE_ARGS_H

#include "kernels/args.h"

enum {
    TUTTI_LANES = 64,               /* of an ordered pair of ranks */
    TUTTI_LANE_STRIPES = 8,         /* parts of a message that blocks take chunks of independently */
    TUTTI_LANE_EAGER = 512,         /* operations that may be open at once: of calls that were not captured, */
    TUTTI_LANE_OPS = 1024,          /* and these with those of captures */
    TUTTI_LANE_AWAITED = 32,        /* most operations that a launch waits for */
    TUTTI_LANE_MATCHES = 16,        /* most matched messages that a launch starts, */
    TUTTI_LANE_PARTS = 16,          /* and most others */
    TUTTI_LANE_SLOTS = 544,         /* slots of all lanes of a pair, see tutti_lane_shape() */
    TUTTI_LANE_RINGS = 11648 << 10, /* data of all lanes of a pair, */
    TUTTI_LANE_BYTES = 13184 << 10, /* and its places for packets behind them */
    TUTTI_LANE_FIRST = 4,           /* lanes with large places for packets */
    TUTTI_LANE_PLACES = 4,          /* for packets, of each lane: chunk q uses place q modulo 4 */
    TUTTI_LANE_THREADS = 512        /* of a block */
};

/* A message of up to so many bytes goes as packets, and the bytes of a place for them: twice as many, and the first
 * packet. Longer ones go by chunks, since packets take the link twice. */
#define TUTTI_LANE_PACKETS_OF(lane) ((lane) < TUTTI_LANE_FIRST ? 16384u : 2044u)
#define TUTTI_LANE_PLACE_OF(lane)   ((lane) < TUTTI_LANE_FIRST ? 36u << 10 : 4u << 10)
/* Where the places of a lane begin, behind the rings. */
#define TUTTI_LANE_PLACES_OF(lane)                                                                                     \
    (TUTTI_LANE_PLACES * ((lane) < TUTTI_LANE_FIRST                                                                    \
                              ? (lane) * (36u << 10)                                                                   \
                              : TUTTI_LANE_FIRST * (36u << 10) + ((lane)-TUTTI_LANE_FIRST) * (4u << 10)))

/* What a receive accepts of a source, beside the number of a lane. */
enum { TUTTI_LANE_NONE = 254, TUTTI_LANE_ALL = 255 };
/* The peer of a receive from any source, as long as it is pending. */
#define TUTTI_LANE_ANY_PEER 0xffffu

/* The first lane, of the first tag, has a large ring, the next three have medium ones. Slots are a power of
 * two. The first lane has four slots for each block of a launch with the most blocks: while the link is full,
 * flags take longer than a chunk, and a sender with one slot left would wait for the credit. */
#define TUTTI_LANE_SLOTS_OF(lane) ((lane) == 0 ? 256u : (lane) < 4 ? 16u : 4u)
#define TUTTI_LANE_LOG_OF(lane)   ((lane) < 4 ? 15u : 13u) /* of the bytes of a slot */
#define TUTTI_LANE_CHUNK_OF(lane) (1u << TUTTI_LANE_LOG_OF(lane))

/* A direct send fills slots in part if the message then has so many chunks at most: one for each block of the launch,
 * and half of the ring. So more blocks move it at once. Its chunks are TUTTI_LANE_CHUNK_OF(lane) >> shift bytes; in the
 * smallest ones each thread of a block has 16 bytes. */
#define TUTTI_LANE_SPLIT_OF(lane) ((lane) == 0 ? 64u : TUTTI_LANE_SLOTS_OF(lane) / 2)
#define TUTTI_LANE_FITS(lane, bytes, shift)                                                                            \
    ((bytes) <= (uint64_t)(TUTTI_LANE_CHUNK_OF(lane) >> (shift)) * TUTTI_LANE_SPLIT_OF(lane))
#define TUTTI_LANE_SHIFT_OF(lane, bytes)                                                                               \
    ((lane) >= 4 ? 0u : TUTTI_LANE_FITS(lane, bytes, 2) ? 2u : TUTTI_LANE_FITS(lane, bytes, 1) ? 1u : 0u)

struct tutti_lane_shape {
    uint32_t slot; /* the first slot of the lane among those of the pair */
    uint32_t slots;
    uint32_t chunk;  /* bytes of a slot */
    uint32_t begins; /* where its data begin among those of the pair */
};

/* In the memory of the receiver, written by the sender. */
struct tutti_lane_head {
    uint64_t flag;  /* number of the chunk that lies in the slot, plus 1 */
    uint64_t bytes; /* of the whole message, */
    uint64_t first; /* its first chunk, */
    uint64_t shift; /* and how much shorter its chunks are than a slot */
};

/* One side of a pair of matched requests, in the memory of its rank. A matched message uses no lane: the sender's
 * kernels store it into the receiver's memory, which both sides know. Messages of a pair are numbered from 1 by the
 * starts of each side. The receiver stores n in the sender's port when its buffer is free for message n, the sender
 * stores n in the receiver's port when message n has arrived. */
struct tutti_lane_port {
    uint64_t flag; /* by the peer's kernels alone */
    uint64_t pad0[15];
    uint64_t starts; /* by this rank's kernels alone */
    uint64_t pad1[15];
};

/* One start of a matched request. */
struct tutti_lane_match {
    uint32_t op, send, peer, pad; /* peer: for reports */
    struct tutti_lane_port *own, *far;
    void *from, *to; /* a send: the message here, and its place in the receiver's memory */
    uint64_t bytes;
};

/* One message of a launch of several. Those of a TUTTI_LANE_GROUP have different lanes, and blocks of their own. */
struct tutti_lane_part {
    void *buffer;
    uint64_t bytes;
    uint32_t op, send, peer, lane;
    uint32_t first, blocks; /* GROUP */
    uint32_t nth, sends;    /* GROUP: a send is this one, from 0, of so many to its peer, */
    uint32_t lanes, pad;    /* by lanes below this number */
};

/* Of direct launches: what the blocks of one message share. */
struct tutti_lane_shared {
    uint64_t ended; /* blocks that have ended */
    uint64_t turn;  /* receives of several blocks */
    uint64_t known; /* of the last one: its number and the bytes of its message, see tutti_lane_direct_known() */
    uint64_t pad;
};

/* One send or receive. Only kernels of the rank that makes it use it. */
struct tutti_lane_op {
    uint64_t posted; /* number of the launch that posted it; published last */
    uint64_t done;   /* the same number when the operation is complete */
    uint32_t users;  /* blocks that look at it though their launch does not wait for it */
    uint32_t state;  /* enum tutti_lane_state */
    uint32_t send, peer, lane;
    uint32_t matched; /* 1: by the ports below, and no lane */
    uint32_t packets; /* 1: one chunk of packets */
    uint32_t shift;   /* as in struct tutti_lane_head */
    unsigned char *buffer;
    uint64_t bytes;  /* of the buffer */
    uint64_t number; /* of the message in the lane, or of the matched one */
    uint64_t first;  /* READY: its first chunk */
    uint64_t chunks;
    uint64_t length;                       /* bytes of the message */
    uint64_t moved;                        /* chunks that have been moved */
    uint64_t claim[TUTTI_LANE_STRIPES];    /* the next chunk of each stripe that no block has taken */
    struct tutti_lane_port *own, *far;     /* matched */
    unsigned char *to;                     /* matched sends */
    uint64_t order;                        /* sends by a lane: among all messages to the peer */
    uint32_t any;                          /* receives: 1: from any source, or with any tag */
    unsigned char accepts[TUTTI_MAX_GPUS]; /* pending receives: of each source a lane, TUTTI_LANE_NONE or _ALL */
};
enum tutti_lane_state {
    TUTTI_LANE_POSTED,  /* a receive whose message is not known yet */
    TUTTI_LANE_READING, /* a block reads its first head */
    TUTTI_LANE_READY,
    TUTTI_LANE_PENDING /* a receive that has no message of any lane yet */
};

/* One side of a lane, in the memory of the rank that it belongs to. */
struct tutti_lane_side {
    uint64_t messages; /* posted so far; of receives: that receives have taken */
    uint64_t known;    /* receives: messages whose chunks are known */
    uint64_t next;     /* the first chunk of the next message */
    uint64_t posted;   /* sends: the stamp of `messages` and of the order of the last one; peers read it */
    uint64_t place[TUTTI_LANE_PLACES]; /* sends: the chunk that used it last, plus 1; 0: not used yet */
};
enum { TUTTI_LANE_RECV, TUTTI_LANE_SEND };

/* The start of a rank's memory for lanes. The data of the lanes follow, by sender: TUTTI_LANE_BYTES each. */
struct tutti_lane_area {
    /* Used by the rank's own kernels alone. */
    uint64_t ticks;    /* launches that post, times TUTTI_TICKS; as in struct tutti_channel_flags */
    uint32_t failed;   /* not zero: a launch has left early; later ones leave too */
    uint32_t stop;     /* the launch beside the stream leaves, and clears it */
    uint64_t open;     /* operations that are not complete and that no launch in the stream waits for yet, or did */
    uint64_t started;  /* operations that no launch in the stream has waited for; of such launches alone */
    uint32_t matching; /* 1: a thread has the lock of the pending receives */
    uint32_t pending;  /* their number */
    uint64_t fair;     /* the source that the next of them looks at first */
    uint64_t pad[26];
    struct tutti_lane_shared shared[1 + TUTTI_LANE_PARTS]; /* of a DO, then of the parts of a GROUP */
    uint16_t waits[TUTTI_LANE_OPS];       /* their operations, in the order in which they were posted */
    uint64_t active[TUTTI_LANE_OPS / 64]; /* bit o: operation o is one of them */
    struct tutti_lane_side side[2][TUTTI_MAX_GPUS][TUTTI_LANES];
    struct tutti_lane_op op[TUTTI_LANE_OPS];
    /* Read by peers, as struct tutti_lane_side: posted is. */
    uint64_t readers[TUTTI_MAX_GPUS];                 /* of a group that have read the next; own kernels alone use it */
    uint64_t sent[TUTTI_MAX_GPUS];                    /* to each peer: messages so far, and lanes that had any */
    uint64_t order[TUTTI_MAX_GPUS][TUTTI_LANE_SLOTS]; /* of a message that begins in the slot: its stamp */
    /* Written by peers. */
    struct tutti_lane_head head[TUTTI_MAX_GPUS][TUTTI_LANE_SLOTS]; /* by the sender of that rank */
    uint64_t credit[TUTTI_MAX_GPUS][TUTTI_LANE_SLOTS];             /* by the receiver of that rank */
};

enum tutti_lane_what {
    TUTTI_LANE_WAIT,        /* waits for the operations of `await` */
    TUTTI_LANE_POST,        /* posts the operation, moves what can be moved at once, does not wait */
    TUTTI_LANE_DO,          /* posts the operation and waits for it */
    TUTTI_LANE_GROUP,       /* the same of its parts */
    TUTTI_LANE_BESIDE,      /* beside the stream: serves what is open, until nothing is */
    TUTTI_LANE_BESIDE_GRAPH /* the same in a graph: until it is stopped */
};

/* What the host gets of a message. */
struct tutti_lane_report {
    uint64_t bytes;
    uint32_t peer, lane; /* of receives from any source, or with any tag */
};

/* Operation 0 is that of TUTTI_LANE_DO: launches in the stream run one after the other. */
struct tutti_lane_args {
    uint32_t what; /* enum tutti_lane_what */
    uint32_t ranks, rank;
    uint32_t blocks;  /* as launched */
    uint32_t threads; /* of a block; 0: TUTTI_LANE_THREADS */
    uint32_t in_turn; /* 1: a block may begin when the one before has ended (host device); or a group has few blocks */
    uint32_t stops;   /* WAIT: stops the launch beside the stream at its end */
    uint32_t awaited; /* operations in `await` */
    /* POST and DO. */
    uint32_t op, send, peer, lane;
    uint32_t any; /* as in struct tutti_lane_op; then `accepts` holds for the peer and the lane */
    unsigned char accepts[TUTTI_MAX_GPUS];
    void *buffer;
    uint64_t bytes;
    void *area[TUTTI_MAX_GPUS]; /* struct tutti_lane_area of each rank, then its data */
    const volatile uint32_t *abort;
    volatile uint32_t *where;
    volatile uint32_t *failed; /* mapped host memory: enum tutti_left */
    uint64_t timeout_ns;
    uint16_t await[TUTTI_LANE_AWAITED];
    volatile struct tutti_lane_report *reports; /* WAIT and DO: mapped host memory, of each operation: gets the
                                                   reports of `await` at the end of the launch; NULL: not wanted */
    uint32_t matches;                           /* POST: not 0: starts these instead of `op` */
    uint32_t parts;                             /* POST and GROUP: the same */
    uint32_t shared;                            /* the number of the struct tutti_lane_shared of this message */
    uint32_t nth, sends, lanes;                 /* as in struct tutti_lane_part; sends: 0: the message is alone */
    /* What follows is no parameter of the kernel for DO. */
    union {
        struct tutti_lane_match match[TUTTI_LANE_MATCHES];
        struct tutti_lane_part part[TUTTI_LANE_PARTS];
    };
    /* Host device alone. */
    int (*host_wait)(void *host_wait_with);
    void *host_wait_with;
};

/* Bytes of a rank's memory for lanes. */
static inline uint64_t tutti_lane_area_bytes(unsigned ranks)
{
    return ((sizeof(struct tutti_lane_area) + 4095) & ~UINT64_C(4095)) + (uint64_t)ranks * TUTTI_LANE_BYTES;
}

#endif
