/* Many communicators with open nonblocking reductions at once, started in another order on each rank, beside blocking
 * ones; progress without completion calls; communicators freed while calls are open; requests freed before they
 * complete.
 *
 *   ireduce_overlap [ROUNDS] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "reduction_request.h"
#include "support/random.h"

enum { COMMS = 8, EACH = 3 };

static void pause_ms(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* A permutation of this rank's own. */
static void shuffle(int *order, int n, uint64_t seed)
{
    for (int i = 0; i < n; i++) {
        int j = (int)(random_mix(seed + (uint64_t)i) % (uint64_t)(i + 1));
        order[i] = order[j];
        order[j] = i;
    }
}

static void overlap(int round, MPI_Comm *comms)
{
    static struct reduction_request calls[COMMS][EACH];
    MPI_Request requests[COMMS * EACH];
    int order[COMMS], n = 0;
    for (int c = 0; c < COMMS; c++) {
        for (int k = 0; k < EACH; k++) {
            uint64_t r = random_mix(kit_seed + (uint64_t)(round * COMMS + c) * EACH + (uint64_t)k);
            rreq_open(&calls[c][k], (enum rreq_call)(r % RREQ_CALLS), (int)((r >> 8) % 3000) + 1, comms[c], KIT_DEVICE,
                      (int)((r >> 40) % (uint64_t)kit_size), 0);
            rreq_fill(&calls[c][k], round + k);
        }
    }
    shuffle(order, COMMS, kit_seed ^ (uint64_t)(round * 64 + kit_rank));
    for (int c = 0; c < COMMS; c++) {
        for (int k = 0; k < EACH; k++) {
            int code = rreq_start(&calls[order[c]][k], 0);
            CHECK(code == MPI_SUCCESS, "start: code %d", code);
            requests[n++] = calls[order[c]][k].request;
        }
    }
    long sum = kit_rank; /* a blocking call beside them, on one of the communicators */
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, comms[round % COMMS]);
    CHECK(sum == (long)kit_size * (kit_size - 1) / 2, "a blocking call among them: %ld", sum);
    CHECK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "Waitall");
    for (int c = 0; c < COMMS; c++) {
        for (int k = 0; k < EACH; k++) {
            rreq_check(&calls[c][k], "overlap");
            rreq_close(&calls[c][k]);
        }
    }
}

/* The ranks start calls and call nothing more: after a while all are done, before any completion call. */
static void unattended(MPI_Comm comm)
{
    struct reduction_request calls[4];
    rreq_open(&calls[0], RREQ_ALLREDUCE, 100, comm, KIT_DEVICE, 0, 0); /* opens the channels */
    CHECK(rreq_start(&calls[0], 0) == MPI_SUCCESS && MPI_Wait(&calls[0].request, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "first call");
    rreq_close(&calls[0]);
    for (int i = 0; i < 4; i++)
        rreq_open(&calls[i], (enum rreq_call)i, 20000, comm, KIT_DEVICE, 1 % kit_size, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++)
        CHECK(rreq_start(&calls[i], 0) == MPI_SUCCESS, "start");
    pause_ms(700);
    for (int i = 0; i < 4; i++) { /* the results are there though nobody has asked */
        rreq_check(&calls[i], "unattended");
        int flag = 0;
        MPI_Request_get_status(calls[i].request, &flag, MPI_STATUS_IGNORE);
        CHECK(flag, "call %d is done at the first look", i);
    }
    for (int i = 0; i < 4; i++) {
        CHECK(MPI_Wait(&calls[i].request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "wait");
        rreq_close(&calls[i]);
    }
}

/* One rank starts, then waits for a message that the other sends after its own call has completed. */
static void dependent(MPI_Comm comm)
{
    struct reduction_request call;
    int token = 0;
    rreq_open(&call, RREQ_ALLREDUCE, 300, comm, KIT_DEVICE, 0, 0);
    for (int i = 0; i < 20; i++) {
        rreq_fill(&call, i);
        CHECK(rreq_start(&call, 0) == MPI_SUCCESS, "start");
        if (kit_rank == 0) {
            for (int r = 1; r < kit_size; r++)
                MPI_Recv(&token, 1, MPI_INT, r, 9, comm, MPI_STATUS_IGNORE);
        }
        CHECK(MPI_Wait(&call.request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "wait");
        if (kit_rank != 0)
            MPI_Send(&token, 1, MPI_INT, 0, 9, comm);
        rreq_check(&call, "dependent");
    }
    rreq_close(&call);
}

static void freed(void)
{
    struct reduction_request calls[3];
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 3; i++)
        rreq_open(&calls[i], RREQ_ALLREDUCE, 5000, comm, KIT_DEVICE, 0, 0);
    for (int i = 0; i < 3; i++)
        CHECK(rreq_start(&calls[i], 0) == MPI_SUCCESS, "start");
    CHECK(MPI_Request_free(&calls[0].request) == MPI_SUCCESS && calls[0].request == MPI_REQUEST_NULL, "free");
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS, "free the communicator with calls open");
    for (int i = 1; i < 3; i++)
        CHECK(MPI_Wait(&calls[i].request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "wait after it");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        rreq_check(&calls[i], "freed");
        rreq_close(&calls[i]);
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    int rounds = argc > 1 ? atoi(argv[1]) : 40;
    MPI_Comm comms[COMMS];
    for (int c = 0; c < COMMS; c++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
    for (int i = 0; i < rounds && !check_failed(); i++)
        overlap(i, comms);
    unattended(comms[0]);
    dependent(comms[1]);
    for (int i = 0; i < 10 && !check_failed(); i++)
        freed();
    for (int c = 0; c < COMMS; c++)
        MPI_Comm_free(&comms[c]);
    return kit_end("ireduce_overlap");
}
