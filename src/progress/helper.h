/* The helper: a thread that polls open steps while no thread of the program does. Needed if several threads
 * call the MPI: one may open a step and leave, while another one is already inside a call of the MPI, which
 * polls no steps of Tutti. It calls the MPI, so it is there under MPI_THREAD_MULTIPLE alone; it is made when the
 * first step is opened, sleeps while nothing is open, and only looks on while waits of the program poll. */
#ifndef TUTTI_PROGRESS_HELPER_H
#define TUTTI_PROGRESS_HELPER_H

#include <stdatomic.h>

/* From now on steps that are opened have a helper; `poll` is tutti_progress_poll() or calls it. Local, once. */
void tutti_helper_begin(void (*poll)(void));
/* Local. Ends the thread, before the MPI ends; opened steps have no helper any more. Not from within a poll. */
void tutti_helper_end(void);

/* ---- for the engine ---- */

enum tutti_helper_state { TUTTI_HELPER_NONE, TUTTI_HELPER_ASLEEP, TUTTI_HELPER_AWAKE };
extern atomic_int tutti_helper_state;
/* Polls that threads of the program have made, modulo 2^32. */
extern atomic_uint tutti_helper_others;
/* 1 on the helper. */
int tutti_helper_here(void);
void tutti_helper_wake(void);

/* A step was opened. */
static inline void tutti_helper_opened(void)
{
    if (__builtin_expect(atomic_load(&tutti_helper_state) == TUTTI_HELPER_ASLEEP, 0))
        tutti_helper_wake();
}

#endif
