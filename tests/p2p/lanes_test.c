/* What the host puts into a stream for messages in stream order: launches are noted here and do not run, and this test
 * says whether the stream is captured, so captures are tried without a driver of GPUs. Two ranks, both used by the
 * first one. */
#include "p2p/lanes/lanes_own.h"

#include <pthread.h>
#include <stdio.h>

#include "core/status.h"
#include "team/kit.h"

enum { KIB = 1 << 10, FIRST = 10, NOTED = 64, BLOCKS = 64 };

static struct tutti_lanes *of[2];
static struct tutti_stream *stream;
static struct tutti_device device; /* the host device, but for what follows */
static int captured, beside_captured, questions;
static struct tutti_lane_args noted[NOTED]; /* launches in the stream */
static int launches, forks;                 /* forks: beside the stream, of graphs */

static int note(struct tutti_stream *in, const struct tutti_lane_args *args)
{
    forks += args->what == TUTTI_LANE_BESIDE_GRAPH;
    if (args->what != TUTTI_LANE_BESIDE && args->what != TUTTI_LANE_BESIDE_GRAPH)
        noted[launches++ % NOTED] = *args;
    CHECK((in == stream) == (args->what != TUTTI_LANE_BESIDE && args->what != TUTTI_LANE_BESIDE_GRAPH),
          "a launch of kind %u in another stream", args->what);
    return TUTTI_OK;
}

static int answer(struct tutti_stream *in)
{
    if (in == of[0]->beside.stream)
        return beside_captured;
    CHECK(in == stream, "another stream is asked about");
    questions++;
    return captured;
}

static int event_nothing(struct tutti_event *event, struct tutti_stream *in)
{
    (void)event, (void)in;
    return TUTTI_OK;
}

static int wait_nothing(struct tutti_stream *in, struct tutti_event *event)
{
    return event_nothing(event, in);
}

static struct tutti_lane_message message_of(int send, int peer, int tag, size_t bytes)
{
    return (struct tutti_lane_message){
        .send = send, .peer = peer, .tag = tag, .buffer = noted, .bytes = bytes, .captured = TUTTI_LANES_ASK};
}

/* A message of a call that the stream waits for; returns its status. */
static int put(int rank, int send, int peer, int tag)
{
    const struct tutti_lane_message message = message_of(send, peer, tag, 100);
    const char *why = "";
    return tutti_lanes_do(of[rank], stream, &message, &why);
}

/* The last launch, until the next one. */
static const struct tutti_lane_args *last(void)
{
    return &noted[(launches - 1) % NOTED];
}

static unsigned last_lane(void)
{
    return last()->lane;
}

/* ---- how many blocks move a message ---- */

static int start(int send, int peer, int tag, size_t bytes)
{
    struct tutti_lane_message message = message_of(send, peer, tag, bytes);
    const char *why = "";
    int op = 0;
    message.captured = tutti_lanes_captured(of[0], stream);
    CHECK(tutti_lanes_start(of[0], stream, &message, &op, &why) == TUTTI_OK, "a start: %s", why);
    return op;
}

static void wait_for(int n, const int ops[])
{
    const char *why = "";
    int together;
    CHECK(tutti_lanes_wait(of[0], stream, tutti_lanes_captured(of[0], stream), n, ops, 0, &together, &why) == TUTTI_OK,
          "a wait: %s", why);
}

static unsigned least(size_t a, size_t b)
{
    return (unsigned)(a < b ? a : b);
}

/* A start moves up to 256 KiB by as many blocks as there are chunks; the wait moves longer messages. */
static void check_blocks(size_t bytes, size_t chunk, unsigned blocks, unsigned awaited, unsigned wait_blocks)
{
    const size_t chunks = bytes ? (bytes + chunk - 1) / chunk : 1;
    const int moves = bytes <= 256 * KIB;
    CHECK(blocks == (moves ? least(chunks, 32) : 1), "%zu bytes in chunks of %zu: the start has %u blocks", bytes,
          chunk, blocks);
    CHECK(awaited == (unsigned)moves, "%zu bytes: the start %s", bytes, awaited ? "moves them" : "does not move them");
    CHECK(wait_blocks == least(chunks, chunks > 64 ? BLOCKS : 32), "%zu bytes in chunks of %zu: the wait has %u blocks",
          bytes, chunk, wait_blocks);
}

static void blocks_of_starts(void)
{
    static const size_t bytes[] = {0,      1,         8 * KIB + 1,   32 * KIB, 32 * KIB + 1,
                                   100000, 256 * KIB, 256 * KIB + 1, 1 << 20,  9 << 20};
    captured = 1;
    for (int tag = FIRST; tag < FIRST + 4; tag++) { /* lanes with large slots: their tags stay */
        CHECK(put(0, 1, 1, tag) == TUTTI_OK && put(0, 0, 1, tag) == TUTTI_OK, "tag %d", tag);
        CHECK(put(1, 0, 0, tag) == TUTTI_OK && put(1, 1, 0, tag) == TUTTI_OK, "tag %d", tag);
    }
    captured = 0;
    for (int tag = FIRST; tag < FIRST + 5; tag++) { /* the last one has a lane with small slots */
        for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
            const int send = (int)i % 2, op = start(send, 1, tag, bytes[i]);
            const struct tutti_lane_args *const began = last();
            CHECK(began->what == TUTTI_LANE_POST && began->lane == (unsigned)(tag - FIRST), "the start");
            wait_for(1, &op);
            const struct tutti_lane_args *const waits = last();
            CHECK(waits->what == TUTTI_LANE_WAIT, "the wait");
            check_blocks(bytes[i], tag < FIRST + 4 ? 32 * KIB : 8 * KIB, began->blocks, began->awaited, waits->blocks);
            put(1, !send, 0, tag); /* its other half */
        }
    }
}

/* The same of messages that another call launches together, and of matched ones. */
static void blocks_together(size_t each)
{
    struct tutti_lane_match matches[3] = {
        {.send = 1, .peer = 1, .bytes = each}, {.peer = 1}, {.send = 1, .bytes = each}};
    const char *why = "";
    const size_t chunks = (each + 32 * KIB - 1) / (32 * KIB);
    const int moves = 2 * each <= 256 * KIB;
    int ops[3];
    tutti_lanes_group_starts(of[0], 1);
    ops[0] = start(1, 1, FIRST, each);
    ops[1] = start(0, 1, FIRST, each);
    const int before = launches;
    CHECK(tutti_lanes_flush(of[0], stream, &why) == TUTTI_OK && launches == before + 1, "a flush: %s", why);
    const struct tutti_lane_args *args = last();
    CHECK(args->what == TUTTI_LANE_POST && args->parts == 2 && args->awaited == (moves ? 2u : 0u) &&
              args->blocks == (moves ? least(2 * chunks, 32) : 1),
          "two messages of %zu bytes together: %u blocks for %u of them", each, args->blocks, args->awaited);
    wait_for(2, ops);
    tutti_lanes_group_starts(of[0], 0);
    put(1, 0, 0, FIRST);
    put(1, 1, 0, FIRST);
    CHECK(tutti_lanes_start_matched(of[0], stream, 0, 3, matches, ops, &why) == TUTTI_OK, "matched: %s", why);
    args = last();
    CHECK(args->what == TUTTI_LANE_POST && args->matches == 3 && args->awaited == (moves ? 2u : 0u) &&
              args->blocks == (moves ? least(2 * chunks, 32) : 1),
          "two matched sends of %zu bytes: %u blocks for %u of them", each, args->blocks, args->awaited);
    wait_for(3, ops);
}

/* ---- captures ---- */

/* A message is counted at the lane of its tag: a send, then its receive. Returns the lane. */
static unsigned exchange(int tag)
{
    CHECK(put(0, 1, 1, tag) == TUTTI_OK, "a send of tag %d", tag);
    const unsigned lane = last_lane();
    CHECK(put(1, 0, 0, tag) == TUTTI_OK && last_lane() == lane, "a receive of tag %d in another lane", tag);
    return lane;
}

/* The driver is asked once by a call, unless the lane keeps its tag anyway. */
static void asks(void)
{
    captured = questions = 0;
    exchange(100);
    exchange(100);
    CHECK(questions == 4, "%d questions in 4 calls", questions);
    captured = 1;
    put(0, 1, 1, 100);
    captured = questions = 0;
    put(1, 0, 0, 100);
    exchange(100);
    CHECK(questions == 0, "%d questions about a tag that stays", questions);
    start(1, 1, 100, 100);
    CHECK(questions == 1, "%d questions of a start", questions);
    CHECK(put(1, 0, 0, 100) == TUTTI_OK, "its receive");
}

/* A tag that a capture uses keeps its lane, also if calls outside of captures used it before. Other tags take each lane
 * that is not in use. */
static void tags_of_captures(void)
{
    enum { GRAPH = 200, MOST = 300 };
    const unsigned lane = exchange(GRAPH);
    int sent = 0;
    captured = 1;
    CHECK(exchange(GRAPH) == lane, "the tag has another lane in a capture");
    captured = 0;
    for (; sent < MOST && put(0, 1, 1, GRAPH + 1 + sent) == TUTTI_OK; sent++)
        CHECK(last_lane() != lane, "tag %d is in the lane of a graph", GRAPH + 1 + sent);
    CHECK(sent > TUTTI_LANES / 2 && sent < TUTTI_LANES, "%d other tags are in use at once", sent);
    for (int i = 0; i < sent; i++)
        CHECK(put(1, 0, 0, GRAPH + 1 + i) == TUTTI_OK, "a receive of tag %d", GRAPH + 1 + i);
    CHECK(exchange(GRAPH) == lane, "the tag of a graph has lost its lane");
    CHECK(exchange(GRAPH + MOST) != lane, "another tag has the lane of a graph");
}

/* A capture is given up between a start and its wait, and the next one begins at once. */
static void capture_given_up(void)
{
    captured = 1;
    const int before = forks, first = start(1, 1, 100, 100);
    beside_captured = 1; /* since the start */
    const int second = start(1, 1, 100, 100);
    CHECK(forks == before + 1 && second != first, "two starts of a capture have %d launches beside it", forks - before);
    beside_captured = 0;
    const int again = start(1, 1, 100, 100);
    CHECK(forks == before + 2 && again == first, "the start of the next capture takes part in the one before");
    beside_captured = 1;
    wait_for(1, &again);
    CHECK(forks == before + 2 && last()->stops, "its wait");
    captured = beside_captured = 0;
}

/* ---- receives from any source ---- */

/* A receive from any source must not leave out a rank that has no lane for the tag now, but gets one later. */
static void any_source(void)
{
    enum { TAG = 5000, MOST = 1000 };
    int sent = 0;
    while (sent < MOST && put(1, 1, 0, TAG + 1 + sent) == TUTTI_OK)
        sent++;
    CHECK(sent > 0 && sent <= TUTTI_LANES, "%d tags are in use at once", sent);
    CHECK(put(0, 0, TUTTI_LANES_ANY, TAG) == TUTTI_ERR_UNAVAILABLE, "a rank is left out that may send with the tag");
    for (int i = 0; i < sent; i++)
        CHECK(put(0, 0, 1, TAG + 1 + i) == TUTTI_OK, "a receive of tag %d", TAG + 1 + i);
    CHECK(put(0, 0, TUTTI_LANES_ANY, TAG) == TUTTI_OK, "a receive from any source");
    const unsigned lane = last()->accepts[1];
    CHECK(last()->any && last()->accepts[0] < TUTTI_LANES && lane < TUTTI_LANES, "what it accepts");
    CHECK(put(1, 1, 0, TAG) == TUTTI_OK && last_lane() == lane, "the message comes by another lane");
    for (int tag = TAG + MOST; put(1, 1, 0, tag) == TUTTI_OK;) { /* all lanes keep other tags */
        captured = 1;
        put(1, 1, 0, tag++);
        captured = 0;
    }
    CHECK(put(0, 0, TUTTI_LANES_ANY, TAG + 2 * MOST) == TUTTI_OK && last()->accepts[1] == TUTTI_LANE_NONE,
          "a rank that cannot send with the tag keeps others from it");
}

static pthread_barrier_t turn; /* of both ranks */

static int rank_main(struct tutti_transport *transport, void *with)
{
    struct kit kit;
    const char *why = "";
    uint32_t all = 0;
    (void)with;
    if (!kit_open(transport, &kit) || kit_meet(kit.team, 1) != TUTTI_OK || tutti_team_open(kit.team, -1) != TUTTI_OK ||
        !CHECK(tutti_lanes_open(kit.team, &of[transport->rank], &why) == TUTTI_OK, "lanes: %s", why))
        return 1;
    const struct tutti_device *const own = kit.team->device;
    CHECK(tutti_team_vote(kit.team, 1, &all) == TUTTI_OK, "a vote");
    pthread_barrier_wait(&turn); /* rank 1 looks at its team no more: rank 0 changes it */
    if (transport->rank == 0) {
        device = *own;
        device.launch.lane = note;
        device.stream.capturing = answer;
        device.event.record = event_nothing;
        device.event.wait = wait_nothing;
        CHECK(own->stream.create(kit.team->gpu, &stream) == TUTTI_OK, "a stream");
        of[0]->team->device = of[1]->team->device = &device;
        of[0]->team->blocks = of[1]->team->blocks = BLOCKS;
        blocks_of_starts();
        for (size_t each = 8 * KIB; each <= 1 << 20; each *= 4)
            blocks_together(each);
        asks();
        tags_of_captures();
        capture_given_up();
        any_source();
        of[0]->team->device = of[1]->team->device = own;
        own->stream.destroy(stream);
    }
    pthread_barrier_wait(&turn);
    tutti_lanes_close(of[transport->rank], 1, tutti_lanes_settle(of[transport->rank]) == TUTTI_OK);
    kit_close(&kit);
    return 0;
}

int main(void)
{
    pthread_barrier_init(&turn, NULL, 2);
    CHECK(tutti_threads_run(2, rank_main, NULL) == 0, "a rank has failed");
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
