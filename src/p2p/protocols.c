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

const struct tutti_names tutti_protocol_names = {"way of messages", "staged packed direct", find_near};
const struct tutti_names tutti_protocol_names_far = {"way of messages", "staged pipelined", find_far};
