/* Whether a kernel stays on the GPU behind a fetch, and for how long, where the user has not said (TUTTI_LINGER_US=-1):
 * by a forecast of bursts of fetches (stay_forecast.h), in which work of the program between two fetches ends a burst
 * unless a trial has shown that a kernel which stays through such work saves time (stay_trial.h). Through work it stays
 * three times as long as otherwise. Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_STAY_CHOICE_H
#define TUTTI_DTYPE_PACK_STAY_CHOICE_H

#include "dtype/pack/stay_forecast.h"
#include "dtype/pack/stay_trial.h"

enum { TUTTI_STAY_THROUGH = 3 }; /* times as long */

/* Of the launches of one stream; all zero at first. */
struct tutti_stay_choice {
    struct tutti_stay_forecast forecast;
    struct tutti_stay_trial trial[TUTTI_STAY_KINDS];
    int through; /* 1: kernels stay through work of the program */
};

/* Before each launch, at `now` ns. away: for how long since the last fetch the thread was in no wait; fits: 1 if it is
 * a fetch that a kernel which stays can take; bytes: of one copy, or 0; usual_ns: for how long a kernel usually stays.
 * Returns for how long one is to stay behind it, or 0. */
uint64_t tutti_stay_choose(struct tutti_stay_choice *choice, uint64_t now, uint64_t away, int fits, uint64_t bytes,
                           uint64_t usual_ns);
/* The fetch has ended. */
void tutti_stay_fetched(struct tutti_stay_choice *choice, uint64_t now);
#endif
