/* Sequences of reductions and data movers, drawn from a seed and a number: calls of other kinds, sizes and forms on
 * several communicators, one after the other with nothing in between, every element of every result compared. */
#ifndef TUTTI_TESTS_SEQUENCES_H
#define TUTTI_TESTS_SEQUENCES_H

#include "kit.h"

#include "tutti/mpix.h"

enum seq_kind {
    SEQ_ALLREDUCE,
    SEQ_REDUCE,
    SEQ_REDUCE_SCATTER,
    SEQ_REDUCE_SCATTER_BLOCK,
    SEQ_SCAN,
    SEQ_EXSCAN,
    SEQ_BARRIER,
    SEQ_BCAST, /* from here on data movers, in stream order alone */
    SEQ_GATHER,
    SEQ_GATHERV,
    SEQ_SCATTER,
    SEQ_SCATTERV,
    SEQ_ALLGATHER,
    SEQ_ALLGATHERV,
    SEQ_ALLTOALL,
    SEQ_ALLTOALLV
};
enum seq_form { SEQ_BLOCKING, SEQ_STARTED, SEQ_ENQUEUED };

enum {
    SEQ_RANKS = 16,
    SEQ_STREAMS = 3, /* communicators with a stream; more would find no room on a GPU of few blocks */
    SEQ_WORLD = 5,   /* MPI_COMM_WORLD itself */
    SEQ_SLOTS = 6,   /* places of communicators: with a stream, without, the world */
    SEQ_CALLS = 20,
    SEQ_UNITS = 40,
    SEQ_GROUPS = 2,
    SEQ_TIMES = 4,   /* most often that a call is repeated with the same buffers */
    SEQ_SMALL = 256, /* most elements of a call with any type and operator, by the oracle */
    SEQ_GUARD = 64
};

/* The ranks of a communicator in its order, by their number in the world. */
struct seq_shape {
    int size, members[SEQ_RANKS];
};

struct seq_call {
    enum seq_kind kind;
    enum seq_form form;
    int slot, group; /* group: -1: none */
    int times;       /* how often it is made, one after the other or in replays of its group */
    int in_place, root, large, quick;
    int many; /* so many launches that the stream may be full: the call may wait for other ranks */
    const struct kit_handle *handle;
    int op;
    size_t count; /* the MPI's argument */
    size_t total; /* elements of one contribution; of a mover, the longest one */
    int counts[SEQ_RANKS];
    struct seq_shape shape;
    uint64_t seed;   /* of the contents */
    size_t place[2]; /* contribution and result, as offsets in the arena */
};

/* Calls in stream order of one communicator that are captured together, or made together where there are no graphs. */
struct seq_group {
    int slot, first, calls, mode;
};

enum seq_what { SEQ_CALL, SEQ_LAUNCH, SEQ_SYNC, SEQ_RENEW, SEQ_MEMORY };
struct seq_unit {
    enum seq_what what;
    int slot, number; /* of the call or the group */
    uint64_t id;      /* RENEW: what the communicator is from here on */
};

struct seq {
    uint64_t number;
    int slow;               /* the rank that is late more often; -1: none */
    size_t used;            /* bytes of the arena */
    uint64_t id[SEQ_SLOTS]; /* of the communicators at the beginning */
    int calls, groups, units;
    struct seq_call call[SEQ_CALLS];
    struct seq_group group[SEQ_GROUPS];
    struct seq_unit unit[SEQ_UNITS];
};

/* ---- sequences_draw.c ---- */

/* A number below n. */
unsigned seq_dice(uint64_t *state, unsigned n);
/* Sequence `number`; contents differ with `round`. Calls take at most `most` bytes of contribution each. */
void seq_draw(struct seq *seq, uint64_t number, uint64_t round, size_t most);
/* Bytes of the arena that any sequence fits in. */
size_t seq_arena_bytes(size_t most);
struct seq_shape seq_shape_of(int slot, uint64_t id);
/* Number of a rank of the world in the communicator, or -1. */
int seq_place_of(const struct seq_shape *shape, int world);
/* Elements that rank q of the communicator gets, and where in the contribution they begin. */
size_t seq_result(const struct seq_call *call, int q, size_t *begin);

/* ---- sequences_move.c ---- */

/* Elements that lie in a rank's contribution from `begin` on. */
struct seq_piece {
    int rank;
    size_t begin, elements;
};
/* Communicators with a stream: TUTTI_TEST_STREAMS, or SEQ_STREAMS. Buffers are mapped by peers where there is one at
 * most. */
int seq_streams(void);
/* 1 for kinds that move data. */
int seq_moves(enum seq_kind kind);
/* The rest of such a call, from its total and its counts. */
void seq_move_draw(struct seq_call *call, int in_place);
/* Elements of the buffers of rank q: 0 its contribution, or in place its buffer; 1 its result. */
size_t seq_move_elements(const struct seq_call *call, int q, int which);
/* What is in rank q's result after so many times, piece behind piece. Returns how many. */
int seq_move_pieces(const struct seq_call *call, int q, int times, struct seq_piece pieces[SEQ_RANKS]);
/* Makes the call on rank q. */
int seq_move_enqueue(const struct seq_call *call, void *in_memory, void *out_memory, int q, MPI_Comm comm);

/* ---- sequences_text.c ---- */

void seq_text(const struct seq *seq, char *text, size_t size);

/* ---- sequences_slots.c ---- */

struct seq_slot {
    uint64_t id;
    struct seq_shape shape;
    int rank; /* -1: not a member */
    MPI_Comm comm;
    MPIX_Stream mpix;
    void *stream;
};
extern struct seq_slot seq_slots[SEQ_SLOTS];

void seq_slots_open(void);
/* Collective over the world. Frees the slot's communicator, and makes the one of that number. */
void seq_slot_renew(int slot, uint64_t id);
/* Collective over the world. */
void seq_slots_close(void);

/* ---- sequences_memory.c ---- */

/* TUTTI_TEST_LIVES: of how many kinds such memory may be, 4 at most; 0: all calls have one allocation, which stays.
 * Otherwise each place of communicators has memory of its own, which ranks free and allocate again, and all calls have
 * quick contents, since the MPI makes some of them, and its NaNs and padding differ. */
int seq_lives(void);
void seq_memory_open(size_t bytes);
void seq_memory_close(void);
/* The memory of the communicator's calls. */
char *seq_memory_at(int slot);
/* Frees it, and allocates it again; the first `used` bytes keep their contents. No call uses it. own: dice. */
void seq_memory_renew(int slot, size_t used, uint64_t *own);

/* ---- sequences_data.c ---- */

void seq_data_open(size_t most);
void seq_data_close(void);
void *seq_data_arena(void);
/* Contributions, results that are none yet, and guard bytes round both, into device memory. */
void seq_data_fill(const struct seq *seq);
/* Buffer of the call for the MPI: 0 its contribution, 1 its result. */
void *seq_data_at(const struct seq_call *call, int which);
/* Compares all results, returns how many calls are wrong; says each as where. */
int seq_data_check(const struct seq *seq, const char *where);
/* Makes this rank's streams busy for a while: a copy into the stream. */
void seq_data_load(void *stream, size_t bytes);
enum { SEQ_LOAD = 2 << 20 };

/* ---- sequences_graph.c ---- */

/* 1 if calls can be captured: on CUDA. */
int seq_graphs(void);
void seq_capture_begin(void *stream, int mode);
/* The graph, ready to be launched into the stream. */
void *seq_capture_end(void *stream);
void seq_graph_launch(void *graph, void *stream);
void seq_graph_free(void *graph);
/* CUDA: a kernel in the stream that keeps `blocks` thread blocks for about so many cycles. */
void seq_spin(void *stream, unsigned blocks, uint64_t cycles);

/* ---- sequences_run.c ---- */

/* Makes the calls of the sequence in this rank's own order, waits for all, and compares. Returns how many are wrong.
 * own: this rank's dice. */
int seq_run(const struct seq *seq, uint64_t own);
/* sequences.c: called where a step of a sequence begins, one that may wait for the other ranks. */
void seq_goes_on(void);
/* Says on standard error what the sequence is, in which order this rank makes its units, and how far it has come. */
void seq_say(void);

#endif
