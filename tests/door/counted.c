/* What windows of host memory cost a program that has no memory of a GPU: calls that Tutti makes of the MPI beside the
 * program's (counting.c, behind Tutti). A dynamic window makes none, from the first one on; MPI_Win_create one
 * reduction. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

enum { ROUNDS = 5, BYTES = 4096 };
static int rank, size, wrong;

static int counted(void)
{
    int (*calls)(void);
    *(void **)(void *)&calls = dlsym(RTLD_DEFAULT, "counting_calls");
    return calls ? calls() : -1;
}

static void expect(int before, int most, const char *what)
{
    const int now = counted() - before;
    if (before < 0 || now != most) {
        fprintf(stderr, "rank %d: %s: Tutti makes %d calls of the MPI and not %d\n", rank, what, now, most);
        wrong++;
    }
}

/* A window whose memory the program attaches and other ranks write. */
static void dynamic_window(MPI_Comm comm, MPI_Win *win)
{
    static int memory[BYTES / sizeof(int)];
    const int to = (rank + 1) % size;
    MPI_Aint at = 0, there = 0;
    MPI_Get_address(memory, &at);
    MPI_Sendrecv(&at, 1, MPI_AINT, (rank + size - 1) % size, 0, &there, 1, MPI_AINT, to, 0, comm, MPI_STATUS_IGNORE);
    memory[1] = -1;
    int before = counted();
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, win);
    MPI_Win_attach(*win, memory, sizeof memory);
    expect(before, 0, "MPI_Win_create_dynamic and _attach");
    MPI_Barrier(comm);
    before = counted();
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, *win);
    MPI_Put(&rank, 1, MPI_INT, to, there + (MPI_Aint)sizeof(int), 1, MPI_INT, *win);
    MPI_Win_flush(to, *win);
    MPI_Win_unlock(to, *win);
    MPI_Win_fence(0, *win);
    MPI_Win_fence(0, *win);
    expect(before, 0, "operations on a dynamic window");
    if (memory[1] != (rank + size - 1) % size) {
        fprintf(stderr, "rank %d: %d was put\n", rank, memory[1]);
        wrong++;
    }
    before = counted();
    MPI_Win_detach(*win, memory);
    expect(before, 0, "MPI_Win_detach");
}

static void window_free(MPI_Win *win)
{
    const int before = counted();
    MPI_Win_free(win);
    expect(before, 0, "MPI_Win_free");
}

int main(int argc, char **argv)
{
    static int memory[BYTES / sizeof(int)];
    MPI_Win dynamic, second, win;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD); /* the team of the communicator is made here */
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    MPI_Barrier(comm);
    for (int i = 0; i < ROUNDS; i++) {
        dynamic_window(MPI_COMM_WORLD, &dynamic);
        dynamic_window(MPI_COMM_WORLD, &second);
        window_free(&dynamic);
        window_free(&second);
        const int before = counted();
        MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, comm, &win);
        expect(before, 1, "MPI_Win_create");
        window_free(&win);
    }
    MPI_Comm_free(&comm);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0 && !wrong)
        printf("counted: %d rounds\n", ROUNDS);
    return wrong != 0;
}
