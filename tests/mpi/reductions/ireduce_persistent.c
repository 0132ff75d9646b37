/* Persistent reductions: all calls, kinds of memory and widths of counts; a thousand starts; several of a communicator
 * started in another order on each rank; in arrays with other requests; freed while active.
 *
 *   ireduce_persistent [STARTS] */
#include <stdio.h>
#include <stdlib.h>

#include "persistent.h"
#include "reduction_request.h"
#include "support/random.h"

static enum kit_kind kind_of(int memory)
{
    return memory == 1 || (memory == 2 && kit_rank == 0) ? KIT_HOST : KIT_DEVICE;
}

static void every_call(void)
{
    for (int c = 0; c < RREQ_CALLS; c++) {
        for (int memory = 0; memory < 3; memory++) {
            for (int large = 0; large <= rreq_large(); large++) {
                struct reduction_request q;
                int flag = 0;
                rreq_open(&q, (enum rreq_call)c, 1003, MPI_COMM_WORLD, kind_of(memory), kit_size - 1,
                          memory == 0 && large);
                int code = rreq_init(&q, large);
                CHECK(code == MPI_SUCCESS, "%s: code %d", rreq_init_names[c], code);
                CHECK(MPI_Wait(&q.request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "inactive");
                CHECK(MPI_Test(&q.request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag, "inactive");
                MPI_Request handle = q.request;
                for (int round = 0; round < 4; round++) {
                    rreq_fill(&q, round);
                    CHECK(MPI_Start(&q.request) == MPI_SUCCESS, "start");
                    for (flag = 0; round % 2 && !flag;)
                        CHECK(MPI_Test(&q.request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS, "test");
                    CHECK(MPI_Wait(&q.request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "wait");
                    CHECK(q.request == handle, "the handle stays");
                    rreq_check(&q, rreq_init_names[c]);
                }
                CHECK(MPI_Request_free(&q.request) == MPI_SUCCESS && q.request == MPI_REQUEST_NULL, "free");
                rreq_close(&q);
            }
        }
    }
}

static void many_starts(int starts)
{
    struct reduction_request q;
    rreq_open(&q, RREQ_ALLREDUCE, 77, MPI_COMM_WORLD, KIT_DEVICE, 0, 0);
    CHECK(rreq_init(&q, 0) == MPI_SUCCESS, "init");
    for (int i = 0; i < starts && !check_failed(); i++) {
        rreq_fill(&q, i);
        CHECK(MPI_Start(&q.request) == MPI_SUCCESS && MPI_Wait(&q.request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "%d", i);
        rreq_check(&q, "many starts");
    }
    MPI_Request_free(&q.request);
    rreq_close(&q);
}

enum { N = 5 };

/* Together with persistent and other messages, in one array, in any order. */
static void arrays(MPI_Comm comm)
{
    struct reduction_request q[N];
    MPI_Request all[N + 2];
    int token[2], next = (kit_rank + 1) % kit_size, before = (kit_rank + kit_size - 1) % kit_size;
    for (int i = 0; i < N; i++) {
        rreq_open(&q[i], (enum rreq_call)i, 400 + i, comm, kind_of(i == 3 ? 2 : 0), 0, 0);
        CHECK(rreq_init(&q[i], 0) == MPI_SUCCESS, "init");
        all[i] = q[i].request;
    }
    MPI_Send_init(&token[0], 1, MPI_INT, next, 3, comm, &all[N]);
    MPI_Recv_init(&token[1], 1, MPI_INT, before, 3, comm, &all[N + 1]);
    for (int round = 0; round < 30 && !check_failed(); round++) {
        int which[N + 2], out, done = 0, order[N + 2], flag = 0;
        for (int i = 0; i < N; i++)
            rreq_fill(&q[i], round);
        token[0] = round * 10 + kit_rank;
        if (round % 3 == 0) {
            CHECK(MPI_Startall(N + 2, all) == MPI_SUCCESS, "Startall");
        } else { /* another order on each rank */
            for (int i = 0; i < N + 2; i++) {
                int j = (int)(random_mix((uint64_t)(round * 100 + kit_rank * 10 + i)) % (uint64_t)(i + 1));
                order[i] = order[j];
                order[j] = i;
            }
            for (int i = 0; i < N + 2; i++)
                CHECK(MPI_Start(&all[order[i]]) == MPI_SUCCESS, "Start");
        }
        switch (round % 4) {
        case 0:
            CHECK(MPI_Waitall(N + 2, all, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "Waitall");
            break;
        case 1:
            for (; done < N + 2; done += out)
                CHECK(MPI_Waitsome(N + 2, all, &out, which, MPI_STATUSES_IGNORE) == MPI_SUCCESS && out > 0, "Waitsome");
            break;
        case 2:
            for (; done < N + 2; done++)
                CHECK(MPI_Waitany(N + 2, all, &out, MPI_STATUS_IGNORE) == MPI_SUCCESS && out >= 0, "Waitany");
            CHECK(MPI_Waitany(N + 2, all, &out, MPI_STATUS_IGNORE) == MPI_SUCCESS && out == MPI_UNDEFINED,
                  "all inactive");
            break;
        default:
            while (!flag)
                CHECK(MPI_Testall(N + 2, all, &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "Testall");
            break;
        }
        CHECK(token[1] == round * 10 + before, "message");
        for (int i = 0; i < N; i++)
            rreq_check(&q[i], "arrays");
    }
    for (int i = 0; i < N; i++) {
        rreq_fill(&q[i], 77);
        CHECK(MPI_Start(&all[i]) == MPI_SUCCESS && MPI_Request_free(&all[i]) == MPI_SUCCESS, "freed while active");
    }
    MPI_Request_free(&all[N]);
    MPI_Request_free(&all[N + 1]);
    int right = 0;
    for (int tries = 0; tries < 20000 && !right; tries++) { /* nothing else tells that they have ended */
        MPI_Request look = MPI_REQUEST_NULL;
        int mine = 1, flag;
        MPI_Test(&look, &flag, MPI_STATUS_IGNORE);
        for (int i = 0; i < N; i++)
            mine &= rreq_right(&q[i]);
        MPI_Allreduce(&mine, &right, 1, MPI_INT, MPI_MIN, comm);
    }
    CHECK(right, "calls whose requests were freed end");
    for (int i = 0; i < N; i++)
        rreq_close(&q[i]);
}

/* Does not end before all ranks have started it, each time. */
static void barriers(MPI_Comm comm)
{
    MPI_Request request;
    int flag, word = 0;
    CHECK(MPI_Barrier_init(comm, MPI_INFO_NULL, &request) == MPI_SUCCESS, "MPI_Barrier_init");
    for (int round = 0; round < 5 && kit_size > 1; round++) {
        flag = 0;
        if (kit_rank == 0)
            MPI_Recv(&word, 1, MPI_INT, 1, 7, comm, MPI_STATUS_IGNORE);
        CHECK(MPI_Start(&request) == MPI_SUCCESS, "MPI_Start of a barrier");
        if (kit_rank == 1) {
            for (int i = 0; i < 200 && !flag; i++)
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            CHECK(!flag, "a barrier ends before all ranks are there");
            MPI_Send(&word, 1, MPI_INT, 0, 7, comm);
        }
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && request != MPI_REQUEST_NULL, "MPI_Wait");
    }
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS, "MPI_Request_free of a barrier");
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (!rreq_persistent())
        kit_skip("ireduce_persistent", "the _init calls come with the library in front");
    every_call();
    many_starts(argc > 1 ? atoi(argv[1]) : 1000);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    arrays(comm);
    if (persistent_there())
        barriers(comm);
    MPI_Comm_free(&comm);
    return kit_end("ireduce_persistent");
}
