#include "mpi/requests.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"

atomic_int tutti_pending_open;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tutti_pending *table, *freed;

static int failed(MPI_Comm comm, int status)
{
    tutti_error("staging device memory of a nonblocking call failed: %s", tutti_status_text(status));
    return tutti_fail_comm(comm, tutti_error_code(status));
}

static int is_cancelled(const MPI_Status *status)
{
    int cancelled = 0;
    tutti_real.MPI_Test_cancelled(status, &cancelled);
    return cancelled;
}

static int out(struct tutti_pending *pending, const MPI_Status *status)
{
    if (pending->exchange)
        return tutti_blocks_out(&pending->exchange->out);
    if (!pending->span.staged || !(pending->span.way & TUTTI_SPAN_OUT) || is_cancelled(status))
        return TUTTI_OK;
    return tutti_span_out(&pending->span, tutti_received(status));
}

int tutti_pending_deliver(struct tutti_pending *pending, MPI_Status *status)
{
    int code;
    if (pending->open)
        return tutti_open_deliver(pending->open);
    if (pending->sent)
        return tutti_sent_deliver(pending->sent);
    if (pending->far)
        return MPI_SUCCESS;
    if (pending->standing)
        return pending->active ? tutti_standing_deliver(pending->standing) : MPI_SUCCESS;
    if (pending->joint)
        return tutti_joint_deliver(pending->joint, status);
    if (pending->watch && (!pending->persistent || pending->active) && !is_cancelled(status) &&
        tutti_watch_finish(pending->watch, &pending->span, status, &code)) {
        pending->delivered = 1;
        return code;
    }
    if (pending->delivered || (pending->persistent && !pending->active))
        return MPI_SUCCESS;
    int done = out(pending, status);
    pending->delivered = 1;
    return done == TUTTI_OK ? MPI_SUCCESS : failed(pending->comm, done);
}

static void destroy(struct tutti_pending *pending)
{
    tutti_span_close(&pending->span);
    tutti_watch_free(pending->watch);
    if (pending->sent)
        tutti_sent_let_go(pending->sent);
    tutti_far_let_go(pending->far);
    if (pending->standing)
        tutti_standing_free(pending->standing);
    if (pending->joint)
        tutti_joint_drop(pending->joint);
    if (pending->exchange) {
        tutti_blocks_close(&pending->exchange->in);
        tutti_blocks_close(&pending->exchange->out);
        free(pending->exchange);
    }
    for (int i = 0; i < TUTTI_PENDING_LISTS; i++)
        free(pending->list[i]);
    free(pending);
}

void tutti_pending_drop(struct tutti_pending *pending)
{
    if (pending->open) {
        int stays = pending->open->persistent;
        tutti_open_settle(pending->open);
        if (stays) {
            tutti_pending_back(pending);
            return;
        }
    }
    if (pending->standing)
        tutti_standing_settle(pending->standing);
    if (pending->persistent) {
        pending->active = 0;
        tutti_pending_back(pending);
        return;
    }
    destroy(pending);
}

void tutti_pending_back(struct tutti_pending *pending)
{
    pthread_mutex_lock(&lock);
    HASH_ADD(hh, table, request, sizeof pending->request, pending);
    pthread_mutex_unlock(&lock);
    atomic_fetch_add_explicit(&tutti_pending_open, 1, memory_order_relaxed);
}

/* Puts an entry into the table, or finishes it if its call is complete already: an MPI may use one handle for all such
 * requests, so it cannot be a key. */
static int keep(struct tutti_pending *pending)
{
    MPI_Status status;
    int complete = 0;
    tutti_inside++;
    int code = tutti_real.MPI_Request_get_status(pending->request, &complete, &status);
    tutti_inside--;
    if (code == MPI_SUCCESS && complete && pending->watch && !is_cancelled(&status))
        tutti_watch_arrived(pending->watch, &pending->span, &status);
    if (code == MPI_SUCCESS && complete && !(pending->watch && tutti_watch_is_open(pending->watch))) {
        code = tutti_pending_deliver(pending, &status);
        tutti_pending_drop(pending);
        return code;
    }
    tutti_pending_back(pending); /* of a letter too: the status is still to be put right */
    return MPI_SUCCESS;
}

int tutti_pending_open_call(MPI_Request request, struct tutti_open *open)
{
    struct tutti_pending *pending = calloc(1, sizeof *pending);
    if (!pending)
        return TUTTI_ERR_MEMORY;
    pending->request = request;
    pending->comm = tutti_handles.world;
    pending->open = open;
    tutti_pending_back(pending);
    return TUTTI_OK;
}

/* A new entry, with the lists of the same request if there are some; NULL (reported) without memory: what a call uses
 * must live until it completes, so it is lost rather than reused too early. */
static struct tutti_pending *entry(MPI_Request request, MPI_Comm comm)
{
    struct tutti_pending *pending = calloc(1, sizeof *pending), *lists = tutti_pending_take(request);
    if (!pending) {
        tutti_error("out of memory: a staged nonblocking call is not delivered");
        return NULL;
    }
    pending->request = request;
    pending->comm = comm;
    for (int i = 0; lists && i < TUTTI_PENDING_LISTS; i++)
        pending->list[i] = lists->list[i];
    free(lists);
    return pending;
}

int tutti_pending_add(MPI_Request request, MPI_Comm comm, struct tutti_span *span, struct tutti_watch *watch)
{
    struct tutti_pending *pending = entry(request, comm);
    if (!pending)
        return tutti_fail_comm(comm, MPI_ERR_NO_MEM);
    pending->span = *span;
    pending->watch = watch;
    return keep(pending);
}

int tutti_pending_put(MPI_Request request, MPI_Comm comm, const struct tutti_pending *like)
{
    struct tutti_pending *pending = entry(request, comm);
    if (!pending)
        return tutti_fail_comm(comm, MPI_ERR_NO_MEM);
    pending->span = like->span;
    pending->watch = like->watch;
    pending->sent = like->sent;
    pending->standing = like->standing;
    pending->joint = like->joint;
    pending->far = like->far;
    pending->persistent = like->persistent;
    if (pending->far && !pending->persistent) /* a request of the MPI's own, which may be complete */
        return keep(pending);
    tutti_pending_back(pending);
    return MPI_SUCCESS;
}

int tutti_pending_exchange(MPI_Request request, struct tutti_exchange *exchange, int persistent)
{
    struct tutti_pending *pending = entry(request, exchange->comm);
    if (!pending)
        return tutti_fail_comm(exchange->comm, MPI_ERR_NO_MEM);
    pending->exchange = exchange;
    pending->persistent = persistent;
    if (!persistent)
        return keep(pending);
    tutti_pending_back(pending);
    return MPI_SUCCESS;
}

int tutti_pending_start(struct tutti_pending *pending, MPI_Request *request)
{
    struct tutti_exchange *exchange = pending->exchange;
    if (pending->standing) {
        int code = tutti_standing_start(pending->standing);
        pending->active |= code == MPI_SUCCESS;
        return code;
    }
    if (pending->far) {
        int code = tutti_far_start(pending->far, request);
        pending->active |= code == MPI_SUCCESS;
        return code;
    }
    if (!pending->active) { /* otherwise the MPI refuses it */
        int status = exchange ? tutti_blocks_in(&exchange->in) : tutti_span_in(&pending->span);
        if (status == TUTTI_OK && exchange)
            status = tutti_blocks_in(&exchange->out);
        if (status != TUTTI_OK)
            return failed(pending->comm, status);
    }
    TUTTI_INSIDE();
    int code = tutti_real.MPI_Start(request);
    if (code == MPI_SUCCESS) {
        pending->active = 1;
        pending->delivered = 0;
        if (pending->watch)
            tutti_watch_again(pending->watch);
    }
    return code;
}

int tutti_pending_free(struct tutti_pending *pending, MPI_Request *request)
{
    if (pending->sent) {
        int code = tutti_sent_free(pending->sent, request);
        pending->sent = NULL;
        destroy(pending);
        return code;
    }
    if (pending->joint) {
        int code = tutti_joint_free(pending->joint, request);
        pending->joint = NULL;
        destroy(pending);
        return code;
    }
    if (pending->persistent && !pending->active) {
        int code = tutti_real.MPI_Request_free(request);
        destroy(pending);
        return code;
    }
    /* The host memory must outlive the call: the request is kept and completed later. */
    tutti_pending_orphan(pending);
    *request = tutti_handles.no_request;
    tutti_pending_sweep(0);
    return MPI_SUCCESS;
}

int tutti_pending_lists(MPI_Request request, int *const list[], int n)
{
    struct tutti_pending *pending = calloc(1, sizeof *pending);
    if (!pending) /* the lists stay where they are: the call still reads them */
        return MPI_SUCCESS;
    pending->request = request;
    pending->comm = tutti_handles.world;
    for (int i = 0; i < n; i++)
        pending->list[i] = list[i];
    return keep(pending);
}

void tutti_pending_fetch(struct tutti_pending *const pending[], const MPI_Request requests[], int n)
{
    enum { MOST = 64 };
    struct tutti_watch *watches[MOST];
    struct tutti_span *spans[MOST];
    int used = 0;
    TUTTI_INSIDE();
    for (int i = 0; i < n && used < MOST; i++) {
        struct tutti_pending *one = pending[i];
        MPI_Status status;
        int flag = 0;
        if (!one || !one->watch || requests[i] == tutti_handles.no_request ||
            (one->persistent && (!one->active || tutti_lane_forgets)))
            continue;
        if (one->watch->state == TUTTI_WATCH_WAITING &&
            tutti_real.MPI_Request_get_status(requests[i], &flag, &status) == MPI_SUCCESS && flag &&
            !is_cancelled(&status))
            tutti_watch_arrived(one->watch, &one->span, &status);
        if (!tutti_watch_is_open(one->watch))
            continue;
        watches[used] = one->watch;
        spans[used++] = &one->span;
    }
    if (used)
        tutti_watch_fetch(watches, spans, used, 0);
}

void tutti_pending_finish(struct tutti_pending *const pending[], const int which[], const MPI_Status statuses[], int n)
{
    enum { MOST = 64 };
    struct tutti_watch *watches[MOST];
    struct tutti_span *spans[MOST];
    int used = 0;
    TUTTI_INSIDE();
    for (int k = 0; k < n; k++) {
        struct tutti_pending *one = pending[which ? which[k] : k];
        if (!one || !one->watch || (one->persistent && !one->active) || is_cancelled(&statuses[k]))
            continue;
        if (one->watch->state == TUTTI_WATCH_WAITING)
            tutti_watch_arrived(one->watch, &one->span, &statuses[k]);
        if (!tutti_watch_is_open(one->watch))
            continue;
        watches[used] = one->watch;
        spans[used++] = &one->span;
        if (used == MOST)
            tutti_watch_fetch(watches, spans, used, 1);
        used %= MOST;
    }
    if (used)
        tutti_watch_fetch(watches, spans, used, 1);
}

void tutti_pending_look(void)
{
    TUTTI_INSIDE();
    pthread_mutex_lock(&lock);
    for (struct tutti_pending *one = table; one; one = one->hh.next) {
        MPI_Status status;
        int flag = 0;
        if (one->watch && one->watch->state == TUTTI_WATCH_WAITING &&
            !(one->persistent && (!one->active || tutti_lane_forgets)) &&
            tutti_real.MPI_Request_get_status(one->request, &flag, &status) == MPI_SUCCESS && flag &&
            !is_cancelled(&status))
            tutti_watch_arrived(one->watch, &one->span, &status);
        if (one->watch && one->watch->state == TUTTI_WATCH_FAR && !one->watch->far)
            tutti_far_begin(one->watch);
    }
    pthread_mutex_unlock(&lock);
}

struct tutti_pending *tutti_pending_see(MPI_Request request)
{
    struct tutti_pending *pending;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, table, &request, sizeof request, pending);
    pthread_mutex_unlock(&lock);
    return pending;
}

struct tutti_pending *tutti_pending_take(MPI_Request request)
{
    struct tutti_pending *pending;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, table, &request, sizeof request, pending);
    if (pending)
        HASH_DEL(table, pending);
    pthread_mutex_unlock(&lock);
    if (pending)
        atomic_fetch_sub_explicit(&tutti_pending_open, 1, memory_order_relaxed);
    return pending;
}

void tutti_pending_orphan(struct tutti_pending *pending)
{
    pthread_mutex_lock(&lock);
    pending->next = freed;
    freed = pending;
    pthread_mutex_unlock(&lock);
}

static int complete(struct tutti_pending *pending)
{
    MPI_Status status;
    int flag = 0;
    TUTTI_INSIDE();
    if (tutti_real.MPI_Test(&pending->request, &flag, &status) != MPI_SUCCESS)
        return 1;
    if (flag)
        tutti_pending_deliver(pending, &status);
    if (flag && pending->persistent)
        tutti_real.MPI_Request_free(&pending->request);
    return flag;
}

void tutti_pending_sweep(int all)
{
    uint64_t limit = tutti_now_ns() + (uint64_t)tutti_settings()->timeout_seconds * 1000000000u;
    do {
        pthread_mutex_lock(&lock);
        struct tutti_pending *mine = freed;
        freed = NULL;
        pthread_mutex_unlock(&lock);
        if (!mine)
            return;
        tutti_letters_poll();
        while (mine) {
            struct tutti_pending *next = mine->next;
            if (complete(mine))
                destroy(mine);
            else
                tutti_pending_orphan(mine);
            mine = next;
        }
    } while (all && tutti_now_ns() < limit);
}
