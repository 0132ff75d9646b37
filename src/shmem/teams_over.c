/* A team of the processes of any communicator. They agree over its transport, because no team has exactly these
 * members. */
#include "shmem/teams_over.h"

#include "progress/transport.h"
#include "shmem/here.h"
#include "shmem/local/numbers.h"
#include "shmem/teams.h"

static const char name[] = "tshmem_team_from_comm";

/* The contribution of a process. */
struct said {
    int64_t status;
    struct tutti_shmem_numbers words;
};
struct meeting {
    struct tutti_transport *over;
    int status; /* of this process */
    void *room; /* of what all say */
};

/* The first error that any of them has; 0: none. */
static int over_meet(void *with, struct tutti_shmem_numbers *words)
{
    const struct meeting *m = with;
    const struct said mine = {m->status, *words};
    struct said *const all = m->room;
    int status = m->over->ops->allgather(m->over, &mine, all, sizeof mine);
    for (int i = 0; i < m->over->size && status == TUTTI_OK; i++) {
        words->taken |= all[i].words.taken;
        words->refused |= all[i].words.refused;
        status = (int)all[i].status;
    }
    return status;
}

/* The reason for which this process refuses; reported. */
static int over_refuse(struct tutti_shmem *space, struct tutti_transport *over, const int32_t *pe, int wanted)
{
    if (space->state.pes == 0)
        return tutti_shmem_down(space, name);
    for (int i = 0; i < over->size; i++) {
        if (pe[i] < 0)
            return tutti_shmem_answer(space, TUTTI_ERR_ARGUMENT, name,
                                      "rank %d of the communicator is no PE of this address space", i);
    }
    if (wanted < 0 || wanted >= TSHMEM_CONTEXTS_MAX)
        return tutti_shmem_answer(space, TUTTI_ERR_ARGUMENT, name, "num_contexts %d: there are up to %d", wanted,
                                  TSHMEM_CONTEXTS_MAX - 1);
    if (__atomic_load_n(space->state.abort, __ATOMIC_RELAXED))
        return tutti_shmem_answer(space, TUTTI_ERR_BROKEN, name, "%s", tutti_status_text(TUTTI_ERR_BROKEN));
    return TUTTI_OK;
}

int tutti_shmem_team_over(struct tutti_transport *over, const int32_t *pe, const tshmem_team_config_t *config,
                          long mask, tshmem_team_t *made)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    struct said all[TSHMEM_PES_MAX]; /* a process without memory would leave the others in the exchange */
    const int wanted = config && mask & TSHMEM_TEAM_NUM_CONTEXTS ? config->num_contexts : 0;
    struct meeting m = {over, over_refuse(space, over, pe, wanted), all};
    struct tutti_shmem_numbers words = {.taken = tutti_shmem_numbers_taken()};
    const int own = m.status;
    unsigned number;
    *made = TSHMEM_TEAM_INVALID;
    int status = over_meet(&m, &words);
    if (status == TUTTI_OK)
        status = tutti_shmem_number_agree(over_meet, &m, words, 1, 0, (unsigned)pe[0], &number);
    if (status != TUTTI_OK)
        return own != TUTTI_OK ? own
                               : tutti_shmem_answer(space, status, name, "another process of the communicator says: %s",
                                                    tutti_status_text(status));
    if (number == TSHMEM_TEAMS_MAX)
        return tutti_shmem_answer(space, TUTTI_ERR_MEMORY, name, "more than %d teams of one PE at a time",
                                  TSHMEM_TEAMS_MAX);
    m.status = tutti_shmem_team_make(space, number, pe, over->size, wanted);
    status = over_meet(&m, &words); /* no member uses it before all have made it */
    if (status == TUTTI_OK) {
        *made = (tshmem_team_t)number;
        return tutti_shmem_team_open(space, *made);
    }
    tutti_shmem_team_unmake(space, (tshmem_team_t)number);
    return tutti_shmem_answer(space, status, name, "%s", tutti_status_text(status));
}
