#include "coll/launch/side_streams.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "coll/state.h"
#include "core/status.h"
#include "team/deferred_free.h"

static atomic_int sides_taken; /* 1: by a call that is not in stream order */

static int sides_make(const struct tutti_team *team, struct tutti_side_streams *sides)
{
    const struct tutti_device *device = team->device;
    int status = device->event.create(team->gpu, &sides->fork);
    for (int i = 0; i < TUTTI_SIDES && status == TUTTI_OK; i++) {
        status = tutti_own_stream_create(device, team->gpu, &sides->own[i]);
        if (status == TUTTI_OK)
            status = device->event.create(team->gpu, &sides->done[i]);
    }
    return status;
}

static struct tutti_side_streams **sides_place(const struct tutti_team *team, const struct tutti_stream *stream)
{
    return &tutti_coll_of(team)->sides[stream != team->stream];
}

int tutti_side_streams_open(struct tutti_team *team, const struct tutti_stream *stream)
{
    struct tutti_side_streams **const place = sides_place(team, stream);
    if (*place)
        return TUTTI_OK;
    struct tutti_side_streams *sides = calloc(1, sizeof *sides);
    const int status = sides ? sides_make(team, sides) : TUTTI_ERR_MEMORY;
    if (status != TUTTI_OK) {
        tutti_side_streams_close(team, sides, 1);
        return status;
    }
    tutti_coll_keeps(team);
    *place = sides;
    return TUTTI_OK;
}

struct tutti_side_streams *tutti_side_streams_take(const struct tutti_team *team, const struct tutti_stream *stream)
{
    struct tutti_side_streams *const sides = *sides_place(team, stream);
    const int in_stream = stream != team->stream;
    int none = 0;
    if (!sides || tutti_deferred_free_streams(team->node) > in_stream)
        return NULL;
    return in_stream || atomic_compare_exchange_strong(&sides_taken, &none, 1) ? sides : NULL;
}

void tutti_side_streams_give(const struct tutti_team *team, const struct tutti_stream *stream,
                             const struct tutti_side_streams *sides)
{
    if (sides && stream == team->stream)
        atomic_store(&sides_taken, 0);
}

int tutti_side_streams_fork(const struct tutti_team *team, const struct tutti_side_streams *sides, unsigned used,
                            struct tutti_stream *stream)
{
    int status = team->device->event.record(sides->fork, stream);
    for (unsigned i = 0; i < used && status == TUTTI_OK; i++)
        status = team->device->event.wait(sides->own[i].stream, sides->fork);
    return status;
}

int tutti_side_streams_join(const struct tutti_team *team, const struct tutti_side_streams *sides, unsigned used,
                            struct tutti_stream *stream)
{
    int status = TUTTI_OK;
    for (unsigned i = 0; i < used && status == TUTTI_OK; i++) {
        status = team->device->event.record(sides->done[i], sides->own[i].stream);
        if (status == TUTTI_OK)
            status = team->device->event.wait(stream, sides->done[i]);
    }
    return status;
}

void tutti_side_streams_close(const struct tutti_team *team, struct tutti_side_streams *sides, int alive)
{
    for (int i = 0; sides && alive && i < TUTTI_SIDES; i++) {
        if (sides->done[i])
            team->device->event.destroy(sides->done[i]);
        tutti_own_stream_destroy(team->device, &sides->own[i]);
    }
    if (sides && alive && sides->fork)
        team->device->event.destroy(sides->fork);
    free(sides);
}
