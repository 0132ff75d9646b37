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

const char *tutti_shmem_call_name(unsigned call)
{
    static const char *const names[] = {[TUTTI_SHMEM_WRONG] = "a call with arguments that it refused",
#define ROW(id, name) [TUTTI_SHMEM_##id] = (name),
                                        TUTTI_SHMEM_CALLS(ROW)
#undef ROW
    };
    return call < TUTTI_SHMEM_CALL_COUNT ? names[call] : "no call";
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

static int all_here(void *with)
{
    struct meeting *m = with;
    const struct tutti_shmem_place *place = m->call->place;
    while (m->next < m->call->team->size &&
           atomic_load_explicit(&place->arrived[m->next], memory_order_acquire) >= place->sequence)
        m->next++;
    if (m->next == m->call->team->size)
        return 1;
    return __atomic_load_n(tutti_shmem.state.abort, __ATOMIC_RELAXED) ? TUTTI_ERR_BROKEN : 0;
}

static void say_missing(void *with, char *text, size_t size)
{
    const struct meeting *m = with;
    const struct tutti_shmem_place *place = m->call->place;
    int n = snprintf(text, size, "in %s for PE", tutti_shmem_call_name(m->call->kind));
    for (int i = 0; i < m->call->team->size && n > 0 && (size_t)n + 16 < size; i++) {
        if (atomic_load(&place->arrived[i]) < place->sequence)
            n += snprintf(text + n, size - (size_t)n, " %d", tutti_shmem_pe_of(m->call->team, i));
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
    int status = TUTTI_OK;
    if (tutti_shmem_is_large(team))
        return tutti_shmem_far_meet(team, sequence, said, tutti_shmem_call_name(call->kind));
    for (int i = 0; i < team->size && status == TUTTI_OK; i++) {
        struct tutti_shmem_control *control = tutti_shmem.control[tutti_shmem_pe_of(team, i)];
        if (control)
            atomic_store_explicit(&control->place[team->number].arrived[team->me], sequence, memory_order_release);
        else
            status = tutti_shmem_far_arrive(team, tutti_shmem_pe_of(team, i), sequence, said);
    }
    struct meeting m = {.call = call};
    return status == TUTTI_OK ? tutti_shmem_await(all_here, say_missing, &m) : status;
}

/* Begins a call, before its first meeting: one at a time on a team. */
static int enter(struct tutti_shmem_call *call, tshmem_team_t team)
{
    const char *name = tutti_shmem_call_name(call->kind);
    call->team = tutti_shmem_team(team);
    if (tutti_shmem.state.pes == 0)
        return tutti_shmem_fail(TUTTI_ERR_UNAVAILABLE, name, "the address space is not up: call tshmem_init first");
    if (!call->team)
        return tutti_shmem_fail(TUTTI_ERR_ARGUMENT, name, "%d is no team of this PE", team);
    tutti_shmem_far_serve(); /* who has given up may have said so */
    tutti_shmem_stream_look();
    if (__atomic_load_n(tutti_shmem.state.abort, __ATOMIC_RELAXED))
        return tutti_shmem_fail(TUTTI_ERR_BROKEN, name, "%s", tutti_status_text(TUTTI_ERR_BROKEN));
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

/* 1 where all members brought what this one did. */
static int is_alike(const struct tutti_shmem_call *call)
{
    const struct tutti_shmem_said *mine = tutti_shmem_said(call, call->team->me);
    if (mine->call == TUTTI_SHMEM_WRONG)
        return 0;
    for (int i = 0; i < call->team->size; i++) {
        const struct tutti_shmem_said *theirs = tutti_shmem_said(call, i);
        if (theirs->call == mine->call && memcmp(theirs->word, mine->word, TUTTI_SHMEM_ALIKE * sizeof *mine->word) == 0)
            continue;
        if (theirs->call == mine->call)
            tutti_error("%s: PE %d brings other arguments (%llu %llu %llu %llu) than PE %d (%llu %llu %llu %llu)",
                        tutti_shmem_call_name(call->kind), tutti_shmem_pe_of(call->team, i),
                        (unsigned long long)theirs->word[0], (unsigned long long)theirs->word[1],
                        (unsigned long long)theirs->word[2], (unsigned long long)theirs->word[3], tutti_shmem.state.me,
                        (unsigned long long)mine->word[0], (unsigned long long)mine->word[1],
                        (unsigned long long)mine->word[2], (unsigned long long)mine->word[3]);
        else
            tutti_error("%s: PE %d is in %s meanwhile", tutti_shmem_call_name(call->kind),
                        tutti_shmem_pe_of(call->team, i), tutti_shmem_call_name((unsigned)theirs->call));
        return 0;
    }
    return 1;
}

int tutti_shmem_begin(struct tutti_shmem_call *call, tshmem_team_t team)
{
    int status = enter(call, team);
    if (status != TUTTI_OK)
        return status;
    status = meet(call);
    if (status == TUTTI_OK && !is_alike(call))
        status = call->refused != TUTTI_OK
                     ? call->refused
                     : tutti_shmem_fail(TUTTI_ERR_MISMATCH, tutti_shmem_call_name(call->kind), "%s; nothing is done",
                                        tutti_status_text(TUTTI_ERR_MISMATCH));
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
    struct tutti_shmem_call call = {.kind = kind};
    int status = enter(&call, team);
    if (status != TUTTI_OK)
        return status;
    status = meet(&call);
    leave(&call);
    return status;
}
