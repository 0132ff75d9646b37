/* Persistent collectives that move data, for an MPI that lacks them, or whose own are wrong (quirks.h). Each request
 * has a communicator of its own, over which every start makes the nonblocking call: so requests of one communicator may
 * be started in any order, another on each rank. It keeps copies of lists and holds types, which the program may change
 * and free once the request is made. Device memory is staged above, as over an MPI that has the calls. */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "mpi/call/calls.h"
#include "mpi/comm/alike.h"
#include "mpi/move/mover.h"
#include "mpi/move/sides.h"
#include "mpi/real/errors.h"
#include "mpi/real/lent.h"
#include "mpi/real/quirks.h"
#include "mpi/real/rows.h"
#include "mpi/reduce/later.h"

struct copies {
    int *counts;
    void *displs;
    int n;               /* of `types` */
    MPI_Datatype *types; /* held, or predefined ones */
    MPI_Datatype type;   /* held; or of no type */
};

struct again {
    struct tutti_later later; /* first: it is what the open call knows */
    struct tutti_collective_args args;
    struct copies in, out;
};

/* ---- are the arguments right? ---- */

static int count_at(const struct tutti_half *half, int i)
{
    return half->counts ? ((const int *)half->counts)[i] : (int)half->count;
}

/* 0 where the call on this rank does not look at this half, all of which may be anything then. */
static int is_used(const struct tutti_half *half, const struct tutti_side *side)
{
    return side->way != 0 && half->buffer != MPI_IN_PLACE;
}

/* An MPI code. Of types in a list those with no elements are not looked at. */
static int look(const struct tutti_half *half, const struct tutti_side *side)
{
    if (!is_used(half, side) || side->n == 0)
        return MPI_SUCCESS;
    const int n = half->counts ? side->n : 1;
    for (int i = 0; i < n; i++) {
        if (count_at(half, i) < 0)
            return MPI_ERR_COUNT;
        if (half->types && count_at(half, i) > 0 && !tutti_type_is_fine(half->types[i]))
            return MPI_ERR_TYPE;
    }
    return half->types || tutti_type_is_fine(half->type) ? MPI_SUCCESS : MPI_ERR_TYPE;
}

static int has_root(enum tutti_collective collective)
{
    return collective == TUTTI_COLLECTIVE_BCAST || collective == TUTTI_COLLECTIVE_GATHER ||
           collective == TUTTI_COLLECTIVE_GATHERV || collective == TUTTI_COLLECTIVE_SCATTER ||
           collective == TUTTI_COLLECTIVE_SCATTERV;
}

static int root_is_there(const struct tutti_collective_args *args)
{
    struct tutti_role role;
    tutti_role_of(&role, args->comm, args->root);
    return (args->root >= 0 && args->root < role.peers) ||
           (role.inter && (args->root == MPI_ROOT || args->root == MPI_PROC_NULL));
}

/* 1 where a side has something in place that cannot have. */
static int in_place_is_wrong(const struct tutti_collective_args *args, const struct tutti_sides *sides)
{
    const int of_neighbours = args->collective >= TUTTI_COLLECTIVE_NEIGHBOR_ALLGATHER;
    const int scatters = args->collective == TUTTI_COLLECTIVE_SCATTER || args->collective == TUTTI_COLLECTIVE_SCATTERV;
    const int gathers = args->collective == TUTTI_COLLECTIVE_GATHER || args->collective == TUTTI_COLLECTIVE_GATHERV;
    const int in = sides->in.way && args->in.buffer == MPI_IN_PLACE;
    const int out = sides->out.way && args->out.buffer == MPI_IN_PLACE;
    int inter = 0;
    tutti_real.MPI_Comm_test_inter(args->comm, &inter);
    if (args->collective == TUTTI_COLLECTIVE_BCAST || of_neighbours || inter)
        return in || out;
    return scatters ? in || (out && !sides->in.way) : out || (in && gathers && !sides->out.way);
}

/* 1 where an MPI that has the call itself refuses one buffer for both. */
static int is_refused_alias(const struct tutti_collective_args *args, const struct tutti_sides *sides)
{
    return tutti_quirks.persistent_read_once && tutti_quirks.refuses_alias == 1 &&
           args->collective != TUTTI_COLLECTIVE_BCAST && args->collective < TUTTI_COLLECTIVE_NEIGHBOR_ALLGATHER &&
           sides->in.way && sides->out.way && args->in.buffer && args->in.buffer == args->out.buffer;
}

/* What is wrong with the arguments, as far as it can be told on this rank; the MPI says the rest when the request is
 * started. An MPI code. */
static int look_at_all(const struct tutti_collective_args *args, const struct tutti_sides *sides)
{
    if (args->collective >= TUTTI_COLLECTIVE_NEIGHBOR_ALLGATHER && sides->ring.kind == MPI_UNDEFINED)
        return MPI_ERR_TOPOLOGY;
    if (has_root(args->collective) && !root_is_there(args))
        return MPI_ERR_ROOT;
    if (in_place_is_wrong(args, sides))
        return MPI_ERR_ARG;
    if (is_refused_alias(args, sides))
        return MPI_ERR_BUFFER;
    int code = look(&args->in, &sides->in);
    return code == MPI_SUCCESS ? look(&args->out, &sides->out) : code;
}

/* ---- what the request keeps ---- */

static void *copy_of(const void *from, size_t bytes)
{
    void *to = malloc(bytes + 1);
    if (to && bytes)
        memcpy(to, from, bytes);
    return to;
}

/* A type of no elements may be anything: another one of the list stands for it (quirks.h). 0 without memory. */
static int copy_types(struct copies *own, const struct tutti_half *half, int n)
{
    int some = 0;
    if (!(own->types = malloc(((size_t)n + 1) * sizeof *own->types)))
        return 0;
    while (some < n && count_at(half, some) <= 0)
        some++;
    for (; own->n < n; own->n++) {
        MPI_Datatype *to = &own->types[own->n];
        const int from = count_at(half, own->n) > 0 ? own->n : some;
        *to = tutti_handles.byte;
        if (from >= n)
            continue;
        if (!tutti_type_hold(half->types[from]))
            return 0;
        *to = half->types[from];
    }
    return 1;
}

/* Puts copies in place of the program's. What the MPI does not look at must not be a type that is gone; where there are
 * no blocks it compares their sizes all the same. 0 without memory. */
static int keep(struct tutti_half *half, const struct tutti_side *side, struct copies *own)
{
    const size_t n = (size_t)side->n, displ = half->aint ? sizeof(MPI_Aint) : sizeof(int);
    own->type = tutti_handles.no_type;
    if (!is_used(half, side)) {
        half->type = half->types ? half->type : tutti_handles.byte;
        return 1;
    }
    if (half->counts && side->n > 0) {
        own->counts = copy_of(half->counts, n * sizeof(int));
        own->displs = copy_of(half->displs, n * displ);
        if (!own->counts || !own->displs || (half->types && !copy_types(own, half, side->n)))
            return 0;
        half->counts = own->counts;
        half->displs = own->displs;
        half->types = own->types ? own->types : half->types;
    }
    if (half->types || !tutti_type_is_fine(half->type))
        return 1;
    if (!tutti_type_hold(half->type))
        return 0;
    own->type = half->type;
    return 1;
}

static void drop(struct copies *own)
{
    tutti_type_let_go(own->type);
    for (int i = 0; i < own->n; i++)
        tutti_type_let_go(own->types[i]);
    free(own->counts);
    free(own->displs);
    free(own->types);
}

/* ---- the request ---- */

static struct again *of(struct tutti_later *later)
{
    return (struct again *)(void *)later;
}

static int start(struct tutti_later *later)
{
    return tutti_collective_real(&of(later)->args, TUTTI_NONBLOCKING, tutti_handles.no_info, later->request);
}

static void end(struct tutti_later *later)
{
    struct again *again = of(later);
    drop(&again->in);
    drop(&again->out);
    free(again);
}

/* NULL without memory. A broadcast has one buffer, `out` to the MPI's call. */
static struct again *new_again(const struct tutti_collective_args *args, const struct tutti_sides *sides)
{
    const int bcast = args->collective == TUTTI_COLLECTIVE_BCAST;
    struct again *again = calloc(1, sizeof *again);
    if (!again)
        return NULL;
    again->later.name = args->name;
    again->later.start = start;
    again->later.end = end;
    again->args = *args;
    again->out.type = tutti_handles.no_type;
    const struct tutti_side *out = bcast && sides->in.way ? &sides->in : &sides->out;
    if (keep(&again->args.in, &sides->in, &again->in) && keep(&again->args.out, out, &again->out))
        return again;
    end(&again->later);
    return NULL;
}

/* Tells the peers, as of every call that waits for them: also where a rank's staging has made the call. */
static void announce(MPI_Comm comm)
{
    const int depth = tutti_inside;
    tutti_inside = 0;
    tutti_mover_pass(TUTTI_COLLECTIVE_MEETING, 0, comm);
    tutti_inside = depth;
}

/* Its errors are raised on the program's communicator, when the request completes. */
static int make(const struct tutti_collective_args *args, const struct tutti_sides *sides, MPI_Request *request)
{
    MPI_Comm own;
    struct again *again = new_again(args, sides);
    announce(args->comm);
    int code = tutti_comm_alike(args->comm, args->collective >= TUTTI_COLLECTIVE_NEIGHBOR_ALLGATHER, &own);
    if (code == MPI_SUCCESS) {
        tutti_real.MPI_Comm_set_errhandler(own, tutti_handles.errors_return);
        if (again && tutti_later_persistent(&again->later, own, args->comm, request)) {
            again->args.comm = own;
            return MPI_SUCCESS;
        }
        tutti_real.MPI_Comm_free(&own);
        tutti_error("%s: out of memory", args->name);
        code = tutti_fail_comm(args->comm, MPI_ERR_NO_MEM);
    }
    if (again)
        end(&again->later);
    return code;
}

/* Collective: makes a communicator. */
static int supply(const struct tutti_collective_args *args, MPI_Request *request)
{
    struct tutti_sides sides;
    int inter;
    if (!tutti_door.on)
        return tutti_fail_comm(args->comm, tutti_lacking(args->name));
    int code = tutti_real.MPI_Comm_test_inter(args->comm, &inter); /* which raises that it is none */
    if (code != MPI_SUCCESS)
        return code;
    TUTTI_INSIDE();
    int status = tutti_sides_open(&sides, args);
    if (status != TUTTI_OK || !request)
        code = status != TUTTI_OK ? tutti_error_code(status) : MPI_ERR_REQUEST;
    else
        code = look_at_all(args, &sides);
    code = code == MPI_SUCCESS ? make(args, &sides, request) : tutti_fail_comm(args->comm, code);
    tutti_sides_close(&sides);
    return code;
}

/* ---- the calls ---- */

#define SEND           tutti_half(sendbuf, sendcount, sendtype)
#define RECV           tutti_half(recvbuf, recvcount, recvtype)
#define WHOLE          tutti_half(buffer, count, datatype)
#define SEND_V(displs) tutti_half_v(sendbuf, sendcounts, displs, sendtype)
#define RECV_V(displs) tutti_half_v(recvbuf, recvcounts, displs, recvtype)
#define SEND_W(aint)   tutti_half_w(sendbuf, sendcounts, sdispls, sendtypes, aint)
#define RECV_W(aint)   tutti_half_w(recvbuf, recvcounts, rdispls, recvtypes, aint)

/* The collective; its root, what is sent, what is received. */
#define HOW_MPI_Bcast_init               BCAST, (root, WHOLE, WHOLE)
#define HOW_MPI_Gather_init              GATHER, (root, SEND, RECV)
#define HOW_MPI_Gatherv_init             GATHERV, (root, SEND, RECV_V(displs))
#define HOW_MPI_Scatter_init             SCATTER, (root, SEND, RECV)
#define HOW_MPI_Scatterv_init            SCATTERV, (root, SEND_V(displs), RECV)
#define HOW_MPI_Allgather_init           ALLGATHER, (0, SEND, RECV)
#define HOW_MPI_Allgatherv_init          ALLGATHERV, (0, SEND, RECV_V(displs))
#define HOW_MPI_Alltoall_init            ALLTOALL, (0, SEND, RECV)
#define HOW_MPI_Alltoallv_init           ALLTOALLV, (0, SEND_V(sdispls), RECV_V(rdispls))
#define HOW_MPI_Alltoallw_init           ALLTOALLW, (0, SEND_W(0), RECV_W(0))
#define HOW_MPI_Neighbor_allgather_init  NEIGHBOR_ALLGATHER, (0, SEND, RECV)
#define HOW_MPI_Neighbor_allgatherv_init NEIGHBOR_ALLGATHERV, (0, SEND, RECV_V(displs))
#define HOW_MPI_Neighbor_alltoall_init   NEIGHBOR_ALLTOALL, (0, SEND, RECV)
#define HOW_MPI_Neighbor_alltoallv_init  NEIGHBOR_ALLTOALLV, (0, SEND_V(sdispls), RECV_V(rdispls))
#define HOW_MPI_Neighbor_alltoallw_init  NEIGHBOR_ALLTOALLW, (0, SEND_W(1), RECV_W(1))

#define FIELDS(from, sent, received) .root = from, .in = sent, .out = received
#define MADE(how, form, call, parameters, arguments)                                                                   \
    static int(*own_##call) parameters; /* NULL: the MPI has none */                                                   \
    static int supplied_##call parameters                                                                              \
    {                                                                                                                  \
        if (!tutti_door.on && own_##call)                                                                              \
            return own_##call arguments;                                                                               \
        const struct tutti_collective_args args = {                                                                    \
            .collective = TUTTI_COLLECTIVE_##how, .name = #call, .comm = comm, FIELDS form};                           \
        return supply(&args, request);                                                                                 \
    }
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments)                                          \
    ROW(HOW_##name, name, parameters, arguments)
#include "mpi/real/calls.inc"

#undef MADE
#define MADE(how, form, call, parameters, arguments)                                                                   \
    own_##call = tutti_real.call;                                                                                      \
    if (!tutti_real.call || instead)                                                                                   \
        tutti_real.call = supplied_##call;

void tutti_calls_supply_persistent(void)
{
    const int instead = tutti_quirks_row()->persistent_read_once;
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments)                                          \
    ROW(HOW_##name, name, parameters, arguments)
#include "mpi/real/calls.inc"
}
