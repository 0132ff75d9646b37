/* Teams: members, split and destroy. Teams without a common PE may have the same number. */
#include "shmem/teams.h"
#include "shmem/here.h"

#include <string.h>

#include "progress/transport.h"
#include "shmem/copy_queue.h"
#include "shmem/far.h"
#include "shmem/local/numbers.h"
#include "shmem/meet.h"
#include "shmem/near.h"
#include "team/team.h"

/* num_contexts that each team was made with, by its number. */
static int contexts[TSHMEM_TEAMS_MAX];

/* The table in which kernels look members up, if the team is not even steps of PEs. */
static int tell_list(struct tutti_shmem *space, struct tshmem_team_state *team, const int32_t *world)
{
    const size_t bytes = (size_t)team->size * sizeof *world;
    team->list = world;
    if (team->size <= TSHMEM_NEAR_MAX)
        memcpy(team->world, world, bytes);
    if (!space->lists || team->size <= TSHMEM_NEAR_MAX || team->stride != 0)
        return TUTTI_OK;
    int32_t *const there = space->lists + (size_t)team->number * (size_t)space->transport->size;
    team->list = there;
    return space->kind->copy(space, there, world, bytes, 0);
}

/* Members are in space->world[number]; this PE is one of them. */
static int team_fill(struct tutti_shmem *space, struct tshmem_team_state *team, unsigned number, int size)
{
    const int32_t *const world = space->world[number];
    const int start = world[0], stride = size > 1 ? world[1] - start : 1;
    int even = 1;
    team->far = 0;
    for (int i = 0; i < size; i++) {
        team->far |= !tutti_shmem_kernels_reach(space, world[i]); /* PEs of a node all map each other */
        even &= world[i] == start + i * stride;
        if (world[i] == space->state.me)
            team->me = i;
    }
    team->size = size;
    team->start = start;
    team->stride = even ? stride : 0;
    team->number = number;
    int status = tell_list(space, team, world);
    if (status == TUTTI_OK && team->far)
        status = tutti_shmem_far_team(space, number, size);
    if (status != TUTTI_OK)
        return status;
    __atomic_store_n(&team->used, 1, __ATOMIC_RELEASE);
    return tutti_shmem_publish(space, team, sizeof *team);
}

int tutti_shmem_teams_open(struct tutti_shmem *space)
{
    struct tshmem_team_state *const team = tutti_shmem_kernel_view(space)->team;
    int status = TUTTI_OK;
    const struct tutti_shmem_near *near = space->near;
    const int all = space->transport->size;
    for (int i = TSHMEM_TEAM_WORLD; i <= TSHMEM_TEAM_NODE; i++) {
        const int size = i == TSHMEM_TEAM_WORLD ? all : near->count;
        for (int k = 0; k < size; k++)
            space->world[i][k] = i == TSHMEM_TEAM_WORLD ? k : near->pe[k];
        if (status == TUTTI_OK)
            status = team_fill(space, &team[i], (unsigned)i, size);
    }
    tutti_shmem_numbers_open(TSHMEM_TEAM_NODE + 1);
    space->state.far = team[TSHMEM_TEAM_WORLD].far;
    return status;
}

/* Calls in kernels, and calls in streams. */
static int clear_areas(struct tutti_shmem *space, unsigned number)
{
    const struct tshmem_state *state = &space->state;
    const uint64_t bytes = state->area_bytes, all = bytes * TSHMEM_TEAMS_MAX;
    int status = TUTTI_OK;
    for (uint64_t areas = state->area; areas + all <= space->first && status == TUTTI_OK; areas += all)
        status = space->kind->clear(space, state->heap + areas + number * bytes, bytes);
    return status;
}

int tutti_shmem_team_make(struct tutti_shmem *space, unsigned number, const int32_t *pe, int size, int wanted)
{
    struct tshmem_team_state *team = &tutti_shmem_kernel_view(space)->team[number];
    memset(team, 0, sizeof *team);
    memcpy(space->world[number], pe, (size_t)size * sizeof *pe);
    memset(&space->control[space->state.me]->place[number], 0, sizeof(struct tutti_shmem_place));
    const int status = clear_areas(space, number), told = team_fill(space, team, number, size);
    contexts[number] = wanted;
    return status != TUTTI_OK ? status : told;
}

int tutti_shmem_team_open(struct tutti_shmem *space, tshmem_team_t team)
{
    _Static_assert((int)TUTTI_SHMEM_RECORD == (int)TUTTI_EXCHANGE_BYTES, "what members exchange");
    const struct tshmem_team_state *state = tutti_shmem_team(space, team);
    char records[TSHMEM_NEAR_MAX][TUTTI_SHMEM_RECORD];
    if (!state || state->size == 1 || state->size > TSHMEM_NEAR_MAX || state->far || !space->channels.room)
        return TUTTI_OK;
    tutti_shmem_channel_begin(&space->channels, space->team->node, space->transport, team, state->me, state->size,
                              space->control[space->state.me]->record[team]);
    int status = tutti_shmem_pass(space, team, TUTTI_SHMEM_SPLIT);
    memset(records, 0, sizeof records); /* if that failed, all give up */
    for (int i = 0; i < state->size && status == TUTTI_OK; i++)
        memcpy(records[i], space->control[tutti_shmem_pe_of(space, state, i)]->record[team], TUTTI_SHMEM_RECORD);
    const int opened = tutti_shmem_channel_open(&space->channels, team, records, space->gpu->gpu);
    if (status == TUTTI_OK && opened != TUTTI_OK)
        status = tutti_shmem_fail(space, opened, "a channel of a team", "%s", tutti_status_text(opened));
    return status;
}

void tutti_shmem_team_unmake(struct tutti_shmem *space, tshmem_team_t team)
{
    tutti_shmem_channel_close(&space->channels, team);
    uint32_t *const used = (uint32_t *)&tutti_shmem_kernel_view(space)->team[team].used;
    __atomic_store_n(used, 0, __ATOMIC_RELEASE);
    tutti_shmem_publish(space, used, sizeof *used);
    tutti_shmem_number_release((unsigned)team);
}

/* The contribution of a PE about numbers, behind the words that must agree. */
enum { TAKEN = TUTTI_SHMEM_ALIKE, REFUSED };

static uint64_t call_any(struct tutti_shmem *space, const struct tutti_shmem_call *call, int word)
{
    uint64_t bits = 0;
    for (int i = 0; i < call->team->size; i++)
        bits |= tutti_shmem_contribution(space, call, i)->word[word];
    return bits;
}

static struct tutti_shmem_numbers said_by_any(struct tutti_shmem *space, const struct tutti_shmem_call *call)
{
    return (struct tutti_shmem_numbers){call_any(space, call, TAKEN), call_any(space, call, REFUSED)};
}

struct meeting {
    struct tutti_shmem *space;
    struct tutti_shmem_call *call;
};

static int teams_meet(void *with, struct tutti_shmem_numbers *words)
{
    struct tutti_shmem *const space = ((struct meeting *)with)->space;
    struct tutti_shmem_call *const call = ((struct meeting *)with)->call;
    call->word[TAKEN] = words->taken;
    call->word[REFUSED] = words->refused;
    const int status = tutti_shmem_again(space, call);
    if (status == TUTTI_OK)
        *words = said_by_any(space, call);
    return status;
}

static int team_agree(struct tutti_shmem *space, struct tutti_shmem_call *call, int member, uint64_t besides,
                      unsigned *number)
{
    struct meeting meeting = {space, call};
    return tutti_shmem_number_agree(teams_meet, &meeting, said_by_any(space, call), member, besides, call->team->number,
                                    number);
}

/* Makes a team of `size` PEs of the parent, `stride` apart, with a claimed number. */
static int team_make(struct tutti_shmem *space, struct tutti_shmem_call *call, int start, int stride, int size,
                     unsigned number, int wanted, tshmem_team_t *made)
{
    int32_t pe[TSHMEM_PES_MAX] = {0};
    for (int i = 0; i < size; i++)
        pe[i] = tutti_shmem_pe_of(space, call->team, start + i * stride);
    *made = (tshmem_team_t)number;
    return tutti_shmem_team_make(space, number, pe, size, wanted);
}

/* 1 if PE `me` is among start, start + stride ... */
static int is_member(int me, int start, int stride, int size)
{
    for (int i = 0; i < size; i++) {
        if (start + i * stride == me)
            return 1;
    }
    return 0;
}

/* Contexts that a configuration asks for; refuses the call if there are too many. */
static int wanted_by(struct tutti_shmem *space, struct tutti_shmem_call *call, const tshmem_team_config_t *config,
                     long mask)
{
    const int n = config && mask & TSHMEM_TEAM_NUM_CONTEXTS ? config->num_contexts : 0;
    if (n < 0 || n >= TSHMEM_CONTEXTS_MAX)
        call->refused = tutti_shmem_answer(space, TUTTI_ERR_ARGUMENT, tutti_shmem_call_name(call),
                                           "num_contexts %d: there are up to %d", n, TSHMEM_CONTEXTS_MAX - 1);
    return n;
}

static int too_many(struct tutti_shmem *space, const struct tutti_shmem_call *call)
{
    return tutti_shmem_answer(space, TUTTI_ERR_MEMORY, tutti_shmem_call_name(call),
                              "more than %d teams of one PE at a time", TSHMEM_TEAMS_MAX);
}

int tshmem_team_split_strided(tshmem_team_t parent, int start, int stride, int size, const tshmem_team_config_t *config,
                              long mask, tshmem_team_t *made)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const struct tshmem_team_state *from = tutti_shmem_team(space, parent);
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_SPLIT,
                                    .word = {(uint32_t)start, (uint32_t)stride, (uint32_t)size}};
    const int64_t last = start + (int64_t)stride * ((int64_t)size - 1);
    const int wanted = wanted_by(space, &call, config, mask);
    *made = TSHMEM_TEAM_INVALID;
    if (parent == TSHMEM_TEAM_INVALID) /* an unknown handle is no error of the program here */
        return TUTTI_ERR_ARGUMENT;
    if (from &&
        (size < 1 || start < 0 || start >= from->size || last < 0 || last >= from->size || (stride == 0 && size > 1)))
        call.refused = tutti_shmem_answer(space, TUTTI_ERR_ARGUMENT, "tshmem_team_split_strided",
                                          "PEs %d, stride %d, %d of them, are not all in a team of %d", start, stride,
                                          size, from->size);
    call.word[TAKEN] = tutti_shmem_numbers_taken();
    int status = tutti_shmem_begin(space, &call, parent);
    if (status != TUTTI_OK)
        return status;
    const int member = is_member(from->me, start, stride, size);
    unsigned number = TSHMEM_TEAMS_MAX;
    status = team_agree(space, &call, member, 0, &number);
    if (number < TSHMEM_TEAMS_MAX && member)
        status = team_make(space, &call, start, stride, size, number, wanted, made);
    status = tutti_shmem_end(space, &call, status);
    if (status == TUTTI_OK && *made != TSHMEM_TEAM_INVALID)
        status = tutti_shmem_team_open(space, *made);
    return status == TUTTI_OK && number == TSHMEM_TEAMS_MAX ? too_many(space, &call) : status;
}

int tshmem_team_split_2d(tshmem_team_t parent, int xrange, const tshmem_team_config_t *xconfig, long xmask,
                         tshmem_team_t *xteam, const tshmem_team_config_t *yconfig, long ymask, tshmem_team_t *yteam)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const struct tshmem_team_state *from = tutti_shmem_team(space, parent);
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_SPLIT_2D, .word = {(uint32_t)xrange}};
    const int xwanted = wanted_by(space, &call, xconfig, xmask), ywanted = wanted_by(space, &call, yconfig, ymask);
    *xteam = *yteam = TSHMEM_TEAM_INVALID;
    if (parent == TSHMEM_TEAM_INVALID)
        return TUTTI_ERR_ARGUMENT;
    if (from && xrange < 1)
        call.refused = tutti_shmem_answer(space, TUTTI_ERR_ARGUMENT, "tshmem_team_split_2d", "rows of %d PEs", xrange);
    call.word[TAKEN] = tutti_shmem_numbers_taken();
    int status = tutti_shmem_begin(space, &call, parent);
    if (status != TUTTI_OK)
        return status;
    const int n = from->size, width = xrange < n ? xrange : n;
    const int row = from->me / width * width, column = from->me % width;
    unsigned x = TSHMEM_TEAMS_MAX, y = TSHMEM_TEAMS_MAX;
    status = team_agree(space, &call, 1, 0, &x);
    if (x < TSHMEM_TEAMS_MAX)
        status = team_agree(space, &call, 1, UINT64_C(1) << x, &y);
    if (y < TSHMEM_TEAMS_MAX) {
        status = team_make(space, &call, row, 1, width < n - row ? width : n - row, x, xwanted, xteam);
        if (status == TUTTI_OK)
            status = team_make(space, &call, column, width, (n - column + width - 1) / width, y, ywanted, yteam);
    } else if (x < TSHMEM_TEAMS_MAX) {
        tutti_shmem_number_release(x);
    }
    status = tutti_shmem_end(space, &call, status);
    if (status == TUTTI_OK && y < TSHMEM_TEAMS_MAX) {
        status = tutti_shmem_team_open(space, *xteam);
        if (status == TUTTI_OK)
            status = tutti_shmem_team_open(space, *yteam);
    }
    return status == TUTTI_OK && y == TSHMEM_TEAMS_MAX ? too_many(space, &call) : status;
}

void tshmem_team_destroy(tshmem_team_t team)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    if (team == TSHMEM_TEAM_INVALID)
        return;
    if (team >= TSHMEM_TEAM_WORLD && team <= TSHMEM_TEAM_NODE) {
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, "tshmem_team_destroy", "team %d is always there", team);
        return;
    }
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_DESTROY};
    tutti_shmem_contexts_leave(space, team);
    if (tutti_shmem_begin(space, &call, team) == TUTTI_OK && tutti_shmem_end(space, &call, TUTTI_OK) == TUTTI_OK)
        tutti_shmem_team_unmake(space, team);
}

int tshmem_team_my_pe(tshmem_team_t team)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const struct tshmem_team_state *state = tutti_shmem_team(space, team);
    return state ? state->me : -1;
}

int tshmem_team_n_pes(tshmem_team_t team)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const struct tshmem_team_state *state = tutti_shmem_team(space, team);
    return state ? state->size : -1;
}

int tshmem_team_get_config(tshmem_team_t team, long mask, tshmem_team_config_t *config)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    if (team == TSHMEM_TEAM_INVALID) /* an unknown handle is no error of the program here */
        return TUTTI_ERR_ARGUMENT;
    if (!tutti_shmem_team(space, team))
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, "tshmem_team_get_config", "%d is no team of this PE", team);
    if (mask & TSHMEM_TEAM_NUM_CONTEXTS)
        config->num_contexts = contexts[team];
    return TUTTI_OK;
}

int tshmem_team_translate_pe(tshmem_team_t from, int pe, tshmem_team_t to)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const struct tshmem_team_state *a = tutti_shmem_team(space, from), *b = tutti_shmem_team(space, to);
    if (!a || !b || pe < 0 || pe >= a->size)
        return -1;
    for (int i = 0; i < b->size; i++) {
        if (tutti_shmem_pe_of(space, b, i) == tutti_shmem_pe_of(space, a, pe))
            return i;
    }
    return -1;
}
