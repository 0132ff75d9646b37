/* The account of calls that peers leave to the MPI for their memory of the host (coll/call/declined.h), by itself: some
 * ranks with an account each, whose calls are made one after the other. Which calls a rank leaves at once, and how soon
 * all ask again when all have device memory, also where their accounts differ. */
#include <stdio.h>
#include <string.h>

#include "coll/call/declined.h"
#include "coll/state.h"
#include "support/check.h"

enum {
    RANKS = 3,
    AFTER = 4,        /* calls that peers left before */
    AGAIN = 16,       /* of so many calls, one asks */
    LIMIT = 128 << 10 /* bytes of the longest call that is left */
};

static const enum tutti_collective of = TUTTI_COLLECTIVE_ALLREDUCE, other = TUTTI_COLLECTIVE_BCAST;

static struct tutti_team team[RANKS];

static void begin(void)
{
    for (int r = 0; r < RANKS; r++) {
        memset(&team[r], 0, sizeof team[r]);
        for (int c = 0; c < TUTTI_COLLECTIVES; c++)
            atomic_store(&tutti_coll_of(&team[r])->declined[c], 0);
    }
}

/* One call; bit r of hosts: rank r has memory of the host. Returns the ranks that ask. */
static int call_of(int hosts, size_t bytes)
{
    int asks = 0, left = 0, before = 0, host = 0;
    for (int r = 0; r < RANKS; r++) {
        const int is_host = hosts >> r & 1, next = tutti_declined_is_next(&team[r], of, bytes);
        const int leaves = !is_host && tutti_declined_begins(&team[r], of, bytes);
        CHECK(is_host || next == leaves, "rank %d: announced %d, left %d", r, next, leaves);
        host += is_host;
        before += leaves;
        left += is_host || leaves;
        asks |= !is_host && !leaves ? 1 << r : 0;
    }
    for (int r = 0; r < RANKS; r++) {
        if (asks >> r & 1)
            tutti_declined_note(&team[r], of, bytes, left, host, before);
    }
    return asks;
}

/* Behind AFTER calls in a row with memory of the host one of 16 asks; calls that are longer than the limit all do, and
 * calls of other collectives. */
static void some_are_left(void)
{
    begin();
    for (int i = 0; i < AFTER - 1; i++)
        CHECK(call_of(2, 8) == 5, "call %d is left", i);
    CHECK(call_of(0, 8) == 7, "a call is left behind three");
    for (int i = 0; i < AFTER; i++)
        CHECK(call_of(2, 8) == 5, "call %d is left behind one with device memory everywhere", i);
    for (int i = 1; i < 3 * AGAIN; i++) {
        const int asks = call_of(2, i % 2 ? LIMIT : 8);
        CHECK(asks == (i % AGAIN ? 0 : 5), "call %d: ranks %d ask", i, asks);
        CHECK(call_of(2, LIMIT + 1) == 5, "a longer call than the limit is left");
    }
    CHECK(!tutti_declined_is_next(&team[0], other, 8) && !tutti_declined_begins(&team[0], other, 8),
          "a call of another collective is left");
}

/* All have device memory from now on: how many calls pass until all ranks ask. */
static int until_all_ask(size_t bytes)
{
    int asked = 0;
    for (int calls = 0; calls < 4 * AGAIN; calls++) {
        const int asks = call_of(0, bytes);
        CHECK((asked & ~asks) == 0, "of ranks %d that ask some leave the next call, in which %d ask", asked, asks);
        asked = asks;
        if (asks == 7) {
            CHECK(call_of(0, 8) == 7, "a call is left behind one that all have asked for");
            return calls;
        }
    }
    CHECK(0, "some ranks leave all calls");
    return 0;
}

/* A rank that has asked asks in each call from then on, until all do: no more than 15 calls are left, wherever the
 * accounts are. A longer call is asked for by all at once. */
static void all_ask_again(void)
{
    int most = 0;
    for (int ahead = 0; ahead < AGAIN; ahead++) {
        for (int further = 0; further < AGAIN; further++) {
            begin();
            for (int i = 0; i < AFTER; i++)
                call_of(2, 8), call_of(1, 8), call_of(4, 8);
            for (int i = 0; i < ahead; i++)
                call_of(6, 8); /* rank 0 alone */
            for (int i = 0; i < further; i++)
                call_of(5, 8); /* rank 1 */
            const int calls = until_all_ask(8);
            most = calls > most ? calls : most;
        }
    }
    CHECK(most == AGAIN - 1, "%d calls are left at most, not %d", most, AGAIN - 1);
    begin();
    for (int i = 0; i < 2 * AFTER; i++)
        call_of(2, 8), call_of(1, 8);
    CHECK(until_all_ask(LIMIT + 1) == 0, "a long call is left");
}

/* A rank asks alone, since its peers leave the call for earlier ones: behind one more call with memory of the host it
 * leaves calls again. */
static void one_is_enough(void)
{
    begin();
    for (int i = 0; i < AFTER + AGAIN - 1; i++)
        call_of(6, 8); /* rank 0 alone: the next call is one that it asks for */
    for (int i = 0; i < AFTER; i++)
        call_of(1, 8);
    CHECK(call_of(0, 8) == 1 && call_of(2, 8) == 1, "rank 0 does not ask alone");
    CHECK(call_of(2, 8) == 0, "it asks behind another call with memory of the host");
}

/* The longest call that peers left, to the next power of two: known until one that none leaves. */
static void lengths(void)
{
    struct tutti_team *const one = &team[0];
    begin();
    tutti_coll_of(one)->declined_long[of] = 0;
    CHECK(!tutti_declined_has_been(one, of, 1), "a call has been left before the first one");
    call_of(6, 1000);
    CHECK(tutti_declined_has_been(one, of, 1) && tutti_declined_has_been(one, of, 1024) &&
              !tutti_declined_has_been(one, of, 1025) && !tutti_declined_has_been(one, other, 1),
          "lengths behind a call of 1000 bytes");
    call_of(6, 65536);
    call_of(6, 8);
    CHECK(tutti_declined_has_been(one, of, 65536) && !tutti_declined_has_been(one, of, 65537),
          "lengths behind calls of 65536 and 8 bytes");
    tutti_declined_note(one, of, 8, 1, 0, 1);
    CHECK(tutti_declined_has_been(one, of, 65536), "forgotten where a peer has left a call for those before alone");
    call_of(0, 8);
    CHECK(!tutti_declined_has_been(one, of, 1), "known though no rank has left the last call");
}

int main(void)
{
    some_are_left();
    all_ask_again();
    one_is_enough();
    lengths();
    printf("declined: %ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
