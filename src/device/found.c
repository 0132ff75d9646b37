#include "device/found.h"

__thread struct tutti_found *tutti_found_now;

static void found_add(struct tutti_found *found, const char *first, const char *end, const struct tutti_memory *memory)
{
    if (found->n == TUTTI_FOUND)
        return;
    found->range[found->n].first = first;
    found->range[found->n].end = end;
    found->range[found->n].memory = *memory;
    found->n++;
}

static int found_holds(const struct tutti_found *found, const char *at, struct tutti_memory *out)
{
    for (unsigned i = found->n; i-- > 0;) {
        if (at >= found->range[i].first && at < found->range[i].end) {
            *out = found->range[i].memory;
            return 1;
        }
    }
    return 0;
}

/* Of device memory its whole allocation is known then, of other memory this byte. */
static void found_ask(struct tutti_found *found, int i)
{
    struct tutti_memory memory;
    const char *const at = found->own[i];
    found->own[i] = NULL;
    tutti_device()->memory.classify(at, &memory);
    const char *const base = memory.base;
    if (memory.kind == TUTTI_MEMORY_DEVICE && at >= base && at < base + memory.bytes)
        found_add(found, base, base + memory.bytes, &memory);
    else
        found_add(found, at, at + 1, &memory);
}

void tutti_found_look(const void *pointer, struct tutti_memory *out)
{
    struct tutti_found *const found = tutti_found_now;
    const char *const at = pointer;
    for (int i = 0; i < 2 && at; i++) {
        if (found->own[i] == at)
            found_ask(found, i);
    }
    if (found_holds(found, at, out))
        return;
    for (int i = 0; i < 2; i++) { /* a block behind the beginning of its buffer */
        if (!found->own[i] || (const char *)found->own[i] > at)
            continue;
        found_ask(found, i);
        if (found_holds(found, at, out))
            return;
    }
    tutti_device()->memory.classify(at, out);
}

void tutti_found_span(const void *first, const void *end)
{
    struct tutti_found *const found = tutti_found_now;
    struct tutti_memory memory, last;
    if (!found)
        return;
    tutti_found_look(first, &memory);
    if (memory.kind == TUTTI_MEMORY_DEVICE)
        return;
    tutti_found_look((const char *)end - 1, &last);
    if (last.kind == memory.kind && last.gpu == memory.gpu)
        found_add(found, first, end, &memory);
}
