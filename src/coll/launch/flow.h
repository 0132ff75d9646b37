/* Launches of flow kernels: shared by the algorithms in stream order. Private to coll/. */
#ifndef TUTTI_COLL_FLOW_H
#define TUTTI_COLL_FLOW_H

#include "coll/algorithm.h"

/* How an algorithm launches one kernel: filled in by its tutti_flow_shape. */
struct tutti_flow {
    enum tutti_kernel kernel;
    enum tutti_kernel leads; /* the kernel with which leaders take part in it */
    enum tutti_region_id region;
    size_t most;      /* the most elements of the contribution (SEGMENTS: of each segment) of a launch */
    unsigned blocks;  /* for `elements` */
    unsigned threads; /* of a block; 0: the kernels' own */
    unsigned rows;    /* of struct tutti_launch */
    int tells;        /* 1: the kernel starts with tokens: a rank stores one at each peer, and waits for theirs */
    size_t slice;     /* the same fields of the kernel's args */
    size_t room, chunk, depth;
};

/* The shapes of `pipeline`, `chain` and `ll128`, which other rows take for what goes through the windows. */
tutti_flow_shape tutti_pipeline_shape, tutti_chain_shape, tutti_ll128_shape;
/* 1 if flow kernels can run on this team: one rank a GPU. */
int tutti_flow_can(const struct tutti_team *team);
/* `can` of rows that ask for nothing else, and of rows that need lines too. */
int tutti_flow_row_can(const struct tutti_team *team, const struct tutti_call *call);
int tutti_flow_lines_can(const struct tutti_team *team, const struct tutti_call *call);
/* 1 if leaders can take part in them for the ranks of their GPUs: several GPUs, one of them with two ranks or more,
 * none with more than TUTTI_MAX_GPUS. */
int tutti_flow_leaders_can(const struct tutti_team *team);
/* 1 for the collectives with segments. */
int tutti_flow_segments(const struct tutti_call *call);
/* The call as a sequence of launches into `stream`. launch_number: stored in the team's done word by the last one;
 * 0: not stored. */
int tutti_flow_put(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                   uint32_t launch_number, tutti_flow_shape *shape);
/* The same on the team's stream, waiting for the end. */
int tutti_flow_run(struct tutti_team *team, const struct tutti_call *call, tutti_flow_shape *shape);
/* Both with buffers that all ranks' kernels reach in place, if peers have mapped them (kernels/mapped.inc). */
int tutti_flow_put_mapped(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                          tutti_flow_shape *shape);
int tutti_flow_run_mapped(struct tutti_team *team, const struct tutti_call *call, tutti_flow_shape *shape);
/* The same by the leaders alone, with the contributions and results of all ranks of their GPU, in rank order;
 * call->near holds for all of them. */
int tutti_flow_run_locals(struct tutti_team *team, const struct tutti_call *call, const struct tutti_locals *locals,
                          tutti_flow_shape *shape);
/* Collective: the run of a row for leaders, whose kernel is launched as `shape` says. */
int tutti_leader_flow(struct tutti_team *team, const struct tutti_call *call, int *fits, tutti_flow_shape *shape);
/* Local, before this rank arrives at the call: takes the scratch that the call may need. Later the device may have
 * to wait for other threads' kernels, and those for this rank. A failure occurs again in the run. */
void tutti_flow_prepare(struct tutti_team *team, const struct tutti_call *call);
/* What all launches of a call share. */
void tutti_flow_args(struct tutti_team *team, const struct tutti_call *call, struct tutti_flow_args *args);
/* In stream order a launch of at most half of the communicator's blocks lets the next one start at once (*early).
 * One that needs more than the other half must not start before it has ended: 0 then, 1 for all others. */
int tutti_flow_early(struct tutti_team *team, const struct tutti_stream *stream, unsigned blocks, uint32_t *early);
/* Takes the number of the next launch on the team's stream whose end the host waits for. */
uint32_t tutti_flow_number(struct tutti_team *team);
/* The notice of the last block of such a launch of `call`. */
uint32_t tutti_flow_notice(const struct tutti_call *call);
/* After such a launch, which returned `launched`: waits for its notice and ends what tutti_waiting_begin() began. */
int tutti_flow_finish(struct tutti_team *team, int launched);
/* Bytes of a slot of `ll`. All users of its region must use this layout: two consecutive launches share it. */
size_t tutti_ll_room(const struct tutti_team *team);
/* A barrier of kernels after the work of the team's stream, which stores the number of the launch. type, op: a
 * prepared pair. */
int tutti_ll_barrier(struct tutti_team *team, int type, int op, uint32_t launch_number);
/* Thread blocks for `units` of work, `each` of them for a block; at most as many as the team may have. */
unsigned tutti_flow_blocks(const struct tutti_team *team, size_t units, size_t each, size_t most);

/* Sets flow->blocks and rows for `bytes` of work, at least `least` a block: up to 2 * `most` blocks in rows of two,
 * within what the team may have. While the mark of one waits for acknowledgements, the other sends. room: bytes for
 * one piece of each block; a piece has `least` bytes or more. */
void tutti_flow_rows(const struct tutti_team *team, size_t bytes, size_t least, size_t most, size_t room,
                     struct tutti_flow *flow);

/* `blocks`, or fewer if `room` has less than `least` bytes for each of them. */
unsigned tutti_flow_blocks_in(size_t room, size_t least, unsigned blocks);

/* The row leader_name of an algorithm that leaders run too; ready: the algorithm's own condition of a team. */
#define TUTTI_LEADER_ROW(what, kernel, on, ready)                                                                      \
    static int leader_##what##_can(const struct tutti_team *team, const struct tutti_call *call)                       \
    {                                                                                                                  \
        (void)call;                                                                                                    \
        return tutti_flow_leaders_can(team) && (ready);                                                                \
    }                                                                                                                  \
    static int leader_##what##_run(struct tutti_team *team, const struct tutti_call *call, int *fits)                  \
    {                                                                                                                  \
        return tutti_leader_flow(team, call, fits, what##_shape);                                                      \
    }                                                                                                                  \
    const struct tutti_algorithm tutti_reduce_leader_##what = {                                                        \
        .name = "leader_" #what,                                                                                       \
        .collectives = (on),                                                                                           \
        .kernels = TUTTI_LAUNCHES(kernel),                                                                             \
        .maps_buffers = 1,                                                                                             \
        .waits_for_peers = 1,                                                                                          \
        .can = leader_##what##_can,                                                                                    \
        .run = leader_##what##_run,                                                                                    \
    };

#endif
