#include "dtype/pack/stay_trial.h"

enum {
    TRIES = TUTTI_STAY_WITH + TUTTI_STAY_WITHOUT,
    SAVES = 32 /* a kernel that stays must save at least this part of the time */
};

/* The last fetch behind work took so long, with the work. */
static void trial_note(struct tutti_stay_trial *trial, uint64_t ns, int served)
{
    uint64_t *const least = &trial->least[served != 0];
    if (*least == 0 || ns < *least)
        *least = ns;
    trial->stays = trial->least[1] > 0 && trial->least[1] + trial->least[1] / SAVES < trial->least[0];
}

int tutti_stay_trial(struct tutti_stay_trial *trial, uint64_t ended, int served, int own)
{
    if (trial->before > 0 && ended > trial->before)
        trial_note(trial, ended - trial->before, served);
    trial->before = own ? ended : 0;
    if (!own)
        return 0;
    if (trial->n == TUTTI_STAY_ROUND)
        *trial = (struct tutti_stay_trial){.before = ended};
    trial->n++;
    return trial->n <= TUTTI_STAY_WITH || (trial->n > TRIES && trial->stays);
}

int tutti_stay_trials(struct tutti_stay_trial trials[TUTTI_STAY_KINDS], uint64_t ended, int served, int own,
                      int is_long)
{
    int stays = 0;
    for (int kind = 0; kind < TUTTI_STAY_KINDS; kind++)
        stays |= tutti_stay_trial(&trials[kind], ended, served, own && kind == (is_long != 0));
    return stays;
}
