/* Threads for single functions that block in the system or in the GPU's driver for milliseconds. */
#ifndef TUTTI_PROGRESS_BESIDE_H
#define TUTTI_PROGRESS_BESIDE_H

#include <stdatomic.h>
#include <stdint.h>

/* Local; returns at once. Calls run(with) on a new thread, which ends with it: all signals are blocked there, and
 * nothing of the MPI may be called. The caller must find out itself when the function has returned. A status;
 * TUTTI_ERR_SYSTEM: no thread could be made, and nothing was begun. */
int tutti_beside_start(void (*run)(void *with), void *with);

/* Work that a process does once in the background, such as loading an image of kernels. All zero at first. */
struct tutti_beside_once {
    _Atomic uint64_t word; /* the state, and the process, since a forked child lacks the thread */
    int (*run)(void *with);
    void *with;
};
enum tutti_beside_state { TUTTI_BESIDE_NONE, TUTTI_BESIDE_RUNS, TUTTI_BESIDE_DONE, TUTTI_BESIDE_FAILED };

/* Local, any thread: the state in this process. NONE in a forked child, until it begins the work itself. */
enum tutti_beside_state tutti_beside_state(const struct tutti_beside_once *once);
/* Local, any thread; returns at once. Begins the work in state NONE: run(with) returns a status, not TUTTI_OK: FAILED.
 * Returns the state: NONE: no thread could be made. */
enum tutti_beside_state tutti_beside_begin(struct tutti_beside_once *once, int (*run)(void *with), void *with);
/* Local, any thread. FAILED becomes NONE, so the work may begin again: 1. 0: another state. */
int tutti_beside_forget(struct tutti_beside_once *once);
/* Local. Waits until the work does not run. */
void tutti_beside_await(struct tutti_beside_once *once);

#endif
