/* Whether the kernel of a small fetch should stay on the GPU for the next one, where the user has not said
 * (TUTTI_LINGER_US=-1): it does once several fetches in a row have each begun soon after the one before had ended. Only
 * fetches for which a call waits alone count: with it windows of 64 messages took 157 us, without it 131 (two H200).
 * Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_STAY_FORECAST_H
#define TUTTI_DTYPE_PACK_STAY_FORECAST_H

#include <stdint.h>

/* Of the launches of one stream; all zero at first. */
struct tutti_stay_forecast {
    uint64_t ended;      /* when the last fetch ended, ns */
    unsigned close;      /* fetches in a row that began soon after the one before */
    unsigned lost, skip; /* kernels in a row that stayed in vain; fetches until one stays again */
    int stays;           /* 1: the kernel of the last fetch stays */
};

/* Before each launch. now: ns; fits: 1 if it is a fetch that a kernel which stays can take; stay_ns: for how long one
 * would stay. Returns stay_ns or 0. */
uint64_t tutti_stay_forecast(struct tutti_stay_forecast *forecast, uint64_t now, int fits, uint64_t stay_ns);

#endif
