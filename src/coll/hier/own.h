/* A reduction over several nodes, and what a communicator keeps for them. Private to hier/. */
#ifndef TUTTI_COLL_HIER_OWN_H
#define TUTTI_COLL_HIER_OWN_H

#include "coll/hier/wire.h"
#include "coll/move.h"
#include "coll/nodes.h"
#include "progress/stall.h"
#include "sched/port.h"

/* A row of nodes.def: how a call is divided. */
struct tutti_nodes_row {
    const char *name;
    int leaders;  /* ranks of a node that exchange; 0: as many as every node has */
    int overlaps; /* 1: a node reduces the next piece while the one before is exchanged */
    int messages; /* 1: in the node by messages of host memory, for ranks with memory of GPUs too */
    const struct tutti_exchange_row *flat; /* how all ranks of the communicator exchange; the nodes do nothing. NULL:
                                              leaders of nodes exchange, by the rules */
    /* 1 if it can run a call; by facts that are the same on all ranks. NULL: always. */
    int (*can)(const struct tutti_hierarchy *hierarchy);
    int scans; /* 1: it can run scans, if the call is blocking or `flat` is not NULL */
    /* A blocking call, without pieces and steps; a status. name: of the program's call. NULL: by pieces and steps. */
    int (*run)(struct tutti_nodes *nodes, const struct tutti_call *call, const char *name);
};
#define TUTTI_NODES(name, text) extern const struct tutti_nodes_row tutti_nodes_##name;
#include "tutti/nodes.def"

/* choose.c: by the rules. NULL: the MPI makes the call. */
const struct tutti_nodes_row *tutti_nodes_choose(const struct tutti_nodes *nodes, enum tutti_collective collective,
                                                 size_t bytes);
const struct tutti_exchange_row *tutti_exchange_choose(const struct tutti_nodes *nodes, int n, size_t count,
                                                       size_t size);
int tutti_nodes_is_scan(enum tutti_collective collective);
/* 1 if kernels combine a leader's part of so many bytes; this rank's own choice. */
int tutti_nodes_by_kernels(const struct tutti_nodes *nodes, size_t bytes);

enum tutti_port_id { TUTTI_PORT_OUT, TUTTI_PORT_IN, TUTTI_PORT_COMBINE, TUTTI_PORTS };
enum { TUTTI_AREAS = 2 }; /* pieces under way at a time */

/* Of blocking and of nonblocking calls: one call of each form may be under way. */
struct tutti_nodes_form {
    struct tutti_port port[TUTTI_PORTS];
    void *scratch; /* of a GPU; NULL: none */
    struct tutti_node *node;
    int gpu;
    unsigned life;
    size_t scratch_bytes;
};

struct tutti_nodes {
    struct tutti_hierarchy *hierarchy;
    int rules;
    int status; /* not TUTTI_OK: a call has failed, and all further ones do */
    int *all;   /* [ranks of the communicator, at least]: 0, 1, 2 ... */
    struct tutti_nodes_form form[2];
};

/* The step of a call within a piece. */
enum tutti_nodes_step { TUTTI_STEP_REDUCE, TUTTI_STEP_BEGIN, TUTTI_STEP_AWAIT, TUTTI_STEP_HAND_OUT };

struct tutti_nodes_call {
    struct tutti_nodes *nodes;
    const struct tutti_call *call;
    const struct tutti_nodes_moves *moves;
    const struct tutti_nodes_row *row;
    struct tutti_nodes_form *form;
    struct tutti_team *team;
    struct tutti_worker *worker; /* NULL: a blocking call */
    int tag; /* the first of the call's form, in both transports: TUTTI_WIRE_TAGS for each piece that is under way */
    /* The program's buffers: */
    int in_host, out_host; /* 1: the host reaches it */
    int in_gpu, out_gpu;
    char *scratch; /* of two pieces, where the node's reductions arrive; NULL: none */
    size_t size;   /* of an element */
    size_t each;   /* elements of a piece; the last one may be shorter */
    int pieces;
    int leaders;
    int all_get; /* 1: all ranks get the whole result, so leaders hand it out from the program's buffers */
    /* Its step: */
    int at, under_way; /* number of the step; 1: it has begun */
    int by_messages;   /* 1: some rank of the node has memory that kernels do not reach, or the team cannot be opened */
    int out_by_messages;
    int kernels;                 /* 1: kernels of in_gpu may combine contributions in pinned memory */
    struct tutti_sched *waiting; /* for this schedule; NULL: for a job */
    struct tutti_stall stall;    /* of a nonblocking call */
    struct tutti_host_memory area[TUTTI_AREAS], local_area; /* of a piece: `in` and `out` of the wire, and its room */
    struct tutti_wire wire[TUTTI_AREAS], local;
    struct tutti_nodes_stored { /* kernels have stored the result of a piece where it goes, and not in its area */
        const void *at;         /* NULL: in the area */
        size_t bytes;
        int back; /* 1: it is copied into the area */
    } stored[TUTTI_AREAS];
    /* The job under way, or run at once: */
    struct tutti_job job;
    int job_piece;
    enum tutti_reduce_outcome taken;
    const char *how; /* NULL: nothing was moved */
};

/* Piece p of the call, in elements. */
struct tutti_part_of tutti_nodes_piece(const struct tutti_nodes_call *c, int piece);
/* The part of a piece of `count` elements that local rank r leads; none on ranks that do not lead. */
struct tutti_part_of tutti_nodes_part(const struct tutti_nodes_call *c, size_t count, int r);
/* The elements of [begin, begin + count) of the reduced vector that rank r of the communicator gets, by their place in
 * the vector; *to: where they go. */
struct tutti_part_of tutti_nodes_wanted(const struct tutti_nodes_call *c, int r, struct tutti_part_of of, char **to);
/* The part of a piece that this rank exchanges, with how many participants, and how. */
struct tutti_part_of tutti_nodes_own_part(const struct tutti_nodes_call *c, int piece);
int tutti_nodes_participants(const struct tutti_nodes_call *c);
const struct tutti_exchange_row *tutti_nodes_exchange(const struct tutti_nodes_call *c, size_t count);
/* Where the reduction of this rank's part of a piece arrives. A call with a scratch. */
char *tutti_nodes_arrives(const struct tutti_nodes_call *c, int piece);
/* Host memory for the exchange of a piece, as long as the piece is under way. A status. */
int tutti_area_take_piece(struct tutti_nodes_call *c, int piece);
/* An end at the program's memory, from byte `at` on. A status. */
int tutti_nodes_end(struct tutti_nodes_call *c, enum tutti_port_id id, int gpu, int host, void *memory, int area,
                    struct tutti_wire_end *out);

/* report.c, local: marks what the schedule that the call waits for is doing. */
void tutti_nodes_phase(const struct tutti_nodes_call *c);
/* report.c, local: writes which call waits, or has failed, and what it was waiting for. */
void tutti_nodes_stalls(const struct tutti_nodes_call *c, uint64_t seconds);
void tutti_nodes_fails(const struct tutti_nodes_call *c, int status);
void tutti_nodes_describe_call(const struct tutti_hierarchy *h, const struct tutti_call *call, const char *name,
                               const char *where, char *text, size_t size);

/* memory.c, local: opens the ports and the scratch that the call may need, as far as it can. */
void tutti_nodes_scratch(struct tutti_nodes_call *c);
/* kernels.c, local. 1 if kernels of the call's GPU can combine what leaders exchange: they are loaded, or are now. */
int tutti_nodes_kernels(const struct tutti_nodes_call *c);
/* Kernels combine in the wire of a piece, if they can and the rules choose them. A status. */
int tutti_nodes_wire_kernels(struct tutti_nodes_call *c, int piece, struct tutti_wire *w);
/* Copies a result that kernels have stored where it goes into the area of the piece, for messages. 1; 0: not yet; a
 * status. */
int tutti_nodes_bring_back(struct tutti_nodes_call *c, int piece);
/* where.c, local: a call of few bytes in memory of `gpu`, on the team of the own node; makes the kernel ready that
 * copies them, when such calls repeat. */
void tutti_nodes_few(const struct tutti_team *team, int gpu);
/* Where memory of the program is: *host: 1 if the host reaches it; *gpu: otherwise, the GPU that copies it. */
void tutti_nodes_look_at(const void *buffer, int *host, int *gpu);

/* level.c: the parts inside the node as jobs; blocking. tutti_nodes_reduce(): this rank's part of the piece is in
 * the scratch; taken: DECLINED on all ranks of the node if nothing was done. tutti_nodes_hand_out(): how NULL likewise.
 */
int tutti_nodes_reduce(void *call);
int tutti_nodes_hand_out(void *call);

/* local.c: the same by messages, as schedules: `local` is built. in: the part arrives in the piece's area, as `in` of
 * the wire. A status. */
int tutti_nodes_gather(struct tutti_nodes_call *c, int piece);
int tutti_nodes_scatter(struct tutti_nodes_call *c, int piece);

#endif
