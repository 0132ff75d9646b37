/* Jobs between runs of bytes by the device's copy engines, which take no multiprocessor. */
#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "dtype/pack.h"
#include "dtype/pack/channel.h"
#include "progress/engine.h"

struct copies_wait {
    const struct tutti_device *device;
    struct tutti_stream *stream;
};

static int copies_are_done(void *with)
{
    const struct copies_wait *wait = with;
    return wait->device->stream.query(wait->stream);
}

/* 1 where `count` elements are one run of bytes, in the order of the message. */
static int copies_is_run(const struct tutti_plan *plan, uint64_t count)
{
    const struct tutti_segment *const segment = plan->segment;
    return plan->segments == 1 && segment->dims == 0 && segment->entries == 0 && segment->block == plan->size &&
           (count == 1 || plan->extent == (int64_t)plan->size);
}

static int copies_can(const struct tutti_pack_job *job)
{
    return copies_is_run(job->plan, job->count) &&
           (job->direction != TUTTI_RELAYOUT || copies_is_run(job->to_plan, job->to_count));
}

static int copies_start(const struct tutti_device *device, struct tutti_stream *stream,
                        const struct tutti_pack_job *job)
{
    char *memory = (char *)job->memory + job->plan->true_lower + job->first;
    if (job->bytes == 0)
        return TUTTI_OK;
    if (job->direction == TUTTI_PACK)
        return device->stream.copy(stream, job->packed, memory, job->bytes);
    if (job->direction == TUTTI_UNPACK)
        return device->stream.copy(stream, memory, job->packed, job->bytes);
    return device->stream.copy(stream, (char *)job->to + job->to_plan->true_lower + job->first, memory, job->bytes);
}

int tutti_pack_copies(int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    const struct tutti_device *device = tutti_device();
    struct tutti_pack_channel *channel;
    if (!device || !device->stream.copy || !device->stream.query || gpu < 0)
        return TUTTI_ERR_UNAVAILABLE;
    for (unsigned i = 0; i < n; i++) {
        if (!copies_can(&jobs[i]))
            return TUTTI_ERR_UNAVAILABLE;
    }
    int status = tutti_pack_channel_take(device, gpu, &channel);
    if (status != TUTTI_OK)
        return status;
    for (unsigned i = 0; i < n && status == TUTTI_OK; i++)
        status = copies_start(device, channel->stream, &jobs[i]);
    struct copies_wait wait = {device, channel->stream};
    const int ended = tutti_progress_wait(&(const struct tutti_wait){
        .done = copies_are_done, .with = &wait, .seconds = tutti_settings()->timeout_seconds, .quiet = 1});
    if (ended != TUTTI_OK)
        tutti_error("copies on GPU %d: %s", gpu, tutti_status_text(ended));
    channel->broken |= ended != TUTTI_OK;
    tutti_pack_channel_give(channel);
    return status == TUTTI_OK ? ended : status;
}
