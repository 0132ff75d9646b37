/* Handles and constants of the global address space, which tutti/shmem.h and OpenSHMEM's <shmem.h> share. The constants
 * are macros with plain numbers: programs ask for them by #if. Included by those two alone. */
#ifndef TUTTI_SHMEM_TYPES_H
#define TUTTI_SHMEM_TYPES_H

#ifndef __CUDACC_RTC__ /* tutti/shmem_state.h has the types for NVRTC */
#include <stddef.h>
#include <stdint.h>
#endif

#include "tutti/shmem.def"

/* Of OpenSHMEM, whose calls these are. */
#define TSHMEM_MAJOR_VERSION 1
#define TSHMEM_MINOR_VERSION 5
#define TSHMEM_MAX_NAME_LEN  64
#define TSHMEM_VENDOR_STRING "Tutti"

/* Levels of threads. */
#define TSHMEM_THREAD_SINGLE     0
#define TSHMEM_THREAD_FUNNELED   1
#define TSHMEM_THREAD_SERIALIZED 2
#define TSHMEM_THREAD_MULTIPLE   3

/* Hints of tshmem_malloc_with_hints(). */
#define TSHMEM_MALLOC_ATOMICS_REMOTE 1
#define TSHMEM_MALLOC_SIGNAL_REMOTE  2

/* Operations on a signal. */
#define TSHMEM_SIGNAL_SET 0
#define TSHMEM_SIGNAL_ADD 1

/* Comparisons of waits and tests, in the order of TSHMEM_COMPARISONS. */
#define TSHMEM_CMP_EQ           0
#define TSHMEM_CMP_NE           1
#define TSHMEM_CMP_GT           2
#define TSHMEM_CMP_GE           3
#define TSHMEM_CMP_LT           4
#define TSHMEM_CMP_LE           5
#define TSHMEM_COMPARISON_COUNT 6

typedef int tshmem_team_t;
/* All PEs; those that share loads and stores; those of this machine. */
#define TSHMEM_TEAM_INVALID (-1)
#define TSHMEM_TEAM_WORLD   0
#define TSHMEM_TEAM_SHARED  1
#define TSHMEM_TEAM_NODE    2
typedef struct {
    int num_contexts;
} tshmem_team_config_t;
/* Bit of a mask: num_contexts is given. */
#define TSHMEM_TEAM_NUM_CONTEXTS 1

typedef struct tshmem_ctx *tshmem_ctx_t; /* a number; points to nothing */
/* No context; the one of all calls without a context, over all PEs. */
#define TSHMEM_CTX_INVALID ((tshmem_ctx_t)0)
#define TSHMEM_CTX_DEFAULT ((tshmem_ctx_t)1)
/* Options, any of them: one thread at a time; one thread alone; quiet and fence need not order stores. Each allows
 * less, and nothing here needs it: contexts with and without them do the same. */
#define TSHMEM_CTX_SERIALIZED 1
#define TSHMEM_CTX_PRIVATE    2
#define TSHMEM_CTX_NOSTORE    4

/* Sessions: what a program is about to do in a context. Option: many small calls, of which each may take longer. */
#define TSHMEM_CTX_SESSION_BATCH 1
typedef struct {
    size_t total_ops; /* calls in the session at most */
} tshmem_ctx_session_config_t;
/* Bit of a mask: total_ops is given. */
#define TSHMEM_CTX_SESSION_TOTAL_OPS 1

#endif
