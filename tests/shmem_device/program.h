/* Random programs of the global address space in kernels: each PE has a list of commands, which an interpreter runs by
 * the calls of tutti/device.h (commands.inc), in C with threads as PEs or in CUDA with blocks as PEs; and a model runs
 * all of them one after the other on plain memory. Afterwards the heaps are equal, byte by byte.
 *
 * Commands of one index run at the same time on all PEs, and do not touch what others do; later ones that depend on
 * them come behind a barrier, a signal or a wait. Known by C and CUDA. */
#ifndef TUTTI_TESTS_SHMEM_PROGRAM_H
#define TUTTI_TESTS_SHMEM_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "tutti/shmem_state.h"

#ifdef __cplusplus
extern "C" {
#endif

enum program_call {
    CALL_NONE,
    CALL_PUT,
    CALL_GET,
    CALL_PUT_NBI,
    CALL_GET_NBI,
    CALL_IPUT,
    CALL_IGET,
    CALL_IBPUT,
    CALL_IBGET,
    CALL_PUT_SIZED, /* put8 ... put128, by bytes */
    CALL_GET_SIZED,
    CALL_P,
    CALL_G,
    CALL_STORE, /* through tshmem_ptr, where that gives something */
    CALL_PUT_SIGNAL,
    CALL_PUT_SIGNAL_NBI,
    CALL_SIGNAL_SET,
    CALL_SIGNAL_ADD,
    CALL_SIGNAL_FETCH,
    CALL_SIGNAL_WAIT,
    CALL_AMO,  /* op: enum tshmem_amo */
    CALL_WAIT, /* op: TSHMEM_WAIT_...; extra: comparison */
    CALL_FENCE,
    CALL_QUIET,
    CALL_PE_QUIET,
    CALL_TEAM,    /* my_pe, n_pes, translate, accessible */
    CALL_CONTEXT, /* its team */
    CALL_BARRIER,
    CALL_SYNC,
    CALL_BARRIER_ALL,
    CALL_BROADCAST, /* pe: root */
    CALL_COLLECT,
    CALL_FCOLLECT,
    CALL_ALLTOALL,
    CALL_ALLTOALLS,
    CALL_REDUCE, /* op: enum tshmem_op */
    CALL_REDUCESCATTER,
    CALL_SCAN, /* op: 1 exclusive */
    CALL_GRID, /* op: enum tshmem_op; value: root, a member, plus 1, 0: all; extra: strategy; block: where operands lie;
                  n: of the whole vector; dst: operands of which it is made */
    CALLS
};

enum { FORM_THREAD, FORM_WARP, FORM_BLOCK, FORM_WORK_GROUP, FORMS };

/* Rows of shmem.def: a command of a row is made by its typed names; ROW_NONE: by what those are made of. */
enum { ROW_NONE = -1 };

struct command {
    int32_t call, form, row, type; /* type: enum tshmem_type */
    int32_t pe, team, op, extra;
    uint64_t n, bytes, block; /* elements; bytes of one */
    int64_t dst, sst;
    uint64_t dest, source;   /* offsets in the heap */
    uint64_t signal, result; /* the same; result: where a value that the call gives back is stored */
    uint64_t value, compare;
    uint64_t mask; /* of waits: words that are left out */
    uint64_t ctx;  /* a call with this context, in whose team pe counts; 0: without */
};

/* The heap: areas and work of the teams, then parts by use. Each PE stores into its own piece of what others have. */
enum {
    PROGRAM_TEAMS = 4, /* all, even PEs, all in reverse order (listed), odd PEs */
    PROGRAM_CONTEXTS = 7,
    PROGRAM_PES = 8,
    PROGRAM_ZONE = 4096,      /* of ZONES: what one PE stores at another */
    PROGRAM_PART = 64 * 1024, /* of the others */
    /* At the end of `source`: zeros, and the numbers 0 ... 127 and -128 ... -1 as 64-bit words. */
    PROGRAM_ZEROS = PROGRAM_PART - 64,
    PROGRAM_NUMBERS = PROGRAM_ZEROS - 256 * 8,
    PROGRAM_RESULTS = 16384,
    PROGRAM_WORK = 64 * 1024, /* of a team's reductions of grids */
    PROGRAM_OPERAND = 4096,   /* bytes of a block in shared memory, at most */
    PROGRAM_THREAD = 32,      /* the same of a thread in registers */
    PROGRAM_LIST = 2048,      /* commands of a PE */
    PROGRAM_WORDS = 8         /* of a wait */
};
struct program_heap {
    char areas[PROGRAM_TEAMS][(sizeof(struct tshmem_area) + 255) / 256 * 256];
    char work[PROGRAM_TEAMS][PROGRAM_WORK];
    char source[PROGRAM_PART]; /* read only */
    char zones[PROGRAM_PES][PROGRAM_ZONE];
    char results[PROGRAM_RESULTS];               /* own */
    char gotten[PROGRAM_PART];                   /* own: what gets fetch */
    uint64_t counters[64];                       /* added to by all */
    uint64_t words[PROGRAM_PES][8];              /* [writer]: atomics that give values back */
    uint64_t signals[PROGRAM_PES][2];            /* [writer] */
    uint64_t waited[PROGRAM_PES][PROGRAM_WORDS]; /* [writer] */
    char in[PROGRAM_PART], out[PROGRAM_PART];    /* of collectives */
};

struct program {
    int pes, count; /* commands of each PE */
    uint64_t seed;
    struct command *list[PROGRAM_PES];
};

/* Member `i` of the team as a PE of the world; the number of members; the number of `pe` in it, -1: none. */
int program_world(int pes, int team, int i);
int program_size(int pes, int team);
int program_member(int pes, int team, int pe);
void program_team(struct tshmem_team_state *team, int pes, int number, int pe);
/* Contexts: the default one, then each over a team. Its handle at that PE; 0: it is none of the team. */
int program_context_team(int number);
uint64_t program_context(int pes, int number, int pe);
/* What kernels of that PE read of them: TSHMEM_CONTEXTS_MAX words. */
void program_contexts(uint64_t *words, int pes, int pe);
/* Draws which node each PE is on; and tells a PE: those of other nodes are not mapped, and its teams know. */
void program_nodes(int *node, int pes, uint64_t seed);
void program_apart(struct tshmem_state *state, struct tshmem_team_state *teams, const int *node);

/* What programs are drawn of. */
struct program_kind {
    const int *rows;          /* those with typed names here; NULL or ends with -1 */
    int typed, forms;         /* typed: reductions are made by typed names alone; forms: a bit for each of FORM_... */
    int contexts;             /* 1: calls with contexts too */
    unsigned blocks, threads; /* of the grid of each PE; 0: it has none */
};
void program_draw(struct program *program, int pes, uint64_t seed, const struct program_kind *kind);
void program_free(struct program *program);
/* What lies in the heap of PE `pe` before. */
void program_fill(struct program_heap *heap, const struct program *program, int pe);
/* Runs it in the model. */
void program_model(const struct program *program, struct program_heap *heaps[]);
/* Compares the heaps with those of the model; areas apart. The first difference as text; 0: none. */
int program_differs(const struct program *program, int pe, const struct program_heap *is,
                    const struct program_heap *should, char *text, size_t size);
/* Says, to stderr, by which commands it differs. */
void program_explain(const struct program *program, int pe, const struct program_heap *is,
                     const struct program_heap *should);

/* The rows of shmem.def, for drawing. All are in sum and product. */
enum {
    FAMILY_RMA = 1,
    FAMILY_AMO = 2,
    FAMILY_AMO_FLOATING = 4,
    FAMILY_BITWISE = 8,
    FAMILY_WAIT = 16,
    FAMILY_BITS = 32
};
struct program_row {
    const char *name;
    int type; /* enum tshmem_type */
    size_t bytes;
};
extern const struct program_row program_rows[];
extern const int program_row_count;
int program_families(int row);

#ifdef __cplusplus
}
#endif

#endif
