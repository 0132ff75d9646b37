#include "mpi/reduce/deferred_call.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/spares.h"
#include "mpi/comm/comms.h"
#include "mpi/real/collective_args.h"
#include "mpi/real/errors.h"
#include "mpi/real/handles.h"
#include "mpi/real/rows.h"
#include "mpi/reduce/nonblocking.h"

/* 1 if a nonblocking reduction of the communicator, or a call after it, has not been given to the MPI yet. */
static int deferred_must_wait(MPI_Comm comm)
{
    if (tutti_deferred_call_starting)
        return 0;
    if (likely(!tutti_nonblocking_busy()) || comm == tutti_handles.no_comm)
        return 0;
    struct tutti_comm *state = tutti_comm_find(comm);
    return state && atomic_load_explicit(&state->queued, memory_order_acquire) > 0;
}

static struct tutti_spares unused; /* of any thread: those that serve streams free calls too */

void tutti_deferred_call_free(struct tutti_deferred_call *later)
{
    tutti_deferred_call_release(later);
    tutti_spares_give(&unused, later, offsetof(struct tutti_deferred_call, next), 0);
}

struct tutti_deferred_call *tutti_deferred_call_new(const char *name, int (*start)(struct tutti_deferred_call *later))
{
    struct tutti_deferred_call *later = tutti_spares_take(&unused, offsetof(struct tutti_deferred_call, next), 0);
    later = later ? memset(later, 0, sizeof *later) : calloc(1, sizeof *later);
    if (!later)
        return NULL;
    later->name = name;
    later->start = start;
    later->end = tutti_deferred_call_free;
    later->args.in.type = later->args.out.type = tutti_handles.no_type;
    later->info = tutti_handles.no_info;
    return later;
}

struct tutti_open_call *tutti_deferred_call_open(struct tutti_deferred_call *later, MPI_Comm comm, int persistent)
{
    const struct tutti_reduction_args args = {
        .name = later->name, .comm = comm, .datatype = tutti_handles.byte, .op = tutti_handles.sum};
    struct tutti_open_call *open = tutti_open_call_new(&args, persistent);
    if (open)
        open->later = later;
    return open;
}

int tutti_deferred_call_persistent(struct tutti_deferred_call *later, MPI_Comm own, MPI_Comm comm, MPI_Request *request)
{
    struct tutti_open_call *open = tutti_deferred_call_open(later, own, 1);
    if (!open)
        return 0;
    open->comm = comm;
    *request = open->request;
    return 1;
}

/* alone: the calls behind it start when it has ended. */
static int deferred_put(struct tutti_deferred_call *later, int alone, MPI_Comm comm, MPI_Request *request)
{
    struct tutti_open_call *open = NULL;
    TUTTI_INSIDE();
    if (later && tutti_deferred_call_hold(later) && (open = tutti_deferred_call_open(later, comm, 0))) {
        *request = open->request;
        open->alone = alone;
        tutti_open_call_start(open);
        return MPI_SUCCESS;
    }
    if (later)
        tutti_deferred_call_free(later);
    tutti_error("out of memory for a nonblocking collective that has to wait for its turn");
    return tutti_fail_comm(comm, MPI_ERR_NO_MEM);
}

/* ---- calls that move data ---- */

static int deferred_start_mover(struct tutti_deferred_call *later)
{
    tutti_deferred_call_starting++;
    const int code = tutti_collective_real(&later->args, TUTTI_NONBLOCKING, tutti_handles.no_info, later->request);
    tutti_deferred_call_starting--;
    return code;
}

static int deferred_put_mover(const struct tutti_collective_args *args, MPI_Request *request)
{
    struct tutti_deferred_call *later = tutti_deferred_call_new(args->name, deferred_start_mover);
    if (later)
        later->args = *args;
    return deferred_put(later, 0, args->comm, request);
}

#define WIDTHS_OF "mpi/reduce/deferred_call.inc"
#include "mpi/real/widths.inc"

/* ---- other calls ---- */

/* 1: the MPI starts more collectives on the communicator while the call is open. All ranks of the communicator
 * know its state from now on, so that calls behind wait for it. */
static int deferred_goes_on(MPI_Comm comm)
{
    return tutti_quirks.idup_goes_on && !tutti_deferred_call_starting && comm != tutti_handles.no_comm &&
           (tutti_comm_find(comm) || tutti_comm_begin(comm));
}

/* Copies each argument into its field, and passes the fields as arguments. */
#define EACH_1(DO, a)              DO(a)
#define EACH_2(DO, a, ...)         DO(a) EACH_1(DO, __VA_ARGS__)
#define EACH_3(DO, a, ...)         DO(a) EACH_2(DO, __VA_ARGS__)
#define EACH_4(DO, a, ...)         DO(a) EACH_3(DO, __VA_ARGS__)
#define FOURTH(a, b, c, d, n, ...) n
#define EACH_OF(DO, ...)           FOURTH(__VA_ARGS__, EACH_4, EACH_3, EACH_2, EACH_1, )(DO, __VA_ARGS__)
#define OUT_1(a)                   later->a
#define OUT_2(a, ...)              later->a, OUT_1(__VA_ARGS__)
#define OUT_3(a, ...)              later->a, OUT_2(__VA_ARGS__)
#define OUT_4(a, ...)              later->a, OUT_3(__VA_ARGS__)
#define OUT_OF(...)                FOURTH(__VA_ARGS__, OUT_4, OUT_3, OUT_2, OUT_1, )(__VA_ARGS__)
#define KEEP(x)                    later->x = x;
#define KEEP_ALL(...)              EACH_OF(KEEP, __VA_ARGS__)

#define HOW_ORDERED 0, LATER
#define HOW_CREATES deferred_goes_on(comm), LATER

#define MADE(alone, form, name, parameters, arguments)                                                                 \
    static int(*just_##name) parameters;                                                                               \
    static int start_##name(struct tutti_deferred_call *later)                                                         \
    {                                                                                                                  \
        tutti_deferred_call_starting++;                                                                                \
        const int code = just_##name(OUT_OF arguments);                                                                \
        tutti_deferred_call_starting--;                                                                                \
        return code;                                                                                                   \
    }                                                                                                                  \
    static int deferred_##name parameters                                                                              \
    {                                                                                                                  \
        const int is_alone = alone;                                                                                    \
        if (likely(!is_alone && !deferred_must_wait(comm)))                                                            \
            return just_##name arguments;                                                                              \
        struct tutti_deferred_call *later = tutti_deferred_call_new(#name, start_##name);                              \
        if (later) {                                                                                                   \
            KEEP_ALL arguments                                                                                         \
        }                                                                                                              \
        return deferred_put(later, is_alone, comm, request);                                                           \
    }
#define OTHER_SEE(waits, name, parameters, arguments)    ROW(HOW_##waits, name, parameters, arguments)
#define OTHER_PASS(waits, name, parameters, arguments)   ROW(HOW_##waits, name, parameters, arguments)
#define OTHER_MEET(waits, name, parameters, arguments)   ROW(HOW_##waits, name, parameters, arguments)
#define OTHER_REFUSE(waits, name, parameters, arguments) ROW(HOW_##waits, name, parameters, arguments)
#define OTHER_IO(waits, name, parameters, arguments)     ROW(HOW_##waits, name, parameters, arguments)
#define OTHER_RMA(waits, name, parameters, arguments)    ROW(HOW_##waits, name, parameters, arguments)
#define OTHER_TAKE(waits, name, parameters, arguments)   /* above */
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments)                                          \
    OTHER_##kind(waits, name, parameters, arguments)
#include "mpi/real/calls.inc"

#undef MADE
#define MADE(how, form, name, parameters, arguments)                                                                   \
    just_##name = tutti_next.name;                                                                                     \
    tutti_next.name = deferred_##name;

void tutti_calls_deferred(void)
{
    tutti_door_wrap_movers();
    tutti_door_wrap_movers_c();
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments)                                          \
    OTHER_##kind(waits, name, parameters, arguments)
#include "mpi/real/calls.inc"
}
