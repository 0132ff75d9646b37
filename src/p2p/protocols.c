#include "p2p/p2p.h"

#include <string.h>

#include "team/rndv.h"

/* The MPI carries staged messages. A message that the MPI cannot have is offered to its receiver instead. */
static const struct tutti_protocol_ops tutti_staged_ops = {.instead = TUTTI_PROTOCOL_direct};

const struct tutti_protocol_row tutti_protocols[TUTTI_PROTOCOLS] = {
#define TUTTI_PROTOCOL(name, node, far, outcome, reason, text)                                                         \
    {#name, {node, far}, TUTTI_OUTCOME_##outcome, reason, text, &tutti_##name##_ops},
#include "tutti/protocols.def"
#undef TUTTI_PROTOCOL
};

const struct tutti_protocol_ops *tutti_protocol_at(uint32_t state)
{
    static const struct tutti_protocol_ops *const at[] = {
        [TUTTI_RNDV_GET] = &tutti_direct_ops,    [TUTTI_RNDV_BOUNCE] = &tutti_packed_ops,
        [TUTTI_RNDV_AM] = &tutti_carried_ops,    [TUTTI_RNDV_CTS] = &tutti_put_ops,
        [TUTTI_RNDV_PUTTING] = &tutti_put_ops,   [TUTTI_RNDV_PUT] = &tutti_put_ops,
        [TUTTI_RNDV_LANDING] = &tutti_landed_ops};
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

const struct tutti_names tutti_protocol_names = {"way of messages", "staged landed packed direct engines",
                                                 protocol_find_near};
static const struct tutti_names protocol_names_far = {"way of messages", "staged pipelined", protocol_find_far};

/* ---- rules ---- */

enum { NEAR, FAR };
static const struct tutti_section sections[] = {
    [NEAR] = {"message", &tutti_protocol_names}, [FAR] = {"message_far", &protocol_names_far}};
static struct tutti_rules_room room = {
    .section = sections, .sections = sizeof sections / sizeof sections[0], .known = "message and message_far"};

__attribute__((constructor)) static void protocols_register(void)
{
    tutti_rules_register(&room);
}

/* The walk of a message begins with the set that is in force. */
static int protocols_next(int far, size_t bytes, int *from)
{
    if (*from == 0)
        *from = tutti_rules_in_force();
    return tutti_rules_next(room.first + (far ? FAR : NEAR), bytes, from);
}

const struct tutti_protocol_rules tutti_rules_of_messages = {protocols_next, tutti_rules_why};

int tutti_rules_stage_messages(void)
{
    return tutti_rules_users_only(room.first + NEAR, TUTTI_PROTOCOL_staged) &&
           tutti_rules_users_only(room.first + FAR, TUTTI_PROTOCOL_staged);
}
