#include "dtype/pack/stay_trial.h"

enum { SAVES = 64 /* a kernel that stays must save at least this part of the time */ };

/* The last fetch behind work took so long, with the work. */
static void trial_note(struct tutti_stay_trial *trial, uint64_t ns, int served)
{
    const int way = served != 0;
    if (trial->n <= TUTTI_STAY_TRIAL)
        trial->took[way][trial->seen[way]++ % TUTTI_STAY_TIMES] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* The time that a third of the last ones of a way are below; 0: too few are known. Sorts them. More of them are much
 * too long than too short. */
static uint64_t trial_third(struct tutti_stay_trial *trial, int way)
{
    const unsigned n = trial->seen[way] < TUTTI_STAY_TIMES ? trial->seen[way] : TUTTI_STAY_TIMES;
    uint32_t *const took = trial->took[way];
    for (unsigned i = 1; i < n; i++) {
        for (unsigned k = i; k > 0 && took[k] < took[k - 1]; k--) {
            const uint32_t more = took[k - 1];
            took[k - 1] = took[k];
            took[k] = more;
        }
    }
    return n < TUTTI_STAY_LEAST ? 0 : took[n / 3];
}

static void trial_decide(struct tutti_stay_trial *trial)
{
    const uint64_t launched = trial_third(trial, 0), stayed = trial_third(trial, 1);
    const int stays = stayed > 0 && stayed + stayed / SAVES < launched;
    const unsigned twice = 2 * trial->again;
    trial->again = stays != trial->stays || twice == 0 ? TUTTI_STAY_AGAIN
                   : twice < TUTTI_STAY_AGAIN_MOST     ? twice
                                                       : TUTTI_STAY_AGAIN_MOST;
    trial->stays = stays;
}

int tutti_stay_trial(struct tutti_stay_trial *trial, uint64_t ended, int served, int own)
{
    if (trial->before > 0 && ended > trial->before)
        trial_note(trial, ended - trial->before, served);
    trial->before = own ? ended : 0;
    if (!own)
        return 0;
    if (trial->n == trial->again)
        trial->n = trial->seen[0] = trial->seen[1] = 0;
    trial->n++;
    if (trial->n <= TUTTI_STAY_TRIAL)
        return (trial->n - 1) % (TUTTI_STAY_WITH + TUTTI_STAY_WITHOUT) < TUTTI_STAY_WITH;
    if (trial->n == TUTTI_STAY_TRIAL + 1)
        trial_decide(trial);
    return trial->stays;
}

int tutti_stay_trials(struct tutti_stay_trial trials[TUTTI_STAY_KINDS], uint64_t ended, int served, int own,
                      int is_long)
{
    int stays = 0;
    for (int kind = 0; kind < TUTTI_STAY_KINDS; kind++)
        stays |= tutti_stay_trial(&trials[kind], ended, served, own && kind == (is_long != 0));
    return stays;
}
