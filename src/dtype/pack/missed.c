/* What launches of packing kernels need, made before: for calls that they would have served, had they been loaded, and
 * for several launches at once. */
#include <stdatomic.h>

#include "core/status.h"
#include "device/device.h"
#include "dtype/pack.h"
#include "dtype/pack/channel.h"

void tutti_pack_missed(int gpu)
{
    enum { REPEATED = 16 };
    static atomic_uint calls;
    if (atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) % REPEATED == REPEATED - 1)
        (void)tutti_pack_prepare(gpu, NULL);
}

int tutti_pack_channels(int gpu, unsigned n)
{
    enum { MOST = 16 };
    struct tutti_pack_channel *channel[MOST];
    unsigned made = 0;
    int status = TUTTI_OK;
    if (gpu < 0 && (tutti_device()->gpu.current(&gpu) != TUTTI_OK || gpu < 0))
        gpu = 0;
    while (made < n && made < MOST && status == TUTTI_OK) {
        status = tutti_pack_channel_take(tutti_device(), gpu, &channel[made]);
        made += status == TUTTI_OK;
    }
    while (made > 0)
        tutti_pack_channel_give(channel[--made]);
    return status;
}
