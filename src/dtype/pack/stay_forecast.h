/* Whether the kernel of a small fetch should stay on the GPU for the next one, where the user has not said
 * (TUTTI_LINGER_US=-1). Fetches come in bursts, for example of the messages of an iteration: each but the first begins
 * soon after the one before has ended. A kernel stays where the last bursts have gone on behind the same number of
 * fetches, and in a longer burst than any before.
 *
 * Only fetches for which a call waits alone count: with it windows of 64 messages took 157 us, without it 131 (two
 * H200). Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_STAY_FORECAST_H
#define TUTTI_DTYPE_PACK_STAY_FORECAST_H

#include <stdint.h>

enum { TUTTI_STAY_POSITIONS = 16 }; /* in a burst; the last one is that of all further fetches, too */

/* Behind a fetch at one position of a burst. */
struct tutti_stay_position {
    uint16_t skip;     /* fetches until a kernel stays again */
    uint8_t lost;      /* kernels in a row that stayed in vain */
    uint8_t went_on;   /* bursts in a row that went on */
    uint8_t has_ended; /* 1: a burst has ended here */
};

/* Of the launches of one stream; all zero at first. */
struct tutti_stay_forecast {
    uint64_t ended; /* when the last fetch ended, ns */
    struct tutti_stay_position at[TUTTI_STAY_POSITIONS];
    unsigned position; /* of the last fetch */
    int fitted;        /* 1: the last launch was a fetch that a kernel which stays can take */
    int stays;         /* 1: its kernel stays */
};

/* Before each launch. now: ns; fits: 1 if it is a fetch that a kernel which stays can take; apart: 1 if it ends a burst
 * however soon it begins; stay_ns: for how long one would stay. Returns stay_ns or 0. */
uint64_t tutti_stay_forecast(struct tutti_stay_forecast *forecast, uint64_t now, int fits, int apart, uint64_t stay_ns);

#endif
