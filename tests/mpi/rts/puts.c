/* Random exchanges of messages that their senders may store into the receivers' buffers: ranks that are late, or that
 * compute while messages are open, persistent messages, synchronous ones, ones with gaps on one side, and buffers that
 * are freed and allocated again. Each byte is compared, and the gaps between messages. Then one persistent receive,
 * whose starts are all asked for. puts [rounds [puts, at least]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

enum { MESSAGES = 24, TAGS = 1000, MOST = 48 << 10, LATE_US = 300, KEPT = 5 /* rounds with the same buffers */ };
enum { BUFFERS = 3, SLOT = MOST + 128, ROOM = MESSAGES / BUFFERS * SLOT, GAP = 0xa5 /* between messages */ };

static struct message {
    int from, to, bytes, synchronous, persistent, late, out_gaps, in_gaps;
    MPI_Request send, receive;
} messages[MESSAGES];
static struct kit_buffer out[BUFFERS], in[BUFFERS];
static char *to[BUFFERS], *from[BUFFERS]; /* in this round */
static unsigned char data[ROOM];
static MPI_Datatype gapped;  /* eight bytes, and a gap of eight */
static uint64_t common, own; /* streams: the same on all ranks; this rank's */

static unsigned drawn(uint64_t *state, unsigned n)
{
    return (unsigned)(random_next(state) % n);
}

static unsigned char value(int round, int i, int b)
{
    return (unsigned char)(round * 37 + i * 11 + b * (1 + i % 7) + b / 253);
}

/* What a buffer of the round holds: messages that this rank sends, or has received. */
static void expect(int round, int buffer, int sends)
{
    memset(data, GAP, sizeof data);
    for (int i = buffer; i < MESSAGES; i += BUFFERS) {
        unsigned char *const at = data + (size_t)(i / BUFFERS) * SLOT;
        const int gaps = sends ? messages[i].out_gaps : messages[i].in_gaps;
        for (int b = 0; b < messages[i].bytes && (sends ? messages[i].from : messages[i].to) == kit_rank; b++)
            at[gaps ? b / 8 * 16 + b % 8 : b] = value(round, i, b);
    }
}

static void draw(void)
{
    static const int lengths[] = {600, 4096, 20000, MOST};
    for (int i = 0; i < MESSAGES; i++) {
        struct message *m = &messages[i];
        const int most = lengths[drawn(&common, 4)];
        *m = (struct message){.from = (int)drawn(&common, (unsigned)kit_size),
                              .bytes = drawn(&common, 4) ? most : 1 + (int)drawn(&common, (unsigned)most),
                              .synchronous = drawn(&common, 4) == 0,
                              .persistent = drawn(&common, 4) == 0,
                              .late = drawn(&common, 24) == 0,
                              .out_gaps = drawn(&common, 8) == 0,
                              .in_gaps = drawn(&common, 8) == 0,
                              .send = MPI_REQUEST_NULL,
                              .receive = MPI_REQUEST_NULL};
        if (m->out_gaps || m->in_gaps)
            m->bytes = 8 + m->bytes / 2 / 8 * 8;
        m->to = (m->from + 1 + (int)drawn(&common, (unsigned)(kit_size - 1))) % kit_size;
    }
}

static void post(int round, int i)
{
    struct message *m = &messages[i];
    const int tag = round % TAGS * MESSAGES + i; /* another rank may be some rounds ahead */
    if (m->late && drawn(&own, 2))
        usleep(drawn(&own, LATE_US));
    if (m->to == kit_rank) {
        void *at = to[i % BUFFERS] + (size_t)(i / BUFFERS) * SLOT;
        const int count = m->in_gaps ? m->bytes / 8 : m->bytes;
        MPI_Datatype type = m->in_gaps ? gapped : MPI_BYTE;
        const int source = drawn(&own, 4) ? m->from : MPI_ANY_SOURCE;
        if (m->persistent) {
            MPI_Recv_init(at, count, type, source, tag, MPI_COMM_WORLD, &m->receive);
            MPI_Start(&m->receive);
        } else {
            MPI_Irecv(at, count, type, source, tag, MPI_COMM_WORLD, &m->receive);
        }
    }
    if (m->from == kit_rank) {
        const int count = m->out_gaps ? m->bytes / 8 : m->bytes;
        MPI_Datatype type = m->out_gaps ? gapped : MPI_BYTE;
        void *at = from[i % BUFFERS] + (size_t)(i / BUFFERS) * SLOT;
        if (m->persistent) {
            (m->synchronous ? MPI_Ssend_init : MPI_Send_init)(at, count, type, m->to, tag, MPI_COMM_WORLD, &m->send);
            MPI_Start(&m->send);
        } else {
            (m->synchronous ? MPI_Issend : MPI_Isend)(at, count, type, m->to, tag, MPI_COMM_WORLD, &m->send);
        }
    }
}

/* All requests of this rank, in some order and by some completion call. */
static void complete(void)
{
    MPI_Request all[2 * MESSAGES];
    MPI_Status statuses[2 * MESSAGES];
    int n = 0, sends = 0;
    for (int i = 0; i < MESSAGES; i++)
        all[n++] = messages[i].send;
    sends = n;
    for (int i = 0; i < MESSAGES; i++)
        all[n++] = messages[i].receive;
    switch (drawn(&own, 4)) {
    case 0:
        MPI_Waitall(n, all, statuses);
        break;
    case 1:
        MPI_Waitall(sends, all, statuses);
        MPI_Waitall(n - sends, all + sends, statuses);
        break;
    case 2:
        for (int at = 0; at != MPI_UNDEFINED;)
            MPI_Waitany(n, all, &at, statuses);
        break;
    default: /* the rank computes in between */
        for (int done = 0; !done;) {
            MPI_Testall(n, all, &done, statuses);
            if (drawn(&own, 8) == 0)
                usleep(drawn(&own, LATE_US / 2));
        }
    }
    for (int i = 0; i < MESSAGES; i++) { /* persistent ones are there still */
        if (messages[i].persistent && messages[i].send != MPI_REQUEST_NULL)
            MPI_Request_free(&messages[i].send);
        if (messages[i].persistent && messages[i].receive != MPI_REQUEST_NULL)
            MPI_Request_free(&messages[i].receive);
    }
}

static void exchange(int round)
{
    int order[MESSAGES];
    draw();
    for (int b = 0; b < BUFFERS; b++) {
        expect(round, b, 1);
        from[b] = kit_put(&out[b], drawn(&own, 4), data, ROOM);
        memset(data, GAP, sizeof data);
        to[b] = kit_put(&in[b], drawn(&own, 4), data, ROOM);
    }
    for (int i = 0; i < MESSAGES; i++) {
        const int at = (int)drawn(&own, (unsigned)i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (int i = 0; i < MESSAGES; i++)
        post(round, order[i]);
    complete();
    for (int b = 0; b < BUFFERS; b++) {
        int guards;
        expect(round, b, 0);
        const int right = memcmp(kit_get(&in[b], &guards), data, ROOM) == 0;
        CHECK(right && guards, "round %d: what rank %d has received in buffer %d is wrong (seed %llu)", round, kit_rank,
              b, (unsigned long long)kit_seed);
    }
}

static int puts_of_all(void)
{
    int here = (int)kit_counted("copies of messages", "copy engines, into the receiver's buffer"), all = 0;
    MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void start_one(int start, struct kit_buffer *one, MPI_Request *request)
{
    const int byte = 1 + start % 100;
    memset(data, kit_rank == 0 ? byte : GAP, MOST);
    void *const at = kit_put(one, 0, data, MOST);
    if (start == 0 && kit_rank == 0)
        MPI_Send_init(at, MOST, MPI_BYTE, 1, TAGS * MESSAGES, MPI_COMM_WORLD, request);
    else if (start == 0)
        MPI_Recv_init(at, MOST, MPI_BYTE, 0, TAGS * MESSAGES, MPI_COMM_WORLD, request);
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    memset(data, byte, MOST);
    CHECK(memcmp(kit_get(one, NULL), data, MOST) == 0, "start %d: wrong bytes", start);
}

/* Starts of persistent messages from rank 0 to rank 1, until some were stored: a sender that was late is left out for
 * a while. least: 1: the rules say `always`. */
static void started_again(int least)
{
    enum { STARTS = 400, FEW = 6 };
    struct kit_buffer one;
    MPI_Request request = MPI_REQUEST_NULL;
    const int before = puts_of_all(), most = least ? STARTS : FEW;
    int stored = 0;
    kit_open(&one, KIT_DEVICE, MOST);
    for (int start = 0; start < most && stored < FEW; start++) {
        if (kit_rank < 2)
            start_one(start, &one, &request);
        stored = puts_of_all() - before;
    }
    if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    kit_close(&one);
    CHECK(stored >= least * FEW, "%d of %d starts were stored by the sender", stored, most);
}

/* Blocks of collectives are fetched: a rank that waits for one polls the call alone. */
static void blocks(void)
{
    struct kit_buffer from_all, to_all;
    const int before = puts_of_all();
    kit_open(&from_all, KIT_DEVICE, ROOM);
    kit_open(&to_all, KIT_DEVICE, ROOM);
    for (int i = 0; i < 10; i++)
        MPI_Alltoall(from_all.base + KIT_GUARD, MOST, MPI_BYTE, to_all.base + KIT_GUARD, MOST, MPI_BYTE,
                     MPI_COMM_WORLD);
    CHECK(kit_counted("MPI_Alltoall", "fetched from each other") > 0, "MPI_Alltoall is not fetched");
    CHECK(puts_of_all() == before, "blocks of MPI_Alltoall are stored by their senders");
    kit_close(&from_all);
    kit_close(&to_all);
}

static void open_buffers(int round)
{
    for (int b = 0; b < BUFFERS; b++) {
        if (round > 0 && drawn(&own, 2))
            continue;
        if (round > 0) {
            kit_close(&out[b]);
            kit_close(&in[b]);
        }
        kit_open(&out[b], drawn(&own, 16) ? KIT_DEVICE : KIT_HOST, ROOM);
        kit_open(&in[b], drawn(&own, 16) ? KIT_DEVICE : KIT_HOST, ROOM);
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size < 2)
        kit_skip("puts", "needs two ranks, and the library in front");
    const int rounds = argc > 1 ? atoi(argv[1]) : 60, least = argc > 2 ? atoi(argv[2]) : 1;
    MPI_Datatype eight;
    MPI_Type_contiguous(8, MPI_BYTE, &eight);
    MPI_Type_create_resized(eight, 0, 16, &gapped);
    MPI_Type_commit(&gapped);
    MPI_Type_free(&eight);
    common = kit_seed;
    own = random_mix(kit_seed + (uint64_t)kit_rank + 1);
    started_again(least > 0);
    blocks();
    for (int round = 0; round < rounds; round++) {
        if (round % KEPT == 0)
            open_buffers(round);
        exchange(round);
    }
    const int all = puts_of_all();
    CHECK(all >= least, "%d messages of %d rounds were stored by their sender", all, rounds);
    if (kit_rank == 0)
        printf("puts: %d messages were stored by their sender\n", all);
    for (int b = 0; b < BUFFERS; b++) {
        kit_close(&out[b]);
        kit_close(&in[b]);
    }
    MPI_Type_free(&gapped);
    return kit_end("puts");
}
