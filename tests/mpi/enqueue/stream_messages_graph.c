/* Messages in stream order on CUDA GPUs: in graphs that are replayed, mixed with calls that are not captured, and
 * events behind calls. Status 77 on other devices.
 *
 *   stream_messages_graph replay   TUTTI_TEST_REPLAYS: how many graph launches (5000)
 *   stream_messages_graph groups   halo exchanges in a graph, each launched together; prints the time of one
 *   stream_messages_graph any      the same by receives from any source or with any tag
 *   stream_messages_graph late     a graph of receives that name source and tag, captured before the first receive from
 *                                  any source, and launched while such receives are pending
 *   stream_messages_graph events   pmodels/mpich 7612: an event behind a call, which another stream waits for
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_graph.h"
#include "device/device.h"
#include "stream_messages.h"
#include "tutti/tutti.h"

enum { SMALL = 64, LARGE = 9 << 20, LARGES = 10 << 20, SIDES = 4 };

static int any; /* 1: short receives name no source, or no tag */

static unsigned char landed[SMALL]; /* received into memory of the host, by each shift */

/* Every rank hands its two buffers to the next one; the second one is longer than its ring. In between it waits for the
 * second request first, and what comes behind that wait is what the first one's peer needs. statuses: of the message of
 * tag 2 and of that of tag 3; NULL: they are not wanted. */
static void shift_all(struct messages *m, char *const from[2], char *const to[2], MPI_Status *statuses)
{
    const int next = (kit_rank + 1) % kit_size, last = (kit_rank + kit_size - 1) % kit_size;
    MPI_Request request[5];
    FINE(MPIX_Irecv_enqueue(to[1], LARGE, MPI_BYTE, last, 1, m->comm, &request[0]));
    FINE(MPIX_Irecv_enqueue(to[0], SMALL, MPI_BYTE, any ? MPI_ANY_SOURCE : last, 2, m->comm, &request[1]));
    FINE(MPIX_Irecv_enqueue(landed, SMALL, MPI_BYTE, last, 4, m->comm, &request[4]));
    FINE(MPIX_Isend_enqueue(from[0], SMALL, MPI_BYTE, next, 2, m->comm, &request[2]));
    FINE(MPIX_Wait_enqueue(&request[1], statuses ? &statuses[0] : MPI_STATUS_IGNORE));
    FINE(MPIX_Isend_enqueue(from[1], LARGE, MPI_BYTE, next, 1, m->comm, &request[3]));
    FINE(MPIX_Send_enqueue(from[0], 8, MPI_BYTE, next, 3, m->comm));
    FINE(MPIX_Send_enqueue(from[0], SMALL, MPI_BYTE, next, 4, m->comm));
    FINE(MPIX_Recv_enqueue(to[0] + SMALL, 9, MPI_BYTE, last, any ? MPI_ANY_TAG : 3, m->comm,
                           statuses ? &statuses[1] : MPI_STATUS_IGNORE));
    request[1] = MPI_REQUEST_NULL;
    FINE(MPIX_Waitall_enqueue(5, request, MPI_STATUSES_IGNORE));
}

static void replay(struct messages *m)
{
    const long replays = check_many("TUTTI_TEST_REPLAYS", 5000);
    char *const first[2] = {m->memory, m->memory + 65536};
    char *const second[2] = {m->memory + LARGES * 2, m->memory + LARGES * 2 + 65536};
    unsigned char *host = malloc(LARGE);
    MPI_Status statuses[2];
    const int last = (kit_rank + kit_size - 1) % kit_size;
    long shifts = 0;
    memset(host, 10 + kit_rank, LARGE);
    CHECK(tutti_copy(first[0], host, SMALL) == 0 && tutti_copy(first[1], host, LARGE) == 0, "contents");
    memset(statuses, 0x5a, sizeof statuses);
    CU(cu.BeginCapture(m->stream, CAPTURE_GLOBAL));
    shift_all(m, first, second, statuses);
    shift_all(m, second, first, NULL);
    const CUgraphExec exec = kit_cuda_captured(m->stream, NULL);
    for (long i = 0; i < replays; i++) {
        CU(cu.Launch(exec, m->stream));
        shifts += 2;
        if (i % 7 == 0) {
            shift_all(m, first, second, NULL);
            shift_all(m, second, first, NULL);
            shifts += 2;
        }
        if (i % 100 != 99 && i + 1 < replays)
            continue;
        CHECK(tutti_stream_sync(m->stream) == 0 && tutti_copy(host, first[1], LARGE) == 0, "the stream");
        const int want = 10 + (int)((kit_rank - shifts % kit_size + kit_size) % kit_size);
        if (!CHECK(host[0] == want && host[LARGE - 1] == want && host[LARGE / 2] == want, "replay %ld: %d, not %d", i,
                   host[0], want))
            break;
        CHECK(landed[0] == want && landed[SMALL - 1] == want, "replay %ld: %d in memory of the host, not %d", i,
              landed[0], want);
        CHECK(messages_status(&statuses[0], last, 2, SMALL) && messages_status(&statuses[1], last, 3, 8),
              "replay %ld: a status is wrong", i);
        memset(statuses, 0x5a, sizeof statuses); /* the next launch writes them again */
    }
    free(host);
}

/* Two messages to each neighbour and two from each, of so many bytes: one after the other in the senders' memory. */
static void exchange(struct messages *m, size_t bytes)
{
    const int next = (kit_rank + 1) % kit_size, last = (kit_rank + kit_size - 1) % kit_size;
    char *const in = m->memory + MESSAGES_MOST;
    MPI_Request request[2 * SIDES];
    for (int i = 0; i < SIDES; i++) {
        FINE(MPIX_Irecv_enqueue(in + (size_t)i * bytes, (int)bytes, MPI_BYTE, i % 2 ? next : last, i, m->comm,
                                &request[i]));
        FINE(MPIX_Isend_enqueue(m->memory + (size_t)i * bytes, (int)bytes, MPI_BYTE, i % 2 ? last : next, i, m->comm,
                                &request[SIDES + i]));
    }
    FINE(MPIX_Waitall_enqueue(2 * SIDES, request, MPI_STATUSES_IGNORE));
}

/* Replays of exchanges, mixed with calls that are not captured. grouped: a graph is one kernel. */
static void exchanges(struct messages *m, size_t bytes, int grouped)
{
    const int next = (kit_rank + 1) % kit_size, last = (kit_rank + kit_size - 1) % kit_size;
    const size_t all = bytes * SIDES;
    const long replays = check_many("TUTTI_TEST_REPLAYS", 200);
    unsigned char *host = malloc(all);
    size_t nodes = 0;
    CU(cu.BeginCapture(m->stream, CAPTURE_GLOBAL));
    exchange(m, bytes);
    const CUgraphExec exec = kit_cuda_captured(m->stream, &nodes);
    CHECK(!grouped || nodes == 1, "%zu nodes instead of one", nodes);
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < all; i++)
            host[i] = (unsigned char)(kit_rank * 31 + round + (int)(i / bytes) * 7 + (int)(i % 251));
        CHECK(tutti_copy(m->memory, host, all) == 0, "contents");
        memset(host, 0x77, all);
        CHECK(tutti_copy(m->memory + MESSAGES_MOST, host, all) == 0, "contents");
        exchange(m, bytes);
        CHECK(tutti_stream_sync(m->stream) == 0, "the stream");
        MPI_Barrier(MPI_COMM_WORLD);
        const double began = MPI_Wtime();
        for (long i = 0; i < replays; i++)
            CU(cu.Launch(exec, m->stream));
        CHECK(tutti_stream_sync(m->stream) == 0, "the stream");
        if (round == 4 && kit_rank == 0)
            printf("%d messages of %zu bytes, %s: %.2f us, %zu nodes\n", 2 * SIDES, bytes,
                   grouped ? "together" : "one by one", (MPI_Wtime() - began) / (double)replays * 1e6, nodes);
        exchange(m, bytes);
        CHECK(tutti_stream_sync(m->stream) == 0 && tutti_copy(host, m->memory + MESSAGES_MOST, all) == 0, "the stream");
        size_t i = 0;
        while (i < all && host[i] == (unsigned char)((i / bytes % 2 ? next : last) * 31 + round + (int)(i / bytes) * 7 +
                                                     (int)(i % 251)))
            i++;
        CHECK(i == all, "round %d of %zu bytes: byte %zu is wrong", round, bytes, i);
    }
    free(host);
}

static void groups(struct messages *m)
{
    static const size_t bytes[] = {8, 2048, 65536, 1 << 20, 4 << 20};
    for (int grouped = 0; grouped < 2; grouped++) {
        if (grouped)
            messages_group(m);
        for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
            exchanges(m, bytes[i], grouped);
    }
}

/* The receive from any source is before those of the graph, so it takes the first of the two messages. */
static void late(struct messages *m)
{
    const int next = (kit_rank + 1) % kit_size, last = (kit_rank + kit_size - 1) % kit_size;
    char *const in = m->memory + 1024;
    unsigned char host[SMALL * 2], got[SMALL * 2];
    CU(cu.BeginCapture(m->stream, CAPTURE_GLOBAL));
    FINE(MPIX_Send_enqueue(m->memory, SMALL, MPI_BYTE, next, 3, m->comm));
    FINE(MPIX_Send_enqueue(m->memory + SMALL, SMALL, MPI_BYTE, next, 3, m->comm));
    FINE(MPIX_Recv_enqueue(in + SMALL, SMALL, MPI_BYTE, last, 3, m->comm, MPI_STATUS_IGNORE));
    const CUgraphExec exec = kit_cuda_captured(m->stream, NULL);
    for (int i = 0; i < 500; i++) {
        MPI_Request request;
        MPI_Status status;
        for (int j = 0; j < SMALL * 2; j++)
            host[j] = (unsigned char)(i + j + kit_rank * 17);
        CHECK(tutti_copy(m->memory, host, sizeof host) == 0, "contents");
        FINE(MPIX_Irecv_enqueue(in, SMALL, MPI_BYTE, MPI_ANY_SOURCE, i % 2 ? 3 : MPI_ANY_TAG, m->comm, &request));
        CU(cu.Launch(exec, m->stream));
        FINE(MPIX_Wait_enqueue(&request, &status));
        CHECK(tutti_stream_sync(m->stream) == 0 && tutti_copy(got, in, sizeof got) == 0, "the stream");
        for (int j = 0; j < SMALL * 2; j++)
            host[j] = (unsigned char)(i + j + last * 17);
        if (!CHECK(memcmp(got, host, sizeof got) == 0 && messages_status(&status, last, 3, SMALL),
                   "round %d: a wrong message or status", i))
            break;
    }
}

static void events(struct messages *m)
{
    const int next = (kit_rank + 1) % kit_size, last = (kit_rank + kit_size - 1) % kit_size;
    unsigned char *host = malloc(LARGE);
    void *pinned = NULL;
    CUstream other;
    CUevent event;
    CHECK(tutti_device()->memory.alloc_pinned(LARGE, &pinned) == 0, "pinned memory");
    CU(cu.StreamCreate(&other, 1));
    CU(cu.EventCreate(&event, 2));
    for (int i = 0; i < 200; i++) {
        MPI_Request request;
        char *const in = m->memory + MESSAGES_MOST;
        memset(host, i + kit_rank, LARGE);
        CHECK(tutti_copy(m->memory, host, LARGE) == 0, "contents");
        FINE(MPIX_Isend_enqueue(m->memory, LARGE, MPI_BYTE, next, 1, m->comm, &request));
        FINE(MPIX_Recv_enqueue(in, LARGE, MPI_BYTE, last, 1, m->comm, MPI_STATUS_IGNORE));
        CU(cu.EventRecord(event, m->stream));
        FINE(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
        CU(cu.StreamWaitEvent(other, event, 0));
        CU(cu.MemcpyAsync((unsigned long long)pinned, (unsigned long long)in, LARGE, other));
        CU(cu.StreamSynchronize(other));
        memset(host, i + last, LARGE);
        if (!CHECK(memcmp(pinned, host, LARGE) == 0, "round %d: an event came before the message", i))
            break;
        CHECK(tutti_stream_sync(m->stream) == 0, "the stream");
    }
    free(host);
    CHECK(tutti_device()->memory.free_pinned(pinned) == 0, "pinned memory");
}

int main(int argc, char **argv)
{
    struct messages m;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (!queue_possible() || kit_size < 2 || !kit_cuda_open())
        kit_skip("stream_messages_graph", "needs two CUDA GPUs, and the library in front");
    any = argc > 1 && strcmp(argv[1], "any") == 0;
    messages_open(&m);
    if (argc > 1 && strcmp(argv[1], "groups") == 0)
        groups(&m);
    else if (argc > 1 && strcmp(argv[1], "events") == 0)
        events(&m);
    else if (argc > 1 && strcmp(argv[1], "late") == 0)
        late(&m);
    else
        replay(&m);
    messages_close(&m, 0);
    return kit_end("stream_messages_graph");
}
