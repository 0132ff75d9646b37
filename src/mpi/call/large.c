/* Calls that the MPI lacks. A large-count form is made from the plain call, with counts narrowed (one that does not fit
 * becomes negative, which the MPI refuses as it refuses any). The stub hides the names of other calls (stub_names.c);
 * where it cannot, they fail through the error handler. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "mpi/call/calls.h"
#include "mpi/comm/neighbours.h"
#include "mpi/real/door.h"
#include "mpi/real/errors.h"
#include "mpi/request/counts.h"

struct narrow {
    int *list[TUTTI_COUNTS_LISTS];
    int lists;
    MPI_Request *request; /* of a call that reads its lists until it completes */
    int persistent;       /* and again at each start */
    MPI_Count *position;
    int small;
};

static int large_one(MPI_Count x)
{
    return x > INT_MAX || x < INT_MIN ? -1 : (int)x;
}

static int *list_of(struct narrow *narrow, const MPI_Count *large, int n)
{
    if (!large || n < 0)
        return NULL;
    int *list = malloc(((size_t)n + 1) * sizeof *list);
    for (int i = 0; list && i < n; i++)
        list[i] = large_one(large[i]);
    if (list)
        narrow->list[narrow->lists++] = list;
    return list;
}

static int *of_ranks(struct narrow *narrow, MPI_Comm comm, const void *large, int own)
{
    int inter = 0, n = 0;
    if (!large || tutti_next.MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS)
        return NULL;
    if (inter && !own)
        tutti_next.MPI_Comm_remote_size(comm, &n);
    else
        tutti_next.MPI_Comm_size(comm, &n);
    return list_of(narrow, large, n);
}

static int *of_neighbours(struct narrow *narrow, MPI_Comm comm, const void *large, int out)
{
    struct tutti_neighbours all;
    if (!large)
        return NULL;
    const int status = tutti_neighbours_open(&all, comm);
    int *list = status == TUTTI_OK ? list_of(narrow, large, out ? all.outs : all.ins) : NULL;
    tutti_neighbours_close(&all);
    return list;
}

static int *position_of(struct narrow *narrow, MPI_Count *position)
{
    if (!position)
        return NULL;
    narrow->position = position;
    narrow->small = large_one(*position);
    return &narrow->small;
}

static int large_end(struct narrow *narrow, int code)
{
    if (narrow->position && code == MPI_SUCCESS)
        *narrow->position = narrow->small;
    if (narrow->request && code == MPI_SUCCESS && narrow->lists)
        return tutti_counts_put(*narrow->request, narrow->list, narrow->lists, narrow->persistent);
    for (int i = 0; i < narrow->lists; i++)
        free(narrow->list[i]);
    return code;
}

static int is_init(const char *call)
{
    const size_t length = strlen(call);
    return length > 5 && strcmp(call + length - 5, "_init") == 0;
}

static int is_supplied(const char *call)
{
    static const char *const supplied[] = {
#define TUTTI_SUPPLIED(name, off) #name, #name "_c",
#include "mpi/real/supplied.def"
    };
    for (size_t i = 0; i < sizeof supplied / sizeof supplied[0]; i++) {
        if (strcmp(supplied[i], call) == 0)
            return 1;
    }
    return 0;
}

int tutti_lacking(const char *call)
{
    tutti_error("%s was called, but the MPI that is loaded has no such call%s", call,
                !tutti_door.on && is_supplied(call)
                    ? ", and Tutti, which supplies it, is off (TUTTI_DEVICE=none, or ranks without Tutti)"
                    : "");
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

#define ON_COMM(comm) tutti_fail_comm(comm, code)
#define ON_WIN(win)   tutti_fail_win(win, code)
#define ON_FILE(file) tutti_fail_file(file, code)
#define ON_SELF       tutti_fail_self(code)
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments)                                          \
    static int lacking_##name parameters                                                                               \
    {                                                                                                                  \
        int code = tutti_lacking(#name);                                                                               \
        return errors;                                                                                                 \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "mpi/real/calls.inc"
#pragma GCC diagnostic pop

#define TUTTI_CALLS_MARKED
#define N(x)        large_one(x)
#define LIST(x)     of_ranks(&narrow, comm, x, 0)
#define LIST_OWN(x) of_ranks(&narrow, comm, x, 1)
#define LIST_IN(x)  of_neighbours(&narrow, comm, x, 0)
#define LIST_OUT(x) of_neighbours(&narrow, comm, x, 1)
#define POSITION(x) position_of(&narrow, x)
#define PLACE(x)    (MPI_Aint *)x
#define REQUEST(x)  (narrow.request = x)
#define TUTTI_EACH_LARGE(kind, waits, name, errors, buffers, parameters, arguments)                                    \
    static int large_##name parameters                                                                                 \
    {                                                                                                                  \
        struct narrow narrow = {.persistent = is_init(#name)};                                                         \
        int code = tutti_next.name arguments;                                                                          \
        return large_end(&narrow, code);                                                                               \
    }
#include "mpi/real/calls.inc"

void tutti_calls_complete(void)
{
#define TUTTI_EACH_LARGE(kind, waits, name, errors, buffers, parameters, arguments)                                    \
    if (!tutti_next.name##_c && tutti_next.name)                                                                       \
        tutti_next.name##_c = large_##name;
#include "mpi/real/calls.inc"
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments)                                          \
    if (!tutti_next.name)                                                                                              \
        tutti_next.name = lacking_##name;
#include "mpi/real/calls.inc"
}
