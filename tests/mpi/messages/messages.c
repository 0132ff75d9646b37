/* Messages between every mixture of host and device memory: blocking, nonblocking and combined calls, every way of
 * completing them, partial receives and their statuses, probes, cancelled and freed requests, MPI_PROC_NULL, derived
 * types. Rank pairs 0-1, 2-3 ... talk; a single rank talks to itself where that cannot deadlock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { MOST = 300000, PARTS = 6 };
static struct kit_buffer from[2], to[2], part[PARTS];
static int peer;
static int *values;

static const int *fill(int who, int what, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = (int)(random_mix((uint64_t)who * 1000003 + (uint64_t)what * 101 + (uint64_t)i) >> 33);
    return values;
}

static void arrived(struct kit_buffer *b, int error, int what, int count, const char *call)
{
    const int *got = (const void *)kit_get(b, NULL);
    fill(peer, what, count);
    CHECK(error == MPI_SUCCESS && memcmp(got, values, (size_t)count * sizeof *values) == 0,
          "%s of %d elements into %s memory: class %d", call, count, b->kind == KIT_DEVICE ? "device" : "host",
          kit_class(error));
}

static size_t bytes_of(int count)
{
    return (size_t)count * sizeof(int);
}

enum sends { SEND, SSEND, ISEND, ISSEND, BSEND, SENDRECV, SENDRECV_REPLACE, SENDS };

/* One message each way between the peers. */
static void exchange(enum sends how, int here, int there, int count)
{
    static int what;
    struct kit_buffer *in = &to[there];
    MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
    MPI_Status status;
    what++;
    void *source = kit_put(&from[here], (size_t)what % 5 * 4, fill(kit_rank, what, count), bytes_of(count));
    void *target = kit_put(in, (size_t)what % 3 * 4, NULL, bytes_of(count));
    int error = MPI_SUCCESS;
    if (how == SENDRECV) {
        error = MPI_Sendrecv(source, count, MPI_INT, peer, 1, target, count, MPI_INT, peer, 1, MPI_COMM_WORLD, &status);
    } else if (how == SENDRECV_REPLACE) {
        target = kit_put(in, 0, fill(kit_rank, what, count), bytes_of(count));
        error = MPI_Sendrecv_replace(target, count, MPI_INT, peer, 1, peer, 1, MPI_COMM_WORLD, &status);
    } else {
        error = MPI_Irecv(target, count, MPI_INT, peer, 1, MPI_COMM_WORLD, &receive);
        CHECK(error == MPI_SUCCESS, "MPI_Irecv: class %d", kit_class(error));
        error = how == SEND     ? MPI_Send(source, count, MPI_INT, peer, 1, MPI_COMM_WORLD)
                : how == SSEND  ? MPI_Ssend(source, count, MPI_INT, peer, 1, MPI_COMM_WORLD)
                : how == BSEND  ? MPI_Bsend(source, count, MPI_INT, peer, 1, MPI_COMM_WORLD)
                : how == ISSEND ? MPI_Issend(source, count, MPI_INT, peer, 1, MPI_COMM_WORLD, &send)
                                : MPI_Isend(source, count, MPI_INT, peer, 1, MPI_COMM_WORLD, &send);
        CHECK(error == MPI_SUCCESS, "send of kind %d: class %d", how, kit_class(error));
        error = MPI_Wait(&receive, &status);
        CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS && send == MPI_REQUEST_NULL, "wait for the send");
    }
    int got = -1;
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK(status.MPI_SOURCE == peer && status.MPI_TAG == 1 && got == count,
          "status: %d elements with tag %d from %d, not %d from %d", got, status.MPI_TAG, status.MPI_SOURCE, count,
          peer);
    arrived(in, error, what, count,
            how == SENDRECV           ? "MPI_Sendrecv"
            : how == SENDRECV_REPLACE ? "MPI_Sendrecv_replace"
                                      : "message");
    if (how != SENDRECV_REPLACE) {
        fill(kit_rank, what, count);
        CHECK(memcmp(kit_get(&from[here], NULL), values, bytes_of(count)) == 0, "the sent buffer was written");
    }
}

static void all_ways(void)
{
    static const int counts[] = {0, 1, 100, 20000, MOST};
    size_t room = 4 * (bytes_of(MOST) + MPI_BSEND_OVERHEAD);
    void *attached = malloc(room);
    MPI_Buffer_attach(attached, (int)room);
    for (int how = 0; how < SENDS; how++)
        for (int kinds = 0; kinds < 4; kinds++)
            for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
                if ((kit_size > 1 && peer != kit_rank) || how == ISEND || how == SENDRECV)
                    exchange(how, kinds & 1, kinds >> 1, counts[i]);
    MPI_Buffer_detach(&attached, &(int){0});
    free(attached);
}

/* A receive that is larger than the message: what lies behind the message stays. */
static void partial(int blocking)
{
    enum { ROOM = 500, COUNT = 77 };
    MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
    MPI_Status status;
    int before[ROOM], got = -1;
    for (int i = 0; i < ROOM; i++)
        before[i] = -i;
    void *target = kit_put(&to[1], 0, before, sizeof before);
    void *source = kit_put(&from[1], 0, fill(kit_rank, 900 + blocking, COUNT), bytes_of(COUNT));
    MPI_Isend(source, COUNT, MPI_INT, peer, 2, MPI_COMM_WORLD, &send);
    int error;
    if (blocking) {
        error = MPI_Recv(target, ROOM, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    } else {
        MPI_Irecv(target, ROOM, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receive);
        error = MPI_Wait(&receive, &status);
    }
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK(error == MPI_SUCCESS && got == COUNT && status.MPI_SOURCE == peer && status.MPI_TAG == 2,
          "partial receive: class %d, %d elements from %d", kit_class(error), got, status.MPI_SOURCE);
    const int *result = (const void *)kit_get(&to[1], NULL);
    fill(peer, 900 + blocking, COUNT);
    CHECK(memcmp(result, values, bytes_of(COUNT)) == 0, "partial receive: the values");
    CHECK(memcmp(result + COUNT, before + COUNT, bytes_of(ROOM - COUNT)) == 0,
          "partial receive: what lies behind was written");
}

enum ways { WAIT, WAITALL, WAITANY, WAITSOME, TEST, TESTALL, TESTANY, TESTSOME, WAYS };
static const char *const way_names[WAYS] = {"MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome",
                                            "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome"};

/* Completes n requests in one way; returns how many completions were told. */
static int complete(enum ways way, int n, MPI_Request *requests, MPI_Status *statuses)
{
    int done = 0, flag, which, some, error = MPI_SUCCESS, indices[2 * PARTS];
    MPI_Status told[2 * PARTS];
    for (long turn = 0; done < n && turn < 100000000; turn++) {
        which = MPI_UNDEFINED;
        flag = some = 0;
        switch (way) {
        case WAIT:
        case TEST:
            which = done;
            flag = 1;
            error = way == WAIT ? MPI_Wait(&requests[which], &told[0]) : MPI_Test(&requests[which], &flag, &told[0]);
            break;
        case WAITALL:
            error = MPI_Waitall(n, requests, statuses);
            return error == MPI_SUCCESS ? n : done;
        case TESTALL:
            error = MPI_Testall(n, requests, &flag, statuses);
            if (flag || error != MPI_SUCCESS)
                return error == MPI_SUCCESS ? n : done;
            continue;
        case WAITANY:
            flag = 1;
            error = MPI_Waitany(n, requests, &which, &told[0]);
            break;
        case TESTANY:
            error = MPI_Testany(n, requests, &which, &flag, &told[0]);
            break;
        default:
            error = way == WAITSOME ? MPI_Waitsome(n, requests, &some, indices, told)
                                    : MPI_Testsome(n, requests, &some, indices, told);
            for (int i = 0; i < some && some != MPI_UNDEFINED; i++) {
                CHECK(requests[indices[i]] == MPI_REQUEST_NULL, "%s left a request", way_names[way]);
                statuses[indices[i]] = told[i];
                done++;
            }
            continue;
        }
        if (!CHECK(error == MPI_SUCCESS, "%s: class %d", way_names[way], kit_class(error)))
            return done;
        if (flag && which != MPI_UNDEFINED) {
            CHECK(requests[which] == MPI_REQUEST_NULL, "%s left a request", way_names[way]);
            statuses[which] = told[0];
            done++;
        }
    }
    return done;
}

/* Several receives into host and device memory and their sends, completed together. */
static void together(enum ways way)
{
    MPI_Request requests[2 * PARTS];
    MPI_Status statuses[2 * PARTS];
    enum { FIRST = 64 };
    for (int i = 0; i < PARTS; i++) {
        int count = i == PARTS - 1 ? 40000 : FIRST + i;
        void *target = kit_put(&part[i], 0, NULL, bytes_of(count));
        MPI_Irecv(target, count, MPI_INT, peer, 10 + i, MPI_COMM_WORLD, &requests[i]);
    }
    size_t offset = 0;
    for (int i = 0; i < PARTS; i++) { /* one sending buffer: the parts lie behind each other */
        fill(kit_rank, 2000 + i, i == PARTS - 1 ? 40000 : FIRST + i);
        offset += bytes_of(FIRST + i);
    }
    char *all = malloc(offset + bytes_of(40000));
    offset = 0;
    for (int i = 0; i < PARTS; i++) {
        int count = i == PARTS - 1 ? 40000 : FIRST + i;
        memcpy(all + offset, fill(kit_rank, 2000 + i, count), bytes_of(count));
        offset += bytes_of(count);
    }
    char *source = kit_put(&from[way % 2], 0, all, offset);
    free(all);
    for (int i = 0; i < PARTS; i++) {
        int count = i == PARTS - 1 ? 40000 : FIRST + i;
        MPI_Isend(source, count, MPI_INT, peer, 10 + i, MPI_COMM_WORLD, &requests[PARTS + i]);
        source += bytes_of(count);
    }
    int done = complete(way, 2 * PARTS, requests, statuses);
    CHECK(done == 2 * PARTS, "%s completed %d of %d", way_names[way], done, 2 * PARTS);
    for (int i = 0; i < PARTS; i++) {
        int count = i == PARTS - 1 ? 40000 : FIRST + i, got = -1;
        MPI_Get_count(&statuses[i], MPI_INT, &got);
        CHECK(got == count && statuses[i].MPI_TAG == 10 + i, "%s: status %d has %d elements", way_names[way], i, got);
        arrived(&part[i], MPI_SUCCESS, 2000 + i, count, way_names[way]);
    }
    int flag = 0, which = 0;
    int error = MPI_Waitany(2 * PARTS, requests, &which, MPI_STATUS_IGNORE);
    CHECK(error == MPI_SUCCESS && which == MPI_UNDEFINED, "MPI_Waitany of no requests");
    error = MPI_Testall(2 * PARTS, requests, &flag, statuses);
    CHECK(error == MPI_SUCCESS && flag, "MPI_Testall of no requests");
}

static void loose_ends(void)
{
    enum { COUNT = 1000 };
    MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0, got = -1;
    /* MPI_PROC_NULL */
    void *target = kit_put(&to[1], 0, NULL, bytes_of(COUNT)), *source = kit_put(&from[1], 0, NULL, bytes_of(COUNT));
    CHECK(MPI_Send(source, COUNT, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "to MPI_PROC_NULL");
    CHECK(MPI_Recv(target, COUNT, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status) == MPI_SUCCESS &&
              status.MPI_SOURCE == MPI_PROC_NULL,
          "from MPI_PROC_NULL");
    MPI_Irecv(target, COUNT, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &receive);
    CHECK(MPI_Wait(&receive, &status) == MPI_SUCCESS, "from MPI_PROC_NULL later");
    kit_get(&to[1], NULL);

    /* A receive that never comes is cancelled. */
    MPI_Irecv(target, COUNT, MPI_INT, peer, 4711, MPI_COMM_WORLD, &receive);
    CHECK(MPI_Cancel(&receive) == MPI_SUCCESS && MPI_Wait(&receive, &status) == MPI_SUCCESS, "MPI_Cancel");
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag, "the receive was not cancelled");

    /* Looked at, then completed; a send whose request is freed at once. */
    target = kit_put(&to[1], 0, NULL, bytes_of(COUNT));
    source = kit_put(&from[1], 0, fill(kit_rank, 31, COUNT), bytes_of(COUNT));
    MPI_Irecv(target, COUNT, MPI_INT, peer, 21, MPI_COMM_WORLD, &receive);
    MPI_Isend(source, COUNT, MPI_INT, peer, 21, MPI_COMM_WORLD, &send);
    CHECK(MPI_Request_free(&send) == MPI_SUCCESS && send == MPI_REQUEST_NULL, "MPI_Request_free");
    for (long turn = 0; !flag || turn == 0; turn++)
        MPI_Request_get_status(receive, &flag, &status);
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK(receive != MPI_REQUEST_NULL && got == COUNT, "MPI_Request_get_status: %d elements", got);
    int error = MPI_Wait(&receive, MPI_STATUS_IGNORE);
    arrived(&to[1], error, 31, COUNT, "MPI_Request_get_status and MPI_Wait");
    MPI_Barrier(MPI_COMM_WORLD); /* the peer has received what the freed request sends: its memory is used again */

    /* Probed. */
    MPI_Message message;
    target = kit_put(&to[1], 0, NULL, bytes_of(COUNT));
    MPI_Isend(kit_put(&from[1], 0, fill(kit_rank, 32, COUNT), bytes_of(COUNT)), COUNT, MPI_INT, peer, 22,
              MPI_COMM_WORLD, &send);
    MPI_Mprobe(peer, 22, MPI_COMM_WORLD, &message, &status);
    error = MPI_Mrecv(target, COUNT, MPI_INT, &message, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    arrived(&to[1], error, 32, COUNT, "MPI_Mrecv");

    /* A type with gaps: every second element. */
    MPI_Datatype gaps;
    MPI_Type_vector(COUNT / 2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    int before[COUNT];
    for (int i = 0; i < COUNT; i++)
        before[i] = -1 - i;
    target = kit_put(&to[1], 0, before, sizeof before);
    MPI_Isend(kit_put(&from[1], 0, fill(kit_rank, 33, COUNT), bytes_of(COUNT)), 1, gaps, peer, 23, MPI_COMM_WORLD,
              &send);
    error = MPI_Recv(target, 1, gaps, peer, 23, MPI_COMM_WORLD, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    const int *result = (const void *)kit_get(&to[1], NULL);
    fill(peer, 33, COUNT);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += result[i] != (i % 2 ? before[i] : values[i]);
    if (kit_class(error) == MPI_ERR_BUFFER)
        fprintf(stderr, "messages: a type with gaps is refused on device memory\n");
    else
        CHECK(error == MPI_SUCCESS && wrong == 0, "a type with gaps: class %d, %d wrong", kit_class(error), wrong);
    MPI_Type_free(&gaps);

    /* A message that is too long is an error, and does not write behind the buffer. (To itself an MPI may do that.) */
    if (peer == kit_rank || !kit_errors_returned())
        return;
    int longer = COUNT;
    target = kit_put(&to[1], 0, NULL, bytes_of(COUNT / 2));
    MPI_Isend(kit_put(&from[1], 0, fill(kit_rank, 34, COUNT), bytes_of(COUNT)), longer, MPI_INT, peer, 24,
              MPI_COMM_WORLD, &send);
    error = MPI_Recv(target, COUNT / 2, MPI_INT, peer, 24, MPI_COMM_WORLD, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    CHECK(kit_class(error) == MPI_ERR_TRUNCATE, "a message that is too long: class %d", kit_class(error));
    kit_get(&to[1], NULL);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    peer = (kit_rank ^ 1) < kit_size ? kit_rank ^ 1 : kit_rank;
    values = malloc(bytes_of(MOST));
    for (int kind = 0; kind < 2; kind++) {
        kit_open(&from[kind], (enum kit_kind)kind, bytes_of(MOST));
        kit_open(&to[kind], (enum kit_kind)kind, bytes_of(MOST));
    }
    for (int i = 0; i < PARTS; i++)
        kit_open(&part[i], (enum kit_kind)(i % 2), bytes_of(40000));
    all_ways();
    partial(0);
    partial(1);
    for (int way = 0; way < WAYS; way++)
        together(way);
    loose_ends();
    for (int kind = 0; kind < 2; kind++) {
        kit_close(&from[kind]);
        kit_close(&to[kind]);
    }
    for (int i = 0; i < PARTS; i++)
        kit_close(&part[i]);
    free(values);
    return kit_end("messages");
}
