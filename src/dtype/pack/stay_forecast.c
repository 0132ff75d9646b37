#include "dtype/pack/stay_forecast.h"

enum {
    CLOSE = 4,     /* fetches in a row */
    LOST_MOST = 12 /* a kernel stays in vain once in 2^LOST_MOST fetches at most */
};

uint64_t tutti_stay_forecast(struct tutti_stay_forecast *forecast, uint64_t now, int fits, uint64_t stay_ns)
{
    const int close = fits && forecast->ended > 0 && now - forecast->ended < stay_ns;
    if (forecast->stays) {
        forecast->lost = close ? 0 : forecast->lost + (forecast->lost < LOST_MOST);
        forecast->skip = close ? 0 : 1u << forecast->lost;
    }
    forecast->close = close ? forecast->close + (forecast->close < CLOSE) : 0;
    forecast->stays = forecast->close == CLOSE && forecast->skip == 0;
    forecast->skip -= fits && forecast->skip > 0;
    return forecast->stays ? stay_ns : 0;
}
