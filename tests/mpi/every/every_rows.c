/* The rows of calls.def as functions over arguments by name, found by dlsym: an MPI may lack some. */
#include <ctype.h>
#include <dlfcn.h>
#include <string.h>

#include "every.h"

/* Parameters as variables; those of rows that are not drawn are zero. */
#define LOCALS                                                                                                         \
    void *buf = (void *)(uintptr_t)args->buf, *sendbuf = (void *)(uintptr_t)args->sendbuf, *recvbuf = args->recvbuf,   \
         *origin_addr = (void *)(uintptr_t)args->origin_addr, *compare_addr = (void *)(uintptr_t)args->compare_addr,   \
         *result_addr = args->result_addr, *inbuf = (void *)(uintptr_t)args->inbuf, *outbuf = args->outbuf,            \
         *inoutbuf = args->inoutbuf, *buffer = NULL, *buffer_addr = NULL, *base = NULL;                                \
    MPI_Count count = args->count, sendcount = args->sendcount, recvcount = args->recvcount,                           \
              origin_count = args->origin_count, target_count = args->target_count, result_count = args->result_count, \
              incount = args->incount, outcount = args->outcount, insize = args->insize, outsize = args->outsize,      \
              size = 0, partitions = 0;                                                                                \
    MPI_Datatype datatype = args->datatype, sendtype = args->sendtype, recvtype = args->recvtype,                      \
                 origin_datatype = args->origin_datatype, target_datatype = args->target_datatype,                     \
                 result_datatype = args->result_datatype, *sendtypes = args->sendtypes, *recvtypes = args->recvtypes;  \
    struct every_list *sendcounts_list = &args->sendcounts, *sdispls_list = &args->sdispls,                            \
                      *recvcounts_list = &args->recvcounts, *rdispls_list = &args->rdispls;                            \
    MPI_Aint *sdispls = (MPI_Aint *)sdispls_list->wide, *rdispls = (MPI_Aint *)rdispls_list->wide;                     \
    int root = args->root, dest = args->dest, source = args->source, tag = args->tag, sendtag = args->sendtag,         \
        recvtag = args->recvtag, target_rank = args->target_rank;                                                      \
    MPI_Aint target_disp = args->target_disp;                                                                          \
    MPI_Offset offset = args->offset;                                                                                  \
    intptr_t position = (intptr_t)&args->position;                                                                     \
    const char *datarep = "external32";                                                                                \
    MPI_Op op = args->op;                                                                                              \
    MPI_Comm comm = args->comm;                                                                                        \
    MPI_Win win = args->win;                                                                                           \
    MPI_File fh = args->fh;                                                                                            \
    MPI_Session session = (MPI_Session)0;                                                                              \
    MPI_Info info = MPI_INFO_NULL;                                                                                     \
    MPI_Message *message = &args->message;                                                                             \
    MPI_Request *request = &args->request;                                                                             \
    MPI_Status *status = &args->status;

#define TUTTI_CALLS_MARKED
#define N(x)        (COUNT) x
#define LIST(x)     (sizeof(COUNT) == sizeof(int) ? (void *)x##_list->narrow : (void *)x##_list->wide)
#define LIST_OWN(x) LIST(x)
#define LIST_IN(x)  LIST(x)
#define LIST_OUT(x) LIST(x)
#define POSITION(x) (COUNT *)(intptr_t)x
#define PLACE(x)    (AINT *)(intptr_t)x
#define REQUEST(x)  x

#define RUN(name, parameters, arguments)                                                                               \
    static int run_##name(struct every_args *args, int ask)                                                            \
    {                                                                                                                  \
        static int(*call) parameters;                                                                                  \
        if (!call)                                                                                                     \
            *(void **)(void *)&call = dlsym(RTLD_DEFAULT, #name);                                                      \
        if (ask)                                                                                                       \
            return call != NULL;                                                                                       \
        LOCALS                                                                                                         \
        return call arguments;                                                                                         \
    }
#define RUN_SEE(name, parameters, arguments)
#define RUN_MEET(name, parameters, arguments)
#define RUN_PASS(name, parameters, arguments)
#define RUN_TAKE(name, parameters, arguments)   RUN(name, parameters, arguments)
#define RUN_IO(name, parameters, arguments)     RUN(name, parameters, arguments)
#define RUN_RMA(name, parameters, arguments)    RUN(name, parameters, arguments)
#define RUN_REFUSE(name, parameters, arguments) RUN(name, parameters, arguments)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-variable"
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments) RUN_##kind(name, parameters, arguments)
#include "mpi/real/calls.inc"
#pragma GCC diagnostic pop

#define OF_SEE(name)    NULL
#define OF_MEET(name)   NULL
#define OF_PASS(name)   NULL
#define OF_TAKE(name)   run_##name
#define OF_IO(name)     run_##name
#define OF_RMA(name)    run_##name
#define OF_REFUSE(name) run_##name
#define TEXT(...)       TEXT_(__VA_ARGS__)
#define TEXT_(...)      #__VA_ARGS__
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments)                                          \
    {#name, #kind, #buffers, TEXT(parameters), OF_##kind(name)},
const struct every_row every_rows[] = {
#include "mpi/real/calls.inc"
};
const int every_row_count = sizeof every_rows / sizeof every_rows[0];

int every_has(const struct every_row *row, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = row->parameters; (at = strstr(at, name)) != NULL; at += length) {
        const char before = at[-1], after = at[length];
        if (!isalnum((unsigned char)before) && before != '_' && !isalnum((unsigned char)after) && after != '_')
            return 1;
    }
    return 0;
}

int every_named(const struct every_row *row, const char *word)
{
    return strstr(row->name, word) != NULL;
}

const struct every_row *every_find(const char *name)
{
    for (int i = 0; i < every_row_count; i++) {
        if (strcmp(every_rows[i].name, name) == 0)
            return &every_rows[i];
    }
    return NULL;
}
