#include "dtype/pack/jobs.h"

#include <stddef.h>
#include <string.h>

#include "core/log.h"
#include "core/status.h"
#include "dtype/pack/box.h"

static const uint64_t PIECE = UINT64_C(1) << 30; /* bytes of one part that is looked up */

static uint64_t jobs_address(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* Bytes [*low, *high) from the buffer that `count` elements touch. */
static void jobs_touched(const struct tutti_plan *plan, uint64_t count, int64_t *low, int64_t *high)
{
    const int64_t last = (int64_t)(count - 1) * plan->extent;
    *low = plan->true_lower + (last < 0 ? last : 0);
    *high = plan->true_end + (last > 0 ? last : 0);
}

static struct tutti_parts_reach reach_memory(uint32_t at, uint32_t extra, const void *memory,
                                             const struct tutti_plan *plan, uint64_t count)
{
    int64_t low, high;
    jobs_touched(plan, count, &low, &high);
    return (struct tutti_parts_reach){at, extra, (const void *)(uintptr_t)(jobs_address(memory) + (uint64_t)low),
                                      (size_t)(high - low)};
}

/* ---- regular segments ---- */
/* Dimensions of a segment in a message of `count` elements, slowest first; `to` equals `from` if there is no other
 * side. Returns 0 if there are too many. */
static int jobs_box_of(const struct tutti_plan *plan, uint32_t i, uint64_t count, const struct tutti_plan_image *image,
                       struct tutti_box *box)
{
    const struct tutti_segment *s = &plan->segment[i];
    if (s->dims + 3 > TUTTI_BOX_DIMS)
        return 0;
    *box = (struct tutti_box){
        .from = (uint64_t)s->offset, .to = (uint64_t)s->offset, .packed = s->packed, .block = s->block, .list = -1};
    box->dim[box->dims++] = (struct tutti_box_dim){count, plan->extent, plan->extent, plan->size};
    for (uint32_t d = 0; d <= s->dims; d++) {
        if (s->begins && d == s->list_at) {
            box->ragged = 1;
            box->image = &image->list[i];
            box->block = s->begins[s->entries];
        } else if (s->entries && d == s->list_at) {
            box->list = box->dims;
            box->image = &image->list[i];
            box->dim[box->dims++] = (struct tutti_box_dim){s->entries, 0, 0, s->pitch};
        }
        if (d < s->dims)
            box->dim[box->dims++] =
                (struct tutti_box_dim){s->dim[d].count, s->dim[d].stride, s->dim[d].stride, (uint64_t)s->dim[d].packed};
    }
    return 1;
}

static void pack_side(struct tutti_box *box, const struct tutti_pack_job *job)
{
    const uint64_t packed = jobs_address(job->packed) - job->first + box->packed;
    const int unpack = job->direction == TUTTI_UNPACK;
    box->from = unpack ? packed : box->from + jobs_address(job->memory);
    box->to = unpack ? box->to + jobs_address(job->memory) : packed;
    box->sides = unpack ? TUTTI_PACK_LIST_TO : TUTTI_PACK_LIST_FROM;
    for (int d = 0; d < box->dims; d++)
        *(unpack ? &box->dim[d].from : &box->dim[d].to) = (int64_t)box->dim[d].packed;
}

/* ---- small elements ---- */
static int add_table(struct tutti_parts *parts, const struct tutti_pack_job *job, const struct tutti_plan_image *image)
{
    const struct tutti_plan *plan = job->plan;
    const int out = job->direction == TUTTI_UNPACK;
    uint64_t first = job->first;
    const uint64_t end = job->first + job->bytes;
    int status = TUTTI_OK;
    while (first < end && status == TUTTI_OK) {
        const uint64_t element = first / plan->size, bytes = end - first < PIECE / 2 ? end - first : PIECE / 2;
        const uint64_t memory = jobs_address(job->memory) + element * (uint64_t)plan->extent;
        const uint64_t dense = jobs_address(job->packed) + (first - job->first), skip = first - element * plan->size;
        const uint64_t bits = memory | dense | (uint64_t)plan->extent | skip | bytes | UINT64_C(1) << image->wide;
        const unsigned word = (unsigned)(bits & (~bits + 1));
        struct tutti_pack_table what = {.table = image->table,
                                        .extent = plan->extent,
                                        .skip = (uint32_t)(skip / word),
                                        .words = (uint32_t)(plan->size / word),
                                        .wide = image->wide};
        tutti_pack_magic(what.words, &what.magic, &what.shift);
        struct tutti_pack_part part = {.from = (const unsigned char *)(uintptr_t)(out ? dense : memory),
                                       .to = (unsigned char *)(uintptr_t)(out ? memory : dense),
                                       .block = (uint32_t)bytes,
                                       .units = (uint32_t)(((dense & 15) + bytes + 15) / 16),
                                       .tile = TUTTI_PACK_THREADS * word * (unsigned)TUTTI_PACK_TURNS(word) / 16,
                                       .way = out ? TUTTI_PACK_SCATTER : TUTTI_PACK_GATHER,
                                       .flags = TUTTI_PACK_TABLE,
                                       .word = (uint8_t)word,
                                       .list_dim = TUTTI_PACK_NO_LIST};
        const uint64_t elements = (skip + bytes + plan->size - 1) / plan->size;
        const struct tutti_parts_reach reach[] = {
            {out ? offsetof(struct tutti_pack_part, from) : offsetof(struct tutti_pack_part, to), 0,
             (const void *)(uintptr_t)dense, (size_t)bytes},
            reach_memory(out ? offsetof(struct tutti_pack_part, to) : offsetof(struct tutti_pack_part, from), 0,
                         (const void *)(uintptr_t)memory, plan, elements),
            {offsetof(struct tutti_pack_table, table), 1, image->table, image->words * sizeof(int32_t)},
        };
        status = tutti_parts_add(parts, &part, &what, sizeof what / 8, reach, 3);
        first += bytes;
    }
    return status;
}

/* ---- anything into anything ---- */
struct lookup {
    struct tutti_pack_locate what;
    uint64_t rest[(TUTTI_PACK_MANY_BYTES - sizeof(struct tutti_pack_locate)) / 8];
};

/* Appends one side to the *used words of 8 bytes; 0 without room. */
static int write_side(struct lookup *lookup, struct tutti_pack_side *side, uint32_t *used,
                      const struct tutti_plan *plan, const struct tutti_plan_image *image, void *memory, uint64_t *bits,
                      struct tutti_parts_reach *reach, unsigned *reaches, unsigned most)
{
    uint64_t *const pool = (uint64_t *)(void *)lookup;
    *side = (struct tutti_pack_side){memory, plan->size, plan->extent, plan->segments, *used};
    *bits |= jobs_address(memory) | plan->size | (uint64_t)plan->extent;
    uint32_t steps = *used + plan->segments * (uint32_t)(sizeof(struct tutti_pack_segment) / 8);
    if ((uint64_t)plan->segments * sizeof(struct tutti_pack_segment) > sizeof *lookup)
        return 0;
    for (uint32_t i = 0; i < plan->segments; i++) {
        const struct tutti_segment *s = &plan->segment[i];
        const uint32_t at = *used + i * (uint32_t)(sizeof(struct tutti_pack_segment) / 8);
        if (((size_t)steps + s->dims * 3) * 8 > sizeof *lookup || *reaches + 2 > most)
            return 0;
        struct tutti_pack_segment it = {.offset = s->offset,
                                        .packed = s->packed,
                                        .block = s->block,
                                        .entries = s->entries,
                                        .pitch = s->pitch,
                                        .steps = s->dims,
                                        .list_at = s->list_at,
                                        .at = steps};
        *bits |= (uint64_t)s->offset | s->packed | s->block | s->pitch;
        if (s->entries) {
            const struct tutti_image_list *list = &image->list[i];
            it.offsets = list->offsets;
            it.begins = list->begins;
            it.wide = (uint32_t)list->wide;
            *bits |= list->bits;
            reach[(*reaches)++] = (struct tutti_parts_reach){at * 8 + offsetof(struct tutti_pack_segment, offsets), 1,
                                                             list->offsets, list->bytes[0]};
            if (list->begins)
                reach[(*reaches)++] = (struct tutti_parts_reach){at * 8 + offsetof(struct tutti_pack_segment, begins),
                                                                 1, list->begins, list->bytes[1]};
        }
        memcpy(pool + at, &it, sizeof it);
        for (uint32_t d = 0; d < s->dims; d++, steps += 3) {
            const struct tutti_pack_step step = {s->dim[d].count, (uint64_t)s->dim[d].packed, s->dim[d].stride};
            memcpy(pool + steps, &step, sizeof step);
            *bits |= step.packed | (uint64_t)step.stride;
        }
    }
    *used = steps;
    return 1;
}

static int add_lookup(struct tutti_parts *parts, const struct tutti_pack_job *job, const struct tutti_plan_image *image,
                      const struct tutti_plan_image *to_image)
{
    enum { REACHES = 64 };
    struct lookup lookup;
    struct tutti_parts_reach reach[REACHES];
    unsigned reaches = 2;
    uint32_t used = sizeof lookup.what / 8;
    uint64_t bits = job->first | job->bytes | 16;
    struct tutti_pack_side side[2];
    const uint32_t at[2] = {offsetof(struct tutti_pack_locate, from), offsetof(struct tutti_pack_locate, to)};
    for (int i = 0; i < 2; i++) {
        const int packed = (i == 0 && job->direction == TUTTI_UNPACK) || (i == 1 && job->direction == TUTTI_PACK);
        const int target = i == 1 && job->direction == TUTTI_RELAYOUT;
        const uint32_t slot = at[i] + offsetof(struct tutti_pack_side, base);
        const struct tutti_plan *plan = target ? job->to_plan : job->plan;
        if (packed) {
            side[i] =
                (struct tutti_pack_side){.base = (unsigned char *)(uintptr_t)(jobs_address(job->packed) - job->first)};
            reach[i] = (struct tutti_parts_reach){slot, 1, job->packed, (size_t)job->bytes};
            bits |= jobs_address(side[i].base);
        } else if (write_side(&lookup, &side[i], &used, plan, target ? to_image : image, target ? job->to : job->memory,
                              &bits, reach, &reaches, REACHES)) {
            reach[i] = reach_memory(slot, 1, side[i].base, plan, target ? job->to_count : job->count);
        } else {
            tutti_error("a datatype of %u segments is too irregular for one kernel", plan->segments);
            return TUTTI_ERR_UNAVAILABLE;
        }
    }
    int status = TUTTI_OK;
    for (uint64_t done = 0; done < job->bytes && status == TUTTI_OK; done += PIECE) {
        const uint64_t bytes = job->bytes - done < PIECE ? job->bytes - done : PIECE;
        const unsigned word = (unsigned)(bits & (~bits + 1));
        struct tutti_pack_part part = {.units = (uint32_t)(bytes / word),
                                       .tile = TUTTI_PACK_THREADS,
                                       .way = TUTTI_PACK_LOCATE,
                                       .word = (uint8_t)word,
                                       .list_dim = TUTTI_PACK_NO_LIST};
        lookup.what = (struct tutti_pack_locate){job->first + done, side[0], side[1]};
        status = tutti_parts_add(parts, &part, &lookup, used, reach, reaches);
    }
    return status;
}

/* ---- straight from one layout into another ---- */
struct levels {
    uint64_t count[TUTTI_BOX_DIMS + 1]; /* fastest first; the block is a dimension of bytes */
    int64_t stride[TUTTI_BOX_DIMS + 1];
    int n, at;
    int64_t offset;
};

static int jobs_levels_of(const struct tutti_plan *plan, uint64_t count, struct levels *levels)
{
    struct tutti_box box;
    if (plan->segments != 1 || plan->segment[0].entries || !jobs_box_of(plan, 0, count, NULL, &box))
        return 0;
    *levels = (struct levels){.n = 1, .count = {box.block}, .stride = {1}, .offset = (int64_t)box.from};
    for (int d = box.dims - 1; d >= 0; d--) {
        if (box.dim[d].count == 1)
            continue;
        levels->count[levels->n] = box.dim[d].count;
        levels->stride[levels->n++] = box.dim[d].from;
    }
    return 1;
}

static uint64_t jobs_common(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Takes the next `n` of the level's indices. */
static int64_t jobs_take(struct levels *levels, uint64_t n)
{
    const int64_t stride = levels->stride[levels->at];
    levels->count[levels->at] /= n;
    levels->stride[levels->at] *= (int64_t)n;
    if (levels->count[levels->at] == 1)
        levels->at++;
    return stride;
}

/* One box where both layouts are regular and their dimensions can be cut into the same ones. */
static int jobs_joint(const struct tutti_pack_job *job, struct tutti_box *box)
{
    struct levels from, to;
    struct tutti_box_dim dim[2 * TUTTI_BOX_DIMS];
    int n = 0;
    if (!jobs_levels_of(job->plan, job->count, &from) || !jobs_levels_of(job->to_plan, job->to_count, &to))
        return 0;
    uint64_t span = 1;
    while (from.at < from.n && to.at < to.n) {
        const uint64_t both = jobs_common(from.count[from.at], to.count[to.at]);
        if (both == 1 || n == 2 * TUTTI_BOX_DIMS) {
            if (from.count[from.at] != 1 && to.count[to.at] != 1)
                return 0;
            from.at += from.count[from.at] == 1;
            to.at += to.count[to.at] == 1;
            continue;
        }
        dim[n].count = both;
        dim[n].from = jobs_take(&from, both);
        dim[n].to = jobs_take(&to, both);
        dim[n++].packed = span;
        span *= both;
    }
    *box = (struct tutti_box){.from = jobs_address(job->memory) + (uint64_t)from.offset,
                              .to = jobs_address(job->to) + (uint64_t)to.offset,
                              .list = -1};
    box->block = 1;
    int low = 0;
    if (n > 0 && dim[0].from == 1 && dim[0].to == 1)
        box->block = dim[low++].count;
    if (n - low > TUTTI_BOX_DIMS)
        return 0;
    while (n > low)
        box->dim[box->dims++] = dim[--n];
    return 1;
}

static int add_relayout(struct tutti_parts *parts, const struct tutti_pack_job *job,
                        const struct tutti_plan_image *image, const struct tutti_plan_image *to_image)
{
    const uint64_t end = job->first + job->bytes;
    struct tutti_box box;
    int same = job->plan == job->to_plan, status = TUTTI_OK;
    if (!same)
        return jobs_joint(job, &box) ? tutti_box_add(parts, &box, job->first, end)
                                     : add_lookup(parts, job, image, to_image);
    for (uint32_t i = 0; i < job->plan->segments; i++)
        same = same && !job->plan->segment[i].begins && jobs_box_of(job->plan, i, job->count, image, &box);
    if (!same)
        return add_lookup(parts, job, image, to_image);
    for (uint32_t i = 0; i < job->plan->segments && status == TUTTI_OK; i++) {
        jobs_box_of(job->plan, i, job->count, image, &box);
        box.from += jobs_address(job->memory);
        box.to += jobs_address(job->to);
        box.sides = TUTTI_PACK_LIST_FROM | TUTTI_PACK_LIST_TO;
        status = tutti_box_add(parts, &box, job->first, end);
    }
    return status;
}

/* Puts one more dimension round all others. */
static void put_repeat(struct tutti_box *box, const struct tutti_pack_job *job, const struct tutti_repeat *repeat)
{
    const int unpack = job->direction == TUTTI_UNPACK;
    memmove(box->dim + 1, box->dim, (size_t)box->dims * sizeof box->dim[0]);
    box->dim[0] = (struct tutti_box_dim){repeat->n, unpack ? repeat->packed : repeat->memory,
                                         unpack ? repeat->memory : repeat->packed, 0};
    box->dims++;
    box->list += box->list >= 0;
}

/* The job by itself, n times. */
static int repeat_each(struct tutti_parts *parts, const struct tutti_pack_job *job,
                       const struct tutti_plan_image *image, const struct tutti_repeat *repeat,
                       int (*add)(struct tutti_parts *, const struct tutti_pack_job *, const struct tutti_plan_image *))
{
    struct tutti_pack_job it = *job;
    int status = TUTTI_OK;
    for (uint64_t i = 0; i < repeat->n && status == TUTTI_OK; i++) {
        status = add(parts, &it, image);
        it.memory = (void *)(uintptr_t)(jobs_address(it.memory) + (uint64_t)repeat->memory);
        it.packed = (void *)(uintptr_t)(jobs_address(it.packed) + (uint64_t)repeat->packed);
    }
    return status;
}

static int look_up_packed(struct tutti_parts *parts, const struct tutti_pack_job *job,
                          const struct tutti_plan_image *image)
{
    return add_lookup(parts, job, image, NULL);
}

/* All repetitions of the job. */
static int add_segments(struct tutti_parts *parts, const struct tutti_pack_job *job,
                        const struct tutti_plan_image *image, const struct tutti_repeat *repeat)
{
    const struct tutti_plan *plan = job->plan;
    const uint64_t end = job->first + job->bytes;
    struct tutti_box box;
    int beyond = 0, status = TUTTI_OK;
    for (uint32_t i = 0; i < plan->segments; i++)
        beyond |=
            (plan->segment[i].begins && plan->segment[i].entries > UINT32_MAX) || !jobs_box_of(plan, i, 1, image, &box);
    if (beyond)
        return repeat_each(parts, job, image, repeat, look_up_packed);
    for (uint32_t i = 0; i < plan->segments && status == TUTTI_OK; i++) {
        jobs_box_of(plan, i, job->count, image, &box);
        pack_side(&box, job);
        if (repeat->n > 1) {
            put_repeat(&box, job, repeat);
            status = tutti_box_add_whole(parts, &box);
        } else {
            status = tutti_box_add(parts, &box, job->first, end);
        }
    }
    return status;
}

/* From or into what is one block, a relayout is packing. */
static struct tutti_pack_job jobs_simpler(const struct tutti_pack_job *job)
{
    struct tutti_pack_job it = *job;
    if (job->direction != TUTTI_RELAYOUT)
        return it;
    if (tutti_plan_is_run(job->to_plan, job->to_count)) {
        it.direction = TUTTI_PACK;
        it.packed = (void *)(uintptr_t)(jobs_address(job->to) + (uint64_t)job->to_plan->segment[0].offset + job->first);
    } else if (tutti_plan_is_run(job->plan, job->count)) {
        it.direction = TUTTI_UNPACK;
        it.packed =
            (void *)(uintptr_t)(jobs_address(job->memory) + (uint64_t)job->plan->segment[0].offset + job->first);
        it.plan = job->to_plan;
        it.count = job->to_count;
        it.memory = job->to;
    }
    return it;
}

static int is_whole(const struct tutti_pack_job *job)
{
    return job->first == 0 && job->bytes == job->plan->size * job->count;
}

unsigned tutti_job_alike(const struct tutti_pack_job *job, unsigned n, struct tutti_repeat *repeat)
{
    *repeat = (struct tutti_repeat){.n = 1};
    if (n < 2 || job->direction == TUTTI_RELAYOUT || job->bytes == 0 || !is_whole(job))
        return 1;
    const uint64_t memory = jobs_address(job[1].memory) - jobs_address(job->memory);
    const uint64_t packed = jobs_address(job[1].packed) - jobs_address(job->packed);
    const uint64_t now = jobs_address(job->memory) | jobs_address(job->packed) | 8, then = memory | packed | 8;
    unsigned alike = 1;
    if ((then & (~then + 1)) < (now & (~now + 1))) /* its words would be smaller */
        return 1;
    while (alike < n && job[alike].direction == job->direction && job[alike].plan == job->plan &&
           job[alike].count == job->count && job[alike].bytes == job->bytes && job[alike].first == 0 &&
           jobs_address(job[alike].memory) - jobs_address(job[alike - 1].memory) == memory &&
           jobs_address(job[alike].packed) - jobs_address(job[alike - 1].packed) == packed)
        alike++;
    *repeat = (struct tutti_repeat){alike, (int64_t)memory, (int64_t)packed};
    return alike;
}

int tutti_job_add(struct tutti_parts *parts, const struct tutti_pack_job *given, const struct tutti_plan_image *image,
                  const struct tutti_plan_image *to_image, const struct tutti_repeat *repeat)
{
    if (given->bytes == 0)
        return TUTTI_OK;
    const struct tutti_pack_job job = jobs_simpler(given);
    const struct tutti_plan_image *const mine = job.plan == given->plan ? image : to_image;
    if (job.direction == TUTTI_RELAYOUT)
        return add_relayout(parts, &job, image, to_image);
    if (mine && mine->table)
        return repeat_each(parts, &job, mine, repeat, add_table);
    return add_segments(parts, &job, mine, repeat);
}
