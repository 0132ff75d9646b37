#include "dtype/pack/parts.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/counters.h"
#include "core/log.h"
#include "core/spares.h"
#include "core/status.h"
#include "core/trace.h"
#include "dtype/pack/box.h"
#include "dtype/pack/channel.h"

enum { HEAD = sizeof(struct tutti_pack_head), PART = sizeof(struct tutti_pack_part) };

static struct tutti_spares idle;

struct tutti_parts *tutti_parts_begin(const struct tutti_device *device, struct tutti_stream *stream, size_t room)
{
    struct tutti_parts *parts = tutti_spares_take(&idle, offsetof(struct tutti_parts, next), 0);
    if (!parts) {
        parts = malloc(sizeof *parts);
        if (!parts)
            return NULL;
        memset(&parts->args, 0, sizeof parts->args); /* drivers read more of it than was written */
        parts->cache = NULL;
    }
    parts->device = device;
    parts->stream = stream;
    parts->room = room;
    parts->launch_number = parts->near = 0;
    parts->done = NULL;
    parts->channel = NULL;
    parts->ended = NULL;
    parts->launches = 0;
    parts->n = parts->extras = parts->reaches = 0;
    return parts;
}

static void parts_give(struct tutti_parts *parts)
{
    tutti_spares_give(&idle, parts, offsetof(struct tutti_parts, next), 0);
}

static size_t parts_bytes_of(uint32_t parts, uint32_t extras)
{
    return HEAD + (size_t)parts * PART + (size_t)extras * 8;
}

int tutti_parts_have_room(const struct tutti_parts *parts, uint32_t n, uint32_t extras, uint32_t reaches)
{
    return parts_bytes_of(parts->n + n, parts->extras + extras) <= parts->room &&
           parts->reaches + reaches <= TUTTI_PARTS_REACHES;
}

static int parts_launch(struct tutti_parts *parts, int last)
{
    struct tutti_pack_args *const args = &parts->args;
    struct tutti_pack_part *const part = tutti_parts_at(parts);
    const uint32_t behind = parts->n * (uint32_t)(PART / 8);
    args->head =
        (struct tutti_pack_head){.parts = parts->n, .bytes = (uint32_t)parts_bytes_of(parts->n, parts->extras)};
    args->head.blocks = tutti_pack_spread(part, parts->n);
    if (last) {
        args->head.launch_number = parts->launch_number;
        args->head.near = parts->near;
        args->head.done = parts->done;
        args->head.ended = parts->ended;
    }
    memcpy(args->pool + behind, parts->extra, (size_t)parts->extras * 8);
    for (uint32_t i = 0; i < parts->n; i++)
        part[i].at = (uint16_t)(part[i].at + behind);
    uint32_t reaches = parts->reaches;
    for (uint32_t i = 0; i < reaches; i++)
        parts->reached[i] =
            (struct tutti_pack_reach){.at = parts->reach[i].at + HEAD + (parts->reach[i].extra ? behind * 8 : 0),
                                      .start = parts->reach[i].start,
                                      .bytes = parts->reach[i].bytes};
    if (args->head.ended)
        parts->reached[reaches++] = (struct tutti_pack_reach){
            .at = offsetof(struct tutti_pack_head, ended), .start = args->head.ended, .bytes = sizeof(uint32_t)};
    const struct tutti_pack_launch what = {args, parts->reached, reaches};
    int launched = 1;
    parts->launches++;
    parts->n = parts->extras = parts->reaches = 0;
    tutti_trace(TUTTI_TRACE_LAUNCH, 0);
    if (parts->channel && !last)
        tutti_stay_leave(&parts->channel->stay);
    const int status = last && parts->channel && parts->launches == 1
                           ? tutti_pack_channel_launch(parts->channel, parts->device, &what, &launched)
                           : parts->device->launch.pack(parts->stream, &what);
    if (status != TUTTI_ERR_UNAVAILABLE)
        tutti_count("packing kernels", launched ? TUTTI_OUTCOME_LAUNCHED : TUTTI_OUTCOME_SERVED, NULL);
    tutti_trace(TUTTI_TRACE_LAUNCHED, 0);
    return status;
}

int tutti_parts_add(struct tutti_parts *parts, const struct tutti_pack_part *part, const void *extra, uint32_t extras,
                    const struct tutti_parts_reach *reach, unsigned reaches)
{
    if (part->units == 0)
        return TUTTI_OK;
    if (parts_bytes_of(1, extras) > parts->room || reaches > TUTTI_PARTS_REACHES) {
        tutti_error("a datatype of so many segments (%zu bytes to describe them) cannot be handled by one kernel",
                    (size_t)extras * 8);
        return TUTTI_ERR_UNAVAILABLE;
    }
    if (!tutti_parts_have_room(parts, 1, extras, reaches)) {
        const int status = parts_launch(parts, 0);
        if (status != TUTTI_OK)
            return status;
    }
    for (unsigned i = 0; i < reaches; i++) {
        struct tutti_parts_reach *const it = &parts->reach[parts->reaches++];
        *it = reach[i];
        it->at += it->extra ? parts->extras * 8 : parts->n * (uint32_t)PART;
    }
    struct tutti_pack_part *const added = &tutti_parts_at(parts)[parts->n++];
    *added = *part;
    added->at = (uint16_t)parts->extras;
    if (extras > 0)
        memcpy(parts->extra + parts->extras, extra, (size_t)extras * 8);
    parts->extras += extras;
    return TUTTI_OK;
}

int tutti_parts_end(struct tutti_parts *parts, int status, unsigned *launches)
{
    if (status == TUTTI_OK && parts->n > 0)
        status = parts_launch(parts, 1);
    if (launches)
        *launches = parts->launches;
    parts_give(parts);
    return status;
}
