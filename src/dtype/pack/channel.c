#include "dtype/pack/channel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "core/trace.h"
#include "dtype/pack.h"
#include "dtype/pack/kept.h"
#include "progress/engine.h"
#include "progress/fiber.h"
#include "progress/gate.h"

enum {
    GPUS = 64,
    PAGE = 4096,
    MAIL = 512, /* where in the page the mail begins, and the answer; the word is its first */
    ANSWER = 2048,
    CLOCKS_NS = 1000, /* between two looks at the clock that belong together, at most */
    SPINS = 64,       /* between looks at the clock */
    ASK_NS = 1000000  /* between questions to the device: they cost more than a look at the word */
};

static struct tutti_pack_channel *idle[GPUS];
static atomic_uint idle_life[GPUS]; /* life of the first of them, plus 1; 0: all are in use. Stored with the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int channel_build(const struct tutti_device *device, int gpu, struct tutti_pack_channel **out)
{
    struct tutti_pack_channel *channel = calloc(1, sizeof *channel);
    const unsigned life = tutti_gpu_life(gpu);
    void *page = MAP_FAILED, *seen = NULL, *relay = NULL;
    int mapped = 0, status = channel ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK) {
        page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        status = page == MAP_FAILED ? TUTTI_ERR_MEMORY : device->memory.map_host(gpu, page, PAGE, &seen);
        mapped = status == TUTTI_OK;
    }
    if (status == TUTTI_OK)
        status = device->memory.alloc(gpu, sizeof *channel->stay.relay, &relay);
    if (status == TUTTI_OK)
        status = device->stream.create(gpu, &channel->stream);
    if (status == TUTTI_OK)
        status = device->stream.fill(channel->stream, relay, 0, sizeof *channel->stay.relay);
    if (status != TUTTI_OK) {
        tutti_error("no stream for packing on GPU %d: %s", gpu, tutti_status_text(status));
        if (channel && channel->stream)
            device->stream.destroy(channel->stream);
        if (relay)
            device->memory.free(relay);
        if (mapped)
            device->memory.unmap_host(gpu, page);
        if (page != MAP_FAILED)
            munmap(page, PAGE);
        free(channel);
        return status;
    }
    channel->device = device;
    channel->gpu = gpu;
    channel->life = life;
    channel->done = page;
    channel->done_device = seen;
    channel->ended = (uint32_t *)(void *)((char *)relay + offsetof(struct tutti_pack_relay, ended));
    channel->stay.relay = relay;
    channel->blocks = device->launch.stay_blocks ? device->launch.stay_blocks(gpu) : 1;
    channel->stay.mail = (struct tutti_pack_mail *)(void *)((char *)page + MAIL);
    channel->stay.answer = (struct tutti_pack_answer *)(void *)((char *)page + ANSWER);
    channel->stay.mail_seen = (char *)seen + MAIL;
    channel->stay.answer_seen = (char *)seen + ANSWER;
    *out = channel;
    return TUTTI_OK;
}

/* The GPU was reset: its stream and its memory have gone. */
static void channel_bury(const struct tutti_device *device, struct tutti_pack_channel *channel)
{
    tutti_kept_packs_free(channel->kept, device);
    device->stream.destroy(channel->stream);
    device->memory.unmap_host(channel->gpu, channel->done);
    munmap(channel->done, PAGE);
    free(channel);
}

/* The lock is held. */
static void idle_set(int gpu, struct tutti_pack_channel *first)
{
    idle[gpu] = first;
    atomic_store_explicit(&idle_life[gpu], first ? first->life + 1 : 0, memory_order_relaxed);
}

static struct tutti_pack_channel *channel_take_idle(int gpu)
{
    pthread_mutex_lock(&lock);
    struct tutti_pack_channel *channel = idle[gpu];
    if (channel)
        idle_set(gpu, channel->next);
    pthread_mutex_unlock(&lock);
    return channel;
}

int tutti_pack_channel_is_idle(int gpu)
{
    return atomic_load_explicit(&idle_life[gpu], memory_order_relaxed) == tutti_gpu_life(gpu) + 1;
}

int tutti_pack_channel_take(const struct tutti_device *device, int gpu, struct tutti_pack_channel **out)
{
    if (gpu < 0 || gpu >= GPUS)
        return TUTTI_ERR_ARGUMENT;
    struct tutti_pack_channel *channel = channel_take_idle(gpu);
    for (; channel && channel->life != tutti_gpu_life(gpu); channel = channel_take_idle(gpu))
        channel_bury(device, channel);
    if (!channel)
        return tutti_gate_closed() ? TUTTI_ERR_UNAVAILABLE : channel_build(device, gpu, out);
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
    idle_set(channel->gpu, channel);
    pthread_mutex_unlock(&lock);
}

/* ns since the last fetch in which this thread was in no wait. */
static uint64_t channel_away(const struct tutti_pack_channel *channel, uint64_t now)
{
    const uint64_t gap = now - channel->choice.forecast.ended, waited = tutti_progress_waited() - channel->waited;
    if (waited < gap)
        return gap - waited;
    return waited - gap < CLOCKS_NS ? 0 : gap; /* more: that fetch was another thread's */
}

/* Where the library decides which kernels stay: returns for how long a kernel that is launched behind this launch is to
 * wait for the next one; 0: none is launched. */
static uint64_t channel_decide(struct tutti_pack_channel *channel, const struct tutti_device *device,
                               const struct tutti_pack_launch *launch)
{
    uint64_t bytes = 0;
    if (!device->launch.stay_ns)
        return 0;
    const unsigned blocks = channel->fetches ? tutti_stay_blocks(launch, channel->most, &bytes) : 0;
    const int fits = blocks > 0 && blocks <= channel->most;
    const uint64_t now = tutti_now_ns();
    return tutti_stay_choose(&channel->choice, now, channel_away(channel, now), fits, bytes, device->launch.stay_ns());
}

int tutti_pack_channel_launch(struct tutti_pack_channel *channel, const struct tutti_device *device,
                              const struct tutti_pack_launch *launch, int *launched)
{
    channel->ahead_ns = channel_decide(channel, device, launch);
    int status =
        tutti_stay_launch(&channel->stay, device, channel->stream, launch, channel->linger_ns, channel->most, launched);
    if (status != TUTTI_ERR_UNAVAILABLE)
        return status;
    *launched = 1;
    tutti_stay_leave(&channel->stay);
    status = tutti_kept_packs_launch(&channel->kept, device, channel->stream, launch);
    if (status == TUTTI_OK && channel->ahead_ns > 0) /* it only saves time */
        (void)tutti_stay_ahead(&channel->stay, device, channel->stream, launch, channel->ahead_ns, channel->most);
    return status;
}

/* Takes this channel, if it is idle; it may be gone. */
static struct tutti_pack_channel *channel_take_this(const void *this)
{
    struct tutti_pack_channel *found = NULL;
    pthread_mutex_lock(&lock);
    for (int gpu = 0; gpu < GPUS && !found; gpu++) {
        struct tutti_pack_channel **at = &idle[gpu];
        while (*at && *at != this)
            at = &(*at)->next;
        if (!(found = *at))
            continue;
        *at = found->next;
        idle_set(gpu, idle[gpu]);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void channel_keep_idle(void *of)
{
    struct tutti_pack_channel *const channel = channel_take_this(of);
    if (!channel)
        return;
    if (channel->life == tutti_gpu_life(channel->gpu) && !channel->stay.may_be_there)
        tutti_kept_packs_fill(channel->kept, channel->device, channel->stream);
    tutti_pack_channel_give(channel);
}

void tutti_pack_channel_keep(struct tutti_pack_channel *channel)
{
    if (!channel->stay.may_be_there && tutti_kept_packs_lack(channel->kept) &&
        !tutti_fiber_put_off(channel_keep_idle, channel))
        tutti_kept_packs_fill(channel->kept, channel->device, channel->stream);
}

/* ---- the two launches of a call ---- */

enum { LOST_MOST = 12 };

/* The user's TUTTI_LINGER_US, 0 where the library decides. A kernel that waits on a shared GPU costs the other ranks
 * their turns. */
static uint64_t linger_asked(int gpu, unsigned how)
{
    const long asked = tutti_settings()->linger_us;
    return how & TUTTI_PACK_KEEP && asked > 0 && !tutti_gpu_takes_turns(gpu) ? (uint64_t)asked * 1000 : 0;
}

void tutti_pack_channel_stays(struct tutti_pack_channel *channel, const struct tutti_device *device, unsigned how)
{
    const uint64_t asked = linger_asked(channel->gpu, how),
                   pair = asked > TUTTI_PACK_PAIR_NS ? asked : TUTTI_PACK_PAIR_NS;
    const int is_pair = (how & (TUTTI_PACK_FIRST | TUTTI_PACK_SECOND)) != 0;
    const int fetch =
        how & TUTTI_PACK_KEEP && how & TUTTI_PACK_ALONE && !is_pair && !tutti_gpu_takes_turns(channel->gpu);
    channel->linger_ns = asked;
    channel->fetches = fetch && tutti_settings()->linger_us < 0 && device->launch.stay_ns;
    channel->most = fetch && channel->blocks > 1 ? channel->blocks : 1;
    channel->stay.serves = channel->fetches;
    if (how & TUTTI_PACK_SECOND) {
        channel->linger_ns = channel->stay.may_be_there ? pair : asked;
    } else if (how & TUTTI_PACK_FIRST) {
        channel->first = channel->skip == 0;
        channel->skip -= channel->skip > 0;
        channel->linger_ns = channel->first ? pair : asked;
    }
}

/* A kernel that waits in vain costs its time where other processes share the GPU. */
void tutti_pack_channel_stayed(struct tutti_pack_channel *channel, unsigned how, int mailed)
{
    if (channel->fetches) {
        tutti_stay_fetched(&channel->choice, tutti_now_ns());
        channel->waited = tutti_progress_waited();
        if (!channel->choice.forecast.stays)
            tutti_stay_leave(&channel->stay);
    }
    if (!(how & TUTTI_PACK_SECOND))
        return;
    if (channel->first) {
        channel->lost = mailed ? 0 : channel->lost + (channel->lost < LOST_MOST);
        channel->skip = mailed ? 0 : 1u << channel->lost;
    }
    channel->first = 0;
    if (tutti_settings()->linger_us <= 0)
        tutti_stay_leave(&channel->stay);
}

/* ---- notices ---- */

static int channel_reported(const struct tutti_pack_channel *channel)
{
    return __atomic_load_n(channel->done, __ATOMIC_ACQUIRE) == TUTTI_PACK_REPORT;
}

/* What a kernel that has left did not serve is launched. A failure of that ends the wait. */
static int channel_check(struct tutti_pack_flight *flight)
{
    if (!flight->channel->stay.mailed || flight->failed != TUTTI_OK)
        return flight->failed;
    flight->failed = tutti_stay_check(&flight->channel->stay, flight->device, flight->channel->stream);
    flight->mailed = flight->channel->stay.mailed;
    return flight->failed;
}

static int channel_ended(void *with)
{
    struct tutti_pack_flight *flight = with;
    return channel_reported(flight->channel) || channel_check(flight) != TUTTI_OK;
}

/* Now and then asks the device whether the kernel is there at all. */
static int channel_look(void *with, uint64_t *waited)
{
    struct tutti_pack_flight *flight = with;
    const uint64_t now = tutti_now_ns();
    flight->start = flight->start ? flight->start : now;
    *waited = now - flight->start;
    if (*waited - flight->asked <= ASK_NS)
        return TUTTI_OK;
    flight->asked = *waited;
    if (channel_check(flight) != TUTTI_OK)
        return flight->failed;
    const int state = flight->device->stream.query(flight->channel->stream);
    if (state == 0 || channel_reported(flight->channel))
        return TUTTI_OK;
    tutti_error("a packing kernel on GPU %d failed: %s", flight->channel->gpu,
                tutti_status_text(state < 0 ? state : TUTTI_ERR_DEVICE));
    return state < 0 ? state : TUTTI_ERR_DEVICE;
}

/* The launch has ended with this status. */
static int channel_over(struct tutti_pack_channel *channel, int status)
{
    channel->stay.mailed = 0;
    if (status == TUTTI_ERR_TIMEOUT)
        tutti_error("a packing kernel on GPU %d has not ended after %u seconds (TUTTI_TIMEOUT_SECONDS)", channel->gpu,
                    (unsigned)tutti_settings()->timeout_seconds);
    channel->broken |= status != TUTTI_OK;
    tutti_trace(TUTTI_TRACE_KERNEL_SEEN, 0);
    return status;
}

int tutti_pack_channel_wait(struct tutti_pack_flight *flight)
{
    const int status =
        channel_reported(flight->channel)
            ? TUTTI_OK
            : tutti_progress_wait(&(const struct tutti_wait){.done = channel_ended,
                                                             .with = flight,
                                                             .seconds = tutti_settings()->timeout_seconds,
                                                             .quiet = 1,
                                                             .spins = SPINS,
                                                             .look = channel_look,
                                                             .look_with = flight});
    return channel_over(flight->channel, status == TUTTI_OK ? flight->failed : status);
}

int tutti_pack_channel_poll(struct tutti_pack_flight *flight)
{
    uint64_t waited;
    if (channel_reported(flight->channel)) {
        channel_over(flight->channel, TUTTI_OK);
        return 1;
    }
    int status = channel_check(flight);
    if (status == TUTTI_OK)
        status = channel_look(flight, &waited);
    if (status != TUTTI_OK)
        return channel_over(flight->channel, status);
    const uint64_t most = (uint64_t)tutti_settings()->timeout_seconds * UINT64_C(1000000000);
    return most > 0 && waited > most ? channel_over(flight->channel, TUTTI_ERR_TIMEOUT) : 0;
}
