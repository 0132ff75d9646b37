/* A team of the processes of any communicator. They agree over its transport: no team has just them. */
#include "shmem/teams_over.h"

#include "progress/transport.h"
#include "shmem/local/numbers.h"
#include "shmem/space.h"
#include "shmem/teams.h"

static const char name[] = "tshmem_team_from_comm";

/* What a process says, and what all have said. */
struct said {
    int64_t status;
    uint64_t taken, refused;
};
struct meeting {
    struct tutti_transport *over;
    struct said mine, all[TSHMEM_PES_MAX];
};

/* The first error that any of them has; 0: none. */
static int meet(struct meeting *m)
{
    int status = m->over->ops->allgather(m->over, &m->mine, m->all, sizeof m->mine);
    for (int i = 0; i < m->over->size && status == TUTTI_OK; i++)
        status = (int)m->all[i].status;
    return status;
}

static uint64_t taken_by_any(const struct meeting *m)
{
    uint64_t taken = 0;
    for (int i = 0; i < m->over->size; i++)
        taken |= m->all[i].taken;
    return taken;
}

static int is_refused(const struct meeting *m)
{
    uint64_t refused = 0;
    for (int i = 0; i < m->over->size; i++)
        refused |= m->all[i].refused;
    return refused != 0;
}

/* A number that all have claimed; TSHMEM_TEAMS_MAX: none. */
static int agree(struct meeting *m, unsigned first, unsigned *number)
{
    *number = TSHMEM_TEAMS_MAX;
    m->mine.taken = tutti_shmem_numbers_taken();
    int status = meet(m);
    for (unsigned try = 0; try < TUTTI_SHMEM_NUMBER_TRIES && status == TUTTI_OK; try++) {
        const unsigned n = tutti_shmem_number_free(taken_by_any(m), first, try);
        if (n == TSHMEM_TEAMS_MAX)
            break;
        m->mine.taken = tutti_shmem_numbers_taken();
        const int claimed = tutti_shmem_number_claim(n);
        m->mine.refused = !claimed;
        status = meet(m);
        if (status == TUTTI_OK && !is_refused(m)) {
            *number = n;
            break;
        }
        if (claimed)
            tutti_shmem_number_release(n);
    }
    return status;
}

/* What this process has against it; said. */
static int refuse(struct tutti_transport *over, const int32_t *pe, int wanted)
{
    if (tutti_shmem.state.pes == 0)
        return tutti_shmem_fail(TUTTI_ERR_UNAVAILABLE, name, "the address space is not up: call tshmem_init first");
    for (int i = 0; i < over->size; i++) {
        if (pe[i] < 0)
            return tutti_shmem_fail(TUTTI_ERR_ARGUMENT, name,
                                    "rank %d of the communicator is no PE of this address space", i);
    }
    if (wanted < 0 || wanted >= TSHMEM_CONTEXTS_MAX)
        return tutti_shmem_fail(TUTTI_ERR_ARGUMENT, name, "num_contexts %d: there are up to %d", wanted,
                                TSHMEM_CONTEXTS_MAX - 1);
    if (__atomic_load_n(tutti_shmem.state.abort, __ATOMIC_RELAXED))
        return tutti_shmem_fail(TUTTI_ERR_BROKEN, name, "%s", tutti_status_text(TUTTI_ERR_BROKEN));
    return TUTTI_OK;
}

int tutti_shmem_team_over(struct tutti_transport *over, const int32_t *pe, const tshmem_team_config_t *config,
                          long mask, tshmem_team_t *made)
{
    const int wanted = config && mask & TSHMEM_TEAM_NUM_CONTEXTS ? config->num_contexts : 0;
    struct meeting m = {.over = over, .mine = {.status = refuse(over, pe, wanted)}};
    const int own = (int)m.mine.status;
    unsigned number;
    *made = TSHMEM_TEAM_INVALID;
    int status = agree(&m, (unsigned)pe[0], &number);
    if (status != TUTTI_OK)
        return own != TUTTI_OK ? own
                               : tutti_shmem_fail(status, name, "another process of the communicator says: %s",
                                                  tutti_status_text(status));
    if (number == TSHMEM_TEAMS_MAX)
        return tutti_shmem_fail(TUTTI_ERR_MEMORY, name, "more than %d teams of one PE at a time", TSHMEM_TEAMS_MAX);
    m.mine.status = tutti_shmem_team_make(number, pe, over->size, wanted);
    status = meet(&m); /* nobody uses it before all have made it */
    if (status == TUTTI_OK)
        *made = (tshmem_team_t)number;
    else
        tutti_shmem_team_unmake((tshmem_team_t)number);
    return status == TUTTI_OK ? status : tutti_shmem_fail(status, name, "%s", tutti_status_text(status));
}
