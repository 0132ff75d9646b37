/* Messages like the one before take the way that was chosen for it. Here they differ from it in what the choice depends
 * on: the length, where the rules name another protocol; the mode, where the data must leave the buffer at once; the
 * allocation, in every order and of more allocations than rendezvous; the type, behind elements with gaps. Rank 0 sends
 * to rank 1. */
#include <stdio.h>
#include <string.h>

#include "kit.h"

enum { WINDOW = 64, ROUNDS = 20, SHORT = 1000, LONG = 8000, TAG = 3, MANY = 8, DOUBLES = 24, TYPED = 3 };
static struct kit_buffer out[MANY], in;
static MPI_Request requests[WINDOW];
static MPI_Status statuses[WINDOW];
static char all[WINDOW * SHORT];

static const char *contents(int seed, int bytes)
{
    static char data[LONG];
    for (int b = 0; b < bytes; b++)
        data[b] = (char)random_mix(kit_seed + (uint64_t)seed * 1000003 + (uint64_t)b);
    return data;
}

static void check_in(const char *how, int seed, int bytes)
{
    CHECK(memcmp(kit_get(&in, NULL), contents(seed, bytes), (size_t)bytes) == 0, "%s: message %d of %d bytes is wrong",
          how, seed, bytes);
}

static void receive(const char *how, int seed, int bytes)
{
    MPI_Recv(kit_put(&in, 0, NULL, (size_t)bytes), bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_in(how, seed, bytes);
}

/* The rules carry short messages by kernels, and long ones by copy engines. */
static void lengths(void)
{
    const unsigned long long before = kit_counted("MPI_Isend", "copied by copy engines");
    unsigned long long longs = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const int is_long = random_mix(kit_seed + (uint64_t)i) % 3 == 0, bytes = is_long ? LONG : SHORT;
        longs += (unsigned long long)is_long;
        if (kit_rank == 0) {
            MPI_Isend(kit_put(&out[0], 0, contents(i, bytes), (size_t)bytes), bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
                      requests);
            MPI_Wait(requests, MPI_STATUS_IGNORE);
        } else {
            receive("lengths in turns", i, bytes);
        }
    }
    const unsigned long long now = kit_counted("MPI_Isend", "copied by copy engines") - before;
    CHECK(kit_rank != 0 || now == longs, "%llu messages went by copy engines, of %llu long ones", now, longs);
}

/* A message of this mode behind one that its receiver fetches from the buffer: the buffer changes while the receiver
 * has not begun. */
enum mode { BSEND, IBSEND, REPLACED, MODES };
static const char *const mode_names[MODES] = {"MPI_Bsend", "MPI_Ibsend", "MPI_Sendrecv_replace"};
static void at_once(enum mode mode, int seed)
{
    enum { BYTES = 512 };
    char word = 0;
    if (kit_rank == 0) {
        char *const at = kit_put(&out[0], 0, contents(seed, BYTES), BYTES);
        MPI_Send(at, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        if (mode == BSEND)
            MPI_Bsend(at, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        else if (mode == IBSEND)
            MPI_Ibsend(at, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, requests);
        else
            MPI_Sendrecv_replace(at, BYTES, MPI_BYTE, 1, TAG, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (mode == IBSEND)
            MPI_Wait(requests, MPI_STATUS_IGNORE);
        kit_put(&out[0], 0, contents(seed + 1, BYTES), BYTES);
        MPI_Send(&word, 1, MPI_CHAR, 1, TAG + 1, MPI_COMM_WORLD);
        return;
    }
    receive(mode_names[mode], seed, BYTES);
    if (mode == REPLACED)
        MPI_Send(kit_put(&in, 0, contents(seed + 2, BYTES), BYTES), BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    MPI_Recv(&word, 1, MPI_CHAR, 0, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    receive(mode_names[mode], seed, BYTES);
}

/* A window of short messages, the allocation of each drawn; several behind each other have one. */
static void drawn(int round)
{
    char word = 0, *at[MANY];
    uint64_t state = kit_seed + (uint64_t)round * 7919;
    int from = 0;
    for (int i = 0; i < WINDOW; i++)
        memcpy(all + i * SHORT, contents(round * WINDOW + i, SHORT), SHORT);
    for (int k = 0; k < MANY && kit_rank == 0; k++)
        at[k] = kit_put(&out[k], 0, all, sizeof all);
    char *const to = kit_rank == 1 ? kit_put(&in, 0, NULL, sizeof all) : NULL;
    if (kit_rank == 0)
        MPI_Recv(&word, 1, MPI_CHAR, 1, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < WINDOW; i++) {
        from = random_next(&state) % 3 == 0 ? (int)(random_next(&state) % MANY) : from;
        if (kit_rank == 0)
            MPI_Isend(at[from] + i * SHORT, SHORT, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(to + i * SHORT, SHORT, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]);
    }
    if (kit_rank == 1)
        MPI_Send(&word, 1, MPI_CHAR, 0, TAG + 1, MPI_COMM_WORLD);
    MPI_Waitall(WINDOW, requests, statuses);
    CHECK(kit_rank == 0 || memcmp(kit_get(&in, NULL), all, sizeof all) == 0, "a window from %d allocations is wrong",
          MANY);
}

/* A window of elements with gaps, then one without: what the first has written into a rendezvous is not of the
 * second. */
static void typed(int round)
{
    MPI_Datatype gaps;
    char word = 0;
    MPI_Type_vector(DOUBLES / 2, 1, 2, MPI_DOUBLE, &gaps);
    MPI_Type_commit(&gaps);
    enum { BYTES = DOUBLES / 2 * (int)sizeof(double) };
    for (int i = 0; i < WINDOW; i++)
        memcpy(all + i * 2 * BYTES, contents(round * WINDOW + i, 2 * BYTES), (size_t)2 * BYTES);
    for (int plain = 0; plain < 2; plain++) {
        char *const at = kit_put(kit_rank == 0 ? &out[0] : &in, 0, kit_rank == 0 ? all : NULL, WINDOW * 2 * BYTES);
        if (kit_rank == 0)
            MPI_Recv(&word, 1, MPI_CHAR, 1, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < WINDOW; i++) {
            if (kit_rank == 0)
                MPI_Isend(at + i * 2 * BYTES, plain ? DOUBLES / 2 : 1, plain ? MPI_DOUBLE : gaps, 1, TAG,
                          MPI_COMM_WORLD, &requests[i]);
            else
                MPI_Irecv(at + i * BYTES, DOUBLES / 2, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD, &requests[i]);
        }
        if (kit_rank == 1)
            MPI_Send(&word, 1, MPI_CHAR, 0, TAG + 1, MPI_COMM_WORLD);
        MPI_Waitall(WINDOW, requests, statuses);
        const char *const got = kit_rank == 1 ? kit_get(&in, NULL) : NULL;
        for (int e = 0; e < WINDOW * DOUBLES / 2 && got; e++) {
            const int i = e / (DOUBLES / 2), of = e % (DOUBLES / 2) * (plain ? 1 : 2);
            CHECK(memcmp(got + (size_t)e * sizeof(double), all + i * 2 * BYTES + (size_t)of * sizeof(double),
                         sizeof(double)) == 0,
                  "element %d of message %d %s gaps is wrong", of, i, plain ? "without" : "with");
        }
    }
    MPI_Type_free(&gaps);
}

/* Two messages that are not received yet lie before a third one, which its receiver takes first: from an allocation
 * that it knows, or from a new one, for which it needs the sender. The sender waits for the third alone. */
static void third_first(int new, int round)
{
    enum { BYTES = 3000 };
    struct kit_buffer third;
    char word = 0;
    kit_open(&third, KIT_DEVICE, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank == 0) {
        char *const before = kit_put(&out[0], 0, contents(round, BYTES), BYTES);
        char *const last = kit_put(new ? &third : &out[1], 0, contents(round + 1, BYTES), BYTES);
        for (int i = 0; i < 2; i++)
            MPI_Isend(before, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(last, BYTES, MPI_BYTE, 1, TAG + 2, MPI_COMM_WORLD, &requests[2]);
        MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
        MPI_Send(&word, 1, MPI_CHAR, 1, TAG + 1, MPI_COMM_WORLD);
        MPI_Waitall(2, requests, statuses);
    } else {
        MPI_Recv(kit_put(&in, 0, NULL, BYTES), BYTES, MPI_BYTE, 0, TAG + 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_in("the third first", round + 1, BYTES);
        MPI_Recv(&word, 1, MPI_CHAR, 0, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 2; i++)
            receive("the third first", round, BYTES);
    }
    kit_close(&third);
}

int main(int argc, char **argv)
{
    static char attached[16384];
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("alike_ways", "two ranks with the library are needed");
    for (int k = 0; k < MANY; k++)
        kit_open(&out[k], KIT_DEVICE, KIT_OPENING_BYTES);
    kit_open(&in, KIT_DEVICE, KIT_OPENING_BYTES);
    for (int k = 0; k < MANY; k++)
        kit_open_endpoints(&out[k], &in, KIT_OPENING_BYTES, TAG);
    MPI_Buffer_attach(attached, sizeof attached);
    lengths();
    for (int round = 0; round < ROUNDS; round++)
        at_once((enum mode)(round % MODES), 10 * round);
    for (int round = 0; round < ROUNDS; round++)
        drawn(round);
    for (int round = 0; round < TYPED; round++)
        typed(round);
    for (int round = 0; round < 4; round++)
        third_first(round % 2, 100 + round);
    const int received = (int)kit_counted("MPI_Irecv", "fetched from the sender");
    CHECK(kit_rank == 0 || received == ROUNDS * WINDOW + TYPED * 2 * WINDOW, "%d receives were counted", received);
    CHECK(kit_counted("MPI_Isend", "too many messages under way") == 0, "rendezvous are lost");
    int size;
    void *detached;
    MPI_Buffer_detach(&detached, &size);
    for (int k = 0; k < MANY; k++)
        kit_close(&out[k]);
    kit_close(&in);
    return kit_end("alike_ways");
}
