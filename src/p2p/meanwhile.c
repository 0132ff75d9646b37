/* Copies by engines until the packing kernels are loaded, see tutti_endpoint_lacks_kernels(). */
#include "core/counters.h"
#include "p2p/own.h"
#include "team/deferred_free.h"

/* ns that a copy within a GPU takes an engine longer than a kernel: on H200 11 and 5 us. */
enum { ENGINE_LOSES = 6000 };

int tutti_engines_meanwhile(struct tutti_p2p_worker *worker, int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    const int status = tutti_pack_copies(gpu, jobs, n, tutti_deferred_free_may_load(worker->node));
    if (status == TUTTI_ERR_UNAVAILABLE)
        return status;
    tutti_count("copies of messages", TUTTI_OUTCOME_LAUNCHED, "copy engines, while kernels are not loaded");
    tutti_endpoint_lack(worker->endpoint, gpu, ENGINE_LOSES);
    return status;
}

int tutti_engines_pack(struct tutti_p2p_worker *worker, struct tutti_p2p_send *const sends[],
                       const struct tutti_pack_job *jobs, unsigned n)
{
    const int gpu = sends[0]->gpu;
    int first = tutti_endpoint_lacks_kernels(worker->endpoint, gpu), status = TUTTI_ERR_UNAVAILABLE;
    for (unsigned i = 0; i < n && first; i++)
        first = tutti_p2p_is_self(worker, (int)sends[i]->rndv->to);
    if (first)
        status = tutti_engines_meanwhile(worker, gpu, jobs, n);
    return status == TUTTI_ERR_UNAVAILABLE ? tutti_pack_reached(gpu, jobs, n, TUTTI_PACK_NEAR) : status;
}
