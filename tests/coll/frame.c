#include "coll/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "core/status.h"
#include "tutti/tutti.h"

uint64_t frame_seed;
int frame_rounds;
size_t frame_most;

int frame_open(struct frame *frame, struct tutti_transport *transport, size_t room)
{
    *frame = (struct frame){.room = room, .dice = random_mix(frame_seed + (uint64_t)(unsigned)transport->rank)};
    int status = tutti_node_open(transport, &frame->node);
    if (!CHECK(status == TUTTI_OK && frame->node, "node: %s", tutti_status_text(status)))
        return 0;
    status = tutti_team_create(frame->node, transport, &frame->team);
    frame->host = malloc(room);
    frame->kept = malloc(room);
    frame->expected = malloc(room);
    return CHECK(status == TUTTI_OK, "team: %s", tutti_status_text(status)) &&
           CHECK(frame->host && frame->kept && frame->expected, "memory") &&
           CHECK(tutti_alloc(room, (void **)&frame->in) == 0 && tutti_alloc(room, (void **)&frame->out) == 0, "alloc");
}

/* ---- events in a capture ---- */

enum { EVENTS = 64 };
static _Thread_local struct tutti_event *recorded[EVENTS]; /* by this call */
static _Thread_local int records;

void frame_capture(void)
{
    records = 0;
}

static int is_recorded(const struct tutti_event *event)
{
    int i = 0;
    while (i < records && recorded[i] != event)
        i++;
    return i < records;
}

static int capture_record(struct tutti_event *event, struct tutti_stream *stream)
{
    if (!is_recorded(event) && CHECK(records < EVENTS, "more events than the test knows"))
        recorded[records++] = event;
    return tutti_device()->event.record(event, stream);
}

static int capture_wait(struct tutti_stream *stream, struct tutti_event *event)
{
    if (!CHECK(is_recorded(event), "a stream is to wait for an event that the call has not recorded"))
        return TUTTI_ERR_ARGUMENT;
    return tutti_device()->event.wait(stream, event);
}

int frame_stream(struct frame *frame)
{
    struct tutti_team *team = frame->team;
    int status = tutti_enqueue_open(team, -1);
    if (!CHECK(status == TUTTI_OK, "enqueue_open: %s: %s", tutti_status_text(status), team->why ? team->why : "?") ||
        !CHECK(team->device->stream.create(team->gpu, &frame->stream) == TUTTI_OK, "stream"))
        return 0;
    frame->capture = *team->device;
    frame->capture.event.record = capture_record;
    frame->capture.event.wait = capture_wait;
    team->device = &frame->capture;
    return 1;
}

void frame_close(struct frame *frame, struct tutti_transport *transport)
{
    transport->ops->barrier(transport);
    if (frame->stream) {
        frame->team->device = tutti_device();
        frame->team->device->stream.destroy(frame->stream);
    }
    tutti_team_free(frame->team);
    tutti_free(frame->in);
    tutti_free(frame->out);
    free(frame->host);
    free(frame->kept);
    free(frame->expected);
    tutti_node_close(frame->node);
}

void frame_fill(const struct frame *frame, const unsigned char *in, const unsigned char *out)
{
    CHECK(tutti_copy(frame->in, in, frame->room) == 0 && tutti_copy(frame->out, out, frame->room) == 0, "copy in");
}

size_t frame_differs(const struct frame *frame, const char *device, const unsigned char *expected)
{
    size_t at = 0;
    CHECK(tutti_copy(frame->host, device, frame->room) == 0, "copy out");
    if (memcmp(frame->host, expected, frame->room) == 0)
        return frame->room;
    while (frame->host[at] == expected[at])
        at++;
    return at;
}

int frame_main(const char *ranks, const char *name, const char *rules,
               int (*run)(struct tutti_transport *transport, void *unused))
{
    frame_seed = check_seed();
    frame_rounds = (int)check_many("TUTTI_TEST_ROUNDS", frame_rounds);
    frame_most = (size_t)check_setting("TUTTI_TEST_BYTES", (long)frame_most);
    setenv("TUTTI_RULES", rules, 1);
    setenv("TUTTI_RULES_FILE", "/dev/null", 1);
    printf("seed %llu, %s ranks, %s\n", (unsigned long long)frame_seed, ranks, name);
    fflush(stdout);
    const int status = tutti_threads_run(atoi(ranks), run, NULL);
    return status != 0 || check_failed() != 0;
}
