/* Messages of device memory between ranks of a node from several threads at once, each with tags and buffers of its
 * own; of one rank alone, from each thread to the one before it. Argument: rounds of each thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { THREADS = 3, MOST = 60000, AT_ONCE = 4 };

struct endpoint {
    pthread_t id;
    int number, peer, source; /* source: thread of the peer that it receives from */
    long rounds, wrong;
    struct kit_buffer out[AT_ONCE], in[AT_ONCE];
};

static void fill(unsigned char *to, size_t n, int rank, int thread, long round, int i)
{
    uint64_t seed =
        kit_seed + (uint64_t)rank * 7919 + (uint64_t)thread * 104729 + (uint64_t)round * 1299709 + (uint64_t)i;
    for (size_t b = 0; b < n; b++)
        to[b] = (unsigned char)random_mix(seed + b);
}

static void *work(void *at)
{
    struct endpoint *endpoint = at;
    unsigned char *bytes = malloc(MOST);
    for (long round = 0; round < endpoint->rounds; round++) {
        MPI_Request requests[2 * AT_ONCE];
        MPI_Status statuses[2 * AT_ONCE];
        size_t n = 16384 + random_mix((uint64_t)round) % (MOST - 16384);
        void *from[AT_ONCE], *to[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            fill(bytes, n, kit_rank, endpoint->number, round, i);
            from[i] = kit_put(&endpoint->out[i], 0, bytes, n);
            to[i] = kit_put(&endpoint->in[i], 3, NULL, n);
        }
        if (round % 3 == 0) { /* one after the other */
            for (int i = 0; i < AT_ONCE; i++)
                MPI_Sendrecv(from[i], (int)n, MPI_BYTE, endpoint->peer, endpoint->number * 10 + i, to[i], (int)n,
                             MPI_BYTE, endpoint->peer, endpoint->source * 10 + i, MPI_COMM_WORLD, &statuses[i]);
        } else {
            for (int i = 0; i < AT_ONCE; i++)
                MPI_Irecv(to[i], (int)n, MPI_BYTE, endpoint->peer, endpoint->source * 10 + i, MPI_COMM_WORLD,
                          &requests[i]);
            for (int i = 0; i < AT_ONCE; i++)
                MPI_Isend(from[i], (int)n, MPI_BYTE, endpoint->peer, endpoint->number * 10 + i, MPI_COMM_WORLD,
                          &requests[AT_ONCE + i]);
            if (round % 3 == 1)
                MPI_Waitall(2 * AT_ONCE, requests, statuses);
            for (int i = 2 * AT_ONCE - 1; i >= 0 && round % 3 == 2; i--)
                MPI_Wait(&requests[i], &statuses[i]);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            int count = -1;
            MPI_Get_count(&statuses[i], MPI_BYTE, &count);
            fill(bytes, n, endpoint->peer, endpoint->source, round, i);
            endpoint->wrong += count != (int)n || memcmp(kit_get(&endpoint->in[i], NULL), bytes, n) != 0;
        }
    }
    free(bytes);
    return NULL;
}

int main(int argc, char **argv)
{
    struct endpoint endpoint[THREADS];
    int level = kit_start(&argc, &argv, MPI_THREAD_MULTIPLE);
    long rounds = argc > 1 ? atol(argv[1]) : 60;
    if (level < MPI_THREAD_MULTIPLE)
        kit_skip("endpoints_threads", "this MPI has no MPI_THREAD_MULTIPLE");
    if (kit_size > 2)
        kit_skip("endpoints_threads", "it takes one rank or two");
    for (int t = 0; t < THREADS; t++) {
        endpoint[t] = (struct endpoint){.number = t,
                                        .peer = kit_size - 1 - kit_rank,
                                        .source = kit_size == 1 ? (t + 1) % THREADS : t,
                                        .rounds = rounds};
        for (int i = 0; i < AT_ONCE; i++) {
            kit_open(&endpoint[t].out[i], KIT_DEVICE, MOST);
            kit_open(&endpoint[t].in[i], i % 2 ? KIT_HOST : KIT_DEVICE, MOST);
        }
    }
    for (int t = 0; t < THREADS; t++)
        pthread_create(&endpoint[t].id, NULL, work, &endpoint[t]);
    for (int t = 0; t < THREADS; t++) {
        pthread_join(endpoint[t].id, NULL);
        CHECK(endpoint[t].wrong == 0, "thread %d: %ld messages of %ld are wrong", t, endpoint[t].wrong,
              rounds * AT_ONCE);
    }
    const char *how = getenv("TUTTI_NODE_RANKS") ? "pipelined to another node" : "fetched by the receiver";
    CHECK(kit_plain || kit_left_to_mpi() || kit_counted("MPI_Isend", how) > 0, "no message was %s", how);
    for (int t = 0; t < THREADS; t++) {
        for (int i = 0; i < AT_ONCE; i++) {
            kit_close(&endpoint[t].out[i]);
            kit_close(&endpoint[t].in[i]);
        }
    }
    return kit_end("endpoints_threads");
}
