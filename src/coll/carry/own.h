/* A move over several nodes, and what a communicator keeps for such calls. Private to carry/. */
#ifndef TUTTI_COLL_CARRY_OWN_H
#define TUTTI_COLL_CARRY_OWN_H

#include "coll/algorithm.h"
#include "coll/carry.h"
#include "coll/carry/handed.h"
#include "sched/port.h"
#include "team/board.h"

struct tutti_carry_call;

/* A row of nodes.def. */
struct tutti_carry_row {
    const char *name;
    uint32_t collectives;                   /* TUTTI_ON() of each */
    int (*run)(struct tutti_carry_call *c); /* a status */
};
#define TUTTI_CARRY(name, text) extern const struct tutti_carry_row tutti_carry_##name;
#include "tutti/nodes.def"

/* choose.c: by the rules. NULL: the MPI makes the call. */
const struct tutti_carry_row *tutti_carry_choose(int rules, const struct tutti_call *call);

enum { TUTTI_CARRY_WINDOWS = TUTTI_PORT_EVENTS }; /* windows of a direction of a wire under way at a time */
enum { TUTTI_CARRY_WIRES = TUTTI_CARRY_HANDED };  /* wires under way at a time: two over nodes, and one of the node */
enum { TUTTI_CARRY_OF_NODE = 2 };                 /* the last one */
enum tutti_carry_way { TUTTI_CARRY_OUT, TUTTI_CARRY_IN, TUTTI_CARRY_WAYS };

struct tutti_carry {
    struct tutti_hierarchy *hierarchy;
    int rules;
    int status;  /* not TUTTI_OK: a call has failed, and all further ones do */
    int *first;  /* [nodes + 1]: where each node's ranks begin in `member` */
    int *member; /* [ranks]: the ranks of all nodes, node by node, ascending in each */
    int *local;  /* [ranks]: number of each rank on its node */
    struct tutti_port port[TUTTI_CARRY_WIRES][TUTTI_CARRY_WAYS];
    void *scratch; /* of a GPU; NULL: none */
    int scratch_gpu;
    unsigned scratch_life;
    struct tutti_node *node; /* of the scratch */
    size_t scratch_bytes;
    /* For few bytes among the ranks of the node: of blocking and of nonblocking calls. */
    struct tutti_carry_board {
        struct tutti_board board;
        uint32_t calls; /* that have written on it */
        int refused;    /* 1: it could not be opened */
    } board[2];
};

/* Facts that all ranks know. */
static inline int tutti_carry_size_of(const struct tutti_carry *k, int node)
{
    return k->first[node + 1] - k->first[node];
}
static inline int tutti_carry_member(const struct tutti_carry *k, int node, int local)
{
    return k->member[k->first[node] + local];
}

/* Device memory of the communicator that ranks of the node may map; NULL without memory. Valid during the call. */
void *tutti_carry_scratch(struct tutti_carry *carry, int gpu, size_t bytes);
/* After a call: a large one is not kept. */
void tutti_carry_scratch_end(struct tutti_carry *carry);

struct tutti_carry_call {
    struct tutti_carry *kept;
    const struct tutti_hierarchy *h;
    const struct tutti_call *call;
    struct tutti_move *move;
    struct tutti_team *team;       /* of the node, for this form of call */
    struct tutti_carry_desk *desk; /* NULL: a blocking call */
    const struct tutti_carry_row *row;
    int rank, ranks;
    size_t piece;                         /* bytes of a message at most */
    struct tutti_move_block **to, **from; /* [ranks]: the block for, or of, each rank; NULL: none, or an empty one */
    struct tutti_host_memory aside;       /* copies of blocks that are overwritten, or have gaps */
    int by_messages; /* 1: kernels of the node cannot make this call's moves, so messages among its ranks do */
};

/* call.c: as tutti_carry_run(). desk: of a nonblocking call, which runs as a job. */
int tutti_carry_make(struct tutti_carry *carry, const struct tutti_call *call, struct tutti_carry_desk *desk,
                     const char **how);

/* elements.c, all local. Elements that are a run of bytes; elements NULL: tutti_plan_of_byte() fails without memory. */
int tutti_carry_run_of(void *at, uint64_t bytes, struct tutti_elements *out);
/* 1 if the host reaches all of them: no device is needed to move them. */
int tutti_carry_on_host(struct tutti_elements *elements);
/* Copies elements to others that hold as many bytes. A status. */
int tutti_carry_copy(struct tutti_elements *from, struct tutti_elements *to);
/* Replaces all blocks that this rank sends by copies in host memory, since blocks are received over them. A status. */
int tutti_carry_set_aside(struct tutti_carry_call *c);

/* meet.c: a move among the ranks of the node. Ranks of blocks are numbers of the node. root: of BCAST. */
struct tutti_carry_meet {
    enum tutti_collective collective; /* whose rules decide */
    int root;
    struct tutti_move_block *send, *receive;
    int sends, receives;
};
/* Collective over the node; blocking. A status. */
int tutti_carry_meet(struct tutti_carry_call *c, struct tutti_carry_meet *meet);
/* A meet with room for so many blocks; 0 without memory. */
int tutti_carry_meet_open(struct tutti_carry_meet *meet, enum tutti_collective collective, int sends, int receives);
void tutti_carry_meet_close(struct tutti_carry_meet *meet);
void tutti_carry_meet_send(struct tutti_carry_meet *meet, int to, const struct tutti_elements *elements,
                           uint64_t bytes);
void tutti_carry_meet_receive(struct tutti_carry_meet *meet, int from, const struct tutti_elements *elements,
                              uint64_t bytes);
/* Collective over the node; blocking. Moves the blocks of the call between ranks of this node. A status. */
int tutti_carry_meet_own(struct tutti_carry_call *c);

#endif
