#include "p2p/protocols.h"

#include <string.h>

const struct tutti_protocol_row tutti_protocols[TUTTI_PROTOCOLS] = {
#define TUTTI_PROTOCOL(name, node, far, outcome, reason, text) {#name, {node, far}, outcome, reason, text},
#include "tutti/protocols.def"
#undef TUTTI_PROTOCOL
};

int tutti_protocol_find(const char *name, int far)
{
    for (int i = 0; i < TUTTI_PROTOCOLS; i++) {
        if (tutti_protocols[i].reaches[far != 0] && strcmp(tutti_protocols[i].name, name) == 0)
            return i;
    }
    return -1;
}
