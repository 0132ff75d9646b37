/* Teams: who is in them, splitting and destroying. Teams of PEs that have none in common may have the same number. */
#include "shmem/teams.h"

#include <string.h>

#include "progress/transport.h"
#include "shmem/lane.h"
#include "shmem/local/numbers.h"
#include "shmem/meet.h"
#include "shmem/near.h"
#include "team/team.h"

/* num_contexts that each team was made with, by its number. */
static int contexts[TSHMEM_TEAMS_MAX];

/* Members are in team->world; this PE is one of them. */
static int fill(struct tshmem_team_state *team, unsigned number, int size)
{
    const int start = team->world[0], stride = size > 1 ? team->world[1] - start : 1;
    int even = 1;
    team->far = 0;
    for (int i = 0; i < size; i++) {
        team->far |= !tutti_shmem.state.peer[team->world[i]]; /* PEs of a node all map each other */
        even &= team->world[i] == start + i * stride;
        if (team->world[i] == tutti_shmem.state.me)
            team->me = i;
    }
    team->size = size;
    team->start = start;
    team->stride = even ? stride : 0;
    team->number = number;
    __atomic_store_n(&team->used, 1, __ATOMIC_RELEASE);
    return tutti_shmem_tell(team, sizeof *team);
}

int tutti_shmem_teams_open(struct tutti_shmem *space)
{
    struct tshmem_team_state *const team = tutti_shmem_told()->team;
    int status = TUTTI_OK;
    const struct tutti_shmem_near *near = space->near;
    const int all = space->transport->size;
    for (int i = TSHMEM_TEAM_WORLD; i <= TSHMEM_TEAM_NODE; i++) {
        const int size = i == TSHMEM_TEAM_WORLD ? all : near->count;
        for (int k = 0; k < size; k++)
            team[i].world[k] = i == TSHMEM_TEAM_WORLD ? k : near->pe[k];
        if (status == TUTTI_OK)
            status = fill(&team[i], (unsigned)i, size);
    }
    tutti_shmem_numbers_open(TSHMEM_TEAM_NODE + 1);
    space->state.far = team[TSHMEM_TEAM_WORLD].far;
    return status;
}

/* Of calls in kernels, and of those in streams. */
static int clear_areas(unsigned number)
{
    const struct tshmem_state *state = &tutti_shmem.state;
    const uint64_t bytes = state->area_bytes, all = bytes * TSHMEM_TEAMS_MAX;
    int status = TUTTI_OK;
    for (uint64_t areas = state->area; areas + all <= tutti_shmem.first && status == TUTTI_OK; areas += all)
        status = tutti_shmem.kind->clear(state->heap + areas + number * bytes, bytes);
    return status;
}

int tutti_shmem_team_make(unsigned number, const int32_t *pe, int size, int wanted)
{
    const struct tutti_shmem *space = &tutti_shmem;
    struct tshmem_team_state *team = &tutti_shmem_told()->team[number];
    memset(team, 0, sizeof *team);
    memcpy(team->world, pe, (size_t)size * sizeof *pe);
    memset(&space->control[space->state.me]->place[number], 0, sizeof(struct tutti_shmem_place));
    const int status = clear_areas(number), told = fill(team, number, size);
    contexts[number] = wanted;
    return status != TUTTI_OK ? status : told;
}

int tutti_shmem_team_open(tshmem_team_t team)
{
    _Static_assert((int)TUTTI_SHMEM_RECORD == (int)TUTTI_EXCHANGE_BYTES, "what members exchange");
    struct tutti_shmem *space = &tutti_shmem;
    const struct tshmem_team_state *state = tutti_shmem_team(team);
    char records[TSHMEM_PES_MAX][TUTTI_SHMEM_RECORD];
    if (!state || state->size == 1 || state->far || !space->channels.room)
        return TUTTI_OK;
    tutti_shmem_channel_begin(&space->channels, space->team->node, space->transport, team, state->me, state->size,
                              space->control[space->state.me]->record[team]);
    int status = tutti_shmem_pass(team, TUTTI_SHMEM_SPLIT);
    memset(records, 0, sizeof records); /* where that failed, all give up */
    for (int i = 0; i < state->size && status == TUTTI_OK; i++)
        memcpy(records[i], space->control[state->world[i]]->record[team], TUTTI_SHMEM_RECORD);
    const int opened = tutti_shmem_channel_open(&space->channels, team, records, space->gpu->gpu);
    if (status == TUTTI_OK && opened != TUTTI_OK)
        status = tutti_shmem_fail(opened, "a channel of a team", "%s", tutti_status_text(opened));
    return status;
}

void tutti_shmem_team_unmake(tshmem_team_t team)
{
    tutti_shmem_channel_close(&tutti_shmem.channels, team);
    uint32_t *const used = (uint32_t *)&tutti_shmem_told()->team[team].used;
    __atomic_store_n(used, 0, __ATOMIC_RELEASE);
    tutti_shmem_tell(used, sizeof *used);
    tutti_shmem_number_release((unsigned)team);
}

/* What a call's PEs say of numbers, behind the words that are alike. */
enum { TAKEN = TUTTI_SHMEM_ALIKE, REFUSED };

static uint64_t any(const struct tutti_shmem_call *call, int word)
{
    uint64_t bits = 0;
    for (int i = 0; i < call->team->size; i++)
        bits |= tutti_shmem_said(call, i)->word[word];
    return bits;
}

static struct tutti_shmem_numbers said_by_any(const struct tutti_shmem_call *call)
{
    return (struct tutti_shmem_numbers){any(call, TAKEN), any(call, REFUSED)};
}

static int meet(void *with, struct tutti_shmem_numbers *words)
{
    struct tutti_shmem_call *call = with;
    call->word[TAKEN] = words->taken;
    call->word[REFUSED] = words->refused;
    const int status = tutti_shmem_again(call);
    if (status == TUTTI_OK)
        *words = said_by_any(call);
    return status;
}

static int agree(struct tutti_shmem_call *call, int member, uint64_t besides, unsigned *number)
{
    return tutti_shmem_number_agree(meet, call, said_by_any(call), member, besides, call->team->number, number);
}

/* Makes `size` PEs of the parent, `stride` apart, a team of a number that is claimed. */
static int make(struct tutti_shmem_call *call, int start, int stride, int size, unsigned number, int wanted,
                tshmem_team_t *made)
{
    int32_t pe[TSHMEM_PES_MAX] = {0};
    for (int i = 0; i < size; i++)
        pe[i] = call->team->world[start + i * stride];
    *made = (tshmem_team_t)number;
    return tutti_shmem_team_make(number, pe, size, wanted);
}

/* 1 where PE `me` is among start, start + stride ... */
static int is_member(int me, int start, int stride, int size)
{
    for (int i = 0; i < size; i++) {
        if (start + i * stride == me)
            return 1;
    }
    return 0;
}

/* Contexts that a configuration wants; a call that wants too many is refused. */
static int wanted_by(struct tutti_shmem_call *call, const tshmem_team_config_t *config, long mask)
{
    const int n = config && mask & TSHMEM_TEAM_NUM_CONTEXTS ? config->num_contexts : 0;
    if (n < 0 || n >= TSHMEM_CONTEXTS_MAX)
        call->refused = tutti_shmem_answer(TUTTI_ERR_ARGUMENT, tutti_shmem_call_name(call),
                                           "num_contexts %d: there are up to %d", n, TSHMEM_CONTEXTS_MAX - 1);
    return n;
}

static int too_many(const struct tutti_shmem_call *call)
{
    return tutti_shmem_answer(TUTTI_ERR_MEMORY, tutti_shmem_call_name(call), "more than %d teams of one PE at a time",
                              TSHMEM_TEAMS_MAX);
}

int tshmem_team_split_strided(tshmem_team_t parent, int start, int stride, int size, const tshmem_team_config_t *config,
                              long mask, tshmem_team_t *made)
{
    const struct tshmem_team_state *from = tutti_shmem_team(parent);
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_SPLIT,
                                    .word = {(uint32_t)start, (uint32_t)stride, (uint32_t)size}};
    const int64_t last = start + (int64_t)stride * ((int64_t)size - 1);
    const int wanted = wanted_by(&call, config, mask);
    *made = TSHMEM_TEAM_INVALID;
    if (parent == TSHMEM_TEAM_INVALID) /* asking is no error of the program */
        return TUTTI_ERR_ARGUMENT;
    if (from &&
        (size < 1 || start < 0 || start >= from->size || last < 0 || last >= from->size || (stride == 0 && size > 1)))
        call.refused = tutti_shmem_answer(TUTTI_ERR_ARGUMENT, "tshmem_team_split_strided",
                                          "PEs %d, stride %d, %d of them, are not all in a team of %d", start, stride,
                                          size, from->size);
    call.word[TAKEN] = tutti_shmem_numbers_taken();
    int status = tutti_shmem_begin(&call, parent);
    if (status != TUTTI_OK)
        return status;
    const int member = is_member(from->me, start, stride, size);
    unsigned number = TSHMEM_TEAMS_MAX;
    status = agree(&call, member, 0, &number);
    if (number < TSHMEM_TEAMS_MAX && member)
        status = make(&call, start, stride, size, number, wanted, made);
    status = tutti_shmem_end(&call, status);
    if (status == TUTTI_OK && *made != TSHMEM_TEAM_INVALID)
        status = tutti_shmem_team_open(*made);
    return status == TUTTI_OK && number == TSHMEM_TEAMS_MAX ? too_many(&call) : status;
}

int tshmem_team_split_2d(tshmem_team_t parent, int xrange, const tshmem_team_config_t *xconfig, long xmask,
                         tshmem_team_t *xteam, const tshmem_team_config_t *yconfig, long ymask, tshmem_team_t *yteam)
{
    const struct tshmem_team_state *from = tutti_shmem_team(parent);
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_SPLIT_2D, .word = {(uint32_t)xrange}};
    const int xwanted = wanted_by(&call, xconfig, xmask), ywanted = wanted_by(&call, yconfig, ymask);
    *xteam = *yteam = TSHMEM_TEAM_INVALID;
    if (parent == TSHMEM_TEAM_INVALID)
        return TUTTI_ERR_ARGUMENT;
    if (from && xrange < 1)
        call.refused = tutti_shmem_answer(TUTTI_ERR_ARGUMENT, "tshmem_team_split_2d", "rows of %d PEs", xrange);
    call.word[TAKEN] = tutti_shmem_numbers_taken();
    int status = tutti_shmem_begin(&call, parent);
    if (status != TUTTI_OK)
        return status;
    const int n = from->size, width = xrange < n ? xrange : n;
    const int row = from->me / width * width, column = from->me % width;
    unsigned x = TSHMEM_TEAMS_MAX, y = TSHMEM_TEAMS_MAX;
    status = agree(&call, 1, 0, &x);
    if (x < TSHMEM_TEAMS_MAX)
        status = agree(&call, 1, UINT64_C(1) << x, &y);
    if (y < TSHMEM_TEAMS_MAX) {
        status = make(&call, row, 1, width < n - row ? width : n - row, x, xwanted, xteam);
        if (status == TUTTI_OK)
            status = make(&call, column, width, (n - column + width - 1) / width, y, ywanted, yteam);
    } else if (x < TSHMEM_TEAMS_MAX) {
        tutti_shmem_number_release(x);
    }
    status = tutti_shmem_end(&call, status);
    if (status == TUTTI_OK && y < TSHMEM_TEAMS_MAX) {
        status = tutti_shmem_team_open(*xteam);
        if (status == TUTTI_OK)
            status = tutti_shmem_team_open(*yteam);
    }
    return status == TUTTI_OK && y == TSHMEM_TEAMS_MAX ? too_many(&call) : status;
}

void tshmem_team_destroy(tshmem_team_t team)
{
    if (team == TSHMEM_TEAM_INVALID)
        return;
    if (team >= TSHMEM_TEAM_WORLD && team <= TSHMEM_TEAM_NODE) {
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, "tshmem_team_destroy", "team %d is always there", team);
        return;
    }
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_DESTROY};
    tutti_shmem_contexts_leave(team);
    if (tutti_shmem_begin(&call, team) == TUTTI_OK && tutti_shmem_end(&call, TUTTI_OK) == TUTTI_OK)
        tutti_shmem_team_unmake(team);
}

int tshmem_team_my_pe(tshmem_team_t team)
{
    const struct tshmem_team_state *state = tutti_shmem_team(team);
    return state ? state->me : -1;
}

int tshmem_team_n_pes(tshmem_team_t team)
{
    const struct tshmem_team_state *state = tutti_shmem_team(team);
    return state ? state->size : -1;
}

int tshmem_team_get_config(tshmem_team_t team, long mask, tshmem_team_config_t *config)
{
    if (team == TSHMEM_TEAM_INVALID) /* may be asked for: the result says it */
        return TUTTI_ERR_ARGUMENT;
    if (!tutti_shmem_team(team))
        return tutti_shmem_fail(TUTTI_ERR_ARGUMENT, "tshmem_team_get_config", "%d is no team of this PE", team);
    if (mask & TSHMEM_TEAM_NUM_CONTEXTS)
        config->num_contexts = contexts[team];
    return TUTTI_OK;
}

int tshmem_team_translate_pe(tshmem_team_t from, int pe, tshmem_team_t to)
{
    const struct tshmem_team_state *a = tutti_shmem_team(from), *b = tutti_shmem_team(to);
    if (!a || !b || pe < 0 || pe >= a->size)
        return -1;
    for (int i = 0; i < b->size; i++) {
        if (b->world[i] == a->world[pe])
            return i;
    }
    return -1;
}
