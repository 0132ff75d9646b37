/* Operations on windows: drawn by chance, and made on the window under test and on one of host memory. */
#ifndef TUTTI_TESTS_RMA_OPERATIONS_H
#define TUTTI_TESTS_RMA_OPERATIONS_H

#include "kit.h"

enum {
    RANKS = 4,
    PRIVATE = 6144, /* bytes of a window that one origin alone reaches */
    SHARED = 256,   /* of each type that all origins accumulate into, and the owner's own stores */
    OWN_AT = RANKS * PRIVATE,
    INT_AT = OWN_AT + SHARED,
    LONG_AT = INT_AT + SHARED,
    WINDOW = LONG_AT + SHARED,
    ARENA = 1 << 16,
    OPS = 10,
    EPOCHS = 8
};

/* What is left out since it fails without Tutti too (TUTTI_TEST_PLAIN=1). Open MPI 4.1: MPI_Get_accumulate of integers
 * and of derived types brings other bytes, MPI_Compare_and_swap of 8 bytes in the own window ends the program. MPICH
 * 4.0: a rank in MPI_Win_flush makes no progress for others, and both stand still. */
#if defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION < 5
enum { OLD_OPEN_MPI = 1 };
#else
enum { OLD_OPEN_MPI = 0 };
#endif
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000
enum { OLD_MPICH = 1 };
#else
enum { OLD_MPICH = 0 };
#endif

extern uint64_t state, shared_state; /* this rank's numbers; those that all ranks draw alike */

static inline uint64_t draw(uint64_t n)
{
    return random_next(&state) % n;
}

static inline uint64_t draw_alike(uint64_t n)
{
    return random_next(&shared_state) % n;
}

/* clang-format off */
#define CALLS(X)                                                                                                       \
    X(Put) X(Get) X(Accumulate) X(Get_accumulate) X(Fetch_and_op) X(Compare_and_swap) X(Rput) X(Rget) X(Raccumulate)   \
    X(Rget_accumulate)
/* clang-format on */
enum call {
#define X(name) CALL_##name,
    CALLS(X)
#undef X
        CALLS_ALL
};
extern const char *const call_names[];

/* `count` elements of `type`, at a place in one of the arenas. */
struct part {
    int kind;
    size_t at;
    int count;
    MPI_Datatype type;
};

struct op {
    enum call call;
    int target, unit; /* unit: of displacements at the target */
    MPI_Aint at;      /* bytes in the window */
    struct part origin, compare, result;
    int count; /* at the target */
    MPI_Datatype type, basic;
    MPI_Op op;
    int which, how; /* of `basic` and `op`, in reports */
    int flush;      /* after it, in passive epochs */
};

/* Two sets of arenas: [0] of the window under test, one of each kind; [1] of host memory. */
extern struct kit_buffer arena[2][2];
extern char *arena_base[2][2];

/* Of dynamic windows the address of each rank's memory, otherwise zeros. */
extern MPI_Aint window_at[2][RANKS];

/* An epoch begins: nothing is drawn yet. */
void operations_begin(void);
/* An operation that goes with all others of this epoch; 0: there is no room for it. units: of displacements, of each
 * rank. requests: those with a request too. */
int operation_draw(struct op *o, int target, const int units[], int requests);
int operation_make(const struct op *o, int w, MPI_Win win, MPI_Request *request);
void operation_show(const struct op *o);
void operation_close(struct op *o);

/* ---- owner.c ---- */

/* 1: no rank can map memory of another one. Before the first window. */
extern int cannot_map;
/* Collective. */
void owner_computes(void);

#endif
