/* Nonblocking collectives behind a nonblocking reduction of device memory that is the first call on its communicator:
 * the library starts them when the other rank has reached that reduction. Types are freed, and lists of counts and
 * displacements are overwritten, as soon as the call has returned; the types' handles are given out again for other
 * types. The data are right, and no attribute of a type is copied. Two ranks, which are late by turns. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "type_attribute.h"

enum { RANKS = 2, EACH = 500, STEP = 2, BLOCK = EACH * STEP, INTS = RANKS * BLOCK, GO = 5, OTHERS = 40, SUM = 3000 };

static struct kit_buffer in, out, sum_in, sum_out;
static int made;

/* EACH integers at even places. */
static MPI_Datatype even_ones(void)
{
    MPI_Datatype type, one;
    MPI_Type_create_resized(MPI_INT, 0, STEP * (MPI_Aint)sizeof(int), &one);
    MPI_Type_contiguous(EACH, one, &type);
    MPI_Type_free(&one);
    MPI_Type_commit(&type);
    MPI_Type_set_attr(type, attribute, &attribute);
    made++;
    return type;
}

static int value(int from, int to, int i)
{
    return 1 + from * 100000 + to * 10000 + i;
}

/* ---- the calls ---- */

/* What is given to a call, one entry for each rank; in bytes in the displacements of a call in w. */
static int counts[RANKS], displs[RANKS], bytes[RANKS];
static MPI_Count large_counts[RANKS];
static MPI_Aint large_displs[RANKS], large_bytes[RANKS];
static MPI_Datatype sent[RANKS], received[RANKS];
static MPI_Request request;

static void fill_lists(void)
{
    for (int r = 0; r < RANKS; r++) {
        large_counts[r] = counts[r] = 1;
        large_displs[r] = displs[r] = r;
        large_bytes[r] = bytes[r] = r * BLOCK * (int)sizeof(int);
        sent[r] = even_ones();
        received[r] = even_ones();
    }
}

static void spoil_lists(void)
{
    for (int r = 0; r < RANKS; r++) {
        MPI_Datatype one = sent[r],
                     other = received[r]; /* Open MPI reads the lists of types until the call has ended */
        MPI_Type_free(&one);
        MPI_Type_free(&other);
        large_counts[r] = counts[r] = 7;
        large_displs[r] = displs[r] = 1000 + r;
        large_bytes[r] = bytes[r] = 100000 + r;
    }
}

static int alltoall(const void *from, void *to, MPI_Comm comm)
{
    return MPI_Ialltoall(from, 1, sent[0], to, 1, received[0], comm, &request);
}

static int alltoallv(const void *from, void *to, MPI_Comm comm)
{
    return MPI_Ialltoallv(from, counts, displs, sent[0], to, counts, displs, received[0], comm, &request);
}

static int alltoallw(const void *from, void *to, MPI_Comm comm)
{
    return MPI_Ialltoallw(from, counts, bytes, sent, to, counts, bytes, received, comm, &request);
}

static int alltoallw_c(const void *from, void *to, MPI_Comm comm)
{
    void *call = dlsym(RTLD_DEFAULT, "MPI_Ialltoallw_c");
    if (!call)
        return alltoallw(from, to, comm);
    return (*(int (**)(const void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *, void *,
                       const MPI_Count *, const MPI_Aint *, const MPI_Datatype *, MPI_Comm, MPI_Request *)) &
            call)(from, large_counts, large_bytes, sent, to, large_counts, large_bytes, received, comm, &request);
}

static int neighbours(const void *from, void *to, MPI_Comm comm)
{
    return MPI_Ineighbor_alltoallw(from, counts, large_bytes, sent, to, counts, large_bytes, received, comm, &request);
}

static int neighbours_v(const void *from, void *to, MPI_Comm comm)
{
    return MPI_Ineighbor_alltoallv(from, counts, displs, sent[0], to, counts, displs, received[0], comm, &request);
}

/* Rank 0 has the lists; the others' may be anything. */
static int scatterv(const void *from, void *to, MPI_Comm comm)
{
    const int root = kit_rank == 0;
    return MPI_Iscatterv(from, root ? counts : NULL, root ? displs : NULL, sent[0], to, 1, received[0], 0, comm,
                         &request);
}

static int gatherv(const void *from, void *to, MPI_Comm comm)
{
    const int root = kit_rank == 0;
    return MPI_Igatherv(from, 1, sent[0], to, root ? counts : NULL, root ? displs : NULL, received[0], 0, comm,
                        &request);
}

static int allgatherv(const void *from, void *to, MPI_Comm comm)
{
    return MPI_Iallgatherv(from, 1, sent[0], to, counts, displs, received[0], comm, &request);
}

enum what { BETWEEN_ALL, SCATTERED, GATHERED, TO_ALL };
static const struct call {
    const char *name;
    int (*start)(const void *from, void *to, MPI_Comm comm);
    enum what what;
    int grid;
} calls[] = {
    {"MPI_Ialltoall", alltoall, BETWEEN_ALL, 0},
    {"MPI_Ialltoallv", alltoallv, BETWEEN_ALL, 0},
    {"MPI_Ialltoallw", alltoallw, BETWEEN_ALL, 0},
    {"MPI_Ialltoallw_c", alltoallw_c, BETWEEN_ALL, 0},
    {"MPI_Ineighbor_alltoallw", neighbours, BETWEEN_ALL, 1},
    {"MPI_Ineighbor_alltoallv", neighbours_v, BETWEEN_ALL, 1},
    {"MPI_Iscatterv", scatterv, SCATTERED, 0},
    {"MPI_Igatherv", gatherv, GATHERED, 0},
    {"MPI_Iallgatherv", allgatherv, TO_ALL, 0},
};

/* The value at place i of what this rank gets; 0: nothing. */
static int expected(enum what what, int i)
{
    const int block = i / BLOCK, at = i % BLOCK;
    if (at % STEP)
        return 0;
    switch (what) {
    case BETWEEN_ALL:
        return value(block, kit_rank, at);
    case SCATTERED:
        return block == 0 ? value(0, kit_rank, at) : 0;
    case GATHERED:
        return kit_rank == 0 ? value(block, 0, at) : 0;
    default:
        return value(block, 0, at);
    }
}

static void try(const struct call *call, enum kit_kind memory, int late)
{
    static int data[INTS], sums[SUM];
    MPI_Comm comm;
    MPI_Request reduction;
    MPI_Datatype others[OTHERS];
    MPI_Status status;
    char go = 0;
    /* Each rank is its own neighbour and the other's: a directed graph with both edges, in order of rank. */
    const int edges[RANKS] = {0, 1}, weights[RANKS] = {1, 1};
    if (call->grid)
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, RANKS, edges, weights, RANKS, edges, weights, MPI_INFO_NULL, 0,
                                       &comm);
    else
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    kit_open(&in, memory, INTS * sizeof(int));
    kit_open(&out, memory, INTS * sizeof(int));
    for (int i = 0; i < INTS; i++)
        data[i] = value(kit_rank, i / BLOCK, i % BLOCK);
    const void *from = kit_put(&in, 0, data, sizeof data);
    memset(data, 0, sizeof data);
    void *to = kit_put(&out, 0, data, sizeof data);
    for (int i = 0; i < SUM; i++)
        sums[i] = i + kit_rank;
    attributes_copied = attributes_deleted = made = 0;
    fill_lists();
    if (kit_rank == late)
        MPI_Recv(&go, 1, MPI_CHAR, 1 - late, GO, MPI_COMM_WORLD, &status);
    int error = MPI_Iallreduce(kit_put(&sum_in, 0, sums, sizeof sums), kit_put(&sum_out, 0, NULL, sizeof sums), SUM,
                               MPI_INT, MPI_SUM, comm, &reduction);
    error |= call->start(from, to, comm);
    spoil_lists();
    for (int i = 0; i < OTHERS; i++) { /* take their handles */
        MPI_Type_vector(2, 1, 5, MPI_CHAR, &others[i]);
        MPI_Type_commit(&others[i]);
    }
    if (kit_rank != late)
        MPI_Send(&go, 1, MPI_CHAR, late, GO, MPI_COMM_WORLD);
    error |= MPI_Wait(&reduction, &status);
    error |= MPI_Wait(&request, &status);
    const int *got = (const void *)kit_get(&out, NULL);
    int wrong = 0;
    while (wrong < INTS && got[wrong] == expected(call->what, wrong))
        wrong++;
    CHECK(error == MPI_SUCCESS && wrong == INTS, "%s, %s memory, rank %d late: class %d, integer %d is %d", call->name,
          memory == KIT_HOST ? "host" : "device", late, kit_class(error), wrong, wrong < INTS ? got[wrong] : 0);
    CHECK(attributes_copied == 0 && attributes_deleted == made,
          "%s, %s memory: of %d attributes %d were copied and %d deleted", call->name,
          memory == KIT_HOST ? "host" : "device", made, attributes_copied, attributes_deleted);
    for (int i = 0; i < OTHERS; i++)
        MPI_Type_free(&others[i]);
    kit_close(&in);
    kit_close(&out);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size != RANKS)
        kit_skip("types_later", "it takes 2 ranks");
    attribute_open();
    kit_open(&sum_in, KIT_DEVICE, SUM * sizeof(int));
    kit_open(&sum_out, KIT_DEVICE, SUM * sizeof(int));
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        for (int late = 0; late < RANKS; late++) {
            try(&calls[c], KIT_DEVICE, late);
            try(&calls[c], KIT_HOST, late);
        }
    }
    kit_close(&sum_in);
    kit_close(&sum_out);
    attribute_close();
    return kit_end("types_later");
}
