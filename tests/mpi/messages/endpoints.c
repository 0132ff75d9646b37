/* Messages of device memory between ranks of a node that go past the MPI: what programs do round them. Rank pairs 0-1,
 * 2-3 ... talk. Arguments: bytes of the large messages, rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { MANY = 60, MAIL = 480 };
static struct kit_buffer out, in, host, more[MANY];
static unsigned char *bytes;
static int peer, what;
static size_t large;

static const unsigned char *contents(int who, int number, size_t n)
{
    random_bytes(bytes, random_mix(kit_seed + (uint64_t)who * 1000003 + (uint64_t)number * 7919), n);
    return bytes;
}

static void *mine(size_t n)
{
    what++;
    return kit_put(&out, (size_t)what % 16, contents(kit_rank, what, n), n);
}

static void arrived(struct kit_buffer *b, int number, size_t n, const char *how)
{
    const char *got = kit_get(b, NULL);
    contents(peer, number, n);
    size_t wrong = 0;
    while (wrong < n && (unsigned char)got[wrong] == bytes[wrong])
        wrong++;
    CHECK(wrong == n, "%s: byte %zu of %zu into %s memory is wrong", how, wrong, n,
          b->kind == KIT_DEVICE ? "device" : "host");
}

static void counted(MPI_Status *status, size_t n, const char *how)
{
    int count = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    CHECK(count == (int)n && status->MPI_SOURCE == peer, "%s: %d bytes from %d, not %zu from %d", how, count,
          status->MPI_SOURCE, n, peer);
}

/* A send is done without the receiver: each waits for its own first. */
static void sends_first(size_t n)
{
    MPI_Request requests[2];
    MPI_Status status;
    void *to = kit_put(&in, 3, NULL, n), *from = mine(n);
    MPI_Irecv(to, (int)n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from, (int)n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&requests[0], &status);
    counted(&status, n, "after the sends");
    arrived(&in, what, n, "after the sends");
}

/* The receiver is in a call that brings nothing on. */
static void barrier_between(size_t n)
{
    MPI_Request request;
    MPI_Status status;
    void *to = kit_put(&in, 5, NULL, n), *from = mine(n);
    MPI_Irecv(to, (int)n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
    if (kit_rank % 2 == 0)
        MPI_Send(from, (int)n, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank % 2 != 0)
        MPI_Send(from, (int)n, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    counted(&status, n, "barrier between");
    arrived(&in, what, n, "barrier between");
}

/* Probes tell the length, also of a message as long as what is sent in place of others, in front of a large one. */
static void probed(size_t n, MPI_Comm comm, int before)
{
    MPI_Request requests[2];
    MPI_Status status, both[2];
    int flag = 0;
    MPI_Message message;
    void *first = kit_put(&host, 0, contents(kit_rank, -1, MAIL), MAIL), *from = mine(n);
    int count = before ? MAIL : 0, tag = before ? 9 : 10;
    MPI_Isend(first, count, MPI_BYTE, peer, tag, comm, &requests[0]);
    MPI_Isend(from, (int)n, MPI_BYTE, peer, tag, comm, &requests[1]);
    MPI_Probe(peer, tag, comm, &status);
    counted(&status, (size_t)count, "MPI_Probe of a short one");
    void *to = kit_put(&in, 0, NULL, MAIL);
    MPI_Recv(to, MAIL, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, &status);
    counted(&status, (size_t)count, "a short one");
    arrived(&in, -1, (size_t)count, "a short one");
    while (!flag)
        MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &flag, &status);
    counted(&status, n, "MPI_Iprobe");
    MPI_Mprobe(peer, MPI_ANY_TAG, comm, &message, &status);
    counted(&status, n, "MPI_Mprobe");
    to = kit_put(&in, 7, NULL, n);
    MPI_Mrecv(to, (int)n, MPI_BYTE, &message, &status);
    counted(&status, n, "MPI_Mrecv");
    arrived(&in, what, n, "MPI_Mrecv");
    MPI_Waitall(2, requests, both);
    kit_get(&host, NULL);
}

/* Many at once, in strides that differ, completed in every way. */
static void many(size_t n, int how)
{
    MPI_Request requests[2 * MANY];
    MPI_Status statuses[2 * MANY];
    MPI_Datatype types[MANY];
    int number[MANY], left = 2 * MANY;
    size_t block = 24, each = n / block * block;
    char *from = mine(2 * each + 4096);
    for (int i = 0; i < MANY; i++) {
        MPI_Type_vector((int)(each / block), (int)block, (int)block + i % 3 * 8, MPI_BYTE, &types[i]);
        MPI_Type_commit(&types[i]);
        number[i] = i;
    }
    for (int i = 0; i < MANY; i++)
        MPI_Irecv(kit_put(&more[i], (size_t)i % 16, NULL, each), (int)each, MPI_BYTE, peer, i, MPI_COMM_WORLD,
                  &requests[i]);
    for (int i = 0; i < MANY; i++)
        MPI_Isend(from + i, 1, types[number[i]], peer, i, MPI_COMM_WORLD, &requests[MANY + i]);
    for (int i = 0; i < MANY; i++)
        MPI_Type_free(&types[i]);
    if (how == 0) {
        MPI_Waitall(2 * MANY, requests, statuses);
    } else if (how == 1) {
        while (left > 0) {
            int which;
            MPI_Status status;
            MPI_Waitany(2 * MANY, requests, &which, &status);
            statuses[which] = status;
            left--;
        }
    } else if (how == 2) {
        while (left > 0) {
            int done, which[2 * MANY];
            MPI_Status some[2 * MANY];
            MPI_Testsome(2 * MANY, requests, &done, which, some);
            for (int i = 0; i < done; i++)
                statuses[which[i]] = some[i];
            left -= done;
        }
    } else {
        int flag = 0;
        while (!flag)
            MPI_Testall(2 * MANY, requests, &flag, statuses);
    }
    for (int i = 0; i < MANY; i++) {
        size_t stride = block + (size_t)(i % 3 * 8), wrong = 0;
        counted(&statuses[i], each, "many");
        const char *got = kit_get(&more[i], NULL);
        contents(peer, what, 2 * each + 4096);
        while (wrong < each && (unsigned char)got[wrong] == bytes[(size_t)i + wrong / block * stride + wrong % block])
            wrong++;
        CHECK(wrong == each, "message %d of many, way %d: byte %zu of %zu is wrong", i, how, wrong, each);
    }
}

/* A probe meets the second of two messages, of which a receive has taken the first. */
static void behind_another(size_t n)
{
    MPI_Request requests[3];
    MPI_Status status, all[3];
    int flag = 0;
    void *from = mine(n);
    void *to = kit_put(&in, 2, NULL, n), *there = kit_put(&more[3], 0, NULL, 30000);
    MPI_Irecv(to, (int)n, MPI_BYTE, peer, 11, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from, (int)n, MPI_BYTE, peer, 11, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend((char *)from + 1, 17000, MPI_BYTE, peer, 11, MPI_COMM_WORLD, &requests[2]);
    while (!flag)
        MPI_Iprobe(peer, 11, MPI_COMM_WORLD, &flag, &status);
    counted(&status, 17000, "MPI_Iprobe behind another");
    MPI_Recv(there, 30000, MPI_BYTE, peer, 11, MPI_COMM_WORLD, &status);
    counted(&status, 17000, "behind another");
    MPI_Waitall(3, requests, all);
    counted(&all[0], n, "in front of another");
    arrived(&in, what, n, "in front of another");
    kit_get(&more[3], NULL);
}

static void too_long(size_t n)
{
    MPI_Request request;
    MPI_Status status;
    void *from = mine(n);
    MPI_Isend(from, (int)n, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &request);
    void *to = kit_put(&in, 0, NULL, n / 2);
    int error = MPI_Recv(to, (int)(n / 2), MPI_BYTE, peer, 2, MPI_COMM_WORLD, &status);
    CHECK(kit_class(error) == MPI_ERR_TRUNCATE, "a message that is too long: class %d", kit_class(error));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    kit_get(&in, NULL);
}

/* Requests that are given up, memory that is another one at the same address, messages on two communicators. */
static void given_up(size_t n, MPI_Comm other)
{
    MPI_Request request, freed;
    MPI_Status status;
    void *from = mine(n);
    MPI_Isend(from, (int)n, MPI_BYTE, peer, 3, other, &freed);
    MPI_Request_free(&freed);
    MPI_Irecv(kit_put(&host, 0, NULL, n), (int)n, MPI_BYTE, peer, 3, other, &request);
    MPI_Wait(&request, &status);
    counted(&status, n, "a freed send");
    arrived(&host, what, n, "a freed send");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++) {
        struct kit_buffer fresh;
        kit_open(&fresh, KIT_DEVICE, n);
        what++;
        void *at = kit_put(&fresh, 1, contents(kit_rank, what, n), n);
        void *to = kit_put(&in, 2, NULL, n);
        MPI_Sendrecv(at, (int)n, MPI_BYTE, peer, 4, to, (int)n, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &status);
        counted(&status, n, "fresh memory");
        arrived(&in, what, n, "fresh memory");
        MPI_Barrier(MPI_COMM_WORLD);
        kit_close(&fresh);
    }
}

/* Even ranks on one side, odd ones on the other: the peer is the rank of the same number there. */
static void between_groups(size_t n, MPI_Comm inter)
{
    MPI_Request request;
    MPI_Status status;
    int count = -1, there = kit_rank / 2;
    void *from = mine(n), *to = kit_put(&in, 6, NULL, n);
    MPI_Irecv(to, (int)n, MPI_BYTE, there, 6, inter, &request);
    MPI_Send(from, (int)n, MPI_BYTE, there, 6, inter);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == (int)n && status.MPI_SOURCE == there, "between groups: %d bytes from %d", count, status.MPI_SOURCE);
    arrived(&in, what, n, "between groups");
}

#if MPI_VERSION >= 4
static void both(size_t n, struct kit_buffer *to)
{
    MPI_Request request;
    MPI_Status status;
    void *from = mine(n), *at = kit_put(to, 4, NULL, n);
    MPI_Isendrecv(from, (int)n, MPI_BYTE, peer, 5, at, (int)n, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    counted(&status, n, "MPI_Isendrecv");
    arrived(to, what, n, "MPI_Isendrecv");
    what++;
    at = kit_put(to, 4, contents(kit_rank, what, n), n);
    MPI_Isendrecv_replace(at, (int)n, MPI_BYTE, peer, 5, peer, 5, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    counted(&status, n, "MPI_Isendrecv_replace");
    arrived(to, what, n, "MPI_Isendrecv_replace");
}
#endif

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    large = argc > 1 ? strtoull(argv[1], NULL, 0) : 3 << 20;
    long rounds = argc > 2 ? atol(argv[2]) : 3;
    if (kit_size < 2)
        kit_skip("endpoints", "one rank has nobody to send to");
    MPI_Comm other;
    int past = !kit_plain && !kit_left_to_mpi();
    int alone = kit_rank == kit_size - 1 && kit_size % 2 != 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
    MPI_Comm side, inter;
    MPI_Comm_split(MPI_COMM_WORLD, kit_rank % 2, kit_rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - kit_rank % 2, 77, &inter);
    const int far = past && getenv("TUTTI_NODE_RANKS");
    const int both_ways = kit_size == 4 && far; /* also between pairs */
    size_t room = large + (64 << 10);
    bytes = malloc(room);
    kit_open(&out, KIT_DEVICE, room);
    kit_open(&in, KIT_DEVICE, room);
    kit_open(&host, KIT_HOST, room);
    for (int i = 0; i < MANY; i++)
        kit_open(&more[i], i % 4 == 3 ? KIT_HOST : KIT_DEVICE, 40000);
    for (long round = 0; round < rounds; round++) {
        if (alone) {
            for (int i = 0; i < 7; i++)
                MPI_Barrier(MPI_COMM_WORLD);
            continue;
        }
        peer = both_ways && round % 2 ? kit_rank ^ 2 : kit_rank ^ 1;
        size_t n = (both_ways ? round / 2 : round) % 2 ? 20000 : large;
        sends_first(n);
        barrier_between(n);
        probed(n, round % 2 ? other : MPI_COMM_WORLD, 0);
        probed(n, round % 2 ? other : MPI_COMM_WORLD, 1);
        for (int way = 0; way < 4; way++)
            many(20000, way);
        if (past && kit_errors_returned()) /* Open MPI 4.1 writes beside a buffer that is too short */
            too_long(n);
        given_up(n, other);
        if (peer == (kit_rank ^ 1))
            between_groups(n, inter);
        if (far && !(both_ways && round % 2 == 0))
            behind_another(n);
#if MPI_VERSION >= 4
        if (past) { /* MPICH 4.0 gives no status of its own MPI_Isendrecv_replace */
            both(n, &in);
            both(n, &host);
        }
#endif
    }
    const char *rules = getenv("TUTTI_RULES");
    if (far && !alone)
        CHECK(kit_counted("MPI_Isend", "pipelined to another node") > 0, "no message went in chunks");
    else
        CHECK(kit_plain || alone || (rules && !strstr(rules, "direct")) ||
                  kit_counted("MPI_Isend", "fetched by the receiver") > 0,
              "no message was fetched by its receiver");
    kit_close(&out);
    kit_close(&in);
    kit_close(&host);
    for (int i = 0; i < MANY; i++)
        kit_close(&more[i]);
    free(bytes);
    MPI_Comm_free(&other);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&side);
    return kit_end("endpoints");
}
