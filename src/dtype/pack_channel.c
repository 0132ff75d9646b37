#include "dtype/pack_channel.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"

enum {
    GPUS = 64,
    PAGE = 4096,
    SPINS = 64,             /* between looks at the clock */
    YIELD_AFTER_NS = 50000, /* as in waits for peers: others may need the core */
    ASK_NS = 1000000,       /* between questions to the device: they cost more than a look at the word */
    SLEEP_LEAST_US = 20,
    SLEEP_MOST_US = 1000
};

static struct tutti_pack_channel *idle[GPUS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int build(const struct tutti_device *device, int gpu, struct tutti_pack_channel **out)
{
    struct tutti_pack_channel *channel = calloc(1, sizeof *channel);
    void *page = MAP_FAILED, *seen = NULL, *ended = NULL;
    int mapped = 0, status = channel ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK) {
        page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        status = page == MAP_FAILED ? TUTTI_ERR_MEMORY : device->map_host(gpu, page, PAGE, &seen);
        mapped = status == TUTTI_OK;
    }
    if (status == TUTTI_OK)
        status = device->alloc(gpu, sizeof *channel->ended, &ended);
    if (status == TUTTI_OK)
        status = device->stream_create(gpu, &channel->stream);
    if (status == TUTTI_OK)
        status = device->fill(channel->stream, ended, 0, sizeof *channel->ended);
    if (status != TUTTI_OK) {
        tutti_error("no stream for packing on GPU %d: %s", gpu, tutti_status_text(status));
        if (channel && channel->stream)
            device->stream_destroy(channel->stream);
        if (ended)
            device->free(ended);
        if (mapped)
            device->unmap_host(gpu, page);
        if (page != MAP_FAILED)
            munmap(page, PAGE);
        free(channel);
        return status;
    }
    channel->gpu = gpu;
    channel->done = page;
    channel->done_device = seen;
    channel->ended = ended;
    *out = channel;
    return TUTTI_OK;
}

int tutti_pack_channel_take(const struct tutti_device *device, int gpu, struct tutti_pack_channel **out)
{
    if (gpu < 0 || gpu >= GPUS)
        return TUTTI_ERR_ARGUMENT;
    pthread_mutex_lock(&lock);
    struct tutti_pack_channel *channel = idle[gpu];
    if (channel)
        idle[gpu] = channel->next;
    pthread_mutex_unlock(&lock);
    if (!channel)
        return build(device, gpu, out);
    *out = channel;
    return TUTTI_OK;
}

/* A broken one is left as it is: its kernel may still run. */
void tutti_pack_channel_give(struct tutti_pack_channel *channel)
{
    if (channel->broken)
        return;
    pthread_mutex_lock(&lock);
    channel->next = idle[channel->gpu];
    idle[channel->gpu] = channel;
    pthread_mutex_unlock(&lock);
}

static void pause_by_policy(uint64_t waited, unsigned *sleep_us)
{
    const int how = tutti_settings()->wait;
    if (how == TUTTI_SET_WAIT_SLEEP && waited > YIELD_AFTER_NS) {
        const struct timespec time = {0, (long)*sleep_us * 1000};
        nanosleep(&time, NULL);
        *sleep_us = *sleep_us * 2 < SLEEP_MOST_US ? *sleep_us * 2 : SLEEP_MOST_US;
    } else if (how != TUTTI_SET_WAIT_SPIN && (how != TUTTI_SET_WAIT_AUTO || waited > YIELD_AFTER_NS)) {
        sched_yield();
    }
}

static int reported(const struct tutti_pack_channel *channel)
{
    return __atomic_load_n(channel->done, __ATOMIC_ACQUIRE) == channel->ticket;
}

int tutti_pack_channel_wait(const struct tutti_device *device, struct tutti_pack_channel *channel)
{
    const uint64_t limit = (uint64_t)tutti_settings()->timeout_seconds * UINT64_C(1000000000);
    uint64_t start = 0, asked = 0;
    unsigned sleep_us = SLEEP_LEAST_US;
    for (unsigned spins = 1; !reported(channel); spins++) {
        if (spins % SPINS) {
            tutti_pause();
            continue;
        }
        const uint64_t now = tutti_now_ns();
        start = start ? start : now;
        if (now - start - asked > ASK_NS) {
            asked = now - start;
            const int state = device->stream_query(channel->stream);
            if (state != 0 && !reported(channel)) {
                channel->broken = 1;
                tutti_error("a packing kernel on GPU %d failed: %s", channel->gpu,
                            tutti_status_text(state < 0 ? state : TUTTI_ERR_DEVICE));
                return state < 0 ? state : TUTTI_ERR_DEVICE;
            }
            if (asked > limit) {
                channel->broken = 1;
                tutti_error("a packing kernel on GPU %d has not ended after %u seconds (TUTTI_TIMEOUT_SECONDS)",
                            channel->gpu, (unsigned)tutti_settings()->timeout_seconds);
                return TUTTI_ERR_TIMEOUT;
            }
        }
        pause_by_policy(now - start, &sleep_us);
    }
    return TUTTI_OK;
}
