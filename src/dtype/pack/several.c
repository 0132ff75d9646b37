/* Jobs of several GPUs. */
#include "core/status.h"
#include "dtype/pack.h"

int tutti_pack_on(int gpus[], struct tutti_pack_job jobs[], unsigned n)
{
    for (unsigned first = 0, end; first < n; first = end) {
        end = first + 1;
        for (unsigned i = end; i < n; i++) {
            if (gpus[i] != gpus[first])
                continue;
            const struct tutti_pack_job job = jobs[i];
            gpus[i] = gpus[end];
            jobs[i] = jobs[end];
            gpus[end] = gpus[first];
            jobs[end++] = job;
        }
        const int status = tutti_pack_now(gpus[first], &jobs[first], end - first);
        if (status != TUTTI_OK)
            return status;
    }
    return TUTTI_OK;
}
