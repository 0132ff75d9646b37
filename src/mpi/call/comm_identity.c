/* Calls that create communicators: the numbers of the new ones (mpi/comm/identity.h) are noted. */
#include "mpi/comm/identity.h"

#include <pthread.h>
#include <stdlib.h>

#include "mpi/call/calls.h"
#include "mpi/real/handles.h"

/* A call of all ranks of `comm`. */
#define CREATES(name, parameters, arguments)                                                                           \
    static int(*just_##name) parameters;                                                                               \
    static int noted_##name parameters                                                                                 \
    {                                                                                                                  \
        if (tutti_inside)                                                                                              \
            return just_##name arguments;                                                                              \
        const uint64_t identity = tutti_comm_identity_child(comm);                                                     \
        const int code = just_##name arguments;                                                                        \
        if (code == MPI_SUCCESS)                                                                                       \
            tutti_comm_identity_note(*newcomm, identity);                                                              \
        return code;                                                                                                   \
    }
CREATES(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *newcomm), (comm, newcomm))
CREATES(MPI_Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm), (comm, info, newcomm))
CREATES(MPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *newcomm), (comm, color, key, newcomm))
CREATES(MPI_Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *newcomm),
        (comm, type, key, info, newcomm))
CREATES(MPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm), (comm, group, newcomm))
CREATES(MPI_Cart_create,
        (MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *newcomm),
        (comm, ndims, dims, periods, reorder, newcomm))
CREATES(MPI_Cart_sub, (MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm), (comm, remain_dims, newcomm))
CREATES(MPI_Graph_create,
        (MPI_Comm comm, int nnodes, const int index[], const int edges[], int reorder, MPI_Comm *newcomm),
        (comm, nnodes, index, edges, reorder, newcomm))
CREATES(MPI_Dist_graph_create,
        (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[], const int weights[],
         MPI_Info info, int reorder, MPI_Comm *newcomm),
        (comm, n, sources, degrees, destinations, weights, info, reorder, newcomm))
CREATES(MPI_Dist_graph_create_adjacent,
        (MPI_Comm comm, int indegree, const int sources[], const int sourceweights[], int outdegree,
         const int destinations[], const int destweights[], MPI_Info info, int reorder, MPI_Comm *newcomm),
        (comm, indegree, sources, sourceweights, outdegree, destinations, destweights, info, reorder, newcomm))
CREATES(MPI_Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *newcomm), (comm, high, newcomm))

/* Duplicates that are created later: the call counts when the program makes it, and the handle is known when the MPI
 * makes it. The program's `newcomm` distinguishes them. */
static struct pending {
    struct pending *next;
    const MPI_Comm *newcomm;
    uint64_t identity;
} * pending;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void pending_put(MPI_Comm comm, const MPI_Comm *newcomm)
{
    struct pending *one = malloc(sizeof *one);
    const uint64_t identity = tutti_comm_identity_child(comm);
    if (!one)
        return;
    pthread_mutex_lock(&lock);
    *one = (struct pending){pending, newcomm, identity};
    pending = one;
    pthread_mutex_unlock(&lock);
}

static void pending_note(const MPI_Comm *newcomm, int code)
{
    pthread_mutex_lock(&lock);
    struct pending **at = &pending;
    while (*at && (*at)->newcomm != newcomm)
        at = &(*at)->next;
    struct pending *one = *at;
    if (one)
        *at = one->next;
    pthread_mutex_unlock(&lock);
    if (one && code == MPI_SUCCESS)
        tutti_comm_identity_note(*newcomm, one->identity);
    free(one);
}

#define CREATES_LATER(name, parameters, arguments)                                                                     \
    static int(*just_##name) parameters, (*made_##name)parameters;                                                     \
    static int noted_##name parameters                                                                                 \
    {                                                                                                                  \
        if (!tutti_inside)                                                                                             \
            pending_put(comm, newcomm);                                                                                \
        return just_##name arguments;                                                                                  \
    }                                                                                                                  \
    static int making_##name parameters                                                                                \
    {                                                                                                                  \
        const int code = made_##name arguments;                                                                        \
        pending_note(newcomm, code);                                                                                   \
        return code;                                                                                                   \
    }
CREATES_LATER(MPI_Comm_idup, (MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request), (comm, newcomm, request))
CREATES_LATER(MPI_Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request),
              (comm, info, newcomm, request))

/* Calls of groups. */
enum { OF_TWO_GROUPS = 2 };

static int (*just_create_group)(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm);
static int noted_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    const int code = just_create_group(comm, group, tag, newcomm);
    if (code != MPI_SUCCESS || tutti_inside || *newcomm == tutti_handles.no_comm)
        return code;
    tutti_comm_identity_note(*newcomm, tutti_comm_identity_of_group(tutti_comm_identity(comm), group, NULL, tag));
    return code;
}

static int (*just_intercomm_create)(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader,
                                    int tag, MPI_Comm *newintercomm);
static int noted_intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
                                  MPI_Comm *newintercomm)
{
    MPI_Group mine, theirs;
    const int code = just_intercomm_create(local_comm, local_leader, peer_comm, remote_leader, tag, newintercomm);
    if (code != MPI_SUCCESS || tutti_inside || tutti_next.MPI_Comm_group(*newintercomm, &mine) != MPI_SUCCESS)
        return code;
    if (tutti_next.MPI_Comm_remote_group(*newintercomm, &theirs) == MPI_SUCCESS) {
        tutti_comm_identity_note(*newintercomm, tutti_comm_identity_of_group(OF_TWO_GROUPS, mine, &theirs, tag));
        tutti_next.MPI_Group_free(&theirs);
    }
    tutti_next.MPI_Group_free(&mine);
    return code;
}

#define NOTE(name)                                                                                                     \
    just_##name = tutti_next.name;                                                                                     \
    if (just_##name)                                                                                                   \
    tutti_next.name = noted_##name

void tutti_calls_comm_made(void)
{
    made_MPI_Comm_idup = tutti_next.MPI_Comm_idup;
    made_MPI_Comm_idup_with_info = tutti_next.MPI_Comm_idup_with_info;
    if (made_MPI_Comm_idup)
        tutti_next.MPI_Comm_idup = making_MPI_Comm_idup;
    if (made_MPI_Comm_idup_with_info)
        tutti_next.MPI_Comm_idup_with_info = making_MPI_Comm_idup_with_info;
}

void tutti_calls_comm_identity(void)
{
    NOTE(MPI_Comm_dup);
    NOTE(MPI_Comm_dup_with_info);
    NOTE(MPI_Comm_idup);
    NOTE(MPI_Comm_idup_with_info);
    NOTE(MPI_Comm_split);
    NOTE(MPI_Comm_split_type);
    NOTE(MPI_Comm_create);
    NOTE(MPI_Cart_create);
    NOTE(MPI_Cart_sub);
    NOTE(MPI_Graph_create);
    NOTE(MPI_Dist_graph_create);
    NOTE(MPI_Dist_graph_create_adjacent);
    NOTE(MPI_Intercomm_merge);
    just_create_group = tutti_next.MPI_Comm_create_group;
    if (just_create_group)
        tutti_next.MPI_Comm_create_group = noted_create_group;
    just_intercomm_create = tutti_next.MPI_Intercomm_create;
    if (just_intercomm_create)
        tutti_next.MPI_Intercomm_create = noted_intercomm_create;
}
