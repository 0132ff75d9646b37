/* When the packing kernels are loaded for messages, on devices where that takes long: a copy engine moves a run of
 * bytes without them, a few us later than a kernel does. So engines make these copies until they have lost as much as
 * loading takes, or have gained as much beside the MPI's way. Messages with gaps need the kernels at once. */
#include "team/endpoint/endpoint_own.h"

#include "core/settings.h"

/* Loading, of two H200: the image 0.3 ms, its functions 0.5, the launches that are kept ready 1.5. All copies and
 * launches of all threads of the process wait for the driver meanwhile. */
enum { KERNELS_NS = 2500000 };

int tutti_endpoint_copies_first(const struct tutti_endpoint *endpoint)
{
    return tutti_endpoint_is_slow(endpoint) && endpoint->device->stream.copy && endpoint->device->stream.query &&
           !tutti_settings()->mapping_price_us;
}

int tutti_endpoint_lacks_kernels(const struct tutti_endpoint *endpoint, int gpu)
{
    return __builtin_expect(tutti_pack_state(gpu) == TUTTI_PACK_UNLOADED, 0) && tutti_endpoint_copies_first(endpoint);
}

uint64_t tutti_endpoint_copy_pays(uint64_t bytes)
{
    return tutti_endpoint_loses(bytes);
}

/* On a thread beside. */
static void load_beside(void *with)
{
    struct tutti_endpoint_gpu *own = with;
    tutti_endpoint_load_kernels(own->endpoint, own->gpu, atomic_load(&own->life));
    atomic_store(&own->lacked, 0);
    tutti_endpoint_ended(own->endpoint);
}

void tutti_endpoint_lack(struct tutti_endpoint *endpoint, int gpu, uint64_t ns)
{
    const int index = tutti_endpoint_index(endpoint, gpu);
    if (index < 0)
        return;
    struct tutti_endpoint_gpu *own = &endpoint->gpu[index];
    const uint64_t before = atomic_fetch_add_explicit(&own->lacked, ns, memory_order_relaxed);
    if (before < KERNELS_NS && before + ns >= KERNELS_NS)
        tutti_endpoint_begin(endpoint, load_beside, own);
}
