/* The alarm that ends a deadlock. */
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "deadlocks.h"
#include "kit.h"

enum { SECONDS = 15, TURNS = 12 };

/* Of the case that runs: its name, the processor's time that this process had when it began, in seconds, and how often
 * its time has passed. */
static const char *doing = "start";
static double had_before;
static int turns;

static double had(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void still_begin(const char *name)
{
    doing = name;
    had_before = had();
    turns = 0;
    alarm(SECONDS);
}

/* On a machine with more to do than it has cores, a case takes as long as this process waits for its turns: it stands
 * still when the process has had a third of the time, or TURNS times have passed. */
static void too_long(int signal)
{
    char line[160];
    if (++turns < TURNS && had() - had_before < SECONDS / 3.0) {
        alarm(SECONDS);
        return;
    }
    int n = snprintf(line, sizeof line, "rank %d stands still: %s\n", kit_rank, doing);
    (void)signal;
    (void)!write(2, line, (size_t)n);
    _exit(3);
}

void still_watch(void)
{
    signal(SIGALRM, too_long);
}
