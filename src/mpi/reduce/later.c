#include "mpi/reduce/later.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/log.h"
#include "mpi/comm/comms.h"
#include "mpi/real/errors.h"
#include "mpi/real/handles.h"
#include "mpi/real/rows.h"
#include "mpi/reduce/nonblocking.h"

static __thread int starting; /* a call whose turn has come: one form of it may be made of another (large.c) */

/* 1 where a nonblocking reduction of the communicator, or what came after it, has not been given to the MPI yet. */
static int not_its_turn(MPI_Comm comm)
{
    if (starting)
        return 0;
    if (likely(!tutti_nonblocking_busy()) || comm == tutti_handles.no_comm)
        return 0;
    struct tutti_comm *state = tutti_comm_find(comm);
    return state && atomic_load_explicit(&state->queued, memory_order_acquire) > 0;
}

/* With all that it holds. */
static void free_later(struct tutti_later *later)
{
    tutti_later_let_go(later);
    free(later);
}

static struct tutti_later *new_later(const char *name, int (*start)(struct tutti_later *later))
{
    struct tutti_later *later = calloc(1, sizeof *later);
    if (!later)
        return NULL;
    later->name = name;
    later->start = start;
    later->end = free_later;
    later->datatype = later->sendtype = later->recvtype = tutti_handles.no_type;
    later->info = tutti_handles.no_info;
    return later;
}

static struct tutti_open *new_open(struct tutti_later *later, MPI_Comm comm, int persistent)
{
    const struct tutti_reduction_args args = {
        .name = later->name, .comm = comm, .datatype = tutti_handles.byte, .op = tutti_handles.sum};
    struct tutti_open *open = tutti_open_new(&args, persistent);
    if (open)
        open->later = later;
    return open;
}

int tutti_later_persistent(struct tutti_later *later, MPI_Comm own, MPI_Comm comm, MPI_Request *request)
{
    struct tutti_open *open = new_open(later, own, 1);
    if (!open)
        return 0;
    open->comm = comm;
    *request = open->request;
    return 1;
}

static int put(struct tutti_later *later, MPI_Comm comm, MPI_Request *request)
{
    struct tutti_open *open = NULL;
    TUTTI_INSIDE();
    if (later && tutti_later_hold(later) && (open = new_open(later, comm, 0))) {
        *request = open->request;
        tutti_open_start(open);
        return MPI_SUCCESS;
    }
    if (later)
        free_later(later);
    tutti_error("out of memory for a nonblocking collective that has to wait for its turn");
    return tutti_fail_comm(comm, MPI_ERR_NO_MEM);
}

/* Each argument into its field, and out again. */
#define EACH_1(DO, a)                               DO(a)
#define EACH_2(DO, a, ...)                          DO(a) EACH_1(DO, __VA_ARGS__)
#define EACH_3(DO, a, ...)                          DO(a) EACH_2(DO, __VA_ARGS__)
#define EACH_4(DO, a, ...)                          DO(a) EACH_3(DO, __VA_ARGS__)
#define EACH_5(DO, a, ...)                          DO(a) EACH_4(DO, __VA_ARGS__)
#define EACH_6(DO, a, ...)                          DO(a) EACH_5(DO, __VA_ARGS__)
#define EACH_7(DO, a, ...)                          DO(a) EACH_6(DO, __VA_ARGS__)
#define EACH_8(DO, a, ...)                          DO(a) EACH_7(DO, __VA_ARGS__)
#define EACH_9(DO, a, ...)                          DO(a) EACH_8(DO, __VA_ARGS__)
#define EACH_10(DO, a, ...)                         DO(a) EACH_9(DO, __VA_ARGS__)
#define TENTH(a, b, c, d, e, f, g, h, i, j, n, ...) n
#define EACH_OF(DO, ...)                                                                                               \
    TENTH(__VA_ARGS__, EACH_10, EACH_9, EACH_8, EACH_7, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2, EACH_1, )              \
    (DO, __VA_ARGS__)
#define OUT_1(a)       later->a
#define OUT_2(a, ...)  later->a, OUT_1(__VA_ARGS__)
#define OUT_3(a, ...)  later->a, OUT_2(__VA_ARGS__)
#define OUT_4(a, ...)  later->a, OUT_3(__VA_ARGS__)
#define OUT_5(a, ...)  later->a, OUT_4(__VA_ARGS__)
#define OUT_6(a, ...)  later->a, OUT_5(__VA_ARGS__)
#define OUT_7(a, ...)  later->a, OUT_6(__VA_ARGS__)
#define OUT_8(a, ...)  later->a, OUT_7(__VA_ARGS__)
#define OUT_9(a, ...)  later->a, OUT_8(__VA_ARGS__)
#define OUT_10(a, ...) later->a, OUT_9(__VA_ARGS__)
#define OUT_OF(...)                                                                                                    \
    TENTH(__VA_ARGS__, OUT_10, OUT_9, OUT_8, OUT_7, OUT_6, OUT_5, OUT_4, OUT_3, OUT_2, OUT_1, )                        \
    (__VA_ARGS__)
#define KEEP(x)       KEEP_##x(x)
#define KEEP_ALL(...) EACH_OF(KEEP, __VA_ARGS__)
#define VALUE(x)      later->x = x;
#define LIST_OF(x, bytes)                                                                                              \
    later->x = x;                                                                                                      \
    later->bytes = sizeof *(x);
#define KEEP_sendbuf(x)    VALUE(x)
#define KEEP_recvbuf(x)    VALUE(x)
#define KEEP_buffer(x)     VALUE(x)
#define KEEP_count(x)      VALUE(x)
#define KEEP_sendcount(x)  VALUE(x)
#define KEEP_recvcount(x)  VALUE(x)
#define KEEP_sendcounts(x) LIST_OF(x, count_bytes)
#define KEEP_recvcounts(x) LIST_OF(x, count_bytes)
#define KEEP_displs(x)     LIST_OF(x, displ_bytes)
#define KEEP_sdispls(x)    LIST_OF(x, displ_bytes)
#define KEEP_rdispls(x)    LIST_OF(x, displ_bytes)
#define KEEP_datatype(x)   VALUE(x)
#define KEEP_sendtype(x)   VALUE(x)
#define KEEP_recvtype(x)   VALUE(x)
#define KEEP_sendtypes(x)  VALUE(x)
#define KEEP_recvtypes(x)  VALUE(x)
#define KEEP_info(x)       VALUE(x)
#define KEEP_comm(x)       VALUE(x)
#define KEEP_newcomm(x)    VALUE(x)
#define KEEP_request(x)    VALUE(x)
#define KEEP_root(x)       VALUE(x) later->rooted = 1;

#define HOW_ORDERED LATER, 0

#define MADE(how, form, name, parameters, arguments)                                                                   \
    static int(*just_##name) parameters;                                                                               \
    static int start_##name(struct tutti_later *later)                                                                 \
    {                                                                                                                  \
        starting++;                                                                                                    \
        const int code = just_##name(OUT_OF arguments);                                                                \
        starting--;                                                                                                    \
        return code;                                                                                                   \
    }                                                                                                                  \
    static int later_##name parameters                                                                                 \
    {                                                                                                                  \
        if (likely(!not_its_turn(comm)))                                                                               \
            return just_##name arguments;                                                                              \
        struct tutti_later *later = new_later(#name, start_##name);                                                    \
        if (later) {                                                                                                   \
            KEEP_ALL arguments                                                                                         \
        }                                                                                                              \
        return put(later, comm, request);                                                                              \
    }
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments)                                          \
    ROW(HOW_##waits, name, parameters, arguments)
#include "mpi/real/calls.inc"

#undef MADE
#define MADE(how, form, name, parameters, arguments)                                                                   \
    just_##name = tutti_real.name;                                                                                     \
    tutti_real.name = later_##name;

void tutti_calls_later(void)
{
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments)                                          \
    ROW(HOW_##waits, name, parameters, arguments)
#include "mpi/real/calls.inc"
}
