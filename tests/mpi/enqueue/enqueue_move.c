/* Collectives that move data, in stream order, against the MPI's own on host memory: every byte of both buffers, gaps
 * of the types and what surrounds the blocks too.
 *
 *   enqueue_move types | forest
 *
 * types   each call with types of either side that hold the same elements in other layouts, in place or not
 * forest  a star forest as PETSc's PetscSF has it (its example ex4k): what ranks need of each other is gathered into a
 *         send buffer by a step of the stream, moved by MPIX_Alltoallv_enqueue, and reduced into the owners on the way
 *         back, many times with nothing of the host in between
 *
 * TUTTI_TEST_ROUNDS: calls of `types` (600). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue.h"
#include "tutti/tutti.h"

enum { RANKS = 8, BLOCK = 720, LISTED = 60, ROOM = RANKS * (BLOCK * 4 + 64) };

/* A type of some ints, and how far apart its elements are. */
struct layout {
    MPI_Datatype type;
    int ints, extent;
} layouts[6];

static void open_layouts(void)
{
    static const int lengths[] = {1, 3, 2, 1, 5}, places[] = {0, 2, 7, 11, 13};
    int listed[LISTED];
    for (int i = 0; i < LISTED; i++)
        listed[i] = i * 3 + i * i % 3;
    layouts[0] = (struct layout){MPI_INT, 1, 1};
    layouts[1] = (struct layout){MPI_DATATYPE_NULL, 3, 3};
    MPI_Type_contiguous(3, MPI_INT, &layouts[1].type);
    layouts[2] = (struct layout){MPI_DATATYPE_NULL, 4, 5};
    MPI_Type_vector(2, 2, 3, MPI_INT, &layouts[2].type);
    layouts[3] = (struct layout){MPI_DATATYPE_NULL, 1, 3};
    MPI_Type_create_resized(MPI_INT, 0, 3 * (MPI_Aint)sizeof(int), &layouts[3].type);
    layouts[4] = (struct layout){MPI_DATATYPE_NULL, 12, 18};
    MPI_Type_indexed(5, lengths, places, MPI_INT, &layouts[4].type);
    layouts[5] = (struct layout){MPI_DATATYPE_NULL, LISTED, listed[LISTED - 1] + 1};
    MPI_Type_create_indexed_block(LISTED, 1, listed, MPI_INT, &layouts[5].type);
    for (int i = 1; i < 6; i++)
        MPI_Type_commit(&layouts[i].type);
}

static void close_layouts(void)
{
    for (int i = 1; i < 6; i++)
        MPI_Type_free(&layouts[i].type);
}

enum kind { BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, KINDS };
static const char *const names[KINDS] = {"Bcast",     "Gather",     "Gatherv",  "Scatter",  "Scatterv",
                                         "Allgather", "Allgatherv", "Alltoall", "Alltoallv"};

/* A call, the same on all ranks. */
struct move {
    enum kind kind;
    int root, in_place, units[RANKS][RANKS]; /* [from][to], of 60 ints: the types have that many in common */
    const struct layout *sent, *received;
};

static int has_lists(enum kind kind)
{
    return kind == GATHERV || kind == SCATTERV || kind == ALLGATHERV || kind == ALLTOALLV;
}

static int under(uint64_t *random, int n)
{
    return (int)(random_next(random) % (unsigned)n);
}

static struct move draw(uint64_t *random, int number)
{
    struct move move = {.kind = (enum kind)(number % KINDS), .root = under(random, kit_size)};
    const int all = under(random, 8) ? 1 + under(random, BLOCK / 60) : 0;
    move.sent = &layouts[under(random, 6)];
    move.received = &layouts[under(random, 6)];
    move.in_place = under(random, 3) == 0;
    for (int from = 0; from < kit_size; from++) {
        const int of_rank = under(random, 4) ? under(random, BLOCK / 60) : 0;
        for (int to = 0; to < kit_size; to++) {
            move.units[from][to] = !has_lists(move.kind) ? all : under(random, 4) ? under(random, BLOCK / 60) : 0;
            if (move.kind == GATHERV || move.kind == ALLGATHERV)
                move.units[from][to] = of_rank;
            if (move.kind == ALLTOALLV && move.in_place && to < from)
                move.units[from][to] = move.units[to][from];
        }
    }
    for (int from = 1; from < kit_size && move.kind == SCATTERV; from++)
        memcpy(move.units[from], move.units[0], sizeof move.units[0]);
    if (move.in_place && move.kind >= ALLTOALL)
        move.sent = move.received;
    return move;
}

/* The arguments of one rank, on host or on device memory. */
struct arguments {
    const void *in;
    void *out;
    int to[RANKS], to_at[RANKS], of[RANKS], of_at[RANKS];
};

static void arguments_of(const struct move *move, char *sent, char *received, struct arguments *out)
{
    const int scatters = move->kind == SCATTER || move->kind == SCATTERV;
    const int gathers = move->kind == GATHER || move->kind == GATHERV;
    const int kept = move->in_place && move->kind != BCAST && ((!scatters && !gathers) || kit_rank == move->root);
    int behind = 0, before = 1;
    out->in = kept && !scatters ? MPI_IN_PLACE : sent;
    out->out = kept && scatters ? MPI_IN_PLACE : received;
    for (int r = 0; r < kit_size; r++) {
        const int last = kit_size - 1 - r;
        out->to[r] = move->units[kit_rank][r] * 60 / move->sent->ints;
        out->to_at[r] = behind;
        behind += out->to[r] + 1;
        out->of[last] = move->units[last][kit_rank] * 60 / move->received->ints;
        out->of_at[last] = before;
        before += out->of[last] + 1;
    }
}

static int by_mpi(const struct move *move, char *sent, char *received)
{
    struct arguments a;
    const MPI_Datatype in = move->sent->type, out = move->received->type;
    const MPI_Comm comm = MPI_COMM_WORLD;
    const int root = move->root;
    arguments_of(move, sent, received, &a);
    switch (move->kind) {
    case BCAST:
        return MPI_Bcast(kit_rank == root ? sent : received, kit_rank == root ? a.to[0] : a.of[root],
                         kit_rank == root ? in : out, root, comm);
    case GATHER:
        return MPI_Gather(a.in, a.to[root], in, a.out, a.of[0], out, root, comm);
    case GATHERV:
        return MPI_Gatherv(a.in, a.to[root], in, a.out, a.of, a.of_at, out, root, comm);
    case SCATTER:
        return MPI_Scatter(a.in, a.to[0], in, a.out, a.of[root], out, root, comm);
    case SCATTERV:
        return MPI_Scatterv(a.in, a.to, a.to_at, in, a.out, a.of[root], out, root, comm);
    case ALLGATHER:
        return MPI_Allgather(a.in, a.to[0], in, a.out, a.of[0], out, comm);
    case ALLGATHERV:
        if (kit_size == 1) /* MPICH 4.0 leaves out the displacement there */
            return MPI_Gatherv(a.in, a.to[0], in, a.out, a.of, a.of_at, out, 0, comm);
        return MPI_Allgatherv(a.in, a.to[0], in, a.out, a.of, a.of_at, out, comm);
    case ALLTOALL:
        return MPI_Alltoall(a.in, a.to[0], in, a.out, a.of[0], out, comm);
    default:
        return MPI_Alltoallv(a.in, a.to, a.to_at, in, a.out, a.of, a.of_at, out, comm);
    }
}

static int by_stream(const struct move *move, char *sent, char *received, MPI_Comm comm)
{
    struct arguments a;
    const MPI_Datatype in = move->sent->type, out = move->received->type;
    const int root = move->root;
    arguments_of(move, sent, received, &a);
    switch (move->kind) {
    case BCAST:
        return MPIX_Bcast_enqueue(kit_rank == root ? sent : received, kit_rank == root ? a.to[0] : a.of[root],
                                  kit_rank == root ? in : out, root, comm);
    case GATHER:
        return MPIX_Gather_enqueue(a.in, a.to[root], in, a.out, a.of[0], out, root, comm);
    case GATHERV:
        return MPIX_Gatherv_enqueue(a.in, a.to[root], in, a.out, a.of, a.of_at, out, root, comm);
    case SCATTER:
        return MPIX_Scatter_enqueue(a.in, a.to[0], in, a.out, a.of[root], out, root, comm);
    case SCATTERV:
        return MPIX_Scatterv_enqueue(a.in, a.to, a.to_at, in, a.out, a.of[root], out, root, comm);
    case ALLGATHER:
        return MPIX_Allgather_enqueue(a.in, a.to[0], in, a.out, a.of[0], out, comm);
    case ALLGATHERV:
        return MPIX_Allgatherv_enqueue(a.in, a.to[0], in, a.out, a.of, a.of_at, out, comm);
    case ALLTOALL:
        return MPIX_Alltoall_enqueue(a.in, a.to[0], in, a.out, a.of[0], out, comm);
    default:
        return MPIX_Alltoallv_enqueue(a.in, a.to, a.to_at, in, a.out, a.of, a.of_at, out, comm);
    }
}

static size_t differs(const int *a, const int *b)
{
    size_t i = 0;
    while (i < ROOM && a[i] == b[i])
        i++;
    return i;
}

static int look(const struct move *move, int number, const char *which, char *device, const int *want)
{
    static int got[ROOM];
    CHECK(tutti_copy(got, device, sizeof got) == 0, "tutti_copy");
    const size_t at = differs(got, want);
    return CHECK(at == ROOM, "call %d, %s%s, types %d and %d: int %zu of the buffer that is %s is %x, not %x", number,
                 names[move->kind], move->in_place ? " in place" : "", (int)(move->sent - layouts),
                 (int)(move->received - layouts), at, which, at < ROOM ? (unsigned)got[at] : 0,
                 at < ROOM ? (unsigned)want[at] : 0);
}

/* The ranks set the hint one after the other: it counts when all have. */
static void spare(MPI_Comm comm)
{
    MPI_Info info;
    for (int r = 0; r < kit_size; r++) {
        MPI_Info_create(&info);
        if (r == kit_rank)
            MPI_Info_set(info, "tutti_copy_engines", "true");
        CHECK(MPI_Comm_set_info(comm, info) == MPI_SUCCESS, "MPI_Comm_set_info");
        MPI_Info_free(&info);
    }
}

/* spared: by copy engines. */
static void types(int spared)
{
    enum { BURST = 4 }; /* calls with nothing of the host in between */
    static int sent[BURST][ROOM], received[BURST][ROOM];
    const long rounds = check_many("TUTTI_TEST_ROUNDS", 600);
    struct queue queue;
    char *device = NULL;
    uint64_t random = kit_seed + 5;
    int wrong = 0;
    open_layouts();
    queue_open(&queue, MPI_COMM_WORLD, NULL, 100, kit_seed);
    if (spared)
        spare(queue.comm);
    CHECK(tutti_alloc(2 * sizeof sent, (void **)&device) == 0, "tutti_alloc");
    char *const second = device + sizeof sent;
    for (int first = 0; first < rounds && wrong < 5; first += BURST) {
        struct move move[BURST];
        for (size_t i = 0; i < BURST * ROOM; i++) {
            sent[i / ROOM][i % ROOM] = (int)(kit_rank * 0x1000000 + first * 0x10000) + (int)i;
            received[i / ROOM][i % ROOM] = -1 - (int)i;
        }
        CHECK(tutti_copy(device, sent, sizeof sent) == 0 && tutti_copy(second, received, sizeof received) == 0,
              "tutti_copy");
        for (int i = 0; i < BURST; i++) {
            move[i] = draw(&random, first + i);
            const int error = by_stream(&move[i], device + (size_t)i * sizeof sent[0],
                                        second + (size_t)i * sizeof sent[0], queue.comm);
            CHECK(error == MPI_SUCCESS, "call %d: class %d", first + i, kit_class(error));
        }
        queue_sync(&queue);
        for (int i = 0; i < BURST; i++) {
            by_mpi(&move[i], (char *)sent[i], (char *)received[i]);
            wrong += !look(&move[i], first + i, "sent", device + (size_t)i * sizeof sent[0], sent[i]);
            wrong += !look(&move[i], first + i, "received", second + (size_t)i * sizeof sent[0], received[i]);
        }
    }
    const uint64_t by_engines = kit_counted("MPIX_Allgather_enqueue", "engines");
    CHECK(!spared || kit_plain || kit_size == 1 || by_engines > 0, "no call left the multiprocessors alone");
    CHECK(tutti_free(device) == 0, "tutti_free");
    queue_close(&queue);
    close_layouts();
}

/* Each rank owns ROOTS numbers and has LEAVES leaves, each of which is one root of some rank. A broadcast over the
 * forest puts the roots' numbers into the leaves, a reduction adds the leaves to their roots. The leaves of a rank are
 * sorted by their owner, so they are what is received; the owner packs its roots in that order with a datatype. */
static void forest(void)
{
    enum { ROOTS = 500, LEAVES = 300, TIMES = 200 };
    static int roots[ROOTS], leaves[LEAVES * RANKS], wanted[LEAVES * RANKS], places[LEAVES * RANKS];
    int to[RANKS], to_at[RANKS], of[RANKS], of_at[RANKS], wrong = 0, error = MPI_SUCCESS;
    int *root_memory = NULL, *packed = NULL, *leaf_memory = NULL;
    struct queue queue;
    MPI_Datatype by_root, row = MPI_INT;
    queue_open(&queue, MPI_COMM_WORLD, NULL, 100, kit_seed);
    for (int r = 0; r < kit_size; r++) {
        uint64_t random = random_mix(kit_seed + (uint64_t)(kit_rank * RANKS + r));
        of[r] = (int)(random % LEAVES); /* leaves of this rank whose roots rank r owns */
        random = random_mix(kit_seed + (uint64_t)(r * RANKS + kit_rank));
        to[r] = (int)(random % LEAVES);
        to_at[r] = r ? to_at[r - 1] + to[r - 1] : 0;
        of_at[r] = r ? of_at[r - 1] + of[r - 1] : 0;
    }
    const int sends = to_at[kit_size - 1] + to[kit_size - 1], leaf_count = of_at[kit_size - 1] + of[kit_size - 1];
    for (int r = 0; r < kit_size; r++) {
        for (int i = 0; i < to[r]; i++)
            places[to_at[r] + i] = (r * 31 + i * 7) % ROOTS; /* rank r's leaf i hangs on that root */
        for (int i = 0; i < of[r]; i++)
            wanted[of_at[r] + i] = r * 1000 + (kit_rank * 31 + i * 7) % ROOTS;
    }
    for (int i = 0; i < ROOTS; i++)
        roots[i] = kit_rank * 1000 + i;
    /* One element of this type is all that is sent: packing is an all-to-all of each rank with itself. */
    MPI_Type_create_indexed_block(sends, 1, places, MPI_INT, &by_root);
    MPI_Type_commit(&by_root);
    MPI_Comm alone;
    CHECK(MPIX_Stream_comm_create(MPI_COMM_SELF, queue.mpix, &alone) == MPI_SUCCESS, "one rank's communicator");
    CHECK(tutti_alloc(sizeof roots, (void **)&root_memory) == 0 && tutti_alloc(sizeof leaves, (void **)&packed) == 0 &&
              tutti_alloc(sizeof leaves, (void **)&leaf_memory) == 0,
          "tutti_alloc");
    CHECK(tutti_copy(root_memory, roots, sizeof roots) == 0 && tutti_copy(leaf_memory, leaves, sizeof leaves) == 0,
          "tutti_copy");
    for (int time = 0; time < TIMES; time++) {
        /* Broadcast: the roots into the leaves. */
        error |= MPIX_Alltoall_enqueue(root_memory, sends ? 1 : 0, by_root, packed, sends, row, alone);
        error |= MPIX_Alltoallv_enqueue(packed, to, to_at, row, leaf_memory, of, of_at, row, queue.comm);
        /* Reduction: what the leaves hold back to their owners, who find it where they have sent it from, plus it. */
        error |= MPIX_Alltoallv_enqueue(leaf_memory, of, of_at, row, packed, to, to_at, row, queue.comm);
        error |= MPIX_Alltoall_enqueue(packed, sends, row, root_memory, sends ? 1 : 0, by_root, alone);
        error |= MPIX_Reduce_local_enqueue(leaf_memory, leaf_memory, leaf_count, row, MPI_MAX, alone);
    }
    queue_sync(&queue);
    CHECK(error == MPI_SUCCESS, "class %d", kit_class(error));
    CHECK(tutti_copy(leaves, leaf_memory, sizeof leaves) == 0 && tutti_copy(roots, root_memory, sizeof roots) == 0,
          "tutti_copy");
    for (int i = 0; i < leaf_count; i++)
        wrong += leaves[i] != wanted[i];
    CHECK(wrong == 0, "%d of %d leaves are wrong", wrong, leaf_count);
    for (int i = 0; i < ROOTS; i++)
        wrong += roots[i] != kit_rank * 1000 + i;
    CHECK(wrong == 0, "%d roots are wrong", wrong);
    CHECK(MPI_Comm_free(&alone) == MPI_SUCCESS, "MPI_Comm_free");
    MPI_Type_free(&by_root);
    CHECK(tutti_free(root_memory) == 0 && tutti_free(packed) == 0 && tutti_free(leaf_memory) == 0, "tutti_free");
    queue_close(&queue);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "types";
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (!queue_possible() || kit_size > RANKS)
        kit_skip("enqueue_move", "needs a device with streams, and the library in front");
    if (strcmp(what, "types") == 0)
        types(0);
    else if (strcmp(what, "spared") == 0)
        types(1);
    else if (strcmp(what, "forest") == 0)
        forest();
    return kit_end("enqueue_move");
}
