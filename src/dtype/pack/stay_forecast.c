#include "dtype/pack/stay_forecast.h"

enum {
    BURSTS = 4, /* in a row that must have gone on at a position; and the fetches of the shortest burst that is new */
    LOST_MOST = 12 /* at a position a kernel stays in vain once in 2^LOST_MOST fetches at most */
};

/* close: another fetch began soon after the last one. */
static void forecast_learn(struct tutti_stay_forecast *forecast, int close)
{
    struct tutti_stay_position *const last = &forecast->at[forecast->position];
    last->went_on = (uint8_t)(close ? last->went_on + (last->went_on < BURSTS) : 0);
    last->has_ended |= (uint8_t)!close;
    if (!forecast->stays)
        return;
    last->lost = (uint8_t)(close ? 0 : last->lost + (last->lost < LOST_MOST));
    last->skip = (uint16_t)(close ? 0 : 1u << last->lost);
}

static int forecast_goes_on(const struct tutti_stay_forecast *forecast, unsigned position)
{
    const struct tutti_stay_position *const at = &forecast->at[position];
    return at->went_on == BURSTS || (position >= BURSTS && !at->has_ended);
}

static unsigned forecast_next(unsigned position)
{
    return position + (position < TUTTI_STAY_POSITIONS - 1);
}

uint64_t tutti_stay_forecast(struct tutti_stay_forecast *forecast, uint64_t now, int fits, int apart, uint64_t stay_ns)
{
    const int close = fits && !apart && forecast->fitted && forecast->ended > 0 && now - forecast->ended < stay_ns;
    if (forecast->fitted)
        forecast_learn(forecast, close);
    forecast->position = close ? forecast_next(forecast->position) : 0;
    struct tutti_stay_position *const here = &forecast->at[forecast->position];
    const int goes_on = forecast_goes_on(forecast, forecast->position);
    forecast->fitted = fits;
    forecast->stays = fits && goes_on && here->skip == 0;
    here->skip = (uint16_t)(here->skip - (fits && here->skip > 0));
    return forecast->stays ? stay_ns : 0;
}
