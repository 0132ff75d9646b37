/* Threads for single functions that block in the system or in the GPU's driver for milliseconds. */
#ifndef TUTTI_PROGRESS_BESIDE_H
#define TUTTI_PROGRESS_BESIDE_H

/* Local; returns at once. Calls run(with) on a new thread, which ends with it: all signals are blocked there, and
 * nothing of the MPI may be called. The caller must find out itself when the function has returned. A status;
 * TUTTI_ERR_SYSTEM: no thread could be made, and nothing was begun. */
int tutti_beside_start(void (*run)(void *with), void *with);

#endif
