/* Memory of layouts and its expected contents. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/pack/pack.h"
#include "tutti/tutti.h"

static void data_copy(const struct pack_set *set, char *to, const char *from, size_t bytes)
{
    if (bytes && set->ordinary)
        memcpy(to, from, bytes);
    else if (bytes)
        bench_must(tutti_copy(to, from, bytes), "copying");
}

static char *room_for(const struct pack_set *set, size_t bytes)
{
    void *memory = NULL;
    if (set->ordinary)
        return bench_ordinary(bytes);
    bench_must(tutti_alloc(bytes, &memory), "allocating device memory");
    return memory;
}

static void let_go(const struct pack_set *set, char *memory)
{
    if (set->ordinary)
        free(memory);
    else if (memory)
        tutti_free(memory);
}

static void data_fill(char *to, size_t bytes, uint64_t seed)
{
    size_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        uint64_t word = pack_mix(seed + i);
        memcpy(to + i, &word, 8);
    }
    for (; i < bytes; i++)
        to[i] = (char)pack_mix(seed + i);
}

void pack_set_room(struct pack_set *set, const struct pack_layout *layout, uint64_t seed)
{
    if (layout->room > set->room) {
        let_go(set, set->memory);
        free(set->image);
        set->room = layout->room;
        set->memory = room_for(set, set->room);
        set->image = bench_ordinary(set->room);
        data_fill(set->image, set->room, pack_mix(seed));
        data_copy(set, set->memory, set->image, set->room);
    }
    if (layout->bytes > set->most) {
        let_go(set, set->in);
        let_go(set, set->out);
        free(set->message);
        set->most = layout->bytes;
        set->in = room_for(set, set->most);
        set->out = room_for(set, set->most);
        set->message = bench_ordinary(2 * set->most);
    }
}

void pack_set_free(struct pack_set *set)
{
    let_go(set, set->memory);
    let_go(set, set->in);
    let_go(set, set->out);
    free(set->image);
    free(set->message);
}

/* The message that packing n blocks must produce. Returns its bytes. */
static size_t data_gather(const struct pack_set *set, const struct pack_layout *layout, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        struct pack_piece piece = pack_layout_piece(layout, i);
        memcpy(set->message + at, set->image + piece.offset, piece.length);
        at += piece.length;
    }
    return at;
}

void pack_set_settle(struct pack_set *set, const struct pack_layout *layout)
{
    data_copy(set, set->in, set->message, data_gather(set, layout, layout->n));
}

void pack_set_renew(struct pack_set *set, const struct pack_layout *layout, size_t n, uint64_t seed)
{
    data_fill(set->message, layout->bytes, pack_mix(seed));
    data_copy(set, set->in, set->message, layout->bytes);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        struct pack_piece piece = pack_layout_piece(layout, i);
        memcpy(set->image + piece.offset, set->message + at, piece.length);
        at += piece.length;
    }
}

void pack_set_spoil(struct pack_set *set, const struct pack_layout *layout, size_t n)
{
    size_t bytes = data_gather(set, layout, n);
    for (size_t i = 0; i < bytes; i++)
        set->message[i] = (char)~set->message[i];
    data_copy(set, set->out, set->message, bytes);
}

/* The first byte that differs; a difference exists. */
static size_t first_wrong(const char *got, const char *right)
{
    size_t i = 0;
    while (got[i] == right[i])
        i++;
    return i;
}

int pack_set_check_packed(struct pack_set *set, const struct pack_layout *layout, size_t n, char *text, size_t size)
{
    size_t bytes = data_gather(set, layout, n);
    char *got = set->message + set->most;
    data_copy(set, got, set->out, bytes);
    if (memcmp(got, set->message, bytes) == 0)
        return 1;
    size_t i = first_wrong(got, set->message);
    snprintf(text, size, "byte %zu of the message is 0x%02x, right is 0x%02x", i, (unsigned char)got[i],
             (unsigned char)set->message[i]);
    return 0;
}

int pack_set_check_memory(struct pack_set *set, const struct pack_layout *layout, char *text, size_t size)
{
    enum { WHOLE = 64 << 20, PLACES = 64, PLACE_BYTES = 256 << 10 };
    static char got[PLACE_BYTES];
    size_t room = layout->room, places = (room + PLACE_BYTES - 1) / PLACE_BYTES, step = PLACE_BYTES;
    if (room > WHOLE) {
        places = PLACES;
        step = (room - PLACE_BYTES) / (PLACES - 1);
    }
    for (size_t p = 0; p < places; p++) {
        size_t at = p * step, bytes = room - at < PLACE_BYTES ? room - at : PLACE_BYTES;
        data_copy(set, got, set->memory + at, bytes);
        if (memcmp(got, set->image + at, bytes) == 0)
            continue;
        size_t i = first_wrong(got, set->image + at);
        snprintf(text, size, "byte %zu of the memory is 0x%02x, right is 0x%02x", at + i, (unsigned char)got[i],
                 (unsigned char)set->image[at + i]);
        return 0;
    }
    return 1;
}
