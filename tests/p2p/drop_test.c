/* A receiver drops a message that is too long for its buffer while the sender moves the rendezvous on. The receiver
 * must win the rendezvous before it sets ATS: a sender that has moved on packs the message, or uses the rendezvous
 * again. The sender's step comes between the receiver's look at the state and its exchange, in each run: this test puts
 * it into the call that the receiver makes there. One rank sends to itself. */
#include "p2p/own.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/status.h"
#include "support/rndv_set.h"
#include "team/kit.h"

enum { BYTES = 4000, SCRATCH = 64 << 10 };

/* What the sender does when the receiver has read the state: up to two steps. */
static const enum tutti_rndv_state *steps;
static int step_count;
static struct tutti_rndv *rndv;

/* In place of the core's. */
const struct tutti_protocol_ops *tutti_protocol_at(uint32_t state)
{
    const struct tutti_protocol_ops *(*at)(uint32_t state);
    *(void **)(void *)&at = dlsym(RTLD_NEXT, "tutti_protocol_at");
    if (!at) {
        fprintf(stderr, "the core's own tutti_protocol_at was not found\n");
        abort();
    }
    for (int i = 0; i < step_count; i++)
        CHECK(tutti_rndv_move(rndv, i ? steps[i - 1] : (enum tutti_rndv_state)state, steps[i]), "the sender's step %d",
              i);
    step_count = 0;
    return at(state);
}

static struct tutti_p2p_recv message;
static struct tutti_p2p_recv *message_at(const struct tutti_p2p_fetching *fetching, int i)
{
    (void)fetching, (void)i;
    return &message;
}

/* The message is offered in `offered`; then the sender takes n steps, of which the receiver learns by its exchange. */
static void drop(struct tutti_p2p_worker *worker, enum tutti_rndv_state offered, const enum tutti_rndv_state *by, int n)
{
    struct tutti_p2p_fetching fetching = {.worker = worker, .at = message_at, .n = 1};
    const enum tutti_rndv_state last = n ? by[n - 1] : TUTTI_RNDV_ATS;
    rndv = tutti_endpoint_rndv(worker->endpoint, worker->transport->rank, 0);
    if (!CHECK(rndv != NULL, "there is no rendezvous"))
        return;
    rndv->bytes = BYTES;
    rndv_set(rndv, offered);
    message = (struct tutti_p2p_recv){.bytes = BYTES,
                                      .capacity = BYTES - 1,
                                      .rts = {.sequence = atomic_load(&rndv->sequence),
                                              .bytes = BYTES,
                                              .number = tutti_endpoint_number(worker->endpoint, rndv),
                                              .rank = worker->transport->rank}};
    steps = by;
    step_count = n;
    tutti_p2p_fetch_all(&fetching, 0);
    CHECK(step_count == 0, "the receiver has not looked at the state");
    CHECK(tutti_rndv_is(rndv, last), "offered in state %d, then %d steps: state %u instead of %d", offered, n,
          (unsigned)atomic_load(&rndv->state), last);
    CHECK(message.ended == (n == 0) && message.truncated == (n == 0), "ended %d, truncated %d after %d steps",
          message.ended, message.truncated, n);
    if (n && last == TUTTI_RNDV_MOVING) { /* the sender has not packed yet: still nothing for the receiver to do */
        tutti_p2p_fetch_all(&fetching, 0);
        CHECK(tutti_rndv_is(rndv, last) && !message.ended, "a rendezvous that its sender is moving was taken");
        rndv_set(rndv, TUTTI_RNDV_BOUNCE);
    }
    if (n)
        tutti_p2p_fetch_all(&fetching, 0);
    CHECK(tutti_rndv_is(rndv, TUTTI_RNDV_ATS) && message.ended && message.truncated, "the message is not dropped");
    tutti_endpoint_send_release(worker->endpoint, rndv);
}

static int rank_main(struct tutti_transport *transport, void *with)
{
    static const enum tutti_rndv_state packs[] = {TUTTI_RNDV_MOVING, TUTTI_RNDV_BOUNCE};
    struct kit kit;
    char why[160];
    void *memory = NULL;
    (void)with;
    if (!kit_open(transport, &kit))
        return 1;
    CHECK(tutti_device()->open(why, sizeof why) == TUTTI_OK, "the device opens");
    CHECK(tutti_device()->memory.alloc(-1, 64, &memory) == TUTTI_OK, "device memory");
    struct tutti_p2p_worker worker = {
        .endpoint = tutti_endpoint_new(kit.node, tutti_device(), SCRATCH), .node = kit.node, .transport = transport};
    if (CHECK(worker.endpoint != NULL, "no memory") && CHECK(tutti_endpoint_use(worker.endpoint, 0) == 0, "GPU 0")) {
        drop(&worker, TUTTI_RNDV_GET, NULL, 0);
        drop(&worker, TUTTI_RNDV_BOUNCE, NULL, 0);
        drop(&worker, TUTTI_RNDV_GET, packs, 1);
        drop(&worker, TUTTI_RNDV_GET, packs, 2);
        tutti_endpoint_free(worker.endpoint, 1);
    }
    tutti_device()->memory.free(memory);
    kit_close(&kit);
    return check_failed() != 0;
}

int main(void)
{
    const int failed = tutti_threads_run(1, rank_main, NULL);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return failed != 0 || check_failed() != 0;
}
