/* Nonblocking reductions: all calls x memory (device, host, mixed over ranks) x in place or not x both widths of counts
 * x sizes, several open at once, among receives and sends, completed by every completion call in any order.
 *
 *   ireduce [ROUNDS]
 *
 * TUTTI_TEST_EXPECT=accelerated: calls with device memory everywhere must have been counted so, but for those that are
 * left to the MPI behind calls with memory of the host (coll/call/declined.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduction_request.h"
#include "support/random.h"

enum { OPEN = 6, EXTRA = 2, ALL = OPEN + EXTRA };
enum memory { DEVICE, HOST, MIXED, MEMORIES };
enum way {
    BY_WAIT,
    BY_TEST,
    BY_WAITALL,
    BY_TESTALL,
    BY_WAITANY,
    BY_TESTANY,
    BY_WAITSOME,
    BY_TESTSOME,
    BY_STATUS,
    WAYS
};
static const char *const way_names[WAYS] = {"Wait",    "Test",     "Waitall",  "Testall",           "Waitany",
                                            "Testany", "Waitsome", "Testsome", "Request_get_status"};
static const int sizes[] = {1, 2, 5, 64, 1000, 5003, 60000};

static uint64_t random_state;
static unsigned long long device_calls[RREQ_CALLS];

/* The same on all ranks. */
static int choose(int n)
{
    return (int)(random_next(&random_state) % (uint64_t)n);
}

static enum kit_kind kind_of(enum memory memory, int round)
{
    int host = memory == HOST || (memory == MIXED && (random_mix((uint64_t)round * 64 + (uint64_t)kit_rank) & 1));
    return host ? KIT_HOST : KIT_DEVICE;
}

static void complete_all(MPI_Request *requests, int n, enum way way)
{
    MPI_Status statuses[ALL], *where = choose(2) ? statuses : MPI_STATUSES_IGNORE;
    int order[ALL], which[ALL], flag = 0, out = 0, done = 0, code = MPI_SUCCESS;
    for (int i = 0; i < n; i++) { /* of this rank's own */
        uint64_t r = random_mix(random_state + (uint64_t)(i * 64 + kit_rank));
        int j = (int)(r % (uint64_t)(i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    switch (way) {
    case BY_WAIT:
        for (int i = 0; i < n; i++)
            code |= MPI_Wait(&requests[order[i]], MPI_STATUS_IGNORE);
        break;
    case BY_TEST:
        for (int i = 0; i < n; i++) {
            for (flag = 0; !flag && code == MPI_SUCCESS;)
                code |= MPI_Test(&requests[order[i]], &flag, MPI_STATUS_IGNORE);
        }
        break;
    case BY_WAITALL:
        code = MPI_Waitall(n, requests, where);
        break;
    case BY_TESTALL:
        while (!flag && code == MPI_SUCCESS)
            code = MPI_Testall(n, requests, &flag, where);
        break;
    case BY_WAITANY:
        for (; done < n && code == MPI_SUCCESS; done++) {
            code = MPI_Waitany(n, requests, &out, MPI_STATUS_IGNORE);
            CHECK(out >= 0 && out < n && requests[out] == MPI_REQUEST_NULL, "Waitany gave %d", out);
        }
        code |= MPI_Waitany(n, requests, &out, MPI_STATUS_IGNORE);
        CHECK(out == MPI_UNDEFINED, "nothing is left");
        break;
    case BY_TESTANY:
        while (done < n && code == MPI_SUCCESS) {
            code = MPI_Testany(n, requests, &out, &flag, MPI_STATUS_IGNORE);
            done += flag && out >= 0;
        }
        break;
    case BY_WAITSOME:
    case BY_TESTSOME:
        while (done < n && code == MPI_SUCCESS) {
            code = (way == BY_WAITSOME ? MPI_Waitsome : MPI_Testsome)(n, requests, &out, which, where);
            CHECK(way == BY_TESTSOME || out > 0, "Waitsome gave %d", out);
            done += out > 0 ? out : 0;
        }
        break;
    default:
        for (int i = 0; i < n; i++) {
            for (flag = 0; !flag && code == MPI_SUCCESS;)
                code |= MPI_Request_get_status(requests[order[i]], &flag, MPI_STATUS_IGNORE);
            CHECK(requests[order[i]] != MPI_REQUEST_NULL, "a look does not free");
        }
        code |= MPI_Waitall(n, requests, statuses);
        break;
    }
    CHECK(code == MPI_SUCCESS, "%s: code %d", way_names[way], code);
    for (int i = 0; i < n; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL, "%s: request %d is gone", way_names[way], i);
}

static void round_of(int round, MPI_Comm comm)
{
    static int token[ALL];
    struct reduction_request calls[OPEN];
    MPI_Request requests[ALL];
    enum way way = (enum way)(round % WAYS);
    int n = 1 + choose(OPEN), next = (kit_rank + 1) % kit_size, before = (kit_rank + kit_size - 1) % kit_size;
    for (int i = 0; i < n; i++) {
        enum memory memory = (enum memory)choose(MEMORIES);
        enum rreq_call call = (enum rreq_call)choose(RREQ_CALLS);
        int size = sizes[choose((int)(sizeof sizes / sizeof *sizes))], root = choose(kit_size),
            in_place = choose(3) == 0;
        int large = choose(3) == 0 && rreq_large();
        rreq_open(&calls[i], call, size, comm, kind_of(memory, round * OPEN + i), root, in_place);
        rreq_fill(&calls[i], round);
        int code = rreq_start(&calls[i], large);
        CHECK(code == MPI_SUCCESS, "%s: code %d", rreq_names[call], code);
        requests[i] = calls[i].request;
        device_calls[call] += memory == DEVICE;
    }
    token[0] = round + kit_rank;
    MPI_Isend(&token[0], 1, MPI_INT, next, 5, comm, &requests[n]);
    MPI_Irecv(&token[1], 1, MPI_INT, before, 5, comm, &requests[n + 1]);
    complete_all(requests, n + 2, way);
    CHECK(token[1] == round + before, "a message among them");
    for (int i = 0; i < n; i++) {
        rreq_check(&calls[i], way_names[way]);
        rreq_close(&calls[i]);
    }
}

int main(int argc, char **argv)
{
    int level = kit_start(&argc, &argv, MPI_THREAD_SINGLE), rounds = argc > 1 ? atoi(argv[1]) : 300;
    (void)level;
    random_state = kit_seed;
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int i = 0; i < rounds && !check_failed(); i++)
        round_of(i, i % 5 == 4 ? other : MPI_COMM_WORLD); /* the first call on `other` is a nonblocking one */
    MPI_Comm_free(&other);
    const char *expect = getenv("TUTTI_TEST_EXPECT");
    for (int c = 0; expect && c < RREQ_CALLS && !check_failed(); c++) {
        const unsigned long long counted = rreq_counted(rreq_names[c], expect),
                                 left = rreq_counted(rreq_names[c], "in the calls before");
        CHECK(counted + left >= device_calls[c] && (counted > 0 || device_calls[c] == 0),
              "%s: %llu calls %s, %llu left, %llu expected", rreq_names[c], counted, expect, left, device_calls[c]);
    }
    return kit_end("ireduce");
}
