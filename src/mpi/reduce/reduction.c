/* Reductions: those that kernels can make go to coll/, all others to the MPI. */
#include "mpi/reduce/reduction.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/log.h"
#include "mpi/move/mover.h"
#include "mpi/nodes/over_nodes.h"
#include "mpi/real/collective_args.h"
#include "mpi/real/errors.h"
#include "mpi/real/handles.h"
#include "mpi/reduce/host_path.h"

/* ---- reading ---- */

static MPI_Count count_of(const struct tutti_reduction_args *args, int rank)
{
    return args->large ? ((const MPI_Count *)args->recvcounts)[rank] : ((const int *)args->recvcounts)[rank];
}

/* Elements of one rank's contribution; 0 where a count is negative or the sum is too large for any memory. */
static MPI_Count total_of(const struct tutti_reduction_args *args, int ranks)
{
    MPI_Count total = 0;
    if (args->collective == TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK)
        return args->count < 0 || __builtin_mul_overflow(args->count, (MPI_Count)ranks, &total) ? 0 : total;
    if (args->collective != TUTTI_COLLECTIVE_REDUCE_SCATTER)
        return args->count < 0 ? 0 : args->count;
    for (int r = 0; args->recvcounts && r < ranks; r++) {
        MPI_Count count = count_of(args, r);
        if (count < 0 || __builtin_add_overflow(total, count, &total))
            return 0;
    }
    return total;
}

/* Elements of this rank's result. */
static MPI_Count results_of(const struct tutti_reduction_args *args, int rank)
{
    switch (args->collective) {
    case TUTTI_COLLECTIVE_REDUCE:
        return rank == args->root ? args->count : 0;
    case TUTTI_COLLECTIVE_REDUCE_SCATTER:
        return count_of(args, rank);
    case TUTTI_COLLECTIVE_EXSCAN:
        return rank > 0 ? args->count : 0;
    default:
        return args->count;
    }
}

static int read_counts(const struct tutti_reduction_args *args, struct tutti_read *out)
{
    int ranks = out->team->size;
    size_t *counts = out->few;
    if (ranks > TUTTI_MAX_RANKS)
        counts = out->many = malloc((size_t)ranks * sizeof *counts);
    if (!counts)
        return TUTTI_ERR_MEMORY;
    for (int r = 0; r < ranks; r++)
        counts[r] = (size_t)count_of(args, r);
    out->call.counts = counts;
    return TUTTI_OK;
}

static enum tutti_reading read_team(const struct tutti_reduction_args *args, struct tutti_read *out,
                                    const struct tutti_type_row *type, int operation)
{
    int rank = out->team->rank, ranks = out->team->size, status;
    enum tutti_collective collective = args->collective;
    MPI_Count total = total_of(args, ranks);
    if (total == 0 || (collective == TUTTI_COLLECTIVE_REDUCE && (args->root < 0 || args->root >= ranks)))
        return TUTTI_READ_UNTOUCHED;
    int gets = results_of(args, rank) > 0;
    if (!tutti_buffers_fine(collective, args->sendbuf, args->recvbuf, args->count, gets))
        return TUTTI_READ_UNTOUCHED;
    out->call = (struct tutti_call){
        .collective = collective,
        .in = args->sendbuf == MPI_IN_PLACE ? args->recvbuf : args->sendbuf,
        .out = gets ? args->recvbuf : NULL,
        .count = (size_t)total,
        .root = args->root,
        .type = type->type,
        .op = operation,
        .kind = TUTTI_ARRIVAL_HOST,
        .gpu = -1,
        .host_ok = type->host_ok,
        .may_open_later = 1,
    };
    if (collective == TUTTI_COLLECTIVE_REDUCE_SCATTER && (status = read_counts(args, out)) != TUTTI_OK) {
        out->status = status;
        return TUTTI_READ_FAILED;
    }
    if (!tutti_host_only()) {
        tutti_reduce_look(tutti_door.device, &out->call, &out->there.in, &out->there.out);
        out->there.asked = 1;
    }
    return TUTTI_READ_TEAM;
}

/* 1 if no rank returns before all have called. */
static int collective_meets(enum tutti_collective collective)
{
    return collective == TUTTI_COLLECTIVE_ALLREDUCE || collective == TUTTI_COLLECTIVE_REDUCE_SCATTER ||
           collective == TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK;
}

/* nonblocking: does not wait for the team of a new communicator. A blocking call of host memory does not wait either.
 */
static enum tutti_reading read_call(const struct tutti_reduction_args *args, struct tutti_read *out, int nonblocking)
{
    out->many = NULL;
    out->team = NULL;
    out->early = 0;
    out->there.asked = 0;
    const struct tutti_type_row *type = tutti_type_find(args->datatype);
    int operation = tutti_op_find(args->op);
    if (!type || operation == TUTTI_OP_NONE || !(type->legal >> operation & 1)) {
        out->why = tutti_not_reducible(type, operation);
        return TUTTI_READ_STAGED;
    }
    struct tutti_comm *state = tutti_comm_find(args->comm);
    nonblocking |= tutti_host_only() && type->host_ok && collective_meets(args->collective) &&
                   (!state || atomic_load_explicit(&state->queued, memory_order_acquire) == 0);
    if (!state && !(state = nonblocking ? tutti_comm_begin(args->comm) : tutti_comm_make(args->comm)))
        return TUTTI_READ_UNTOUCHED;
    if (unlikely(state->opening) && nonblocking && (out->team = tutti_comm_early(state)) != NULL)
        out->early = 1;
    if (likely(!out->early)) {
        if (unlikely(state->opening))
            tutti_comm_ready(state, 1);
        out->team = state->team;
    }
    if (out->team)
        return read_team(args, out, type, operation);
    out->status = state->failed;
    out->why = state->passed;
    return state->failed != TUTTI_OK ? TUTTI_READ_FAILED : TUTTI_READ_STAGED;
}

enum tutti_reading tutti_read_nonblocking(const struct tutti_reduction_args *args, struct tutti_read *out)
{
    return read_call(args, out, 1);
}

void tutti_read_end(struct tutti_read *read)
{
    free(read->many);
    read->many = NULL;
}

/* ---- staging ---- */

/* Elements that the MPI reads and writes on this rank. 0 if the communicator is invalid. */
static int sizes_of(const struct tutti_reduction_args *args, MPI_Count *in, MPI_Count *out)
{
    int inter = 0, rank = 0, ranks = 0;
    TUTTI_INSIDE();
    if (args->comm == tutti_handles.no_comm || tutti_next.MPI_Comm_test_inter(args->comm, &inter) != MPI_SUCCESS ||
        tutti_next.MPI_Comm_rank(args->comm, &rank) != MPI_SUCCESS ||
        tutti_next.MPI_Comm_size(args->comm, &ranks) != MPI_SUCCESS)
        return 0;
    *in = total_of(args, ranks);
    *out = *in ? results_of(args, rank) : 0;
    if (inter && args->collective == TUTTI_COLLECTIVE_REDUCE) {
        *in = args->root >= 0 ? args->count : 0;
        *out = args->root == MPI_ROOT ? args->count : 0;
    }
    return 1;
}

int tutti_staging_open(struct tutti_staging *s, const struct tutti_reduction_args *args,
                       const struct tutti_reduction_there *there, int blocking)
{
    const int pair = blocking ? TUTTI_STAGE_PAIR : 0;
    MPI_Count in, out;
    int status;
    s->sendbuf = args->sendbuf;
    s->recvbuf = args->recvbuf;
    s->staged = 0;
    s->in.staged = s->out.staged = 0;
    if (likely(tutti_host_only()) || (there && tutti_reduction_on_host(there)) || !sizes_of(args, &in, &out))
        return TUTTI_OK;
    s->results = out;
    const void *sendbuf = args->sendbuf;
    int reduce = args->collective == TUTTI_COLLECTIVE_REDUCE, in_place = sendbuf == MPI_IN_PLACE;
    if (tutti_quirks.reduce_in_place_crashes && reduce && out > 0 && in_place && /* then there are two buffers */
        tutti_needs_staging(args->recvbuf, args->datatype)) {
        sendbuf = args->recvbuf;
        in_place = 0;
    }
    if (reduce && out == 0) { /* recvbuf may be anything */
        status = in_place ? TUTTI_OK : tutti_stage_open(&s->in, sendbuf, in, args->datatype, TUTTI_STAGE_IN);
    } else if (in_place || args->sendbuf == args->recvbuf) {
        int way = TUTTI_STAGE_IN | (out ? TUTTI_STAGE_OUT | pair : 0);
        status = tutti_stage_open(&s->out, args->recvbuf, in > out ? in : out, args->datatype, way);
        if (s->out.staged && !in_place)
            s->sendbuf = s->out.host;
    } else {
        status = tutti_stage_open(&s->out, args->recvbuf, out, args->datatype, TUTTI_STAGE_OUT | pair);
        if (status == TUTTI_OK && (status = tutti_stage_open(&s->in, sendbuf, in, args->datatype,
                                                             TUTTI_STAGE_IN | (s->out.staged ? pair : 0))) != TUTTI_OK)
            tutti_stage_close(&s->out);
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
        tutti_stage_shorten(&s->out, s->results);
        status = tutti_stage_out(&s->out, -1);
    }
    tutti_stage_close(&s->in);
    tutti_stage_close(&s->out);
    s->staged = 0;
    return status;
}

void tutti_staging_count(const struct tutti_staging *s, const char *name, const char *why)
{
    if (!s->in.staged && !s->out.staged) {
        tutti_count(name, TUTTI_OUTCOME_PASSED, why);
        return;
    }
    const int kernel =
        (s->in.staged && tutti_stage_by_kernel(&s->in)) || (s->out.staged && tutti_stage_by_kernel(&s->out));
    enum tutti_reason reason = tutti_reason_of(why);
    if (reason == TUTTI_REASON_HOST_MEMORY)
        reason = TUTTI_REASON_HOST_ONE;
    tutti_count_staged(name, reason, kernel ? "type packed by a kernel" : NULL,
                       tutti_stage_bytes(s->in.staged ? &s->in : &s->out));
}

/* Reports the failure, and raises it on the communicator of the call; returns the code. */
static int staging_failed(const struct tutti_reduction_args *args, int status)
{
    tutti_count(args->name, TUTTI_OUTCOME_FAILED, tutti_status_text(status));
    return tutti_stage_failed(args->name, args->comm, status);
}

static int reduction_staged(const struct tutti_reduction_args *args, const struct tutti_reduction_there *there,
                            const char *why)
{
    struct tutti_staging staging;
    int code, status = tutti_staging_open(&staging, args, there, 1);
    if (unlikely(status != TUTTI_OK))
        return staging_failed(args, status);
    tutti_staging_count(&staging, args->name, why);
    {
        TUTTI_INSIDE();
        code = tutti_reduction_real(args, staging.sendbuf, staging.recvbuf);
    }
    status = tutti_staging_close(&staging, code);
    return likely(status == TUTTI_OK) ? code : staging_failed(args, status);
}

/* ---- blocking calls ---- */

/* The peers have found that this rank's call does not match theirs, and have released it by making its call of the MPI
 * once. Reports this. */
static int report_mismatch(const struct tutti_reduction_args *args, struct tutti_team *team)
{
    const int status = tutti_team_take_report(team);
    tutti_error("%s on %s has no result: the others have found that the ranks' calls do not match", args->name,
                team->transport->label);
    tutti_count(args->name, TUTTI_OUTCOME_FAILED, tutti_status_text(status));
    return tutti_fail_comm(args->comm, tutti_error_code(status));
}

/* After the MPI's call, which has returned this code: reports a mismatch that peers have found. Returns the code for
 * the program. */
static inline int after_mpi(struct tutti_team *team, const char *name, MPI_Comm comm, int code)
{
    if (likely(!tutti_team_has_report(team)))
        return code;
    const struct tutti_reduction_args args = {.name = name, .comm = comm};
    return report_mismatch(&args, team);
}

static int run_on_team(const struct tutti_reduction_args *args, struct tutti_read *read)
{
    enum tutti_reduce_outcome taken;
    const char *why;
    tutti_inside++; /* errors are raised after the code below, since an error handler may leave the call by an exception
                     */
    int status = tutti_over_nodes_or_team(args->comm, read->team, &read->call, args->name, &taken, &why);
    tutti_inside--;
    tutti_read_end(read);
    if (unlikely(status != TUTTI_OK)) {
        tutti_count(args->name, TUTTI_OUTCOME_FAILED, tutti_status_text(status));
        return tutti_fail_comm(args->comm, tutti_error_code(status));
    }
    if (taken == TUTTI_REDUCE_DECLINED) {
        const int owed = tutti_coll_owed(read->team), code = reduction_staged(args, &read->there, why);
        if (unlikely(owed != TUTTI_OK) && code == MPI_SUCCESS)
            return tutti_fail_comm(args->comm, tutti_error_code(owed));
        return after_mpi(read->team, args->name, args->comm, code);
    }
    const uint64_t bytes = read->call.count * tutti_type_size(read->call.type);
    if (unlikely(why == TUTTI_REASON_TEXT(FIRST_CALLS)))
        tutti_count_staged(args->name, TUTTI_REASON_FIRST_CALLS, "in rank order", bytes);
    else
        tutti_count_made(args->name, why, bytes);
    return MPI_SUCCESS;
}

/* The first call of host memory on a communicator. This rank announces it and goes to the MPI while the ranks'
 * records are under way. Once the MPI has made the call, all ranks have sent their records, and the wait for them is
 * short. */
static int reduce_early(const struct tutti_reduction_args *args, struct tutti_read *read)
{
    struct tutti_comm *state = tutti_comm_find(args->comm);
    struct tutti_team *team = read->team;
    const struct tutti_call *call = &read->call;
    const uint64_t detail = tutti_detail(call->collective, call->root, call->counts, team->size);
    int code;
    tutti_comm_announce(state, team, call->collective, call->type, call->op, call->count, detail);
    tutti_read_end(read);
    tutti_count(args->name, TUTTI_OUTCOME_PASSED, "host memory");
    {
        TUTTI_INSIDE();
        code = tutti_reduction_real(args, args->sendbuf, args->recvbuf);
    }
    if (code == MPI_SUCCESS)
        tutti_comm_ready(state, 1);
    return state->team ? after_mpi(state->team, args->name, args->comm, code) : code;
}

/* The whole call, from reading to the error handler. Returns the code for the program. Calls that no team makes are
 * announced too. They are the same calls on all ranks, so a rank in such a call can see which ranks have arrived. */
static int reduce_blocking(const struct tutti_reduction_args *args)
{
    struct tutti_read read;
    TUTTI_FOUND_OF(args->sendbuf == MPI_IN_PLACE ? NULL : args->sendbuf, args->recvbuf);
    switch (read_call(args, &read, 0)) {
    case TUTTI_READ_STAGED:
        if (!read.team)
            tutti_mover_pass(TUTTI_COLLECTIVE_MEETING, 0, args->comm);
        return reduction_staged(args, NULL, read.why);
    case TUTTI_READ_FAILED:
        return tutti_fail_comm(args->comm, tutti_error_code(read.status));
    case TUTTI_READ_TEAM:
        return unlikely(read.early) ? reduce_early(args, &read) : run_on_team(args, &read);
    default:
        if (read.team && total_of(args, read.team->size) == 0)
            tutti_mover_pass(TUTTI_COLLECTIVE_MEETING, 0, args->comm);
        return tutti_reduction_real(args, args->sendbuf, args->recvbuf);
    }
}

/* ---- the path of host memory ---- */

/* Makes the call by the MPI, and reports a mismatch that peers have found; the program's errors are raised afterwards.
 */
#define BY_MPI(name, call)                                                                                             \
    (__extension__({                                                                                                   \
        int code_;                                                                                                     \
        {                                                                                                              \
            TUTTI_INSIDE();                                                                                            \
            code_ = call;                                                                                              \
        }                                                                                                              \
        after_mpi(team, name, comm, code_);                                                                            \
    }))
#define WIDTHS_OF "mpi/reduce/reduction.inc"
#include "mpi/real/widths.inc"
