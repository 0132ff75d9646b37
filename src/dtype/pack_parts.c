#include "dtype/pack_parts.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/status.h"

enum { HEAD = sizeof(struct tutti_pack_head), SMALL = TUTTI_PACK_SOME_BYTES, BLOCKS_MOST = 1 << 30 };

void tutti_parts_begin(struct tutti_parts *parts, const struct tutti_device *device, struct tutti_stream *stream,
                       size_t room)
{
    parts->device = device;
    parts->stream = stream;
    parts->room = room;
    parts->blocks = 0;
    parts->ticket = parts->near = 0;
    parts->done = NULL;
    parts->ended = NULL;
    parts->launches = 0;
    parts->part = parts->few_parts;
    parts->extra = parts->few_extra;
    parts->reach = parts->few_reaches;
    parts->n = parts->extras = parts->reaches = 0;
    parts->part_room = TUTTI_PARTS_FEW;
    parts->extra_room = TUTTI_PARTS_EXTRA;
    parts->reach_room = TUTTI_PARTS_REACHES;
}

/* Room for `wanted` of `size` bytes each in *array, which holds `n`; NULL: no memory. */
static void *grown(void *array, const void *own, uint32_t n, uint32_t wanted, uint32_t *room, size_t size)
{
    if (wanted <= *room)
        return array;
    uint32_t larger = 2 * *room > wanted ? 2 * *room : wanted;
    void *made = array == own ? malloc(larger * size) : realloc(array, larger * size);
    if (!made)
        return NULL;
    if (array == own)
        memcpy(made, array, n * size);
    *room = larger;
    return made;
}

static int grow(struct tutti_parts *parts, uint32_t extras, unsigned reaches)
{
    void *part = grown(parts->part, parts->few_parts, parts->n, parts->n + 1, &parts->part_room, sizeof *parts->part);
    if (part)
        parts->part = part;
    void *extra = grown(parts->extra, parts->few_extra, parts->extras, parts->extras + extras, &parts->extra_room,
                        sizeof *parts->extra);
    if (extra)
        parts->extra = extra;
    void *reach = grown(parts->reach, parts->few_reaches, parts->reaches, parts->reaches + reaches, &parts->reach_room,
                        sizeof *parts->reach);
    if (reach)
        parts->reach = reach;
    return part && extra && reach ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

static size_t bytes_of(uint32_t parts, uint32_t extras)
{
    return HEAD + parts * sizeof(struct tutti_pack_part) + (size_t)extras * 8;
}

static void assemble(const struct tutti_parts *parts, struct tutti_pack_args *args, size_t bytes, int last)
{
    const uint32_t behind = parts->n * (uint32_t)(sizeof *parts->part / 8);
    args->head = (struct tutti_pack_head){.parts = parts->n, .blocks = parts->blocks, .bytes = (uint32_t)bytes};
    if (last) {
        args->head.ticket = parts->ticket;
        args->head.near = parts->near;
        args->head.done = parts->done;
        args->head.ended = parts->ended;
    }
    memcpy(args->pool, parts->part, parts->n * sizeof *parts->part);
    memcpy(args->pool + behind, parts->extra, (size_t)parts->extras * 8);
    struct tutti_pack_part *const part = (struct tutti_pack_part *)(void *)args->pool;
    for (uint32_t i = 0; i < parts->n; i++)
        part[i].at = (uint16_t)(part[i].at + behind);
}

static int launch(struct tutti_parts *parts, int last)
{
    const size_t bytes = bytes_of(parts->n, parts->extras);
    uint64_t small[SMALL / 8];
    struct tutti_pack_reach few[TUTTI_PARTS_REACHES + 1];
    struct tutti_pack_args *args = bytes <= SMALL ? (struct tutti_pack_args *)(void *)small : malloc(sizeof *args);
    struct tutti_pack_reach *reach =
        parts->reaches <= TUTTI_PARTS_REACHES ? few : malloc((parts->reaches + 1) * sizeof *reach);
    int status = TUTTI_ERR_MEMORY;
    if (args && reach) {
        const uint32_t behind = (uint32_t)bytes_of(parts->n, 0);
        assemble(parts, args, bytes, last);
        for (uint32_t i = 0; i < parts->reaches; i++)
            reach[i] = (struct tutti_pack_reach){.at = parts->reach[i].at + (parts->reach[i].extra ? behind : HEAD),
                                                 .start = parts->reach[i].start,
                                                 .bytes = parts->reach[i].bytes};
        uint32_t reaches = parts->reaches;
        if (args->head.ended)
            reach[reaches++] = (struct tutti_pack_reach){
                .at = offsetof(struct tutti_pack_head, ended), .start = args->head.ended, .bytes = sizeof(uint32_t)};
        const struct tutti_pack_launch what = {args, reach, reaches};
        status = parts->device->launch_pack(parts->stream, &what);
    }
    if ((void *)args != small)
        free(args);
    if (reach != few)
        free(reach);
    parts->launches++;
    parts->n = parts->extras = parts->reaches = parts->blocks = 0;
    return status;
}

int tutti_parts_add(struct tutti_parts *parts, const struct tutti_pack_part *part, uint32_t blocks, const void *extra,
                    uint32_t extras, const struct tutti_parts_reach *reach, unsigned reaches)
{
    int status = TUTTI_OK;
    if (blocks == 0)
        return TUTTI_OK;
    if (bytes_of(1, extras) > parts->room) {
        tutti_error("a datatype of so many segments (%zu bytes to describe them) cannot be handled by one kernel",
                    (size_t)extras * 8);
        return TUTTI_ERR_UNAVAILABLE;
    }
    if (bytes_of(parts->n + 1, parts->extras + extras) > parts->room || parts->blocks + blocks > BLOCKS_MOST)
        status = launch(parts, 0);
    if (status == TUTTI_OK)
        status = grow(parts, extras, reaches);
    if (status != TUTTI_OK)
        return status;
    for (unsigned i = 0; i < reaches; i++) {
        struct tutti_parts_reach *const it = &parts->reach[parts->reaches++];
        *it = reach[i];
        it->at += it->extra ? parts->extras * 8 : parts->n * (uint32_t)sizeof *part;
    }
    struct tutti_pack_part *const added = &parts->part[parts->n++];
    *added = *part;
    added->first = parts->blocks;
    added->at = (uint16_t)parts->extras;
    if (extras > 0)
        memcpy(parts->extra + parts->extras, extra, (size_t)extras * 8);
    parts->extras += extras;
    parts->blocks += blocks;
    return TUTTI_OK;
}

int tutti_parts_end(struct tutti_parts *parts, int status)
{
    if (status == TUTTI_OK && parts->n > 0)
        status = launch(parts, 1);
    if (parts->part != parts->few_parts)
        free(parts->part);
    if (parts->extra != parts->few_extra)
        free(parts->extra);
    if (parts->reach != parts->few_reaches)
        free(parts->reach);
    return status;
}
