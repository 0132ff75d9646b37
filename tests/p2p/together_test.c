/* Short messages of a burst that are packed: one launch for all that wait when the sends are polled, or as soon as
 * they are as many as before the poll before. Messages that must leave at once, long ones and single ones are packed as
 * they are posted. With packing, and room in the scratch, of its own in front of the core's. */
#include <stdio.h>

#include "core/status.h"
#include "p2p/own.h"
#include "support/check.h"

enum { MOST = 200, BYTES = 100, LONG = (64 << 10) + 1, SCRATCH = 64 };

static struct tutti_p2p_worker worker;
static struct tutti_rndv rndv[MOST];
static struct tutti_p2p_send sends[MOST];
static char scratch[SCRATCH];
static unsigned sent, packs, packed; /* of a case: messages; launches; the messages in them */
static int answer = TUTTI_OK;

unsigned tutti_endpoint_room(const struct tutti_endpoint *endpoint, const struct tutti_rndv *of, uint64_t bytes,
                             uint64_t before)
{
    (void)endpoint;
    CHECK(of >= rndv && of < rndv + MOST && bytes > 0, "room for another message");
    return before == 0;
}

int tutti_engines_pack(struct tutti_p2p_worker *of, struct tutti_p2p_send *const which[],
                       const struct tutti_pack_job *jobs, unsigned n)
{
    CHECK(of == &worker && n > 0 && n <= TUTTI_BATCH, "a launch of %u messages", n);
    for (unsigned i = 0; i < n; i++)
        CHECK(which[i]->packed == 0 && jobs[i].bytes == which[i]->bytes && jobs[i].packed == scratch,
              "message %u is packed twice, or elsewhere", i);
    packs++;
    packed += n;
    return answer;
}

static void begin(void)
{
    worker = (struct tutti_p2p_worker){0};
    sent = packs = packed = 0;
    answer = TUTTI_OK;
}

static void message(uint64_t bytes, int burst, int now)
{
    struct tutti_p2p_send *const send = &sends[sent % MOST];
    struct tutti_rndv *const to = &rndv[sent++ % MOST];
    atomic_store(&to->state, TUTTI_RNDV_FREE);
    atomic_store(&to->packed, 0);
    to->piece = bytes;
    to->slots = 1;
    *send = (struct tutti_p2p_send){.bytes = bytes, .burst = burst, .now = now, .rndv = to, .scratch = scratch};
    CHECK(tutti_packed_ops.post(&worker, send, NULL), "it cannot be posted");
    tutti_p2p_list(&worker, send);
}

/* A round of so many messages of a burst: launches before the poll, and in it, `in` messages. */
static void round_of(unsigned n, unsigned before, unsigned polled)
{
    const unsigned had = packs, had_packed = packed;
    for (unsigned i = 0; i < n; i++)
        message(BYTES, 1, 0);
    CHECK(packs == had + before, "%u messages: %u launches before the poll, not %u", n, packs - had, before);
    tutti_p2p_poll(&worker);
    CHECK(packs == had + before + polled && packed == had_packed + n, "%u messages: %u launches, %u packed", n,
          packs - had, packed - had_packed);
    for (unsigned i = 0; i < n; i++)
        CHECK(tutti_rndv_is(&rndv[(sent - 1 - i) % MOST], TUTTI_RNDV_BOUNCE), "message %u is not in the scratch", i);
    worker.sends = NULL; /* they have left */
    tutti_p2p_poll(&worker);
    CHECK(packs == had + before + polled, "a poll of nothing packs");
}

static void rounds(void)
{
    begin();
    round_of(5, 0, 1);
    round_of(5, 1, 0); /* the fifth is probably the last one */
    round_of(7, 1, 1);
    round_of(3, 0, 1);
    round_of(3, 1, 0);
    round_of(1, 0, 1);
    round_of(1, 1, 0);
    round_of(TUTTI_BATCH + 6, 1, 2);
    round_of(TUTTI_BATCH + 6, 2, 0);
}

static void at_once(void)
{
    begin();
    message(BYTES, 0, 0);
    message(BYTES, 1, 1);
    message(LONG, 1, 0);
    CHECK(packs == 3 && packed == 3, "single ones, ones that must leave, long ones: %u launches of %u", packs, packed);
    message(LONG - 1, 1, 0);
    CHECK(packs == 3 && !tutti_rndv_is(&rndv[3], TUTTI_RNDV_BOUNCE), "one of a burst is packed at once");
    tutti_p2p_poll(&worker);
    CHECK(packs == 4, "one of a burst is not packed by the poll");
}

/* What cannot be packed is offered in its buffer. */
static void fails(void)
{
    begin();
    round_of(2, 0, 1);
    answer = TUTTI_ERR_MEMORY;
    message(BYTES, 1, 0);
    message(BYTES, 1, 0);
    CHECK(packs == 2 && tutti_rndv_is(&rndv[2], TUTTI_RNDV_GET) && tutti_rndv_is(&rndv[3], TUTTI_RNDV_GET),
          "messages that cannot be packed are not offered");
    CHECK(sends[2].packed == 0 && worker.waiting == 0, "they count as packed");
}

int main(void)
{
    rounds();
    at_once();
    fails();
    printf("together: %ld failed\n", check_failed());
    return check_failed() != 0;
}
