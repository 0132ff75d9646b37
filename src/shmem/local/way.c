#include "shmem/local/way.h"

#include "rules/rules.h"

/* In the order of enum tutti_stream_way. */
static const struct tutti_names ways = {.what = "way of a collective in stream order", .known = "channel block blocks"};
static const struct tutti_section sections[TUTTI_STREAM_KINDS] = {
    [TUTTI_STREAM_REDUCES] = {"shmem_stream", &ways}, [TUTTI_STREAM_MOVES] = {"shmem_move", &ways}};
static struct tutti_rules_room room = {
    .section = sections, .sections = TUTTI_STREAM_KINDS, .known = "shmem_stream, shmem_move"};

__attribute__((constructor)) static void way_register(void)
{
    tutti_rules_register(&room);
}

enum tutti_stream_way tutti_shmem_stream_way(int rules, enum tutti_stream_kind kind, size_t bytes, int channel)
{
    int from = rules, way;
    do
        way = tutti_rules_next(room.first + (int)kind, bytes, &from);
    while (way == TUTTI_STREAM_CHANNEL && !channel);
    return way < 0 ? TUTTI_STREAM_BLOCK : (enum tutti_stream_way)way;
}

int tutti_shmem_stream_channels(void)
{
    return tutti_rules_choose(room.first + TUTTI_STREAM_REDUCES, TUTTI_STREAM_CHANNEL) ||
           tutti_rules_choose(room.first + TUTTI_STREAM_MOVES, TUTTI_STREAM_CHANNEL);
}

uint32_t tutti_shmem_stream_rules(void)
{
    return tutti_rules_section_hash(room.first + TUTTI_STREAM_REDUCES) * 31 +
           tutti_rules_section_hash(room.first + TUTTI_STREAM_MOVES);
}
