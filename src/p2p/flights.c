#include "p2p/flights.h"

#include <stdlib.h>

#include "core/spares.h"
#include "team/deferred_free.h"

/* A second one hides the launch of the next kernel, or the start of the next copies, where the first runs for long. */
enum { FLIGHTS = 2, LARGE = 256 << 10 };

struct tutti_p2p_flight {
    struct tutti_p2p_flight *next;
    struct tutti_pack_flight kernel;
    struct tutti_copy_flight copies; /* engines: in place of the kernel */
    int engines;
    struct tutti_turn turn;
    struct tutti_p2p_fetch of[TUTTI_BATCH];
    unsigned n;
};

/* Of the thread: those under way, and those for reuse, which end with it. */
static _Thread_local struct tutti_p2p_flight *flights;
static _Thread_local unsigned flight_count;
static struct tutti_spares spares;

static struct tutti_p2p_flight *flight_take(void)
{
    struct tutti_p2p_flight *flight = tutti_spares_take(&spares, offsetof(struct tutti_p2p_flight, next), 0);
    return flight ? flight : malloc(sizeof *flight);
}

static void flight_give(struct tutti_p2p_flight *flight)
{
    tutti_spares_give(&spares, flight, offsetof(struct tutti_p2p_flight, next), 0);
}

int tutti_flights_may(uint64_t bytes, int last)
{
    return flight_count == 0 || (flight_count < FLIGHTS && (last || bytes >= LARGE));
}

/* A status. */
static int flight_start(struct tutti_p2p_flight *flight, const struct tutti_p2p_fetch *first,
                        const struct tutti_pack_job *jobs, unsigned n, unsigned how)
{
    flight->engines = first->engines || first->recv->engines;
    if (!flight->engines)
        return tutti_pack_begin(first->gpu, jobs, n, how, &flight->kernel);
    return tutti_pack_copies_begin(first->gpu, jobs, n, tutti_deferred_free_may_load(first->worker->node),
                                   &flight->copies);
}

int tutti_flight_begin(struct tutti_p2p_fetch *const fetches[], const struct tutti_pack_job *jobs, unsigned n,
                       unsigned how, const struct tutti_turn *turn)
{
    struct tutti_p2p_flight *flight = flight_take();
    if (!flight)
        return TUTTI_ERR_MEMORY;
    const int status = flight_start(flight, fetches[0], jobs, n, how);
    if (status != TUTTI_OK) {
        flight_give(flight);
        return status;
    }
    for (unsigned i = 0; i < n; i++) {
        flight->of[i] = *fetches[i];
        flight->of[i].used = NULL; /* was asked for this call */
        fetches[i]->recv->flight = flight;
    }
    flight->n = n;
    flight->turn = *turn;
    flight->next = flights;
    flights = flight;
    flight_count++;
    return TUTTI_OK;
}

static void flight_end(struct tutti_p2p_flight *flight, int status)
{
    struct tutti_p2p_flight **at = &flights;
    while (*at != flight)
        at = &(*at)->next;
    *at = flight->next;
    flight_count--;
    tutti_turn_end(&flight->turn);
    for (unsigned i = 0; i < flight->n; i++) {
        flight->of[i].recv->flight = NULL;
        tutti_fetch_end(&flight->of[i], status);
    }
    flight_give(flight);
}

void tutti_flight_poll(struct tutti_p2p_flight *flight)
{
    const int ended = flight->engines ? tutti_pack_copies_poll(&flight->copies) : tutti_pack_poll(&flight->kernel);
    if (ended != 0)
        flight_end(flight, ended > 0 ? TUTTI_OK : ended);
}

void tutti_p2p_land(void)
{
    while (flights) {
        struct tutti_p2p_flight *const flight = flights;
        flight_end(flight, flight->engines ? tutti_pack_copies_end(&flight->copies) : tutti_pack_end(&flight->kernel));
    }
}
