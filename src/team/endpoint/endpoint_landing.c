/* Short messages that land: the sender's GPU copies each into host memory that the receiver's process maps too, and
 * stores a word behind it. So the sender waits for no copy and needs no further call, and no memory of the GPU is
 * mapped. A kernel copies, in 3 us; where kernels are not loaded, or some were late, since a kernel of the program
 * fills the GPU, a copy engine does (H200). */
#include "team/endpoint/endpoint_own.h"

#include <stddef.h>

#include "core/counters.h"
#include "core/log.h"
#include "core/reasons.h"
#include "core/status.h"
#include "progress/gate.h"
#include "team/control.h"
#include "team/page_view.h"

enum {
    LANDING_GAINS = 8000, /* ns that the call of a sender takes less than if its message is staged */
    LANDING_FROM =
        300000 / LANDING_GAINS, /* messages that are staged before the places are pinned, which takes 0.3 ms */
    KERNEL_GAINS = 4000,        /* ns that a kernel takes less than an engine */
    LANDING_BY_ENGINE = 256     /* messages behind a late one */
};

/* What the GPU stores behind the message: never zero, and another one for each message of a place. */
static uint32_t landing_word(uint64_t sequence)
{
    return (uint32_t)(sequence % UINT32_MAX) + 1;
}

static struct tutti_landing *landing_of(const struct tutti_control *control, int number)
{
    return (struct tutti_landing *)&control->landing[number];
}

static int landing_is_there(struct tutti_landing *landing, uint64_t sequence)
{
    return atomic_load_explicit(&landing->word, memory_order_acquire) == landing_word(sequence);
}

/* ---- places ---- */

/* The GPU copies into `seen`, what it sees of the places. */
static int landing_open(struct tutti_endpoint *endpoint, int gpu, unsigned life, struct tutti_endpoint_landings *out)
{
    const struct tutti_device *const device = endpoint->device;
    struct tutti_node *const node = endpoint->node;
    void *ended = NULL;
    tutti_fiber_lock(&node->lock);
    out->seen = tutti_page_view(node, device, node->rank, gpu, life, offsetof(struct tutti_control, landing),
                                sizeof(struct tutti_landing[TUTTI_LANDINGS]), 1);
    pthread_mutex_unlock(&node->lock);
    int status = out->seen ? device->memory.alloc(gpu, sizeof *out->ended, &ended) : TUTTI_ERR_UNAVAILABLE;
    out->ended = ended;
    if (status == TUTTI_OK)
        status = device->stream.create(gpu, &out->stream);
    return status == TUTTI_OK ? device->stream.fill(out->stream, ended, 0, sizeof *out->ended) : status;
}

/* alive: the device may be called, and was not reset since they were opened. */
static void landing_end(const struct tutti_device *device, struct tutti_endpoint_landings *landings, int alive)
{
    if (landings->stream && alive)
        (void)device->stream.sync(landings->stream);
    if (landings->stream)
        (void)device->stream.destroy(landings->stream);
    if (landings->ended && alive)
        device->memory.free(landings->ended);
}

/* On a thread beside. After a reset of the GPU meanwhile what was made has gone. */
static void landing_make(void *with)
{
    struct tutti_endpoint_gpu *const own = with;
    struct tutti_endpoint *const endpoint = own->endpoint;
    const unsigned life = atomic_load(&own->life);
    struct tutti_endpoint_landings made = {NULL, NULL, NULL};
    const int status = landing_open(endpoint, own->gpu, life, &made);
    tutti_fiber_take(&endpoint->lock);
    const int there = tutti_endpoint_is_there(own) && atomic_load(&own->life) == life;
    if (there && status == TUTTI_OK) {
        own->landings = made;
        atomic_store_explicit(&own->lands, TUTTI_LANDS, memory_order_release);
    }
    tutti_lock_give(&endpoint->lock);
    if (!there || status != TUTTI_OK)
        landing_end(endpoint->device, &made, there);
    if (there && status != TUTTI_OK)
        tutti_info("short messages of GPU %d are staged: %s", own->gpu, tutti_status_text(status));
    tutti_endpoint_ended(endpoint);
}

void tutti_endpoint_landing_close(struct tutti_endpoint *endpoint, int index, int alive)
{
    struct tutti_endpoint_gpu *const own = &endpoint->gpu[index];
    if (atomic_exchange(&own->lands, TUTTI_LANDS_NOT) == TUTTI_LANDS)
        landing_end(endpoint->device, &own->landings, alive);
    atomic_store(&own->staged, 0);
}

/* ---- sender ---- */

int tutti_endpoint_lands(const struct tutti_endpoint *endpoint, int gpu)
{
    const int index = tutti_endpoint_index(endpoint, gpu);
    return index >= 0 && atomic_load_explicit(&endpoint->gpu[index].lands, memory_order_acquire) == TUTTI_LANDS;
}

int tutti_endpoint_lands_now(struct tutti_endpoint *endpoint, int peer, int gpu)
{
    const int index = tutti_endpoint_index(endpoint, gpu);
    if (index < 0 || tutti_endpoint_is_own(endpoint, peer))
        return 0;
    struct tutti_endpoint_gpu *const own = &endpoint->gpu[index];
    int lands = atomic_load_explicit(&own->lands, memory_order_acquire);
    if (lands == TUTTI_LANDS_NOT &&
        atomic_fetch_add_explicit(&own->staged, 1, memory_order_relaxed) < (unsigned)LANDING_FROM)
        return 0;
    if (tutti_gpu_takes_turns(gpu) || tutti_endpoint_takes_turns(endpoint, peer, gpu)) /* the word waits for one */
        return TUTTI_NO(TURNS);
    if (lands == TUTTI_LANDS)
        return atomic_load_explicit(&endpoint->rndvs, memory_order_relaxed) < TUTTI_LANDINGS || TUTTI_NO(MANY);
    if (lands == TUTTI_LANDS_NOT && !tutti_endpoint_quiet(endpoint) && !tutti_gate_closed() &&
        atomic_compare_exchange_strong(&own->lands, &lands, TUTTI_LANDS_TRIED))
        tutti_endpoint_begin(endpoint, landing_make, own);
    return 0;
}

int tutti_endpoint_lands_by_engine(const struct tutti_endpoint *endpoint, int gpu)
{
    const int index = tutti_endpoint_index(endpoint, gpu);
    return tutti_pack_state(gpu) == TUTTI_PACK_UNLOADED ||
           (index >= 0 && atomic_load_explicit(&endpoint->gpu[index].by_engine, memory_order_relaxed) > 0);
}

/* 1 if a copy engine is to copy the next message. */
static int landing_by_engine(const struct tutti_endpoint *endpoint, struct tutti_endpoint_gpu *own)
{
    const int left = atomic_load_explicit(&own->by_engine, memory_order_relaxed);
    if (left > 0)
        atomic_store_explicit(&own->by_engine, left - 1, memory_order_relaxed);
    else if (tutti_pack_state(own->gpu) != TUTTI_PACK_UNLOADED)
        return 0;
    else
        tutti_pack_lost(own->gpu, KERNEL_GAINS);
    return endpoint->device->stream.land != NULL;
}

int tutti_endpoint_land(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv, const void *from, uint64_t bytes)
{
    const int number = tutti_endpoint_number_of(endpoint, rndv);
    struct tutti_endpoint_gpu *const own = &endpoint->gpu[endpoint->piece[number].gpu];
    if (number >= TUTTI_LANDINGS || bytes > TUTTI_LANDING_BYTES || !tutti_endpoint_is_there(own) ||
        atomic_load_explicit(&own->lands, memory_order_acquire) != TUTTI_LANDS)
        return TUTTI_ERR_UNAVAILABLE;
    const struct tutti_endpoint_landings *const to = &own->landings;
    struct tutti_landing *const seen = &to->seen[number];
    const uint32_t word = landing_word(atomic_load_explicit(&rndv->sequence, memory_order_relaxed));
    atomic_store_explicit(&landing_of(tutti_node_control(endpoint->node), number)->word, 0, memory_order_relaxed);
    endpoint->piece[number].by_kernel = !landing_by_engine(endpoint, own);
    if (!endpoint->piece[number].by_kernel) {
        tutti_count("messages that land", TUTTI_OUTCOME_LAUNCHED, "copy engines");
        return endpoint->device->stream.land(to->stream, seen->data, from, bytes, &seen->word, word);
    }
    const struct tutti_pack_notice notice = {(volatile uint32_t *)&seen->word, to->ended, word};
    const struct tutti_pack_job job = tutti_pack_run(seen->data, from, bytes);
    return job.plan ? tutti_pack_enqueue_telling(to->stream, own->gpu, &job, &notice) : TUTTI_ERR_MEMORY;
}

void tutti_endpoint_landing_late(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    const struct tutti_endpoint_piece *const piece = &endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)];
    if (piece->by_kernel)
        atomic_store_explicit(&endpoint->gpu[piece->gpu].by_engine, LANDING_BY_ENGINE, memory_order_relaxed);
}

int tutti_endpoint_landed(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    return landing_is_there(landing_of(tutti_node_control(endpoint->node), tutti_endpoint_number_of(endpoint, rndv)),
                            atomic_load_explicit(&rndv->sequence, memory_order_relaxed));
}

/* The stream of the copy; NULL: the GPU was reset. */
static struct tutti_stream *landing_stream(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    const struct tutti_endpoint_gpu *const own =
        &endpoint->gpu[endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)].gpu];
    const int lands = atomic_load_explicit(&own->lands, memory_order_acquire) == TUTTI_LANDS;
    return lands && tutti_endpoint_is_there(own) ? own->landings.stream : NULL;
}

void tutti_endpoint_landing_await(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    struct tutti_stream *const stream = landing_stream(endpoint, rndv);
    if (stream)
        (void)endpoint->device->stream.sync(stream);
}

int tutti_endpoint_landing_status(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    struct tutti_stream *const stream = landing_stream(endpoint, rndv);
    const int state = stream ? endpoint->device->stream.query(stream) : TUTTI_ERR_DEVICE;
    return state < 0 ? state : TUTTI_OK;
}

/* ---- receiver ---- */

enum tutti_reaching tutti_endpoint_landing(const struct tutti_endpoint *endpoint, int peer,
                                           const struct tutti_rndv *rndv, uint64_t sequence, uint64_t bytes,
                                           char **data)
{
    const struct tutti_control *const control = endpoint->node->peer[peer].page->control;
    const ptrdiff_t number = rndv - control->endpoints.rndv;
    if (number >= TUTTI_LANDINGS || bytes > TUTTI_LANDING_BYTES) {
        tutti_error("a message from rank %d cannot be taken: its rendezvous has no place to land",
                    tutti_node_world(endpoint->node, peer));
        return TUTTI_REACH_NOT;
    }
    struct tutti_landing *const landing = landing_of(control, (int)number);
    *data = (char *)landing->data;
    return landing_is_there(landing, sequence) ? TUTTI_REACHED : TUTTI_REACH_LATER;
}
