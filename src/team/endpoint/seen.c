#include "team/endpoint/seen.h"

#include "device/found.h"

static int seen_in(const struct tutti_memory *memory, const char *first, const char *end)
{
    const char *base = memory->base;
    return memory->kind == TUTTI_MEMORY_DEVICE && first >= base && end <= base + memory->bytes;
}

int tutti_seen_holds(struct tutti_seen *seen, const char *first, const char *end)
{
    if (seen_in(&seen->memory, first, end))
        return 1;
    const struct tutti_memory memory = seen->memory;
    const struct tutti_endpoint_memo memo = seen->memo;
    if (seen_in(&seen->before.memory, first, end)) {
        seen->memory = seen->before.memory;
        seen->memo = seen->before.memo;
    } else {
        tutti_memory_at(tutti_device(), first, &seen->memory);
        seen->memo.of = NULL;
    }
    seen->before.memory = memory;
    seen->before.memo = memo;
    return seen_in(&seen->memory, first, end);
}
