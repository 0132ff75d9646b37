/* The beginning and the end: MPI_Init and MPI_Finalize, sessions, the stub's table, the global address space. */
#ifndef TUTTI_MPI_FRONT_H
#define TUTTI_MPI_FRONT_H

#include "mpi/real/door.h"
#include "tutti/shmem.h"

/* What life.c needs of files that use it. The table points the stub's entries at the MPI; at the door; in a forked
 * child at the MPI but for what would do harm there. */
enum tutti_table { TUTTI_TABLE_MPI, TUTTI_TABLE_DOOR, TUTTI_TABLE_FORKED };
struct tutti_front {
    void (*table)(enum tutti_table where);
    void (*close_shmem)(void);
    int (*shmem_is_up)(void);
};
extern const struct tutti_front *tutti_front; /* front.c sets it before any call */

/* life.c. open: collective over tutti_handles.world, whose ranks all have Tutti in front; `multiple`: threads call the
 * MPI at the same time. Afterwards tutti_door.on says whether the door is open. shut: collective over the same ranks;
 * `all`: all of them are known to come, `last`: what was counted is printed. all_here: waits for them, bounded. */
void tutti_life_open(int multiple);
void tutti_life_shut(int all, int last);
int tutti_life_all_here(void);

/* sessions.c, for world.c. MPI_Init has been called. */
void tutti_sessions_world(void);
/* 1 if the door is open over a communicator of a session, so that it outlives MPI_Finalize. */
int tutti_sessions_carry(void);
/* All ranks have entered MPI_Finalize. */
void tutti_sessions_world_ends(void);
void tutti_sessions_world_over(void);

/* The global address space (shmem.c). open: once, before any call. close: in MPI_Finalize, when all ranks are there. */
void tutti_shmem_front_open(void);
void tutti_shmem_front_close(void);
int tutti_shmem_front_up(void);
/* What tutti/shmem.h finds by its name. */
int tutti_door_tshmem_init_comm(MPI_Comm comm);
int tutti_door_tshmem_team_from_comm(MPI_Comm comm, const tshmem_team_config_t *config, long mask, tshmem_team_t *made);

#endif
