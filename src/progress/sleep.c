#include <sys/prctl.h>
#include <time.h>

#include "progress/pause.h"

/* Linux wakes a thread up to 50 us late, so that wake-ups fall together, unless the thread asks for less. */
void tutti_sleep_us(unsigned us)
{
    enum { SLACK_NS = 1000 };
    const struct timespec time = {us / 1000000, (long)(us % 1000000) * 1000};
    const int usual = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), less = usual > SLACK_NS;
    if (less)
        prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0);
    nanosleep(&time, NULL);
    if (less)
        prctl(PR_SET_TIMERSLACK, usual, 0, 0, 0);
}
