/* Runs of bytes in the order of a stream. */
#include "core/status.h"
#include "device/device.h"
#include "dtype/pack.h"

struct tutti_pack_job tutti_pack_run(void *to, const void *from, uint64_t bytes)
{
    return (struct tutti_pack_job){.direction = TUTTI_PACK,
                                   .plan = tutti_plan_of_byte(),
                                   .count = bytes,
                                   .memory = (void *)(uintptr_t)from,
                                   .packed = to,
                                   .bytes = bytes};
}

int tutti_pack_run_enqueue(struct tutti_stream *stream, int gpu, void *to, const void *from, uint64_t bytes)
{
    const struct tutti_pack_job job = tutti_pack_run(to, from, bytes);
    if (bytes > TUTTI_PACK_RUN_MOST || !job.plan)
        return tutti_device()->stream.copy(stream, to, from, bytes);
    return bytes > 0 ? tutti_pack_enqueue(stream, gpu, &job, 1) : TUTTI_OK;
}
