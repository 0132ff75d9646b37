/* A ring with two users that know nothing of each other: `adder` completes every request at once, `mailbox` later, in
 * any order, and sometimes has no room. Threads stand for kernels; the ring lies in memory that the host device has
 * registered. Every request is compared with what was sent, and every result. Then what ends a ring. */
#include "ring/server.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/status.h"
#include "device/device.h"
#include "ring/kernel.h"
#include "support/check.h"
#include "support/random.h"

enum { KERNELS = 4, EACH = 4000, HELD = 12, SLOTS = 32 };
enum { ADD = 1, ADD_NOTHING, MAIL = 40, MAIL_FAILS, UNKNOWN = 77 };

static struct tutti_ring_server server;
static struct tutti_ring_kernel_view view;
static uint32_t aborted;
static int end_status, ends, dead_process;

/* ---- adder ---- */

static uint64_t sum[KERNELS];

static int begin_add(void *user, struct tutti_ring_request *r)
{
    uint64_t *const sums = user;
    CHECK(r->pe < KERNELS && r->size == 9 && r->bytes == 3, "a request of the adder");
    sums[r->pe] += r->value[0];
    r->value[0] = sums[r->pe];
    return TUTTI_RING_DONE;
}

static const struct tutti_ring_operation adding[] = {{"a sum", begin_add}, {"a sum of nothing", begin_add}};

/* ---- mailbox ---- */

static struct mailbox {
    struct tutti_ring_request *held[HELD];
    int count, refused, fails;
    uint64_t random, seen[KERNELS];
} mailbox;

static int begin_mail(void *user, struct tutti_ring_request *r)
{
    struct mailbox *const box = user;
    if (box->count == HELD || random_next(&box->random) % 16 == 0) {
        box->refused++;
        return TUTTI_RING_BUSY;
    }
    box->held[box->count++] = r;
    return TUTTI_RING_OPEN;
}

static int begin_failing(void *user, struct tutti_ring_request *r)
{
    (void)user, (void)r;
    return TUTTI_ERR_DEVICE;
}

static int advance_mail(void *user)
{
    struct mailbox *const box = user;
    int ended = 0;
    if (box->fails && box->count > 0)
        return TUTTI_ERR_PEER;
    while (box->count > 0 && random_next(&box->random) % 4 != 0) {
        const int i = (int)(random_next(&box->random) % (uint64_t)box->count);
        struct tutti_ring_request *const r = box->held[i];
        box->held[i] = box->held[--box->count];
        CHECK(r->pe < KERNELS && r->value[1] == ~r->value[0] && r->extra == r->dest + r->source, "a letter");
        box->seen[r->pe]++;
        r->value[0] = random_mix(r->value[0]);
        tutti_ring_done(&server.ring, r);
        ended++;
    }
    return ended;
}

static const struct tutti_ring_operation mailing[] = {{"a letter", begin_mail}, {"a letter that fails", begin_failing}};

/* ---- the server ---- */

static void ended(void *owner, int status)
{
    CHECK(owner == &aborted, "the owner");
    end_status = status;
    ends++;
}

static int find_dead(void *owner)
{
    (void)owner;
    return dead_process;
}

static void open_server(int gpu)
{
    const struct tutti_device *const device = tutti_device();
    struct tutti_stream *stream = NULL;
    aborted = 0;
    end_status = ends = dead_process = 0;
    memset(sum, 0, sizeof sum);
    mailbox = (struct mailbox){.random = random_mix(check_seed())};
    server.owner = (struct tutti_ring_owner){
        .name = "this test", .abort = &aborted, .dead = find_dead, .ended = ended, .owner = &aborted};
    CHECK(!gpu || device->stream.create(0, &stream) == TUTTI_OK, "a stream");
    CHECK(tutti_ring_server_open(&server, gpu ? device : NULL, 0, stream, SLOTS) == TUTTI_OK, "a ring");
    CHECK(!gpu || device->stream.destroy(stream) == TUTTI_OK, "a stream");
    const struct tutti_ring_user adder = {.first = ADD, .count = 2, .operations = adding, .user = sum};
    const struct tutti_ring_user box = {
        .first = MAIL, .count = 2, .operations = mailing, .poll = advance_mail, .user = &mailbox};
    CHECK(tutti_ring_server_register(&server, &adder) == TUTTI_OK, "the adder");
    CHECK(tutti_ring_server_register(&server, &box) == TUTTI_OK, "the mailbox");
    view = tutti_ring_server_view(&server);
    CHECK((char *)view.slot - (char *)server.ring.slot == tutti_ring_server_shift(&server), "the kernels' view");
}

static void start_server(void)
{
    CHECK(tutti_ring_server_start(&server, 1) == TUTTI_OK, "the poller");
}

static void close_server(void)
{
    tutti_ring_server_stop(&server);
    tutti_ring_server_close(&server);
}

/* ---- kernels ---- */

static void *run_kernel(void *argument)
{
    const unsigned me = (unsigned)(uintptr_t)argument;
    uint64_t random = random_mix(check_seed() + me), expected = 0, result = 0;
    for (uint64_t n = 0; n < EACH; n++) {
        const uint64_t value = random_next(&random);
        const int adds = value % 2 == 0, waits = random_next(&random) % 4 == 0;
        struct kernel_request r = {.dest = n, .source = 2 * n, .bytes = 3, .extra = 3 * n, .pe = me, .size = 9};
        r.operation = adds ? ADD + (value >> 1) % 2 : MAIL;
        r.value = value;
        r.compare = ~value;
        expected += adds ? value : 0;
        if (!waits)
            CHECK(kernel_send(&view, &aborted, &r), "the wait was left");
        else if (CHECK(kernel_call(&view, &aborted, &r, &result), "the wait was left"))
            CHECK(result == (adds ? expected : random_mix(value)), "kernel %u, request %llu", me,
                  (unsigned long long)n);
    }
    return NULL;
}

static void run_kernels(int gpu)
{
    pthread_t thread[KERNELS];
    uint64_t letters = 0;
    open_server(gpu);
    start_server();
    for (unsigned i = 0; i < KERNELS; i++)
        pthread_create(&thread[i], NULL, run_kernel, (void *)(uintptr_t)i);
    for (int i = 0; i < KERNELS; i++)
        pthread_join(thread[i], NULL);
    while (!tutti_ring_is_complete(&server.ring, KERNELS * EACH) && !aborted)
        sched_yield();
    CHECK(!tutti_ring_is_complete(&server.ring, KERNELS * EACH + 1), "complete is more than was sent");
    close_server();
    for (int i = 0; i < KERNELS; i++)
        letters += mailbox.seen[i];
    CHECK(letters > 0 && letters < KERNELS * EACH && mailbox.refused > 0 && mailbox.count == 0, "%llu letters, %d open",
          (unsigned long long)letters, mailbox.count);
    CHECK(aborted == 0 && ends == 0, "the ring has ended");
}

/* ---- what ends a ring ---- */

/* The kernel waits for its request, which never completes: it leaves the wait since the ring ends. */
static void end_by(unsigned operation, int status, const char *what)
{
    const struct kernel_request r = {.operation = operation, .pe = 1, .bytes = 3, .size = 9};
    uint64_t result;
    start_server();
    CHECK(!kernel_call(&view, &aborted, &r, &result), "%s: a request has completed", what);
    tutti_ring_server_stop(&server);
    CHECK(aborted == 1 && ends == 1 && end_status == status, "%s: aborted %u, %d ends with %s", what, aborted, ends,
          tutti_status_text(end_status));
    CHECK(tutti_ring_server_poll(&server) == TUTTI_ERR_BROKEN && ends == 1, "%s: a round after the end", what);
    close_server();
}

static void end_rings(void)
{
    open_server(0);
    end_by(UNKNOWN, TUTTI_ERR_ARGUMENT, "an operation that is not registered");
    open_server(0);
    end_by(MAIL_FAILS, TUTTI_ERR_DEVICE, "an operation that fails");
    open_server(0);
    mailbox.fails = 1;
    end_by(MAIL, TUTTI_ERR_PEER, "a user that fails");
    open_server(0);
    mailbox.count = HELD; /* no room, so that the kernel waits */
    server.user[1].poll = NULL;
    dead_process = 4711;
    end_by(MAIL, TUTTI_ERR_PEER, "a process that has died");
}

int main(void)
{
    char why[160];
    const struct tutti_device *const device = tutti_device();
    CHECK(device && device->open(why, sizeof why) == TUTTI_OK, "the host device");
    for (long i = 0; i < 2 * check_many("TUTTI_TEST_ROUNDS", 4); i++)
        run_kernels(i % 2);
    end_rings();
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
