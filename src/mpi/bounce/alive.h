/* Allocations that cannot be freed now: nonblocking messages from or into them are open, which the program has not
 * completed. Calls meanwhile take what the driver has said about such an allocation, and do not ask it again: that
 * takes a tenth of a message in a window. Not with MPI_THREAD_MULTIPLE. */
#ifndef TUTTI_MPI_ALIVE_H
#define TUTTI_MPI_ALIVE_H

#include "mpi/bounce/stage.h"

enum tutti_alive_side { TUTTI_ALIVE_SENT, TUTTI_ALIVE_RECEIVED, TUTTI_ALIVE_SIDES };

struct tutti_alive {
    struct tutti_memory memory; /* id 0: the program may have freed it */
    int open;                   /* requests; 0: none */
};
extern struct tutti_alive tutti_alive[TUTTI_ALIVE_SIDES];

/* A request that uses this memory was made: it keeps what is returned, and leave() follows when the program has
 * completed it. NULL: another allocation has the place. */
static inline struct tutti_alive *tutti_alive_hold(enum tutti_alive_side side, const struct tutti_memory *memory)
{
    struct tutti_alive *const alive = &tutti_alive[side];
    if (!tutti_door_alone() || memory->kind != TUTTI_MEMORY_DEVICE || memory->id == 0 ||
        (alive->open > 0 && alive->memory.id != memory->id))
        return NULL;
    if (alive->open++ == 0)
        alive->memory = *memory;
    return alive;
}
static inline void tutti_alive_leave(struct tutti_alive *alive)
{
    if (alive)
        alive->open--;
}
/* The program may know otherwise that some of these messages have ended. */
static inline void tutti_alive_forget(void)
{
    for (int side = 0; side < TUTTI_ALIVE_SIDES; side++)
        tutti_alive[side].memory.id = 0;
}

/* tutti_needs_staging_for() of a nonblocking message. */
static inline int tutti_alive_needs_staging(enum tutti_alive_side side, int peer, const void *buffer, MPI_Datatype type,
                                            struct tutti_there *there)
{
    const struct tutti_alive *const alive = &tutti_alive[side];
    const char *const at = buffer, *const base = alive->memory.base;
    if (alive->open == 0 || alive->memory.id == 0 || at < base || at >= base + alive->memory.bytes ||
        !tutti_device_active(tutti_door.device) || peer == MPI_PROC_NULL)
        return tutti_needs_staging_for(peer, buffer, type, there);
    there->memory = alive->memory;
    there->staged = !tutti_inside && !tutti_door.aware;
    return tutti_needs_staging_of(buffer, type, there);
}

#endif
