#include "mpi/bounce/stage_gaps.h"

#include "core/settings.h"
#include "core/status.h"

/* What is copied: elements of `plan` in the program's memory, and in the image. */
struct gaps {
    const struct tutti_plan *plan;
    uint64_t count;
    void *user, *image;
    struct tutti_places places; /* of `user` */
};

/* Elements of a type without a plan are copied as rows of the bytes that they have: the order of bytes is the same on
 * both sides, and need not be that of a message. */
static int gaps_find(const struct tutti_stage *stage, struct gaps *gaps)
{
    *gaps = (struct gaps){.plan = stage->plan, .count = (uint64_t)stage->count};
    if (stage->plan) {
        gaps->user = stage->user + stage->origin;
        gaps->image = stage->host;
        gaps->places = stage->places;
        return TUTTI_OK;
    }
    struct tutti_layout *const layout = tutti_layout_of(stage->type);
    if (!layout || !(gaps->plan = tutti_layout_bytes(layout, stage->type)))
        return TUTTI_ERR_MEMORY;
    gaps->user = stage->user + stage->first;
    gaps->image = stage->memory + stage->first;
    tutti_places_of(gaps->plan, stage->count, gaps->user, &gaps->places);
    return TUTTI_OK;
}

int tutti_stage_copy_gaps(const struct tutti_stage *stage, int out)
{
    struct gaps gaps;
    int status = gaps_find(stage, &gaps);
    if (status != TUTTI_OK)
        return status;
    const size_t bytes = (size_t)gaps.count * gaps.plan->size, most = (size_t)tutti_settings()->staging_mb << 20;
    struct tutti_scratch scratch;
    void *const packed = tutti_scratch_take_sent(&scratch, bytes < most ? bytes : most, 0);
    if (!packed)
        return TUTTI_ERR_MEMORY;
    for (size_t at = 0, n; at < bytes && status == TUTTI_OK; at += n) {
        n = bytes - at < most ? bytes - at : most;
        if (out)
            tutti_plan_pack_host(gaps.plan, gaps.count, gaps.image, at, n, packed);
        status = tutti_packed_move(out ? TUTTI_UNPACK : TUTTI_PACK, &gaps.places, gaps.plan, (int64_t)gaps.count,
                                   gaps.user, at, n, packed);
        if (!out && status == TUTTI_OK)
            tutti_plan_unpack_host(gaps.plan, gaps.count, gaps.image, at, n, packed);
    }
    tutti_scratch_give(&scratch);
    return status;
}
