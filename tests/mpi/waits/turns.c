/* Nonblocking and persistent collectives behind a pause, in which the library's thread has fallen asleep: every
 * completion call runs their jobs in its place. The ranks complete two communicators' calls in opposite orders, one
 * after the other, so that the one that a rank waits for needs the other one's progress on its peer. Two ranks or more;
 * TUTTI_STATS=1. */
#include <unistd.h>

#include "completion.h"
#include "kit.h"
#include "persistent.h"

enum { CALLS = 4, COUNT = 300, TRIES = 40, PAUSE_US = 2000, COMMS = 2 };

static MPI_Comm comms[COMMS];
static struct kit_buffer in[CALLS], out[CALLS];

static long served(void)
{
    return (long)kit_counted("jobs of nonblocking calls", "served");
}

static int value(int round, int call, int rank, int i)
{
    return round * 131 + call * 17 + rank * 1000 + i;
}

/* Call k of a round: on the communicators in turns, a reduction or a move. */
static void start(int round, int k, MPI_Request *request)
{
    static int values[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = value(round, k, kit_rank, i);
    const void *from = kit_put(&in[k], 0, values, sizeof values);
    if (k / COMMS % 2 == round % 2)
        MPI_Iallreduce(from, kit_put(&out[k], 0, NULL, sizeof values), COUNT, MPI_INT, MPI_SUM, comms[k % COMMS],
                       request);
    else
        MPI_Iallgather(from, COUNT, MPI_INT, kit_put(&out[k], 0, NULL, sizeof values * (size_t)kit_size), COUNT,
                       MPI_INT, comms[k % COMMS], request);
}

static void check_call(int round, int k)
{
    const int reduced = k / COMMS % 2 == round % 2;
    const int *got = (const int *)(const void *)kit_get(&out[k], NULL);
    int wrong = 0;
    for (int i = 0; i < COUNT * (reduced ? 1 : kit_size); i++) {
        int expected = reduced ? 0 : value(round, k, i / COUNT, i % COUNT);
        for (int r = 0; reduced && r < kit_size; r++)
            expected += value(round, k, r, i);
        wrong += got[i] != expected;
    }
    CHECK(wrong == 0, "round %d, call %d: %d elements are wrong", round, k, wrong);
}

/* Until the request is complete; a call that only looks is followed by MPI_Wait. */
static void complete(enum completion how, MPI_Request *request)
{
    struct completed done;
    do
        done = completion_make(&completion_library, how, request);
    while (!done.flag);
    CHECK(done.code == MPI_SUCCESS, "%s returns %d", completion_names[how], done.code);
    if (completion_looks(how))
        MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* 1 if all ranks have run jobs. */
static int all_have(int mine)
{
    int all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

static int round_number;

static long pause_first(void)
{
    round_number++;
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(PAUSE_US);
    return served();
}

static int one_by_one(enum completion how)
{
    MPI_Request requests[CALLS];
    const long before = pause_first();
    for (int k = 0; k < CALLS; k++)
        start(round_number, k, &requests[k]);
    for (int k = 0; k < CALLS; k++) /* odd ranks begin with the other communicator's */
        complete(how, &requests[kit_rank % 2 ? k ^ 1 : k]);
    for (int k = 0; k < CALLS; k++)
        check_call(round_number, k);
    return all_have(served() > before);
}

static int together(enum completion how)
{
    MPI_Request requests[CALLS];
    MPI_Status statuses[CALLS];
    const long before = pause_first();
    for (int k = 0; k < CALLS; k++)
        start(round_number, k, &requests[k]);
    int flag = MPI_Waitall(CALLS, requests, statuses) == MPI_SUCCESS && how == COMPLETION_WAITALL;
    for (int k = 0; k < CALLS; k++)
        check_call(round_number, k);
    return all_have(served() > before) && flag;
}

/* The ranks complete the start of a persistent request by different calls. */
static MPI_Request persistent;

static int started_again(enum completion how)
{
    static int values[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = value(round_number + 1, 0, kit_rank, i);
    kit_put(&in[0], 0, values, sizeof values);
    kit_put(&out[0], 0, NULL, sizeof values);
    const long before = pause_first();
    MPI_Start(&persistent);
    complete((how + (enum completion)kit_rank) % COMPLETION_GET_STATUS, &persistent);
    const int *got = (const int *)(const void *)kit_get(&out[0], NULL);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        int expected = 0;
        for (int r = 0; r < kit_size; r++)
            expected += value(round_number, 0, r, i);
        wrong += got[i] != expected;
    }
    CHECK(wrong == 0, "persistent, round %d: %d elements are wrong", round_number, wrong);
    return all_have(served() > before);
}

/* Tries until all ranks have run a job in such a call. */
static void try(const char *what, enum completion how, int (*round)(enum completion how))
{
    int seen = 0;
    for (int i = 0; i < TRIES && !seen && check_failed() == 0; i++)
        seen = round(how);
    CHECK(kit_plain || seen, "%s: jobs wait for the library's thread", what);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    for (int k = 0; k < COMMS; k++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[k]);
    for (int k = 0; k < CALLS; k++) {
        kit_open(&in[k], KIT_DEVICE, COUNT * sizeof(int));
        kit_open(&out[k], KIT_DEVICE, COUNT * sizeof(int) * (size_t)kit_size);
    }
    for (enum completion how = 0; how < COMPLETIONS; how++) {
        if (completion_is_there(&completion_library, how))
            try(completion_names[how], how, one_by_one);
    }
    try("MPI_Waitall of several", COMPLETION_WAITALL, together);
    if (persistent_there()) {
        const void *from = kit_put(&in[0], 0, NULL, COUNT * sizeof(int));
        MPI_Allreduce_init(from, kit_put(&out[0], 0, NULL, COUNT * sizeof(int)), COUNT, MPI_INT, MPI_SUM, comms[0],
                           MPI_INFO_NULL, &persistent);
        for (enum completion how = 0; how < COMPLETION_GET_STATUS; how++)
            try("persistent", how, started_again);
        MPI_Request_free(&persistent);
    }
    for (int k = 0; k < CALLS; k++) {
        kit_close(&in[k]);
        kit_close(&out[k]);
    }
    for (int k = 0; k < COMMS; k++)
        MPI_Comm_free(&comms[k]);
    return kit_end("turns");
}
