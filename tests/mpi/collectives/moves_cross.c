/* Nonblocking calls on several communicators that the ranks start in orders of their own, beside blocking ones, each
 * with new memory: what a rank maps for one call must not wait for the kernels of another one, which may wait for a
 * peer that does the same the other way round. Needs TUTTI_STATS=1 and rules of rows that store into peers' memory.
 * usage: moves_cross ROUNDS [THREADS: 1: two threads make blocking calls at once] */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { COMMS = 3, MOST = 6000, RANKS_MOST = 4 };

struct cross_call {
    struct kit_buffer in, out;
    MPI_Comm comm;
    int number, count, error;
    const void *from;
    void *to;
};
static struct cross_call calls[COMMS];
static int sent[COMMS][RANKS_MOST * MOST];

static int value(int round, int call, int from, int to, int i)
{
    return round * 100003 + call * 5003 + from * 1009 + to * 31 + i;
}

/* Memory that no call has seen. */
static void cross_open(struct cross_call *c, int round)
{
    const size_t room = sizeof(int) * (size_t)(kit_size * MOST);
    kit_open(&c->in, KIT_DEVICE, room);
    kit_open(&c->out, KIT_DEVICE, room);
    for (int to = 0; to < kit_size; to++) {
        for (int i = 0; i < c->count; i++)
            sent[c->number][to * c->count + i] = value(round, c->number, kit_rank, to, i);
    }
    const size_t bytes = sizeof(int) * (size_t)(kit_size * c->count);
    c->from = kit_put(&c->in, 0, sent[c->number], bytes);
    c->to = kit_put(&c->out, 0, NULL, bytes);
}

static void cross_close(struct cross_call *c, int round)
{
    int guards, wrong = 0;
    const int *got = (const int *)(void *)kit_get(&c->out, &guards);
    for (int from = 0; from < kit_size; from++) {
        for (int i = 0; i < c->count; i++)
            wrong += got[from * c->count + i] != value(round, c->number, from, kit_rank, i);
    }
    CHECK(c->error == MPI_SUCCESS && guards && wrong == 0, "round %d, call %d: error %d, %d elements wrong, guards %d",
          round, c->number, c->error, wrong, guards);
    kit_close(&c->in);
    kit_close(&c->out);
}

static void *cross_make(void *given)
{
    struct cross_call *c = given;
    c->error = MPI_Alltoall(c->from, c->count, MPI_INT, c->to, c->count, MPI_INT, c->comm);
    return NULL;
}

/* The calls from `first` on, each rank in an order of its own; the last one is blocking in every other round. */
static void cross_nonblocking(uint64_t *order, int round)
{
    MPI_Request request[COMMS] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status[COMMS];
    int turn[COMMS] = {0, 1, 2}, n = 0;
    const int blocking = round % 2;
    for (int i = COMMS - blocking - 1; i > 0; i--) {
        const int j = (int)(random_next(order) % (uint64_t)(i + 1)), was = turn[i];
        turn[i] = turn[j];
        turn[j] = was;
    }
    for (int i = 0; i < COMMS - blocking; i++) {
        struct cross_call *c = &calls[turn[i]];
        c->error = MPI_Ialltoall(c->from, c->count, MPI_INT, c->to, c->count, MPI_INT, c->comm, &request[n++]);
    }
    if (blocking)
        cross_make(&calls[COMMS - 1]);
    CHECK(MPI_Waitall(COMMS, request, status) == MPI_SUCCESS, "round %d: MPI_Waitall", round);
}

static void cross_threads(int round)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, cross_make, &calls[round % 2]) != 0)
        exit(1); /* nothing can be tested */
    cross_make(&calls[1 - round % 2]);
    pthread_join(thread, NULL);
    cross_make(&calls[2]);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 100, threads = argc > 2 && atoi(argv[2]);
    const int level = kit_start(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (kit_size > RANKS_MOST)
        kit_skip("moves_cross", "too many ranks");
    if (threads && level < MPI_THREAD_MULTIPLE)
        kit_skip("moves_cross", "this MPI has no MPI_THREAD_MULTIPLE");
    uint64_t order = random_mix(kit_seed + (uint64_t)kit_rank + 1), draw = random_mix(kit_seed);
    for (int i = 0; i < COMMS; i++) {
        calls[i].number = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &calls[i].comm);
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < COMMS; i++) {
            calls[i].count = 1 + (int)(random_next(&draw) % MOST);
            cross_open(&calls[i], round);
        }
        if (threads)
            cross_threads(round);
        else
            cross_nonblocking(&order, round);
        for (int i = 0; i < COMMS; i++)
            cross_close(&calls[i], round);
    }
    if (!kit_plain)
        CHECK(kit_counted("results of data movers", "mapped") > 0, "no result was stored by its senders");
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&calls[i].comm);
    return kit_end("moves_cross");
}
