/* Teams by an id: the members find each other in memory of the PE that made the id. Then they make the team as over
 * any communicator. */
#include "core/settings.h"
#include "progress/engine.h"
#include "shmem/here.h"
#include "tutti/shmem_begin.h"

/* Ids of one PE whose teams may be made at the same time. */
enum { IDS = 64 };

static const char name[] = "nvshmemx_team_init";
static int64_t *box;  /* symmetric: [IDS][PEs]; an entry: number of the id, 16 bits of the PE's number + 1 */
static uint32_t made; /* ids that this PE has made */

int tutti_shmem_ids_open(void)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    if (space->users > 1)
        return TUTTI_OK;
    made = 0;
    box = tshmem_calloc((size_t)IDS * (size_t)tshmem_n_pes(), sizeof *box);
    return box ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

uint64_t tutti_shmem_id_make(void)
{
    return (uint64_t)(tshmem_my_pe() + 1) << 32 | ++made;
}

/* Members whose numbers are known, in their order. */
struct gathering {
    const struct tshmem_state *state;
    const int64_t *row;
    uint32_t number;
    int creator, size, known;
    int pe[TSHMEM_PES_MAX];
};

static int all_known(void *with)
{
    struct gathering *g = with;
    for (; g->known < g->size; g->known++) {
        const int64_t seen = tshmem_int64_g(g->row + g->known, g->creator);
        if (seen >> 16 != (int64_t)g->number)
            return __atomic_load_n(g->state->abort, __ATOMIC_RELAXED) ? TUTTI_ERR_BROKEN : 0;
        g->pe[g->known] = (int)(seen & 0xffff) - 1;
    }
    return 1;
}

int tutti_shmem_team_by_id(uint64_t id, int size, int index, const tshmem_team_config_t *config, long mask,
                           tshmem_team_t *team)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const int creator = (int)(id >> 32) - 1, pes = tshmem_n_pes();
    const uint32_t number = (uint32_t)id;
    *team = TSHMEM_TEAM_INVALID;
    if (!box || pes == 0)
        return tutti_shmem_down(space, name);
    if (creator < 0 || creator >= pes || number == 0)
        return tutti_shmem_answer(space, TUTTI_ERR_ARGUMENT, name, "this is no id of nvshmemx_team_get_uniqueid()");
    if (size < 1 || size > pes || index < 0 || index >= size)
        return tutti_shmem_answer(space, TUTTI_ERR_ARGUMENT, name, "member %d of %d, of %d PEs", index, size, pes);
    int64_t *const row = box + (size_t)(number % IDS) * (size_t)pes;
    struct gathering g = {.state = &space->state, .row = row, .number = number, .creator = creator, .size = size};
    tshmem_int64_p(row + index, (int64_t)number << 16 | (tshmem_my_pe() + 1), creator);
    tshmem_quiet();
    const struct tutti_wait wait = {.done = all_known,
                                    .with = &g,
                                    .what = "nvshmemx_team_init: members of the team that have not arrived",
                                    .seconds = tutti_settings()->timeout_seconds,
                                    .watched = 1,
                                    .every_us = 100,
                                    .crowded = space->crowded};
    const int status = tutti_progress_wait(&wait);
    if (status != TUTTI_OK)
        return tutti_shmem_fail(space, status, name, "%s: member %d of %d has not arrived", tutti_status_text(status),
                                g.known, size);
    for (int i = 0; i < size; i++) {
        if ((g.pe[i] == tshmem_my_pe()) != (i == index))
            return tutti_shmem_answer(space, TUTTI_ERR_ARGUMENT, name,
                                      "two PEs have number %d, or one PE has two numbers", i);
    }
    return space->host->team_of(g.pe, size, config, mask, team);
}
