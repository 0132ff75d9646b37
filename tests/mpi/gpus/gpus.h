/* Random programs about GPUs: when a process meets them, which it sees, where its buffers lie. All ranks draw the same
 * calls from the seed and a number; what concerns one rank alone, such as the GPU of a buffer, is drawn from its rank
 * too. gpus.c says how a program is told apart and repeated. */
#ifndef TUTTI_TESTS_GPUS_H
#define TUTTI_TESTS_GPUS_H

#include "gpu.h"
#include "kit.h"

/* What may be drawn; TUTTI_TEST_KINDS takes these names. */
/* clang-format off */
#define GPUS_KINDS(X)                                                                                                  \
    X(early)       /* a rank meets its GPUs in a constructor */                                                        \
    X(before)      /* before MPI_Init */                                                                               \
    X(late)        /* after calls on host memory; without these three: right after MPI_Init */                         \
    X(never)       /* a rank has host memory alone */                                                                  \
    X(counted)     /* a rank counts its GPUs before MPI_Init: the driver is there, no context */                       \
    X(order)       /* ranks see other GPUs than others do, or in another order */                                      \
    X(several)     /* a process has memory of several GPUs */                                                          \
    X(cross)       /* and buffers of one call lie on several */                                                        \
    X(current)     /* the current GPU changes between calls */                                                         \
    X(idle)        /* also to one that has no memory of the program */                                                 \
    X(host)        /* some buffers are in host memory */                                                               \
    X(fresh)       /* buffers that are allocated for one call */                                                       \
    X(reset)       /* a rank resets a GPU and goes on with new memory */                                               \
    X(small) X(large) /* below 512 bytes; above a scratch of 1 MiB */                                                  \
    X(messages) X(modes) X(probe) X(persistent) X(self) X(sendrecv)                                                    \
    X(moved) X(blocks) X(reduced) X(inplace) X(packed) X(nonblocking)                                                  \
    X(vector) X(bottom) /* types with gaps; with absolute addresses, of which the pieces may lie on several GPUs */
/* clang-format on */
enum gpus_kind {
#define GPUS_KIND(name) GPUS_##name,
    GPUS_KINDS(GPUS_KIND)
#undef GPUS_KIND
        GPUS_KIND_COUNT
};

enum {
    GPUS_RANKS = 8,
    GPUS_CARDS = 8,
    GPUS_HOST = -1, /* in place of a GPU */
    GPUS_PIECES = 4,
    GPUS_PARTS = 64,
    GPUS_GUARD = 64,
    GPUS_REQUESTS = 128
};

/* 1 if the kind may be drawn. */
int gpus_may(enum gpus_kind kind);

/* Numbers that all ranks draw alike. */
struct gpus_draw {
    uint64_t state;
};
uint64_t gpus_below(struct gpus_draw *draw, uint64_t below);
int gpus_in(struct gpus_draw *draw, enum gpus_kind kind, unsigned one_in);
size_t gpus_bytes(struct gpus_draw *draw);

/* ---- this process (gpus_life.c) ---- */

enum gpus_meeting { GPUS_EARLY, GPUS_BEFORE, GPUS_AFTER, GPUS_LATE, GPUS_NEVER };
struct gpus_life {
    enum gpus_meeting meeting;
    int gpus;             /* that it sees */
    int met;              /* 1: buffers may lie on GPUs now */
    int used[GPUS_CARDS]; /* memory was passed since the last reset */
    int ever[GPUS_CARDS]; /* memory was passed */
    struct gpus_draw own; /* what is drawn for this rank alone */
};
extern struct gpus_life gpus_life;
/* The steps of a process's life, each made once. */
void gpus_life_before_init(void);
void gpus_life_after_init(void);
void gpus_life_later(void);
/* Between two calls: the current GPU changes, a GPU is reset. `draw`: alike on all ranks. */
void gpus_life_between(struct gpus_draw *draw);
/* The GPU of a buffer, or GPUS_HOST. `with`: that of the call's other buffer, GPUS_HOST - 1: none yet. */
int gpus_place(int with);
void gpus_life_text(char *text, size_t size);
/* At the end of a program: no rule was broken, and no context made where the program has no memory. */
void gpus_life_check(void);

/* ---- memory (gpus_memory.c) ---- */

/* A piece of memory, what it must hold, and what lies round it. */
struct gpus_piece {
    int gpu;
    char *memory, *at; /* at: behind the guard */
    size_t bytes;
    char *want; /* host memory, guards included */
    int owned;  /* allocated for it alone */
};
/* One side of a call: where `bytes` bytes of data lie, in their order. */
struct gpus_side {
    MPI_Datatype type;
    int count, made, pieces, parts;
    void *buffer; /* for the call */
    size_t bytes;
    struct gpus_piece piece[GPUS_PIECES];
    struct {
        int piece;
        size_t offset, bytes;
    } part[GPUS_PARTS];
};
enum gpus_form { GPUS_PLAIN, GPUS_INTS, GPUS_VECTOR, GPUS_BOTTOM };
enum gpus_form gpus_form(struct gpus_draw *draw);
/* data NULL: a pattern that is no result. `with` as gpus_place(), whose GPU is set where it is none yet. */
void gpus_side_open(struct gpus_side *side, enum gpus_form form, size_t bytes, const char *data, int *with);
/* From `first` on the data must be these now. */
void gpus_side_want(struct gpus_side *side, size_t first, const char *data, size_t bytes);
/* What there is is right: nothing is compared but what lies round it. */
void gpus_side_learn(struct gpus_side *side);
/* Compares all bytes, those that were not to be touched too, and gives the memory back. */
void gpus_side_close(struct gpus_side *side, const char *what);
void gpus_memory_reset(int gpu); /* what there was has gone */
void gpus_memory_end(void);

/* Byte i of the data with a name. */
char gpus_byte(uint64_t name, size_t i);
char *gpus_data(uint64_t name, size_t bytes); /* malloc'd */

/* ---- calls ---- */

/* What is being done, for reports; `name` tells its data apart. */
extern char gpus_now[256];
extern uint64_t gpus_name;
void gpus_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gpus_messages(struct gpus_draw *draw);
void gpus_sendrecv(struct gpus_draw *draw);
void gpus_collectives(struct gpus_draw *draw);
void gpus_reductions(struct gpus_draw *draw);
void gpus_packs(struct gpus_draw *draw);

#endif
