/* Persistent collectives that move data, each of the fifteen: in host and device memory, among all, between groups and
 * with neighbours; started again with other data, in another order on each rank, after the program has freed types and
 * changed lists; freed while idle and while active. */
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "persistent.h"

enum {
    RANKS = 8,
    COUNT = 700,
    GAP = 3,
    BLOCK = COUNT + GAP,
    INTS = RANKS * BLOCK,
    STARTS = 4,
    TRIES = 2000,
    OTHERS = 20
};
/* clang-format off */
#define CALLS_OF(X) X(Bcast) X(Gather) X(Gatherv) X(Scatter) X(Scatterv) X(Allgather) X(Allgatherv) X(Alltoall)        \
    X(Alltoallv) X(Alltoallw) X(Neighbor_allgather) X(Neighbor_allgatherv) X(Neighbor_alltoall) X(Neighbor_alltoallv)  \
    X(Neighbor_alltoallw)
/* clang-format on */
#define ID(name) name,
enum call { CALLS_OF(ID) CALLS };
#define TEXT(name) #name,
static const char *const names[CALLS] = {CALLS_OF(TEXT)};

/* Where a call is made. from, to: its peers, ranks of the world; MPI_PROC_NULL: nobody. */
struct place {
    const char *name;
    MPI_Comm comm;
    int inter, ins, outs, from[RANKS], to[RANKS];
    int root, is_root; /* what is passed, and what this rank is: 1, 0, -1: beside it */
};

struct job {
    enum call call;
    const struct place *place;
    struct kit_buffer out, in;
    MPI_Request request;
    MPI_Datatype type;           /* not freed yet */
    MPI_Datatype others[OTHERS]; /* that may lie where it was */
    int round;
    int counts[2][RANKS], displs[2][RANKS];
    MPI_Aint far[2][RANKS];
    MPI_Datatype types[2][RANKS];
};

/* ---- what must come ---- */

static int is_listed(enum call call)
{
    return strstr(names[call], "llv") || strstr(names[call], "rv") || strstr(names[call], "allw") != NULL;
}

static int to_all_alike(enum call call)
{
    return call == Bcast || call == Allgather || call == Allgatherv || call == Neighbor_allgather ||
           call == Neighbor_allgatherv || call == Gather || call == Gatherv;
}

static int value(const struct job *job, int from, int to, int i)
{
    return (int)(random_mix((uint64_t)job->round * 1000003u + (uint64_t)from * 10007u +
                            (uint64_t)(to_all_alike(job->call) ? 0 : to) * 101u + (uint64_t)job->call +
                            (uint64_t)i * 7919u) >>
                 34);
}

/* Blocks that this rank sends, and receives; `many`: one for each peer. */
static int sends(const struct job *job)
{
    const struct place *place = job->place;
    if (job->call == Bcast)
        return place->is_root == 1;
    if (job->call == Scatter || job->call == Scatterv)
        return place->is_root == 1 ? place->outs : 0;
    if (job->call == Gather || job->call == Gatherv)
        return place->is_root == 0 || (place->is_root == 1 && !place->inter);
    return to_all_alike(job->call) ? place->outs > 0 : place->outs;
}

static int receives(const struct job *job)
{
    const struct place *place = job->place;
    if (job->call == Bcast)
        return place->is_root == 0;
    if (job->call == Gather || job->call == Gatherv)
        return place->is_root == 1 ? place->ins : 0;
    if (job->call == Scatter || job->call == Scatterv)
        return place->is_root == 0 || (place->is_root == 1 && !place->inter);
    return place->ins;
}

static int root_of(const struct place *place)
{
    return place->root >= 0 ? (place->inter ? place->from[place->root] : place->root) : kit_rank;
}

static int step_of(enum call call)
{
    return is_listed(call) ? BLOCK : COUNT;
}

/* Puts the data of a round into the buffers. */
static void fill(struct job *job, int round)
{
    static int data[INTS];
    job->round = round;
    for (int i = 0; i < INTS; i++)
        data[i] = -1;
    for (int b = 0; b < sends(job); b++) {
        for (int i = 0; i < COUNT; i++)
            data[b * step_of(job->call) + i] = value(job, kit_rank, job->place->to[b], i);
    }
    kit_put(&job->out, 0, data, sizeof data);
    if (job->call != Bcast || job->place->is_root != 1) {
        for (int i = 0; i < INTS; i++)
            data[i] = -2 - round;
    }
    kit_put(&job->in, 0, data, sizeof data);
}

/* 1 if what was received is right, and nothing beside it was written. */
static int right(struct job *job)
{
    int guards;
    const int *got = (const int *)(const void *)kit_get(&job->in, &guards), step = step_of(job->call);
    const int n = receives(job), single = job->call == Bcast || job->call == Scatter || job->call == Scatterv;
    for (int i = 0; i < INTS; i++) {
        int b = i / step, k = i % step, want = -2 - job->round;
        int from = single ? root_of(job->place) : b < n ? job->place->from[b] : MPI_PROC_NULL;
        if (job->call == Bcast && job->place->is_root == 1)
            want = i < COUNT ? value(job, kit_rank, 0, i) : -1;
        else if (b < n && k < COUNT && from != MPI_PROC_NULL)
            want = value(job, from, kit_rank, k);
        if (got[i] != want)
            return 0;
    }
    return guards;
}

/* ---- requests ---- */

#define NOTHING MPI_INFO_NULL, &job->request
#define EVEN    from, COUNT, type, to, COUNT, type

static int init(struct job *job, MPI_Datatype type)
{
    const void *from = job->out.base + KIT_GUARD;
    void *to = job->in.base + KIT_GUARD;
    const MPI_Comm comm = job->place->comm;
    const int root = job->place->root;
    int(*counts)[RANKS] = job->counts, (*displs)[RANKS] = job->displs;
    MPI_Datatype(*types)[RANKS] = job->types;
    for (int w = 0; w < 2; w++) {
        for (int b = 0; b < RANKS; b++) {
            counts[w][b] = COUNT;
            displs[w][b] = b * BLOCK * (job->call == Alltoallw ? (int)sizeof(int) : 1);
            job->far[w][b] = b * BLOCK * (MPI_Aint)sizeof(int);
            types[w][b] = type;
        }
    }
    switch (job->call) {
    case Bcast:
        return MPI_Bcast_init(to, COUNT, type, root, comm, NOTHING);
    case Gather:
        return MPI_Gather_init(EVEN, root, comm, NOTHING);
    case Gatherv:
        return MPI_Gatherv_init(from, COUNT, type, to, counts[1], displs[1], type, root, comm, NOTHING);
    case Scatter:
        return MPI_Scatter_init(EVEN, root, comm, NOTHING);
    case Scatterv:
        return MPI_Scatterv_init(from, counts[0], displs[0], type, to, COUNT, type, root, comm, NOTHING);
    case Allgather:
        return MPI_Allgather_init(EVEN, comm, NOTHING);
    case Allgatherv:
        return MPI_Allgatherv_init(from, COUNT, type, to, counts[1], displs[1], type, comm, NOTHING);
    case Alltoall:
        return MPI_Alltoall_init(EVEN, comm, NOTHING);
    case Alltoallv:
        return MPI_Alltoallv_init(from, counts[0], displs[0], type, to, counts[1], displs[1], type, comm, NOTHING);
    case Alltoallw:
        return MPI_Alltoallw_init(from, counts[0], displs[0], types[0], to, counts[1], displs[1], types[1], comm,
                                  NOTHING);
    case Neighbor_allgather:
        return MPI_Neighbor_allgather_init(EVEN, comm, NOTHING);
    case Neighbor_allgatherv:
        return MPI_Neighbor_allgatherv_init(from, COUNT, type, to, counts[1], displs[1], type, comm, NOTHING);
    case Neighbor_alltoall:
        return MPI_Neighbor_alltoall_init(EVEN, comm, NOTHING);
    case Neighbor_alltoallv:
        return MPI_Neighbor_alltoallv_init(from, counts[0], displs[0], type, to, counts[1], displs[1], type, comm,
                                           NOTHING);
    default:
        return MPI_Neighbor_alltoallw_init(from, counts[0], job->far[0], types[0], to, counts[1], job->far[1], types[1],
                                           comm, NOTHING);
    }
}

/* Makes the request with a type that is free at once, of ints that lie behind each other. */
static void open_job(struct job *job, enum call call, const struct place *place, enum kit_kind from, enum kit_kind to)
{
    MPI_Datatype type;
    memset(job, 0, sizeof *job);
    job->call = call;
    job->place = place;
    kit_open(&job->out, from, INTS * sizeof(int));
    kit_open(&job->in, to, INTS * sizeof(int));
    fill(job, 0);
    MPI_Type_contiguous(1, MPI_INT, &type);
    MPI_Type_commit(&type);
    int code = init(job, type);
    CHECK(code == MPI_SUCCESS, "MPI_%s_init on a %s: error class %d", names[call], place->name, kit_class(code));
    job->type = type;
    if (PERSISTENT_SUPPLIED) { /* Open MPI 5 uses types that have gone */
        MPI_Type_free(&job->type);
        for (int i = 0; i < OTHERS; i++) {
            MPI_Type_vector(2, 1, 3, MPI_CHAR, &job->others[i]);
            MPI_Type_commit(&job->others[i]);
        }
        memset(job->counts, -1, sizeof job->counts);
        memset(job->displs, -1, sizeof job->displs);
        memset(job->far, -1, sizeof job->far);
        memset(job->types, -1, sizeof job->types);
    }
}

static void close_job(struct job *job)
{
    if (job->type != MPI_DATATYPE_NULL)
        MPI_Type_free(&job->type);
    for (int i = 0; PERSISTENT_SUPPLIED && i < OTHERS; i++)
        MPI_Type_free(&job->others[i]);
    kit_close(&job->out);
    kit_close(&job->in);
}

static void check(struct job *job, const char *how)
{
    CHECK(right(job), "MPI_%s_init on a %s, %s memory to %s, start %d, %s: wrong data", names[job->call],
          job->place->name, job->out.kind == KIT_DEVICE ? "device" : "host",
          job->in.kind == KIT_DEVICE ? "device" : "host", job->round, how);
}

/* ---- what is tried ---- */

static void again(enum call call, const struct place *place, enum kit_kind from, enum kit_kind to)
{
    struct job job;
    int flag = 0;
    open_job(&job, call, place, from, to);
    const MPI_Request handle = job.request;
    CHECK(MPI_Test(&job.request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag, "an idle request is complete");
    for (int round = 1; round <= STARTS; round++) {
        fill(&job, round);
        CHECK(MPI_Start(&job.request) == MPI_SUCCESS, "MPI_Start");
        for (flag = 0; round % 2 && !flag;)
            CHECK(MPI_Test(&job.request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Test");
        CHECK(MPI_Wait(&job.request, MPI_STATUS_IGNORE) == MPI_SUCCESS && job.request == handle, "MPI_Wait");
        check(&job, "alone");
    }
    CHECK(MPI_Request_free(&job.request) == MPI_SUCCESS && job.request == MPI_REQUEST_NULL, "MPI_Request_free");
    close_job(&job);
}

/* 1 if the data of requests that were freed have come on all ranks. Requests of device memory, whose completion
 * brings on what was freed, tell the others. */
static int all_end(struct job job[2])
{
    struct kit_buffer out, in;
    int done = 0;
    kit_open(&out, KIT_DEVICE, sizeof done);
    kit_open(&in, KIT_DEVICE, RANKS * sizeof done);
    for (int tries = 0; tries < TRIES && !done; tries++) {
        MPI_Request request;
        const int mine = right(&job[0]) && right(&job[1]);
        const void *from = kit_put(&out, 0, &mine, sizeof mine);
        MPI_Iallgather(from, 1, MPI_INT, kit_put(&in, 0, NULL, (size_t)kit_size * sizeof mine), 1, MPI_INT,
                       MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        const int *all = (const int *)(const void *)kit_get(&in, NULL);
        done = 1;
        for (int r = 0; r < kit_size; r++)
            done &= all[r];
    }
    kit_close(&out);
    kit_close(&in);
    return done;
}

static void free_active(struct job job[2], MPI_Request requests[2])
{
    const int first = kit_rank % 2;
    for (int j = 0; j < 2; j++)
        fill(&job[j], 50);
    for (int j = 0; j < 2; j++) {
        CHECK(MPI_Start(&requests[first ^ j]) == MPI_SUCCESS && MPI_Request_free(&requests[first ^ j]) == MPI_SUCCESS,
              "MPI_Request_free of an active request");
        CHECK(requests[first ^ j] == MPI_REQUEST_NULL, "the handle of a request that was freed");
    }
    CHECK(all_end(job), "MPI_%s_init and MPI_%s_init, freed while active, end", names[job[0].call], names[job[1].call]);
}

/* Two of a communicator at once, in another order on each rank. */
static void together(enum call one, enum call other, const struct place *place)
{
    struct job job[2];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    const int first = kit_rank % 2;
    open_job(&job[0], one, place, KIT_DEVICE, KIT_DEVICE);
    open_job(&job[1], other, place, KIT_HOST, KIT_DEVICE);
    for (int j = 0; j < 2; j++)
        requests[j] = job[j].request;
    for (int round = 1; round < STARTS; round++) {
        for (int j = 0; j < 2; j++)
            fill(&job[j], round);
        if (round % 2 && MPI_Startall(2, requests) != MPI_SUCCESS)
            CHECK(0, "MPI_Startall");
        for (int j = 0; j < 2 && round % 2 == 0; j++)
            CHECK(MPI_Start(&requests[first ^ j]) == MPI_SUCCESS, "MPI_Start");
        CHECK(MPI_Waitall(2, requests, statuses) == MPI_SUCCESS, "MPI_Waitall");
        for (int j = 0; j < 2; j++)
            check(&job[j], "of two");
    }
    if (PERSISTENT_SUPPLIED) { /* Open MPI 5 refuses this, and MPICH 5.0 crashes */
        free_active(job, requests);
    } else {
        for (int j = 0; j < 2; j++)
            MPI_Request_free(&requests[j]);
    }
    for (int j = 0; j < 2; j++)
        close_job(&job[j]);
}

static void try_all(const struct place *place, enum call first, enum call end)
{
    for (int call = (int)first; call < (int)end; call++) {
        again((enum call)call, place, KIT_HOST, KIT_HOST);
        again((enum call)call, place, KIT_DEVICE, KIT_DEVICE);
        /* Ranks with host memory and ranks with device memory in one call. */
        again((enum call)call, place, kit_rank == 0 ? KIT_HOST : KIT_DEVICE, kit_rank == 1 ? KIT_HOST : KIT_DEVICE);
        together((enum call)call, (enum call)(call + 1 < (int)end ? call + 1 : (int)first), place);
    }
}

static void among_all(void)
{
    for (int root = 0; root < kit_size; root++) {
        struct place all = {
            .name = "communicator", .ins = kit_size, .outs = kit_size, .root = root, .is_root = root == kit_rank};
        for (int r = 0; r < kit_size; r++)
            all.from[r] = all.to[r] = r;
        MPI_Comm_dup(MPI_COMM_WORLD, &all.comm);
        try_all(&all, Bcast, root ? Allgather : Neighbor_allgather);
        MPI_Comm_free(&all.comm);
    }
}

/* Between even and odd ranks; the root is the second of the even ones, where there are two. */
static void between_groups(void)
{
    MPI_Comm half;
    const int side = kit_rank % 2, root = kit_size > 2;
    struct place groups = {.name = "intercommunicator", .inter = 1};
    MPI_Comm_split(MPI_COMM_WORLD, side, kit_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 5, &groups.comm);
    for (int r = 1 - side; r < kit_size; r += 2)
        groups.from[groups.ins++] = groups.to[groups.outs++] = r;
    groups.is_root = side ? 0 : kit_rank / 2 == root ? 1 : -1;
    groups.root = side ? root : groups.is_root == 1 ? MPI_ROOT : MPI_PROC_NULL;
    try_all(&groups, Bcast, Neighbor_allgather);
    MPI_Comm_free(&groups.comm);
    MPI_Comm_free(&half);
}

static void with_neighbours(void)
{
    struct place line = {.name = "grid", .ins = 2, .outs = 2};
    const int dims[1] = {kit_size}, no[1] = {0};
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, no, 0, &line.comm);
    MPI_Cart_shift(line.comm, 0, 1, &line.from[0], &line.from[1]); /* MPI_PROC_NULL at the ends */
    memcpy(line.to, line.from, sizeof line.to);
    try_all(&line, Neighbor_allgather, CALLS);
    MPI_Comm_free(&line.comm);

    struct place graph = {.name = "graph"};
    int ends[RANKS], edges[RANKS * RANKS], used = 0;
    for (int r = 0; r < kit_size; r++) { /* all others, the last first */
        for (int q = kit_size - 1; q >= 0; q--) {
            if (q == r)
                continue;
            if (r == kit_rank)
                graph.from[graph.ins++] = graph.to[graph.outs++] = q;
            edges[used++] = q;
        }
        ends[r] = used;
    }
    MPI_Graph_create(MPI_COMM_WORLD, kit_size, ends, edges, 0, &graph.comm);
    try_all(&graph, Neighbor_allgather, CALLS);
    MPI_Comm_free(&graph.comm);

    /* Each tells itself and the ranks after it. */
    struct place down = {.name = "directed graph"};
    const int weights[RANKS] = {3, 1, 4, 1, 5, 9, 2, 6};
    for (int r = 0; r <= kit_rank; r++)
        down.from[down.ins++] = r;
    for (int r = kit_size - 1; r >= kit_rank; r--)
        down.to[down.outs++] = r;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, down.ins, down.from, weights, down.outs, down.to, weights,
                                   MPI_INFO_NULL, 0, &down.comm);
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000 /* which loses blocks of MPI_Ineighbor_alltoallw here */
    try_all(&down, Neighbor_allgather, Neighbor_alltoallw);
#else
    try_all(&down, Neighbor_allgather, CALLS);
#endif
    MPI_Comm_free(&down.comm);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (!persistent_there() || kit_size < 2 || kit_size > RANKS)
        kit_skip("persistent_moves", "the _init calls come with the library in front; two to eight ranks");
    among_all();
    between_groups();
    with_neighbours();
    return kit_end("persistent_moves");
}
