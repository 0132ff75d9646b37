/* The hierarchy of a communicator over several nodes. Nothing is made with the communicator: it is begun when somebody
 * needs it, and belongs to the communicator's state. */
#include "coll/hierarchy.h"

#include <stdlib.h>

#include "core/log.h"
#include "mpi/comm/comms.h"
#include "mpi/real/door.h"

struct tutti_contexts *tutti_comm_contexts;

void tutti_comm_hierarchy_begin(struct tutti_comm *comm)
{
    TUTTI_INSIDE();
    if (comm->hierarchy_begun)
        return;
    comm->hierarchy_begun = 1;
    int n = 0, *world_ranks = tutti_world_ranks(comm->handle, &n);
    const int status = tutti_hierarchy_begin(tutti_door.node, tutti_comm_contexts, &comm->transport.base, world_ranks,
                                             &comm->hierarchy_opening);
    if (status != TUTTI_OK)
        tutti_warn("the nodes of %s: %s", comm->transport.base.label, tutti_status_text(status));
    free(world_ranks);
}

struct tutti_hierarchy *tutti_comm_hierarchy(struct tutti_comm *comm)
{
    TUTTI_INSIDE();
    if (comm->hierarchy_opening && tutti_hierarchy_poll(comm->hierarchy_opening, &comm->hierarchy) != 0)
        comm->hierarchy_opening = NULL;
    return comm->hierarchy;
}

void tutti_comm_hierarchy_end(struct tutti_comm *comm)
{
    if (!comm->hierarchy_begun)
        return;
    TUTTI_INSIDE();
    tutti_hierarchy_abandon(comm->hierarchy_opening);
    tutti_hierarchy_free(comm->hierarchy);
    comm->hierarchy_opening = NULL;
    comm->hierarchy = NULL;
}
