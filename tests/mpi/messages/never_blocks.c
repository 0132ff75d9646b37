/* Calls that do not wait: MPI_Isend, MPI_Irecv, the five calls that test, MPI_Improbe and nonblocking collectives
 * return while the other rank is in no call at all. The two ranks take turns: one makes its next call, the other waits
 * in a read of a socket that MPI does not know, so neither Tutti nor the MPI makes progress on its thread. A call that
 * waits for the other rank never returns, wherever it waits, inside the MPI too. The waiting rank then reports that
 * call. No check depends on how long a call takes.
 *
 * TUTTI_ENDPOINT_MB=1: the scratch is full, so the MPI carries data of a message whose sender is busy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "kit.h"
#include "turns.h"

enum { BYTES = 4 << 20, WORDS = 1 << 16, ABSENT_MS = 150, TURNS_LEAST = 2 };
enum how { TEST, TESTALL, TESTANY, TESTSOME, GET_STATUS, MESSAGES, IMPROBE = MESSAGES, IALLREDUCE, IALLTOALL, HOWS };
static const char *const names[HOWS] = {
    "MPI_Test",    "MPI_Testall",    "MPI_Testany",  "MPI_Testsome", "MPI_Request_get_status",
    "MPI_Improbe", "MPI_Iallreduce", "MPI_Ialltoall"};
static struct kit_buffer buffer, result;
static unsigned char bytes[BYTES];

static const unsigned char *contents(int n)
{
    for (size_t b = 0; b < BYTES; b++)
        bytes[b] = (unsigned char)(b * 7 + b / 1000 + (size_t)n * 13);
    return bytes;
}

/* ---- calls ---- */

struct calls {
    enum how how;
    int carried; /* 1: the MPI carries the message; 0: the receiver fetches it */
    int n;       /* of the message's contents */
    MPI_Request request[2];
    int begun, never; /* never: where a message would go that no rank sends */
};

/* The receiver makes no call for so long that its sender stops waiting for it: the MPI carries the data. */
static void poll_alone(MPI_Request *request)
{
    int flag = 0;
    for (const uint64_t until = tutti_now_ns() + ABSENT_MS * UINT64_C(1000000); tutti_now_ns() < until && !flag;)
        MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
}

static void begin_message(struct calls *c)
{
    if (kit_rank == 0) {
        MPI_Isend(kit_put(&buffer, 0, contents(c->n), BYTES), BYTES, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &c->request[0]);
        if (c->carried)
            poll_alone(&c->request[0]);
    } else if (c->how != IMPROBE) {
        MPI_Irecv(kit_put(&buffer, 0, NULL, BYTES), BYTES, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &c->request[0]);
        MPI_Irecv(&c->never, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &c->request[1]);
    }
}

static void begin(struct calls *c)
{
    c->begun = 1;
    c->request[0] = c->request[1] = MPI_REQUEST_NULL;
    if (c->how <= IMPROBE) {
        begin_message(c);
        return;
    }
    void *const out = kit_put(&result, 0, NULL, WORDS * sizeof(int));
    for (int w = 0; w < WORDS; w++)
        ((int *)(void *)bytes)[w] = w % 1000 + kit_rank;
    const void *const in = kit_put(&buffer, 0, bytes, WORDS * sizeof(int));
    if (c->how == IALLREDUCE)
        MPI_Iallreduce(in, out, WORDS, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &c->request[0]);
    else
        MPI_Ialltoall(in, WORDS / 2, MPI_INT, out, WORDS / 2, MPI_INT, MPI_COMM_WORLD, &c->request[0]);
}

/* 1: the probe's message is being received. */
static int look_for_message(struct calls *c)
{
    MPI_Message message;
    int flag = 0;
    MPI_Improbe(0, 3, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    if (flag)
        MPI_Imrecv(kit_put(&buffer, 0, NULL, BYTES), BYTES, MPI_BYTE, &message, &c->request[0]);
    return flag;
}

/* One look: 1 if the request is complete. */
static int look(struct calls *c, enum how how)
{
    MPI_Status statuses[2];
    int flag = 0, which[2] = {-1, -1}, out = 0;
    switch (how) {
    case TESTALL:
        MPI_Testall(1, c->request, &flag, statuses);
        return flag;
    case TESTANY:
        MPI_Testany(2, c->request, &which[0], &flag, statuses);
        return flag;
    case TESTSOME:
        MPI_Testsome(2, c->request, &out, which, statuses);
        return out > 0;
    case GET_STATUS:
        MPI_Request_get_status(c->request[0], &flag, statuses);
        if (flag)
            MPI_Wait(&c->request[0], MPI_STATUS_IGNORE);
        return flag;
    default:
        MPI_Test(&c->request[0], &flag, MPI_STATUS_IGNORE);
        return flag;
    }
}

/* This rank's next call. 1: its part is complete. A complete rank still polls for the other one. */
static int make_call(struct calls *c, int done)
{
    int flag;
    if (done) {
        MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        return 1;
    }
    if (!c->begun) {
        begin(c);
        return 0;
    }
    if (c->how == IMPROBE && kit_rank == 1 && c->request[0] == MPI_REQUEST_NULL) {
        look_for_message(c);
        return 0;
    }
    return look(c, kit_rank == 1 && c->how < MESSAGES ? c->how : TEST);
}

/* ---- rounds ---- */

static void compare(const struct calls *c)
{
    const int half = WORDS / 2;
    const int *words;
    int wrong = 0;
    if (c->how <= IMPROBE) {
        CHECK(kit_rank == 0 || memcmp(kit_get(&buffer, NULL), contents(c->n), BYTES) == 0, "%s: the message is wrong",
              names[c->how]);
        return;
    }
    words = (const int *)(const void *)kit_get(&result, NULL);
    for (int w = 0; w < WORDS; w++) {
        const int from = kit_rank * half + w % half;
        wrong += words[w] != (c->how == IALLREDUCE ? 2 * (w % 1000) + 1 : from % 1000 + w / half);
    }
    CHECK(wrong == 0, "%s: %d words of %d are wrong", names[c->how], wrong, WORDS);
}

/* Both ranks make calls in turn until both are complete. */
static void take_turns(enum how how, int carried, int n)
{
    struct calls c = {.how = how, .carried = carried, .n = n};
    long turn = 0;
    int mine = 0, theirs = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (; !mine || !theirs; turn++) {
        if (kit_rank == 1)
            theirs = kit_turn_take(names[how], turn);
        stands_at("%s, turn %ld", names[how], turn);
        mine = make_call(&c, mine);
        kit_turn_give((char)mine);
        if (kit_rank == 0)
            theirs = kit_turn_take(names[how], turn);
    }
    CHECK(turn >= TURNS_LEAST, "%s: complete in turn %ld", names[how], turn);
    if (c.request[1] != MPI_REQUEST_NULL) {
        MPI_Cancel(&c.request[1]);
        MPI_Wait(&c.request[1], MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    compare(&c);
    if (kit_rank == 1)
        printf("%s%s: %ld turns\n", names[how], carried ? ", carried" : "", turn);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size != 2)
        kit_skip("never_blocks", "it is for two ranks");
    kit_open(&buffer, KIT_DEVICE, BYTES);
    kit_open(&result, KIT_DEVICE, WORDS * sizeof(int));
    kit_turns_open();
    for (int n = 0; n < 8; n++) { /* so that the receiver has it mapped */
        void *at = kit_put(&buffer, 0, contents(n), BYTES);
        if (kit_rank == 0)
            MPI_Send(at, 200000, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        else
            MPI_Recv(at, 200000, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int how = 0; how < HOWS; how++)
        take_turns((enum how)how, 0, how);
    for (int how = 0; how <= IMPROBE; how++)
        take_turns((enum how)how, 1, HOWS + how);
    kit_turns_close();
    kit_close(&result);
    kit_close(&buffer);
    return kit_end("never_blocks");
}
