/* Puts and gets of mapped windows: one layout into another by kernels of this rank's GPU. Those of an epoch go in one
 * launch, when it completes them. What kernels do not reach passes through pinned memory. */
#include "bounce/bounce.h"
#include "mpi/message/endpoints.h"
#include "mpi/rma/mapped.h"

enum { PIECE = 4 << 20, PINNED_MOST = 64 << 10 };

int tutti_mapped_buffer(const struct tutti_mapped *mapped, const void *memory, MPI_Count count, MPI_Datatype type,
                        const struct tutti_memory *known, struct tutti_mapped_buffer *out)
{
    const struct tutti_layout *layout = tutti_layout_of(type);
    *out = (struct tutti_mapped_buffer){.bytes = 0};
    if (!layout)
        return TUTTI_ERR_MEMORY;
    if (!layout->plan)
        return TUTTI_ERR_UNAVAILABLE;
    out->elements = tutti_message_elements(memory, count, layout);
    if (__builtin_mul_overflow((uint64_t)count, layout->plan->size, &out->bytes))
        return TUTTI_ERR_ARGUMENT;
    if (out->bytes == 0)
        return TUTTI_OK;
    if (known)
        tutti_elements_place(&out->elements, known);
    const struct tutti_places *places = tutti_elements_places(&out->elements);
    const char *lowest, *end;
    tutti_elements_span(&out->elements, &lowest, &end);
    out->reached = tutti_places_reached(places);
    out->near = out->reached && places->device && places->gpu == mapped->gpu;
    if (out->reached && places->device && places->gpu != mapped->gpu)
        out->reached = places->gpu < 0 || mapped->gpu < 0 || !tutti_door.device->share.reach ||
                       tutti_door.device->share.reach(mapped->gpu, lowest) == TUTTI_OK;
    return TUTTI_OK;
}

static struct tutti_pack_job move_job_of(const struct tutti_mapped_buffer *from, const struct tutti_mapped_buffer *to)
{
    return (struct tutti_pack_job){.direction = TUTTI_RELAYOUT,
                                   .plan = from->elements.plan,
                                   .count = (uint64_t)from->elements.count,
                                   .memory = from->elements.buffer,
                                   .to_plan = to->elements.plan,
                                   .to_count = (uint64_t)to->elements.count,
                                   .to = to->elements.buffer,
                                   .bytes = to->bytes};
}

int tutti_mapped_part(const struct tutti_mapped *mapped, enum tutti_direction direction,
                      struct tutti_mapped_buffer *buffer, uint64_t first, uint64_t bytes, void *pinned)
{
    if (!buffer->reached)
        return tutti_elements_move(direction, &buffer->elements, first, bytes, pinned);
    const struct tutti_pack_job job = tutti_elements_job(direction, &buffer->elements, first, bytes, pinned);
    return tutti_pack_reached(mapped->gpu, &job, 1, 0);
}

static int move_pieces(const struct tutti_mapped *mapped, struct tutti_mapped_buffer *from,
                       struct tutti_mapped_buffer *to)
{
    const uint64_t bytes = to->bytes, piece = bytes < PIECE ? bytes : PIECE;
    struct tutti_bounce *bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, (size_t)piece);
    int status = bounce ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (uint64_t done = 0; done < bytes && status == TUTTI_OK; done += piece) {
        const uint64_t n = bytes - done < piece ? bytes - done : piece;
        status = tutti_mapped_part(mapped, TUTTI_PACK, from, done, n, bounce->memory);
        if (status == TUTTI_OK)
            status = tutti_mapped_part(mapped, TUTTI_UNPACK, to, done, n, bounce->memory);
    }
    tutti_bounce_give(bounce);
    return status;
}

int tutti_mapped_move(const struct tutti_mapped *mapped, struct tutti_mapped_buffer *from,
                      struct tutti_mapped_buffer *to)
{
    const struct tutti_pack_job job = move_job_of(from, to);
    int status = TUTTI_ERR_UNAVAILABLE;
    if (to->bytes == 0)
        return TUTTI_OK;
    if (from->reached && to->reached)
        status = tutti_pack_reached(mapped->gpu, &job, 1, to->near ? TUTTI_PACK_NEAR : 0);
    return status == TUTTI_ERR_UNAVAILABLE ? move_pieces(mapped, from, to) : status;
}

/* ---- in one launch ---- */

/* By itself, where all jobs together are too irregular for a launch. */
static int move_job_run(struct tutti_mapped *mapped, const struct tutti_pack_job *job)
{
    if (job->direction != TUTTI_RELAYOUT)
        return tutti_pack_reached(mapped->gpu, job, 1, 0);
    struct tutti_mapped_buffer from = {
        .elements = {.plan = job->plan, .count = (int64_t)job->count, .buffer = job->memory},
        .bytes = job->bytes,
        .reached = 1};
    struct tutti_mapped_buffer to = {
        .elements = {.plan = job->to_plan, .count = (int64_t)job->to_count, .buffer = job->to},
        .bytes = job->bytes,
        .reached = 1};
    return tutti_mapped_move(mapped, &from, &to);
}

/* The job is done, or has failed. A status. */
static int move_job_end(const struct tutti_pack_job *job, struct tutti_mapped_pinned *pinned, int status)
{
    if (status == TUTTI_OK && pinned->to.plan)
        status = tutti_elements_move(TUTTI_UNPACK, &pinned->to, 0, job->bytes, pinned->bounce->memory);
    tutti_bounce_give(pinned->bounce);
    tutti_plan_drop(job->plan);
    if (pinned->to.plan)
        tutti_plan_drop(pinned->to.plan);
    if (job->to_plan)
        tutti_plan_drop(job->to_plan);
    return status;
}

/* The mutex is held. */
static int move_jobs_run(struct tutti_mapped *mapped)
{
    const unsigned n = mapped->jobs;
    int status =
        n > 0 ? tutti_pack_reached(mapped->gpu, mapped->job, n, mapped->stores_far ? 0 : TUTTI_PACK_NEAR) : TUTTI_OK;
    const int singly = status == TUTTI_ERR_UNAVAILABLE;
    status = singly ? TUTTI_OK : status;
    for (unsigned i = 0; i < n; i++) {
        if (singly && status == TUTTI_OK)
            status = move_job_run(mapped, &mapped->job[i]);
        status = move_job_end(&mapped->job[i], &mapped->pinned[i], status);
    }
    mapped->jobs = 0;
    mapped->stores_far = 0;
    return status;
}

/* The mutex is held. Plans are held until the job has run. */
static int move_job_add(struct tutti_mapped *mapped, const struct tutti_pack_job *job,
                        const struct tutti_mapped_pinned *pinned, int near)
{
    const int status = mapped->jobs == TUTTI_MAPPED_JOBS ? move_jobs_run(mapped) : TUTTI_OK;
    tutti_plan_hold(job->plan);
    if (job->to_plan)
        tutti_plan_hold(job->to_plan);
    if (pinned->to.plan)
        tutti_plan_hold(pinned->to.plan);
    mapped->job[mapped->jobs] = *job;
    mapped->pinned[mapped->jobs++] = *pinned;
    mapped->stores_far |= !near;
    return status;
}

/* One of the two is not reached. *pinned: memory for its packed elements; for a put with them. */
static int move_job_of_pinned(struct tutti_mapped_buffer *from, struct tutti_mapped_buffer *to,
                              struct tutti_pack_job *job, struct tutti_mapped_pinned *pinned)
{
    const struct tutti_elements *reached = from->reached ? &from->elements : &to->elements;
    *pinned = (struct tutti_mapped_pinned){.bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, (size_t)to->bytes)};
    if (!pinned->bounce)
        return TUTTI_ERR_MEMORY;
    *job = tutti_elements_job(from->reached ? TUTTI_PACK : TUTTI_UNPACK, reached, 0, to->bytes, pinned->bounce->memory);
    if (from->reached) {
        pinned->to = to->elements;
        return TUTTI_OK;
    }
    const int status = tutti_elements_move(TUTTI_PACK, &from->elements, 0, to->bytes, pinned->bounce->memory);
    if (status != TUTTI_OK)
        tutti_bounce_give(pinned->bounce);
    return status;
}

int tutti_mapped_move_later(struct tutti_mapped *mapped, struct tutti_mapped_buffer *from,
                            struct tutti_mapped_buffer *to)
{
    struct tutti_pack_job job = move_job_of(from, to);
    struct tutti_mapped_pinned pinned = {.bounce = NULL};
    int status = TUTTI_OK;
    if (to->bytes == 0)
        return TUTTI_OK;
    if (!from->reached || !to->reached) {
        if (to->bytes > PINNED_MOST)
            return tutti_mapped_move(mapped, from, to);
        status = move_job_of_pinned(from, to, &job, &pinned);
        if (status != TUTTI_OK)
            return status;
    }
    pthread_mutex_lock(&mapped->mutex);
    status = move_job_add(mapped, &job, &pinned, to->near);
    pthread_mutex_unlock(&mapped->mutex);
    return status;
}

int tutti_mapped_flush(struct tutti_mapped *mapped)
{
    const int updated = tutti_mapped_batch_run(mapped);
    pthread_mutex_lock(&mapped->mutex);
    const int moved = move_jobs_run(mapped);
    pthread_mutex_unlock(&mapped->mutex);
    return updated == TUTTI_OK ? moved : updated;
}
