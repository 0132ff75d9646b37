/* A thread that does nothing but poll one thing which neither the program's threads nor the engine's can be trusted to:
 * requests of kernels, which spin until they are answered, while the program's thread waits for the kernel, and a fiber
 * may be in a call of the device's that waits for it too. It spins while there is work, then gives the core away, and
 * naps after a few milliseconds without any. All signals are blocked in it. */
#ifndef TUTTI_PROGRESS_POLLER_H
#define TUTTI_PROGRESS_POLLER_H

struct tutti_poller;

/* Local. `poll` is called with `with` again and again on a thread of its own; it never waits, and says how much it has
 * done, or a negative status: then it is not called again. crowded: there are more threads than cores. NULL: no thread,
 * or no memory. */
struct tutti_poller *tutti_poller_start(int (*poll)(void *with), void *with, int crowded);
/* Local. Ends the thread; `poll` is not called any more. NULL is fine. */
void tutti_poller_end(struct tutti_poller *poller);

#endif
