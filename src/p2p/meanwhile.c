/* Copies by engines until the packing kernels are loaded, see tutti_endpoint_lacks_kernels(). */
#include "core/counters.h"
#include "p2p/turns.h"
#include "team/deferred_free.h"

/* By copy engines. Each copy of a launch loses as much as one alone: in windows of 64 messages of 1 to 8 MiB an engine
 * takes 3.1 to 3.7 us longer for each than a kernel for all. */
static int engines_instead(struct tutti_p2p_worker *worker, int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    const int status = tutti_pack_copies(gpu, jobs, n, tutti_deferred_free_may_load(worker->node));
    if (status != TUTTI_ERR_UNAVAILABLE)
        tutti_count("copies of messages", TUTTI_OUTCOME_LAUNCHED, "copy engines, while kernels are not loaded");
    return status;
}

/* ns that engines which pack these messages take longer than a kernel. */
static uint64_t packing_by_engines(unsigned n)
{
    return TUTTI_ENDPOINT_PACK_LOSES + (n - 1) * (uint64_t)TUTTI_ENDPOINT_FETCH_LOSES;
}

/* 1 if one has few bytes: then the kernels are loaded at once, beside. */
static int is_short_among(const struct tutti_pack_job *jobs, unsigned n)
{
    int is = 0;
    for (unsigned i = 0; i < n && !is; i++)
        is = jobs[i].bytes <= TUTTI_ENDPOINT_FIRST_BYTES;
    return is;
}

int tutti_engines_meanwhile(struct tutti_p2p_worker *worker, int gpu, const struct tutti_pack_job *jobs, unsigned n,
                            int own)
{
    const int status = engines_instead(worker, gpu, jobs, n);
    if (status == TUTTI_ERR_UNAVAILABLE)
        return status;
    if (own)
        tutti_pack_lost(gpu, packing_by_engines(n));
    else if (is_short_among(jobs, n))
        tutti_pack_lost(gpu, TUTTI_PACK_LOADING_NS);
    else
        tutti_pack_gained(gpu, jobs, n);
    return status;
}

int tutti_engines_pack(struct tutti_p2p_worker *worker, struct tutti_p2p_send *const sends[],
                       const struct tutti_pack_job *jobs, unsigned n)
{
    const int gpu = sends[0]->gpu;
    int status = TUTTI_ERR_UNAVAILABLE, answers = 0;
    struct tutti_turn turn;
    int turns = 0;
    for (unsigned i = 0; i < n && !turns; i++)
        turns = tutti_turns_with(worker, (int)sends[i]->rndv->to, gpu);
    for (unsigned i = 0; i < n && !answers; i++) /* a short message of another rank: kernels fetch the answer */
        answers = !tutti_p2p_is_self(worker, (int)sends[i]->rndv->to) && jobs[i].bytes <= TUTTI_ENDPOINT_FIRST_BYTES;
    if (turns)
        status = tutti_turns_copy(worker, gpu, jobs, n);
    if (status != TUTTI_ERR_UNAVAILABLE)
        return status;
    tutti_turn_begin(&turn, turns, gpu, jobs, n);
    if (tutti_endpoint_lacks_kernels(worker->endpoint, gpu)) {
        status = engines_instead(worker, gpu, jobs, n);
        if (status != TUTTI_ERR_UNAVAILABLE)
            tutti_pack_lost(gpu, answers ? TUTTI_PACK_LOADING_NS : packing_by_engines(n));
    }
    if (status == TUTTI_ERR_UNAVAILABLE)
        status = tutti_pack_reached(gpu, jobs, n, TUTTI_PACK_NEAR);
    tutti_turn_end(&turn);
    return status;
}
