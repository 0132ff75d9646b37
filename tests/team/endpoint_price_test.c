/* The account of endpoints (team/endpoint/endpoint_price.c): after which message an allocation is to be mapped, by its
 * own losses, and on credit. The expected numbers of messages follow from the prices of docs/messages.md.
 * Argument `set`: with TUTTI_MAPPING_PRICE_US=1000. */
#include "core/fnv.h"
#include "endpoint_price.h"

/* ---- ski rental ---- */

static void rental(void)
{
    enum { DOUBLINGS = 6 };
    begin(&without_engines, 1);
    /* The first one pays for the kernels too: all messages have lost a third of them. */
    ASKED(++ids, 0, BYTES, messages_that_lose(USUAL + KERNELS_PART, LOSES), TUTTI_PAYS, "the first allocation");
    CHECK(!left(), "the message by which a mapping pays is staged");
    ASKED(++ids, 0, BYTES, messages_that_lose(USUAL, LOSES), TUTTI_PAYS, "another allocation");
    /* It is not mapped: asked again ever more seldom, as often as it loses a mapping and the kernels at last. */
    for (int i = 0; i < DOUBLINGS; i++)
        ASKED(ids, 0, BYTES, messages_that_lose((uint64_t)CREDIT << i, LOSES), TUTTI_PAYS, "question %d", i + 2);
    for (int i = DOUBLINGS; i < DOUBLINGS + 3; i++) {
        const uint64_t next = (uint64_t)CREDIT << i, most = USUAL + KERNELS;
        ASKED(ids, 0, BYTES, messages_that_lose(next < most ? next : most, LOSES), TUTTI_PAYS, "question %d", i + 2);
    }
    CHECK(message(ids, 0, BYTES, 1) == TUTTI_PAYS_NOT && left(), "the message behind it is not staged");
    CHECK(endpoint.lent == ALL_CREDIT, "mappings that messages have paid for take from the credit");
    begin(&with_engines, 1);
    ASKED(++ids, 0, BYTES, messages_that_lose(USUAL, LOSES - ENGINE), TUTTI_PAYS, "an allocation beside engines");
    ASKED(++ids, 0, FIRST, messages_that_lose(USUAL, 5500 + 3072 + FIRST / 5), TUTTI_PAYS, "short ones beside engines");
}

/* What a mapping takes: by the peer's last one, and less than usual only where it keeps some mapped; never more than
 * 20 ms, which was the machine. */
static void prices(void)
{
    enum { LAST = 300000, SLOW = 5000000, MOST = 20000000, LARGE = 256 << 20, LARGE_TIMES = 5 };
    begin(&without_engines, 1);
    from[PEER].lost = USUAL + KERNELS; /* no matter here */
    const uint64_t each = LOSES;
    theirs->mapping_ns[TUTTI_MAPPING_SMALL] = LAST;
    ASKED(++ids, 0, BYTES, messages_that_lose(USUAL, each), TUTTI_PAYS, "after a quick mapping");
    from[PEER].leased = 7;
    ASKED(++ids, 0, BYTES, messages_that_lose(LAST, each), TUTTI_PAYS, "after a quick mapping that is kept");
    theirs->mapping_ns[TUTTI_MAPPING_SMALL] = SLOW;
    ASKED(++ids, 0, BYTES, messages_that_lose(SLOW, each), TUTTI_PAYS, "after a slow mapping");
    theirs->mapping_ns[TUTTI_MAPPING_SMALL] = 3ull * MOST;
    ASKED(++ids, 0, BYTES, messages_that_lose(MOST, each), TUTTI_PAYS, "after one that the machine held");
    theirs->mapping_ns[TUTTI_MAPPING_SMALL] = LAST;
    endpoint.lent = LARGE_CREDIT;
    ASKED(++ids, LARGE, BYTES, messages_that_lose(LARGE_TIMES * USUAL, each), TUTTI_PAYS, "the first large one");
    ASKED(++ids, LARGE - 1, BYTES, messages_that_lose(LAST, each), TUTTI_PAYS, "the longest of usual ones");
    theirs->mapping_ns[TUTTI_MAPPING_LARGE] = SLOW;
    ASKED(++ids, LARGE, BYTES, messages_that_lose(SLOW, each), TUTTI_PAYS, "a large one");
}

/* What is lost while the peer has the scratch: staged messages lose as before, packed ones the packing, and those of
 * ranks that take turns on a GPU the turn. Messages that the MPI has, and those that leave by a rendezvous. */
static void lost(void)
{
    static const struct {
        uint64_t bytes;
        int alone, again, maps, left;
    } rows[] = {{8, 1, 0, 0, 1},     {BYTES, 1, 0, 0, 1},     {LEFT, 1, 0, 0, 1},  {LEFT + 1, 1, 0, 0, 0},
                {FIRST, 1, 0, 1, 1}, {FIRST + 1, 1, 0, 1, 0}, {FIRST, 0, 0, 1, 1}, {FIRST, 1, 1, 1, 1},
                {FIRST, 0, 1, 1, 0}, {MIDDLE, 0, 1, 1, 0},    {2048, 0, 1, 1, 1},  {2049, 0, 1, 1, 0},
                {BYTES, 0, 1, 0, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(&without_engines, 1);
        theirs->maps[0][0] = rows[i].maps ? TUTTI_MAPS : TUTTI_MAPS_NOT_YET;
        ids++;
        for (int k = 0; k <= rows[i].again; k++)
            message(ids, 0, rows[i].bytes, rows[i].alone);
        CHECK(left() == rows[i].left, "row %d: %llu bytes, alone %d, again %d, maps %d: left %d", (int)i,
              (unsigned long long)rows[i].bytes, rows[i].alone, rows[i].again, rows[i].maps, left());
    }
    begin(&without_engines, 1);
    from[PEER].lost = USUAL + KERNELS; /* no matter here */
    theirs->maps[0][0] = TUTTI_MAPS;
    ASKED(++ids, 0, BYTES, messages_that_lose(USUAL, 5000 + BYTES / 1024), TUTTI_PAYS, "packed messages");
    ASKED(++ids, 0, SHORT, messages_that_lose(USUAL, 5500 + 3072 + SHORT / 5), TUTTI_PAYS, "short ones beside scratch");
    /* Both ranks have the GPU: kernels wait for turns. */
    turning = 1;
    theirs->listens = 1;
    ASKED(++ids, 0, LONG, messages_that_lose(USUAL, 5000 + LONG / 1024 + 260000), TUTTI_PAYS, "messages by turns");
    ASKED(++ids, 0, BYTES, messages_that_lose(USUAL, LOSES), TUTTI_PAYS, "staged ones by turns");
    theirs->maps[0][0] = TUTTI_MAPS_NOT_YET;
    for (int i = 0; i < 2000; i++) {
        message(++ids, 0, BYTES, 1);
        CHECK(!verdict.scratch_pays, "scratch for messages that are staged by turns");
    }
    theirs->maps[0][0] = TUTTI_MAPS;
    from[PEER].lost = 0; /* their kernels are loaded with the mapping: no part of its price */
    ASKED(++ids, 0, BYTES, messages_that_lose(USUAL, LOSES), TUTTI_PAYS, "the first ones by turns");
    theirs->gpu[0].uuid[3] = 9; /* it has another GPU */
    ASKED(++ids, 0, LONG, messages_that_lose(USUAL, 5000 + LONG / 1024), TUTTI_PAYS, "on GPUs of their own");
}

/* The accounts of some allocations share a place: each has its own, the latest ones first. */
static void places(void)
{
    enum { SHARED = TUTTI_ENDPOINT_WAYS + 1 };
    uint64_t same[SHARED];
    int n = 0;
    begin(&without_engines, 1);
    from[PEER].lost = USUAL + KERNELS; /* no matter here */
    for (uint64_t id = 1000; n < SHARED; id++) {
        if (tutti_mix(id) % TUTTI_ENDPOINT_ACCOUNTS == 5)
            same[n++] = id;
    }
    const int pays = messages_that_lose(USUAL, LOSES);
    for (int i = 0; i < SHARED; i++)
        message(same[i], 0, BYTES, 1); /* the last one takes the place of the first */
    for (int k = 2; k < pays; k++) {
        for (int i = 1; i < SHARED; i++)
            CHECK(message(same[i], 0, BYTES, 1) == TUTTI_PAYS_NOT, "message %d of allocation %d pays", k, i);
    }
    for (int i = 1; i < SHARED; i++)
        CHECK(message(same[i], 0, BYTES, 1) == TUTTI_PAYS, "allocation %d has lost its account", i);
    ASKED(same[0], 0, BYTES, pays, TUTTI_PAYS, "an allocation whose place was taken");
}

/* What was decided before the rendezvous was taken is not counted again. */
static void made_before(void)
{
    begin(&without_engines, 1);
    struct tutti_rndv *rndv = &mine->rndv[0];
    rndv->share.what.id = ++ids;
    rndv->bytes = BYTES;
    const struct tutti_endpoint_verdict made = {.made = 1, .pays = TUTTI_PAYS, .scratch_pays = 1};
    tutti_endpoint_account(&endpoint, rndv, &made);
    CHECK(rndv->pays == TUTTI_PAYS && tutti_endpoint_needs_scratch(&endpoint, rndv) && !left() && from[PEER].lost == 0,
          "a verdict that was made: pays %u, left %d, %llu ns lost", rndv->pays, left(),
          (unsigned long long)from[PEER].lost);
}

/* ---- credit ---- */

static const int by_credit = (CREDIT + LOSES - 1) / LOSES; /* messages */

/* An allocation of few messages: whether it is mapped all the same. It is asked for at most once. */
static int few(uint64_t bytes, int messages)
{
    enum tutti_pays how = TUTTI_PAYS_NOT;
    ids++;
    for (int i = 0; i < messages; i++) {
        how = message(ids, 0, bytes, 1);
        CHECK(how == TUTTI_PAYS_NOT || i == messages - 1, "mapped after %d of %d messages", i + 1, messages);
    }
    CHECK(how != TUTTI_PAYS, "few messages do not pay");
    return how == TUTTI_PAYS_AWAITS;
}

/* Messages from the allocation, which is mapped. */
static void save(uint64_t id, int messages)
{
    for (int i = 0; i < messages; i++)
        tutti_endpoint_saves(&endpoint, id, BYTES);
}

/* Allocations one after the other: how many of them are mapped on credit. */
static int few_times(int times)
{
    int n = 0;
    for (int i = 0; i < times; i++)
        n += few(BYTES, by_credit);
    return n;
}

/* The same of allocations that send in turns, and of which each is sent from again later. */
static int in_turns(int allocations)
{
    const uint64_t first = ids + 1;
    int n = 0;
    ids += (uint64_t)allocations;
    for (int k = 0; k < by_credit; k++) {
        for (int i = 0; i < allocations; i++)
            n += message(first + (uint64_t)i, 0, BYTES, 1) == TUTTI_PAYS_AWAITS;
    }
    return n;
}

/* The credit is for mappings to any peer. Neither fewer than three messages bring one, nor less than 50 us, but a
 * message that loses 100 us does so at once. */
static void credit(void)
{
    enum { PAIR_BYTES = 110000, AT_ONCE_BYTES = 457140, BELOW = AT_ONCE_BYTES - 5, QUICK = 300000 };
    const int of_usual = ALL_CREDIT / (USUAL - by_credit * LOSES), of_quick = ALL_CREDIT / (QUICK - by_credit * LOSES);
    begin(&without_engines, 0);
    int n = in_turns(3 * of_usual);
    CHECK(n == of_usual, "%d allocations are mapped on credit, not %d", n, of_usual);
    begin(&without_engines, 0);
    CHECK(!few(BYTES, by_credit - 1) && !few(PAIR_BYTES, 2) && few(PAIR_BYTES, 3), "by two messages, or by too little");
    begin(&without_engines, 0);
    CHECK(!few(BELOW, 1) && few(AT_ONCE_BYTES, 1), "by one message");
    /* Where mappings are quick, more of them. */
    begin(&without_engines, 0);
    theirs->mapping_ns[TUTTI_MAPPING_SMALL] = QUICK;
    from[PEER].leased = 7;
    n = in_turns(2 * of_quick);
    CHECK(n == of_quick, "%d quick mappings on credit, not %d", n, of_quick);
    /* A mapping that takes longer than the credit is not made on credit. */
    begin(&without_engines, 0);
    theirs->mapping_ns[TUTTI_MAPPING_SMALL] = ALL_CREDIT + (uint64_t)by_credit * LOSES + 1;
    CHECK(!few(BYTES, by_credit) && endpoint.lent == 0, "more than the credit is lent");
    theirs->mapping_ns[TUTTI_MAPPING_SMALL]--;
    CHECK(few(BYTES, by_credit) && endpoint.lent == ALL_CREDIT, "the whole credit is not lent");
}

/* The first large allocation takes longer to map than the credit of usual ones lasts, and is mapped on credit all the
 * same: one of them, while little else is lent. Then usual ones have none until messages have saved it again. */
static void large_credit(void)
{
    enum { LARGE = 256 << 20, FIRST_LARGE = 5 * USUAL };
    const uint64_t lost = (uint64_t)by_credit * LOSES;
    begin(&without_engines, 0);
    ASKED(++ids, LARGE, BYTES, by_credit, TUTTI_PAYS_AWAITS, "the first large one");
    CHECK(endpoint.lent == FIRST_LARGE - lost, "%llu ns are lent for it", (unsigned long long)endpoint.lent);
    CHECK(!few(BYTES, by_credit), "a usual one is mapped on credit beside it");
    const int more = messages_that_lose(FIRST_LARGE - (LARGE_CREDIT - endpoint.lent), LOSES);
    const uint64_t other = ++ids;
    CHECK(message(other, LARGE, BYTES, 1) == TUTTI_PAYS_NOT, "another large one is mapped at once");
    save(other - 2, 1); /* the first one is used beside it */
    endpoint.lent = FIRST_LARGE - lost;
    ASKED(other, LARGE, BYTES, more - 1, TUTTI_PAYS_AWAITS, "another large one, as long as none is mapped");
}

/* Ranks that take turns on the GPU: nothing is lent. */
static void no_credit_by_turns(void)
{
    begin(&without_engines, 0);
    theirs->listens = 1;
    CHECK(few(BYTES, by_credit), "the GPU is shared, without turns: not on credit");
    begin(&without_engines, 0);
    theirs->listens = 1;
    turning = 1;
    CHECK(!few(BYTES, by_credit) && endpoint.lent == 0, "by turns: on credit");
}

/* Allocations that are new every few messages: after one of them no more are mapped on credit, quick ones neither,
 * until others have saved all that it cost. */
static void short_lived(void)
{
    enum { QUICK = 300000, ALL = 40 };
    const uint64_t more = USUAL - (uint64_t)by_credit * LOSES;
    const int all = messages_that_lose(more, LOSES);
    begin(&without_engines, 0);
    CHECK(few(BYTES, by_credit), "the first one is not mapped on credit");
    CHECK(few_times(ALL) == 0 && endpoint.lent == more, "%llu ns are lent in vain", (unsigned long long)endpoint.lent);
    theirs->mapping_ns[TUTTI_MAPPING_SMALL] = QUICK;
    from[PEER].leased = 7;
    save(ids + 1, all - 1); /* of another one, which has been mapped by its own losses */
    CHECK(!few(BYTES, by_credit), "lent before all was saved");
    theirs->mapping_ns[TUTTI_MAPPING_SMALL] = USUAL;
    /* Saved all: the next ones have the whole credit again, while they are used. */
    save(ids + 1, 1);
    CHECK(endpoint.lent == 0, "%llu ns stay lent", (unsigned long long)endpoint.lent);
    CHECK(few(BYTES, by_credit), "not lent though all was saved");
    const uint64_t last = ids, next = ++ids;
    enum tutti_pays how = message(next, 0, BYTES, 1);
    save(last, 1); /* it is used beside the next one */
    for (int i = 1; i < by_credit; i++)
        how = message(next, 0, BYTES, 1);
    CHECK(how == TUTTI_PAYS_AWAITS, "not lent beside an allocation that is used");
}

/* Those behind the message that brings a mapping on credit wait too, and no more than 128 that do not bring it again.
 * Nothing more is lent for the allocation: it is asked for again by its own account. */
static void awaited(void)
{
    enum tutti_pays how;
    begin(&without_engines, 0);
    const int first = until_asked(++ids, 0, BYTES, &how);
    const uint64_t lent = endpoint.lent;
    int awaits = 0;
    while (awaits < NEVER && message(ids, 0, BYTES, 1) == TUTTI_PAYS_AWAITS)
        awaits++;
    CHECK(first == by_credit && how == TUTTI_PAYS_AWAITS && awaits >= AWAIT && awaits <= AWAIT + 8,
          "the first one waits after %d messages, then %d", first, awaits);
    for (int i = 0; i < 3 * AWAIT; i++)
        CHECK(message(ids, 0, BYTES, 1) != TUTTI_PAYS_AWAITS, "they wait again");
    CHECK(lent == (uint64_t)(USUAL - by_credit * LOSES) && endpoint.lent == lent,
          "%llu ns are lent for a mapping, then %llu", (unsigned long long)lent, (unsigned long long)endpoint.lent);
}

/* Messages from mapped allocations save the credit again, and no more than that. */
static void saved(void)
{
    begin(&without_engines, 1);
    save(7, 3 * ALL_CREDIT / LOSES);
    CHECK(endpoint.lent == 0, "%llu ns stay lent", (unsigned long long)endpoint.lent);
    const int n = in_turns(12), of_usual = ALL_CREDIT / (USUAL - by_credit * LOSES);
    CHECK(n == of_usual, "%d allocations are mapped on credit again, not %d", n, of_usual);
}

/* A price that is set is that of each mapping, without kernels: nothing is lent, and no engine copies. */
static void set_price(void)
{
    begin(&with_engines, 0);
    CHECK(!tutti_endpoint_copies_first(&endpoint), "engines copy where a price is set");
    for (int i = 0; i < 3; i++)
        ASKED(++ids, 0, BYTES, messages_that_lose(SET, LOSES), TUTTI_PAYS, "with a set price");
    from[PEER].leased = 7;
    theirs->mapping_ns[TUTTI_MAPPING_SMALL] = 1000;
    ASKED(++ids, UINT64_C(1) << 40, BYTES, messages_that_lose(SET, LOSES), TUTTI_PAYS, "of any size");
    CHECK(endpoint.lent == 0, "the credit is spent");
}

int main(int argc, char **argv)
{
    price_open();
    if (argc > 1 && strcmp(argv[1], "set") == 0) {
        set_price();
    } else {
        rental();
        prices();
        lost();
        places();
        made_before();
        credit();
        large_credit();
        short_lived();
        no_credit_by_turns();
        awaited();
        saved();
    }
    printf("endpoint_price: %ld failed\n", check_failed());
    return check_failed() != 0;
}
