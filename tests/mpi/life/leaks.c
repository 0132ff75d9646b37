/* Rounds of everything: what the process holds (descriptors, mappings, device memory, resident memory, threads) is the
 * same after many of them as after few. Arguments: rounds, which parts (letters of `parts`; all). With
 * TUTTI_TEST_HOST=1 on host memory, which shows what the MPI itself holds more and more of; TUTTI_TEST_SHOW=1 prints
 * the numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "queue.h"
#include "reduction_request.h"
#include "resources.h"

enum { BYTES = 24000, INTS = BYTES / (int)sizeof(int), HEAP = 150, SLACK = 6 };
static enum kit_kind kind = KIT_DEVICE;
static struct kit_buffer to;
static int peer;

static void *fresh(struct kit_buffer *b)
{
    kit_open(b, kind, BYTES);
    return kit_put(b, 0, NULL, BYTES);
}

/* Messages from an allocation that is new, in all modes, into one that stays. */
static void messages(int round)
{
    struct kit_buffer b;
    char *from = fresh(&b), *in = kit_put(&to, 0, NULL, BYTES);
    const int n = round % 7 == 0 ? 600 : round % 3 == 0 ? 8000 : BYTES;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Message message;
    for (int i = 0; i < 3; i++)
        MPI_Sendrecv(from, n, MPI_BYTE, peer, i, in, n, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(in + i * n / 2, n / 2, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
        (i ? MPI_Issend : MPI_Isend)(from, n / 2, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[2 + i]);
    }
    MPI_Waitall(4, requests, statuses);
    MPI_Isend(from, n, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Mprobe(peer, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, n, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(from, n, MPI_BYTE, peer, 6, peer, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(from, n, MPI_BYTE, kit_rank, 7, in, n, MPI_BYTE, kit_rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(in, n, MPI_BYTE, peer, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Isend(from, n, MPI_BYTE, peer, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_Recv(in, n, MPI_BYTE, peer, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD); /* the freed send has arrived */
    kit_close(&b);
}

/* Many allocations at once, freed at once: more than a rank can tell of in one list. */
static void heap(int round)
{
    static struct kit_buffer many[HEAP];
    if (round % 40 != 0)
        return;
    for (int i = 0; i < HEAP; i++)
        fresh(&many[i]);
    for (int n = 0; n < 3; n++) {
        for (int i = 0; i < HEAP; i++)
            MPI_Sendrecv(many[i].base + KIT_GUARD, BYTES, MPI_BYTE, peer, i, kit_put(&to, 0, NULL, BYTES), BYTES,
                         MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < HEAP; i++)
        kit_close(&many[i]);
}

static void collectives(int round)
{
    struct kit_buffer b;
    int *from = fresh(&b), *in = kit_put(&to, 0, NULL, BYTES);
    const int n = INTS / kit_size;
    MPI_Bcast(from, n, MPI_INT, round % kit_size, MPI_COMM_WORLD);
    MPI_Allgather(from, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(from, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
    MPI_Gather(from, n, MPI_INT, in, n, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatter(from, n, MPI_INT, in, n, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(from, in, n, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(from, in, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Reduce(from, in, n, MPI_INT, MPI_BXOR, 0, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(from, in, n, MPI_INT, MPI_BXOR, MPI_COMM_WORLD);
    MPI_Scan(from, in, n, MPI_INT, MPI_BXOR, MPI_COMM_WORLD);
    kit_close(&b);
}

static void nonblocking(int round)
{
    struct kit_buffer b;
    int *from = fresh(&b), *in = kit_put(&to, 0, NULL, BYTES);
    const int n = INTS / kit_size / 4;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    (void)round;
    MPI_Iallreduce(from, in, n, MPI_INT, MPI_BXOR, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallgather(from, n, MPI_INT, in + n, n, MPI_INT, MPI_COMM_WORLD, &requests[1]);
    MPI_Ireduce(from, in + 3 * n, n, MPI_INT, MPI_BXOR, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Ibcast(from + n, n, MPI_INT, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, statuses);
    kit_close(&b);
}

static void communicators(int round)
{
    struct kit_buffer b;
    MPI_Comm dup, part;
    MPI_Request request;
    if (round % 5 != 0)
        return;
    int *from = fresh(&b), *in = kit_put(&to, 0, NULL, BYTES);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_split(dup, 0, -kit_rank, &part);
    MPI_Allreduce(from, in, 100, MPI_INT, MPI_BXOR, dup);
    MPI_Iallreduce(from, in, 100, MPI_INT, MPI_BXOR, part, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Sendrecv(from, BYTES, MPI_BYTE, peer, 1, in, BYTES, MPI_BYTE, peer, 1, dup, MPI_STATUS_IGNORE);
    MPI_Comm_free(&part);
    MPI_Comm_free(&dup);
    kit_close(&b);
}

static void types(int round)
{
    struct kit_buffer b;
    char *from = fresh(&b), *in = kit_put(&to, 0, NULL, BYTES);
    MPI_Datatype vector, nested;
    const int blocks = 300 + round % 50;
    MPI_Type_vector(blocks, 2, 3, MPI_INT, &vector);
    MPI_Type_create_hvector(2, 1, BYTES / 2, vector, &nested);
    MPI_Type_commit(&nested);
    MPI_Type_free(&vector);
    MPI_Sendrecv(from, 1, nested, peer, 1, in, 1, nested, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(from, 1, nested, peer, 1, in, 4 * blocks, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(from, 1, nested, 0, MPI_COMM_WORLD);
    MPI_Type_free(&nested);
    kit_close(&b);
}

static void persistent(int round)
{
    struct kit_buffer b;
    char *from = fresh(&b), *in = kit_put(&to, 0, NULL, BYTES);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Send_init(from, BYTES, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, BYTES, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    kit_close(&b);
    if (!rreq_persistent() || round % 10 != 0)
        return;
    struct reduction_request q;
    rreq_open(&q, RREQ_ALLREDUCE, 1000, MPI_COMM_WORLD, kind, 0, 0);
    if (rreq_init(&q, 0) == MPI_SUCCESS) {
        for (int i = 0; i < 2; i++) {
            rreq_fill(&q, i);
            MPI_Start(&q.request);
            MPI_Wait(&q.request, MPI_STATUS_IGNORE);
            rreq_check(&q, "a persistent reduction");
        }
        MPI_Request_free(&q.request);
    }
    rreq_close(&q);
}

static void streams(int round)
{
    struct queue queue;
    if (round % 10 != 0 || kind == KIT_HOST || !queue_possible())
        return;
    queue_open(&queue, MPI_COMM_WORLD, NULL, 500, kit_seed);
    for (int i = 0; i < 6; i++)
        queue_go(&queue, -1);
    queue_check(&queue, "in a stream");
    queue_close(&queue);
}

static const struct {
    char letter;
    const char *name;
    void (*run)(int round);
} parts[] = {{'m', "messages", messages},       {'h', "heap", heap},         {'c', "collectives", collectives},
             {'n', "nonblocking", nonblocking}, {'d', "dup", communicators}, {'t', "types", types},
             {'p', "persistent", persistent},   {'s', "streams", streams}};

static void all(int first, int end, const char *which)
{
    for (int round = first; round < end; round++) {
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            if (strchr(which, parts[i].letter))
                parts[i].run(round);
        }
    }
    /* What has been freed is noticed by the calls that come next. */
    for (int i = 0; i < 4; i++) {
        MPI_Sendrecv(to.base + KIT_GUARD, BYTES / 2, MPI_BYTE, peer, i, to.base + KIT_GUARD + BYTES / 2, BYTES / 2,
                     MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    struct resources before, after;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int rounds = argc > 1 ? atoi(argv[1]) : 300, warm = rounds / 3 < 200 ? rounds / 3 : 200;
    const char *which = argc > 2 ? argv[2] : "mhcndtps";
    if (kit_size != 2)
        kit_skip("leaks", "it is for two ranks");
    peer = 1 - kit_rank;
    kind = check_setting("TUTTI_TEST_HOST", 0) ? KIT_HOST : KIT_DEVICE;
    kit_open(&to, kind, BYTES);
    kit_put(&to, 0, NULL, BYTES);
    all(0, warm, which);
    resources_now(&before);
    all(warm, rounds, which);
    resources_now(&after);
    resources_compare(which, &before, &after, SLACK);
    /* Half a KiB a round: that of the MPIs is below. */
    CHECK(after.kilobytes - before.kilobytes <= 2048 + (rounds - warm) / 2, "resident: %ld KiB, %ld before",
          after.kilobytes, before.kilobytes);
    kit_close(&to);
    return kit_end("leaks");
}
