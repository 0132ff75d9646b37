#include "dtype/pack/stay_choice.h"

enum {
    LONG_BYTES = 1 << 20, /* longer copies have a trial of their own, and kernels stay longer behind them */
    COPIED_BYTES = 400,   /* in a ns, at most: they stay as long as their peers' copies take */
    OWN_NS = 4000         /* outside of waits between two fetches: more is work of the program */
};

uint64_t tutti_stay_choose(struct tutti_stay_choice *choice, uint64_t now, uint64_t away, int fits, uint64_t bytes,
                           uint64_t usual_ns)
{
    const int is_long = bytes > LONG_BYTES;
    const uint64_t longer = is_long ? bytes / COPIED_BYTES : 0, through_ns = TUTTI_STAY_THROUGH * usual_ns + longer;
    const int own = fits && away > OWN_NS && away < through_ns;
    const int stays = tutti_stay_trials(choice->trial, choice->forecast.ended, own, is_long);
    if (away > OWN_NS)
        choice->through = own && stays;
    return tutti_stay_forecast(&choice->forecast, now, fits, own && !stays,
                               choice->through ? through_ns : usual_ns + longer);
}

void tutti_stay_fetched(struct tutti_stay_choice *choice, uint64_t now)
{
    choice->forecast.ended = now;
}
