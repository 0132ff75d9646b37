/* Chains of entries: what each operation does to all entries of a request. */
#include "core/log.h"
#include "mpi/bounce/alive.h"
#include "mpi/real/errors.h"
#include "mpi/real/quiet.h"
#include "mpi/real/self.h"
#include "mpi/request/batch.h"
#include "mpi/request/request.h"
#include "mpi/request/unwatched.h"

int tutti_request_lives(const struct tutti_request *entry)
{
    for (; entry; entry = entry->under) {
        if (entry->persistent)
            return 1;
    }
    return 0;
}

static int chain_stays(const struct tutti_request *entry)
{
    for (; entry; entry = entry->under) {
        if (entry->persistent || entry->kind->stays)
            return 1;
    }
    return 0;
}

static inline int chain_is_idle(const struct tutti_request *entry)
{
    return entry->persistent && !entry->active;
}

static int chain_arrived(struct tutti_request *entry, const MPI_Status *status, struct tutti_batch *batch)
{
    int more = 0;
    for (; entry; entry = entry->under) {
        if (entry->kind->arrived && entry->rests != TUTTI_RESTS && !chain_is_idle(entry) &&
            !tutti_was_cancelled(status))
            more |= entry->kind->arrived(entry, status, batch);
    }
    return more;
}

int tutti_request_lost(MPI_Comm comm)
{
    tutti_error("out of memory: a staged nonblocking call is not delivered");
    return tutti_fail_comm(comm, MPI_ERR_NO_MEM);
}

void tutti_request_hand_over(struct tutti_request *entry)
{
    for (; entry; entry = entry->under) {
        if (entry->active && entry->kind->begins_claimed)
            entry->kind->unclaim(entry);
    }
}

int tutti_request_put(struct tutti_request *entry)
{
    MPI_Status status;
    int complete = 0, code = MPI_SUCCESS;
    if (entry->kind->stays) {
        tutti_request_push(entry);
        return MPI_SUCCESS;
    }
    if (!entry->persistent && !entry->own_handle) {
        TUTTI_INSIDE();
        code = tutti_look(entry->handle, &complete, &status);
    }
    if (code != MPI_SUCCESS || !complete) {
        tutti_request_push(entry);
        return MPI_SUCCESS;
    }
    entry->under = tutti_request_take(entry->handle);
    if (chain_stays(entry->under) || chain_arrived(entry, &status, NULL)) {
        tutti_request_back(entry);
        return MPI_SUCCESS;
    }
    tutti_unraised++; /* the program's completion call raises errors */
    code = tutti_request_deliver(entry, &status);
    tutti_unraised--;
    if (code == MPI_SUCCESS)
        tutti_request_drop(entry);
    else /* and the peer counts on the request as it is */
        tutti_request_back(entry);
    return MPI_SUCCESS;
}

int tutti_request_deliver(struct tutti_request *entry, MPI_Status *status)
{
    int code = entry->under ? tutti_request_deliver(entry->under, status) : MPI_SUCCESS;
    if (chain_is_idle(entry))
        return code;
    if (code != MPI_SUCCESS)
        return entry->kind->fail ? entry->kind->fail(entry, status, code) : code;
    return entry->kind->deliver ? entry->kind->deliver(entry, status) : MPI_SUCCESS;
}

int tutti_request_fail(struct tutti_request *entry, MPI_Status *status, int code)
{
    if (entry->under)
        code = tutti_request_fail(entry->under, status, code);
    return entry->kind->fail && !chain_is_idle(entry) ? entry->kind->fail(entry, status, code) : code;
}

static void chain_end(struct tutti_request *entry)
{
    struct tutti_alive *const alive = entry->alive;
    if (entry->kind->keep && entry->kind->keep(entry)) {
        tutti_alive_leave(alive);
        return;
    }
    if (entry->kind->close)
        entry->kind->close(entry);
    tutti_request_give(entry);
}

void tutti_request_drop(struct tutti_request *entry)
{
    struct tutti_request *rest = NULL, **last = &rest, *next;
    for (; entry; entry = next) {
        next = entry->under;
        if (!entry->persistent) {
            chain_end(entry);
            continue;
        }
        if (entry->kind->settle)
            entry->kind->settle(entry);
        entry->active = 0;
        *last = entry;
        last = &entry->under;
    }
    *last = NULL;
    if (rest)
        tutti_request_back(rest);
}

void tutti_request_destroy(struct tutti_request *entry)
{
    struct tutti_request *next;
    for (; entry; entry = next) {
        next = entry->under;
        chain_end(entry);
    }
}

/* ---- many ---- */

static inline int is_passed_over(const struct tutti_request *entry, const struct tutti_batch *batch)
{
    return batch->how == TUTTI_FETCH_BESIDE_ALL &&
           (entry->rests >= TUTTI_RESTS_UNTIL_ARRIVED || (entry->rests == TUTTI_RESTS_MOSTLY && batch->passes));
}

void tutti_requests_progress(struct tutti_request *const entries[], const MPI_Request requests[], int n,
                             enum tutti_fetch_how how)
{
    static __thread unsigned turns;
    struct tutti_batch batch;
    batch.how = how;
    batch.n = batch.failed = batch.passes = batch.waiting = 0;
    batch.turn = turns++;
    TUTTI_INSIDE();
    for (int i = 0; i < n; i++) {
        for (struct tutti_request *entry = entries[i]; entry; entry = entry->under) {
            if (is_passed_over(entry, &batch))
                entry->coming = 0;
            else if (entry->kind->progress)
                entry->kind->progress(entry, requests[i], &batch);
            batch.waiting += entry->rests == TUTTI_RESTS_MOSTLY;
        }
    }
    tutti_batch_run(&batch);
}

void tutti_requests_arrived(struct tutti_request *const entries[], const int which[], const MPI_Status statuses[],
                            int n)
{
    struct tutti_batch batch = {.how = TUTTI_FETCH_ALL};
    TUTTI_INSIDE();
    for (int k = 0; k < n; k++)
        chain_arrived(entries[which ? which[k] : k], &statuses[k], &batch);
    tutti_batch_run(&batch);
    tutti_batch_out(&batch);
}

int tutti_request_fetched(struct tutti_request *entry, const MPI_Status *status)
{
    struct tutti_batch batch = {.how = TUTTI_FETCH_NOW};
    TUTTI_INSIDE();
    for (struct tutti_request *each = entry; each; each = each->under)
        each->coming = 0;
    chain_arrived(entry, status, &batch);
    tutti_batch_run(&batch);
    return !tutti_is_coming(entry);
}

struct leaving {
    MPI_Comm comm, instead;
    int named, change;
};

static void leave_one(struct leaving *leaving, MPI_Comm *at)
{
    if (*at != leaving->comm)
        return;
    leaving->named = 1;
    if (leaving->change)
        *at = leaving->instead;
}

static void chain_leave(struct tutti_request *entry, void *with)
{
    for (; entry; entry = entry->under) {
        leave_one(with, &entry->comm);
        if (entry->kind->comm)
            leave_one(with, entry->kind->comm(entry));
    }
}

void tutti_requests_leave(MPI_Comm comm)
{
    struct leaving leaving = {.comm = comm};
    if (unlikely(tutti_unwatched_open))
        tutti_unwatched_watch_comm(comm);
    if (tutti_requests_none() || comm == tutti_handles.no_comm)
        return;
    tutti_requests_each(chain_leave, NULL, &leaving);
    if (!leaving.named)
        return;
    leaving.instead = tutti_self_stand_in(comm);
    leaving.change = 1;
    tutti_requests_each(chain_leave, NULL, &leaving);
}

static void chain_look(struct tutti_request *entry, void *with)
{
    const MPI_Request handle = entry->handle;
    if (entry->visits)
        return;

    for (; entry; entry = entry->under) {
        if (entry->kind->progress)
            entry->kind->progress(entry, handle, with);
        entry->coming = 0; /* no call is at it */
    }
}

static void fetch_looked(void *with)
{
    struct tutti_batch *batch = with;
    const int n = batch->n;
    tutti_batch_run(batch);
    for (int i = 0; i < n; i++)
        batch->entry[i]->coming = 0;
}

void tutti_requests_look(void)
{
    struct tutti_batch batch = {.how = TUTTI_FETCH_NOW};
    TUTTI_INSIDE();
    tutti_requests_each(chain_look, fetch_looked, &batch);
}
