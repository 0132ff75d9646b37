/* Nonblocking collectives of an MPI that takes no tag on a rank with nothing to move (quirks.h): the tags of the ranks'
 * later collectives on the communicator would differ. Such a rank gets something to move that moves nothing:
 * - in place, MPI_Ialltoallv and MPI_Ialltoallw: an own block of one byte, which stays where it is and is not read;
 * - MPI_Ibcast: one element of a type of no bytes, since another rank may count such elements, and ranks with
 *   MPI_PROC_NULL count what they like;
 * - MPI_Ireduce on an intercommunicator: one byte of the library.
 * Arguments that the MPI may refuse go to it as they are. */
#include <pthread.h>
#include <stdlib.h>

#include "mpi/bounce/buffer.h"
#include "mpi/bounce/stage.h"
#include "mpi/call/calls.h"
#include "mpi/real/collective_args.h"
#include "mpi/real/quirks.h"

/* Lists for communicators of up to `ranks` ranks: a list for rank r begins r entries before the middle. They are never
 * written again, nor freed, since a request may read them until it ends; a longer list replaces a shorter one. */
struct lists {
    int ranks;
    void *counts[2];      /* of int and of MPI_Count: 0, and 1 in the middle */
    void *displs;         /* 0, in entries of MPI_Aint or less */
    MPI_Datatype *types;  /* MPI_BYTE */
    struct lists *before; /* keeps what was replaced reachable */
};

static pthread_mutex_t lists_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lists *lists_all;

static struct lists *lists_new(int ranks)
{
    const size_t n = 2 * (size_t)ranks + 1;
    struct lists *new = calloc(1, sizeof *new);
    if (!new)
        return NULL;
    int *const narrow = new->counts[0] = calloc(n, sizeof *narrow);
    MPI_Count *const wide = new->counts[1] = calloc(n, sizeof *wide);
    new->displs = calloc(n, sizeof(MPI_Aint));
    new->types = malloc(n * sizeof *new->types);
    if (!narrow || !wide || !new->displs || !new->types) {
        free(narrow);
        free(wide);
        free(new->displs);
        free(new->types);
        free(new);
        return NULL;
    }
    narrow[ranks] = 1;
    wide[ranks] = 1;
    for (size_t i = 0; i < n; i++)
        new->types[i] = tutti_handles.byte;
    new->ranks = ranks;
    return new;
}

/* NULL without memory. */
static const struct lists *lists_for(int ranks)
{
    pthread_mutex_lock(&lists_lock);
    struct lists *found = lists_all;
    if (!found || found->ranks < ranks) {
        found = lists_new(found && 2 * found->ranks > ranks ? 2 * found->ranks : ranks);
        if (found) {
            found->before = lists_all;
            lists_all = found;
        }
    }
    pthread_mutex_unlock(&lists_lock);
    return found;
}

static int tagless_is_inter(MPI_Comm comm)
{
    int inter = 0;
    return tutti_next.MPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && inter;
}

/* 1 if this rank has no byte to move, by arguments that the MPI takes. */
static int tagless_moves_nothing(const struct tutti_buffer *buffer, int ranks)
{
    for (int i = 0; i < ranks; i++) {
        const MPI_Datatype type = tutti_buffer_type(buffer, i);
        const MPI_Count count = tutti_buffer_count(buffer, i);
        int size = 0;
        if (count < 0 || ((i == 0 || buffer->types || count > 0) && !tutti_type_is_fine(type)))
            return 0;
        if (count > 0 && (tutti_next.MPI_Type_size(type, &size) != MPI_SUCCESS || size != 0))
            return 0;
    }
    return 1;
}

/* 1: the call is in place and has nothing to move on this rank; *buffer describes an own block of one byte now. */
static int tagless_in_place(const void *sendbuf, MPI_Comm comm, struct tutti_buffer *buffer)
{
    int rank = 0, ranks = 0;
    if (likely(sendbuf != MPI_IN_PLACE) || !tutti_door.on || comm == tutti_handles.no_comm || !buffer->counts ||
        !buffer->displs || tagless_is_inter(comm) || tutti_next.MPI_Comm_size(comm, &ranks) != MPI_SUCCESS ||
        tutti_next.MPI_Comm_rank(comm, &rank) != MPI_SUCCESS || !tagless_moves_nothing(buffer, ranks))
        return 0;
    const struct lists *const lists = lists_for(ranks);
    if (!lists)
        return 0;
    const int first = lists->ranks - rank;
    buffer->counts = buffer->large_counts ? (const void *)((const MPI_Count *)lists->counts[1] + first)
                                          : (const void *)((const int *)lists->counts[0] + first);
    buffer->displs = lists->displs;
    buffer->type = tutti_handles.byte;
    buffer->types = lists->types;
    return 1;
}

#define WIDTHS_OF "mpi/call/tagless.inc"
#include "mpi/real/widths.inc"

void tutti_calls_tagless(void)
{
    const struct tutti_quirks *const row = tutti_quirks_row();
    tutti_door_wrap_tagless(row->skips_empty, row->skips_empty_bcast);
    tutti_door_wrap_tagless_c(row->skips_empty, row->skips_empty_bcast);
}
