/* Persistent messages of queues.
 *
 *   stream_queues programs   random programs, compared with plain MPI; TUTTI_TEST_PROGRAMS: how many (40)
 *   stream_queues replay     the same in CUDA graphs; status 77 on other devices
 *   stream_queues matches    ways to match, statuses, shorter messages, MPI_PROC_NULL, a ring without a wait of the
 * host stream_queues progress   long messages while no rank is in a call of the MPI; pmodels/mpich 7612 stream_queues
 * errors     what is refused */
#include "stream_queues.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_graph.h"
#include "device/device.h"
#include "tutti/tutti.h"

enum { BYTES = 1 << 20 };
static void *stream;
static char *memory;
static MPIX_Queue queue;

static void put_byte(char *at, int byte, size_t bytes)
{
    char *host = malloc(bytes);
    memset(host, byte, bytes);
    CHECK(tutti_copy(at, host, bytes) == 0, "contents");
    free(host);
}

static int has_byte(const char *at, int byte, size_t bytes)
{
    unsigned char *host = malloc(bytes);
    int right = tutti_copy(host, at, bytes) == 0;
    for (size_t i = 0; i < bytes && right; i++)
        right = host[i] == (unsigned char)byte;
    free(host);
    return right;
}

static void start_and_wait(int n, MPIX_Request requests[])
{
    FINE(MPIX_Enqueue_startall(queue, n, requests));
    FINE(MPIX_Enqueue_waitall(queue));
}

/* Each rank hands its bytes on, 301 times: the send reads what the receive before has brought. */
static void ring(void)
{
    enum { TURNS = 301, SOME = 5000 };
    const int next = (kit_rank + 1) % kit_size, last = (kit_rank + kit_size - 1) % kit_size;
    MPIX_Request request[2][2];
    put_byte(memory, 10 + kit_rank, SOME);
    for (int i = 0; i < 2; i++) {
        FINE(MPIX_Send_init(memory + i * SOME, SOME, MPI_BYTE, next, i, MPI_COMM_WORLD, MPI_INFO_NULL, &request[i][0]));
        FINE(MPIX_Recv_init(memory + (1 - i) * SOME, SOME, MPI_BYTE, last, i, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &request[i][1]));
    }
    for (int i = 0; i < 2; i++)
        FINE(MPIX_Matchall(2, request[i], MPI_STATUSES_IGNORE));
    for (int i = 0; i < TURNS; i++)
        start_and_wait(2, request[i % 2]);
    FINE(MPIX_Queue_wait(queue));
    CHECK(has_byte(memory + SOME, 10 + (kit_rank + kit_size * TURNS - TURNS) % kit_size, SOME), "the ring");
    for (int i = 0; i < 2; i++)
        FINE(MPIX_Request_freeall(2, request[i]));
    CHECK(request[0][0] == MPIX_REQUEST_NULL, "a freed request");
}

/* A message that is shorter than the receive; both sides of a match begun before they are waited for. */
static void shorter(void)
{
    const int other = kit_rank ^ 1;
    MPIX_Request request[2], match[2];
    MPI_Status status;
    int flag = -1, count = -1;
    if (other >= kit_size)
        return;
    put_byte(memory, 7, 100);
    put_byte(memory + 1000, 9, 200);
    FINE(MPIX_Recv_init(memory + 1000, 200, MPI_BYTE, other, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request[0]));
    FINE(MPIX_Rsend_init(memory, 100, MPI_BYTE, other, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request[1]));
    FINE(MPIX_Imatch(&request[0], &match[0]));
    FINE(MPIX_Imatch(&request[1], &match[1]));
    FINE(MPIX_Wait(&match[1], MPI_STATUS_IGNORE));
    FINE(MPIX_Wait(&match[0], &status));
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == 100 && status.MPI_SOURCE == other && status.MPI_TAG == 4, "a status: %d bytes of %d", count,
          status.MPI_SOURCE);
    FINE(MPIX_Is_matched(&request[0], &flag));
    CHECK(flag == 1 && match[0] == MPIX_REQUEST_NULL, "matched");
    start_and_wait(2, request);
    FINE(MPIX_Queue_wait(queue));
    CHECK(has_byte(memory + 1000, 7, 100) && has_byte(memory + 1100, 9, 100), "a shorter message");
    FINE(MPIX_Request_freeall(2, request));
}

static void null_peers(void)
{
    MPIX_Request request[2];
    FINE(MPIX_Recv_init(memory, 200, MPI_BYTE, MPI_PROC_NULL, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request[0]));
    FINE(MPIX_Send_init(memory, 100, MPI_BYTE, MPI_PROC_NULL, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request[1]));
    FINE(MPIX_Queue_match(queue, &request[0], MPI_STATUS_IGNORE));
    FINE(MPIX_Queue_match(queue, &request[1], MPI_STATUS_IGNORE));
    start_and_wait(2, request);
    FINE(MPIX_Enqueue_wait(queue, &request[0]));
    FINE(MPIX_Request_freeall(2, request));
}

/* Many requests between two ranks, more than a launch starts, through one tag: they match in the order of the calls. */
static void many(void)
{
    enum { N = 100 };
    MPIX_Request request[2 * N];
    const int next = (kit_rank + 1) % kit_size, last = (kit_rank + kit_size - 1) % kit_size;
    for (int i = 0; i < N; i++) {
        put_byte(memory + i * 16, (i + kit_rank) & 127, 16);
        FINE(MPIX_Send_init(memory + i * 16, 16, MPI_BYTE, next, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &request[2 * i]));
        FINE(MPIX_Recv_init(memory + 8192 + i * 16, 16, MPI_BYTE, last, 8, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &request[2 * i + 1]));
    }
    FINE(MPIX_Matchall(2 * N, request, MPI_STATUSES_IGNORE));
    start_and_wait(2 * N, request);
    FINE(MPIX_Queue_wait(queue));
    for (int i = 0; i < N; i++)
        CHECK(has_byte(memory + 8192 + i * 16, (i + last) & 127, 16), "message %d of many", i);
    FINE(MPIX_Request_freeall(2 * N, request));
}

/* ---- progress ---- */

enum { LONG_ONE = (3 << 20) + 77, STEPS = 5 };

/* What waits for an event behind MPIX_Enqueue_waitall sees the messages (pmodels/mpich 7612): a copy in another stream.
 * Without CUDA the stream's own end stands for the event. */
static void behind_event(void *pinned, const char *in)
{
    static CUstream other;
    static CUevent event;
    if (!kit_cuda_open()) {
        FINE(tutti_stream_sync(stream));
        CHECK(tutti_copy(pinned, in, LONG_ONE) == 0, "a copy");
        return;
    }
    if (!event) {
        CU(cu.StreamCreate(&other, 1));
        CU(cu.EventCreate(&event, 2));
    }
    CU(cu.EventRecord(event, stream));
    CU(cu.StreamWaitEvent(other, event, 0));
    CU(cu.MemcpyAsync((unsigned long long)pinned, (unsigned long long)in, LONG_ONE, other));
    CU(cu.StreamSynchronize(other));
}

enum { BLOCK = 1 << 10, BLOCKS = LONG_ONE / (2 * BLOCK) };

/* In `got` all bytes are `sent`, or with gaps those of every second block; the others are as they were. */
static int is_received(const unsigned char *got, int sent, int gaps)
{
    for (size_t i = 0; i < LONG_ONE; i++) {
        const int moved = !gaps || (i / BLOCK % 2 == 0 && i < (size_t)BLOCKS * 2 * BLOCK);
        if (got[i] != (unsigned char)(moved ? sent : 255))
            return 0;
    }
    return 1;
}

/* Between the barriers no rank calls the MPI, and each one is late in turn. The messages go from memory of kind `from`
 * to memory of kind `to`: 0: of the device, 1: pinned, 2: ordinary. gaps: every second block is sent. */
static void without_calls(int from, int to, int gaps)
{
    const int next = (kit_rank + 1) % kit_size, last = (kit_rank + kit_size - 1) % kit_size;
    void *own[3] = {NULL, NULL, malloc(LONG_ONE)}, *in[3] = {NULL, NULL, malloc(LONG_ONE)}, *got = NULL;
    const struct tutti_device *const device = tutti_device();
    MPI_Datatype type = MPI_BYTE;
    MPIX_Request request[2];
    for (int i = 0; i < 2; i++) {
        FINE(tutti_alloc(LONG_ONE, i ? &in[0] : &own[0]));
        FINE(device->memory.alloc_pinned(LONG_ONE, i ? &in[1] : &own[1]));
    }
    FINE(device->memory.alloc_pinned(LONG_ONE, &got));
    if (gaps) {
        MPI_Type_vector(BLOCKS, BLOCK, 2 * BLOCK, MPI_BYTE, &type);
        MPI_Type_commit(&type);
    }
    const int count = gaps ? 1 : LONG_ONE;
    FINE(MPIX_Recv_init(in[to], count, type, last, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request[0]));
    FINE(MPIX_Send_init(own[from], count, type, next, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request[1]));
    FINE(MPIX_Matchall(2, request, MPI_STATUSES_IGNORE));
    for (int i = 0; i < STEPS; i++) {
        put_byte(own[from], i * 16 + kit_rank, LONG_ONE);
        put_byte(in[to], 255, LONG_ONE);
        memset(got, 0, LONG_ONE);
        MPI_Barrier(MPI_COMM_WORLD);
        alarm(100);
        if (i % (kit_size + 1) == kit_rank)
            usleep(20000);
        start_and_wait(2, request);
        behind_event(got, in[to]);
        FINE(tutti_stream_sync(stream));
        alarm(0);
        CHECK(is_received(got, i * 16 + last, gaps), "step %d, memory %d to %d: what a copy behind the event finds", i,
              from, to);
        CHECK(has_byte(own[from], i * 16 + kit_rank, LONG_ONE), "step %d: what was sent", i);
    }
    FINE(MPIX_Request_freeall(2, request));
    for (int i = 0; i < 2; i++) {
        FINE(tutti_free(i ? in[0] : own[0]));
        FINE(device->memory.free_pinned(i ? in[1] : own[1]));
    }
    FINE(device->memory.free_pinned(got));
    if (gaps)
        MPI_Type_free(&type);
    free(own[2]);
    free(in[2]);
}

static int is(int error, int class)
{
    return error != MPI_SUCCESS && kit_class(error) == class;
}

static void errors(void)
{
    const int other = kit_rank ^ 1;
    MPIX_Request request[2], match;
    MPIX_Queue second = MPIX_QUEUE_NULL;
    MPI_Datatype gaps;
    int host[8];
    if (other >= kit_size)
        return;
    CHECK(
        is(MPIX_Recv_init(memory, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request), MPI_ERR_RANK),
        "any source");
    CHECK(is(MPIX_Recv_init(memory, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL, request), MPI_ERR_TAG),
          "any tag");
    CHECK(is(MPIX_Send_init(memory, 1, MPI_INT, kit_size, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request), MPI_ERR_RANK),
          "no rank");
    CHECK(MPIX_Queue_init(&second, 0, &stream) != MPI_SUCCESS, "another type of queue");
    FINE(MPIX_Send_init(memory, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request[0]));
    FINE(MPIX_Recv_init(memory + 64, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request[1]));
    CHECK(is(MPIX_Enqueue_start(queue, &request[0]), MPI_ERR_REQUEST), "not matched");
    FINE(MPIX_Matchall(2, request, MPI_STATUSES_IGNORE));
    CHECK(is(MPIX_Match(&request[0], MPI_STATUS_IGNORE), MPI_ERR_REQUEST), "matched twice");
    CHECK(is(MPIX_Enqueue_wait(queue, &request[0]), MPI_ERR_REQUEST), "not started");
    FINE(MPIX_Enqueue_startall(queue, 2, request));
    CHECK(is(MPIX_Enqueue_start(queue, &request[0]), MPI_ERR_REQUEST), "started twice");
    CHECK(is(MPIX_Request_free(&request[0]), MPI_ERR_REQUEST), "freed while it is started");
    CHECK(is(MPIX_Queue_free(&queue), MPI_ERR_REQUEST), "a queue freed while requests are started");
    FINE(MPIX_Enqueue_waitall(queue));
    FINE(MPIX_Request_freeall(2, request));
    /* Both ranks get an error: elements with gaps in host memory here, a receive that is too short there. */
    MPI_Type_vector(4, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    if (kit_rank == 0)
        FINE(MPIX_Send_init(host, 1, gaps, other, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request[0]));
    else
        FINE(MPIX_Send_init(memory, 4, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request[0]));
    FINE(MPIX_Recv_init(memory + 64, kit_rank == 0 ? 3 : 4, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &request[1]));
    FINE(MPIX_Imatch(&request[1], &match));
    const int sent = MPIX_Match(&request[0], MPI_STATUS_IGNORE), received = MPIX_Wait(&match, MPI_STATUS_IGNORE);
    CHECK(is(sent, kit_rank == 0 ? MPI_ERR_BUFFER : MPI_ERR_TRUNCATE), "a send: %d", sent);
    CHECK(is(received, kit_rank == 0 ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER), "a receive: %d", received);
    FINE(MPIX_Request_freeall(2, request));
    MPI_Type_free(&gaps);
}

int main(int argc, char **argv)
{
    void *room = NULL;
    const char *const what = argc > 1 ? argv[1] : "";
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    const int replays = strcmp(what, "replay") == 0;
    if (tutti_stream_create(&stream) != 0 || (replays && !kit_cuda_open()))
        kit_skip("stream_queues", "needs a device with streams, and the library in front; graphs need CUDA");
    if (replays || strcmp(what, "programs") == 0) {
        queues_programs(check_many("TUTTI_TEST_PROGRAMS", replays ? 100 : 40), replays);
        FINE(tutti_stream_destroy(stream));
        return kit_end("stream_queues");
    }
    FINE(tutti_alloc(BYTES, &room));
    memory = room;
    FINE(MPIX_Queue_init(&queue, MPIX_QUEUE_GPU_MEM_OPS, &stream));
    if (strcmp(what, "errors") == 0) {
        errors();
    } else if (strcmp(what, "progress") == 0) {
        for (int kinds = 0; kinds < 9; kinds++)
            without_calls(kinds % 3, kinds / 3, 0);
        without_calls(0, 0, 1);
    } else {
        ring();
        shorter();
        null_peers();
        many();
    }
    FINE(MPIX_Queue_free(&queue));
    CHECK(queue == MPIX_QUEUE_NULL, "a freed queue");
    FINE(tutti_free(memory));
    FINE(tutti_stream_destroy(stream));
    return kit_end("stream_queues");
}
