/* What a call that is made later names: types, an info, and lists of counts, displacements and types. The MPI reads
 * them when its own call is made, which would be at once without Tutti, and lists of types until the call has ended. */
#include <stdlib.h>
#include <string.h>

#include "mpi/comm/neighbours.h"
#include "mpi/move/sides.h"
#include "mpi/real/lent.h"
#include "mpi/reduce/later.h"

/* Entries of the lists of what this rank sends and receives. 0: the MPI does not read such a list here. */
struct entries {
    int sent, received;
};

static int is_with_neighbours(const struct tutti_later *later)
{
    static const char prefix[] = "MPI_Ineighbor_";
    return strncmp(later->name, prefix, sizeof prefix - 1) == 0;
}

/* 0: no memory. */
static int count_entries(const struct tutti_later *later, struct entries *entries)
{
    if (is_with_neighbours(later)) {
        struct tutti_neighbours ring;
        const int fine = tutti_neighbours_open(&ring, later->comm) == TUTTI_OK;
        *entries = (struct entries){ring.outs, ring.ins};
        tutti_neighbours_close(&ring);
        return fine;
    }
    struct tutti_role role;
    tutti_role_of(&role, later->comm, later->rooted ? later->root : 0);
    const int peers = later->rooted && role.root != 1 ? 0 : role.peers;
    *entries = (struct entries){later->sendbuf == MPI_IN_PLACE ? 0 : peers, peers};
    return 1;
}

/* Puts a copy in place of the program's list. 0: no memory. */
static int copy(struct tutti_later *later, const void **list, int n, size_t each)
{
    if (!*list || n == 0)
        return 1;
    void *own = malloc((size_t)n * each);
    if (!own)
        return 0;
    memcpy(own, *list, (size_t)n * each);
    later->list[later->lists++] = own;
    *list = own;
    return 1;
}

/* The same of a list of types, each of which is held. */
static int copy_types(struct tutti_later *later, const MPI_Datatype **list, int n, int *held)
{
    const void *types = *list;
    if (!types || n == 0)
        return 1;
    if (!copy(later, &types, n, sizeof **list))
        return 0;
    *list = types;
    while (*held < n && tutti_type_hold((*list)[*held]))
        ++*held;
    return *held == n;
}

static int copy_lists(struct tutti_later *later)
{
    struct entries n;
    if (!later->sendcounts && !later->recvcounts)
        return 1;
    const size_t count = later->count_bytes, displ = later->displ_bytes;
    return count_entries(later, &n) && copy(later, &later->sendcounts, n.sent, count) &&
           copy(later, &later->sdispls, n.sent, displ) && copy(later, &later->recvcounts, n.received, count) &&
           copy(later, &later->rdispls, n.received, displ) &&
           copy(later, &later->displs, later->recvcounts ? n.received : n.sent, displ) &&
           copy_types(later, &later->sendtypes, n.sent, &later->sendtypes_held) &&
           copy_types(later, &later->recvtypes, n.received, &later->recvtypes_held);
}

/* In this order. */
static MPI_Datatype type_at(const struct tutti_later *later, int i)
{
    return i == 0 ? later->datatype : i == 1 ? later->sendtype : later->recvtype;
}

int tutti_later_hold(struct tutti_later *later)
{
    enum { TYPES = 3 };
    while (later->holds < TYPES && tutti_type_hold(type_at(later, later->holds)))
        later->holds++;
    if (later->holds < TYPES || !copy_lists(later))
        return 0;
    if (later->info != tutti_handles.no_info)
        later->own_info = tutti_real.MPI_Info_dup(later->info, &later->info) == MPI_SUCCESS;
    return later->info == tutti_handles.no_info || later->own_info;
}

void tutti_later_let_go(struct tutti_later *later)
{
    while (later->holds > 0)
        tutti_type_let_go(type_at(later, --later->holds));
    while (later->sendtypes_held > 0)
        tutti_type_let_go(later->sendtypes[--later->sendtypes_held]);
    while (later->recvtypes_held > 0)
        tutti_type_let_go(later->recvtypes[--later->recvtypes_held]);
    while (later->lists > 0)
        free(later->list[--later->lists]);
    if (later->own_info)
        tutti_real.MPI_Info_free(&later->info);
}
