/* The protocols of messages, by name: made from tutti/protocols.def. */
#ifndef TUTTI_P2P_PROTOCOLS_H
#define TUTTI_P2P_PROTOCOLS_H

#include "core/counters.h"
#include "rules/rules.h"

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

/* The protocol of a message of device memory, local: the sender decides. That of the first rule of the section
 * `message`, from `from` on (0: the first), that fits; *from is moved behind it. TUTTI_PROTOCOLS past the last. */
enum tutti_protocol tutti_rules_message(size_t bytes, int *from);
/* The same of the section `message_far`, for ranks of other nodes; of the first rule that fits. */
enum tutti_protocol tutti_rules_message_far(size_t bytes);

#endif
