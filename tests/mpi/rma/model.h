/* Random valid RMA programs and what they must leave in memory, worked out by plain loops: no MPI takes part in that.
 * All ranks draw the same program from a seed and a number, so each rank knows what all ranks do. A program is a
 * sequence of steps. A step is one list of actions; every rank makes its own ones in the order of the list. The model
 * makes each action when it is drawn. A byte of a window has a claim, by which only actions are drawn whose result
 * does not depend on the order in which ranks proceed. No program can stand still: an action that may wait needs only
 * actions before it in the list. */
#ifndef TUTTI_TESTS_RMA_MODEL_H
#define TUTTI_TESTS_RMA_MODEL_H

#include "kit.h"
#include "mpi/every/every.h"

enum {
    MODEL_RANKS = 4,
    MODEL_WINDOWS = 3,
    MODEL_REGIONS = 3,
    MODEL_RUNS = 6,
    MODEL_OPS = 160,
    MODEL_ACTIONS = 900,
    MODEL_NONE = -1
};

/* ---- types and arithmetic: model_types.c ---- */

/* name, MPI type, bytes, C type, the operators that MPI permits */
#define MODEL_SUMS  (1 << MODEL_SUM | 1 << MODEL_PROD | 1 << MODEL_MIN | 1 << MODEL_MAX)
#define MODEL_BITS  (1 << MODEL_BAND | 1 << MODEL_BOR | 1 << MODEL_BXOR)
#define MODEL_BOOLS (1 << MODEL_LAND | 1 << MODEL_LOR | 1 << MODEL_LXOR)
/* clang-format off */
#define MODEL_INTEGERS(X)                                                                                              \
    X(I8, MPI_INT8_T, int8_t) X(I16, MPI_INT16_T, int16_t) X(I32, MPI_INT, int32_t) X(U32, MPI_UINT32_T, uint32_t)     \
    X(I64, MPI_INT64_T, int64_t) X(U64, MPI_UINT64_T, uint64_t)
#define MODEL_FLOATS(X) X(F32, MPI_FLOAT, float) X(F64, MPI_DOUBLE, double)
#define MODEL_OPERATORS(X)                                                                                             \
    X(NO_OP) X(REPLACE) X(SUM) X(PROD) X(MIN) X(MAX) X(BAND) X(BOR) X(BXOR) X(LAND) X(LOR) X(LXOR) X(MINLOC) X(MAXLOC)
/* clang-format on */
enum model_element {
#define X(name, mpi, c) MODEL_##name,
    MODEL_INTEGERS(X) MODEL_FLOATS(X)
#undef X
        MODEL_BYTE,
    MODEL_2INT,
    MODEL_ELEMENTS
};
enum model_operator {
#define X(name) MODEL_##name,
    MODEL_OPERATORS(X)
#undef X
        MODEL_OPERATORS_ALL
};
extern const char *const model_element_names[], *const model_operator_names[];
extern const size_t model_sizes[];
MPI_Datatype model_mpi_element(enum model_element element);
MPI_Op model_mpi_operator(enum model_operator op);
int model_legal(enum model_element element, enum model_operator op);
/* 1: the result is determined for all values, in any order. */
int model_exact(enum model_element element, enum model_operator op);
/* *to = *from op *to. 0, and *to stays: the bits of the result are not determined (NaN, zeros of two signs, overflow).
 */
int model_combine(enum model_element element, enum model_operator op, const void *from, void *to);

/* Where n elements lie: `count` elements of a type of `runs` runs. Bytes from the address that the MPI is given. */
enum model_family {
    MODEL_NAMED,
    MODEL_CONTIGUOUS,
    MODEL_VECTOR,
    MODEL_HVECTOR,
    MODEL_INDEXED,
    MODEL_STRUCT,
    MODEL_FAMILIES
};
struct model_layout {
    enum model_family family;
    enum model_element element;
    int n, count, k, runs, len[MODEL_RUNS];
    long disp[MODEL_RUNS], extent, low, high;
};
/* plain: a predefined type; aligned: elements lie at multiples of their size. */
void model_layout_draw(struct model_layout *layout, uint64_t *state, enum model_element element, int n, int plain,
                       int aligned);
long model_layout_at(const struct model_layout *layout, int i);
MPI_Datatype model_layout_type(const struct model_layout *layout);
void model_layout_free(const struct model_layout *layout, MPI_Datatype *type);

/* ---- the program ---- */

enum model_flavour { MODEL_CREATE, MODEL_ALLOCATE, MODEL_ALLOCATE_DEVICE, MODEL_SHARED, MODEL_DYNAMIC, MODEL_FLAVOURS };

/* Flavours, a set: windows that need none of the MPI where ranks map each other's memory. */
enum { MODEL_ALONE = 1 << MODEL_ALLOCATE_DEVICE };

/* What has been done with a byte of a window since all ranks last synchronised. */
enum model_touch { MODEL_FREE, MODEL_READ, MODEL_WRITTEN, MODEL_SUMMED };
struct model_claim {
    uint32_t when; /* number of the action; before model_window.since: none */
    uint8_t touch, element, op, alone;
    int8_t by; /* MODEL_NONE: several ranks */
};

struct model_region {
    enum every_kind kind;
    size_t bytes;
    char *data; /* the model's */
    struct model_claim *claim;
};

/* Ranks are those of the world, also where a window has another order of ranks. */
struct model_window {
    enum model_flavour flavour;
    int reversed, unit[MODEL_RANKS], regions[MODEL_RANKS];
    struct model_region region[MODEL_RANKS][MODEL_REGIONS];
    uint32_t since, flushed[MODEL_RANKS][MODEL_RANKS]; /* of the origin at the target */
};

/* clang-format off */
#define MODEL_CALLS(X)                                                                                                 \
    X(Put) X(Get) X(Accumulate) X(Get_accumulate) X(Fetch_and_op) X(Compare_and_swap) X(Rput) X(Rget) X(Raccumulate)   \
    X(Rget_accumulate)
/* clang-format on */
enum model_call {
#define X(name) MODEL_##name,
    MODEL_CALLS(X)
#undef X
        MODEL_CALLS_ALL
};
extern const char *const model_call_names[];

/* A buffer of the origin: a span of one of its arenas that no other operation of the step uses. */
struct model_buffer {
    int used;
    enum every_kind kind;
    size_t begin, end; /* the span */
    size_t at;         /* the address that the MPI is given, in the arena */
    struct model_layout layout;
};
enum { MODEL_ORIGIN, MODEL_COMPARE, MODEL_RESULT, MODEL_BUFFERS };

struct model_op {
    enum model_call call;
    int origin, window, target, region; /* target: MODEL_NONE: MPI_PROC_NULL */
    size_t at;                          /* the displacement in the region, bytes */
    enum model_element element;
    enum model_operator op;
    struct model_layout to;
    struct model_buffer buffer[MODEL_BUFFERS];
    int request;  /* 1: it has one, not yet completed; 2: completed */
    int complete; /* at the origin */
    int looked;   /* its buffers have been checked and are used again */
    int store;    /* by the owner itself, without the MPI */
};

enum model_what {
    MODEL_BARRIER,
    MODEL_FENCE, /* a window, b assertion */
    MODEL_POST,  /* b: set of origins */
    MODEL_START, /* b: set of targets */
    MODEL_COMPLETE,
    MODEL_WAIT, /* b: 1: by MPI_Win_test */
    MODEL_LOCK, /* b target, c: MPI_LOCK_..., d assertion */
    MODEL_UNLOCK,
    MODEL_LOCK_ALL,
    MODEL_UNLOCK_ALL,
    MODEL_FLUSH, /* b target, c: 1 local */
    MODEL_FLUSH_ALL,
    MODEL_SYNC,
    MODEL_OPERATE,  /* a operation */
    MODEL_REQUESTS, /* a first of the list, b how many, c the way */
    MODEL_LOOK,     /* a operation: its buffers are as they must be; then they are filled again */
    MODEL_STORE,    /* of the owner: window a, region b, at c, d bytes */
    MODEL_SLEEP     /* a microseconds */
};
struct model_action {
    int rank; /* MODEL_NONE: all */
    enum model_what what;
    int a, b, c, d;
    char *bytes; /* of LOOK what the spans must hold, of STORE what is stored; on the action's rank alone */
};

struct model {
    uint64_t number, seed, state;
    int ranks, windows, me, big;
    size_t arena_bytes, most; /* most: bytes of the data of one operation */
    struct model_window window[MODEL_WINDOWS];
    char *arena[MODEL_RANKS][EVERY_KINDS]; /* the model's */
    char *first[EVERY_KINDS];              /* what those of this rank hold when a step begins */
    size_t used[MODEL_RANKS][EVERY_KINDS];
    uint32_t now;
    int step, ops, actions, listed;
    int unmatched; /* owners have made no call on their windows since other ranks changed them: they store nothing */
    struct model_op op[MODEL_OPS];
    struct model_action action[MODEL_ACTIONS];
    int list[MODEL_OPS];
};

/* ---- model_draw.c: windows and operations ---- */

int model_dice(struct model *m, int n);
/* 1 of `n` times. */
int model_rarely(struct model *m, int n);
/* flavours: a set of those that may be drawn. */
void model_draw(struct model *m, uint64_t seed, uint64_t number, int ranks, int me, int flavours);
void model_close(struct model *m);
/* New contents of all arenas, and no operation. */
void model_step_begin(struct model *m);
/* An operation of this origin with this target, made by the model; MODEL_NONE: none was valid. */
int model_operate(struct model *m, int window, int origin, int target, int requests);
struct model_action *model_add(struct model *m, int rank, enum model_what what, int a, int b);
/* Bytes that the owner stores. */
void model_store(struct model *m, int window, int owner);
/* All ranks have synchronised. */
void model_window_synchronised(struct model *m, int window);
/* Operations of the origin with the target (MODEL_NONE: all) are complete at the origin; with `far` at the target too.
 */
void model_completed(struct model *m, int window, int origin, int target, int far);

/* ---- model_steps.c ---- */

enum model_kind { MODEL_STEP_FENCE, MODEL_STEP_POSTED, MODEL_STEP_SHARED, MODEL_STEP_EXCLUSIVE, MODEL_STEPS };
extern const char *const model_step_names[];
enum model_kind model_kind_draw(struct model *m);
void model_step(struct model *m, enum model_kind kind);
/* Moves attached memory of this rank to memory of another kind: what kind. Contents stay. */
void model_move(struct model *m, int window);

/* ---- model_run.c ---- */

struct model_run;
struct model_run *model_run_open(size_t arena);
void model_run_close(struct model_run *run);
void model_run_windows(struct model_run *run, const struct model *m);
void model_run_step(struct model_run *run, const struct model *m);
/* The windows of this rank hold what the model has. Collective. */
int model_run_check(struct model_run *run, const struct model *m, const char *when, int passive);
void model_run_move(struct model_run *run, const struct model *m, int window);
void model_run_end(struct model_run *run, const struct model *m);
/* After a step of passive epochs: owners synchronise with their own windows. */
void model_run_own(struct model_run *run, const struct model *m);
/* An action, in words. */
void model_text(const struct model *m, const struct model_action *action, char *text, size_t room);
const struct model_action *model_run_at(const struct model_run *run);
int model_run_failures(const struct model_run *run);

/* ---- model.c ---- */

/* 0: this MPI fails here, with or without Tutti. */
int model_may(const struct model_op *op);
/* 1: without MPI_MODE_NOCHECK. */
int model_checks_locks(void);
/* 1: data of a get may be missing when its request is complete, or after MPI_Win_flush_local. */
int model_gets_later(void);

#endif
