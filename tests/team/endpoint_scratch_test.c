/* The account of endpoints (team/endpoint/endpoint_price.c and endpoint_kernels.c): after which message scratch is to
 * be taken, when the packing kernels are loaded, and which way a message goes while memory is being mapped. Argument
 * `kernels`, `short`: when long or short messages load them. */
#include <sched.h>
#include <unistd.h>

#include "core/clock.h"
#include "dtype/pack.h"
#include "endpoint_price.h"

/* ---- scratch ---- */

/* Messages from one allocation need none; those of several take it when they have lost as much as scratch costs. */
static void scratch(void)
{
    begin(&without_engines, 1);
    ids++;
    int n = 0;
    for (; n < 1000; n++) {
        message(ids, 0, BYTES, 1);
        CHECK(!verdict.scratch_pays, "scratch for one allocation");
    }
    const uint64_t packs = LOSES - 5000 - BYTES / 1024;
    for (int again = 0; again < 2; again++) {
        for (n = 1; n < NEVER && (message(++ids, 0, BYTES, 1), !verdict.scratch_pays); n++)
            continue;
        CHECK(n == messages_that_lose(2 * USUAL + KERNELS, packs), "scratch after %d messages", n);
        CHECK(!left(), "the message by which scratch pays is staged");
    }
    /* Scratch that is there is shown to a peer that has not mapped it, once. */
    for (int shown = 0; shown < 2; shown++) {
        mine->gpu[0].offered = 1;
        message(++ids, 0, 8, 1);
        CHECK(left(), "scratch is shown before it is there");
        mine->gpu[0].offered = 2;
        message(++ids, 0, 8, 1);
        CHECK(!left(), "scratch %d is not shown", shown);
        message(++ids, 0, 8, 1);
        CHECK(left(), "scratch %d is shown again", shown);
    }
    theirs->maps[0][0] = TUTTI_MAPS_CANNOT;
    message(++ids, 0, 8, 1);
    from[PEER].scratch_shown = 0;
    message(++ids, 0, 8, 1);
    CHECK(left(), "scratch is shown to a peer that cannot map it");
    theirs->maps[0][0] = TUTTI_MAPS_NOT_YET;
    for (n = 0; n < 3000; n++) {
        message(++ids, 0, FIRST, 1);
        CHECK(!verdict.scratch_pays, "scratch for messages that would not be packed");
    }
    theirs->maps[0][0] = TUTTI_MAPS;
    for (n = 0; n < 3000; n++) {
        message(++ids, 0, BYTES, 1);
        CHECK(!verdict.scratch_pays, "scratch that is mapped");
    }
    /* Of a burst, middling ones would be packed. */
    begin(&without_engines, 1);
    message(++ids, 0, 8, 1);
    const uint64_t middle = 5500 + 2250 + MIDDLE / 5 - 5000 - MIDDLE / 1024;
    for (n = 1; n < NEVER && (message(++ids, 0, MIDDLE, 0), !verdict.scratch_pays); n++)
        continue;
    CHECK(n == messages_that_lose(2 * USUAL + KERNELS, middle), "scratch after %d messages of a burst", n);
    /* Beside engines it is mapped alone, and an engine packs. */
    begin(&with_engines, 1);
    message(++ids, 0, 8, 1);
    enum { MORE = 60000, PACK_BY_ENGINE = 6000, ALLOCATING = 500000 };
    const uint64_t more = 8572 + MORE / 5 - 5000 - MORE / 1024 - ENGINE - PACK_BY_ENGINE;
    for (n = 1; n < NEVER && (message(++ids, 0, MORE, 1), !verdict.scratch_pays); n++)
        continue;
    CHECK(n == messages_that_lose(USUAL + ALLOCATING, more), "scratch after %d messages beside engines", n);
}

/* ---- kernels ---- */

enum { LOOK_US = 20000 };

static void await_kernels(void)
{
    while (tutti_pack_state(0) == TUTTI_PACK_UNLOADED)
        sched_yield();
}

/* Loaded when engines have lost as much as loading takes. */
static void kernels(void)
{
    const int n = messages_that_lose(KERNELS, ENGINE);
    begin(&without_engines, 1);
    CHECK(!tutti_endpoint_lacks_kernels(&endpoint, 0) && !tutti_endpoint_copies_first(&endpoint), "without engines");
    begin(&with_engines, 1);
    CHECK(tutti_endpoint_lacks_kernels(&endpoint, 0), "with engines");
    usual = 0;
    CHECK(!tutti_endpoint_lacks_kernels(&endpoint, 0), "where mapping is quick");
    message(++ids, 0, BYTES, 1);
    CHECK(endpoint.from[PEER].lost == 0, "where mapping is quick, an account is kept");
    begin(&with_engines, 1);
    for (int i = 1; i < n; i++)
        message(++ids, 0, BYTES, 1);
    message(++ids, 0, FIRST, 1); /* short ones, and those that leave, lose nothing */
    message(++ids, 0, LONG, 1);
    usleep(LOOK_US);
    CHECK(tutti_pack_state(0) == TUTTI_PACK_UNLOADED, "the kernels are loaded before engines have lost as much");
    message(++ids, 0, BYTES, 1);
    await_kernels();
}

/* Or at once, for a short message that waits for its mapping. */
static void kernels_at_once(void)
{
    enum tutti_pays how = TUTTI_PAYS_NOT;
    begin(&with_engines, 0);
    ids++;
    for (int i = 0; i < 12 && how == TUTTI_PAYS_NOT; i++) {
        CHECK(tutti_pack_state(0) == TUTTI_PACK_UNLOADED, "the kernels are loaded for message %d", i);
        how = message(ids, 0, SHORT, 1);
        if (how == TUTTI_PAYS_NOT)
            usleep(LOOK_US);
    }
    CHECK(how == TUTTI_PAYS_AWAITS, "short messages bring no mapping on credit");
    await_kernels();
}

/* Once they are loaded, they are no part of any price. */
static void loaded(void)
{
    begin(&with_engines, 1);
    while (tutti_pack_state(0) != TUTTI_PACK_READY)
        sched_yield();
    CHECK(!tutti_endpoint_lacks_kernels(&endpoint, 0), "the kernels are not loaded");
    ASKED(++ids, 0, BYTES, messages_that_lose(USUAL, LOSES), TUTTI_PAYS, "the first allocation with kernels");
    begin(&with_engines, 1);
    message(++ids, 0, 8, 1);
    int n = 1;
    while (n < NEVER && (message(++ids, 0, BYTES, 1), !verdict.scratch_pays))
        n++;
    CHECK(n == messages_that_lose(2 * USUAL, LOSES - 5000 - BYTES / 1024), "scratch after %d messages with kernels", n);
}

/* ---- the receiver ---- */

enum { MAPS_NS = 20000000, LATE = 1000000 };

/* The receiver looks at a message that has waited so long, of which `asked` ago its memory was asked for (0: it is
 * not). Again if the machine held this thread meanwhile. */
static void look(enum tutti_pays pays, uint64_t waited, uint64_t asked, uint64_t bytes, enum tutti_pays pays_then,
                 enum tutti_must must_then)
{
    struct tutti_rndv *rndv = &theirs->rndv[0];
    uint64_t took;
    do {
        const uint64_t now = tutti_now_ns();
        rndv->pays = (uint32_t)pays;
        rndv->must = TUTTI_MUST_NOT;
        rndv->share.what.bytes = bytes;
        from[PEER].asked.id = asked > 0;
        from[PEER].asked_at = now - asked;
        tutti_endpoint_meanwhile(&endpoint, PEER, rndv, bytes, now - waited);
        took = tutti_now_ns() - now;
    } while (took > LATE);
    CHECK(rndv->pays == (uint32_t)pays_then && rndv->must == (uint32_t)must_then,
          "pays %d, waited %llu us, asked %llu us ago, %llu bytes: pays %u, must %u", (int)pays,
          (unsigned long long)waited / 1000, (unsigned long long)asked / 1000, (unsigned long long)bytes, rndv->pays,
          rndv->must);
}

/* A message that waits longer than a mapping takes has paid for it, twice as long where it awaits it. It may go by the
 * MPI meanwhile if that is sooner than the mapping, or if nothing is being mapped. */
static void meanwhile(void)
{
    enum { CARRIED = 80 << 20 }; /* takes the MPI 21 ms */
    begin(&with_engines, 1);
    usual = MAPS_NS;
    mine->mapping_ns[TUTTI_MAPPING_SMALL] = MAPS_NS;
    look(TUTTI_PAYS_NOT, 0, 0, BYTES, TUTTI_PAYS_NOT, TUTTI_MUST_HURRY);
    look(TUTTI_PAYS_NOT, MAPS_NS - 2 * LATE, 1, BYTES, TUTTI_PAYS_NOT, TUTTI_MUST_HURRY);
    look(TUTTI_PAYS_NOT, MAPS_NS, 1, BYTES, TUTTI_PAYS, TUTTI_MUST_HURRY);
    look(TUTTI_PAYS_AWAITS, 2 * MAPS_NS - 2 * LATE, 1, BYTES, TUTTI_PAYS_AWAITS, TUTTI_MUST_NOT);
    look(TUTTI_PAYS_AWAITS, 2 * MAPS_NS, 1, BYTES, TUTTI_PAYS, TUTTI_MUST_HURRY);
    look(TUTTI_PAYS_AWAITS, 0, 0, BYTES, TUTTI_PAYS_AWAITS, TUTTI_MUST_HURRY);
    look(TUTTI_PAYS, 0, 1, CARRIED, TUTTI_PAYS, TUTTI_MUST_NOT);
    look(TUTTI_PAYS, 0, MAPS_NS / 2, CARRIED, TUTTI_PAYS, TUTTI_MUST_NOT);
    look(TUTTI_PAYS, 0, 2 * MAPS_NS, CARRIED, TUTTI_PAYS, TUTTI_MUST_HURRY);
    look(TUTTI_PAYS, 0, 0, CARRIED, TUTTI_PAYS, TUTTI_MUST_HURRY);
    look(TUTTI_PAYS, 0, MAPS_NS - 2 * LATE, BYTES, TUTTI_PAYS, TUTTI_MUST_HURRY);
}

int main(int argc, char **argv)
{
    price_open();
    const char *const what = argc > 1 ? argv[1] : "scratch";
    if (strcmp(what, "scratch") == 0) {
        scratch();
        meanwhile();
    } else {
        strcmp(what, "short") == 0 ? kernels_at_once() : kernels();
        loaded();
    }
    printf("endpoint_scratch: %ld failed\n", check_failed());
    return check_failed() != 0;
}
