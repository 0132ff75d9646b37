/* Persistent collectives that move data, for an MPI that lacks them, or whose own are wrong (quirks.h). Each request
 * has a communicator of its own, over which every start makes the nonblocking call: so requests of one communicator may
 * be started in any order, another on each rank. It keeps copies of lists and holds types, which the program may change
 * and free once the request is made. Device memory is staged above, as over an MPI that has the calls. */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "mpi/bounce/stage.h"
#include "mpi/call/calls.h"
#include "mpi/comm/clone.h"
#include "mpi/move/mover.h"
#include "mpi/move/pattern.h"
#include "mpi/real/collective_args.h"
#include "mpi/real/errors.h"
#include "mpi/real/lent.h"
#include "mpi/real/quirks.h"
#include "mpi/reduce/deferred_call.h"

struct copies {
    int *counts;
    void *displs;
    int n;               /* of `types` */
    MPI_Datatype *types; /* held, or predefined ones */
    MPI_Datatype type;   /* held; or of no type */
};

struct supplied {
    struct tutti_deferred_call later; /* first: it is what the open call knows */
    struct copies in, out;
};

/* ---- are the arguments right? ---- */

/* 0 if the call on this rank does not look at this buffer, all of which may be anything then. */
static int supplied_uses(const struct tutti_buffer *buffer, const struct tutti_pattern_side *side)
{
    return side->used && buffer->buffer != MPI_IN_PLACE;
}

/* An MPI code. Of types in a list those with no elements are not looked at. */
static int supplied_check_buffer(const struct tutti_buffer *buffer, const struct tutti_pattern_side *side)
{
    if (!supplied_uses(buffer, side) || side->n == 0)
        return MPI_SUCCESS;
    const int n = buffer->counts ? side->n : 1;
    for (int i = 0; i < n; i++) {
        if (tutti_buffer_count(buffer, i) < 0)
            return MPI_ERR_COUNT;
        if (buffer->types && tutti_buffer_count(buffer, i) > 0 && !tutti_type_is_fine(buffer->types[i]))
            return MPI_ERR_TYPE;
    }
    return buffer->types || tutti_type_is_fine(buffer->type) ? MPI_SUCCESS : MPI_ERR_TYPE;
}

static int supplied_root_is_there(const struct tutti_collective_args *args, const struct tutti_pattern *pattern)
{
    return (args->root >= 0 && args->root < pattern->ranks) ||
           (pattern->inter && (args->root == MPI_ROOT || args->root == MPI_PROC_NULL));
}

/* 1 if a buffer is MPI_IN_PLACE that must not be. */
static int supplied_in_place_is_wrong(const struct tutti_collective_args *args, const struct tutti_pattern *pattern)
{
    const int in = pattern->send.used && args->in.buffer == MPI_IN_PLACE;
    const int out = pattern->recv.used && args->out.buffer == MPI_IN_PLACE;
    if (pattern->in_place == TUTTI_NOT_IN_PLACE || pattern->inter)
        return in || out;
    return pattern->in_place == TUTTI_OWN_BLOCK_KEPT ? in : out;
}

/* 1 if an MPI that has the call itself refuses one buffer for both. */
static int supplied_alias_is_refused(const struct tutti_collective_args *args, const struct tutti_pattern *pattern)
{
    return tutti_quirks.persistent_read_once && tutti_quirks.refuses_alias == 1 &&
           !tutti_pattern_has_neighbours(args->collective) && pattern->send.used && pattern->recv.used &&
           args->in.buffer && args->in.buffer == args->out.buffer;
}

/* Checks the arguments as far as this rank can; the MPI checks the rest when the request is started. An MPI code. */
static int supplied_check(const struct tutti_collective_args *args, const struct tutti_pattern *pattern)
{
    if (tutti_pattern_has_neighbours(args->collective) && pattern->neighbours.kind == MPI_UNDEFINED)
        return MPI_ERR_TOPOLOGY;
    if (pattern->rooted && !supplied_root_is_there(args, pattern))
        return MPI_ERR_ROOT;
    if (supplied_in_place_is_wrong(args, pattern))
        return MPI_ERR_ARG;
    if (supplied_alias_is_refused(args, pattern))
        return MPI_ERR_BUFFER;
    int code = supplied_check_buffer(&args->in, &pattern->send);
    return code == MPI_SUCCESS ? supplied_check_buffer(&args->out, &pattern->recv) : code;
}

/* ---- what the request keeps ---- */

static void *supplied_copy(const void *from, size_t bytes)
{
    void *to = malloc(bytes + 1);
    if (to && bytes)
        memcpy(to, from, bytes);
    return to;
}

/* A type of no elements may be anything: another one of the list stands for it (quirks.h). 0 without memory. */
static int supplied_copy_types(struct copies *own, const struct tutti_buffer *buffer, int n)
{
    int some = 0;
    if (!(own->types = malloc(((size_t)n + 1) * sizeof *own->types)))
        return 0;
    while (some < n && tutti_buffer_count(buffer, some) <= 0)
        some++;
    for (; own->n < n; own->n++) {
        MPI_Datatype *to = &own->types[own->n];
        const int from = tutti_buffer_count(buffer, own->n) > 0 ? own->n : some;
        *to = tutti_handles.byte;
        if (from >= n)
            continue;
        if (!tutti_type_hold(buffer->types[from]))
            return 0;
        *to = buffer->types[from];
    }
    return 1;
}

/* Puts copies in place of the program's. What the MPI does not look at must not be a freed type; without blocks it
 * compares their sizes all the same. 0 without memory. */
static int supplied_keep(struct tutti_buffer *buffer, const struct tutti_pattern_side *side, struct copies *own)
{
    const size_t n = (size_t)side->n, displ = buffer->large_displs ? sizeof(MPI_Aint) : sizeof(int);
    own->type = tutti_handles.no_type;
    if (!supplied_uses(buffer, side)) {
        buffer->type = buffer->types ? buffer->type : tutti_handles.byte;
        return 1;
    }
    if (buffer->counts && side->n > 0) {
        own->counts = supplied_copy(buffer->counts, n * sizeof(int));
        own->displs = supplied_copy(buffer->displs, n * displ);
        if (!own->counts || !own->displs || (buffer->types && !supplied_copy_types(own, buffer, side->n)))
            return 0;
        buffer->counts = own->counts;
        buffer->displs = own->displs;
        buffer->types = own->types ? own->types : buffer->types;
    }
    if (buffer->types || !tutti_type_is_fine(buffer->type))
        return 1;
    if (!tutti_type_hold(buffer->type))
        return 0;
    own->type = buffer->type;
    return 1;
}

static void supplied_drop(struct copies *own)
{
    tutti_type_release(own->type);
    for (int i = 0; i < own->n; i++)
        tutti_type_release(own->types[i]);
    free(own->counts);
    free(own->displs);
    free(own->types);
}

/* ---- the request ---- */

static struct supplied *supplied_of(struct tutti_deferred_call *later)
{
    return (struct supplied *)(void *)later;
}

static int supplied_start(struct tutti_deferred_call *later)
{
    return tutti_collective_real(&later->args, TUTTI_NONBLOCKING, tutti_handles.no_info, later->request);
}

static void supplied_end(struct tutti_deferred_call *later)
{
    struct supplied *supplied = supplied_of(later);
    supplied_drop(&supplied->in);
    supplied_drop(&supplied->out);
    free(supplied);
}

/* NULL without memory. A broadcast has one buffer, `out` to the MPI's call. */
static struct supplied *supplied_new(const struct tutti_collective_args *args, const struct tutti_pattern *pattern)
{
    struct supplied *supplied = calloc(1, sizeof *supplied);
    if (!supplied)
        return NULL;
    supplied->later.name = args->name;
    supplied->later.start = supplied_start;
    supplied->later.end = supplied_end;
    supplied->later.args = *args;
    supplied->out.type = tutti_handles.no_type;
    const struct tutti_pattern_side *out = pattern->shared && pattern->send.used ? &pattern->send : &pattern->recv;
    if (supplied_keep(&supplied->later.args.in, &pattern->send, &supplied->in) &&
        supplied_keep(&supplied->later.args.out, out, &supplied->out))
        return supplied;
    supplied_end(&supplied->later);
    return NULL;
}

/* Notifies the peers, as of every call that waits for them: also where a rank's staging has made the call. */
static void supplied_announce(MPI_Comm comm)
{
    const int depth = tutti_inside;
    tutti_inside = 0;
    tutti_mover_pass(TUTTI_COLLECTIVE_MEETING, 0, comm);
    tutti_inside = depth;
}

/* Its errors are raised on the program's communicator, when the request completes. */
static int supplied_make(const struct tutti_collective_args *args, const struct tutti_pattern *pattern,
                         MPI_Request *request)
{
    MPI_Comm own;
    struct supplied *supplied = supplied_new(args, pattern);
    supplied_announce(args->comm);
    int code = tutti_comm_clone(args->comm, tutti_pattern_has_neighbours(args->collective), &own);
    if (code == MPI_SUCCESS) {
        tutti_next.MPI_Comm_set_errhandler(own, tutti_handles.errors_return);
        if (supplied && tutti_deferred_call_persistent(&supplied->later, own, args->comm, request)) {
            supplied->later.args.comm = own;
            return MPI_SUCCESS;
        }
        tutti_next.MPI_Comm_free(&own);
        tutti_error("%s: out of memory", args->name);
        code = tutti_fail_comm(args->comm, MPI_ERR_NO_MEM);
    }
    if (supplied)
        supplied_end(&supplied->later);
    return code;
}

/* Collective: makes a communicator. */
static int supplied_supply(const struct tutti_collective_args *args, MPI_Request *request)
{
    struct tutti_pattern pattern;
    int inter;
    if (!tutti_door.on)
        return tutti_fail_comm(args->comm, tutti_lacking(args->name));
    int code = tutti_next.MPI_Comm_test_inter(args->comm, &inter); /* which raises the error for an invalid handle */
    if (code != MPI_SUCCESS)
        return code;
    TUTTI_INSIDE();
    int status = tutti_pattern_open(&pattern, args);
    if (status != TUTTI_OK || !request)
        code = status != TUTTI_OK ? tutti_error_code(status) : MPI_ERR_REQUEST;
    else
        code = supplied_check(args, &pattern);
    code = code == MPI_SUCCESS ? supplied_make(args, &pattern, request) : tutti_fail_comm(args->comm, code);
    tutti_pattern_close(&pattern);
    return code;
}

/* ---- the calls ---- */

#define COUNT int
#define DISP  int
#define TUTTI_MOVER(ID, call, nonblocking, from, to, send, receive, in_place, rules)                                   \
    static int (*own_##call)(MOVER_PARAMETERS(from, to, send, receive), MPI_Info info, MPI_Request * request);         \
    static int supplied_##call(MOVER_PARAMETERS(from, to, send, receive), MPI_Info info, MPI_Request *request)         \
    {                                                                                                                  \
        if (!tutti_door.on && own_##call)                                                                              \
            return own_##call(MOVER_PASSED_ON(from, to, send, receive), info, request);                                \
        return supplied_supply(&MOVER_CALL(ID, #call "_init", from, to, send, receive), request);                      \
    }
#include "tutti/collectives.def"

void tutti_calls_supply_persistent(void)
{
    const int instead = tutti_quirks_row()->persistent_read_once;
#define TUTTI_MOVER(ID, call, nonblocking, from, to, send, receive, in_place, rules)                                   \
    own_##call = tutti_next.call##_init; /* NULL: the MPI lacks the call */                                            \
    if (!tutti_next.call##_init || instead)                                                                            \
        tutti_next.call##_init = supplied_##call;                                                                      \
    if (instead)                                                                                                       \
        tutti_next.call##_init_c = NULL; /* tutti_calls_complete() makes it of the plain one */
#include "tutti/collectives.def"
}
