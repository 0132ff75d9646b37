/* Accumulates of few bytes: they wait for the call that completes them, which makes all of them in one launch. */
#include "bounce/bounce.h"
#include "core/types.h"
#include "mpi/message/endpoints.h"
#include "mpi/rma/mapped.h"

enum {
    ITEM = TUTTI_MAPPED_BATCH_MOST * TUTTI_MAPPED_JOBS / TUTTI_MAX_BLOCKS, /* bytes that a block combines */
    FEW = 512,                                                             /* bytes that a warp loads at once */
    WARP = 32
};

/* The first target behind this one; -1: no such target. */
static int batch_target(const struct tutti_mapped_batch *batch, int behind)
{
    int first = -1;
    for (unsigned i = 0; i < batch->n; i++) {
        const int target = batch->of[i].target;
        if (target > behind && (first < 0 || target < first))
            first = target;
    }
    return first;
}

/* One item for each block. Their number. */
static unsigned batch_items(const struct tutti_mapped_batch *batch, struct tutti_update_item *items)
{
    const uint64_t size = tutti_type_size(batch->type);
    unsigned n = 0;
    for (unsigned i = 0; i < batch->n; i++) {
        const struct tutti_mapped_added *added = &batch->of[i];
        for (uint64_t at = 0; at < added->bytes; at += ITEM) {
            const uint64_t bytes = added->bytes - at < ITEM ? added->bytes - at : ITEM;
            items[n] = (struct tutti_update_item){.from = added->from + at, .to = added->to + at, .n = bytes / size};
            n++;
        }
    }
    return n;
}

/* The window's mutex is held, and the words of all targets. The end of a launch of one block is seen in pinned memory.
 */
static int mapped_batch_launch(struct tutti_mapped *mapped)
{
    struct tutti_mapped_batch *batch = &mapped->batch;
    const int status = tutti_mapped_words_open(mapped);
    if (status != TUTTI_OK)
        return status;
    struct tutti_mapped_words *words = mapped->words;
    const unsigned blocks = batch_items(batch, words->item);
    struct tutti_update_args args = {.item = words->item[0], .items = blocks > 1 ? words->item : NULL};
    const struct tutti_launch launch = {.kernel = TUTTI_KERNEL_UPDATE,
                                        .type = batch->type,
                                        .op = batch->op,
                                        .blocks = blocks,
                                        .threads = blocks == 1 && batch->of[0].bytes <= FEW ? WARP : 0,
                                        .gpu = tutti_mapped_words_gpu(mapped),
                                        .update = &args};
    if (blocks > 1) {
        const int launched = tutti_door.device->launch.kernel(mapped->stream, &launch);
        return launched == TUTTI_OK ? tutti_door.device->stream.sync(mapped->stream) : launched;
    }
    args.done = &words->done;
    args.launch_number = TUTTI_MAPPED_DONE;
    return tutti_mapped_words_launch(mapped, &launch);
}

/* The batch's mutex is held. Ranks take the words of several targets in one order: none waits in a circle. */
static int batch_run(struct tutti_mapped *mapped)
{
    struct tutti_mapped_batch *batch = &mapped->batch;
    int status = TUTTI_OK, taken = -1;
    for (int t = batch_target(batch, -1); t >= 0 && status == TUTTI_OK; t = batch_target(batch, t)) {
        status = tutti_mapped_update_begin(mapped, t);
        taken = status == TUTTI_OK ? t : taken;
    }
    if (status == TUTTI_OK && batch->n > 0) {
        pthread_mutex_lock(&mapped->mutex);
        status = mapped_batch_launch(mapped);
        pthread_mutex_unlock(&mapped->mutex);
    }
    for (int t = batch_target(batch, -1); t >= 0 && t <= taken; t = batch_target(batch, t))
        tutti_mapped_update_end(mapped, t);
    for (unsigned i = 0; i < batch->n; i++)
        tutti_bounce_give(batch->of[i].bounce);
    batch->n = 0;
    return status;
}

int tutti_mapped_batch_run(struct tutti_mapped *mapped)
{
    pthread_mutex_lock(&mapped->batch.mutex);
    const int status = batch_run(mapped);
    pthread_mutex_unlock(&mapped->batch.mutex);
    return status;
}

/* 1 if it may run beside the others. */
static int batch_joins(const struct tutti_mapped_batch *batch, const struct tutti_mapped_added *added, int type, int op)
{
    if (batch->n > 0 && (batch->type != type || batch->op != op || batch->n == TUTTI_MAPPED_JOBS))
        return 0;
    if (batch->n == 0 || added->to >= batch->end || added->to + added->bytes <= batch->low)
        return 1;
    for (unsigned i = 0; i < batch->n; i++) {
        const struct tutti_mapped_added *other = &batch->of[i];
        if (added->to < other->to + other->bytes && other->to < added->to + added->bytes)
            return 0;
    }
    return 1;
}

void tutti_mapped_batch_origin(struct tutti_mapped *mapped, const void *memory, struct tutti_memory *out)
{
    struct tutti_mapped_batch *batch = &mapped->batch;
    pthread_mutex_lock(&batch->mutex);
    const struct tutti_memory *const origin = &batch->origin;
    const uint64_t at = (uint64_t)((const char *)memory - (const char *)origin->base);
    const int is_known = batch->n > 0 && origin->kind == TUTTI_MEMORY_DEVICE && at < origin->bytes;
    *out = *origin;
    pthread_mutex_unlock(&batch->mutex);
    if (!is_known)
        tutti_door.device->memory.classify(memory, out);
}

int tutti_mapped_batch_add(struct tutti_mapped *mapped, const struct tutti_mapped_added *added, int type, int op)
{
    struct tutti_mapped_batch *batch = &mapped->batch;
    pthread_mutex_lock(&batch->mutex);
    const int status = batch_joins(batch, added, type, op) ? TUTTI_OK : batch_run(mapped);
    if (status == TUTTI_OK) {
        const char *const end = added->to + added->bytes;
        batch->type = type;
        batch->op = op;
        batch->low = batch->n > 0 && batch->low < added->to ? batch->low : added->to;
        batch->end = batch->n > 0 && batch->end > end ? batch->end : end;
        batch->origin = added->memory;
        batch->of[batch->n++] = *added;
    }
    pthread_mutex_unlock(&batch->mutex);
    if (status != TUTTI_OK)
        tutti_bounce_give(added->bounce);
    return status;
}
