/* Where packing that is done on return runs: a stream of its own, and a word in mapped memory that the kernel's last
 * block writes. A thread has one of a GPU's channels as long as its call lasts; there are as many as threads that have
 * called at once. Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_CHANNEL_H
#define TUTTI_DTYPE_PACK_CHANNEL_H

#include "device/device.h"

struct tutti_pack_channel {
    struct tutti_pack_channel *next;
    int gpu;
    unsigned life; /* of the GPU */
    struct tutti_stream *stream;
    uint32_t *done; /* host */
    volatile uint32_t *done_device;
    uint32_t *ended;        /* device */
    uint32_t launch_number; /* of the last launch; never 0 */
    int broken;             /* a launch has failed, or never reported: it is not used again */
};

int tutti_pack_channel_take(const struct tutti_device *device, int gpu, struct tutti_pack_channel **out);
void tutti_pack_channel_give(struct tutti_pack_channel *channel);
/* Until the launch of channel->launch_number has reported; bounded by TUTTI_TIMEOUT_SECONDS, pauses as TUTTI_WAIT says.
 */
int tutti_pack_channel_wait(const struct tutti_device *device, struct tutti_pack_channel *channel);

#endif
