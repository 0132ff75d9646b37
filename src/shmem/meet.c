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
    return tutti_shmem_said_name(call->kind, call->word);
}

/* ---- what kernels look up ---- */

struct tutti_shmem_told *tutti_shmem_told(void)
{
    return &tutti_shmem.control[tutti_shmem.state.me]->told;
}

int tutti_shmem_tell(const void *changed, size_t bytes)
{
    const struct tutti_shmem *space = &tutti_shmem;
    const size_t at = (size_t)((const char *)changed - (const char *)tutti_shmem_told());
    char *const there = (char *)space->told + at;
    if (there == changed || __atomic_load_n(space->state.abort, __ATOMIC_RELAXED))
        return TUTTI_OK;
    return space->kind->copy(there, changed, bytes, 0);
}

const struct tshmem_team_state *tutti_shmem_team(tshmem_team_t team)
{
    if (tutti_shmem.state.pes == 0 || team < 0 || team >= TSHMEM_TEAMS_MAX)
        return NULL;
    const struct tshmem_team_state *found = &tutti_shmem_told()->team[team];
    return found->used ? found : NULL;
}

/* ---- waiting ---- */

struct awaiting {
    void (*where)(void *with, char *text, size_t size);
    void *with;
    unsigned looks;
    uint64_t since;
    int told;
};

/* Says once what a wait that takes long is for. */
static int look(void *with, uint64_t *waited)
{
    struct awaiting *a = with;
    (void)waited;
    if (a->told || ++a->looks % LOOKS != 0)
        return TUTTI_OK;
    const uint64_t now = tutti_now_ns();
    a->since = a->since ? a->since : now;
    if (now - a->since < (uint64_t)tutti_settings()->stall_seconds * 1000000000u)
        return TUTTI_OK;
    char text[256] = "";
    a->told = 1;
    a->where(a->with, text, sizeof text);
    tutti_shmem_own_names(text);
    tutti_warn("PE %d is waiting for %ld s %s", tutti_shmem.state.me, tutti_settings()->stall_seconds, text);
    return TUTTI_OK;
}

int tutti_shmem_await(int (*done)(void *with), void (*where)(void *with, char *text, size_t size), void *with)
{
    struct awaiting a = {.where = where, .with = with};
    char text[256] = "";
    const int come = done(with);
    if (come > 0)
        return TUTTI_OK;
    const struct tutti_wait wait = {.done = done,
                                    .with = with,
                                    .seconds = tutti_settings()->timeout_seconds,
                                    .watched = 1,
                                    .spins = tutti_shmem.crowded ? SPINS_CROWDED : SPINS_ALONE,
                                    .crowded = tutti_shmem.crowded,
                                    .look = look,
                                    .look_with = &a};
    const int status = come < 0 ? come : tutti_progress_wait(&wait);
    if (status == TUTTI_OK)
        return TUTTI_OK;
    tutti_shmem_ends->with_others();
    tutti_shmem_stream_look(); /* a kernel may know better */
    tutti_shmem_leave_all();
    where(with, text, sizeof text);
    return tutti_shmem_fail(status, "the address space ends", "PE %d waited %s: %s", tutti_shmem.state.me, text,
                            tutti_status_text(status));
}

/* ---- meetings ---- */

struct meeting {
    const struct tutti_shmem_call *call;
    int next; /* members before this one have come */
};

static int has_come(const struct tutti_shmem_place *place, int member)
{
    return atomic_load_explicit(&place->arrived[member], memory_order_acquire) >> 8 >= place->sequence;
}

/* 1 where that PE waits in tshmem_finalize for this one, which is in another call, so that neither would go on. */
static int is_finalizing(int pe)
{
    if (tutti_shmem_is_large(&tutti_shmem_told()->team[TSHMEM_TEAM_WORLD])) /* arrivals are not of members */
        return 0;
    const struct tutti_shmem_place *all = &tutti_shmem.control[tutti_shmem.state.me]->place[TSHMEM_TEAM_WORLD];
    const uint64_t arrival = atomic_load_explicit(&all->arrived[pe], memory_order_acquire);
    return (arrival & 0xff) == TUTTI_SHMEM_FINALIZE && arrival >> 8 > all->sequence;
}

static int all_here(void *with)
{
    struct meeting *m = with;
    const struct tshmem_team_state *team = m->call->team;
    while (m->next < team->size && has_come(m->call->place, m->next))
        m->next++;
    if (m->next == team->size)
        return 1;
    if (__atomic_load_n(tutti_shmem.state.abort, __ATOMIC_RELAXED))
        return TUTTI_ERR_BROKEN;
    if (!is_finalizing(tutti_shmem_pe_of(team, m->next)))
        return 0;
    /* It may have come, and gone on to its end, since that was looked at. */
    return has_come(m->call->place, m->next) ? 0 : TUTTI_ERR_MISMATCH;
}

static void say_missing(void *with, char *text, size_t size)
{
    const struct meeting *m = with;
    const struct tshmem_team_state *team = m->call->team;
    int n = snprintf(text, size, "in %s for PE", tutti_shmem_call_name(m->call));
    for (int i = 0; i < team->size && n > 0 && (size_t)n + 48 < size; i++) {
        if (!has_come(m->call->place, i))
            n += snprintf(text + n, size - (size_t)n, " %d%s", tutti_shmem_pe_of(team, i),
                          is_finalizing(tutti_shmem_pe_of(team, i)) ? " (which is in tshmem_finalize)" : "");
    }
}

static int meet(struct tutti_shmem_call *call)
{
    const struct tshmem_team_state *team = call->team;
    struct tutti_shmem_place *place = call->place;
    const uint64_t sequence = ++place->sequence;
    struct tutti_shmem_said *said = &place->said[sequence & 1];
    said->call = call->refused != TUTTI_OK ? TUTTI_SHMEM_WRONG : call->kind;
    memcpy(said->word, call->word, sizeof said->word);
    const uint64_t arrival = tutti_shmem_arrival(sequence, said->call);
    int status = TUTTI_OK;
    if (tutti_shmem_is_large(team))
        return tutti_shmem_far_meet(team, sequence, said, tutti_shmem_call_name(call));
    for (int i = 0; i < team->size && status == TUTTI_OK; i++) {
        struct tutti_shmem_control *control = tutti_shmem.control[tutti_shmem_pe_of(team, i)];
        if (control)
            atomic_store_explicit(&control->place[team->number].arrived[team->me], arrival, memory_order_release);
        else
            status = tutti_shmem_far_arrive(team, tutti_shmem_pe_of(team, i), sequence, said);
    }
    struct meeting m = {.call = call};
    return status == TUTTI_OK ? tutti_shmem_await(all_here, say_missing, &m) : status;
}

/* Begins a call, before its first meeting: one at a time on a team. */
static int enter(struct tutti_shmem_call *call, tshmem_team_t team)
{
    const char *name = tutti_shmem_call_name(call);
    call->team = tutti_shmem_team(team);
    if (tutti_shmem.state.pes == 0)
        return tutti_shmem_down(name);
    if (!call->team)
        return tutti_shmem_fail(TUTTI_ERR_ARGUMENT, name, "%d is no team of this PE", team);
    tutti_shmem_far_serve(); /* who has given up may have said so */
    tutti_shmem_stream_look();
    if (__atomic_load_n(tutti_shmem.state.abort, __ATOMIC_RELAXED)) {
        tutti_shmem_ends->with_others();
        return tutti_shmem_fail(TUTTI_ERR_BROKEN, name, "%s", tutti_status_text(TUTTI_ERR_BROKEN));
    }
    call->place = &tutti_shmem.control[tutti_shmem.state.me]->place[call->team->number];
    if (atomic_exchange(&call->place->busy, 1))
        return tutti_shmem_fail(TUTTI_ERR_ARGUMENT, name, "another collective of team %d is under way in this process",
                                team);
    return TUTTI_OK;
}

static void leave(struct tutti_shmem_call *call)
{
    atomic_store_explicit(&call->place->busy, 0, memory_order_release);
}

const struct tutti_shmem_said *tutti_shmem_said(const struct tutti_shmem_call *call, int member)
{
    const struct tshmem_team_state *team = call->team;
    const struct tutti_shmem_control *control = tutti_shmem.control[tutti_shmem_pe_of(team, member)];
    const uint64_t sequence = call->place->sequence;
    return control && !tutti_shmem_is_large(team) ? &control->place[team->number].said[sequence & 1]
                                                  : tutti_shmem_far_said(team, member, sequence);
}

/* The first member that did not bring what this one did; none: as many as there are. */
static int find_other(const struct tutti_shmem_call *call)
{
    const struct tutti_shmem_said *mine = tutti_shmem_said(call, call->team->me);
    int i = 0;
    for (; i < call->team->size; i++) {
        const struct tutti_shmem_said *theirs = tutti_shmem_said(call, i);
        if (theirs->call != mine->call || mine->call == TUTTI_SHMEM_WRONG ||
            memcmp(theirs->word, mine->word, TUTTI_SHMEM_ALIKE * sizeof *mine->word) != 0)
            break;
    }
    return i;
}

/* The same of the calls alone, as the arrivals say them: they are in own memory, and have just been read. A member that
 * has gone on to its next meeting has overwritten its own. */
static int find_other_call(const struct tutti_shmem_call *call)
{
    const uint64_t sequence = call->place->sequence, mine = tutti_shmem_arrival(sequence, call->kind);
    int i = 0;
    while (tutti_shmem_is_large(call->team) && i < call->team->size && tutti_shmem_said(call, i)->call == call->kind)
        i++;
    for (; i < call->team->size && !tutti_shmem_is_large(call->team); i++) {
        const uint64_t theirs = atomic_load_explicit(&call->place->arrived[i], memory_order_relaxed);
        if (theirs != mine && (theirs >> 8 == sequence || tutti_shmem_said(call, i)->call != call->kind))
            break;
    }
    return i;
}

/* An error where there is such a member. */
static int compare(const struct tutti_shmem_call *call, int member)
{
    char text[240];
    if (member == call->team->size)
        return TUTTI_OK;
    if (call->refused != TUTTI_OK) /* said */
        return call->refused;
    tutti_shmem_differ(tutti_shmem_said(call, call->team->me), tutti_shmem_said(call, member),
                       tutti_shmem_pe_of(call->team, member), tutti_shmem.first, text, sizeof text);
    return tutti_shmem_fail(TUTTI_ERR_MISMATCH, tutti_shmem_call_name(call), "%s; nothing is done", text);
}

int tutti_shmem_begin(struct tutti_shmem_call *call, tshmem_team_t team)
{
    int status = enter(call, team);
    if (status != TUTTI_OK)
        return status;
    status = meet(call);
    if (status == TUTTI_OK)
        status = compare(call, find_other(call));
    if (status != TUTTI_OK)
        leave(call);
    return status;
}

int tutti_shmem_again(struct tutti_shmem_call *call)
{
    return meet(call);
}

int tutti_shmem_end(struct tutti_shmem_call *call, int status)
{
    if (status == TUTTI_OK && tutti_shmem.wire) /* what was put into far heaps */
        status = tutti_shmem_far_quiet(-1);
    if (status == TUTTI_OK)
        status = meet(call);
    leave(call);
    return status;
}

int tutti_shmem_pass(tshmem_team_t team, unsigned kind)
{
    return tutti_shmem_pass_as(team, kind, TUTTI_SHMEM_OF_TEAM);
}

int tutti_shmem_pass_as(tshmem_team_t team, unsigned kind, unsigned form)
{
    struct tutti_shmem_call call = {.kind = kind, .word = {[TUTTI_SHMEM_ELEMENT] = form}};
    int status = enter(&call, team);
    if (status != TUTTI_OK)
        return status;
    status = meet(&call);
    if (status == TUTTI_OK)
        status = compare(&call, find_other_call(&call));
    leave(&call);
    return status;
}
