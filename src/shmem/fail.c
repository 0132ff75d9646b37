/* What is said of errors, and what is kept of them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "kernels/shmem_args.h"
#include "shmem/far.h"
#include "shmem/space.h"

enum { SAID_MOST = 50 }; /* a loop of wrong calls fills no disk */

struct tutti_shmem tutti_shmem;
const struct tutti_shmem_ends *tutti_shmem_ends;
static atomic_uint said; /* since the program asked for an error */

/* ---- why there is no address space ---- */

enum { WHY = 192 };
static char failed[WHY]; /* empty: nobody has tried, or it was made */
static int was_up;

static void remember(const char *text)
{
    if (!failed[0])
        snprintf(failed, sizeof failed, "%.*s", (int)sizeof failed - 1, text);
}

void tutti_shmem_up(void)
{
    failed[0] = 0;
    was_up = tutti_shmem.state.pes > 0;
}

int tutti_shmem_down(const char *call)
{
    if (failed[0])
        return tutti_shmem_fail(TUTTI_ERR_UNAVAILABLE, call, "there is no address space, since tshmem_init failed: %s",
                                failed);
    return tutti_shmem_fail(TUTTI_ERR_UNAVAILABLE, call, "the address space %s",
                            was_up ? "has ended" : "is not up: call tshmem_init first");
}

/* ---- saying it ---- */

static __thread const char *called_as; /* what the thread's calls are made for; NULL: themselves */

void tutti_shmem_as(const char *call)
{
    called_as = call;
}

const char *tutti_shmem_called(const char *call)
{
    return called_as ? called_as : call;
}

static void say(int status, const char *call, const char *format, va_list list, const char *besides)
{
    char text[320], line[400];
    int none = TUTTI_OK;
    vsnprintf(text, sizeof text, format, list);
    snprintf(line, sizeof line, "%s: %s", tutti_shmem_called(call), text);
    tutti_shmem_own_names(line);
    if (strncmp(call, "tshmem_init", sizeof "tshmem_init" - 1) == 0)
        remember(text);
    const unsigned before = atomic_fetch_add(&said, 1);
    if (before < SAID_MOST)
        tutti_error("%s%s", line, besides);
    else if (before == SAID_MOST)
        tutti_error("%s; further errors are not shown until the program calls tshmem_error()", line);
    atomic_compare_exchange_strong(&tutti_shmem.status, &none, status);
}

int tutti_shmem_answer(int status, const char *call, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(status, call, format, list, "");
    va_end(list);
    return status;
}

int tutti_shmem_unavailable(const char *call, const char *why)
{
    return tutti_shmem_answer(TUTTI_ERR_UNAVAILABLE, call, "%s", why);
}

static int ends_program(void)
{
    const int setting = tutti_settings()->shmem_errors;
    return setting == TUTTI_SET_SHMEM_ERRORS_AUTO ? tutti_shmem_is_named() : setting == TUTTI_SET_SHMEM_ERRORS_ABORT;
}

int tutti_shmem_fail(int status, const char *call, const char *format, ...)
{
    const int ends = ends_program();
    va_list list;
    if (tutti_shmem_ends->is_ending())
        return status;
    va_start(list, format);
    say(status, call, format, list, ends ? ". The program ends (TUTTI_SHMEM_ERRORS=return: it goes on)" : "");
    va_end(list);
    if (ends)
        tutti_shmem_ends->all(EXIT_FAILURE);
    return status;
}

void *tutti_shmem_refuse(const void *address, size_t bytes, int pe, const char *call)
{
    const struct tshmem_state *state = &tutti_shmem.state;
    if (state->pes == 0)
        tutti_shmem_down(call);
    else if (pe == TSHMEM_NO_PE) /* that was said */
        return NULL;
    else if (pe < 0 || pe >= state->pes)
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call, "there is no PE %d, but 0 to %d", pe, state->pes - 1);
    else if (tutti_shmem_constant(&tutti_shmem.statics, address))
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call, "%p is a constant of the program, which is not stored to", address);
    else
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call,
                         "%zu bytes at %p are not in the heap, %p to %p: tshmem_malloc gives such", bytes, address,
                         (void *)(state->heap + tutti_shmem.first),
                         (void *)(state->heap + tutti_shmem_mapped(&tutti_shmem)));
    return NULL;
}

void tutti_shmem_leave_near(void)
{
    tutti_shmem_channels_leave(&tutti_shmem.channels);
    for (int pe = 0; pe < tutti_shmem.state.pes; pe++) {
        if (tutti_shmem.control[pe])
            __atomic_store_n(&tutti_shmem.control[pe]->abort, 1, __ATOMIC_RELEASE);
    }
}

void tutti_shmem_exit_is_told(int status)
{
    for (int pe = 0; pe < tutti_shmem.state.pes; pe++) {
        if (tutti_shmem.control[pe])
            __atomic_store_n(&tutti_shmem.control[pe]->ending, TUTTI_SHMEM_ENDING | (uint32_t)(status & 0xff),
                             __ATOMIC_RELEASE);
    }
    tutti_shmem_leave_near();
}

void tutti_shmem_leave_all(void)
{
    tutti_shmem_leave_near();
    tutti_shmem_far_abort();
}

int tshmem_pe_accessible(int pe)
{
    return pe >= 0 && pe < tutti_shmem.state.pes;
}

/* ---- what kernels in streams have told ---- */

static const char *name_of(uint32_t what)
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

static void look_at_channels(void)
{
    static const char name[] = "a reduction or a barrier in a stream";
    struct tutti_shmem *space = &tutti_shmem;
    const int status = tutti_shmem_channels_look(&space->channels);
    if (status == TUTTI_OK)
        return;
    tutti_shmem_leave_all();
    if (status == TUTTI_ERR_MISMATCH)
        tutti_shmem_fail(TUTTI_ERR_BROKEN, name,
                         "another collective of the team was under way in another stream of PE %d", space->state.me);
    else
        tutti_shmem_fail(status, name, "in a kernel of PE %d: %s", space->state.me, tutti_status_text(status));
}

void tutti_shmem_stream_look(void)
{
    if (tutti_shmem.state.pes == 0)
        return;
    look_at_channels();
    uint32_t *told = &tutti_shmem.control[tutti_shmem.state.me]->stream_error;
    if (__atomic_load_n(told, __ATOMIC_RELAXED) == 0)
        return;
    const uint32_t word = __atomic_exchange_n(told, 0, __ATOMIC_ACQUIRE);
    const int status = -(int)(word & 0xff);
    tutti_shmem_leave_all();
    if (status == TUTTI_ERR_BROKEN)
        tutti_shmem_fail(status, name_of(word >> 8),
                         "PE %d left a wait in a kernel: another collective of the team was under way in another "
                         "stream, or the time limit TUTTI_TIMEOUT_SECONDS has passed, or a PE has given up",
                         tutti_shmem.state.me);
    else if (status != TUTTI_OK)
        tutti_shmem_fail(status, name_of(word >> 8), "in a kernel of PE %d: %s", tutti_shmem.state.me,
                         tutti_status_text(status));
}

int tshmem_error(void)
{
    tutti_shmem_stream_look();
    atomic_store(&said, 0);
    return atomic_exchange(&tutti_shmem.status, TUTTI_OK);
}
