/* Operations of programs of the model, and their requests. */
#include "model_own.h"

void model_run_operate(struct model_run *run, const struct model *m, int i)
{
    const struct model_op *op = &m->op[i];
    const struct model_window *what = &m->window[op->window];
    const struct run_window *window = &run->window[op->window];
    const int nowhere = op->target == MODEL_NONE, dynamic = what->flavour == MODEL_DYNAMIC,
              target = nowhere ? MPI_PROC_NULL : win_rank(m, what, op->target);
    const MPI_Aint disp =
        nowhere ? 0
                : (dynamic ? window->address[op->target][op->region] : 0) + (MPI_Aint)op->at / what->unit[op->target];
    const MPI_Datatype basic = model_mpi_element(op->element);
    const MPI_Op with = model_mpi_operator(op->op);
    char *at[MODEL_BUFFERS] = {NULL};
    int count[MODEL_BUFFERS] = {0};
    MPI_Datatype *type = run->type[i];
    for (int b = 0; b <= MODEL_BUFFERS; b++)
        type[b] = b == MODEL_BUFFERS   ? model_layout_type(&op->to)
                  : op->buffer[b].used ? model_layout_type(&op->buffer[b].layout)
                                       : basic;
    for (int b = 0; b < MODEL_BUFFERS; b++) {
        at[b] = op->buffer[b].used ? run->arena[op->buffer[b].kind].base + op->buffer[b].at : NULL;
        count[b] = op->buffer[b].used ? op->buffer[b].layout.count : 0;
    }
    MPI_Request *request = &run->request[i];
    *request = MPI_REQUEST_NULL;
#define FROM   at[MODEL_ORIGIN], count[MODEL_ORIGIN], type[MODEL_ORIGIN]
#define RESULT at[MODEL_RESULT], count[MODEL_RESULT], type[MODEL_RESULT]
#define TARGET target, disp, op->to.count, type[MODEL_BUFFERS]
    switch (op->call) {
    case MODEL_Put:
        DO(MPI_Put(FROM, TARGET, window->win));
        break;
    case MODEL_Get:
        DO(MPI_Get(RESULT, TARGET, window->win));
        break;
    case MODEL_Accumulate:
        DO(MPI_Accumulate(FROM, TARGET, with, window->win));
        break;
    case MODEL_Get_accumulate:
        DO(MPI_Get_accumulate(FROM, RESULT, TARGET, with, window->win));
        break;
    case MODEL_Fetch_and_op:
        DO(MPI_Fetch_and_op(at[MODEL_ORIGIN], at[MODEL_RESULT], basic, target, disp, with, window->win));
        break;
    case MODEL_Compare_and_swap:
        DO(MPI_Compare_and_swap(at[MODEL_ORIGIN], at[MODEL_COMPARE], at[MODEL_RESULT], basic, target, disp,
                                window->win));
        break;
    case MODEL_Rput:
        DO(MPI_Rput(FROM, TARGET, window->win, request));
        break;
    case MODEL_Rget:
        DO(MPI_Rget(RESULT, TARGET, window->win, request));
        break;
    case MODEL_Raccumulate:
        DO(MPI_Raccumulate(FROM, TARGET, with, window->win, request));
        break;
    default:
        DO(MPI_Rget_accumulate(FROM, RESULT, TARGET, with, window->win, request));
    }
    if (m->number % 2) { /* types may be freed while the operation is under way */
        for (int b = 0; b <= MODEL_BUFFERS; b++) {
            if (b == MODEL_BUFFERS || op->buffer[b].used)
                model_layout_free(b == MODEL_BUFFERS ? &op->to : &op->buffer[b].layout, &type[b]);
            type[b] = MPI_DATATYPE_NULL;
        }
    }
}

void model_run_requests(struct model_run *run, const struct model *m, const int *list, int n, int how)
{
    MPI_Request requests[MODEL_OPS];
    MPI_Status statuses[MODEL_OPS];
    int done = 0, left = n, index;
    for (int i = 0; i < n; i++)
        requests[i] = run->request[list[i]];
    if (how == 0)
        DO(MPI_Waitall(n, requests, statuses));
    for (int i = 0; i < n && how == 1; i++)
        DO(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    while (how == 2 && left-- > 0)
        DO(MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE));
    for (int i = 0; i < n && how == 3; i++) {
        for (done = 0; !done && run->failures == 0;)
            DO(MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE));
    }
}
