/* The calls of moves_nodes.c in each form, and how they are completed. */
#include "kit.h"

#include "moves_nodes.h"
#include "persistent.h"

#define BY_FORM(call, nonblocking, ...)                                                                                \
    (form == MOVES_BLOCKING      ? call(__VA_ARGS__)                                                                   \
     : form == MOVES_NONBLOCKING ? nonblocking(__VA_ARGS__, request)                                                   \
                                 : call##_init(__VA_ARGS__, MPI_INFO_NULL, request))

static int begin(const struct moves_args *a, enum moves_form form, MPI_Request *request)
{
    switch (a->call) {
    case BCAST:
        return BY_FORM(MPI_Bcast, MPI_Ibcast, a->out, a->got, a->to, a->root, a->comm);
    case GATHER:
        return BY_FORM(MPI_Gather, MPI_Igather, a->in, a->one, a->of, a->out, a->got, a->to, a->root, a->comm);
    case GATHERV:
        return BY_FORM(MPI_Gatherv, MPI_Igatherv, a->in, a->one, a->of, a->out, a->counts[1], a->displs[1], a->to,
                       a->root, a->comm);
    case SCATTER:
        return BY_FORM(MPI_Scatter, MPI_Iscatter, a->in, a->one, a->of, a->out, a->got, a->to, a->root, a->comm);
    case SCATTERV:
        return BY_FORM(MPI_Scatterv, MPI_Iscatterv, a->in, a->counts[0], a->displs[0], a->of, a->out, a->got, a->to,
                       a->root, a->comm);
    case ALLGATHER:
        return BY_FORM(MPI_Allgather, MPI_Iallgather, a->in, a->one, a->of, a->out, a->got, a->to, a->comm);
    case ALLGATHERV:
        return BY_FORM(MPI_Allgatherv, MPI_Iallgatherv, a->in, a->one, a->of, a->out, a->counts[1], a->displs[1], a->to,
                       a->comm);
    case ALLTOALL:
        return BY_FORM(MPI_Alltoall, MPI_Ialltoall, a->in, a->one, a->of, a->out, a->got, a->to, a->comm);
    case ALLTOALLV:
        return BY_FORM(MPI_Alltoallv, MPI_Ialltoallv, a->in, a->counts[0], a->displs[0], a->of, a->out, a->counts[1],
                       a->displs[1], a->to, a->comm);
    default:
        return BY_FORM(MPI_Alltoallw, MPI_Ialltoallw, a->in, a->counts[0], a->bytes_at[0], a->types[0], a->out,
                       a->counts[1], a->bytes_at[1], a->types[1], a->comm);
    }
}

int moves_complete(MPI_Request *request, unsigned how)
{
    MPI_Request two[2] = {MPI_REQUEST_NULL, *request};
    MPI_Status statuses[2]; /* MPICH declares them as arrays with a size */
    int error = MPI_SUCCESS, flag = 0, done = 0, at[2];
    switch (how % 5) {
    case 0:
        return MPI_Wait(request, MPI_STATUS_IGNORE);
    case 1:
        while (!flag && error == MPI_SUCCESS)
            error = MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        return error;
    case 2:
        error = MPI_Waitall(2, two, statuses);
        break;
    case 3:
        error = MPI_Waitany(2, two, &at[0], MPI_STATUS_IGNORE);
        break;
    default:
        while (done == 0 && error == MPI_SUCCESS)
            error = MPI_Testsome(2, two, &done, at, statuses);
    }
    *request = two[1];
    return error;
}

int moves_call(const struct moves_args *a, enum moves_form form, unsigned how, void (*again)(void))
{
    MPI_Request request = MPI_REQUEST_NULL;
    int error = begin(a, form, &request);
    if (form != MOVES_PERSISTENT)
        return error == MPI_SUCCESS && form == MOVES_NONBLOCKING ? moves_complete(&request, how) : error;
    for (unsigned start = 0; start <= how / 8 % 3 && error == MPI_SUCCESS; start++) {
        again();
        error = MPI_Start(&request);
        if (error == MPI_SUCCESS)
            error = moves_complete(&request, how + start);
    }
    if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    return error;
}

enum moves_form moves_form_of(unsigned how)
{
    return how % 16 < 6 ? MOVES_BLOCKING : how % 16 < 14 || !persistent_there() ? MOVES_NONBLOCKING : MOVES_PERSISTENT;
}

int moves_blocking_call(long i, int count, const void *in, void *out)
{
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int n = count / ranks;
    return i % 3 == 0   ? MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD)
           : i % 3 == 1 ? MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD)
                        : MPI_Bcast(out, count, MPI_INT, 0, MPI_COMM_WORLD);
}

int moves_open_calls(long i, int count, const void *in, void *out, void *other)
{
    MPI_Request open[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int n = count / ranks;
    int error = MPI_Ibcast(other, count, MPI_INT, 0, MPI_COMM_WORLD, &open[0]);
    if (error == MPI_SUCCESS)
        error = i % 2 ? MPI_Iallgather(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD, &open[1])
                      : MPI_Ialltoall(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD, &open[1]);
    return error == MPI_SUCCESS ? MPI_Waitall(2, open, statuses) : error;
}
