/* Messages before the packing kernels are loaded, on devices where that takes long: a copy engine moves a run of bytes
 * without them, a few us later than a kernel does. So engines make these copies until all calls have lost as much as
 * loading takes (tutti_pack_lost()). Messages with gaps need the kernels at once. */
#include "team/endpoint/endpoint_own.h"

#include "core/settings.h"

int tutti_endpoint_copies_first(const struct tutti_endpoint *endpoint)
{
    return tutti_endpoint_is_slow(endpoint) && endpoint->device->stream.copy && endpoint->device->stream.query &&
           !tutti_settings()->mapping_price_us;
}

int tutti_endpoint_lacks_kernels(const struct tutti_endpoint *endpoint, int gpu)
{
    return __builtin_expect(tutti_pack_state(gpu) == TUTTI_PACK_UNLOADED, 0) && tutti_endpoint_copies_first(endpoint);
}
