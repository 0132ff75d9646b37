/* Lists of operations on a ring: which numbers may be registered, and that a request reaches the operation and the user
 * of its number. The ring is polled by the test itself. */
#include <stdio.h>
#include <stdlib.h>

#include "core/status.h"
#include "ring/kernel.h"
#include "ring/server.h"
#include "support/check.h"

enum { SLOTS = TUTTI_RING_SLOTS_LEAST };

static struct tutti_ring_server server;
static struct tutti_ring_kernel_view view;
static struct tutti_ring_counters counters;
static uint32_t aborted;
static int called[3]; /* by user: 1 + the number of the operation called last */

static int begin(void *user, struct tutti_ring_request *r)
{
    *(int *)user = 1 + r->operation;
    return TUTTI_RING_DONE;
}

static const struct tutti_ring_operation list[] = {{"first", begin}, {"second", begin}, {"third", begin}};

static struct tutti_ring_request *kept;

static int keep(void *user, struct tutti_ring_request *r)
{
    *(int *)user = 1 + r->operation;
    kept = r;
    return TUTTI_RING_OPEN;
}

static const struct tutti_ring_operation keeping[] = {{"one that stays open", keep}};

static int add(unsigned first, unsigned count, int user)
{
    const struct tutti_ring_user made = {
        .first = first, .count = count, .operations = first == 100 ? keeping : list, .user = &called[user]};
    return tutti_ring_server_register(&server, &made);
}

static int ask(unsigned operation)
{
    const struct kernel_request r = {.operation = operation};
    kernel_send(&view, &aborted, &r);
    return tutti_ring_server_poll(&server);
}

int main(void)
{
    void *const memory = aligned_alloc(TUTTI_RING_ALIGN, tutti_ring_bytes(SLOTS));
    server.owner = (struct tutti_ring_owner){.name = "this test", .abort = &aborted};
    tutti_ring_init(&server.ring, memory, SLOTS, 0);
    view = tutti_ring_kernel_view(&server.ring, memory, &counters);

    CHECK(add(TUTTI_RING_NOP, 1, 0) == TUTTI_ERR_ARGUMENT, "number 0 is the ring's");
    CHECK(add(5, 3, 0) == TUTTI_OK, "5 to 7");
    CHECK(add(7, 1, 1) == TUTTI_ERR_ARGUMENT && add(3, 3, 1) == TUTTI_ERR_ARGUMENT, "7 and 5 are taken");
    CHECK(add(254, 3, 1) == TUTTI_ERR_ARGUMENT && add(300, 1, 1) == TUTTI_ERR_ARGUMENT, "255 is the last one");
    CHECK(add(253, 3, 1) == TUTTI_OK && add(3, 2, 2) == TUTTI_OK, "253 to 255, 3 and 4");
    CHECK(add(100, 1, 0) == TUTTI_OK && add(101, 1, 0) == TUTTI_ERR_ARGUMENT, "four users");

    for (int turn = 0; turn < 3; turn++) {
        called[0] = called[1] = called[2] = 0;
        CHECK(ask(6) == 1 && called[0] == 7 && !called[1] && !called[2], "6");
        CHECK(ask(255) == 1 && called[1] == 256 && called[0] == 7 && !called[2], "255");
        CHECK(ask(3) == 1 && called[2] == 4, "3");
        CHECK(ask(100) == 1 && called[0] == 101, "100");
        CHECK(!tutti_ring_is_complete(&server.ring, 5 * (uint64_t)turn + 4), "a request that is open is not complete");
        CHECK(ask(TUTTI_RING_NOP) == 1 && called[0] == 101 && called[1] == 256 && called[2] == 4, "nothing");
        CHECK(!tutti_ring_is_complete(&server.ring, 5 * (uint64_t)turn + 4), "nor is one behind it");
        tutti_ring_done(&server.ring, kept);
        CHECK(tutti_ring_server_poll(&server) == 0 && tutti_ring_is_complete(&server.ring, 5 * (uint64_t)turn + 5),
              "both are complete");
    }
    CHECK(tutti_ring_is_complete(&server.ring, 15) && !tutti_ring_is_complete(&server.ring, 16), "15 requests");
    CHECK(aborted == 0 && ask(8) == TUTTI_ERR_ARGUMENT && aborted == 1, "8 is not registered");
    CHECK(!tutti_ring_is_complete(&server.ring, 16), "the ring stays at the request that failed");
    free(memory);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
