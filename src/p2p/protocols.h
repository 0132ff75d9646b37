/* The protocols of messages, by name: made from tutti/protocols.def. */
#ifndef TUTTI_P2P_PROTOCOLS_H
#define TUTTI_P2P_PROTOCOLS_H

#include "core/counters.h"
#include "rules/grammar.h"

enum tutti_protocol {
#define TUTTI_PROTOCOL(name, node, far, outcome, reason, text) TUTTI_PROTOCOL_##name,
#include "tutti/protocols.def"
#undef TUTTI_PROTOCOL
    TUTTI_PROTOCOLS
};

struct tutti_protocol_row {
    const char *name;
    int reaches[2];             /* ranks of the node; of other nodes */
    enum tutti_outcome outcome; /* of messages that go by it, for counters */
    const char *reason;
    const char *text;
};
extern const struct tutti_protocol_row tutti_protocols[TUTTI_PROTOCOLS];

/* What rules of messages name: protocols for ranks of the node, and for those of others. */
extern const struct tutti_names tutti_protocol_names, tutti_protocol_names_far;

#endif
