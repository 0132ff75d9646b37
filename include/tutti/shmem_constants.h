/* OpenSHMEM's types and constants by its own names. Included by <shmem.h> and tutti/shmem_names.h alone. The constants
 * are macros with plain numbers, but for the contexts. */
#ifndef TUTTI_SHMEM_CONSTANTS_H
#define TUTTI_SHMEM_CONSTANTS_H

#include "tutti/shmem_types.h"

/* A team is as wide as a pointer, as bindings expect: its number plus one; NULL is no team. In kernels
 * these names use the numbers of tutti/shmem.h, since they pass teams to its calls. SHMEM_TEAM() makes a team of a
 * number of tutti/shmem.h, TSHMEM_TEAM_NUMBER() the number of a team. */
#if defined(__CUDACC__) || defined(TSHMEM_KERNELS)
typedef tshmem_team_t shmem_team_t;
#define SHMEM_TEAM(number)       (number)
#define TSHMEM_TEAM_NUMBER(team) (team)
#else
typedef struct shmem_team *shmem_team_t;
#define SHMEM_TEAM(number)       ((shmem_team_t)((number) + (intptr_t)1))
#define TSHMEM_TEAM_NUMBER(team) ((tshmem_team_t)((intptr_t)(team)-1))
#endif
typedef tshmem_team_config_t shmem_team_config_t;
typedef tshmem_ctx_t shmem_ctx_t;
typedef tshmem_ctx_session_config_t shmem_ctx_session_config_t;

#define SHMEM_MAJOR_VERSION         TSHMEM_MAJOR_VERSION
#define SHMEM_MINOR_VERSION         TSHMEM_MINOR_VERSION
#define SHMEM_MAX_NAME_LEN          TSHMEM_MAX_NAME_LEN
#define SHMEM_VENDOR_STRING         TSHMEM_VENDOR_STRING
#define SHMEM_THREAD_SINGLE         TSHMEM_THREAD_SINGLE
#define SHMEM_THREAD_FUNNELED       TSHMEM_THREAD_FUNNELED
#define SHMEM_THREAD_SERIALIZED     TSHMEM_THREAD_SERIALIZED
#define SHMEM_THREAD_MULTIPLE       TSHMEM_THREAD_MULTIPLE
#define SHMEM_MALLOC_ATOMICS_REMOTE TSHMEM_MALLOC_ATOMICS_REMOTE
#define SHMEM_MALLOC_SIGNAL_REMOTE  TSHMEM_MALLOC_SIGNAL_REMOTE
#define SHMEM_SIGNAL_SET            TSHMEM_SIGNAL_SET
#define SHMEM_SIGNAL_ADD            TSHMEM_SIGNAL_ADD
#define SHMEM_CMP_EQ                TSHMEM_CMP_EQ
#define SHMEM_CMP_NE                TSHMEM_CMP_NE
#define SHMEM_CMP_GT                TSHMEM_CMP_GT
#define SHMEM_CMP_GE                TSHMEM_CMP_GE
#define SHMEM_CMP_LT                TSHMEM_CMP_LT
#define SHMEM_CMP_LE                TSHMEM_CMP_LE
#define SHMEM_TEAM_INVALID          SHMEM_TEAM(TSHMEM_TEAM_INVALID)
#define SHMEM_TEAM_WORLD            SHMEM_TEAM(TSHMEM_TEAM_WORLD)
#define SHMEM_TEAM_SHARED           SHMEM_TEAM(TSHMEM_TEAM_SHARED)
#define SHMEM_TEAM_NUM_CONTEXTS     TSHMEM_TEAM_NUM_CONTEXTS
#define SHMEM_CTX_INVALID           TSHMEM_CTX_INVALID
#define SHMEM_CTX_DEFAULT           TSHMEM_CTX_DEFAULT
#define SHMEM_CTX_SERIALIZED        TSHMEM_CTX_SERIALIZED
#define SHMEM_CTX_PRIVATE           TSHMEM_CTX_PRIVATE
#define SHMEM_CTX_NOSTORE           TSHMEM_CTX_NOSTORE
#define SHMEM_CTX_SESSION_BATCH     TSHMEM_CTX_SESSION_BATCH
#define SHMEM_CTX_SESSION_TOTAL_OPS TSHMEM_CTX_SESSION_TOTAL_OPS

/* Of active sets: longs of a pSync, what they hold at first, and elements of a pWrk. */
#define SHMEM_SYNC_VALUE              0
#define SHMEM_SYNC_SIZE               4
#define SHMEM_BARRIER_SYNC_SIZE       SHMEM_SYNC_SIZE
#define SHMEM_BCAST_SYNC_SIZE         SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE       SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE        SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE      SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE     SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1

/* The version by the name that Open MPI has for it: its examples ask for it. */
#define OSHMEM_SPEC_VERSION (SHMEM_MAJOR_VERSION * 10000 + SHMEM_MINOR_VERSION * 100)

/* Names of before version 1.3. */
#define _SHMEM_MAJOR_VERSION           SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION           SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN            SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING           SHMEM_VENDOR_STRING
#define _SHMEM_CMP_EQ                  SHMEM_CMP_EQ
#define _SHMEM_CMP_NE                  SHMEM_CMP_NE
#define _SHMEM_CMP_GT                  SHMEM_CMP_GT
#define _SHMEM_CMP_GE                  SHMEM_CMP_GE
#define _SHMEM_CMP_LT                  SHMEM_CMP_LT
#define _SHMEM_CMP_LE                  SHMEM_CMP_LE
#define _SHMEM_SYNC_VALUE              SHMEM_SYNC_VALUE
#define _SHMEM_SYNC_SIZE               SHMEM_SYNC_SIZE
#define _SHMEM_BARRIER_SYNC_SIZE       SHMEM_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE         SHMEM_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE       SHMEM_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE        SHMEM_SYNC_SIZE
#define _SHMEM_ALLTOALL_SYNC_SIZE      SHMEM_SYNC_SIZE
#define _SHMEM_ALLTOALLS_SYNC_SIZE     SHMEM_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE

#endif
