/* What the first messages between two ranks take, by the library's counters.
 *
 * From one allocation: the receiver maps that allocation, once, and fetches; no scratch is allocated, nothing is
 * packed. On a GPU, where mapping is slow, the MPI carries messages until it is mapped (mapping.c). From others: the
 * sender takes scratch. And where the receiver is late at each message: the sender takes scratch, the receiver maps
 * it, and from then on the sends return without the receiver. Needs TUTTI_STATS=1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "word.h"

#include "core/clock.h"

enum {
    BYTES = 20000,
    TAG = 3,
    ROUNDS = 5,
    LATE_US = 4000,
    LATER = 8,
    LATEST = 6,
    LONG_US = 15000,
    TRIES = 100,
    SLOW_TRIES = 5000
};
static struct kit_buffer one, other;
static double byte_us;   /* of the message of one byte before */
static atomic_int *sent; /* the number of the last message whose send has returned */

static struct counted {
    uint64_t mapped, launched, scratch, early /* copies of a sender that does not know the way of its message yet */,
        copied /* by copy engines, while kernels are not loaded */;
} before;

static struct counted since(void)
{
    const struct counted at = {kit_counted("memory of other ranks", "of the program"),
                               kit_counted("packing kernels", "launched"),
                               kit_counted("scratch for messages", "allocated"),
                               kit_counted("early copies", "launched"), kit_counted("copies of messages", "launched")},
                         d = {at.mapped - before.mapped, at.launched - before.launched, at.scratch - before.scratch,
                              at.early - before.early, at.copied - before.copied};
    before = at;
    return d;
}

/* Rank 0 sends, rank 1 receives. Returns the time of the call in us. */
static double message(struct kit_buffer *buffer, int number)
{
    static char data[BYTES];
    for (int i = 0; i < BYTES && kit_rank == 0; i++)
        data[i] = (char)(number * 31 + i);
    char *at = kit_put(buffer, 0, kit_rank == 0 ? data : NULL, BYTES);
    const uint64_t begun = tutti_now_ns();
    int error;
    if (kit_rank == 0)
        error = MPI_Send(at, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    if (kit_rank == 0)
        atomic_store(sent, number);
    else
        error = MPI_Recv(at, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double us = (double)(tutti_now_ns() - begun) / 1000;
    const char *got = kit_get(buffer, NULL);
    long wrong = 0;
    for (int i = 0; i < BYTES; i++)
        wrong += got[i] != (char)(number * 31 + i);
    CHECK(error == MPI_SUCCESS && wrong == 0, "message %d: class %d, %ld bytes are wrong", number, kit_class(error),
          wrong);
    return us;
}

/* 1 if mapping and allocating may take longer than a message. */
static int is_slow(void)
{
    const char *device = getenv("TUTTI_DEVICE");
    return !device || strcmp(device, "host") != 0 || getenv("TUTTI_HOST_MAPPING_US");
}

/* A receiver that is late for longer than mapping takes makes the sender take scratch: then nothing is known of the
 * first message. */
static void from_one(void)
{
    double us[ROUNDS + 1] = {0};
    since();
    us[0] = message(&one, 0);
    const struct counted first = since();
    us[0] = byte_us > us[0] ? byte_us : us[0]; /* scratch that the one before has asked for may come now */
    MPI_Allreduce(MPI_IN_PLACE, us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); /* either side may have been late */
    if (us[0] < LONG_US) {
        CHECK(first.scratch == 0, "the first message takes scratch");
        /* If mapping takes longer than the sender waits, the MPI carries the message. */
        CHECK(first.mapped <= (uint64_t)(kit_rank == 1), "the first message maps %llu allocations",
              (unsigned long long)first.mapped);
        CHECK(first.launched <= 1, "the first message takes %llu launches", (unsigned long long)first.launched);
    }
    int known = first.mapped > 0;
    MPI_Bcast(&known, 1, MPI_INT, 1, MPI_COMM_WORLD);
    for (int i = 1; !known && i < 100 * TRIES; i++) {
        message(&one, i);
        known = kit_counted("memory of other ranks", "of the program") > 0;
        MPI_Bcast(&known, 1, MPI_INT, 1, MPI_COMM_WORLD);
    }
    CHECK(us[0] >= LONG_US || known, "the allocation does not become known");
    since();
    for (int i = 1; i <= ROUNDS; i++)
        us[i] = message(&one, i);
    CHECK(us[0] >= LONG_US || since().mapped == 0, "further messages map the allocation again");
    if (kit_rank == 0)
        printf("first: the first sends of an allocation take %.0f, %.0f and %.0f us\n", us[0], us[1], us[2]);
}

/* The receiver comes when the send has returned, or after a time that grows, until some sends have returned before. */
static void late(void)
{
    int early = 0, done = 0;
    for (int i = 0; i < TRIES && !done; i++) {
        const uint64_t most = (uint64_t)LATE_US << (i / LATER < LATEST ? i / LATER : LATEST);
        MPI_Barrier(MPI_COMM_WORLD);
        if (kit_rank == 1)
            early += kit_word_await(sent, 100 + i, most);
        message(&one, 100 + i);
        done = kit_rank == 1 && early >= 3;
        MPI_Bcast(&done, 1, MPI_INT, 1, MPI_COMM_WORLD);
    }
    CHECK(done, "sends wait for the receiver: %d of %d returned before", early, TRIES);
    const struct counted d = since();
    if (kit_rank == 0)
        CHECK(d.launched + d.early + d.copied > 0, "no message was packed, or copied early");
    CHECK(kit_counted("scratch for messages", "allocated") == (uint64_t)(kit_rank == 0), "scratch of the sender alone");
}

static void from_another(void)
{
    for (int i = 0; i < 2 * ROUNDS; i++)
        message(i % 2 ? &one : &other, 200 + i);
    const struct counted d = since();
    CHECK(d.scratch == 0 && d.mapped <= 2, "two allocations: scratch again, or %llu mappings",
          (unsigned long long)d.mapped);
}

/* A message from an allocation of its own. */
static void new_one(int number)
{
    struct kit_buffer buffer;
    kit_open(&buffer, KIT_DEVICE, BYTES);
    message(&buffer, number);
    kit_close(&buffer);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("first", "needs two ranks, and the library in front");
    sent = kit_word_open();
    kit_open(&one, KIT_DEVICE, BYTES);
    kit_open(&other, KIT_DEVICE, BYTES);
    /* Both have met their GPU, and this message is the MPI's. */
    char byte = 0, *at = kit_put(&one, 0, &byte, 1);
    const uint64_t begun = tutti_now_ns();
    if (kit_rank == 0)
        MPI_Send(at, 1, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(at, 1, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    byte_us = (double)(tutti_now_ns() - begun) / 1000;
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1 && strcmp(argv[1], "several") == 0) {
        int taken = 0;
        message(&one, 1);
        message(&other, 2);
        for (int i = 0; i < (is_slow() ? SLOW_TRIES : 1) && !taken; i++) {
            taken = kit_counted("scratch for messages", "allocated") > 0;
            MPI_Bcast(&taken, 1, MPI_INT, 0, MPI_COMM_WORLD);
            if (!taken && is_slow())
                new_one(3 + i);
        }
        const struct counted d = since();
        CHECK(d.scratch == (uint64_t)(kit_rank == 0), "messages from two allocations take scratch %llu times",
              (unsigned long long)d.scratch);
    } else {
        from_one();
        late();
        from_another();
    }
    kit_close(&one);
    kit_close(&other);
    kit_word_close();
    return kit_end("first");
}
