/* Staged buffers of operations that have not completed. */
#include <stdlib.h>

#include "core/counters.h"
#include "mpi/real/errors.h"
#include "mpi/request/request.h"
#include "mpi/rma/windows.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what windows and requests share */

struct tutti_unfinished *tutti_unfinished_new(const char *call, int target)
{
    struct tutti_unfinished *op = calloc(1, sizeof *op);
    if (op)
        *op = (struct tutti_unfinished){.call = call, .target = target, .users = 1};
    return op;
}

void tutti_unfinished_keep(struct tutti_window *window, struct tutti_unfinished *op)
{
    pthread_mutex_lock(&lock);
    op->next = NULL;
    *window->last = op;
    window->last = &op->next;
    pthread_mutex_unlock(&lock);
}

void tutti_unfinished_drop(struct tutti_unfinished *op)
{
    pthread_mutex_lock(&lock);
    const int used = --op->users;
    pthread_mutex_unlock(&lock);
    if (used)
        return;
    for (int i = 0; i < TUTTI_RMA_BUFFERS; i++)
        tutti_stage_close(&op->stage[i]);
    free(op);
}

/* Copies the received data to the program's memory, once. */
static int unfinished_deliver(struct tutti_unfinished *op, MPI_Win win)
{
    int status = TUTTI_OK;
    pthread_mutex_lock(&lock);
    if (!op->delivered) {
        for (int i = 0; i < TUTTI_RMA_BUFFERS && status == TUTTI_OK; i++)
            status = tutti_stage_out(&op->stage[i], -1);
        op->delivered = 1;
    }
    pthread_mutex_unlock(&lock);
    if (status == TUTTI_OK)
        return MPI_SUCCESS;
    tutti_stage_report(op->call, status);
    return tutti_fail_win(win, tutti_error_code(status));
}

int tutti_unfinished_complete(struct tutti_window *window, int target)
{
    struct tutti_unfinished *done = NULL, **end = &done;
    int code = MPI_SUCCESS;
    pthread_mutex_lock(&lock);
    struct tutti_unfinished **at = &window->first;
    while (*at) {
        struct tutti_unfinished *op = *at;
        if (target != TUTTI_RMA_ALL && op->target != target) {
            at = &op->next;
            continue;
        }
        *at = op->next;
        *end = op;
        end = &op->next;
    }
    *end = NULL;
    window->last = at;
    pthread_mutex_unlock(&lock);
    while (done) {
        struct tutti_unfinished *op = done;
        done = op->next;
        const int one = unfinished_deliver(op, window->handle);
        code = code == MPI_SUCCESS ? one : code;
        tutti_unfinished_drop(op);
    }
    return code;
}

int tutti_unfinished_any(struct tutti_window *window)
{
    return __atomic_load_n(&window->first, __ATOMIC_RELAXED) != NULL;
}

int tutti_unfinished_arrives(const struct tutti_window *window, int target)
{
    int arrives = 0;
    if (!tutti_quirks.flush_local_is_early)
        return 0;
    pthread_mutex_lock(&lock);
    for (const struct tutti_unfinished *op = window->first; op && !arrives; op = op->next)
        arrives = (target == TUTTI_RMA_ALL || op->target == target) && op->stage[TUTTI_RMA_RESULT].staged;
    pthread_mutex_unlock(&lock);
    return arrives;
}

/* ---- requests ---- */

struct rma {
    struct tutti_unfinished *op;
    MPI_Win win;
};

static struct rma *rma_of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct rma, entry);
}

static int rma_deliver(struct tutti_request *entry, MPI_Status *status)
{
    (void)status;
    return unfinished_deliver(rma_of(entry)->op, rma_of(entry)->win);
}

static void rma_close(struct tutti_request *entry)
{
    tutti_unfinished_drop(rma_of(entry)->op);
}

static const struct tutti_request_kind kind = {
    .name = "staged one-sided operation", .deliver = rma_deliver, .close = rma_close};

struct tutti_request *tutti_unfinished_request(struct tutti_unfinished *op, MPI_Win win)
{
    struct tutti_request *entry = tutti_request_new(&kind, tutti_handles.no_request, tutti_handles.self);
    if (!entry)
        return NULL;
    *rma_of(entry) = (struct rma){.op = op, .win = win};
    pthread_mutex_lock(&lock);
    op->users++;
    pthread_mutex_unlock(&lock);
    return entry;
}
