/* Launches of the kernel of updates. */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/status.h"
#include "core/types.h"
#include "device/host/work.h"
#include "device/host/work_reach.h"

static int update_item_reach(int gpu, size_t size, struct tutti_update_item *item)
{
    void *from = NULL;
    int status = tutti_work_reach(gpu, "origin of an update", item->from, (size_t)item->n * size, &from);
    item->from = from;
    return status == TUTTI_OK
               ? tutti_work_reach(gpu, "target of an update", item->to, (size_t)item->n * size, &item->to)
               : status;
}

/* 1 if item i and one before it change the same byte, which blocks of a GPU would do at the same time. */
static int update_meets(const struct tutti_update_item *items, unsigned i, size_t size)
{
    const uintptr_t to = (uintptr_t)items[i].to;
    for (unsigned k = 0; k < i; k++) {
        const uintptr_t other = (uintptr_t)items[k].to;
        if (to < other + items[k].n * size && other < to + items[i].n * size) {
            tutti_error("host device: two blocks of one launch update the byte at %p", items[to < other ? k : i].to);
            return 1;
        }
    }
    return 0;
}

int tutti_work_update(struct tutti_work *work, int gpu, const struct tutti_launch *launch)
{
    const size_t size = tutti_type_size(launch->type);
    struct tutti_update_args *args = &work->update;
    int status = TUTTI_OK;
    *args = *launch->update;
    if (launch->blocks < 1 || launch->blocks > TUTTI_MAX_BLOCKS || (!args->items && launch->blocks > 1) ||
        (args->done && launch->blocks > 1))
        return TUTTI_ERR_ARGUMENT;
    if (!args->items)
        return update_item_reach(gpu, size, &args->item);
    work->items = malloc(launch->blocks * sizeof *work->items);
    if (!work->items)
        return TUTTI_ERR_MEMORY;
    memcpy(work->items, args->items, launch->blocks * sizeof *work->items);
    args->items = work->items;
    for (unsigned i = 0; i < launch->blocks && status == TUTTI_OK; i++) {
        status = update_item_reach(gpu, size, &work->items[i]);
        if (status == TUTTI_OK && update_meets(work->items, i, size))
            status = TUTTI_ERR_ARGUMENT;
    }
    if (status != TUTTI_OK)
        tutti_work_drop(work);
    return status;
}
