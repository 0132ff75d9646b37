/* Where packing that is done on return runs: a stream of its own, and a word in mapped memory that the kernel's last
 * block writes. A thread has one of a GPU's channels as long as its call lasts; there are as many as threads that have
 * called at once. Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_CHANNEL_H
#define TUTTI_DTYPE_PACK_CHANNEL_H

#include "dtype/pack/stay.h"
#include "dtype/pack/stay_choice.h"

struct tutti_pack_channel {
    struct tutti_pack_channel *next;
    const struct tutti_device *device;
    int gpu;
    unsigned life; /* of the GPU */
    struct tutti_stream *stream;
    uint32_t *done; /* host */
    volatile uint32_t *done_device;
    uint32_t *ended; /* device */
    int broken;      /* a launch has failed, or never reported: it is not used again */
    struct tutti_kept_packs *kept;
    unsigned blocks;    /* most of a kernel that stays, */
    unsigned most;      /* and of that of the launch that is being made */
    uint64_t linger_ns; /* of the launch that is being made; 0: its kernel does not stay */
    uint64_t ahead_ns;  /* how long a kernel waits that is launched behind it, for the next one; 0: none waits */
    struct tutti_stay stay;
    struct tutti_stay_choice choice;
    uint64_t waited;     /* tutti_progress_waited() when the last fetch ended */
    int fetches;         /* 1: the launch that is being made is a fetch, after which a kernel may stay by forecast */
    int first;           /* 1: the kernel of a first launch stays for the second one (dtype/pack.h) */
    unsigned lost, skip; /* second launches in a row that it did not take; calls until one stays again */
};

/* 1 if one waits for its next launch. */
int tutti_pack_channel_is_idle(int gpu);
int tutti_pack_channel_take(const struct tutti_device *device, int gpu, struct tutti_pack_channel **out);
void tutti_pack_channel_give(struct tutti_pack_channel *channel);
/* A launch that reports, in the cheapest way: by mail to a kernel that stays (*launched: 0), as the kept launch
 * ready, or afresh. A status. */
int tutti_pack_channel_launch(struct tutti_pack_channel *channel, const struct tutti_device *device,
                              const struct tutti_pack_launch *launch, int *launched);
/* After a launch: makes launches ready that repeat; in a fiber when its job is done, if the channel is idle then. */
void tutti_pack_channel_keep(struct tutti_pack_channel *channel);
/* Before and after a launch of these flags (dtype/pack.h): how long its kernel stays; what that was good for. */
void tutti_pack_channel_stays(struct tutti_pack_channel *channel, const struct tutti_device *device, unsigned how);
void tutti_pack_channel_stayed(struct tutti_pack_channel *channel, unsigned how, int mailed);
/* What launches report: always the same, so that a repeated launch has the same arguments. */
enum { TUTTI_PACK_REPORT = 1 };
/* Before a launch that reports: no other launch is under way. */
static inline void tutti_pack_channel_begin(struct tutti_pack_channel *channel)
{
    __atomic_store_n(channel->done, 0, __ATOMIC_RELEASE);
}
/* Until the launch has reported; bounded by TUTTI_TIMEOUT_SECONDS, pauses as TUTTI_WAIT says. */
struct tutti_pack_flight;
int tutti_pack_channel_wait(struct tutti_pack_flight *flight);
/* 1: it has reported; 0: not yet; negative: it has failed, or TUTTI_TIMEOUT_SECONDS are over. */
int tutti_pack_channel_poll(struct tutti_pack_flight *flight);

#endif
