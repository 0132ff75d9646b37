/* What the MPI tests share: start and end, buffers with guard bytes in host or device memory, the handles of the MPI,
 * counters. The programs run on any device: device memory is reached by tutti_copy() alone. With TUTTI_TEST_PLAIN=1 and
 * without the library in front "device" memory comes from malloc: so the tests themselves are tested. */
#ifndef TUTTI_TESTS_KIT_H
#define TUTTI_TESTS_KIT_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "support/check.h"
#include "support/oracle.h"
#include "support/random.h"
#include "support/stands.h"

extern int kit_rank, kit_size;
extern int kit_plain;       /* TUTTI_TEST_PLAIN */
int kit_left_to_mpi(void);  /* 1: TUTTI_RULES leave all messages to the MPI */
extern uint64_t kit_seed;   /* the same on all ranks */
extern int kit_leaves_gpus; /* 1 before kit_start(): the program itself chooses GPUs */

/* MPI_Init_thread, errors returned, seed shared, reports of where the process stands. Returns the thread level that the
 * MPI gives. */
int kit_start(int *argc, char ***argv, int level);
/* Collective. Sums the checks, prints one line on rank 0, finalises and returns the exit status. */
int kit_end(const char *name);
/* Collective; ends the process with status 77 and a word. */
void kit_skip(const char *name, const char *why);
/* 1: there are fewer GPUs than ranks. Ranks that share one copy their messages through pinned memory. */
int kit_shares_gpus(void);
/* Collective. 0: this MPI makes no windows here, as Open MPI 4.1 on some machines (MPI_ERR_WIN, also without Tutti). */
int kit_makes_windows(void);

enum kit_kind { KIT_HOST, KIT_DEVICE };

/* Memory of one kind with guard bytes round the part in use. */
struct kit_buffer {
    enum kit_kind kind;
    char *base;   /* host or device */
    size_t room;  /* bytes of data, guards and offset beside them */
    char *shadow; /* host copy, guards included */
    size_t offset, bytes;
};
enum { KIT_GUARD = 64, KIT_OFFSET = 64 };

void kit_open(struct kit_buffer *b, enum kit_kind kind, size_t room);
void kit_close(struct kit_buffer *b);
/* Puts `bytes` of data (NULL: a pattern that is no result) at `offset` (below KIT_OFFSET) and guards round it; returns
 * the pointer for MPI. */
void *kit_put(struct kit_buffer *b, size_t offset, const void *data, size_t bytes);
/* Fetches the data; *guards (may be NULL) is 0 if a guard byte has changed. Valid until the next put or get. */
char *kit_get(struct kit_buffer *b, int *guards);

/* An MPI type of mpi_types.def that this MPI has. */
struct kit_handle {
    MPI_Datatype type;
    const char *name;
    int group;   /* enum tutti_group */
    int element; /* enum tutti_type */
    size_t size; /* bytes of one element, its extent */
};
extern struct kit_handle kit_handles[];
extern int kit_handle_count;
MPI_Op kit_op(int op);
/* Handle of an element type (its first in the list); NULL if the MPI has none. */
const struct kit_handle *kit_handle_of(int element);

/* Legal pairs of handle and operator. */
struct kit_pair {
    const struct kit_handle *handle;
    int op;
};
extern struct kit_pair kit_pairs[];
extern int kit_pair_count;

/* The case of one call, bools chosen by the handle. */
struct oracle_case kit_case(const struct kit_pair *pair, enum oracle_mode mode, uint64_t seed);
/* Writes what the allreduce of `ranks` ranks must give; which[r] is the world's rank of rank r, NULL: r itself. */
void kit_expect_of(void *out, const struct oracle_case *c, int ranks, const int *which, size_t first, size_t count);
/* The same of given contributions: in rank order inside each node, then node after node in the order of their lowest
 * ranks. in[r] is NULL or rank r's; they and in[] are changed. */
void kit_reduce_by_nodes(void *out, const struct oracle_case *c, int ranks, const int *which, const void *in[],
                         size_t count);
void kit_expect(void *out, const struct oracle_case *c, int ranks, size_t first, size_t count);
/* What a scan over the contributions of ranks 0 to depth - 1 must give: rank order, also over nodes. */
void kit_expect_scan(void *out, const struct oracle_case *c, int depth, size_t first, size_t count);

/* Calls counted so far whose row starts with `call` and names `word` as outcome or reason. Needs TUTTI_STATS=1. */
uint64_t kit_counted(const char *call, const char *word);
/* Collective over two ranks, with TUTTI_STATS=1: sends messages of so many bytes from `out` of rank 0 into `in` of rank
 * 1 until they no longer go through the MPI. */
void kit_open_endpoints(struct kit_buffer *out, struct kit_buffer *in, int bytes, int tag);
/* Enough for that also where ranks take turns on a GPU, and single shorter messages go through the MPI. */
enum { KIT_OPENING_BYTES = 1 << 20 };
int kit_class(int error);
/* Local. The class by which the MPI itself, without the library, refuses the pair on host memory: not each knows all of
 * the standard's pairs. MPI_SUCCESS if it takes it. */
int kit_refusal(MPI_Datatype type, MPI_Op op);
/* 0 if this MPI ends the program on its own errors though they should be returned (Intel MPI by the standard ABI).
 */
int kit_errors_returned(void);

#endif
