/* Random valid MPI programs. All ranks draw the same program from a seed and a number, so each knows what all do and
 * what must come. A program is one list of steps; every rank makes its own ones in the order of the list. No program
 * can stand still: a step that may wait needs only steps before it in the list, or its partner beside it. */
#ifndef TUTTI_TESTS_PROGRAMS_H
#define TUTTI_TESTS_PROGRAMS_H

#include "kit.h"
#include "persistent.h"

/* What may be drawn; TUTTI_TEST_KINDS takes these names. */
/* clang-format off */
#define PROG_KINDS(X)                                                                                                  \
    X(send) X(ssend) X(bsend) X(rsend) X(isend) X(irecv) X(persistent) X(sendrecv) X(replace) X(self) X(null)          \
    X(probe) X(iprobe) X(mprobe) X(anytag) X(anysource) X(cancel) X(longer) X(truncate) X(types) X(freetypes)          \
    X(freeinit) X(device) X(host) X(large) X(bcast) X(gather) X(scatter) X(allgather) X(alltoall) X(reduce)            \
    X(allreduce) X(redscat) X(scan) X(barrier) X(blocking) X(icoll) X(vector) X(inplace) X(dup) X(split) X(idup)       \
    X(freeopen) X(late) X(reqfree) X(any) X(some) X(test) X(getstatus) X(skew) X(mixed) X(idupmix) X(nullstatus)       \
    X(selffree) X(pbsend) X(freecoll) X(oddplace) X(arenas) X(fresh) X(lag) X(selfall) X(pcoll) X(cart) X(graph)       \
    X(neighbor) X(neighborw) X(twice) X(above) X(nullroot) X(inter) X(interdup) X(part)         \
    X(ppcoll) X(bottom) X(wide) X(aside) X(guest) X(pinned) X(managed) X(packed) X(both)
/* clang-format on */
enum prog_kind {
#define PROG_KIND(name) PROG_##name,
    PROG_KINDS(PROG_KIND)
#undef PROG_KIND
        PROG_KIND_COUNT
};
extern const char *const prog_kind_names[PROG_KIND_COUNT];
struct prog_kinds {
    unsigned char may[PROG_KIND_COUNT];
};

enum {
    PROG_RANKS = 8,
    PROG_DIMS = 3, /* of a grid: two neighbours each, PROG_RANKS at most */
    PROG_RUNS = 8,
    PROG_COMMS = 16,
    PROG_ENDS = 200,
    PROG_REQS = 300,
    PROG_COLLS = 48,
    PROG_GROUPS = 8,
    PROG_STEPS = 1200,
    PROG_LISTED = 3000,
    PROG_IN_LIST = 24, /* most requests of one completion */
    PROG_GUARD = 64,
    PROG_PINNED = 9, /* memories: 0 ordinary host memory; below: device memory, an allocation each */
    PROG_MANAGED,    /* CUDA's; on other devices ordinary memory */
    PROG_MEMORIES,
    PROG_ANY = -2,     /* source or tag */
    PROG_NULL = -3,    /* MPI_PROC_NULL */
    PROG_NO_TAG = 9000 /* tags from here on are never sent */
};

enum prog_element { PROG_BYTE, PROG_SHORT, PROG_INT, PROG_DOUBLE, PROG_ELEMENTS };
extern const size_t prog_element_bytes[PROG_ELEMENTS];
extern const char *const prog_element_names[PROG_ELEMENTS];

/* A datatype: `k` elements in runs, in the order of the type map. Bytes, but for the lengths of the runs. */
enum prog_family { PROG_NAMED, PROG_CONTIGUOUS, PROG_VECTOR, PROG_INDEXED, PROG_STRUCT, PROG_FAMILIES };
struct prog_layout {
    enum prog_family family;
    enum prog_element element;
    int k, runs, disp[PROG_RUNS], len[PROG_RUNS];
    int resized;
    long lb, extent;
};

/* A buffer of a call: blocks of `count` of the type, beginning at `displ` extents. */
struct prog_side {
    int used, memory; /* 0: host, PROG_PINNED, PROG_MANAGED, others: allocations of device memory */
    int bottom, wide; /* the MPI is given MPI_BOTTOM and absolute addresses; a call with large counts */
    struct prog_layout layout;
    int blocks, count[PROG_RANKS], displ[PROG_RANKS];
    size_t place, bytes; /* in the arena of its memory */
    long lowest;         /* first byte used, from the address that the MPI is given */
};

/* One side of messages: the arguments of a send or a receive, persistent or not. Ranks are those of the world here;
 * peers may be PROG_ANY or PROG_NULL. */
enum prog_mode { PROG_MODE_SEND, PROG_MODE_SSEND, PROG_MODE_BSEND, PROG_MODE_RSEND };
struct prog_end {
    int rank, receives, comm, peer, tag, persistent, group;
    enum prog_mode mode;
    struct prog_side side;
    size_t n;        /* elements: sent, or room for */
    int packed;      /* not 0: the message is one of MPI_PACKED: 1: in host memory, 2: in device memory */
    int parts, mate; /* of a partitioned message: partitions, 0: it is none; of a send: the receiving end */
};

/* What may be open: an activation of a send or receive, a nonblocking collective, a duplication. Blocking calls have
 * one too. The number of a send's is the name of its contents. */
enum prog_type { PROG_SENDS, PROG_RECEIVES, PROG_COLLECTS, PROG_DUPLICATES };
struct prog_req {
    enum prog_type type;
    int rank, end;   /* end: or the collective, or the communicator */
    int partner;     /* the matching send's or receive's; -1: none yet, or known when it runs (group) */
    int group, slot; /* number of the receive in its group, in the order of posting */
    int probed;      /* by MPI_Mprobe: the receive is not started yet */
    int cancelled, freed;
    int portions, unmarked; /* of a partitioned send: steps that mark partitions, in all and yet to come */
    /* of the draw: */
    int started, done, clock[PROG_RANKS];
};

/* Messages to one rank that are received from any source: which comes when is not determined. */
struct prog_group {
    int comm, to, tag, any_tag, total, sends, receives;
    int from[PROG_IN_LIST], send[PROG_IN_LIST], receive[PROG_IN_LIST]; /* requests */
    size_t room;
};

enum prog_collective {
    PROG_BARRIER,
    PROG_BCAST,
    PROG_GATHER,
    PROG_GATHERV,
    PROG_SCATTER,
    PROG_SCATTERV,
    PROG_ALLGATHER,
    PROG_ALLGATHERV,
    PROG_ALLTOALL,
    PROG_ALLTOALLV,
    PROG_NEIGHBOR_ALLGATHER,
    PROG_NEIGHBOR_ALLGATHERV,
    PROG_NEIGHBOR_ALLTOALL,
    PROG_NEIGHBOR_ALLTOALLV,
    PROG_NEIGHBOR_ALLTOALLW,
    PROG_REDUCE,
    PROG_ALLREDUCE,
    PROG_REDUCE_SCATTER,
    PROG_REDUCE_SCATTER_BLOCK,
    PROG_SCAN,
    PROG_EXSCAN,
    PROG_COLLECTIVES
};
struct prog_coll {
    enum prog_collective kind;
    int comm, root, in_place, op; /* root: place in the communicator */
    int persistent, base;         /* a start of the request that collective `base` stands for; 2: that is freed */
    int parts[2];                 /* of a persistent one: partitions of both sides; 0: it is not partitioned */
    int k;                        /* elements of its types; 0: each rank has others */
    enum prog_element element;
    int counts[PROG_RANKS]
              [PROG_RANKS]; /* elements from one place of the communicator to another one, or to a neighbour */
    int lettered;           /* with neighbours, or between groups: what lies in the blocks has names: */
    signed char letter[PROG_RANKS][2][PROG_RANKS]; /* by place, side and block; -1: nothing comes */
    struct prog_side side[PROG_RANKS][2];
    int req[PROG_RANKS]; /* nonblocking */
};

enum prog_origin { PROG_WORLD, PROG_DUP, PROG_SPLIT, PROG_IDUP, PROG_CART, PROG_GRAPH, PROG_INTER, PROG_ORIGINS };
/* Neighbours by place, in the order of the MPI; -1: MPI_PROC_NULL. */
struct prog_topology {
    int dims, dim[PROG_DIMS], periods[PROG_DIMS], weighted; /* dims 0: a graph */
    int ins[PROG_RANKS], outs[PROG_RANKS], from[PROG_RANKS][PROG_RANKS], to[PROG_RANKS][PROG_RANKS];
    int edge[PROG_RANKS][PROG_RANKS]; /* what comes from from[][i] is its block edge[][i] */
    int twice;                        /* some rank is another one's neighbour twice */
    int itself;                       /* some rank is its own neighbour */
};
struct prog_comm {
    enum prog_origin origin;
    int parent, size, members[PROG_RANKS], color; /* a place is an index of members, in most communicators the rank */
    int left;                  /* of an intercommunicator: so many members are the one group, the rest the other */
    int topology;              /* neighbours are those of p->topology[this]; -1: none */
    int wild;                  /* its messages are those of groups, received from any source with any tag */
    int loose;                 /* receives may have any tag; no groups then */
    enum prog_element element; /* of its messages */
    int ready, freed;          /* of the draw */
    int req[PROG_RANKS];       /* of MPI_Comm_idup */
};

enum prog_what {
    PROG_CALL,       /* blocking send or receive: a is its request */
    PROG_START,      /* nonblocking or persistent: a is its request */
    PROG_INIT,       /* a persistent end */
    PROG_DROP,       /* MPI_Request_free of a persistent end */
    PROG_EXCHANGE,   /* MPI_Sendrecv: requests a and b; _replace where both have one place; needed: the nonblocking call
                      */
    PROG_PROBE,      /* of the receive a; b: 0 MPI_Probe, 1 MPI_Iprobe until it is there */
    PROG_GLANCE,     /* MPI_Iprobe for what never comes: end a */
    PROG_MPROBE,     /* of the receive a; b: 0 MPI_Mprobe, 1 MPI_Improbe */
    PROG_COMPLETE,   /* requests listed from a on, b of them, the first `needed` for certain */
    PROG_CANCEL,     /* request a */
    PROG_FREE,       /* MPI_Request_free of request a */
    PROG_COLLECTIVE, /* collective a */
    PROG_BEGIN,      /* nonblocking collective: request a */
    PROG_MAKE,       /* communicator a; of split: b is the first of them, colours upwards */
    PROG_MAKE_LATER, /* MPI_Comm_idup: request a */
    PROG_UNMAKE,     /* MPI_Comm_free of a */
    PROG_SLEEP,      /* a microseconds */
    PROG_SETUP,      /* the persistent request of collective a */
    PROG_LEAVE,      /* MPI_Request_free of it */
    PROG_MARK        /* portion b of the partitions of request a */
};
enum prog_way {
    PROG_WAIT,
    PROG_WAITALL,
    PROG_WAITANY,
    PROG_WAITSOME,
    PROG_TEST,
    PROG_TESTALL,
    PROG_TESTANY,
    PROG_TESTSOME,
    PROG_GETSTATUS,
    PROG_WAYS
};
extern const char *const prog_way_names[PROG_WAYS];
struct prog_step {
    int rank;
    enum prog_what what;
    enum prog_way way;
    int a, b, needed;
    int pause; /* microseconds before it */
    int aside; /* of MPI_Wait, MPI_Waitall: a second thread makes the call during so many steps */
};

struct prog {
    uint64_t number, seed;
    struct prog_kinds kinds;
    int ranks, comms, topologies, ends, reqs, colls, groups, steps, listed;
    int settle; /* ends with a barrier: sends may be under way whose requests are freed */
    size_t used[PROG_RANKS][PROG_MEMORIES], buffered[PROG_RANKS];
    struct prog_comm comm[PROG_COMMS];
    struct prog_topology topology[PROG_COMMS];
    struct prog_end end[PROG_ENDS];
    struct prog_req req[PROG_REQS];
    struct prog_coll coll[PROG_COLLS];
    struct prog_group group[PROG_GROUPS];
    struct prog_step step[PROG_STEPS];
    int list[PROG_LISTED];
};

struct prog_run;

/* ---- programs_draw.c ---- */

/* Program `number` of about `length` actions, with buffers of at most `most` bytes and an arena of `arena` bytes. */
void prog_draw(struct prog *p, uint64_t seed, uint64_t number, int ranks, int length, size_t most, size_t arena,
               const struct prog_kinds *kinds);

struct prog_drawer {
    struct prog *p;
    uint64_t state;
    size_t most, arena;
    int ending; /* what is left is matched and completed */
    int clock[PROG_RANKS][PROG_RANKS];
};
int prog_dice(struct prog_drawer *d, int n);
int prog_chance(struct prog_drawer *d, enum prog_kind kind, int percent); /* 0 if the kind may not be drawn */
int prog_may(const struct prog_drawer *d, enum prog_kind kind);
struct prog_step *prog_add(struct prog_drawer *d, int rank, enum prog_what what, int a, int b);
int prog_room(const struct prog_drawer *d);
int prog_new_req(struct prog_drawer *d, enum prog_type type, int rank, int end);
void prog_learn(struct prog_drawer *d, int rank, const int *clock);
/* A communicator that is ready; -1: none of that sort. */
int prog_any_comm(struct prog_drawer *d, int wild);
size_t prog_draw_n(struct prog_drawer *d, enum prog_element element);
int prog_rank_in(const struct prog_comm *comm, int world); /* its place; -1: not a member */
/* The rank of a place, in its group. */
int prog_rank_of(const struct prog_comm *comm, int place);

/* ---- programs_messages.c: one action each; 0 if nothing was drawn ---- */

int prog_message(struct prog_drawer *d);
int prog_receive_sent(struct prog_drawer *d);
int prog_send_wanted(struct prog_drawer *d);
int prog_receive_probed(struct prog_drawer *d);
int prog_persistent(struct prog_drawer *d);
int prog_drop(struct prog_drawer *d);
int prog_exchange(struct prog_drawer *d);
int prog_cancel(struct prog_drawer *d);
int prog_null(struct prog_drawer *d);

/* ---- programs_parts.c ---- */

/* 1 if the calls are there. */
int prog_parts_there(void);
/* Makes a pair of ends of a partitioned message, or starts one. */
int prog_part(struct prog_drawer *d);
/* Marks partitions of a send that is active. */
int prog_mark(struct prog_drawer *d);
/* Makes a collective a partitioned one, which is persistent, perhaps. */
void prog_pcoll_draw(struct prog_drawer *d, struct prog_coll *coll);
int prog_part_init(struct prog_run *run, const struct prog_end *end, MPI_Datatype type, int peer, MPI_Request *request);
void prog_part_mark(struct prog_run *run, int req, int portion);
int prog_pcoll_init(struct prog_run *run, int coll, const void *from, void *to, MPI_Datatype out_type,
                    MPI_Datatype in_type, MPI_Request *request);
/* mine: this rank passes MPI_IN_PLACE. */
void prog_pcoll_mark(struct prog_run *run, int req, int mine);

/* ---- programs_groups.c ---- */

int prog_group(struct prog_drawer *d);
int prog_group_on(struct prog_drawer *d);
/* All receives are started: only then does any send surely end, as another one may take what is there. */
int prog_group_full(const struct prog *p, const struct prog_group *g);

/* ---- programs_endings.c ---- */

int prog_completable(const struct prog *p, int req);
int prog_complete(struct prog_drawer *d, int rank);

/* ---- programs_together.c ---- */

int prog_collective(struct prog_drawer *d);
/* Starts what other ranks have started of the communicator's collectives, rank -1: of all. */
void prog_catch_up(struct prog_drawer *d, int comm, int rank);
int prog_catch_up_any(struct prog_drawer *d);
/* A communicator for a collective call; -1: none. */
int prog_collective_comm(struct prog_drawer *d);
/* Begins MPI_Comm_idup of a communicator that is drawn. */
void prog_begin_duplicate(struct prog_drawer *d, int comm, int rank);
/* A buffer of blocks whose counts are n[..]; blocks have `unit` elements or a multiple. 0: no room. */
int prog_place_blocks(struct prog_drawer *d, int rank, struct prog_side *side, const struct prog_coll *coll,
                      const int *n, int blocks, size_t unit, int gaps);
/* Frees a persistent collective; at the end of a program. */
int prog_leave(struct prog_drawer *d);

/* ---- programs_comms.c ---- */

int prog_make(struct prog_drawer *d);
int prog_unmake(struct prog_drawer *d, int comm);
void prog_comm_make(struct prog_run *run, const struct prog_step *step);

/* ---- programs_neighbours.c ---- */

/* Members and topology of a communicator whose parent is set. 0: nothing was drawn. */
int prog_cart_draw(struct prog_drawer *d, struct prog_comm *comm);
int prog_graph_draw(struct prog_drawer *d, struct prog_comm *comm);
/* One of the calls with neighbours; -1: none may be drawn there. */
int prog_neighbor_kind(struct prog_drawer *d, const struct prog_comm *comm);
int prog_is_neighbor(enum prog_collective kind);
/* Elements of each block; returns the unit of the counts. */
size_t prog_neighbor_counts(struct prog_drawer *d, struct prog_coll *coll);
int prog_neighbor_place(struct prog_drawer *d, struct prog_coll *coll, size_t unit, int me);
int prog_cart_make(struct prog_run *run, const struct prog_comm *comm, MPI_Comm parent, MPI_Comm *made);
int prog_graph_make(struct prog_run *run, const struct prog_comm *comm, MPI_Comm parent, MPI_Comm *made);

/* ---- programs_inter.c ---- */

int prog_inter_draw(struct prog_drawer *d, struct prog_comm *comm);
/* Places of this place's group or of the other one: from *first on. Returns how many. */
int prog_inter_group(const struct prog_comm *comm, int place, int other, int *first);
size_t prog_inter_counts(struct prog_drawer *d, struct prog_coll *coll);
int prog_inter_place(struct prog_drawer *d, struct prog_coll *coll, size_t unit, int me);
int prog_inter_make(struct prog_run *run, const struct prog_comm *comm, MPI_Comm parent, MPI_Comm *made);
/* What this place gives as root. */
int prog_inter_root(const struct prog_comm *comm, const struct prog_coll *coll, int me);

/* ---- programs_layout.c ---- */

/* A type for n elements. all: of so many elements; 0: of any number that divides n. */
void prog_layout_draw(struct prog_drawer *d, struct prog_layout *layout, enum prog_element element, size_t n, int all);
/* Places a side: memory, layout's blocks (counts and displacements set), region in the arena. 0: no room. */
int prog_side_place(struct prog_drawer *d, int rank, struct prog_side *side);
/* A side of one block with n elements. */
int prog_side_draw(struct prog_drawer *d, int rank, struct prog_side *side, enum prog_element element, size_t n);
MPI_Datatype prog_layout_type(const struct prog_layout *layout);
/* Copies elements first.. of block `block` between a region's image and packed bytes. image: of the region. */
void prog_side_copy(const struct prog_side *side, int block, size_t n, char *image, char *packed, int into_image);

/* ---- programs_text.c ---- */

void prog_text_step(const struct prog *p, int step, char *text, size_t size);
void prog_text(const struct prog *p, void (*line)(const char *));

/* ---- programs_data.c ---- */

/* What a rank has while programs run. */
struct prog_run {
    const struct prog *p;
    int rank;                                          /* in the world */
    char *arena[PROG_MEMORIES], *model[PROG_MEMORIES]; /* by memory; model: what the arena must hold */
    char *read, *packed;
    size_t bytes;
    volatile int at;
    int failed;
    MPI_Comm base, comm[PROG_COMMS];
    MPI_Request req[PROG_REQS], end[PROG_ENDS], coll[PROG_COLLS];
    int started[PROG_REQS], done[PROG_REQS], source[PROG_REQS], tag[PROG_REQS], count[PROG_REQS];
    MPI_Message message[PROG_REQS];
    void *pack[PROG_REQS]; /* what is sent or received as MPI_PACKED; NULL: nothing */
    MPI_Datatype types[2 * PROG_STEPS + 2 * PROG_COLLS * PROG_RANKS];
    int counts[PROG_COLLS][4][PROG_RANKS]; /* of collectives: they must last */
    MPI_Aint places[PROG_COLLS][2][PROG_RANKS];
    MPI_Datatype each[PROG_COLLS][2][PROG_RANKS];
    MPI_Datatype kept[PROG_ENDS]; /* of persistent ends, until the end of the program */
    int type_count, kept_count, group_seen[PROG_GROUPS];
    struct prog_aside *aside; /* of a second thread that waits; NULL: there is none */
};
void prog_run_open(struct prog_run *run, MPI_Comm base, int rank, size_t arena);
void prog_run_close(struct prog_run *run);
/* All of its device memory is freed and allocated again. */
void prog_run_renew(struct prog_run *run);
/* Contents named `name`: the bytes of a message, or of a collective's block. */
void prog_fill(const struct prog *p, uint64_t name, char *out, size_t bytes);
const char *prog_memory_name(int memory);
void prog_data_begin(struct prog_run *run);
/* Address of the side; the pointer for the MPI. */
char *prog_place(const struct prog_run *run, const struct prog_side *side);
void *prog_address(const struct prog_run *run, const struct prog_side *side);
/* A type for a side, from the address of the side or from MPI_BOTTOM; freed at once by the caller's prog_type_done(),
 * or at the end. */
MPI_Datatype prog_type_of(struct prog_run *run, const struct prog_side *side);
void prog_type_done(struct prog_run *run);
/* Puts contents into the side's block in the model; the arena follows with prog_data_store(). */
void prog_data_expect(struct prog_run *run, const struct prog_side *side, int block, size_t n, const char *packed);
void prog_data_reset(struct prog_run *run, const struct prog_side *side);
void prog_data_store(struct prog_run *run, const struct prog_side *side);
/* Compares the side's region with the model; adopt: takes it into the model as it is. */
void prog_data_check(struct prog_run *run, const struct prog_side *side, const char *what);
void prog_data_adopt(struct prog_run *run, const struct prog_side *side);
/* Compares all of the arenas. */
void prog_data_end(struct prog_run *run);

/* ---- programs_run.c ---- */

void prog_run(struct prog_run *run, const struct prog *p);
/* Counts a failure of this rank's step and says it. Returns `fine`. */
int prog_check(struct prog_run *run, int fine, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* What a completed request must have brought. error: of its own. */
void prog_arrived(struct prog_run *run, int req, MPI_Status *status, int error);

/* ---- programs_collect.c ---- */

/* Contributions into the model, before the program. */
void prog_coll_prepare(struct prog_run *run, int coll);
/* Starts a nonblocking one, or a persistent one with fresh contributions. */
void prog_coll_begin(struct prog_run *run, int req);
/* Makes the call; request NULL: blocking. init: that makes a persistent request. */
void prog_coll_call(struct prog_run *run, int coll, MPI_Request *request, int init);
void prog_coll_arrived(struct prog_run *run, int coll);

/* ---- programs_wait.c ---- */

void prog_complete_step(struct prog_run *run, const struct prog_step *step);
/* Before this step of the rank: waits for the second thread where the step must not overlap it. NULL: always. */
void prog_aside_join(struct prog_run *run, const struct prog_step *step);

#endif
