/* Whether a kernel that stays saves time where the program does something of its own between fetches. It saves the next
 * fetch a launch, and takes multiprocessors from the program's kernels: one of as many blocks as there are
 * multiprocessors takes up to twice as long, one of many short blocks hardly longer. Which of both is more is tried:
 * kernels may stay for some such fetches, then for none of some others, twice. The times from one such fetch to the
 * next decide, of those that a kernel took which had stayed and of those that were launched: single short or long ones
 * do not count. The trial is repeated soon, and ever more seldom while it shows the same. Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_STAY_TRIAL_H
#define TUTTI_DTYPE_PACK_STAY_TRIAL_H

#include <stdint.h>

enum {
    TUTTI_STAY_WITH = 24,    /* fetches in a row for which kernels may stay: they begin to after some */
    TUTTI_STAY_WITHOUT = 12, /* and for which none does; */
    TUTTI_STAY_TRIAL = 2 * (TUTTI_STAY_WITH + TUTTI_STAY_WITHOUT),
    TUTTI_STAY_TIMES = 15,  /* of each way, the last ones of a trial */
    TUTTI_STAY_LEAST = 8,   /* of each way that must be known */
    TUTTI_STAY_AGAIN = 256, /* fetches from one trial to the next, twice as many after each one that shows the same, */
    TUTTI_STAY_AGAIN_MOST = 2048
};

/* Of the launches of one stream; all zero at first. */
struct tutti_stay_trial {
    uint32_t took[2][TUTTI_STAY_TIMES]; /* work with the fetch behind it, ns: launched; taken by one that had stayed */
    unsigned seen[2];                   /* so many times of each way */
    uint64_t before; /* when the fetch before the last one had ended, ns; 0: there was no work between the two */
    unsigned n;      /* fetches behind work since the trial began, */
    unsigned again;  /* of which the last one is followed by the next trial */
    int stays;       /* what the trial has shown */
};

/* Before each fetch. ended: when the last one ended, ns; served: 1 if a kernel that had stayed took the last one. own:
 * 1 if the program has done something of its own since: then returns 1 if kernels may stay through such work. */
int tutti_stay_trial(struct tutti_stay_trial *trial, uint64_t ended, int served, int own);

/* The same with a trial for usual fetches and one for long copies, whose kernels have more blocks. */
enum { TUTTI_STAY_KINDS = 2 };
int tutti_stay_trials(struct tutti_stay_trial trials[TUTTI_STAY_KINDS], uint64_t ended, int served, int own,
                      int is_long);

#endif
