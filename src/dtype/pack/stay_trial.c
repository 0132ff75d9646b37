#include "dtype/pack/stay_trial.h"

enum {
    SAVES = 64,                    /* a kernel that stays must save at least this part of the time */
    FIRST = TUTTI_STAY_TIMED / 6,  /* of the times in order those from here on count, */
    END = 2 * TUTTI_STAY_TIMED / 3 /* before this one. More of them are much too long than too short */
};

static void trial_decide(struct tutti_stay_trial *trial)
{
    const unsigned twice = 2 * trial->again;
    trial->again = trial->saved != trial->stays || twice == 0 ? TUTTI_STAY_AGAIN
                   : twice < TUTTI_STAY_AGAIN_MOST            ? twice
                                                              : TUTTI_STAY_AGAIN_MOST;
    trial->stays = trial->saved;
}

/* A part has ended. In the second one of a pair no kernel stayed. */
static void trial_compare(struct tutti_stay_trial *trial, unsigned part)
{
    uint64_t sum = 0;
    for (unsigned i = FIRST; i < END; i++)
        sum += trial->took[i];
    if (part % 2 == 1)
        trial->saved = (part == 1 || trial->saved) && trial->sum + trial->sum / SAVES < sum;
    trial->sum = sum;
    if (part == TUTTI_STAY_PARTS - 1)
        trial_decide(trial);
}

/* The last fetch behind work took so long, with the work. */
static void trial_note(struct tutti_stay_trial *trial, uint64_t ns)
{
    const unsigned part = (trial->n - 1) / TUTTI_STAY_PART, at = (trial->n - 1) % TUTTI_STAY_PART;
    if (part >= TUTTI_STAY_PARTS || at < TUTTI_STAY_SETTLES)
        return;
    const uint32_t took = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
    unsigned i = at - TUTTI_STAY_SETTLES; /* so many are known */
    for (; i > 0 && trial->took[i - 1] > took; i--)
        trial->took[i] = trial->took[i - 1];
    trial->took[i] = took;
    if (at == TUTTI_STAY_PART - 1)
        trial_compare(trial, part);
}

int tutti_stay_trial(struct tutti_stay_trial *trial, uint64_t ended, int own)
{
    if (trial->before > 0)
        trial_note(trial, ended - trial->before);
    trial->before = own ? ended : 0;
    if (!own)
        return 0;
    if (trial->n == trial->again)
        trial->n = 0;
    trial->n++;
    return trial->n <= TUTTI_STAY_TRIAL ? (trial->n - 1) / TUTTI_STAY_PART % 2 == 0 : trial->stays;
}

int tutti_stay_trials(struct tutti_stay_trial trials[TUTTI_STAY_KINDS], uint64_t ended, int own, int is_long)
{
    int stays = 0;
    for (int kind = 0; kind < TUTTI_STAY_KINDS; kind++)
        stays |= tutti_stay_trial(&trials[kind], ended, own && kind == (is_long != 0));
    return stays;
}
