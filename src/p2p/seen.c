#include "p2p/seen.h"

int tutti_seen_holds(struct tutti_seen *seen, const char *first, const char *end)
{
    const char *base = seen->memory.base;
    if (seen->memory.kind != TUTTI_MEMORY_DEVICE || first < base || end > base + seen->memory.bytes) {
        tutti_device()->memory.classify(first, &seen->memory);
        seen->memo.of = NULL;
        base = seen->memory.base;
    }
    return seen->memory.kind == TUTTI_MEMORY_DEVICE && first >= base && end <= base + seen->memory.bytes;
}
