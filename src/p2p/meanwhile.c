/* Copies by engines until the packing kernels are loaded, see tutti_endpoint_lacks_kernels(). */
#include "core/counters.h"
#include "p2p/turns.h"
#include "team/deferred_free.h"

enum { WINDOW = 16 };

/* Each copy of a launch loses as much as one alone: in windows of 64 messages of 1 to 8 MiB an engine takes 3.1 to 3.7
 * us longer for each than a kernel for all. Short messages have the kernels loaded at once, beside. So have windows of
 * messages from other ranks: a program that posts some repeats them. */
static int engines_instead(struct tutti_p2p_worker *worker, int gpu, const struct tutti_pack_job *jobs, unsigned n,
                           uint64_t loses)
{
    const int status = tutti_pack_copies(gpu, jobs, n, tutti_deferred_free_may_load(worker->node));
    if (status == TUTTI_ERR_UNAVAILABLE)
        return status;
    tutti_count("copies of messages", TUTTI_OUTCOME_LAUNCHED, "copy engines, while kernels are not loaded");
    tutti_pack_lost(gpu, loses);
    return status;
}

/* What one copy of n in a launch adds to what the loading of kernels costs. */
static uint64_t engine_copy_counts(uint64_t bytes, unsigned n, int own)
{
    if (own)
        return TUTTI_ENDPOINT_FETCH_LOSES;
    return n >= WINDOW || bytes <= TUTTI_ENDPOINT_FIRST_BYTES ? TUTTI_PACK_LOADING_NS : tutti_endpoint_copy_pays(bytes);
}

int tutti_engines_meanwhile(struct tutti_p2p_worker *worker, int gpu, const struct tutti_pack_job *jobs, unsigned n,
                            int own)
{
    uint64_t loses = own ? TUTTI_ENDPOINT_PACK_LOSES - TUTTI_ENDPOINT_FETCH_LOSES : 0;
    for (unsigned i = 0; i < n; i++)
        loses += engine_copy_counts(jobs[i].bytes, n, own);
    return engines_instead(worker, gpu, jobs, n, loses);
}

int tutti_engines_pack(struct tutti_p2p_worker *worker, struct tutti_p2p_send *const sends[],
                       const struct tutti_pack_job *jobs, unsigned n)
{
    const int gpu = sends[0]->gpu;
    int status = TUTTI_ERR_UNAVAILABLE;
    uint64_t loses = TUTTI_ENDPOINT_PACK_LOSES + (n - 1) * (uint64_t)TUTTI_ENDPOINT_FETCH_LOSES;
    struct tutti_turn turn;
    int turns = 0;
    for (unsigned i = 0; i < n && !turns; i++)
        turns = tutti_turns_with(worker, (int)sends[i]->rndv->to, gpu);
    for (unsigned i = 0; i < n; i++)
        if (!tutti_p2p_is_self(worker, (int)sends[i]->rndv->to) && jobs[i].bytes <= TUTTI_ENDPOINT_FIRST_BYTES)
            loses = TUTTI_PACK_LOADING_NS;
    if (turns)
        status = tutti_turns_copy(worker, gpu, jobs, n);
    if (status == TUTTI_ERR_UNAVAILABLE && tutti_endpoint_lacks_kernels(worker->endpoint, gpu))
        status = engines_instead(worker, gpu, jobs, n, loses);
    if (status != TUTTI_ERR_UNAVAILABLE)
        return status;
    tutti_turn_begin(&turn, turns, gpu, jobs, n);
    status = tutti_pack_reached(gpu, jobs, n, TUTTI_PACK_NEAR);
    tutti_turn_end(&turn);
    return status;
}
