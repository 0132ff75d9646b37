#include "shmem/meet.h"

#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "progress/engine.h"
#include "shmem/far.h"
#include "team/team.h"

enum { SPINS_ALONE = 1000, SPINS_CROWDED = 16, LOOKS = 64 };

const char *tutti_shmem_call_name(const struct tutti_shmem_call *call)
{
    return tutti_shmem_contribution_name(call->kind, call->word);
}

/* ---- tables for kernels ---- */

struct tutti_shmem_kernel_view *tutti_shmem_kernel_view(struct tutti_shmem *space)
{
    return &space->control[space->state.me]->kernel_view;
}

int tutti_shmem_publish(struct tutti_shmem *space, const void *changed, size_t bytes)
{
    const size_t at = (size_t)((const char *)changed - (const char *)tutti_shmem_kernel_view(space));
    char *const there = (char *)space->kernel_view + at;
    if (there == changed || __atomic_load_n(space->state.abort, __ATOMIC_RELAXED))
        return TUTTI_OK;
    return space->kind->copy(space, there, changed, bytes, 0);
}

const struct tshmem_team_state *tutti_shmem_team(struct tutti_shmem *space, tshmem_team_t team)
{
    if (space->state.pes == 0 || team < 0 || team >= TSHMEM_TEAMS_MAX)
        return NULL;
    const struct tshmem_team_state *found = &tutti_shmem_kernel_view(space)->team[team];
    return found->used ? found : NULL;
}

/* ---- waiting ---- */

struct awaiting {
    struct tutti_shmem *space;
    int (*done)(struct tutti_shmem *space, void *with);
    void (*where)(struct tutti_shmem *space, void *with, char *text, size_t size);
    void *with;
    unsigned looks;
    uint64_t since;
    int reported;
};

/* Reports once the reason of a long wait. */
static int meet_look(void *with, uint64_t *waited)
{
    struct awaiting *a = with;
    struct tutti_shmem *const space = a->space;
    (void)waited;
    if (a->reported || ++a->looks % LOOKS != 0)
        return TUTTI_OK;
    const uint64_t now = tutti_now_ns();
    a->since = a->since ? a->since : now;
    if (now - a->since < (uint64_t)tutti_settings()->stall_seconds * 1000000000u)
        return TUTTI_OK;
    char text[256] = "";
    a->reported = 1;
    a->where(space, a->with, text, sizeof text);
    tutti_shmem_own_names(text);
    tutti_warn("PE %d is waiting for %ld s %s", space->state.me, tutti_settings()->stall_seconds, text);
    return TUTTI_OK;
}

static int meet_is_done(void *with)
{
    const struct awaiting *a = with;
    return a->done(a->space, a->with);
}

int tutti_shmem_await(struct tutti_shmem *space, int (*done)(struct tutti_shmem *space, void *with),
                      void (*where)(struct tutti_shmem *space, void *with, char *text, size_t size), void *with)
{
    struct awaiting a = {.space = space, .done = done, .where = where, .with = with};
    char text[256] = "";
    const int come = done(space, with);
    if (come > 0)
        return TUTTI_OK;
    const struct tutti_wait wait = {.done = meet_is_done,
                                    .with = &a,
                                    .seconds = tutti_settings()->timeout_seconds,
                                    .watched = 1,
                                    .spins = space->crowded ? SPINS_CROWDED : SPINS_ALONE,
                                    .crowded = space->crowded,
                                    .look = meet_look,
                                    .look_with = &a};
    const int status = come < 0 ? come : tutti_progress_wait(&wait);
    if (status == TUTTI_OK)
        return TUTTI_OK;
    space->ends->with_others(space);
    tutti_shmem_stream_look(space); /* a kernel may have left a better reason */
    tutti_shmem_leave_all(space);
    where(space, with, text, sizeof text);
    return tutti_shmem_fail(space, status, "the address space ends", "PE %d waited %s: %s", space->state.me, text,
                            tutti_status_text(status));
}

/* ---- meetings ---- */

struct meeting {
    const struct tutti_shmem_call *call;
    int next; /* members before this one have arrived */
};

static int meeting_has_arrived(const struct tutti_shmem_place *place, int member)
{
    return atomic_load_explicit(&place->arrived[member], memory_order_acquire) >> 8 >= place->sequence;
}

/* 1 if that PE waits in tshmem_finalize for this one, which is in another call: neither could go on. */
static int is_finalizing(struct tutti_shmem *space, int pe)
{
    if (tutti_shmem_is_large(&tutti_shmem_kernel_view(space)->team[TSHMEM_TEAM_WORLD])) /* its arrivals are of hops */
        return 0;
    const struct tutti_shmem_place *all = &space->control[space->state.me]->place[TSHMEM_TEAM_WORLD];
    const uint64_t arrival = atomic_load_explicit(&all->arrived[pe], memory_order_acquire);
    return (arrival & 0xff) == TUTTI_SHMEM_FINALIZE && arrival >> 8 > all->sequence;
}

static int meet_all_arrived(struct tutti_shmem *space, void *with)
{
    struct meeting *m = with;
    const struct tshmem_team_state *team = m->call->team;
    while (m->next < team->size && meeting_has_arrived(m->call->place, m->next))
        m->next++;
    if (m->next == team->size)
        return 1;
    if (__atomic_load_n(space->state.abort, __ATOMIC_RELAXED))
        return TUTTI_ERR_BROKEN;
    if (!is_finalizing(space, tutti_shmem_pe_of(space, team, m->next)))
        return 0;
    /* It may have arrived, and finalized, since the test above. */
    return meeting_has_arrived(m->call->place, m->next) ? 0 : TUTTI_ERR_MISMATCH;
}

static void say_missing(struct tutti_shmem *space, void *with, char *text, size_t size)
{
    const struct meeting *m = with;
    const struct tshmem_team_state *team = m->call->team;
    int n = snprintf(text, size, "in %s for PE", tutti_shmem_call_name(m->call));
    for (int i = 0; i < team->size && n > 0 && (size_t)n + 48 < size; i++) {
        if (!meeting_has_arrived(m->call->place, i))
            n += snprintf(text + n, size - (size_t)n, " %d%s", tutti_shmem_pe_of(space, team, i),
                          is_finalizing(space, tutti_shmem_pe_of(space, team, i)) ? " (which is in tshmem_finalize)"
                                                                                  : "");
    }
}

static int call_meet(struct tutti_shmem *space, struct tutti_shmem_call *call)
{
    const struct tshmem_team_state *team = call->team;
    struct tutti_shmem_place *place = call->place;
    const uint64_t sequence = ++place->sequence;
    struct tutti_shmem_contribution *contribution = &place->contribution[sequence & 1];
    contribution->call = call->refused != TUTTI_OK ? TUTTI_SHMEM_WRONG : call->kind;
    memcpy(contribution->word, call->word, sizeof contribution->word);
    const uint64_t arrival = tutti_shmem_arrival(sequence, contribution->call);
    int status = TUTTI_OK;
    if (tutti_shmem_is_large(team))
        return tutti_shmem_far_meet(space, team, sequence, contribution, tutti_shmem_call_name(call));
    for (int i = 0; i < team->size && status == TUTTI_OK; i++) {
        struct tutti_shmem_control *control = space->control[tutti_shmem_pe_of(space, team, i)];
        if (control)
            atomic_store_explicit(&control->place[team->number].arrived[team->me], arrival, memory_order_release);
        else
            status = tutti_shmem_far_arrive(space, team, tutti_shmem_pe_of(space, team, i), sequence, contribution);
    }
    struct meeting m = {.call = call};
    return status == TUTTI_OK ? tutti_shmem_await(space, meet_all_arrived, say_missing, &m) : status;
}

/* Begins a call, before its first meeting: one call at a time on a team. */
static int call_enter(struct tutti_shmem *space, struct tutti_shmem_call *call, tshmem_team_t team)
{
    const char *name = tutti_shmem_call_name(call);
    call->team = tutti_shmem_team(space, team);
    if (space->state.pes == 0)
        return tutti_shmem_down(space, name);
    if (!call->team)
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "%d is no team of this PE", team);
    tutti_shmem_far_serve(space); /* a far PE that gave up may have sent its reason */
    tutti_shmem_stream_look(space);
    if (__atomic_load_n(space->state.abort, __ATOMIC_RELAXED)) {
        space->ends->with_others(space);
        return tutti_shmem_fail(space, TUTTI_ERR_BROKEN, name, "%s", tutti_status_text(TUTTI_ERR_BROKEN));
    }
    call->place = &space->control[space->state.me]->place[call->team->number];
    if (atomic_exchange(&call->place->busy, 1))
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name,
                                "another collective of team %d is under way in this process", team);
    return TUTTI_OK;
}

static void call_leave(struct tutti_shmem_call *call)
{
    atomic_store_explicit(&call->place->busy, 0, memory_order_release);
}

const struct tutti_shmem_contribution *tutti_shmem_contribution(struct tutti_shmem *space,
                                                                const struct tutti_shmem_call *call, int member)
{
    const struct tshmem_team_state *team = call->team;
    const struct tutti_shmem_control *control = space->control[tutti_shmem_pe_of(space, team, member)];
    const uint64_t sequence = call->place->sequence;
    return control && !tutti_shmem_is_large(team) ? &control->place[team->number].contribution[sequence & 1]
                                                  : tutti_shmem_far_said(space, team, member, sequence);
}

/* The first member whose contribution differs from this PE's; none: the number of members. */
static int find_other(struct tutti_shmem *space, const struct tutti_shmem_call *call)
{
    const struct tutti_shmem_contribution *mine = tutti_shmem_contribution(space, call, call->team->me);
    int i = 0;
    for (; i < call->team->size; i++) {
        const struct tutti_shmem_contribution *theirs = tutti_shmem_contribution(space, call, i);
        if (theirs->call != mine->call || mine->call == TUTTI_SHMEM_WRONG ||
            memcmp(theirs->word, mine->word, TUTTI_SHMEM_ALIKE * sizeof *mine->word) != 0)
            break;
    }
    return i;
}

/* The same for the calls alone, from the arrivals: they are in this PE's memory and have just been read. A member
 * that is at its next meeting has overwritten its arrival. */
static int find_other_call(struct tutti_shmem *space, const struct tutti_shmem_call *call)
{
    const uint64_t sequence = call->place->sequence, mine = tutti_shmem_arrival(sequence, call->kind);
    int i = 0;
    while (tutti_shmem_is_large(call->team) && i < call->team->size &&
           tutti_shmem_contribution(space, call, i)->call == call->kind)
        i++;
    for (; i < call->team->size && !tutti_shmem_is_large(call->team); i++) {
        const uint64_t theirs = atomic_load_explicit(&call->place->arrived[i], memory_order_relaxed);
        if (theirs != mine && (theirs >> 8 == sequence || tutti_shmem_contribution(space, call, i)->call != call->kind))
            break;
    }
    return i;
}

/* Reports an error if there is such a member. */
static int call_compare(struct tutti_shmem *space, const struct tutti_shmem_call *call, int member)
{
    char text[240];
    if (member == call->team->size)
        return TUTTI_OK;
    if (call->refused != TUTTI_OK) /* reported */
        return call->refused;
    tutti_shmem_differ(tutti_shmem_contribution(space, call, call->team->me),
                       tutti_shmem_contribution(space, call, member), tutti_shmem_pe_of(space, call->team, member),
                       space->first, text, sizeof text);
    return tutti_shmem_fail(space, TUTTI_ERR_MISMATCH, tutti_shmem_call_name(call), "%s; nothing is done", text);
}

int tutti_shmem_begin(struct tutti_shmem *space, struct tutti_shmem_call *call, tshmem_team_t team)
{
    int status = call_enter(space, call, team);
    if (status != TUTTI_OK)
        return status;
    status = call_meet(space, call);
    if (status == TUTTI_OK)
        status = call_compare(space, call, find_other(space, call));
    if (status != TUTTI_OK)
        call_leave(call);
    return status;
}

int tutti_shmem_again(struct tutti_shmem *space, struct tutti_shmem_call *call)
{
    return call_meet(space, call);
}

int tutti_shmem_end(struct tutti_shmem *space, struct tutti_shmem_call *call, int status)
{
    if (status == TUTTI_OK && space->wire) /* complete what was put into far heaps */
        status = tutti_shmem_far_quiet(space, -1);
    if (status == TUTTI_OK)
        status = call_meet(space, call);
    call_leave(call);
    return status;
}

int tutti_shmem_pass(struct tutti_shmem *space, tshmem_team_t team, unsigned kind)
{
    return tutti_shmem_pass_as(space, team, kind, TUTTI_SHMEM_OF_TEAM);
}

int tutti_shmem_pass_as(struct tutti_shmem *space, tshmem_team_t team, unsigned kind, unsigned form)
{
    struct tutti_shmem_call call = {.kind = kind, .word = {[TUTTI_SHMEM_ELEMENT] = form}};
    int status = call_enter(space, &call, team);
    if (status != TUTTI_OK)
        return status;
    status = call_meet(space, &call);
    if (status == TUTTI_OK)
        status = call_compare(space, &call, find_other_call(space, &call));
    call_leave(&call);
    return status;
}
