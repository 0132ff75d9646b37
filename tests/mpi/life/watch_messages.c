/* A rank dies while a message of its own is under way past the MPI:
 *
 *   watch_messages killed N   even N: the last rank while it fetches a message of rank 0; odd N: with messages of its
 * own that rank 0 has not fetched
 *
 * The others must get an error or the right data, and end. For watch.sh. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kit.h"

enum { LARGE = 48 << 20, SMALL = 60000, MESSAGES = 5 };
static struct kit_buffer out, in, sums;
static unsigned char *bytes;
static MPI_Datatype every_second; /* byte: so many, that fetching them takes a while */
static double start;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void told(int error, const char *what)
{
    fprintf(stderr, "survivor %d told after %.1f s, class %d, in %s\n", kit_rank, now() - start, kit_class(error),
            what);
    _exit(0);
}

/* As a barrier that knows of the death of a rank. */
static void meet(void)
{
    static const int one = 1;
    void *from = kit_put(&sums, 0, &one, sizeof one);
    int error = MPI_Allreduce(MPI_IN_PLACE, from, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (error != MPI_SUCCESS)
        told(error, "a reduction");
}

static void *kill_soon(void *unused)
{
    usleep(20000);
    kill(getpid(), SIGKILL);
    return unused;
}

/* The last one is killed while it fetches; the first messages are packed, so that it gets to know rank 0's memory. */
static void while_fetching(long last)
{
    pthread_t killer;
    MPI_Request request = MPI_REQUEST_NULL;
    for (long round = 0;; round++) {
        meet();
        start = now();
        if (kit_rank == 0)
            MPI_Isend(kit_put(&out, 0, bytes, LARGE), LARGE / 2, every_second, kit_size - 1, 1, MPI_COMM_WORLD,
                      &request);
        void *to = kit_rank == kit_size - 1 ? kit_put(&in, 0, NULL, LARGE) : NULL;
        meet();
        if (kit_rank == kit_size - 1) {
            if (round == last) {
                fprintf(stderr, "killed at %ld\n", round);
                pthread_create(&killer, NULL, kill_soon, NULL);
            }
            MPI_Recv(to, LARGE / 2, every_second, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (kit_rank == 0) {
            usleep(40000); /* the other one has it in hand by now */
            start = now();
            int error = MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (error != MPI_SUCCESS)
                told(error, "a send");
        }
    }
}

/* What the last rank has sent is still there, or rank 0 is told. */
static void with_offers(long last)
{
    MPI_Request requests[MESSAGES];
    MPI_Status statuses[MESSAGES];
    for (long round = 0;; round++) {
        meet();
        start = now();
        if (kit_rank == kit_size - 1) {
            char *from = kit_put(&out, 0, bytes, SMALL);
            for (int i = 0; i < MESSAGES; i++)
                MPI_Isend(from, SMALL, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
        }
        meet();
        if (kit_rank == kit_size - 1 && round == last) {
            fprintf(stderr, "killed at %ld\n", round);
            kill(getpid(), SIGKILL);
        }
        for (int i = 0; i < MESSAGES && kit_rank == 0; i++) {
            void *to = kit_put(&in, 0, NULL, SMALL);
            int error = MPI_Recv(to, SMALL, MPI_BYTE, kit_size - 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (error != MPI_SUCCESS)
                told(error, "a receive");
            if (memcmp(kit_get(&in, NULL), bytes, SMALL) != 0) {
                fprintf(stderr, "survivor %d has a wrong result in round %ld\n", kit_rank, round);
                _exit(1);
            }
        }
        if (kit_rank == kit_size - 1)
            MPI_Waitall(MESSAGES, requests, statuses);
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_FUNNELED);
    long number = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    kit_open(&out, KIT_DEVICE, LARGE);
    kit_open(&in, KIT_DEVICE, LARGE);
    kit_open(&sums, KIT_DEVICE, sizeof(int));
    bytes = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (unsigned char)(i * 2654435761u >> 24);
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &every_second);
    MPI_Type_commit(&every_second);
    if (kit_size < 2)
        kit_skip("watch_letters", "needs two ranks");
    if (number % 2 == 0)
        while_fetching(3 + number % 3);
    else
        with_offers(2 + number % 5);
    return kit_end("watch_letters");
}
