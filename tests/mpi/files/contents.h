/* Random valid programs of MPI-IO and what they must leave in the file and in memory, worked out by plain loops. All
 * ranks draw the same program from a seed and a number. A step is a list of accesses between two points at which all
 * ranks synchronise; ranks write disjoint bytes in it, and read none that another rank writes. */
#ifndef TUTTI_TESTS_FILES_CONTENTS_H
#define TUTTI_TESTS_FILES_CONTENTS_H

#include "kit.h"
#include "mpi/every/every.h"
#include "mpi/rma/model.h"

enum { FILE_RANKS = 4, FILE_RUNS = 5, FILE_ACCESSES = 60, FILE_NONE = -1 };

/* Of one rank, in elementary types of `unit` elements: runs of them, again from each extent. */
struct file_view {
    long disp; /* bytes */
    enum model_element element;
    int unit, k, runs, len[FILE_RUNS], at[FILE_RUNS], extent;
};

/* clang-format off */
#define FILE_CALLS(X)                                                                                                  \
    X(read) X(write) X(read_at) X(write_at) X(iread) X(iwrite) X(iread_at) X(iwrite_at)                                \
    X(read_shared) X(write_shared) X(iread_shared) X(iwrite_shared)                                                    \
    X(read_all) X(write_all) X(read_at_all) X(write_at_all) X(iread_all) X(iwrite_all) X(iread_at_all) X(iwrite_at_all)\
    X(read_all_begin) X(write_all_begin) X(read_at_all_begin) X(write_at_all_begin)                                    \
    X(read_ordered) X(write_ordered) X(read_ordered_begin) X(write_ordered_begin)
/* clang-format on */
enum file_call {
#define X(name) FILE_##name,
    FILE_CALLS(X)
#undef X
        FILE_CALLS_ALL
};
extern const char *const file_call_names[];

struct file_access {
    enum file_call call;
    int rank, seeks; /* seeks: the pointer is moved to `offset` first */
    long offset;     /* elementary types of the view; of the call, of the pointer, or of the shared pointer */
    enum every_kind kind;
    size_t begin, end, at; /* a span of the arena, and the address that the MPI is given */
    struct model_layout layout;
    int waits; /* nonblocking: completed before access `waits` of the step; the way is waits % 3 */
};

struct file_model {
    uint64_t number, seed, state;
    int ranks, me, big, step, same, atomic, accesses;
    int shifted, spread;            /* types in host memory may begin off their address, and have gaps */
    size_t arena_bytes, most, room; /* room: bytes of the file that accesses may reach */
    struct file_view view[FILE_RANKS];
    long pointer[FILE_RANKS], shared;
    char *bytes; /* of the file */
    size_t size;
    signed char *writer, *reader; /* in this step: FILE_NONE, a rank, or FILE_RANKS: several */
    unsigned char *open;          /* by a nonblocking access */
    char *arena[FILE_RANKS][EVERY_KINDS], *first[EVERY_KINDS];
    size_t used[FILE_RANKS][EVERY_KINDS];
    struct file_access access[FILE_ACCESSES];
};

/* without: a set of enum file_without. */
enum file_without {
    FILE_GAPS,
    FILE_NONBLOCKING,
    FILE_ORDERED,
    FILE_SHARED,
    FILE_SPLIT,
    FILE_ATOMIC,
    FILE_SHIFTED,
    FILE_SPREAD,
    FILE_LONG,
    FILE_WITHOUTS
};
void file_draw(struct file_model *m, uint64_t seed, uint64_t number, int ranks, int me, unsigned without);
void file_close(struct file_model *m);
/* Views of all ranks; they begin at zero again. */
void file_views(struct file_model *m, unsigned without);
void file_step(struct file_model *m, unsigned without);
int file_reads(enum file_call call);
int file_has(enum file_call call, const char *word);

#endif
