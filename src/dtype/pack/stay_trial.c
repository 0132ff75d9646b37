#include "dtype/pack/stay_trial.h"

enum {
    SAVES = 64,                    /* a kernel that stays must save at least this part of the time */
    FIRST = TUTTI_STAY_TIMED / 6,  /* of the times in order those from here on count, */
    END = 2 * TUTTI_STAY_TIMED / 3 /* before this one. More of them are much too long than too short */
};

/* The last fetch behind work took so long, with the work. */
static void trial_note(struct tutti_stay_trial *trial, uint64_t ns)
{
    if (trial->n == 0 || trial->n > TUTTI_STAY_TRIAL)
        return;
    const unsigned part = (trial->n - 1) / TUTTI_STAY_PART, at = (trial->n - 1) % TUTTI_STAY_PART;
    if (at >= TUTTI_STAY_SETTLES)
        trial->took[part][at - TUTTI_STAY_SETTLES] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* The sum of the times of a part that count. Sorts them. */
static uint64_t trial_sum(uint32_t took[TUTTI_STAY_TIMED])
{
    uint64_t sum = 0;
    for (unsigned i = 1; i < TUTTI_STAY_TIMED; i++) {
        for (unsigned k = i; k > 0 && took[k] < took[k - 1]; k--) {
            const uint32_t more = took[k - 1];
            took[k - 1] = took[k];
            took[k] = more;
        }
    }
    for (unsigned i = FIRST; i < END; i++)
        sum += took[i];
    return sum;
}

static void trial_decide(struct tutti_stay_trial *trial)
{
    int stays = 1;
    for (int part = 0; part < TUTTI_STAY_PARTS; part += 2) {
        const uint64_t stayed = trial_sum(trial->took[part]), launched = trial_sum(trial->took[part + 1]);
        stays &= stayed + stayed / SAVES < launched;
    }
    const unsigned twice = 2 * trial->again;
    trial->again = stays != trial->stays || twice == 0 ? TUTTI_STAY_AGAIN
                   : twice < TUTTI_STAY_AGAIN_MOST     ? twice
                                                       : TUTTI_STAY_AGAIN_MOST;
    trial->stays = stays;
}

int tutti_stay_trial(struct tutti_stay_trial *trial, uint64_t ended, int own)
{
    if (trial->before > 0 && ended > trial->before)
        trial_note(trial, ended - trial->before);
    trial->before = own ? ended : 0;
    if (!own)
        return 0;
    if (trial->n == trial->again)
        trial->n = 0;
    trial->n++;
    if (trial->n <= TUTTI_STAY_TRIAL)
        return (trial->n - 1) / TUTTI_STAY_PART % 2 == 0;
    if (trial->n == TUTTI_STAY_TRIAL + 1)
        trial_decide(trial);
    return trial->stays;
}

int tutti_stay_trials(struct tutti_stay_trial trials[TUTTI_STAY_KINDS], uint64_t ended, int own, int is_long)
{
    int stays = 0;
    for (int kind = 0; kind < TUTTI_STAY_KINDS; kind++)
        stays |= tutti_stay_trial(&trials[kind], ended, own && kind == (is_long != 0));
    return stays;
}
