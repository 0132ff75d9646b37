/* The account of endpoints (team/endpoint/endpoint_price.c): after which message an allocation is to be mapped, by its
 * own losses, and on credit. The expected numbers of messages follow from the prices of docs/messages.md.
 * Argument `set`: with TUTTI_MAPPING_PRICE_US=1000. */
#include "core/fnv.h"
#include "endpoint_price.h"
#include "support/random.h"

/* ---- ski rental ---- */

static void rental(void)
{
    enum { DOUBLINGS = 5 };
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
    CHECK(endpoint.owed == USUAL, "mappings that messages have paid for are owed");
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

/* Messages that land lose a quarter, once they do, and do not wait for others of a burst. */
static void landing(void)
{
    const uint64_t loses = 5500 + 3072 + SHORT / 5;
    for (int lands = 0; lands < 2; lands++) {
        begin(&without_engines, 1);
        endpoint.gpu[0].lands = lands ? TUTTI_LANDS : TUTTI_LANDS_TRIED;
        from[PEER].lost = USUAL + KERNELS; /* no matter here */
        ASKED(++ids, 0, SHORT, messages_that_lose(USUAL, loses), TUTTI_PAYS, "messages that are waited for");
        unwaited = 1;
        ASKED(++ids, 0, SHORT, messages_that_lose(USUAL, lands ? loses / 4 : loses), TUTTI_PAYS, "others");
        theirs->maps[0][0] = TUTTI_MAPS;
        ids++;
        for (int again = 0; again < 2; again++)
            message(ids, 0, SHORT, 0);
        CHECK(left() == lands, "messages of a burst, beside scratch, where they land: %d: left %d", lands, left());
    }
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

/* Messages from allocations that are mapped. */
static void save(int messages)
{
    for (int i = 0; i < messages; i++)
        tutti_endpoint_saves(&endpoint, BYTES);
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

/* One mapping is made on credit, to any peer, when messages have lost 100 us: not by 8 exchanges of 8 KiB, but by 10,
 * as a tuner makes them, and by one large message. */
static void credit(void)
{
    enum { AT_ONCE_BYTES = 457140, BELOW = AT_ONCE_BYTES - 5, QUICK = 300000, SLOW = 20000000 };
    begin(&without_engines, 0);
    const int n = in_turns(12);
    CHECK(n == 1, "%d allocations are mapped on credit, not one", n);
    begin(&without_engines, 0);
    CHECK(!few(BYTES, by_credit - 1) && !few(8 << 10, 8) && few(8 << 10, 10), "by 8 short messages, or not by 10");
    begin(&without_engines, 0);
    CHECK(!few(BELOW, 1) && few(AT_ONCE_BYTES, 1), "by one message");
    /* What is owed is the price of that mapping, without what its messages have lost. */
    static const uint64_t takes[] = {QUICK, USUAL, SLOW};
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++) {
        begin(&without_engines, 0);
        theirs->mapping_ns[TUTTI_MAPPING_SMALL] = takes[i];
        from[PEER].leased = 7;
        CHECK(few(BYTES, by_credit) && endpoint.owed == takes[i] - (uint64_t)by_credit * LOSES, "%llu ns are owed",
              (unsigned long long)endpoint.owed);
    }
}

/* The first large allocation is mapped on credit too, though it takes five times as long. Another one is mapped when it
 * has lost its own price, by then that of one beside mapped memory. */
static void large_credit(void)
{
    enum { LARGE = 256 << 20, FIRST_LARGE = 5 * USUAL, JOINED = 200000 };
    begin(&without_engines, 0);
    ASKED(++ids, LARGE, BYTES, by_credit, TUTTI_PAYS_AWAITS, "the first large one");
    CHECK(endpoint.owed == (uint64_t)FIRST_LARGE - (uint64_t)by_credit * LOSES, "%llu ns are owed for it",
          (unsigned long long)endpoint.owed);
    CHECK(!few(BYTES, by_credit), "a usual one is mapped on credit beside it");
    theirs->mapping_ns[TUTTI_MAPPING_LARGE] = JOINED;
    from[PEER].leased = ids;
    from[PEER].lost = USUAL + KERNELS; /* no matter here */
    ASKED(++ids, LARGE, BYTES, messages_that_lose(JOINED, LOSES), TUTTI_PAYS, "the second large one");
}

/* Arrays that are sent from in turns: once messages from the first one have gone, which is mapped, those that have come
 * before are mapped on credit too, while two first mappings at most are owed for. */
static void arrays_in_turns(void)
{
    enum { LARGE = 256 << 20, JOINED = 200000 };
    const uint64_t more = USUAL - (uint64_t)by_credit * LOSES, first = ids + 1;
    begin(&without_engines, 0);
    CHECK(in_turns(4) == 1, "not one of four");
    save(1);
    enum tutti_pays how = message(first + 1, 0, BYTES, 1);
    CHECK(how == TUTTI_PAYS_AWAITS && endpoint.owed > more && endpoint.owed < 2 * more, "the second one: %d, %llu ns",
          how, (unsigned long long)endpoint.owed);
    how = message(first + 2, 0, BYTES, 1);
    CHECK(how == TUTTI_PAYS_NOT, "the third one, while two are owed for");
    /* Further mappings are cheap once the GPUs are joined. */
    theirs->mapping_ns[TUTTI_MAPPING_SMALL] = JOINED;
    from[PEER].leased = first;
    save(20);
    how = message(first + 2, 0, BYTES, 1);
    CHECK(how == TUTTI_PAYS_AWAITS && endpoint.owed > more, "the third one, which costs little: %d, %llu ns", how,
          (unsigned long long)endpoint.owed);
    /* A new one comes: the mapped ones may be used no more. */
    CHECK(!few(BYTES, by_credit), "an allocation after which no mapped one was used");
    ids++;
    for (int i = 0; i < by_credit - 1; i++)
        message(ids, 0, BYTES, 1);
    save(1);
    CHECK(message(ids, 0, BYTES, 1) == TUTTI_PAYS_AWAITS, "an allocation beside mapped ones that are used");
    /* Two large arrays. */
    begin(&without_engines, 0);
    const uint64_t a = ++ids, b = ++ids;
    message(b, LARGE, BYTES, 1);
    ASKED(a, LARGE, BYTES, by_credit, TUTTI_PAYS_AWAITS, "the first large array");
    theirs->mapping_ns[TUTTI_MAPPING_LARGE] = JOINED;
    from[PEER].leased = a;
    save(1);
    ASKED(b, LARGE, BYTES, by_credit - 1, TUTTI_PAYS_AWAITS, "the second large array");
}

/* What was used before anything was owed shows nothing: a second allocation is not mapped on credit beside the first.
 */
static void used_before(void)
{
    begin(&without_engines, 0);
    const uint64_t a = ++ids, b = ++ids;
    message(a, 0, BYTES, 1);
    message(b, 0, BYTES, 1);
    save(1);
    ASKED(a, 0, BYTES, by_credit - 1, TUTTI_PAYS_AWAITS, "the first one");
    for (int i = 1; i <= by_credit; i++)
        CHECK(message(b, 0, BYTES, 1) == TUTTI_PAYS_NOT, "the second one by message %d", i);
}

/* An allocation that was to be mapped on credit and was not: it is asked about ever more seldom, and no more on credit,
 * also where nothing is owed any more. */
static void not_mapped(void)
{
    begin(&without_engines, 0);
    ASKED(++ids, 0, BYTES, by_credit, TUTTI_PAYS_AWAITS, "the first question");
    from[PEER].account[tutti_mix(ids) % TUTTI_ENDPOINT_ACCOUNTS][0].awaits = 0;
    from[PEER].lost = USUAL + KERNELS; /* no matter here */
    for (int i = 0; i < 5; i++) {
        endpoint.owed = 0;
        ASKED(ids, 0, BYTES, messages_that_lose((uint64_t)CREDIT << i, LOSES), TUTTI_PAYS, "question %d", i + 2);
        CHECK(endpoint.owed == 0, "%llu ns are owed once more", (unsigned long long)endpoint.owed);
    }
}

/* Ranks that take turns on the GPU: nothing is mapped on credit. */
static void no_credit_by_turns(void)
{
    begin(&without_engines, 0);
    theirs->listens = 1;
    CHECK(few(BYTES, by_credit), "the GPU is shared, without turns: not on credit");
    begin(&without_engines, 0);
    theirs->listens = 1;
    turning = 1;
    CHECK(!few(BYTES, by_credit) && endpoint.owed == 0, "by turns: on credit");
}

/* Allocations that are new every few messages: after one of them no more are mapped on credit, quick ones neither,
 * until messages from any mapped allocation have saved all that it cost. */
static void short_lived(void)
{
    enum { QUICK = 300000, ALL = 40 };
    const uint64_t more = USUAL - (uint64_t)by_credit * LOSES;
    const int all = messages_that_lose(more, LOSES);
    begin(&without_engines, 0);
    CHECK(few(BYTES, by_credit), "the first one is not mapped on credit");
    CHECK(few_times(ALL) == 0 && endpoint.owed == more, "%llu ns are owed in vain", (unsigned long long)endpoint.owed);
    theirs->mapping_ns[TUTTI_MAPPING_SMALL] = QUICK;
    from[PEER].leased = 7;
    save(all - 1);
    CHECK(!few(BYTES, by_credit), "mapped on credit before all was saved");
    theirs->mapping_ns[TUTTI_MAPPING_SMALL] = USUAL;
    save(1);
    CHECK(endpoint.owed == 0, "%llu ns stay owed", (unsigned long long)endpoint.owed);
    CHECK(few_times(ALL) == 1 && endpoint.owed == more, "not mapped on credit once more, though all was saved");
}

/* Those behind the message that brings a mapping on credit wait too, and no more than 128 that do not bring it again.
 * Nothing more is owed for the allocation: it is asked for again by its own account. */
static void awaited(void)
{
    enum tutti_pays how;
    begin(&without_engines, 0);
    const int first = until_asked(++ids, 0, BYTES, &how);
    const uint64_t owed = endpoint.owed;
    int awaits = 0;
    while (awaits < NEVER && message(ids, 0, BYTES, 1) == TUTTI_PAYS_AWAITS)
        awaits++;
    CHECK(first == by_credit && how == TUTTI_PAYS_AWAITS && awaits >= AWAIT && awaits <= AWAIT + 8,
          "the first one waits after %d messages, then %d", first, awaits);
    for (int i = 0; i < 3 * AWAIT; i++)
        CHECK(message(ids, 0, BYTES, 1) != TUTTI_PAYS_AWAITS, "they wait again");
    CHECK(owed == (uint64_t)(USUAL - by_credit * LOSES) && endpoint.owed == owed,
          "%llu ns are owed for a mapping, then %llu", (unsigned long long)owed, (unsigned long long)endpoint.owed);
}

/* Messages from mapped allocations save what is owed, and no more than that. */
static void saved(void)
{
    begin(&without_engines, 1);
    save(3 * USUAL / LOSES);
    CHECK(endpoint.owed == 0, "%llu ns stay owed", (unsigned long long)endpoint.owed);
    const int n = in_turns(12);
    CHECK(n == 1, "%d allocations are mapped on credit again, not one", n);
}

/* Drawn programs: up to three allocations that send in turns, of few or many messages each. In all, mappings never take
 * longer than what staged messages have lost before them and those from mapped memory have saved, and two first ones:
 * so a program takes no longer than by hand, once more what its staged messages lose, and two mappings. */
static void drawn(uint64_t seed)
{
    enum { MESSAGES = 5000, TURNS = 3 };
    uint64_t id[TURNS] = {0}, left[TURNS] = {0}, state = seed, gained = 0, maps = 0; /* gained: lost, or saved */
    int mapped[TURNS] = {0};
    const uint64_t in_turn = 1 + random_next(&state) % TURNS, most = UINT64_C(1) << random_next(&state) % 11;
    begin(&without_engines, 0);
    for (int i = 0; i < MESSAGES && !check_failed(); i++, gained += LOSES) {
        const uint64_t k = random_next(&state) % in_turn;
        if (left[k] == 0) {
            id[k] = ++ids;
            left[k] = 1 + random_next(&state) % most;
            mapped[k] = 0;
        }
        left[k]--;
        if (mapped[k])
            save(1);
        else
            maps += (mapped[k] = message(id[k], 0, BYTES, 1) != TUTTI_PAYS_NOT) * (uint64_t)USUAL;
        CHECK(maps <= gained + LOSES + 2 * USUAL, "seed %llu, message %d: mappings take %llu us, not %llu",
              (unsigned long long)seed, i, (unsigned long long)maps / 1000, (unsigned long long)gained / 1000);
    }
}

/* A price that is set is that of each mapping, without kernels: nothing is owed, and no engine copies. */
static void set_price(void)
{
    begin(&with_engines, 0);
    CHECK(!tutti_endpoint_copies_first(&endpoint), "engines copy where a price is set");
    for (int i = 0; i < 3; i++)
        ASKED(++ids, 0, BYTES, messages_that_lose(SET, LOSES), TUTTI_PAYS, "with a set price");
    from[PEER].leased = 7;
    theirs->mapping_ns[TUTTI_MAPPING_SMALL] = 1000;
    ASKED(++ids, UINT64_C(1) << 40, BYTES, messages_that_lose(SET, LOSES), TUTTI_PAYS, "of any size");
    CHECK(endpoint.owed == 0, "a mapping is made on credit");
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
        landing();
        places();
        made_before();
        credit();
        large_credit();
        arrays_in_turns();
        used_before();
        not_mapped();
        short_lived();
        no_credit_by_turns();
        awaited();
        saved();
        for (uint64_t n = 0; n < 300; n++)
            drawn(check_seed() + n);
    }
    printf("endpoint_price: %ld failed\n", check_failed());
    return check_failed() != 0;
}
