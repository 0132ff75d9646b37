/* Blocking collectives whose buffers are one run of elements each: broadcast, allgather, all-to-all. Where they do not
 * go past the MPI each buffer is staged as a whole. */
#include "core/log.h"
#include "mpi/bounce/stage.h"
#include "mpi/move/mover.h"
#include "mpi/move/sides.h"
#include "mpi/real/errors.h"

static int failed(const struct tutti_collective_args *args, int status)
{
    tutti_error("%s: staging device memory failed: %s", args->name, tutti_status_text(status));
    return tutti_fail_comm(args->comm, tutti_error_code(status));
}

static int call_real(const struct tutti_collective_args *args)
{
    return tutti_collective_real(args, TUTTI_BLOCKING, tutti_handles.no_info, NULL);
}

/* Opens a stage of `count` elements, which the MPI is given in place of the half. A status. */
static int open_stage(struct tutti_stage *stage, struct tutti_half *half, MPI_Count count, int way)
{
    int status = tutti_stage_open(stage, half->buffer, count, half->type, way | TUTTI_STAGE_PACKED);
    half->buffer = stage->host;
    half->type = stage->given;
    return status;
}

/* After the real call, or where there was none (status): copies back what came. The stages are closed. */
static int end(const struct tutti_collective_args *args, enum tutti_reason reason, int code, int status,
               struct tutti_stage *in, struct tutti_stage *out)
{
    if (out->staged && status == TUTTI_OK && code == MPI_SUCCESS)
        status = tutti_stage_out(out, -1);
    if (status != TUTTI_OK)
        tutti_count(args->name, TUTTI_OUTCOME_FAILED, tutti_status_text(status));
    else if (in->staged || out->staged)
        tutti_count_staged(args->name, reason, tutti_stage_how(out->staged ? out : in),
                           tutti_stage_bytes(in) + tutti_stage_bytes(out));
    tutti_stage_close(in);
    tutti_stage_close(out);
    return status == TUTTI_OK ? code : failed(args, status);
}

static int bcast(const struct tutti_collective_args *args, enum tutti_reason reason)
{
    struct tutti_collective_args given = *args;
    struct tutti_role role;
    struct tutti_stage none = {0}, stage;
    int code = MPI_SUCCESS;
    if (args->root == MPI_PROC_NULL || !tutti_needs_staging(args->out.buffer, args->out.type)) /* beside another root */
        return call_real(args);
    tutti_role_of(&role, args->comm, args->root);
    int status = open_stage(&stage, &given.out, args->out.count, role.root == 1 ? TUTTI_STAGE_IN : TUTTI_STAGE_OUT);
    if (status == TUTTI_OK) {
        TUTTI_INSIDE();
        code = call_real(&given);
    }
    return end(args, reason, code, status, &none, &stage);
}

/* sends: blocks of sendcount elements that go out. */
static int exchange(const struct tutti_collective_args *args, enum tutti_reason reason, const struct tutti_role *role,
                    int sends)
{
    const int way = args->in.buffer == MPI_IN_PLACE ? TUTTI_STAGE_IN | TUTTI_STAGE_OUT : TUTTI_STAGE_OUT;
    struct tutti_collective_args given = *args;
    struct tutti_stage in, out = {0};
    int code = MPI_SUCCESS, status = open_stage(&in, &given.in, args->in.count * sends, TUTTI_STAGE_IN);
    if (status == TUTTI_OK)
        status = open_stage(&out, &given.out, args->out.count * role->peers, way);
    if (status == TUTTI_OK) {
        TUTTI_INSIDE();
        if (tutti_quirks.refuses_alias && in.staged && out.staged && args->in.buffer == args->out.buffer &&
            args->in.type == args->out.type)
            given.in.buffer = given.out.buffer; /* so that the MPI finds them equal, too */
        code = call_real(&given);
    }
    return end(args, reason, code, status, &in, &out);
}

int tutti_collective_whole(const struct tutti_collective_args *args)
{
    struct tutti_role role;
    int code;
    if (tutti_mover_run(args, &code))
        return code;
    const enum tutti_reason reason = tutti_why_take(TUTTI_REASON_OTHER);
    if (args->collective == TUTTI_COLLECTIVE_BCAST)
        return bcast(args, reason);
    if (!tutti_needs_staging(args->in.buffer, args->in.type) && !tutti_needs_staging(args->out.buffer, args->out.type))
        return call_real(args);
    tutti_role_of(&role, args->comm, 0);
    return exchange(args, reason, &role, args->collective == TUTTI_COLLECTIVE_ALLTOALL ? role.peers : 1);
}
