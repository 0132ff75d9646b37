/* A rank on another node is killed: nodes.c. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kit.h"
#include "nodes.h"

int nodes_call_init(const char *name, const void *in, void *out, int count, MPI_Comm comm, MPI_Request *request)
{
    int (*init)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request *);
    *(void **)(void *)&init = dlsym(RTLD_DEFAULT, name);
    const int error = init ? init(in, out, count, MPI_INT64_T, MPI_SUM, comm, MPI_INFO_NULL, request) : MPI_ERR_OTHER;
    return error == MPI_SUCCESS ? MPI_Start(request) : error;
}

enum { OPEN_AT_DEATH = 3 };

/* *started: of the persistent form. */
static int one_of(long form, const void *from, char *to, int count, MPI_Request *started)
{
    MPI_Request open[OPEN_AT_DEATH] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int error, ended = MPI_SUCCESS;
    switch (form % 6) {
    case 0:
        return MPI_Allreduce(from, to, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    case 1:
        error = MPI_Iallreduce(from, to, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &open[0]);
        break;
    case 2:
        return MPI_Reduce_scatter_block(from, to, count / kit_size, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    case 3:
        error = MPI_Ireduce(from, to, count, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD, &open[0]);
        break;
    case 4:
        error = *started == MPI_REQUEST_NULL
                    ? nodes_call_init("MPI_Allreduce_init", from, to, count, MPI_COMM_WORLD, started)
                    : MPI_Start(started);
        return error != MPI_SUCCESS ? error : MPI_Wait(started, MPI_STATUS_IGNORE);
    default:
        error = MPI_SUCCESS;
        for (int i = 0; i < OPEN_AT_DEATH && error == MPI_SUCCESS; i++)
            error = MPI_Iallreduce(from, to + (size_t)i * (size_t)count * 8, count, MPI_INT64_T, MPI_SUM,
                                   MPI_COMM_WORLD, &open[i]);
    }
    for (int i = 0; i < OPEN_AT_DEATH && error == MPI_SUCCESS; i++) {
        error = MPI_Wait(&open[i], MPI_STATUS_IGNORE);
        ended = ended != MPI_SUCCESS ? ended : error;
    }
    return error != MPI_SUCCESS ? error : ended;
}

void nodes_death(long call)
{
    enum { COUNT = 1000, AFTER = 300 };
    struct kit_buffer in, out;
    MPI_Request started = MPI_REQUEST_NULL;
    int error = MPI_SUCCESS;
    kit_open(&in, KIT_DEVICE, COUNT * 8);
    kit_open(&out, KIT_DEVICE, COUNT * 8 * OPEN_AT_DEATH);
    const void *const from = kit_put(&in, 0, NULL, COUNT * 8);
    void *const to = kit_put(&out, 0, NULL, COUNT * 8 * OPEN_AT_DEATH);
    for (long i = 0; i < call + AFTER && error == MPI_SUCCESS; i++) {
        if (i == call + 1 && kit_rank == kit_size - 2) { /* not before the ranks have met */
            fprintf(stderr, "killed at %ld\n", i);
            raise(SIGKILL);
        }
        error = one_of(call, from, to, COUNT, &started);
    }
    fprintf(stderr, error != MPI_SUCCESS ? "survivor %d told\n" : "survivor %d goes on as if all were there\n",
            kit_rank);
    _exit(error == MPI_SUCCESS);
}
