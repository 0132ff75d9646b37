/* Receiving from other nodes: watches whose mail has come, and what the protocol makes of them. */
#include <pthread.h>

#include "core/log.h"
#include "mpi/message/arrivals.h"
#include "mpi/message/far.h"
#include "mpi/real/errors.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the watches' `far` */

void tutti_far_begin(struct tutti_watch *watch)
{
    const struct tutti_elements elements = {
        .plan = watch->plan, .count = watch->count, .buffer = watch->buffer, .whole = watch->whole};
    struct tutti_incoming *in = tutti_pipelined_accept(tutti_far, &watch->far_mail, &elements, watch->capacity);
    if (!in) {
        tutti_error("no memory for a message of %llu bytes from another node: it is lost",
                    (unsigned long long)watch->far_mail.bytes);
        watch->state = TUTTI_WATCH_FAILED;
        watch->code = MPI_ERR_NO_MEM;
        return;
    }
    pthread_mutex_lock(&lock);
    const int first =
        watch->state == TUTTI_WATCH_FAR && !watch->far; /* a call that looks on may come at the same time */
    if (first) {
        watch->far = in;
        tutti_incoming_start(in);
    }
    pthread_mutex_unlock(&lock);
    if (!first)
        tutti_incoming_free(in);
}

static void end(struct tutti_watch *watch, struct tutti_span *span)
{
    struct tutti_incoming *in = watch->far;
    int status = tutti_incoming_status(in);
    if (status == TUTTI_OK && tutti_incoming_packed(in))
        status = tutti_watch_unpack(watch, span, tutti_incoming_packed(in));
    pthread_mutex_lock(&lock);
    watch->state = status == TUTTI_OK && !tutti_incoming_truncated(in) ? TUTTI_WATCH_FETCHED : TUTTI_WATCH_FAILED;
    watch->code = status != TUTTI_OK ? tutti_error_code(status) : MPI_ERR_TRUNCATE;
    watch->far = NULL;
    pthread_mutex_unlock(&lock);
    tutti_incoming_free(in);
}

struct fetched {
    struct tutti_watch *const *watches;
    struct tutti_span *const *spans;
    int n;
};

/* Ends those that have come. 1: all have. */
static int fetched(void *with)
{
    const struct fetched *f = with;
    int left = 0;
    for (int i = 0; i < f->n; i++) {
        if (f->watches[i]->state != TUTTI_WATCH_FAR)
            continue;
        if (tutti_incoming_done(f->watches[i]->far))
            end(f->watches[i], f->spans[i]);
        else
            left++;
    }
    return left == 0;
}

void tutti_far_fetch(struct tutti_watch *const watches[], struct tutti_span *const spans[], int n, int wait)
{
    struct fetched f = {watches, spans, n};
    int left = 0;
    for (int i = 0; i < n; i++) {
        if (watches[i]->state == TUTTI_WATCH_FAR && !watches[i]->far)
            tutti_far_begin(watches[i]);
        left += watches[i]->state == TUTTI_WATCH_FAR;
    }
    if (left > 0 && wait) {
        tutti_progress_wait(&(const struct tutti_wait){
            .done = fetched, .with = &f, .what = "for the rest of a message from another node"});
    } else if (left > 0) {
        tutti_progress_poll();
        fetched(&f);
    }
}
