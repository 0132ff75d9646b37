/* Messages that arrive before the receiver has mapped the allocation that they lie in: TUTTI_HOST_MAPPING_US makes
 * mapping slow.
 *
 * The first message of an allocation does not wait for the mapping, if that takes long: the MPI carries it meanwhile,
 * and later ones until the allocation is known; short ones are staged. Argument `pays`: an allocation is mapped when
 * its messages have lost as much as a mapping takes. Argument `price`: as much as TUTTI_MAPPING_PRICE_US says. Argument
 * `credit`: one allocation is mapped on credit, and another one when messages of the first have saved as much. Argument
 * `arrays`: two that are sent from in turns are. With
 * TUTTI_HOST_MAPPING_US=20000 a mapping costs the same in each account, however long it takes: no account expects more
 * than 20 ms. Argument `scratch`: no scratch is taken before they have cost as much as scratch. Argument
 * `short`: once the receiver has mapped the scratch, short messages of new allocations are staged all the same, also
 * those of MPI_Sendrecv, and longer ones packed. Argument `freed`: the sender frees the allocation as soon as it is
 * sent, while the receiver maps it, and sends from a new one, which may have the same address. Needs
 * TUTTI_STATS=1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

#include "core/clock.h"

#define STANDS_NS UINT64_C(40000000000)
enum {
    BYTES = 20000,
    LONGER = 2000000, /* than messages that are staged */
    LARGE = 8 << 20,
    MIDDLING = 8000,
    AT_ONCE = 6,
    LONG_US = 15000,
    TAG = 4,
    FREED = 30,
    /* Prices in ns. A staged message of BYTES bytes loses LOSES beside one that a kernel fetches from a mapped
     * allocation. While the kernels are not loaded, a copy engine would fetch it, which takes FETCH_LOSES longer. With
     * a set price of mappings no engine fetches. */
    LOSES = 12572,
    FETCH_LOSES = 3000,
    MAPPING = 2000000,
    PAY_BY_ENGINE = (MAPPING + LOSES - FETCH_LOSES - 1) / (LOSES - FETCH_LOSES), /* messages that lose a mapping */
    PAY_BY_KERNEL = (MAPPING + LOSES - 1) / LOSES,
    /* Messages that lose so much that the allocation is mapped on credit, 100 us: packed ones lose 5 us each, staged
     * ones more. */
    PAY_CREDIT = 20,
    PAY_SCRATCH = 497, /* that lose as much beside packed ones as scratch costs (8.1 us each, 4 ms) */
    EARN = 60,         /* messages of LONGER bytes of a mapped allocation that save a mapping of 20 ms */
    EARN_FIRST = 100,  /* the same of 30 ms */
    JOINED_US = 2000,  /* TUTTI_HOST_JOINED_US */
    SHORT_LIVED = 12,  /* with all their messages less than scratch costs */
    MOST = 5000
};
static char *data;
static uint64_t mapping_us;

static void contents(char *to, long bytes, long number)
{
    for (long i = 0; i < bytes; i++)
        to[i] = (char)(number * 37 + i + i / 251);
}

/* Rank 0 sends from the buffer, rank 1 receives. Returns the time of the call in us. */
static uint64_t message(struct kit_buffer *buffer, long bytes, int number)
{
    contents(data, bytes, number);
    char *at = kit_put(buffer, 0, kit_rank == 0 ? data : NULL, (size_t)bytes);
    const uint64_t begun = tutti_now_ns();
    int error;
    if (kit_rank == 0)
        error = MPI_Send(at, (int)bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    else
        error = MPI_Recv(at, (int)bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const uint64_t us = (tutti_now_ns() - begun) / 1000;
    CHECK(error == MPI_SUCCESS && memcmp(kit_get(buffer, NULL), data, (size_t)bytes) == 0,
          "message %d: class %d, or bytes are wrong", number, kit_class(error));
    return us;
}

static uint64_t known_before;
static uint64_t known(void)
{
    return kit_counted("memory of other ranks", "of the program") - known_before;
}

static uint64_t carried_before;
static uint64_t carried(void)
{
    return kit_counted("allocations of other ranks", "after a message that the MPI is to carry") - carried_before;
}

static uint64_t staged_before;
static uint64_t staged(void)
{
    return kit_counted("MPI_Send", "allocation not mapped by the receiver yet") - staged_before;
}

/* Messages until the allocation is known. Returns the number of the next one. */
static int until_known(struct kit_buffer *buffer, int number)
{
    const uint64_t begun = tutti_now_ns();
    int is_known = 0;
    while (!is_known) {
        message(buffer, BYTES, number++);
        CHECK(tutti_now_ns() - begun < STANDS_NS, "the allocation does not become known");
        is_known = known() > 0 || check_failed();
        MPI_Bcast(&is_known, 1, MPI_INT, 1, MPI_COMM_WORLD);
    }
    return number;
}

/* What is slower than the mapping says nothing. */
static void before_it_is_mapped(void)
{
    struct kit_buffer buffer;
    kit_open(&buffer, KIT_DEVICE, LARGE);
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t us = message(&buffer, BYTES, 0);
    CHECK(known() == 0 && carried() == 0, "the first message, which is short, is not staged");
    if (kit_rank == 0)
        CHECK(staged() == 1, "the first message is staged %llu times", (unsigned long long)staged());
    us += message(&buffer, LONGER, 1);
    MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD); /* either side may have been late */
    if (us < mapping_us / 2 && kit_rank == 1) { /* as long as it waits for a mapping in advance */
        CHECK(known() == 0, "the second message has waited for the mapping");
        CHECK(carried() > 0, "the second message was not carried");
    }
    if (us < LONG_US) /* a receiver that is later makes the sender take scratch */
        CHECK(kit_counted("scratch for messages", "allocated") == 0, "the first messages take scratch");
    /* A long one too: longer than its parts, and it may go either way. */
    message(&buffer, LARGE, 2);
    int number = until_known(&buffer, 3);
    if (kit_rank == 1) {
        CHECK(known() == 1, "the allocation was mapped %llu times", (unsigned long long)known());
        printf("mapping: the first messages took %llu us; %d until the allocation was mapped, of them %llu carried\n",
               (unsigned long long)us, number, (unsigned long long)carried());
    }
    for (int i = 0; i < 5; i++)
        message(&buffer, BYTES, number++);
    kit_close(&buffer);
}

/* An allocation sends as many messages as bring it a mapping on credit, and one more, and is freed. */
static void short_lived(void)
{
    struct kit_buffer buffer;
    kit_open(&buffer, KIT_DEVICE, BYTES);
    for (int i = 0; i <= PAY_CREDIT; i++)
        message(&buffer, BYTES, i);
    kit_close(&buffer);
}

static uint64_t on_credit(void)
{
    uint64_t n = kit_counted("allocations of this rank", "to be mapped on credit");
    MPI_Bcast(&n, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return n;
}

/* One mapping is made on credit, and no other one while it is owed for. Ends when no more are made; returns how many
 * were. */
static uint64_t spend_credit(void)
{
    const uint64_t first = on_credit();
    uint64_t spent = 0, before;
    do {
        before = spent;
        for (int i = 0; i < SHORT_LIVED; i++)
            short_lived();
        spent = on_credit() - first;
    } while (spent > before && spent <= 1);
    CHECK(spent <= 1, "%llu allocations are mapped on credit, though nothing is saved", (unsigned long long)spent);
    known_before += known();
    carried_before += carried();
    staged_before += staged();
    return spent;
}

static void save(struct kit_buffer *mapped, int messages)
{
    for (int i = 0; i < messages; i++)
        message(mapped, LONGER, i);
}

/* 1 if a new allocation is mapped on credit: nothing is owed any more for the one before. Also if a message took as
 * long as a mapping: then its receiver may have mapped the allocation before. */
static int lends(void)
{
    struct kit_buffer buffer;
    const uint64_t before = on_credit();
    uint64_t longest = 0;
    int lent = 0;
    kit_open(&buffer, KIT_DEVICE, BYTES);
    for (int i = 0; i <= PAY_CREDIT && !lent; i++) {
        const uint64_t us = message(&buffer, BYTES, i);
        lent = on_credit() > before;
        longest = us > longest && !lent ? us : longest;
    }
    kit_close(&buffer);
    MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return lent || longest >= JOINED_US;
}

/* Once memory of the peer is mapped, and has paid for that, each further mapping costs what the one before took, but
 * not more than 20 ms. team-endpoint-lease has the price of the first one behind that. */
static void when_joined(void)
{
    struct kit_buffer buffer;
    kit_open(&buffer, KIT_DEVICE, LONGER);
    until_known(&buffer, 0);
    save(&buffer, EARN_FIRST);
    CHECK(lends(), "the second allocation is not mapped on credit");
    save(&buffer, EARN);
    CHECK(lends(), "the third allocation is not mapped on credit: the second one costs more than a mapping takes");
    save(&buffer, EARN);
    CHECK(lends(), "the fourth allocation is not mapped on credit: the third one costs more than it took");
    kit_close(&buffer);
}

/* One allocation is mapped after so many messages, and not before, unless a message took as long as a mapping: then its
 * receiver may have mapped the allocation while the sender did not run. A sender that has taken scratch packs its
 * messages, which lose less: it does where a receiver is late for memory that it has mapped, as on credit before. */
static void when_it_pays(int pay)
{
    struct kit_buffer buffer;
    uint64_t longest = 0;
    int number = 0;
    const int set = getenv("TUTTI_MAPPING_PRICE_US") != NULL; /* there is no credit */
    CHECK(!set == (spend_credit() > 0), "the credit of a process, with a set price: %d", set);
    kit_open(&buffer, KIT_DEVICE, BYTES);
    if (kit_counted("scratch for messages", "allocated") > 0)
        longest = mapping_us;
    for (; number < pay - 1; number++) {
        const uint64_t us = message(&buffer, BYTES, number);
        longest = us > longest ? us : longest;
    }
    MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    const int quick = longest < mapping_us;
    CHECK(!quick || (known() == 0 && carried() == 0), "the allocation is mapped before it pays");
    if (kit_rank == 0 && quick)
        CHECK(staged() == (uint64_t)pay - 1, "%llu of %d messages are staged", (unsigned long long)staged(), pay - 1);
    /* One more shows the allocation to the receiver, which maps it. */
    message(&buffer, BYTES, number++);
    if (kit_rank == 0 && quick)
        CHECK(staged() == (uint64_t)pay - 1, "the message by which a mapping pays is staged");
    until_known(&buffer, number);
    kit_close(&buffer);
}

/* A mapping on credit is owed for until messages from mapped allocations have saved it: allocations that are freed soon
 * have no other one meanwhile. */
static void when_credit_ends(void)
{
    struct kit_buffer buffer;
    kit_open(&buffer, KIT_DEVICE, LONGER);
    int number = until_known(&buffer, 0);
    uint64_t spent = on_credit();
    CHECK(spent == 1, "the first allocation is mapped on credit %llu times", (unsigned long long)spent);
    spent = spend_credit();
    CHECK(spent == 0, "%llu more allocations are mapped on credit", (unsigned long long)spent);
    for (int i = 0; i < EARN; i++)
        message(&buffer, LONGER, number++);
    spent = spend_credit();
    CHECK(spent == 1, "%llu allocations are mapped on credit again", (unsigned long long)spent);
    kit_close(&buffer);
}

/* Arrays that are sent from in turns: the second one is mapped on credit once the first one is known and used, the
 * third one not, as two are owed for. */
static void when_arrays_turn(void)
{
    struct kit_buffer array[3];
    for (int i = 0; i < 3; i++)
        kit_open(&array[i], KIT_DEVICE, BYTES);
    message(&array[1], BYTES, 0);
    int number = until_known(&array[0], 1);
    CHECK(on_credit() == 1, "the first array is mapped on credit %llu times", (unsigned long long)on_credit());
    for (int i = 1; i < 3; i++) {
        for (int k = 0; k <= PAY_CREDIT; k++) {
            message(&array[0], BYTES, number++);
            message(&array[i], BYTES, number++);
        }
        const uint64_t n = on_credit();
        CHECK(n == 2, "%llu arrays are mapped on credit after the turns of array %d", (unsigned long long)n, i);
    }
    for (int i = 0; i < 3; i++)
        kit_close(&array[i]);
}

/* A new allocation for each message: none is mapped. Scratch is taken after so many messages, and not before. A
 * receiver maps an allocation all the same when the sender of a message that is not staged lets it wait for as long as
 * a mapping takes: a sender that another process keeps from running. */
static void when_scratch_pays(void)
{
    struct kit_buffer buffer;
    uint64_t longest = 0;
    int number = 0, taken = 0, others = 0;
    for (; number < MOST && !taken; number++) {
        kit_open(&buffer, KIT_DEVICE, BYTES);
        const uint64_t us = message(&buffer, BYTES, number);
        longest = us > longest ? us : longest;
        kit_close(&buffer);
        taken = kit_counted("scratch for messages", "allocated") > 0;
        MPI_Bcast(&taken, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    CHECK(taken && number >= PAY_SCRATCH, "scratch is taken after %d messages, not after %d", number, PAY_SCRATCH);
    if (kit_rank == 0) {
        others = number - (int)staged();
        CHECK(others > 0 && number - others >= PAY_SCRATCH - 1, "%d of %d messages are not staged", others, number);
    }
    MPI_Bcast(&others, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(known() <= (longest < mapping_us / 2 ? 0 : (uint64_t)others),
          "%llu allocations of one message each are mapped", (unsigned long long)known());
}

/* MPI_Sendrecv between new allocations. Returns how many messages of this rank were staged for want of a mapping. */
static int exchange_new(long bytes, int number)
{
    static const char why[] = "allocation not mapped by the receiver yet";
    const uint64_t before = kit_counted("MPI_Sendrecv", why);
    struct kit_buffer out, in;
    kit_open(&out, KIT_DEVICE, (size_t)bytes);
    kit_open(&in, KIT_DEVICE, (size_t)bytes);
    contents(data, bytes, number + kit_rank);
    char *from = kit_put(&out, 0, data, (size_t)bytes), *to = kit_put(&in, 0, NULL, (size_t)bytes);
    const int error = MPI_Sendrecv(from, (int)bytes, MPI_BYTE, 1 - kit_rank, TAG, to, (int)bytes, MPI_BYTE,
                                   1 - kit_rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    contents(data, bytes, number + 1 - kit_rank);
    CHECK(error == MPI_SUCCESS && memcmp(kit_get(&in, NULL), data, (size_t)bytes) == 0,
          "exchange %d: class %d, or bytes are wrong", number, kit_class(error));
    kit_close(&out);
    kit_close(&in);
    return (int)(kit_counted("MPI_Sendrecv", why) - before);
}

/* The receiver has mapped the scratch. Single messages of middling length are staged, those of a burst packed, but for
 * the first one of an allocation: the receives of a halo are open beside them. */
static void single_or_burst(int number)
{
    struct kit_buffer out, in;
    MPI_Request request[2 * AT_ONCE];
    const uint64_t before = staged(), packed = kit_counted("MPI_Isend", "packed for the receiver");
    kit_open(&out, KIT_DEVICE, MIDDLING * AT_ONCE);
    for (int i = 0; i < 3; i++)
        message(&out, MIDDLING, number++);
    CHECK(kit_rank == 1 || staged() == before + 3, "%llu of 3 single messages are staged",
          (unsigned long long)(staged() - before));
    kit_close(&out);
    kit_open(&out, KIT_DEVICE, MIDDLING * AT_ONCE);
    kit_open(&in, KIT_DEVICE, MIDDLING * AT_ONCE);
    contents(data, MIDDLING * AT_ONCE, number);
    char *from = kit_put(&out, 0, data, MIDDLING * AT_ONCE), *to = kit_put(&in, 0, NULL, MIDDLING * AT_ONCE);
    for (long i = 0; i < AT_ONCE; i++)
        MPI_Irecv(to + i * MIDDLING, MIDDLING, MPI_BYTE, 1 - kit_rank, TAG, MPI_COMM_WORLD, &request[i]);
    for (long i = 0; i < AT_ONCE; i++)
        MPI_Isend(from + i * MIDDLING, MIDDLING, MPI_BYTE, 1 - kit_rank, TAG, MPI_COMM_WORLD, &request[AT_ONCE + i]);
    MPI_Waitall(2 * AT_ONCE, request, MPI_STATUSES_IGNORE);
    CHECK(memcmp(kit_get(&in, NULL), data, MIDDLING * AT_ONCE) == 0, "a burst brings other bytes");
    CHECK(kit_counted("MPI_Isend", "packed for the receiver") == packed + AT_ONCE - 1,
          "%llu of %d messages of a burst are packed",
          (unsigned long long)(kit_counted("MPI_Isend", "packed for the receiver") - packed), AT_ONCE);
    kit_close(&out);
    kit_close(&in);
}

/* Scratch is mapped on both sides when several messages in a row are packed: other reasons for a rendezvous are rare.
 */
static void short_stay_staged(void)
{
    static const long shorts[] = {8, 100, 2048, 16384};
    int number = 0;
    for (int packed = 0; number < MOST && packed < 8; number++) {
        int here = exchange_new(BYTES, number) == 0, all = 0;
        MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        packed = all ? packed + 1 : 0;
    }
    CHECK(number < MOST, "messages of new allocations are never packed");
    for (int i = 0; i < 24; i++, number += 2) {
        const int staged_short = exchange_new(shorts[i % 4], number), staged_long = exchange_new(BYTES, number + 1);
        CHECK(staged_short == 1, "%ld bytes of a new allocation are staged %d times", shorts[i % 4], staged_short);
        CHECK(staged_long == 0, "a long message of a new allocation is staged");
    }
    single_or_burst(number);
}

static void freed_meanwhile(void)
{
    struct kit_buffer own;
    kit_open(&own, KIT_DEVICE, BYTES);
    for (int i = 0; i < FREED; i++) {
        if (kit_rank == 0) {
            struct kit_buffer buffer;
            kit_open(&buffer, KIT_DEVICE, BYTES);
            message(&buffer, BYTES, i);
            kit_close(&buffer);
        } else {
            message(&own, BYTES, i);
        }
    }
    kit_close(&own);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("mapping", "needs two ranks, and the library in front");
    const char *us = getenv("TUTTI_HOST_MAPPING_US");
    mapping_us = us ? strtoull(us, NULL, 10) : 0;
    data = malloc(LARGE);
    /* Both have met their GPU, and this message is the MPI's. */
    struct kit_buffer first;
    kit_open(&first, KIT_DEVICE, 64);
    char byte = 0, *at = kit_put(&first, 0, &byte, 1);
    if (kit_rank == 0)
        MPI_Send(at, 1, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(at, 1, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    staged_before = staged();
    if (argc > 1 && strcmp(argv[1], "freed") == 0)
        freed_meanwhile();
    else if (argc > 1 && strcmp(argv[1], "pays") == 0)
        when_it_pays(PAY_BY_ENGINE);
    else if (argc > 1 && strcmp(argv[1], "price") == 0)
        when_it_pays(PAY_BY_KERNEL);
    else if (argc > 1 && strcmp(argv[1], "joined") == 0)
        when_joined();
    else if (argc > 1 && strcmp(argv[1], "credit") == 0)
        when_credit_ends();
    else if (argc > 1 && strcmp(argv[1], "arrays") == 0)
        when_arrays_turn();
    else if (argc > 1 && strcmp(argv[1], "scratch") == 0)
        when_scratch_pays();
    else if (argc > 1 && strcmp(argv[1], "short") == 0)
        short_stay_staged();
    else if (argc > 1)
        CHECK(0, "no part is called %s", argv[1]);
    else
        before_it_is_mapped();
    kit_close(&first);
    free(data);
    return kit_end("mapping");
}
