/* A rank dies in the middle of partitioned communication, with half of its partitions marked:
 *
 *   watch_partitioned messages N   messages round a ring, marked and awaited by calls of kernels, in round N
 *   watch_partitioned sums N       MPIX_Pallreduce_init, in round N
 *
 * The others get an error, and end. For watch.sh. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kit.h"
#include "tutti/mpix.h"

#include "tutti/device/prequest.h"

enum { PARTS = 8, EACH = 3000, COUNT = PARTS * EACH, ROUNDS = 20 };

/* Open MPI 4.1's header lacks them. */
static int (*psend_init)(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
static int (*precv_init)(void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
static int (*pready)(int, MPI_Request);

static struct kit_buffer out, in;
static int *from, *to;
static double begun;
static uint64_t dice;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void find(const char *name, void *call)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    CHECK(symbol != NULL, "%s is not there", name);
    memcpy(call, &symbol, sizeof symbol);
}

static void told(int error, const char *what)
{
    fprintf(stderr, "survivor %d told after %.1f s, class %d, in %s\n", kit_rank, now() - begun, kit_class(error),
            what);
    _exit(0);
}

static int value(int rank, int round, int i)
{
    return rank * 1000003 + round * 101 + i;
}

/* Partitions in another order each round; the last rank dies behind half of them in its last round. */
static void mark(int round, int last, MPI_Request request, const MPIX_Prequest *device)
{
    const int first = (int)(random_next(&dice) % PARTS);
    for (int k = 0; k < PARTS; k++) {
        const int p = (first + k * 3) % PARTS;
        if (kit_rank == kit_size - 1 && round == last && k == PARTS / 2) {
            fprintf(stderr, "killed at %d\n", round);
            kill(getpid(), SIGKILL);
        }
        for (int i = p * EACH; i < (p + 1) * EACH; i++)
            from[i] = value(kit_rank, round, i);
        const int error = device ? MPIX_Pready_block(p, *device) : pready(p, request);
        if (error != MPI_SUCCESS)
            told(error, "MPI_Pready");
    }
}

static void wrong(int round, int i)
{
    fprintf(stderr, "survivor %d has a wrong result in round %d at %d\n", kit_rank, round, i);
    _exit(1);
}

static void messages(int last)
{
    const int right = (kit_rank + 1) % kit_size, left = (kit_rank + kit_size - 1) % kit_size;
    MPI_Request r[2];
    MPI_Status statuses[2];
    MPIX_Prequest marks, looks;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "tutti_transport_partitions", "4");
    psend_init(from, PARTS, EACH, MPI_INT, right, 1, MPI_COMM_WORLD, info, &r[0]);
    precv_init(to, PARTS / 2, 2 * EACH, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
    MPI_Info_free(&info);
    MPIX_Prequest_create(r[0], &marks);
    MPIX_Prequest_create(r[1], &looks);
    for (int round = 0; round <= last + 1; round++) {
        int flag = 0;
        begun = now();
        int error = MPI_Startall(2, r);
        if (error != MPI_SUCCESS)
            told(error, "MPI_Startall");
        error = MPIX_Pbuf_prepareall(2, r);
        if (error != MPI_SUCCESS)
            told(error, "MPIX_Pbuf_prepareall");
        mark(round, last, r[0], &marks);
        error = MPI_Waitall(2, r, statuses);
        if (error != MPI_SUCCESS)
            told(error, "MPI_Waitall");
        MPIX_Parrived(looks, 0, &flag);
        for (int i = 0; i < COUNT; i++) {
            if (!flag || to[i] != value(left, round, i))
                wrong(round, i);
        }
    }
}

static void sums(int last)
{
    MPI_Request request;
    MPIX_Pallreduce_init(from, to, PARTS, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; round <= last + 1; round++) {
        begun = now();
        int error = MPI_Start(&request);
        if (error != MPI_SUCCESS)
            told(error, "MPI_Start");
        mark(round, last, request, NULL);
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (error != MPI_SUCCESS)
            told(error, "MPI_Wait");
        for (int i = 0; i < COUNT; i++) {
            int sum = 0;
            for (int rank = 0; rank < kit_size; rank++)
                sum += value(rank, round, i);
            if (to[i] != sum)
                wrong(round, i);
        }
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const char *mode = argc > 1 ? argv[1] : "messages";
    const int last = (int)((argc > 2 ? strtol(argv[2], NULL, 10) : 0) % ROUNDS);
    if (kit_size < 2)
        kit_skip("watch_partitioned", "needs two ranks");
    find("MPI_Psend_init", &psend_init);
    find("MPI_Precv_init", &precv_init);
    find("MPI_Pready", &pready);
    dice = (uint64_t)last + 1;
    kit_open(&out, KIT_DEVICE, COUNT * sizeof(int));
    kit_open(&in, KIT_DEVICE, COUNT * sizeof(int));
    from = kit_put(&out, 0, NULL, COUNT * sizeof(int));
    to = kit_put(&in, 0, NULL, COUNT * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD); /* all ranks are there; nothing has been exchanged on device memory */
    if (strcmp(mode, "messages") == 0)
        messages(last);
    else
        sums(last);
    fprintf(stderr, "survivor %d goes on as if all were there\n", kit_rank);
    _exit(1);
}
