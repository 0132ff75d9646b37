/* Receiving from other nodes: receives whose RTS has come, and what the protocol makes of them. */
#include <pthread.h>

#include "core/log.h"
#include "mpi/message/far.h"
#include "mpi/message/rndv_recv.h"
#include "mpi/real/errors.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the receives' `far` */

static void say_lost(const struct tutti_recv_request *recv, int status)
{
    const struct tutti_pipelined_rts *rts = &recv->far_rts;
    tutti_error("a message of %llu bytes from rank %d, on another node, is not taken: %s",
                (unsigned long long)rts->bytes, rts->rank,
                status == TUTTI_ERR_MEMORY     ? "out of memory"
                : status == TUTTI_ERR_MISMATCH ? "its RTS is old, or a duplicate"
                                               : "its RTS is not one of Tutti's");
}

void tutti_far_begin(struct tutti_recv_request *recv)
{
    const struct tutti_elements elements = {
        .plan = recv->plan, .count = recv->count, .buffer = recv->buffer, .whole = recv->whole};
    struct tutti_incoming *in = NULL;
    int status = tutti_pipelined_accept(tutti_far, &recv->far_rts, &elements, recv->capacity, &in);
    pthread_mutex_lock(&lock);
    const int first = recv->state == TUTTI_RECV_FAR && !recv->far; /* a call that looks on may come at the same time */
    if (first && status == TUTTI_OK)
        status = tutti_incoming_start(in);
    const int begun = first && status == TUTTI_OK;
    if (begun) {
        recv->far = in;
    } else if (first) {
        recv->state = TUTTI_RECV_FAILED;
        recv->code = tutti_error_code(status);
    }
    pthread_mutex_unlock(&lock);
    if (!begun)
        tutti_incoming_free(in);
    if (first && !begun)
        say_lost(recv, status);
}

static void end(struct tutti_recv_request *recv, struct tutti_stage *stage)
{
    struct tutti_incoming *in = recv->far;
    int status = tutti_incoming_status(in);
    if (status == TUTTI_OK && tutti_incoming_packed(in))
        status = tutti_recv_unpack(recv, stage, tutti_incoming_packed(in));
    pthread_mutex_lock(&lock);
    recv->state = status == TUTTI_OK && !tutti_incoming_truncated(in) ? TUTTI_RECV_FETCHED : TUTTI_RECV_FAILED;
    recv->code = status != TUTTI_OK ? tutti_error_code(status) : MPI_ERR_TRUNCATE;
    recv->far = NULL;
    pthread_mutex_unlock(&lock);
    tutti_incoming_free(in);
}

struct fetched {
    struct tutti_recv_request *const *recvs;
    struct tutti_stage *const *stages;
    int n;
};

/* Ends those that have come. 1: all have. */
static int fetched(void *with)
{
    const struct fetched *f = with;
    int left = 0;
    for (int i = 0; i < f->n; i++) {
        if (f->recvs[i]->state != TUTTI_RECV_FAR)
            continue;
        if (tutti_incoming_done(f->recvs[i]->far))
            end(f->recvs[i], f->stages[i]);
        else
            left++;
    }
    return left == 0;
}

void tutti_far_fetch(struct tutti_recv_request *const recvs[], struct tutti_stage *const stages[], int n, int wait)
{
    struct fetched f = {recvs, stages, n};
    int left = 0;
    for (int i = 0; i < n; i++) {
        if (recvs[i]->state == TUTTI_RECV_FAR && !recvs[i]->far)
            tutti_far_begin(recvs[i]);
        left += recvs[i]->state == TUTTI_RECV_FAR;
    }
    if (left > 0 && wait) {
        tutti_progress_wait(&(const struct tutti_wait){
            .done = fetched, .with = &f, .what = "for the rest of a message from another node"});
    } else if (left > 0) {
        tutti_progress_poll();
        fetched(&f);
    }
}
