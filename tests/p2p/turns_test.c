/* The choice between kernels and copies through pinned memory, on a GPU where processes take turns: the times of
 * kernels are made up. */
#include <stdio.h>

#include "core/clock.h"
#include "core/lives.h"
#include "p2p/turns.h"
#include "support/check.h"

enum { US = 1000, SLOW = 300 * US, QUICK = 10 * US, MANY = 100000 };
/* Copies of 8 bytes between two kernels, at first and at most: they take 17.5 us each. */
enum { FIRST = 15, SECOND = 29, MOST = 1840 };

static struct tutti_pack_job job(uint64_t bytes)
{
    return (struct tutti_pack_job){.bytes = bytes};
}

static void kernel(int gpu, uint64_t bytes, uint64_t ns)
{
    const struct tutti_pack_job one = job(bytes);
    struct tutti_turn turn;
    tutti_turn_begin(&turn, 1, gpu, &one, 1);
    turn.since = tutti_now_ns() - ns;
    tutti_turn_end(&turn);
}

/* How many fetches go by copies before the next kernel. */
static int copies(int gpu, uint64_t bytes)
{
    const struct tutti_pack_job one = job(bytes);
    int n = 0;
    while (n < MANY && tutti_turns_pass(gpu, &one, 1))
        n++;
    return n;
}

static int are_in_turns;

/* In place of the core's. */
int tutti_endpoint_takes_turns(const struct tutti_endpoint *endpoint, int peer, int gpu)
{
    (void)endpoint;
    CHECK(peer == 7 && gpu == 3, "rank %d, GPU %d", peer, gpu);
    return are_in_turns;
}

/* A GPU on which a message's ranks take turns is known as such by all calls from then on. */
static void known_to_all(void)
{
    const struct tutti_p2p_worker worker = {.takes_always = 0};
    CHECK(!tutti_turns_with(&worker, 7, 3) && !tutti_gpu_takes_turns(3), "ranks that take no turns");
    are_in_turns = 1;
    CHECK(tutti_turns_with(&worker, 7, 3) && tutti_gpu_takes_turns(3) && tutti_gpu_is_shared(3), "ranks that do");
    are_in_turns = 0;
    CHECK(!tutti_turns_with(&worker, 7, 3) && tutti_gpu_takes_turns(3), "other ranks behind them");
}

/* A kernel that has not waited halves the copies behind the next one that waits. */
static void halved(void)
{
    enum { THIRD = 58 };
    for (int i = 0; i < 3; i++)
        kernel(2, 8, SLOW);
    kernel(2, 8, QUICK);
    CHECK(copies(2, 8) == 0, "a kernel that has not waited");
    kernel(2, 8, SLOW);
    const int n = copies(2, 8);
    CHECK(n == THIRD, "%d copies behind kernels that waited, one that did not, and one that did", n);
}

int main(void)
{
    struct tutti_pack_job many[TUTTI_BATCH];
    for (int i = 0; i < TUTTI_BATCH; i++)
        many[i] = job(64 << 10);
    CHECK(copies(0, 8) == FIRST, "the first fetches are by copies");
    kernel(0, 8, QUICK);
    CHECK(copies(0, 8) == 0, "kernels that do not wait fetch");
    kernel(0, 8, SLOW);
    CHECK(copies(0, 8) == FIRST, "copies fetch after a kernel that waited");
    kernel(0, 8, SLOW);
    CHECK(copies(0, 8) == SECOND, "twice as many, if the next one waits too");
    kernel(0, 8, SLOW);
    const struct tutti_pack_job large = job(16 << 20);
    CHECK(!tutti_turns_pass(0, &large, 1), "16 MiB take longer than the wait");
    CHECK(!tutti_turns_pass(0, many, TUTTI_BATCH), "64 messages of 64 KiB take longer than the wait");
    CHECK(tutti_turns_pass(0, many, TUTTI_BATCH / 4), "16 messages of 64 KiB do not");
    const int less = copies(0, 1 << 20);
    CHECK(less > 2 && less < SECOND, "longer copies are fewer; fetches by kernels that cost less are no tries");
    kernel(0, 8, 3 * SLOW);
    CHECK(tutti_turns_pass(0, many, TUTTI_BATCH), "a longer wait");
    kernel(0, 8, SLOW / 3);
    kernel(0, 8, SLOW / 3);
    CHECK(!tutti_turns_pass(0, many, TUTTI_BATCH), "the last waits count most");
    for (int i = 0; i < 4; i++)
        kernel(0, 8, SLOW);
    kernel(0, 8, SLOW / 3);
    CHECK(tutti_turns_pass(0, many, TUTTI_BATCH / 4), "one shorter wait behind longer ones is not all that counts");
    kernel(0, UINT64_C(1) << 30, 4000 * US);
    CHECK(copies(0, 8) == 0, "a kernel that takes as long as its bytes has not waited");
    for (int i = 0; i < 12; i++)
        kernel(0, 8, SLOW);
    const int most = copies(0, 8);
    CHECK(most > SECOND && most <= MOST, "a kernel is tried again after 32 ms of copies, some hundred of its waits: %d",
          most);
    CHECK(copies(1, 8) == FIRST && copies(-1, 8) == FIRST, "each GPU for itself");
    halved();
    known_to_all();
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
