/* The operations on windows, made from the rows of kind RMA of calls.def. The column of buffers names the form;
 * parameters have the standard's names. */
#include "mpi/real/errors.h"
#include "mpi/rma/rma.h"

#define ON_WIN(win) tutti_fail_win(win, rma.code)

#define READ(count)    (op == tutti_handles.op_reads ? 0 : (MPI_Count)(count))
#define IS(which, ...) .buffer[TUTTI_RMA_##which] = {__VA_ARGS__}
#define BY_ORIGIN(n)   IS(ORIGIN, origin_addr, n, origin_datatype)
#define BY_RESULT      IS(RESULT, result_addr, result_count, result_datatype)

/* Host memory in the place of the program's. */
#define STAGE(which)    rma.staged->stage[TUTTI_RMA_##which]
#define HOST(which, at) at##_addr = STAGE(which).host
#define TYPED(which, at)                                                                                               \
    at##_addr = STAGE(which).host;                                                                                     \
    at##_datatype = STAGE(which).given

/* What an operation of each form is, and what takes the place of its buffers. */
#define TO_TARGET         .to = {target_count, target_datatype}
#define TO_ONE            .typed = 1, .to = {1, datatype}
#define IS_PUT            TO_TARGET, BY_ORIGIN(origin_count)
#define IS_GET            TO_TARGET, IS(RESULT, origin_addr, origin_count, origin_datatype)
#define IS_ACCUMULATE     .typed = 1, .op = op, TO_TARGET, BY_ORIGIN(READ(origin_count))
#define IS_GET_ACCUMULATE .typed = 1, .op = op, TO_TARGET, BY_ORIGIN(READ(origin_count)), BY_RESULT
#define IS_FETCH_AND_OP                                                                                                \
    TO_ONE, .op = op, IS(ORIGIN, origin_addr, READ(1), datatype), IS(RESULT, result_addr, 1, datatype)
#define IS_COMPARE_AND_SWAP                                                                                            \
    TO_ONE, IS(ORIGIN, origin_addr, 1, datatype), IS(COMPARE, compare_addr, 1, datatype),                              \
        IS(RESULT, result_addr, 1, datatype)
#define HOST_PUT        TYPED(ORIGIN, origin)
#define HOST_GET        TYPED(RESULT, origin)
#define HOST_ACCUMULATE HOST(ORIGIN, origin)
#define HOST_GET_ACCUMULATE                                                                                            \
    HOST(ORIGIN, origin);                                                                                              \
    HOST(RESULT, result)
#define HOST_FETCH_AND_OP HOST_GET_ACCUMULATE
#define HOST_COMPARE_AND_SWAP                                                                                          \
    HOST_GET_ACCUMULATE;                                                                                               \
    HOST(COMPARE, compare)

#define RMA_CALL(form, with_request, name, errors, parameters, arguments)                                              \
    int tutti_door_##name parameters                                                                                   \
    {                                                                                                                  \
        if (tutti_rma_idle())                                                                                          \
            return tutti_next.name arguments;                                                                          \
        struct tutti_rma rma = {.call = #name,                                                                         \
                                .kind = TUTTI_RMA_##form,                                                              \
                                .win = win,                                                                            \
                                .target = target_rank,                                                                 \
                                .disp = target_disp,                                                                   \
                                IS_##form};                                                                            \
        switch (tutti_rma_open(&rma, with_request)) {                                                                  \
        case TUTTI_RMA_PASS:                                                                                           \
            target_disp = rma.disp;                                                                                    \
            return tutti_next.name arguments;                                                                          \
        case TUTTI_RMA_DONE:                                                                                           \
            return rma.code;                                                                                           \
        case TUTTI_RMA_FAILED:                                                                                         \
            return errors;                                                                                             \
        case TUTTI_RMA_STAGED:                                                                                         \
            break;                                                                                                     \
        }                                                                                                              \
        target_disp = rma.disp;                                                                                        \
        HOST_##form;                                                                                                   \
        return tutti_rma_close(&rma, tutti_next.name arguments, with_request);                                         \
    }
#define NO_REQUEST                 ((MPI_Request *)NULL)
#define FORM_PUT(...)              RMA_CALL(PUT, NO_REQUEST, __VA_ARGS__)
#define FORM_GET(...)              RMA_CALL(GET, NO_REQUEST, __VA_ARGS__)
#define FORM_ACCUMULATE(...)       RMA_CALL(ACCUMULATE, NO_REQUEST, __VA_ARGS__)
#define FORM_GET_ACCUMULATE(...)   RMA_CALL(GET_ACCUMULATE, NO_REQUEST, __VA_ARGS__)
#define FORM_FETCH_AND_OP(...)     RMA_CALL(FETCH_AND_OP, NO_REQUEST, __VA_ARGS__)
#define FORM_COMPARE_AND_SWAP(...) RMA_CALL(COMPARE_AND_SWAP, NO_REQUEST, __VA_ARGS__)
#define FORM_RPUT(...)             RMA_CALL(PUT, request, __VA_ARGS__)
#define FORM_RGET(...)             RMA_CALL(GET, request, __VA_ARGS__)
#define FORM_RACCUMULATE(...)      RMA_CALL(ACCUMULATE, request, __VA_ARGS__)
#define FORM_RGET_ACCUMULATE(...)  RMA_CALL(GET_ACCUMULATE, request, __VA_ARGS__)

#define GENERATE_SEE(name, errors, buffers, parameters, arguments)
#define GENERATE_TAKE(name, errors, buffers, parameters, arguments)
#define GENERATE_IO(name, errors, buffers, parameters, arguments)
#define GENERATE_MEET(name, errors, buffers, parameters, arguments)
#define GENERATE_PASS(name, errors, buffers, parameters, arguments)
#define GENERATE_RMA(name, errors, buffers, parameters, arguments) FORM_##buffers(name, errors, parameters, arguments)
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments)                                          \
    GENERATE_##kind(name, errors, buffers, parameters, arguments)
#include "mpi/real/calls.inc"
