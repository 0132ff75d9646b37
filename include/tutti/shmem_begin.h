/* Other ways to begin the address space, for programs written for NVSHMEM (tutti/nvshmem/nvshmem.h) and for Intel SHMEM
 * (tutti/ishmem/ishmem.h). Programs written for Tutti call tshmem_init() or tshmem_init_comm(). */
#ifndef TUTTI_SHMEM_BEGIN_H
#define TUTTI_SHMEM_BEGIN_H

#include <stdio.h>
#include <stdlib.h>

#include "tutti/shmem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Collective over the communicator that `comm` points to, an MPI_Comm of the MPI that the program runs with: as
 * tshmem_init_comm(), without a need for mpi.h. NULL: over MPI_COMM_WORLD; MPI_Init has been called in both cases. */
TUTTI_API int tutti_shmem_init_at(const void *comm);
/* Collective over all processes of the job. The caller becomes PE `pe` of `pes`. Begins the MPI where the program has
 * not. An error where the job has another number of processes, where two bring the same `pe`, and where the `id` of all
 * is not the same. */
TUTTI_API int tutti_shmem_init_as(int pe, int pes, uint64_t id);
/* Local, before the address space is made. Without TUTTI_SHMEM_HEAP_MB, heaps begin with as many bytes as the
 * environment variable `variable` says: a number, which may have a decimal point, then K, M, G, T or nothing. They are
 * rounded up to whole MiB. If the variable is not set, nothing changes; an invalid size is an
 * error. */
TUTTI_API int tutti_shmem_heap_from(const char *variable);
/* Local, before the address space is made. Heaps are in host memory, where TUTTI_SHMEM_HEAP does not say otherwise. */
TUTTI_API void tutti_shmem_heap_on_host(void);

/* ---- teams by an id, of PEs that need not know each other ---- */

/* Collective over all PEs, once the address space is made: room for ids. */
TUTTI_API int tutti_shmem_ids_open(void);
/* Local. An id of this PE, which it gives to the members of one team. Up to 64 of a PE may be in use at a time, each
 * until its team is made. */
TUTTI_API uint64_t tutti_shmem_id_make(void);
/* Collective over the `size` members, of which this one has number `index`. Otherwise as tshmem_team_split_strided().
 */
TUTTI_API int tutti_shmem_team_by_id(uint64_t id, int size, int index, const tshmem_team_config_t *config, long mask,
                                     tshmem_team_t *team);

/* As NVSHMEM and Intel SHMEM: a program that could not begin ends. status: 0, or one of Tutti's, of `call`. */
static inline __attribute__((unused)) void tutti_shmem_must(int status, const char *call)
{
    if (status == 0)
        return;
    fprintf(stderr, "%s: %s\n", call, tutti_status_text(status));
    exit(EXIT_FAILURE);
}

#ifdef __cplusplus
}
#endif
#endif
