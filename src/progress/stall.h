/* The clock of a call that polls advance: how long it has been at the same place. A thread that waits has the clock of
 * tutti_progress_wait() instead. */
#ifndef TUTTI_PROGRESS_STALL_H
#define TUTTI_PROGRESS_STALL_H

#include <stdint.h>

struct tutti_stall {
    uint64_t since; /* ns; 0: the next poll starts the clock */
    int at, reported;
};

enum { TUTTI_STALL_REPORT = 1 };

/* With each poll. at: another number whenever a part of the call has ended; the clock starts again. */
void tutti_stall_poll(struct tutti_stall *stall, int at);
/* TUTTI_OK; TUTTI_STALL_REPORT: the caller is to report the stall, once for each place; TUTTI_ERR_TIMEOUT. *seconds:
 * for how long the call has been at this place. */
int tutti_stall_look(struct tutti_stall *stall, uint64_t *seconds);

#endif
