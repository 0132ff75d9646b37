/* Fetches whose kernel, or whose copies by engines, run while the thread does other work: each message ends once, with
 * the status of its flight, when that has ended and not before. With launches and copies of its own in front of the
 * core's. flights_test [seed] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "p2p/flights.h"
#include "support/check.h"
#include "support/random.h"
#include "team/deferred_free.h"

enum { ROUNDS = 3000, MOST = 5, FLIGHTS = 2, LARGE = 1 << 20 };

static uint64_t state;
static int starts, ends, looks_left; /* statuses of the next start and the next end; looks before it has ended */
static int by_engines, under_way, turns;
static int ended_with[FLIGHTS * MOST], ended[FLIGHTS * MOST]; /* of messages, by recv->taken */

static unsigned drawn(unsigned n)
{
    return (unsigned)(random_next(&state) % n);
}

/* ---- in place of the core's ---- */

static int flight_starts(int engines)
{
    CHECK(engines == by_engines, "%s, not %s", engines ? "engines" : "a kernel", by_engines ? "engines" : "a kernel");
    under_way += starts == TUTTI_OK;
    return starts;
}

static int flight_looks(int engines)
{
    CHECK(under_way == 1 && engines == by_engines, "a look at a flight of the other kind, or that has ended");
    if (looks_left-- > 0)
        return 0;
    under_way = 0;
    return ends == TUTTI_OK ? 1 : ends;
}

static int flight_waits(int engines)
{
    CHECK(under_way == 1 && engines == by_engines, "a wait for a flight of the other kind, or that has ended");
    under_way = 0;
    return ends;
}

int tutti_pack_begin(int gpu, const struct tutti_pack_job *jobs, unsigned n, unsigned how,
                     struct tutti_pack_flight *out)
{
    (void)gpu, (void)jobs, (void)n, (void)how, (void)out;
    return flight_starts(0);
}

int tutti_pack_poll(struct tutti_pack_flight *flight)
{
    (void)flight;
    return flight_looks(0);
}

int tutti_pack_end(struct tutti_pack_flight *flight)
{
    (void)flight;
    return flight_waits(0);
}

int tutti_pack_copies_begin(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make,
                            struct tutti_copy_flight *out)
{
    (void)gpu, (void)jobs, (void)n, (void)may_make, (void)out;
    return flight_starts(1);
}

int tutti_pack_copies_poll(struct tutti_copy_flight *flight)
{
    (void)flight;
    return flight_looks(1);
}

int tutti_pack_copies_end(struct tutti_copy_flight *flight)
{
    (void)flight;
    return flight_waits(1);
}

int tutti_deferred_free_may_load(const struct tutti_node *node)
{
    (void)node;
    return 1;
}

void tutti_turn_end(const struct tutti_turn *turn)
{
    (void)turn;
    turns++;
}

void tutti_fetch_end(struct tutti_p2p_fetch *fetch, int status)
{
    CHECK(!under_way, "a message ends while its flight is under way");
    CHECK(!fetch->recv->flight, "a message has ended and has a flight");
    ended[fetch->recv->taken]++;
    ended_with[fetch->recv->taken] = status;
}

/* ---- what is tested ---- */

static void once(void)
{
    static const int statuses[] = {TUTTI_OK, TUTTI_OK, TUTTI_ERR_DEVICE, TUTTI_ERR_TIMEOUT};
    struct tutti_p2p_worker worker = {.endpoint = NULL};
    struct tutti_p2p_recv recvs[MOST];
    struct tutti_p2p_fetch fetches[MOST], *list[MOST];
    struct tutti_pack_job jobs[MOST];
    const struct tutti_turn turn = {.row = 0};
    const unsigned n = 1 + drawn(MOST);
    memset(recvs, 0, sizeof recvs);
    memset(fetches, 0, sizeof fetches);
    memset(jobs, 0, sizeof jobs);
    memset(ended, 0, sizeof ended);
    by_engines = (int)drawn(2);
    starts = statuses[drawn(3)];
    ends = statuses[drawn(4)];
    looks_left = (int)drawn(4);
    turns = 0;
    for (unsigned i = 0; i < n; i++) {
        recvs[i].taken = i;
        recvs[i].engines = by_engines;
        fetches[i] = (struct tutti_p2p_fetch){.worker = &worker, .recv = &recvs[i]};
        list[i] = &fetches[i];
    }
    CHECK(tutti_flights_may(LARGE, 0), "no flight may begin though none is under way");
    const int status = tutti_flight_begin(list, jobs, n, 0, &turn);
    CHECK(status == starts, "the start: status %d, not %d", status, starts);
    const int lands = drawn(2);
    while (recvs[0].flight && !lands)
        tutti_flight_poll(recvs[0].flight);
    tutti_p2p_land();
    CHECK(!under_way, "a flight is under way behind its landing");
    CHECK(turns == (starts == TUTTI_OK), "%d turns have ended", turns);
    for (unsigned i = 0; i < n; i++) {
        CHECK(ended[i] == (starts == TUTTI_OK), "a message has ended %d times", ended[i]);
        CHECK(!ended[i] || ended_with[i] == ends, "%s, by %s: a message ends with status %d, not %d",
              lands ? "landed" : "polled", by_engines ? "engines" : "a kernel", ended_with[i], ends);
    }
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : tutti_now_ns();
    printf("seed %llu\n", (unsigned long long)state);
    for (int i = 0; i < ROUNDS; i++)
        once();
    printf("%ld checks\n", check_done());
    return check_failed() != 0;
}
