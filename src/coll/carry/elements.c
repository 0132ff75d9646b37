/* Elements of moves over nodes: where they lie, copies between them. */
#include <stdlib.h>

#include "coll/carry/own.h"
#include "core/status.h"

int tutti_carry_run_of(void *at, uint64_t bytes, struct tutti_elements *out)
{
    *out = (struct tutti_elements){.plan = tutti_plan_of_byte(), .count = (int64_t)bytes, .buffer = at, .whole = 1};
    return out->plan ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

int tutti_carry_on_host(struct tutti_elements *elements)
{
    const struct tutti_device *device = tutti_device();
    if (!elements->placed && !tutti_device_active(device))
        elements->placed = 1; /* in no place of a device */
    return !tutti_elements_places(elements)->device;
}

/* Both are runs of bytes: the device finds out in which memory. Host memory may be ordinary. */
static int elements_copy_run(struct tutti_elements *from, struct tutti_elements *to, uint64_t bytes)
{
    char *const at = tutti_elements_run(to), *const of = tutti_elements_run(from);
    if (at == of)
        return TUTTI_OK;
    if (tutti_carry_on_host(from) && tutti_carry_on_host(to))
        return tutti_elements_move(TUTTI_UNPACK, to, 0, bytes, of);
    return tutti_device()->memory.copy_now(at, of, bytes);
}

int tutti_carry_copy(struct tutti_elements *from, struct tutti_elements *to)
{
    enum { MOST = 4 << 20 };
    const uint64_t bytes = tutti_elements_bytes(from);
    struct tutti_host_memory area = {.memory = NULL};
    if (bytes != tutti_elements_bytes(to))
        return TUTTI_ERR_MISMATCH;
    if (from->whole && to->whole)
        return elements_copy_run(from, to, bytes);
    int status = tutti_host_memory_take(&area, bytes < MOST ? bytes : MOST);
    for (uint64_t at = 0; at < bytes && status == TUTTI_OK; at += MOST) {
        const uint64_t n = bytes - at < MOST ? bytes - at : MOST;
        status = tutti_elements_move(TUTTI_PACK, from, at, n, area.memory);
        if (status == TUTTI_OK)
            status = tutti_elements_move(TUTTI_UNPACK, to, at, n, area.memory);
    }
    tutti_host_memory_give(&area);
    return status;
}

int tutti_carry_set_aside(struct tutti_carry_call *c)
{
    struct tutti_move *move = c->move;
    uint64_t bytes = 0, at = 0;
    for (int i = 0; i < move->sends; i++)
        bytes += move->send[i].bytes;
    int status = bytes > 0 ? tutti_host_memory_take(&c->aside, bytes) : TUTTI_OK;
    for (int i = 0; i < move->sends && status == TUTTI_OK; i++) {
        struct tutti_move_block *block = &move->send[i];
        char *const packed = c->aside.memory + at;
        if (block->bytes == 0)
            continue;
        (void)tutti_carry_on_host(&block->elements);
        status = tutti_elements_move(TUTTI_PACK, &block->elements, 0, block->bytes, packed);
        if (status == TUTTI_OK)
            status = tutti_carry_run_of(packed, block->bytes, &block->elements);
        at += block->bytes;
    }
    return status;
}
