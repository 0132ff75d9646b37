/* The collectives with neighbours behind one function, so that a test can go through all of them in all forms. */
#ifndef TUTTI_TESTS_NEIGHBOURS_H
#define TUTTI_TESTS_NEIGHBOURS_H

#include <mpi.h>

#include "persistent.h"

enum neighbours_call { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, CALLS };
static const char *const neighbours_names[CALLS] = {"allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"};
enum neighbours_form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
static const char *const neighbours_forms[FORMS] = {"blocking", "nonblocking", "persistent"};

enum { NEIGHBOURS_MOST = 12 };

/* Blocks of `count` elements, `gap` elements apart in the calls with displacements; an element is of `step` integers.
 * The calls with one count and type for all blocks sent take sent_count and sent_type. */
struct neighbours_blocks {
    int count, gap, step;
    MPI_Datatype type;
    int sent_count;
    MPI_Datatype sent_type;
};

/* Makes the call and completes it, a persistent one twice. Returns its code. */
static inline int neighbours_run(enum neighbours_call call, enum neighbours_form form, MPI_Comm comm,
                                 const struct neighbours_blocks *b, const void *send, void *receive)
{
    int counts[NEIGHBOURS_MOST], displs[NEIGHBOURS_MOST], code = MPI_ERR_OTHER;
    MPI_Aint places[NEIGHBOURS_MOST];
    MPI_Datatype types[NEIGHBOURS_MOST];
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < NEIGHBOURS_MOST; i++) {
        counts[i] = b->count;
        displs[i] = i * (b->count + b->gap);
        places[i] = (MPI_Aint)displs[i] * b->step * (MPI_Aint)sizeof(int);
        types[i] = b->type;
    }
#define EVEN             send, b->sent_count, b->sent_type, receive, b->count, b->type, comm
#define V                send, b->sent_count, b->sent_type, receive, counts, displs, b->type, comm
#define VV               send, counts, displs, b->type, receive, counts, displs, b->type, comm
#define WW               send, counts, places, types, receive, counts, places, types, comm
#define START(name, ...) MPI_Neighbor_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request)
#define CALL(name, ...)                                                                                                \
    code = form == BLOCKING      ? MPI_Neighbor_##name(__VA_ARGS__)                                                    \
           : form == NONBLOCKING ? MPI_Ineighbor_##name(__VA_ARGS__, &request)                                         \
                                 : START(name, __VA_ARGS__);                                                           \
    break
    switch (call) {
    case ALLGATHER:
        CALL(allgather, EVEN);
    case ALLGATHERV:
        CALL(allgatherv, V);
    case ALLTOALL:
        CALL(alltoall, EVEN);
    case ALLTOALLV:
        CALL(alltoallv, VV);
    default:
        CALL(alltoallw, WW);
    }
#undef EVEN
#undef V
#undef VV
#undef WW
#undef START
#undef CALL
    for (int round = 0; form == PERSISTENT && code == MPI_SUCCESS && round < 2; round++) {
        code = MPI_Start(&request);
        if (code == MPI_SUCCESS)
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (form == PERSISTENT && request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    return form == NONBLOCKING && code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

#endif
