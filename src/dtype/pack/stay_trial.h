/* Whether a kernel that stays saves time where the program does something of its own between fetches. It saves the next
 * fetch a launch, and takes multiprocessors from the program's kernels: one of as many blocks as there are
 * multiprocessors takes up to twice as long, one of many short blocks hardly longer. Which of both is more is tried:
 * kernels may stay for some such fetches, then for none of as many others, twice. They stay if that saves time both
 * times: the program may begin to do something else meanwhile. The times from one such fetch to the next decide, but
 * for the shortest and the longest. The trial is repeated soon, and ever more seldom while it shows the same.
 *
 * The fetches of a loop have work of different lengths before them. A part of the trial times whole turns of loops
 * whose fetches divide 60; where they divide 72, all parts begin at the same place. Of 15 times of each way, from other
 * places of the loop, whichever places were shorter decided, in every trial alike: mpi4jax's shallow water took 97 to
 * 100 us a turn for 80,000 messages of one run, 87 in another one. Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_STAY_TRIAL_H
#define TUTTI_DTYPE_PACK_STAY_TRIAL_H

#include <stdint.h>

enum {
    TUTTI_STAY_SETTLES = 12, /* fetches of a part of the trial that are not timed: kernels begin to stay after some */
    TUTTI_STAY_TIMED = 60,   /* those behind them */
    TUTTI_STAY_PART = TUTTI_STAY_SETTLES + TUTTI_STAY_TIMED,
    TUTTI_STAY_PARTS = 4, /* kernels may stay in the first and in the third one */
    TUTTI_STAY_TRIAL = TUTTI_STAY_PARTS * TUTTI_STAY_PART,
    TUTTI_STAY_AGAIN = 1024, /* fetches from one trial to the next, twice as many after each one that shows the same, */
    TUTTI_STAY_AGAIN_MOST = 8192
};

/* Of the launches of one stream; all zero at first. */
struct tutti_stay_trial {
    uint32_t took[TUTTI_STAY_TIMED]; /* in the part under way: work with the fetch behind it, ns; the shortest first */
    uint64_t sum;                    /* of the times that count, of the part before */
    uint64_t before; /* when the fetch before the last one had ended, ns; 0: there was no work between the two */
    unsigned n;      /* fetches behind work since the trial began, */
    unsigned again;  /* of which the last one is followed by the next trial */
    int saved;       /* 1: kernels that stay have saved time in each pair of parts so far */
    int stays;       /* what the last trial has shown */
};

/* Before each fetch. ended: when the last one ended, ns. own: 1 if the program has done something of its own since:
 * then returns 1 if kernels may stay through such work. */
int tutti_stay_trial(struct tutti_stay_trial *trial, uint64_t ended, int own);

/* The same with a trial for usual fetches and one for long copies, whose kernels have more blocks. */
enum { TUTTI_STAY_KINDS = 2 };
int tutti_stay_trials(struct tutti_stay_trial trials[TUTTI_STAY_KINDS], uint64_t ended, int own, int is_long);

#endif
