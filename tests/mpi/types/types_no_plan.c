/* Elements of a type without a plan (too many levels), with a gap each, in memory of a GPU: what a call asks the GPU's
 * driver does not grow with the elements. A copy of its own for each of them took seconds where ranks share a GPU. In
 * each way of the library: an image for the MPI, blocks that the MPI packs, persistent and nonblocking calls. Every
 * byte is compared, gaps too. Needs TUTTI_STATS=1. */
#include <string.h>

#include "kit.h"
#include "persistent.h"

enum { LEVELS = 210, ELEMENTS = 3000, INTS = 5, RANKS = 4, ALL = RANKS * ELEMENTS * INTS, TAG = 9, ASKED_MOST = 100 };
static const int has[INTS] = {0, 1, 0, 1, 1}; /* ints of an element */
static struct kit_buffer in, out;
static int counts[RANKS], bytes_at[RANKS];
static MPI_Datatype type, types[RANKS];

static MPI_Datatype deep(void)
{
    static const int lengths[] = {1, 2}, at[] = {1, 3};
    MPI_Datatype made, next;
    MPI_Type_indexed(2, lengths, at, MPI_INT, &next);
    MPI_Type_create_resized(next, 0, INTS * (MPI_Aint)sizeof(int), &made);
    MPI_Type_free(&next);
    for (int i = 0; i < LEVELS; i++) {
        MPI_Type_contiguous(1, made, &next);
        MPI_Type_free(&made);
        made = next;
    }
    MPI_Type_commit(&made);
    return made;
}

static int value(int from, int block, int i)
{
    return (from * RANKS + block) * ELEMENTS * INTS + i + 1;
}

/* The calls leave a request where there is one. */
static int send_receive(const void *from, void *to, MPI_Request *request)
{
    const int peer = kit_rank ^ 1;
    (void)request;
    if (peer >= kit_size)
        return MPI_SUCCESS;
    return MPI_Sendrecv(from, ELEMENTS, type, peer, TAG, to, ELEMENTS, type, peer, TAG, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE);
}

static int broadcast(const void *from, void *to, MPI_Request *request)
{
    (void)from;
    (void)request;
    return MPI_Bcast(to, ELEMENTS, type, 0, MPI_COMM_WORLD);
}

static int allgather(const void *from, void *to, MPI_Request *request)
{
    (void)request;
    return MPI_Allgather(from, ELEMENTS, type, to, ELEMENTS, type, MPI_COMM_WORLD);
}

static int iallgather(const void *from, void *to, MPI_Request *request)
{
    return MPI_Iallgather(from, ELEMENTS, type, to, ELEMENTS, type, MPI_COMM_WORLD, request);
}

static int ialltoallw(const void *from, void *to, MPI_Request *request)
{
    return MPI_Ialltoallw(from, counts, bytes_at, types, to, counts, bytes_at, types, MPI_COMM_WORLD, request);
}

static int allgather_init(const void *from, void *to, MPI_Request *request)
{
    if (!persistent_there())
        return allgather(from, to, request);
    const int error =
        MPI_Allgather_init(from, ELEMENTS, type, to, ELEMENTS, type, MPI_COMM_WORLD, MPI_INFO_NULL, request);
    return error == MPI_SUCCESS ? MPI_Start(request) : error;
}

/* Waits for the request, if there is one, and frees a persistent one. */
static int finish(MPI_Request *request)
{
    const int error = *request == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Wait(request, MPI_STATUS_IGNORE);
    if (*request != MPI_REQUEST_NULL)
        MPI_Request_free(request);
    return error;
}

/* sends: the block that rank r sends to this one; -1: there is none. */
static int of_peer(int r)
{
    return r == (kit_rank ^ 1) ? 0 : -1;
}
static int of_root(int r)
{
    return r == 0 ? 0 : -1;
}
static int of_all(int r)
{
    (void)r;
    return 0;
}
static int of_each(int r)
{
    (void)r;
    return kit_rank;
}
static const struct call {
    const char *name;
    int (*make)(const void *from, void *to, MPI_Request *request);
    int (*sends)(int r);
    int first; /* 1: what is received lies in the first block, 0: in that of its sender */
} calls[] = {{"MPI_Sendrecv", send_receive, of_peer, 1}, {"MPI_Bcast", broadcast, of_root, 1},
             {"MPI_Allgather", allgather, of_all, 0},    {"MPI_Iallgather", iallgather, of_all, 0},
             {"MPI_Ialltoallw", ialltoallw, of_each, 0}, {"MPI_Allgather_init", allgather_init, of_all, 0}};

static void try(const struct call *call)
{
    static int mine[ALL], want[ALL];
    enum { BLOCK = ELEMENTS * INTS, LEAST = 3 };
    for (int i = 0; i < ALL; i++)
        mine[i] = value(kit_rank, i / BLOCK, i % BLOCK);
    for (int turn = 0; turn < LEAST; turn++) {
        memset(want, 0x5b, sizeof want);
        void *const from = kit_put(&in, 0, mine, sizeof mine), *const to = kit_put(&out, 0, want, sizeof want);
        if (call->make == broadcast && kit_rank == 0)
            kit_put(&out, 0, memcpy(want, mine, sizeof mine), sizeof want);
        for (int r = 0; r < kit_size; r++) {
            const int block = call->sends(r), at = call->first ? 0 : r * BLOCK;
            for (int i = 0; i < BLOCK && block >= 0; i++)
                want[at + i] = has[i % INTS] ? value(r, block, i) : want[at + i];
        }
        MPI_Barrier(MPI_COMM_WORLD);
        const uint64_t before = kit_counted("GPU driver", "what memory is");
        MPI_Request request = MPI_REQUEST_NULL;
        int error = call->make(from, to, &request);
        error = error == MPI_SUCCESS ? finish(&request) : error;
        const uint64_t asked = kit_counted("GPU driver", "what memory is") - before;
        const int *const got = (const void *)kit_get(&out, NULL);
        int wrong = 0;
        while (wrong < ALL && got[wrong] == want[wrong])
            wrong++;
        CHECK(error == MPI_SUCCESS && wrong == ALL, "%s of a type without a plan: class %d, int %d is %x, not %x",
              call->name, kit_class(error), wrong, wrong < ALL ? (unsigned)got[wrong] : 0,
              wrong < ALL ? (unsigned)want[wrong] : 0);
        CHECK(asked < ASKED_MOST, "%s of %d elements without a plan asks the driver %llu times", call->name, ELEMENTS,
              (unsigned long long)asked);
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size > RANKS)
        kit_skip("types_no_plan", "too many ranks");
    kit_open(&in, KIT_DEVICE, ALL * sizeof(int));
    kit_open(&out, KIT_DEVICE, ALL * sizeof(int));
    type = deep();
    for (int r = 0; r < RANKS; r++) {
        types[r] = type;
        counts[r] = ELEMENTS;
        bytes_at[r] = r * ELEMENTS * INTS * (int)sizeof(int);
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        try(&calls[i]);
    MPI_Type_free(&type);
    kit_close(&in);
    kit_close(&out);
    return kit_end("types_no_plan");
}
