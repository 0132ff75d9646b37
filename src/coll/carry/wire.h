/* Blocks that cross the transport. A block is cut into pieces of one length on both sides; each piece is a message. A
 * rank has a few *windows* of pieces under way in each direction: a window has host memory for its pieces, one copy
 * between it and the program's memory, and its messages. Pieces of host memory need no copy. A received piece may be
 * passed on to other ranks from the window's memory.
 *
 * Pieces are in one order on all ranks: all first pieces of blocks, then all second ones, and among them by the order
 * of the items. A window waits for windows before it alone, so the first piece that has not arrived can always be sent
 * and received: wires with items in a common order always progress. Private to carry/. */
#ifndef TUTTI_COLL_CARRY_WIRE_H
#define TUTTI_COLL_CARRY_WIRE_H

#include "coll/carry/handed.h"
#include "coll/carry/own.h"
#include "sched/tasks.h"

/* Several blocks of one rank in one row of bytes. */
struct tutti_carry_part {
    struct tutti_elements *elements;
    uint64_t end; /* of their packed form: bytes of this part and all parts before it */
};

/* What this rank sends, receives, or receives and passes on. */
struct tutti_carry_item {
    struct tutti_elements *elements;     /* of this rank; NULL: `part` */
    const struct tutti_carry_part *part; /* [parts] */
    int parts;
    uint64_t first, bytes; /* of their packed form */
    int from;              /* rank in the transport; -1: the elements are sent */
    const int *to;         /* [tos]: ranks to which they are sent, or passed on */
    int tos;
    int order; /* items are sorted by this */
};

struct tutti_carry_piece {
    struct tutti_carry_item *item;
    uint64_t first, bytes; /* of the packed form of the elements */
    char *memory;          /* of the messages */
    int copied;            /* 1: it is the window's */
    int tag;
};

enum { TUTTI_CARRY_PIECES = 64 };
struct tutti_carry_window {
    struct tutti_sched *sched; /* NULL: it is not under way */
    struct tutti_carry_flow *flow;
    struct tutti_host_memory area;
    struct tutti_carry_piece piece[TUTTI_CARRY_PIECES];
    int pieces;
    struct tutti_transfer_task *transfer;
    struct tutti_event *event;
};

/* wire_copy.c: the task of a window that copies its pieces; `with` is the window. */
extern const struct tutti_task_ops tutti_carry_copies;

/* One direction. */
struct tutti_carry_flow {
    struct tutti_carry_wire *wire;
    enum tutti_carry_way way;
    struct tutti_carry_item *item; /* sorted */
    int items;
    struct tutti_carry_part *part; /* an allocation, or NULL */
    uint64_t turn;                 /* the next piece: number `turn` of item `next` */
    int next;
    uint64_t turns;          /* pieces of the longest item */
    struct tutti_port *port; /* open on the GPU of the items' elements; NULL: none has any */
    struct tutti_carry_window window[TUTTI_CARRY_WINDOWS];
    int begun, ended; /* windows */
};

struct tutti_carry_wire {
    struct tutti_carry_call *call;
    struct tutti_transport *transport;
    int number;                       /* below TUTTI_CARRY_WIRES, of this wire */
    struct tutti_carry_handed handed; /* of a nonblocking call */
    struct tutti_carry_flow flow[TUTTI_CARRY_WAYS];
};

/* Local. Room for so many items in each direction. A status; close in any case. */
int tutti_carry_wire_open(struct tutti_carry_wire *wire, struct tutti_carry_call *call,
                          struct tutti_transport *transport, int number, int outs, int ins);
/* Adds an item, unless it is empty. */
void tutti_carry_wire_send(struct tutti_carry_wire *wire, struct tutti_elements *elements, uint64_t first,
                           uint64_t bytes, const int *to, int tos, int order);
void tutti_carry_wire_receive(struct tutti_carry_wire *wire, struct tutti_elements *elements, uint64_t first,
                              uint64_t bytes, int from, const int *pass_to, int tos, int order);
/* Adds an item of parts that are not empty, which stay. rank: of the other side; *rank stays too. */
void tutti_carry_wire_join(struct tutti_carry_wire *wire, enum tutti_carry_way way, const struct tutti_carry_part *part,
                           int parts, const int *rank, int order);
/* blocks.c: adds all blocks of one direction; those between two ranks share their messages, in the order of the list.
 * Empty blocks and those of rank `me` are left out; ranks: of the wire's transport. The list stays until the wire is
 * closed. Once for each direction. A status. */
int tutti_carry_wire_blocks(struct tutti_carry_wire *wire, enum tutti_carry_way way, struct tutti_move_block *block,
                            int blocks, int me, int ranks);
/* Starts what can be started. A status. */
int tutti_carry_wire_start(struct tutti_carry_wire *wire);
/* Waits until all has been sent and received. A status. */
int tutti_carry_wire_wait(struct tutti_carry_wire *wire);
/* Local: writes what the wire waits for, as a text. */
void tutti_carry_wire_where(const struct tutti_carry_wire *wire, char *text, size_t size);
/* status: negative where the call has failed: the wire is cancelled, and memory that may be in use is lost. */
void tutti_carry_wire_close(struct tutti_carry_wire *wire, int status);

#endif
