#include "p2p/stream_ways.h"

#include <string.h>

#include "rules/rules.h"

static int stream_way_find(const char *name)
{
    return strcmp(name, "ring") == 0 ? TUTTI_STREAM_RING : strcmp(name, "offer") == 0 ? TUTTI_STREAM_OFFER : -1;
}

static const struct tutti_names ways = {"way of a message in stream order", "ring offer", stream_way_find};
static const struct tutti_section section = {"message_stream", &ways};
static struct tutti_rules_room room = {.section = &section, .sections = 1, .known = "message_stream"};

__attribute__((constructor)) static void stream_ways_register(void)
{
    tutti_rules_register(&room);
}

enum tutti_stream_way tutti_stream_way(size_t bytes)
{
    int from = tutti_rules_in_force();
    const int found = tutti_rules_next(room.first, bytes, &from);
    return found < 0 ? TUTTI_STREAM_RING : (enum tutti_stream_way)found;
}
