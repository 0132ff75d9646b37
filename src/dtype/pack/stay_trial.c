#include "dtype/pack/stay_trial.h"

/* Of each way: until the forecast has learnt it. */
enum { UNSEEN = 8 };

/* The last fetch behind work took so long, with the work. */
static void trial_note(struct tutti_stay_trial *trial, uint64_t ns)
{
    const unsigned number = trial->n - 1;
    uint64_t *const least = &trial->least[number < TUTTI_STAY_TRIES];
    if (number >= 2 * TUTTI_STAY_TRIES)
        return;
    if (number % TUTTI_STAY_TRIES >= UNSEEN && (*least == 0 || ns < *least))
        *least = ns;
    trial->stays = trial->least[1] < trial->least[0];
}

int tutti_stay_trial(struct tutti_stay_trial *trial, uint64_t ended, int own)
{
    if (trial->before > 0 && ended > trial->before)
        trial_note(trial, ended - trial->before);
    trial->before = own ? ended : 0;
    if (!own)
        return 0;
    if (trial->n == TUTTI_STAY_ROUND)
        *trial = (struct tutti_stay_trial){.before = ended};
    trial->n++;
    return trial->n <= TUTTI_STAY_TRIES || (trial->n > 2 * TUTTI_STAY_TRIES && trial->stays);
}
