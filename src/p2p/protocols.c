#include "p2p/protocols.h"

#include <string.h>

const struct tutti_protocol_row tutti_protocols[TUTTI_PROTOCOLS] = {
#define TUTTI_PROTOCOL(name, node, far, outcome, reason, text)                                                         \
    {#name, {node, far}, TUTTI_OUTCOME_##outcome, reason, text},
#include "tutti/protocols.def"
#undef TUTTI_PROTOCOL
};

static int find(const char *name, int far)
{
    for (int i = 0; i < TUTTI_PROTOCOLS; i++) {
        if (tutti_protocols[i].reaches[far] && strcmp(tutti_protocols[i].name, name) == 0)
            return i;
    }
    return -1;
}

static int find_near(const char *name)
{
    return find(name, 0);
}

static int find_far(const char *name)
{
    return find(name, 1);
}

static const struct tutti_names near = {"way of messages", "staged packed direct", find_near};
static const struct tutti_names far = {"way of messages", "staged pipelined", find_far};
enum { NEAR, FAR };
static const struct tutti_section sections[] = {[NEAR] = {"message", &near}, [FAR] = {"message_far", &far}};
static struct tutti_rules_room room = {
    .section = sections, .sections = sizeof sections / sizeof sections[0], .known = "message and message_far"};

__attribute__((constructor)) static void protocols_register(void)
{
    tutti_rules_register(&room);
}

enum tutti_protocol tutti_rules_message(size_t bytes, int *from)
{
    if (*from == 0)
        *from = tutti_rules_in_force();
    const int way = tutti_rules_next(room.first + NEAR, bytes, from);
    return way < 0 ? TUTTI_PROTOCOLS : (enum tutti_protocol)way;
}

enum tutti_protocol tutti_rules_message_far(size_t bytes)
{
    int from = tutti_rules_in_force();
    const int way = tutti_rules_next(room.first + FAR, bytes, &from);
    return way < 0 ? TUTTI_PROTOCOLS : (enum tutti_protocol)way;
}
