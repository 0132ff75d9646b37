/* Reports of errors, and the state that is kept of them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "kernels/shmem_args.h"
#include "progress/engine.h"
#include "shmem/far.h"
#include "shmem/here.h"
#include "shmem/local/failure.h"

enum { SAID_MOST = 50 }; /* a loop of wrong calls must not fill a disk */

/* ---- why there is no address space ---- */

static void failure_remember(struct tutti_shmem *space, const char *text)
{
    char *const failed = space->errors.failed;
    const int most = (int)sizeof space->errors.failed;
    if (!failed[0])
        snprintf(failed, (size_t)most, "%.*s", most - 1, text);
}

void tutti_shmem_up(struct tutti_shmem *space)
{
    space->errors.failed[0] = 0;
    space->errors.was_up = space->state.pes > 0;
}

int tutti_shmem_down(struct tutti_shmem *space, const char *call)
{
    if (space->errors.failed[0])
        return tutti_shmem_fail(space, TUTTI_ERR_UNAVAILABLE, call,
                                "there is no address space, since tshmem_init failed: %s", space->errors.failed);
    return tutti_shmem_fail(space, TUTTI_ERR_UNAVAILABLE, call, "the address space %s",
                            space->errors.was_up ? "has ended" : "is not up: call tshmem_init first");
}

/* ---- reporting ---- */

static void failure_report(struct tutti_shmem *space, int status, const char *call, const char *format, va_list list,
                           const char *besides)
{
    char text[320], line[400];
    int none = TUTTI_OK;
    vsnprintf(text, sizeof text, format, list);
    snprintf(line, sizeof line, "%s: %s", tutti_shmem_called(call), text);
    tutti_shmem_own_names(line);
    if (strncmp(call, "tshmem_init", sizeof "tshmem_init" - 1) == 0)
        failure_remember(space, text);
    const unsigned before = atomic_fetch_add(&space->errors.shown, 1);
    if (before < SAID_MOST)
        tutti_error("%s%s", line, besides);
    else if (before == SAID_MOST)
        tutti_error("%s; further errors are not shown until the program calls tshmem_error()", line);
    atomic_compare_exchange_strong(&space->errors.status, &none, status);
}

int tutti_shmem_answer(struct tutti_shmem *space, int status, const char *call, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    failure_report(space, status, call, format, list, "");
    va_end(list);
    return status;
}

static int ends_program(void)
{
    const int setting = tutti_settings()->shmem_errors;
    return setting == TUTTI_SET_SHMEM_ERRORS_AUTO ? tutti_shmem_is_named() : setting == TUTTI_SET_SHMEM_ERRORS_ABORT;
}

int tutti_shmem_fail(struct tutti_shmem *space, int status, const char *call, const char *format, ...)
{
    const int ends = ends_program();
    va_list list;
    if (space->ends->is_ending())
        return status;
    va_start(list, format);
    failure_report(space, status, call, format, list,
                   ends ? ". The program ends (TUTTI_SHMEM_ERRORS=return: it continues)" : "");
    va_end(list);
    if (ends)
        space->ends->all(space, EXIT_FAILURE);
    return status;
}

void *tutti_shmem_refuse(struct tutti_shmem *space, const void *address, size_t bytes, int pe, const char *call)
{
    const struct tshmem_state *state = &space->state;
    if (state->pes == 0)
        tutti_shmem_down(space, call);
    else if (pe == TSHMEM_NO_PE) /* already reported */
        return NULL;
    else if (pe < 0 || pe >= state->pes)
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "there is no PE %d, but 0 to %d", pe, state->pes - 1);
    else if (tutti_shmem_constant(&space->statics, address))
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "%p is a constant of the program, which is not stored to",
                         address);
    else
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call,
                         "%zu bytes at %p are not in the heap, %p to %p: tshmem_malloc gives such", bytes, address,
                         (void *)(state->heap + space->first), (void *)(state->heap + tutti_shmem_mapped(space)));
    return NULL;
}

void tutti_shmem_leave_near(struct tutti_shmem *space)
{
    tutti_shmem_channels_leave(&space->channels);
    for (int pe = 0; pe < space->state.pes; pe++) {
        if (space->control[pe])
            __atomic_store_n(&space->control[pe]->abort, 1, __ATOMIC_RELEASE);
    }
}

void tutti_shmem_exit_from_peer(struct tutti_shmem *space, int status)
{
    for (int pe = 0; pe < space->state.pes; pe++) {
        if (space->control[pe])
            __atomic_store_n(&space->control[pe]->ending, TUTTI_SHMEM_ENDING | (uint32_t)(status & 0xff),
                             __ATOMIC_RELEASE);
    }
    tutti_shmem_leave_near(space);
}

void tutti_shmem_leave_all(struct tutti_shmem *space)
{
    tutti_shmem_leave_near(space);
    tutti_shmem_far_abort(space);
}

int tshmem_pe_accessible(int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return pe >= 0 && pe < space->state.pes;
}

/* ---- errors published by kernels in streams ---- */

static const char *fail_name_of(uint32_t what)
{
    static const char *const names[] = {
        [TUTTI_SHMEM_DO_ENTER] = "a collective in a stream, at its beginning",
        [TUTTI_SHMEM_DO_MEET] = "a collective in a stream",
        [TUTTI_SHMEM_DO_LEAVE] = "a collective in a stream, at its end",
        [TUTTI_SHMEM_DO_BROADCAST] = "tshmem_broadcast_on_stream",
        [TUTTI_SHMEM_DO_FCOLLECT] = "tshmem_fcollect_on_stream",
        [TUTTI_SHMEM_DO_ALLTOALL] = "tshmem_alltoall_on_stream",
        [TUTTI_SHMEM_DO_ALLTOALLS] = "tshmem_alltoalls_on_stream",
        [TUTTI_SHMEM_DO_COLLECT] = "tshmem_collect_on_stream",
        [TUTTI_SHMEM_DO_SYNC] = "tshmem_sync_on_stream or tshmem_barrier_on_stream",
        [TUTTI_SHMEM_DO_REDUCE] = "a reduction in a stream",
        [TUTTI_SHMEM_DO_REDUCESCATTER] = "a reducescatter in a stream",
        [TUTTI_SHMEM_DO_INSCAN] = "an inclusive scan in a stream",
        [TUTTI_SHMEM_DO_EXSCAN] = "an exclusive scan in a stream",
        [TUTTI_SHMEM_DO_SIGNAL_WAIT] = "tshmem_signal_wait_until_on_stream",
        [TUTTI_SHMEM_DO_WAIT] = "a wait or test in a stream",
        [TUTTI_SHMEM_DO_AMO] = "an atomic in a stream",
        [TUTTI_SHMEM_DO_P] = "tshmem_p_on_stream",
        [TUTTI_SHMEM_DO_PUT_BLOCKS] = "tshmem_iput_on_stream",
        [TUTTI_SHMEM_DO_GET_BLOCKS] = "tshmem_iget_on_stream",
        [TUTTI_SHMEM_DO_ASK] = "a call in a stream, to a PE of another node",
        [TUTTI_SHMEM_DO_QUIET] = "tshmem_quiet_on_stream",
        [TUTTI_SHMEM_DO_FENCE] = "tshmem_fence_on_stream",
    };
    return what < sizeof names / sizeof *names && names[what] ? names[what] : "a call in a stream";
}

static void look_at_channels(struct tutti_shmem *space)
{
    static const char name[] = "a collective in a stream";
    const int status = tutti_shmem_channels_look(&space->channels);
    if (status == TUTTI_OK)
        return;
    tutti_shmem_leave_all(space);
    if (status == TUTTI_ERR_MISMATCH)
        tutti_shmem_fail(space, TUTTI_ERR_BROKEN, name,
                         "another collective of the team was under way in another stream of PE %d", space->state.me);
    else
        tutti_shmem_fail(space, status, name, "in a kernel of PE %d: %s", space->state.me, tutti_status_text(status));
}

static void look_at_streams(struct tutti_shmem *space)
{
    uint32_t *told = &space->control[space->state.me]->stream_error;
    if (__atomic_load_n(told, __ATOMIC_RELAXED) == 0)
        return;
    const uint32_t word = __atomic_exchange_n(told, 0, __ATOMIC_ACQUIRE);
    const int status = -(int)(word & 0xff);
    tutti_shmem_leave_all(space);
    if (status == TUTTI_ERR_BROKEN)
        tutti_shmem_fail(space, status, fail_name_of(word >> 8),
                         "PE %d left a wait in a kernel: another collective of the team was under way in another "
                         "stream, or the time limit TUTTI_TIMEOUT_SECONDS has passed, or a PE has given up",
                         space->state.me);
    else if (status != TUTTI_OK)
        tutti_shmem_fail(space, status, fail_name_of(word >> 8), "in a kernel of PE %d: %s", space->state.me,
                         tutti_status_text(status));
}

/* ---- why kernels gave up ---- */

static int read_record(struct tutti_shmem *space, int pe, struct tshmem_failure *out)
{
    const struct tutti_shmem_control *control = space->control[pe];
    if (!control || !__atomic_load_n(&control->failure.ready, __ATOMIC_ACQUIRE))
        return 0;
    *out = control->failure;
    return 1;
}

static int has_own_record(void *with)
{
    const struct tutti_shmem *const space = with;
    return (int)__atomic_load_n(&space->control[space->state.me]->failure.ready, __ATOMIC_ACQUIRE);
}

/* The first PE, from this one on, with a record; -1: none exists. A kernel of this PE that has just given up may
 * still fill its record. */
static int find_record(struct tutti_shmem *space, uint32_t word, struct tshmem_failure *out)
{
    const struct tutti_wait wait = {.done = has_own_record, .with = space, .seconds = 1, .spins = 1000};
    if (word == TSHMEM_ABORT_KERNEL && !has_own_record(space))
        tutti_progress_wait(&wait);
    for (int i = 0; i < space->state.pes; i++) {
        const int pe = (space->state.me + i) % space->state.pes;
        if (read_record(space, pe, out))
            return pe;
    }
    return -1;
}

static int pe_of(void *with, int32_t team, int member)
{
    struct tutti_shmem *const space = with;
    if (team < 0 || team >= TSHMEM_TEAMS_MAX)
        return -1;
    const struct tshmem_team_state *state = &tutti_shmem_kernel_view(space)->team[team];
    return state->used && member < state->size ? tutti_shmem_pe_of(space, state, member) : -1;
}

static void say_record(struct tutti_shmem *space, const struct tshmem_failure *record, int pe)
{
    const int own = pe == space->state.me;
    char where[TUTTI_SHMEM_FAILURE_TEXT], text[2 * TUTTI_SHMEM_FAILURE_TEXT];
    struct tutti_shmem_failure_of of = {.pe = pe, .pes = space->state.pes};
    if (own) {
        of.begin = space->state.heap + space->first;
        of.end = space->state.heap + tutti_shmem_mapped(space);
        of.pe_of = pe_of;
        of.with = space;
    }
    const int status = tutti_shmem_failure_text(record, &of, where, text);
    tutti_shmem_fail(space, own ? status : TUTTI_ERR_BROKEN, where, "%s", text);
}

/* The kernel stopped for a reason that has no record. */
static void say_word(struct tutti_shmem *space, uint32_t word)
{
    static const char where[] = "in a kernel";
    const int me = space->state.me;
    if ((word & 0xff) == TSHMEM_ABORT_NO_WAY)
        tutti_shmem_fail(space, TUTTI_ERR_UNAVAILABLE, where,
                         "a collective of PE %d needs PE %u, which its loads and stores do not reach", me, word >> 8);
    else if (word == TSHMEM_ABORT_GRID)
        tutti_shmem_fail(space, TUTTI_ERR_TIMEOUT, where,
                         "blocks of a grid of PE %d waited for others longer than TUTTI_TIMEOUT_SECONDS: tutti_grid_ "
                         "calls are made by all threads of a grid that is launched cooperatively",
                         me);
    else
        tutti_shmem_fail(space, TUTTI_ERR_BROKEN, where, "PE %d gave up, and has not said why", me);
}

/* Reports once. */
static void look_at_kernels(struct tutti_shmem *space)
{
    struct tshmem_failure record;
    const uint32_t word = __atomic_load_n(space->state.abort, __ATOMIC_ACQUIRE);
    if (word == 0 || atomic_load(&space->failure_reported))
        return;
    const int pe = find_record(space, word, &record), by_word = pe < 0 && (word & 0xff) > TSHMEM_ABORT_TOLD;
    if ((pe < 0 && !by_word) || atomic_exchange(&space->failure_reported, 1))
        return;
    if (by_word)
        say_word(space, word);
    else
        say_record(space, &record, pe);
    tutti_shmem_leave_all(space); /* peers may wait */
}

void tutti_shmem_stream_look(struct tutti_shmem *space)
{
    if (space->state.pes == 0)
        return;
    look_at_channels(space);
    look_at_streams(space);
    look_at_kernels(space);
}

int tshmem_error(void)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    tutti_shmem_stream_look(space);
    atomic_store(&space->errors.shown, 0);
    return atomic_exchange(&space->errors.status, TUTTI_OK);
}
