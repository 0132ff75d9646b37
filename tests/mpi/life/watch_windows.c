/* watch_windows killed N: the last rank dies while it updates elements of rank 0's window, N milliseconds and some
 * after it has begun. Ranks that wait for it must get an error and end; where no rank waits, the updates go on. For
 * watch.sh.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "kit.h"
#include "tutti/tutti.h"

enum { COUNT = 1 << 20, UPDATES = 400, SECONDS = 10, ALONE_US = 200000 };
static long delay;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *kill_soon(void *unused)
{
    usleep((useconds_t)(20000 + 1000 * delay));
    fprintf(stderr, "killed at %ld\n", delay);
    kill(getpid(), SIGKILL);
    return unused;
}

int main(int argc, char **argv)
{
    MPI_Win win;
    MPI_Datatype wide;
    pthread_t killer;
    void *memory = NULL;
    kit_start(&argc, &argv, MPI_THREAD_FUNNELED);
    delay = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    if (kit_size < 2)
        kit_skip("watch_windows", "needs two ranks");
    int *origin = calloc(2 * COUNT, sizeof *origin);
    tutti_alloc(2 * COUNT * sizeof *origin, &memory);
    MPI_Win_create(memory, 2 * COUNT * sizeof *origin, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &wide); /* with gaps: by the host, which takes a while */
    MPI_Type_commit(&wide);
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank == kit_size - 1)
        pthread_create(&killer, NULL, kill_soon, NULL);
    else if (delay == 0) /* the rank that dies updates alone until then: it ends in the middle of an update */
        usleep(ALONE_US);
    const double start = now();
    int error = MPI_SUCCESS;
    for (int i = 0; error == MPI_SUCCESS && i < UPDATES && now() - start < SECONDS; i++)
        error = MPI_Accumulate(origin, COUNT, wide, 0, 0, COUNT, wide, MPI_SUM, win);
    if (error != MPI_SUCCESS)
        fprintf(stderr, "survivor %d told after %.1f s, class %d, in an update\n", kit_rank, now() - start,
                kit_class(error));
    _exit(0);
}
