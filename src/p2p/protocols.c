#include "p2p/protocols.h"

#include <string.h>

#include "team/rndv.h"

/* The MPI carries what is staged. A message that cannot be left to the MPI is shown to its receiver instead. */
static const struct tutti_protocol_ops tutti_staged_ops = {.instead = TUTTI_PROTOCOL_direct};

const struct tutti_protocol_row tutti_protocols[TUTTI_PROTOCOLS] = {
#define TUTTI_PROTOCOL(name, node, far, outcome, reason, text)                                                         \
    {#name, {node, far}, TUTTI_OUTCOME_##outcome, reason, text, &tutti_##name##_ops},
#include "tutti/protocols.def"
#undef TUTTI_PROTOCOL
};

const struct tutti_protocol_ops *tutti_protocol_at(uint32_t state)
{
    static const struct tutti_protocol_ops *const at[] = {[TUTTI_RNDV_GET] = &tutti_direct_ops,
                                                          [TUTTI_RNDV_BOUNCE] = &tutti_packed_ops,
                                                          [TUTTI_RNDV_AM] = &tutti_carried_ops};
    return state < sizeof at / sizeof *at ? at[state] : NULL;
}

static int protocol_find(const char *name, int far)
{
    for (int i = 0; i < TUTTI_PROTOCOLS; i++) {
        if (tutti_protocols[i].reaches[far] && strcmp(tutti_protocols[i].name, name) == 0)
            return i;
    }
    return -1;
}

static int protocol_find_near(const char *name)
{
    return protocol_find(name, 0);
}

static int protocol_find_far(const char *name)
{
    return protocol_find(name, 1);
}

const struct tutti_names tutti_protocol_names = {"way of messages", "staged packed direct", protocol_find_near};
const struct tutti_names tutti_protocol_names_far = {"way of messages", "staged pipelined", protocol_find_far};
