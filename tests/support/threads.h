/* Ranks without an MPI: threads of this process, or processes forked from it, with a transport over shared anonymous
 * memory. Used by all tests below src/mpi/. */
#ifndef TUTTI_TESTS_THREADS_H
#define TUTTI_TESTS_THREADS_H

#include "progress/transport.h"

/* What a rank does; 0 is success. */
typedef int tutti_rank_main(struct tutti_transport *transport, void *arg);

/* Runs `ranks` threads; 0 if all returned 0, otherwise the first other value in order of rank. A run that takes
 * longer than TUTTI_TEST_DEADLINE seconds (default 300) ends the process with a message that names the ranks still at
 * work. */
int tutti_threads_run(int ranks, tutti_rank_main *rank_main, void *arg);

/* The same with processes, forked before any thread is made. ended[r] (may be NULL) is the exit status of rank r, or
 * minus the signal that ended it. Ranks over the deadline are killed. Returns 0 if all ended with 0. */
int tutti_forks_run(int ranks, tutti_rank_main *rank_main, void *arg, int ended[]);

/* Machines that node_color tells: ranks [0, n) are on one, [n, 2n) on the next. 0: one machine. Set before a run. */
void tutti_threads_machines(int ranks_each);

/* Collective over `transport`: a new group of the ranks with the same color, in order of rank; NULL if color is
 * negative. Freed by tutti_threads_free. */
struct tutti_transport *tutti_threads_split(struct tutti_transport *transport, int color);
/* The same in the order of the keys; of ranks with the same key in order of rank. */
struct tutti_transport *tutti_threads_split_by(struct tutti_transport *transport, int color, int key);
void tutti_threads_free(struct tutti_transport *transport);

#endif
