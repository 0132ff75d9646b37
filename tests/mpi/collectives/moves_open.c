/* Nonblocking and persistent collectives that move data, while they are open: their order among nonblocking reductions
 * and blocking calls, with memory of both kinds; what the program frees and overwrites meanwhile; progress without a
 * call of the program; many open at once. Needs TUTTI_STATS=1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "kit.h"
#include "persistent.h"

enum { COUNT = 2000, RANKS_MOST = 4, ALL = RANKS_MOST * COUNT, MANY = 300, COMMS = 12, ROUNDS = 12 };

static int sent[ALL];
static int over_nodes; /* TUTTI_TEST_OVER_NODES=1: each rank counts its calls over nodes */

/* What rank `from` sends to rank `to` in a call. */
static int value(int call, int from, int to, int i)
{
    return call * 100003 + from * 1009 + to * 31 + i;
}

/* A call that is open: its buffers, and what is to be there. */
struct open_call {
    struct kit_buffer in, out;
    MPI_Request request;
    int number;
    enum { BCAST, ALLGATHER, ALLTOALL, ALLREDUCE, KINDS } kind;
};

static void open_buffers(struct open_call *c, enum kit_kind kind)
{
    kit_open(&c->in, kind, ALL * sizeof(int));
    kit_open(&c->out, kind, ALL * sizeof(int));
}

static void close_buffers(struct open_call *c)
{
    kit_close(&c->in);
    kit_close(&c->out);
}

static const void *put_sent(struct open_call *c)
{
    for (int to = 0; to < kit_size; to++) {
        for (int i = 0; i < COUNT; i++)
            sent[to * COUNT + i] = value(c->number, kit_rank, c->kind == ALLTOALL ? to : 0, i);
    }
    return kit_put(&c->in, 0, sent, ALL * sizeof(int));
}

static void start(struct open_call *c, int number, MPI_Comm comm)
{
    int error;
    c->number = number;
    c->kind = number % KINDS;
    const void *from = put_sent(c);
    void *to = kit_put(&c->out, 0, NULL, ALL * sizeof(int));
    switch (c->kind) {
    case BCAST:
        if (kit_rank == number % kit_size)
            to = kit_put(&c->out, 0, sent, ALL * sizeof(int));
        error = MPI_Ibcast(to, COUNT, MPI_INT, number % kit_size, comm, &c->request);
        break;
    case ALLGATHER:
        error = MPI_Iallgather(from, COUNT, MPI_INT, to, COUNT, MPI_INT, comm, &c->request);
        break;
    case ALLTOALL:
        error = MPI_Ialltoall(from, COUNT, MPI_INT, to, COUNT, MPI_INT, comm, &c->request);
        break;
    default:
        error = MPI_Iallreduce(from, to, COUNT, MPI_INT, MPI_MAX, comm, &c->request);
        break;
    }
    CHECK(error == MPI_SUCCESS, "call %d is not started: class %d", number, kit_class(error));
}

static void compare(struct open_call *c, const char *what)
{
    int guards = 1, wrong = 0;
    const int parts = c->kind == ALLGATHER || c->kind == ALLTOALL ? kit_size : 1;
    const int *got = (const int *)(const void *)kit_get(&c->out, &guards);
    for (int r = 0; r < parts; r++) {
        const int from = c->kind == BCAST ? c->number % kit_size : c->kind == ALLREDUCE ? kit_size - 1 : r;
        for (int i = 0; i < COUNT; i++)
            wrong += got[r * COUNT + i] != value(c->number, from, c->kind == ALLTOALL ? kit_rank : 0, i);
    }
    CHECK(wrong == 0 && guards, "%s: call %d (kind %d) has %d wrong integers", what, c->number, (int)c->kind, wrong);
}

/* ---- order ---- */

/* Calls of all kinds on one communicator, blocking ones among them; host: this rank's memory in a call of these bits is
 * the host's. They are completed last first. */
static void in_order(const char *what, unsigned host)
{
    struct open_call calls[ROUNDS];
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < ROUNDS; i++)
        open_buffers(&calls[i], host >> i % 8 & 1 ? KIT_HOST : KIT_DEVICE);
    for (int i = 0; i < ROUNDS; i++) {
        start(&calls[i], i, comm);
        if (i % 5 == 2) {
            int root = kit_rank == 0 ? 4711 : 0;
            CHECK(MPI_Bcast(&root, 1, MPI_INT, 0, comm) == MPI_SUCCESS && root == 4711, "%s: a blocking call", what);
        }
        if (i % 5 == 4)
            MPI_Barrier(comm);
    }
    for (int i = ROUNDS - 1; i >= 0; i--) {
        const int error = MPI_Wait(&calls[i].request, MPI_STATUS_IGNORE);
        CHECK(error == MPI_SUCCESS, "%s: the wait for call %d: class %d", what, i, kit_class(error));
    }
    for (int i = 0; i < ROUNDS; i++) {
        compare(&calls[i], what);
        close_buffers(&calls[i]);
    }
    MPI_Comm_free(&comm);
}

/* ---- what a call names is freed and overwritten at once ---- */

/* mixed: rank 0 brings host memory, so that the MPI gets the calls when the program has freed what they name. */
static void freed(int mixed)
{
    const enum kit_kind kind = mixed && kit_rank == 0 ? KIT_HOST : KIT_DEVICE;
    int counts[RANKS_MOST], displs[RANKS_MOST], gaps[RANKS_MOST];
    MPI_Datatype types[RANKS_MOST], type;
    struct open_call v, w;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    open_buffers(&v, kind);
    open_buffers(&w, kind);
    v.number = 1;
    w.number = 2;
    v.kind = w.kind = ALLTOALL;
    MPI_Type_vector(COUNT / 2, 2, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int r = 0; r < kit_size; r++) {
        counts[r] = 1;
        displs[r] = r;
        gaps[r] = r * COUNT * (int)sizeof(int);
        types[r] = type;
    }
    const void *from = put_sent(&v);
    int error = MPI_Ialltoallv(from, counts, displs, type, kit_put(&v.out, 0, NULL, ALL * sizeof(int)), counts, displs,
                               type, comm, &v.request);
    from = put_sent(&w);
    error |= MPI_Ialltoallw(from, counts, gaps, types, kit_put(&w.out, 0, NULL, ALL * sizeof(int)), counts, gaps, types,
                            comm, &w.request);
    MPI_Type_free(&type);
    memset(displs, 0xff, sizeof displs);
    memset(counts, 0xff, sizeof counts);
    for (int r = 0; r < RANKS_MOST; r++) {
        gaps[r] = -1;
        types[r] = MPI_DATATYPE_NULL;
    }
    CHECK(error == MPI_SUCCESS, "calls whose types are freed: class %d", kit_class(error));
    error = MPI_Wait(&v.request, MPI_STATUS_IGNORE);
    error |= MPI_Wait(&w.request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    CHECK(error == MPI_SUCCESS, "waits for calls whose types are freed: class %d", kit_class(error));
    compare(&v, "types freed while open");
    compare(&w, "lists of types overwritten while open");
    close_buffers(&v);
    close_buffers(&w);
}

/* ---- progress ---- */

/* No rank makes a call until the data are there. */
static void without_calls(void)
{
    struct open_call c;
    open_buffers(&c, KIT_DEVICE);
    for (int round = 0; round < 5; round++) {
        const uint64_t begin = tutti_now_ns();
        const uint64_t before = kit_counted("MPI_Iallgather", "accelerated");
        const int last = (kit_size - 1) * COUNT + COUNT - 1;
        int there = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        start(&c, ALLGATHER + 4 * round, MPI_COMM_WORLD);
        while (!there && tutti_now_ns() - begin < UINT64_C(10000000000)) {
            const int *got = (const int *)(const void *)kit_get(&c.out, NULL);
            there = got[last] == value(c.number, kit_size - 1, 0, COUNT - 1);
            usleep(500);
        }
        MPI_Wait(&c.request, MPI_STATUS_IGNORE);
        const uint64_t made = kit_counted("MPI_Iallgather", "accelerated") - before;
        CHECK(round == 0 || there || made == 0, "round %d: nothing came while no call was made", round);
        CHECK(round == 0 || made == 1, "round %d: %llu calls of 1 are accelerated", round, (unsigned long long)made);
        compare(&c, "progress without calls");
    }
    close_buffers(&c);
}

/* ---- many at once ---- */

static void many(void)
{
    static struct open_call calls[MANY];
    MPI_Comm comms[COMMS];
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < MANY; i++)
        open_buffers(&calls[i], KIT_DEVICE);
    for (int j = 0; j < MANY; j++) { /* communicators in another order on each rank */
        const int of = kit_rank % 2 ? COMMS - 1 - j % COMMS : j % COMMS, i = j / COMMS * COMMS + of;
        start(&calls[i], i, comms[of]);
    }
    for (int i = 0; i < MANY; i++)
        MPI_Wait(&calls[(i * 7 + kit_rank) % MANY].request, MPI_STATUS_IGNORE);
    for (int i = 0; i < MANY; i++) {
        compare(&calls[i], "many");
        close_buffers(&calls[i]);
    }
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
}

/* ---- persistent calls ---- */

enum { STARTS = 6, REQUESTS = 3 };

/* Ranks start the requests of one communicator in different orders. mixed: rank 0 brings host memory to one of them. */
static void persistent(int mixed)
{
    struct open_call calls[REQUESTS];
    MPI_Request requests[REQUESTS];
    MPI_Comm comm;
    const uint64_t before = kit_counted("MPI_Allgather_init", "accelerated");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < REQUESTS; i++) {
        open_buffers(&calls[i], mixed && i == 1 && kit_rank == 0 ? KIT_HOST : KIT_DEVICE);
        const void *from = kit_put(&calls[i].in, 0, NULL, ALL * sizeof(int));
        void *to = kit_put(&calls[i].out, 0, NULL, ALL * sizeof(int));
        calls[i].kind = i == 0 ? ALLTOALL : ALLGATHER;
        const int error =
            i == 0 ? MPI_Alltoall_init(from, COUNT, MPI_INT, to, COUNT, MPI_INT, comm, MPI_INFO_NULL, &requests[i])
                   : MPI_Allgather_init(from, COUNT, MPI_INT, to, COUNT, MPI_INT, comm, MPI_INFO_NULL, &requests[i]);
        CHECK(error == MPI_SUCCESS, "persistent call %d: class %d", i, kit_class(error));
    }
    for (int round = 0; round < STARTS; round++) {
        for (int i = 0; i < REQUESTS; i++) {
            calls[i].number = 40 + round * REQUESTS + i;
            (void)put_sent(&calls[i]);
        }
        int error = MPI_SUCCESS;
        for (int i = 0; i < REQUESTS; i++)
            error |= MPI_Start(&requests[(i + kit_rank + round) % REQUESTS]);
        if (round % 2) {
            MPI_Status statuses[REQUESTS];
            error |= MPI_Waitall(REQUESTS, requests, statuses);
        } else {
            for (int i = REQUESTS - 1; i >= 0; i--)
                error |= MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
        CHECK(error == MPI_SUCCESS, "round %d of persistent calls: class %d", round, kit_class(error));
        for (int i = 0; i < REQUESTS; i++)
            compare(&calls[i], mixed ? "persistent, mixed memory" : "persistent");
    }
    const uint64_t made = kit_counted("MPI_Allgather_init", "accelerated") - before;
    /* Rank 0 brings no device memory to the mixed request, and leaves its first start to the MPI. By the rules of GPUs
     * all of its starts go there. */
    const uint64_t least = mixed ? STARTS : 2 * STARTS, most = mixed && kit_rank == 0 ? STARTS : 2 * STARTS;
    CHECK(over_nodes ? made > 0 : made >= least && made <= most, "%llu starts are accelerated",
          (unsigned long long)made);
    for (int i = 0; i < REQUESTS; i++) {
        MPI_Request_free(&requests[i]);
        close_buffers(&calls[i]);
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size < 2 || kit_size > RANKS_MOST)
        kit_skip("moves_open", "needs two to four ranks");
    over_nodes = (int)check_setting("TUTTI_TEST_OVER_NODES", 0);
    alarm(over_nodes ? 80 : 40);
    in_order("a rank that has no device memory", kit_rank == 0 ? 0xff : 0);
    in_order("device memory", 0);
    in_order("host memory on rank 0 in every second call", kit_rank == 0 ? 0xaa : 0);
    in_order("host memory on the last rank, then on the first", kit_rank == 0 ? 0xf0 : kit_rank == 1 ? 0x0f : 0);
    freed(0);
    freed(1);
    if (!over_nodes) /* what the MPI carries moves while the program is in a call */
        without_calls();
    many();
    if (persistent_there()) {
        persistent(0);
        persistent(1);
    }
    return kit_end("moves_open");
}
