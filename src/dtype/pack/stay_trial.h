/* Whether a kernel that stays saves time where the program does something of its own between fetches. It saves the next
 * fetch a launch, and takes multiprocessors from the program's kernels: one of as many blocks as there are
 * multiprocessors takes up to twice as long, one of many short blocks hardly longer. Which of both is more is tried:
 * some such fetches with kernels that stay, some without; then the way with the shorter time from one such fetch to the
 * next is taken, until the next trial. Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_STAY_TRIAL_H
#define TUTTI_DTYPE_PACK_STAY_TRIAL_H

#include <stdint.h>

enum {
    TUTTI_STAY_TRIES = 24,  /* fetches of each way in a trial */
    TUTTI_STAY_ROUND = 2048 /* from one trial to the next */
};

/* Of the launches of one stream; all zero at first. */
struct tutti_stay_trial {
    uint64_t
        least[2];    /* shortest work with the fetch behind it, ns: without kernels that stay, with them; 0: none yet */
    uint64_t before; /* when the fetch before the last one had ended, ns; 0: there was no work between the two */
    unsigned n;      /* fetches behind work since the trial began */
    int stays;       /* what the trial has shown */
};

/* Before each fetch. ended: when the last one ended, ns. own: 1 if the program has done something of its own since:
 * then returns 1 if kernels are to stay through such work. */
int tutti_stay_trial(struct tutti_stay_trial *trial, uint64_t ended, int own);

#endif
