/* Whether a kernel that stays saves time where the program does something of its own between fetches. It saves the next
 * fetch a launch, and takes multiprocessors from the program's kernels: one of as many blocks as there are
 * multiprocessors takes up to twice as long, one of many short blocks hardly longer. Which of both is more is tried:
 * for some such fetches kernels may stay, for some none does; then kernels stay if the shortest time from one such
 * fetch to the next was shorter, by some percent, where a kernel that had stayed took the fetch; until the next trial.
 * Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_STAY_TRIAL_H
#define TUTTI_DTYPE_PACK_STAY_TRIAL_H

#include <stdint.h>

enum {
    TUTTI_STAY_WITH = 48,    /* fetches of a trial for which kernels may stay: they begin to after some twenty */
    TUTTI_STAY_WITHOUT = 24, /* and for which none does */
    TUTTI_STAY_ROUND = 2048  /* from one trial to the next */
};

/* Of the launches of one stream; all zero at first. */
struct tutti_stay_trial {
    uint64_t least[2]; /* shortest work with the fetch behind it, ns: launched; taken by a kernel that had stayed */
    uint64_t before;   /* when the fetch before the last one had ended, ns; 0: there was no work between the two */
    unsigned n;        /* fetches behind work since the trial began */
    int stays;         /* what the trial has shown */
};

/* Before each fetch. ended: when the last one ended, ns; served: 1 if a kernel that had stayed took the last one. own:
 * 1 if the program has done something of its own since: then returns 1 if kernels may stay through such work. */
int tutti_stay_trial(struct tutti_stay_trial *trial, uint64_t ended, int served, int own);

/* The same with a trial for usual fetches and one for long copies, whose kernels have more blocks. */
enum { TUTTI_STAY_KINDS = 2 };
int tutti_stay_trials(struct tutti_stay_trial trials[TUTTI_STAY_KINDS], uint64_t ended, int served, int own,
                      int is_long);

#endif
