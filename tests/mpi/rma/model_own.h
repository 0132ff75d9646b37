/* What the parts of the model's runner share. */
#ifndef TUTTI_TESTS_RMA_MODEL_OWN_H
#define TUTTI_TESTS_RMA_MODEL_OWN_H

#include "model.h"

struct run_window {
    MPI_Win win;
    MPI_Comm comm;
    struct every_buffer memory[MODEL_REGIONS]; /* of windows whose memory is the program's */
    char *base[MODEL_REGIONS];
    MPI_Aint address[MODEL_RANKS][MODEL_REGIONS]; /* of dynamic windows */
};

struct model_run {
    struct every_buffer arena[EVERY_KINDS];
    char *copy; /* of host memory, for an arena or a region */
    size_t room;
    int size, failures;
    struct run_window window[MODEL_WINDOWS];
    MPI_Request request[MODEL_OPS];
    MPI_Datatype type[MODEL_OPS][MODEL_BUFFERS + 1];
    const struct model_action *at;
};

#define DO(call)                                                                                                       \
    do {                                                                                                               \
        const int code_ = (call);                                                                                      \
        if (!CHECK(code_ == MPI_SUCCESS, "program %llu step %d: %s: error class %d", (unsigned long long)m->number,    \
                   m->step, #call, kit_class(code_)))                                                                  \
            run->failures++;                                                                                           \
    } while (0)

static inline int win_rank(const struct model *m, const struct model_window *window, int world)
{
    return window->reversed ? m->ranks - 1 - world : world;
}

/* ---- model_operate.c ---- */

void model_run_operate(struct model_run *run, const struct model *m, int i);
/* Completes the requests of n operations, in one of four ways. */
void model_run_requests(struct model_run *run, const struct model *m, const int *list, int n, int how);

#endif
