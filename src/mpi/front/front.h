/* What MPI_Init and MPI_Finalize tell the stub. */
#ifndef TUTTI_MPI_FRONT_H
#define TUTTI_MPI_FRONT_H

#include "mpi/real/door.h"
#include "tutti/shmem.h"

/* Points the stub's table at the MPI; at the door; in a forked child at the MPI but for what would do harm there. */
enum tutti_table { TUTTI_TABLE_MPI, TUTTI_TABLE_DOOR, TUTTI_TABLE_FORKED };
void tutti_door_table(enum tutti_table where);

/* The global address space (shmem.c). open: once, before any call. close: in MPI_Finalize, when all ranks are there. */
void tutti_shmem_front_open(void);
void tutti_shmem_front_close(void);
/* What tutti/shmem.h finds by its name. */
int tutti_door_tshmem_init_comm(MPI_Comm comm);
int tutti_door_tshmem_team_from_comm(MPI_Comm comm, const tshmem_team_config_t *config, long mask, tshmem_team_t *made);

#endif
