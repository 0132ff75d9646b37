/* This rank's scratch on each of its GPUs: allocated when messages need it, and offered to the peers. */
#include "team/endpoint/endpoint_own.h"

#include "core/counters.h"
#include "core/log.h"
#include "team/share.h"

/* 1 if the peers may map it. The lock is held. */
static int show_scratch(struct tutti_endpoint *endpoint, int index) TUTTI_HOLDS(endpoint->lock)
{
    struct tutti_endpoint_page *page = &tutti_endpoint_mine(endpoint)->gpu[index];
    tutti_share_fill(endpoint->node, endpoint->device, endpoint->gpu[index].scratch, &page->scratch);
    if (endpoint->node->size > 1 && !page->scratch.shared)
        return 0;
    if (endpoint->node->size > 1 && page->scratch.what.needs_fd)
        tutti_endpoint_bell_hang(endpoint);
    atomic_store_explicit(&page->offered, 2, memory_order_release);
    return 1;
}

/* Of allocated memory, or NULL. The lock is held. */
static char *keep_scratch(struct tutti_endpoint *endpoint, int index, void *scratch) TUTTI_HOLDS(endpoint->lock)
{
    struct tutti_endpoint_gpu *own = &endpoint->gpu[index];
    if (scratch) {
        own->scratch = scratch;
        if (show_scratch(endpoint, index)) {
            tutti_count("scratch for messages", TUTTI_OUTCOME_ALLOCATED, NULL);
            return own->scratch;
        }
        endpoint->device->memory.free(scratch);
        own->scratch = NULL;
    }
    if (!own->backoff)
        tutti_info("GPU %d has no scratch of %zu bytes for messages: they are fetched from the program's memory, or "
                   "carried by the MPI",
                   own->gpu, endpoint->bytes);
    own->asked = 0;
    own->backoff = own->backoff ? own->backoff * 2 : 16;
    return NULL;
}

/* 1 if it is to be allocated now. A GPU without memory may have some later: every failure doubles the number of
 * messages until the next try. The lock is held. */
static int lacks_scratch(const struct tutti_endpoint *endpoint, struct tutti_endpoint_gpu *own)
    TUTTI_HOLDS(endpoint->lock)
{
    return !own->scratch && !own->making && tutti_endpoint_is_there(own) && !tutti_endpoint_quiet(endpoint) &&
           own->asked++ >= own->backoff;
}

char *tutti_endpoint_own_scratch(struct tutti_endpoint *endpoint, int index)
{
    struct tutti_endpoint_gpu *own = &endpoint->gpu[index];
    void *scratch = NULL;
    if (!lacks_scratch(endpoint, own))
        return tutti_endpoint_is_there(own) ? own->scratch : NULL;
    if (endpoint->device->memory.alloc(own->gpu, endpoint->bytes, &scratch) != TUTTI_OK)
        scratch = NULL;
    return keep_scratch(endpoint, index, scratch);
}

/* On a thread beside. After a reset of the GPU meanwhile the memory has gone. */
static void make_scratch(void *with)
{
    struct tutti_endpoint_gpu *own = with;
    struct tutti_endpoint *endpoint = own->endpoint;
    const unsigned life = atomic_load(&own->life);
    void *scratch = NULL;
    if (!tutti_endpoint_copies_first(endpoint))
        tutti_endpoint_load_kernels(endpoint, own->gpu, life);
    if (!tutti_endpoint_is_there(own) ||
        endpoint->device->memory.alloc(own->gpu, endpoint->bytes, &scratch) != TUTTI_OK)
        scratch = NULL;
    tutti_fiber_take(&endpoint->lock);
    own->making = 0;
    if (tutti_endpoint_is_there(own) && atomic_load(&own->life) == life)
        keep_scratch(endpoint, (int)(own - endpoint->gpu), scratch);
    tutti_lock_give(&endpoint->lock);
    tutti_endpoint_ended(endpoint);
}

void tutti_endpoint_make_scratch(struct tutti_endpoint *endpoint, int index)
{
    struct tutti_endpoint_gpu *own = &endpoint->gpu[index];
    tutti_fiber_take(&endpoint->lock);
    const int make = lacks_scratch(endpoint, own);
    if (make)
        own->making = 1;
    tutti_lock_give(&endpoint->lock);
    if (make)
        tutti_endpoint_begin(endpoint, make_scratch, own);
}
