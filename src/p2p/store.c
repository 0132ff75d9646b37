/* Shared by receivers of messages of the node: storing bytes in the program's buffer, and the end of a message.
 * Kernels of the buffer's GPU store them. If that GPU reaches no memory of the sender, or the buffer is on the host,
 * another GPU that the program has used copies them into pinned memory. */
#include <stdlib.h>
#include <string.h>

#include "bounce/bounce.h"
#include "core/trace.h"
#include "p2p/own.h"
#include "team/deferred_free.h"

enum { THROUGH_HOST = 16 << 20 }; /* bytes at a time that pass through pinned memory here */

void tutti_fetch_release(struct tutti_p2p_fetch *f)
{
    tutti_endpoint_release(f->worker->endpoint, f->held);
    f->held = NULL;
    if (f->from)
        tutti_plan_drop(f->from);
    f->from = NULL;
}

void tutti_recv_end(struct tutti_p2p_recv *recv, int status)
{
    tutti_bounce_give(recv->assembly);
    recv->assembly = NULL;
    recv->status = status;
    recv->ended = 1;
}

void tutti_fetch_end(struct tutti_p2p_fetch *f, int status)
{
    tutti_fetch_release(f);
    if (status == TUTTI_OK)
        tutti_to_host_note(f);
    tutti_recv_end(f->recv, status);
    if (TUTTI_TRACED)
        f->rndv->ended = tutti_trace_stamp();
    tutti_rndv_move(f->rndv, f->state, TUTTI_RNDV_ATS);
    tutti_trace(TUTTI_TRACE_ATS_SET, f->recv->bytes);
}

int tutti_fetch_drop(struct tutti_p2p_fetch *f)
{
    (void)f;
    return 1;
}

int tutti_recv_store(struct tutti_p2p_recv *recv, char *packed, uint64_t first, uint64_t bytes)
{
    const uint64_t all = recv->bytes;
    if (recv->elements.plan)
        return tutti_elements_move(TUTTI_UNPACK, &recv->elements, first, bytes, packed);
    if (first == 0 && bytes == all)
        return recv->unpack(recv, packed);
    /* Pinned: kernels may unpack it. */
    if (!recv->assembly && !(recv->assembly = tutti_bounce_take(&tutti_bounce_pinned, -1, all)))
        return TUTTI_ERR_MEMORY;
    memcpy((char *)recv->assembly->memory + first, packed, bytes);
    return first + bytes == all ? recv->unpack(recv, recv->assembly->memory) : TUTTI_OK;
}

/* The GPUs to fetch by, the best first: that of the buffer, then those that the program has used. */
void tutti_fetch_gpus(struct tutti_p2p_fetch *f)
{
    struct tutti_endpoint *endpoint = f->worker->endpoint;
    const struct tutti_p2p_recv *recv = f->recv;
    int n = 0;
    const struct tutti_places *places = &recv->elements.places;
    if (recv->elements.plan && places->device && tutti_places_reached(places) &&
        tutti_endpoint_use(endpoint, places->gpu) >= 0)
        f->gpus[n++] = places->gpu;
    for (int i = 0; i < f->uses; i++) {
        if (n == 0 || f->used[i] != f->gpus[0])
            f->gpus[n++] = f->used[i];
    }
    f->n = n;
}

int tutti_fetch_is_direct(const struct tutti_p2p_fetch *f)
{
    const struct tutti_places *places = &f->recv->elements.places;
    return f->recv->elements.plan && places->device && tutti_places_reached(places) &&
           (places->gpu < 0 || places->gpu == f->gpu);
}

int tutti_fetch_is_near(const struct tutti_p2p_fetch *f)
{
    const struct tutti_places *places = &f->recv->elements.places;
    return places->id != 0 && places->gpu == f->gpu;
}

/* 1 if a copy engine can store packed bytes directly into the receiver's buffer. */
static int is_copied(const struct tutti_p2p_fetch *f, const struct tutti_elements *theirs)
{
    const struct tutti_places *places = &f->recv->elements.places;
    return f->recv->elements.plan && f->recv->elements.whole && !theirs->plan && !places->host && !places->spread;
}

/* `job` reads bytes [first, first + bytes) of the message from the sender's elements if they have a plan, otherwise
 * packed ones from `data` on; it stores them in the buffer. */
static void fill_job(const struct tutti_p2p_fetch *f, const struct tutti_elements *theirs, char *data, uint64_t first,
                     uint64_t bytes, struct tutti_pack_job *job)
{
    const struct tutti_p2p_recv *recv = f->recv;
    if (!theirs->plan) {
        *job = tutti_elements_job(TUTTI_UNPACK, &recv->elements, first, bytes, data);
    } else if (recv->elements.whole) {
        *job = tutti_elements_job(TUTTI_PACK, theirs, first, bytes, tutti_elements_run(&recv->elements) + first);
    } else {
        *job = tutti_elements_job(TUTTI_RELAYOUT, theirs, first, bytes, NULL);
        job->to_plan = recv->elements.plan;
        job->to_count = (recv->bytes + recv->elements.plan->size - 1) / recv->elements.plan->size;
        job->to = recv->elements.buffer;
    }
}

/* Stores the bytes now, through pinned memory. */
static int through_host(struct tutti_p2p_fetch *f, const struct tutti_elements *theirs, char *data, uint64_t first,
                        uint64_t bytes)
{
    const uint64_t most = f->recv->elements.plan && bytes > THROUGH_HOST ? THROUGH_HOST : bytes;
    struct tutti_bounce *bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, most);
    const int may_load = tutti_deferred_free_may_load(f->worker->node);
    const unsigned keep = may_load && !tutti_endpoint_is_streamed(f->worker->endpoint) ? TUTTI_PACK_KEEP : 0;
    int status = bounce ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (uint64_t done = 0; done < bytes && status == TUTTI_OK; done += most) {
        const uint64_t n = bytes - done < most ? bytes - done : most;
        const struct tutti_pack_job job = tutti_elements_job(TUTTI_PACK, theirs, first + done, n, bounce->memory);
        status = theirs->plan ? tutti_pack_now(f->gpu, &job, 1)
                              : tutti_run_copy(f->gpu, 0, bounce->memory, data + done, n, keep, may_load);
        if (status == TUTTI_OK)
            status = tutti_recv_store(f->recv, bounce->memory, first + done, n);
    }
    tutti_bounce_give(bounce);
    return status;
}

int tutti_fetch_move(struct tutti_p2p_fetch *f, const struct tutti_elements *theirs, char *data, uint64_t first,
                     uint64_t bytes, struct tutti_pack_job *job)
{
    if (!tutti_fetch_is_direct(f) && is_copied(f, theirs))
        return tutti_device()->memory.copy_now(tutti_elements_run(&f->recv->elements) + first, data, bytes);
    if (!tutti_fetch_is_direct(f))
        return through_host(f, theirs, data, first, bytes);
    fill_job(f, theirs, data, first, bytes, job);
    return 1;
}
