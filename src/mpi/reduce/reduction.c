/* Reductions: what Tutti can reduce goes to coll/, the rest to the MPI. */
#include "mpi/reduce/reduction.h"

#include <stdlib.h>

#include "core/log.h"
#include "mpi/comm/comms.h"
#include "mpi/real/errors.h"
#include "mpi/real/handles.h"

/* ---- reading ---- */

static const char by_user[] = "user-defined operator";

const char *tutti_not_reducible(const struct tutti_type_row *type, int operation)
{
    if (operation == TUTTI_OP_NONE)
        return by_user;
    return type ? "operator and type do not go together" : "type without kernels";
}

static MPI_Count count_of(const struct tutti_asked *asked, int rank)
{
    return asked->large ? ((const MPI_Count *)asked->recvcounts)[rank] : ((const int *)asked->recvcounts)[rank];
}

/* Elements of one rank's contribution; 0 where a count is negative or the sum is too large for any memory. */
static MPI_Count total_of(const struct tutti_asked *asked, int ranks)
{
    MPI_Count total = 0;
    if (asked->collective == TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK)
        return asked->count < 0 || __builtin_mul_overflow(asked->count, (MPI_Count)ranks, &total) ? 0 : total;
    if (asked->collective != TUTTI_COLLECTIVE_REDUCE_SCATTER)
        return asked->count < 0 ? 0 : asked->count;
    for (int r = 0; asked->recvcounts && r < ranks; r++) {
        MPI_Count count = count_of(asked, r);
        if (count < 0 || __builtin_add_overflow(total, count, &total))
            return 0;
    }
    return total;
}

/* Elements that this rank gets. */
static MPI_Count results_of(const struct tutti_asked *asked, int rank)
{
    switch (asked->collective) {
    case TUTTI_COLLECTIVE_REDUCE:
        return rank == asked->root ? asked->count : 0;
    case TUTTI_COLLECTIVE_REDUCE_SCATTER:
        return count_of(asked, rank);
    case TUTTI_COLLECTIVE_EXSCAN:
        return rank > 0 ? asked->count : 0;
    default:
        return asked->count;
    }
}

static int reachable(const struct tutti_memory *memory)
{
    return memory->kind == TUTTI_MEMORY_DEVICE || memory->kind == TUTTI_MEMORY_MANAGED;
}

/* What this rank brings. Managed memory counts as device memory: kernels reach it. */
static void look_at_buffers(struct tutti_reduce *call)
{
    struct tutti_memory in, out;
    tutti_door.device->classify(call->in, &in);
    if (!reachable(&in))
        return;
    out = in;
    if (call->out && call->out != call->in)
        tutti_door.device->classify(call->out, &out);
    if (!reachable(&out) || (in.gpu >= 0 && out.gpu >= 0 && in.gpu != out.gpu))
        return;
    call->kind = TUTTI_ARRIVAL_DEVICE;
    call->gpu = in.gpu >= 0 ? in.gpu : out.gpu;
    call->near = out.kind == TUTTI_MEMORY_DEVICE && out.gpu == call->gpu;
}

int tutti_alias_of_call_is_refused(const struct tutti_asked *asked)
{
    int inter = 0, rank = -1;
    const int none = asked->collective != TUTTI_COLLECTIVE_REDUCE_SCATTER && asked->count <= 0;
    if (asked->sendbuf != asked->recvbuf || asked->sendbuf == MPI_IN_PLACE || !asked->sendbuf || none ||
        asked->comm == tutti_handles.no_comm || tutti_real.MPI_Comm_test_inter(asked->comm, &inter) != MPI_SUCCESS ||
        inter)
        return 0;
    if (asked->collective == TUTTI_COLLECTIVE_REDUCE &&
        (tutti_real.MPI_Comm_rank(asked->comm, &rank) != MPI_SUCCESS || rank != asked->root))
        return 0;
    return tutti_alias_is_refused(asked->collective, asked->count);
}

static int read_counts(const struct tutti_asked *asked, struct tutti_read *out)
{
    int ranks = out->team->size;
    size_t *counts = out->few;
    if (ranks > TUTTI_MAX_RANKS)
        counts = out->many = malloc((size_t)ranks * sizeof *counts);
    if (!counts)
        return TUTTI_ERR_MEMORY;
    for (int r = 0; r < ranks; r++)
        counts[r] = (size_t)count_of(asked, r);
    out->call.counts = counts;
    return TUTTI_OK;
}

static enum tutti_reading read_team(const struct tutti_asked *asked, struct tutti_read *out,
                                    const struct tutti_type_row *type, int operation)
{
    int rank = out->team->rank, ranks = out->team->size, status;
    enum tutti_collective collective = asked->collective;
    MPI_Count total = total_of(asked, ranks);
    if (total == 0 || (collective == TUTTI_COLLECTIVE_REDUCE && (asked->root < 0 || asked->root >= ranks)))
        return TUTTI_READ_UNTOUCHED;
    int gets = results_of(asked, rank) > 0;
    if (!tutti_buffers_fine(collective, asked->sendbuf, asked->recvbuf, asked->count, gets))
        return TUTTI_READ_UNTOUCHED;
    out->call = (struct tutti_reduce){
        .collective = collective,
        .in = asked->sendbuf == MPI_IN_PLACE ? asked->recvbuf : asked->sendbuf,
        .out = gets ? asked->recvbuf : NULL,
        .count = (size_t)total,
        .root = asked->root,
        .type = type->type,
        .op = operation,
        .kind = TUTTI_ARRIVAL_HOST,
        .gpu = -1,
        .host_ok = type->host_ok,
    };
    if (collective == TUTTI_COLLECTIVE_REDUCE_SCATTER && (status = read_counts(asked, out)) != TUTTI_OK) {
        out->status = status;
        return TUTTI_READ_FAILED;
    }
    if (!tutti_host_only())
        look_at_buffers(&out->call);
    return TUTTI_READ_TEAM;
}

static enum tutti_reading read_call(const struct tutti_asked *asked, struct tutti_read *out, int nonblocking)
{
    out->many = NULL;
    out->team = NULL;
    out->early = 0;
    const struct tutti_type_row *type = tutti_type_find(asked->datatype);
    int operation = tutti_op_find(asked->op);
    if (!type || operation == TUTTI_OP_NONE || !(type->legal >> operation & 1)) {
        out->why = tutti_not_reducible(type, operation);
        return TUTTI_READ_STAGED;
    }
    struct tutti_comm *state = tutti_comm_find(asked->comm);
    if (!state && !(state = nonblocking ? tutti_comm_begin(asked->comm) : tutti_comm_make(asked->comm)))
        return TUTTI_READ_UNTOUCHED;
    if (unlikely(state->opening) && nonblocking && (out->team = tutti_comm_early(state)) != NULL)
        out->early = 1;
    if (unlikely(out->early))
        return read_team(asked, out, type, operation);
    if (unlikely(state->opening))
        tutti_comm_ready(state, 1);
    if ((out->team = state->team) != NULL)
        return read_team(asked, out, type, operation);
    out->status = state->failed;
    out->why = state->passed;
    return state->failed != TUTTI_OK ? TUTTI_READ_FAILED : TUTTI_READ_STAGED;
}

enum tutti_reading tutti_read(const struct tutti_asked *asked, struct tutti_read *out)
{
    return read_call(asked, out, 0);
}

enum tutti_reading tutti_read_nonblocking(const struct tutti_asked *asked, struct tutti_read *out)
{
    return read_call(asked, out, 1);
}

void tutti_read_end(struct tutti_read *read)
{
    free(read->many);
    read->many = NULL;
}

/* ---- the MPI ---- */

int tutti_asked_real(const struct tutti_asked *a, const void *sendbuf, void *recvbuf)
{
#define REAL(call, count, ...)                                                                                         \
    (a->large ? tutti_real.call##_c(sendbuf, recvbuf, count, __VA_ARGS__)                                              \
              : tutti_real.call(sendbuf, recvbuf, (int)(count), __VA_ARGS__))
    switch (a->collective) {
    case TUTTI_COLLECTIVE_ALLREDUCE:
        return REAL(MPI_Allreduce, a->count, a->datatype, a->op, a->comm);
    case TUTTI_COLLECTIVE_REDUCE:
        return REAL(MPI_Reduce, a->count, a->datatype, a->op, a->root, a->comm);
    case TUTTI_COLLECTIVE_REDUCE_SCATTER:
        return a->large ? tutti_real.MPI_Reduce_scatter_c(sendbuf, recvbuf, a->recvcounts, a->datatype, a->op, a->comm)
                        : tutti_real.MPI_Reduce_scatter(sendbuf, recvbuf, a->recvcounts, a->datatype, a->op, a->comm);
    case TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK:
        return REAL(MPI_Reduce_scatter_block, a->count, a->datatype, a->op, a->comm);
    case TUTTI_COLLECTIVE_SCAN:
        return REAL(MPI_Scan, a->count, a->datatype, a->op, a->comm);
    case TUTTI_COLLECTIVE_EXSCAN:
        return REAL(MPI_Exscan, a->count, a->datatype, a->op, a->comm);
    default:
        return MPI_ERR_INTERN;
    }
#undef REAL
}

/* ---- staging ---- */

/* Elements that the MPI reads and writes on this rank. 0 where the communicator cannot be asked. */
static int sizes_of(const struct tutti_asked *asked, MPI_Count *in, MPI_Count *out)
{
    int inter = 0, rank = 0, ranks = 0;
    TUTTI_INSIDE();
    if (asked->comm == tutti_handles.no_comm || tutti_real.MPI_Comm_test_inter(asked->comm, &inter) != MPI_SUCCESS ||
        tutti_real.MPI_Comm_rank(asked->comm, &rank) != MPI_SUCCESS ||
        tutti_real.MPI_Comm_size(asked->comm, &ranks) != MPI_SUCCESS)
        return 0;
    *in = total_of(asked, ranks);
    *out = *in ? results_of(asked, rank) : 0;
    if (inter && asked->collective == TUTTI_COLLECTIVE_REDUCE) {
        *in = asked->root >= 0 ? asked->count : 0;
        *out = asked->root == MPI_ROOT ? asked->count : 0;
    }
    return 1;
}

int tutti_staging_open(struct tutti_staging *s, const struct tutti_asked *asked)
{
    MPI_Count in, out;
    int status;
    s->sendbuf = asked->sendbuf;
    s->recvbuf = asked->recvbuf;
    s->staged = 0;
    s->in.staged = s->out.staged = 0;
    if (likely(tutti_host_only()) || !sizes_of(asked, &in, &out))
        return TUTTI_OK;
    s->results = out;
    const void *sendbuf = asked->sendbuf;
    int reduce = asked->collective == TUTTI_COLLECTIVE_REDUCE, in_place = sendbuf == MPI_IN_PLACE;
    /* MPICH 4.0 crashes in place at a root other than 0: there are two buffers then. */
    if (reduce && out > 0 && in_place && tutti_needs_span(asked->recvbuf, asked->datatype)) {
        sendbuf = asked->recvbuf;
        in_place = 0;
    }
    if (reduce && out == 0) { /* recvbuf may be anything */
        status = in_place ? TUTTI_OK : tutti_span_open(&s->in, sendbuf, in, asked->datatype, TUTTI_SPAN_IN);
    } else if (in_place || asked->sendbuf == asked->recvbuf) {
        int way = TUTTI_SPAN_IN | (out ? TUTTI_SPAN_OUT : 0);
        status = tutti_span_open(&s->out, asked->recvbuf, in > out ? in : out, asked->datatype, way);
        if (s->out.staged && !in_place)
            s->sendbuf = s->out.host;
    } else {
        status = tutti_span_open(&s->in, sendbuf, in, asked->datatype, TUTTI_SPAN_IN);
        if (status == TUTTI_OK &&
            (status = tutti_span_open(&s->out, asked->recvbuf, out, asked->datatype, TUTTI_SPAN_OUT)) != TUTTI_OK)
            tutti_span_close(&s->in);
    }
    if (status != TUTTI_OK)
        return status;
    if (s->in.staged)
        s->sendbuf = s->in.host;
    if (s->out.staged)
        s->recvbuf = s->out.host;
    s->staged = s->in.staged || s->out.staged;
    return TUTTI_OK;
}

int tutti_staging_close(struct tutti_staging *s, int code)
{
    int status = TUTTI_OK;
    if (!s->staged)
        return TUTTI_OK;
    if (code == MPI_SUCCESS && s->out.staged) {
        tutti_span_shorten(&s->out, s->results);
        status = tutti_span_out(&s->out, -1);
    }
    tutti_span_close(&s->in);
    tutti_span_close(&s->out);
    s->staged = 0;
    return status;
}

const char *tutti_staging_how(const struct tutti_staging *s, const char *why)
{
    int kernel = (s->in.staged && tutti_span_by_kernel(&s->in)) || (s->out.staged && tutti_span_by_kernel(&s->out));
    return kernel && why == by_user ? "user-defined operator, type packed by a kernel" : why;
}

int tutti_staging_failed(const struct tutti_asked *asked, int status)
{
    tutti_error("%s: staging device memory failed: %s", asked->name, tutti_status_text(status));
    return tutti_fail_comm(asked->comm, tutti_error_code(status));
}

static int staged(const struct tutti_asked *asked, const char *why)
{
    struct tutti_staging staging;
    int code, status = tutti_staging_open(&staging, asked);
    tutti_count(asked->name, status == TUTTI_OK && !staging.staged ? TUTTI_OUTCOME_PASSED : TUTTI_OUTCOME_STAGED,
                status == TUTTI_OK ? tutti_staging_how(&staging, why) : why);
    if (unlikely(status != TUTTI_OK))
        return tutti_staging_failed(asked, status);
    {
        TUTTI_INSIDE();
        code = tutti_asked_real(asked, staging.sendbuf, staging.recvbuf);
    }
    status = tutti_staging_close(&staging, code);
    return likely(status == TUTTI_OK) ? code : tutti_staging_failed(asked, status);
}

/* ---- blocking calls ---- */

/* The MPI has let this rank go alone because the others have made its call with it: they have found that it does not
 * match theirs. */
static int told(const struct tutti_asked *asked, struct tutti_team *team)
{
    const int status = tutti_team_take_told(team);
    tutti_error("%s on %s has no result: the others have found that the ranks' calls do not match", asked->name,
                team->transport->label);
    tutti_count(asked->name, TUTTI_OUTCOME_FAILED, tutti_status_text(status));
    return tutti_fail_comm(asked->comm, tutti_error_code(status));
}

/* After the MPI has made the call, with this code. */
static inline int made(struct tutti_team *team, const char *name, MPI_Comm comm, int code)
{
    if (likely(!tutti_team_is_told(team)))
        return code;
    const struct tutti_asked asked = {.name = name, .comm = comm};
    return told(&asked, team);
}

static int reduced(const struct tutti_asked *asked, struct tutti_read *read)
{
    enum tutti_taken taken;
    const char *why;
    tutti_inside++; /* nothing below leaves by an exception: errors of the program are raised afterwards */
    int status = tutti_collective(read->team, &read->call, &taken, &why);
    tutti_inside--;
    tutti_read_end(read);
    if (unlikely(status != TUTTI_OK)) {
        tutti_count(asked->name, TUTTI_OUTCOME_FAILED, tutti_status_text(status));
        return tutti_fail_comm(asked->comm, tutti_error_code(status));
    }
    if (taken == TUTTI_PASSED)
        return made(read->team, asked->name, asked->comm, staged(asked, why));
    tutti_count(asked->name, TUTTI_OUTCOME_ACCELERATED, why);
    return MPI_SUCCESS;
}

int tutti_reduction(const struct tutti_asked *asked)
{
    struct tutti_read read;
    switch (tutti_read(asked, &read)) {
    case TUTTI_READ_STAGED:
        return staged(asked, read.why);
    case TUTTI_READ_FAILED:
        return tutti_fail_comm(asked->comm, tutti_error_code(read.status));
    case TUTTI_READ_TEAM:
        return reduced(asked, &read);
    default:
        return tutti_asked_real(asked, asked->sendbuf, asked->recvbuf);
    }
}

/* ---- the short way ---- */

/* What tutti_reduction() does for a rank with host memory, in short: a program without device memory is to notice
 * nothing. NULL: the long way. */
static inline struct tutti_team *short_way(MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, int *type, int *operation)
{
    const struct tutti_type_row *row = tutti_type_find(datatype);
    const struct tutti_comm *state = tutti_comm_find(comm);
    *operation = tutti_op_find(op);
    if (unlikely(!row || *operation == TUTTI_OP_NONE || !(row->legal >> *operation & 1) || !row->host_ok || !state ||
                 !state->team || !tutti_host_only()))
        return NULL;
    struct tutti_team *team = state->team;
    *type = row->type;
    return unlikely(team->size > 1 && (!team->whole || team->state == TUTTI_TEAM_BROKEN || tutti_team_is_told(team)))
               ? NULL
               : team;
}

/* One rank has nobody to tell. */
static inline void announce(struct tutti_team *team, enum tutti_collective collective, int type, int operation,
                            uint64_t count, uint64_t detail)
{
    if (team->size > 1)
        tutti_team_announce(team, collective, type, operation, count, detail);
}

/* The call by the MPI, and whether it was one that did not match; errors of the program are raised afterwards. */
#define MADE(name, call)                                                                                               \
    (__extension__({                                                                                                   \
        int code_;                                                                                                     \
        {                                                                                                              \
            TUTTI_INSIDE();                                                                                            \
            code_ = call;                                                                                              \
        }                                                                                                              \
        made(team, name, comm, code_);                                                                                 \
    }))
#define WIDTHS_OF "mpi/reduce/reduction.inc"
#include "mpi/real/widths.inc"
