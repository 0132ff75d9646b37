#include "mpi/request/waits.h"

#include "core/clock.h"
#include "mpi/real/quiet.h"
#include "mpi/request/jobs.h"
#include "p2p/p2p.h"
#include "progress/engine.h"

const struct tutti_call_requests tutti_no_call_requests;

static int wait_is_busy(const struct tutti_call_requests *mine)
{
    if (tutti_progress_busy())
        return 1;
    for (int i = 0; mine->entries && i < mine->n; i++) {
        for (const struct tutti_request *entry = mine->entries[i]; entry; entry = entry->under) {
            if (entry->kind->listens && entry->kind->listens(entry))
                return 1;
        }
    }
    return 0;
}

/* While the library's thread sleeps, jobs run on this one until they would wait. */
void tutti_call_requests_poll(const struct tutti_call_requests *mine)
{
    if (unlikely(tutti_fibers_any()) && !tutti_progress_polling())
        (void)tutti_fibers_turn();
    tutti_progress_poll();
    if (mine->entries)
        tutti_requests_progress(mine->entries, mine->requests, mine->n, TUTTI_FETCH_NOW);
}

/* ---- requests that the call completes by itself ---- */

/* How many entries from this one on can be claimed and are of its kind. */
static int claims_together(struct tutti_request *const entries[], int n)
{
    int k = 0;
    while (k < n && entries[k] && !entries[k]->under && entries[k]->kind->claim && entries[k]->kind == entries[0]->kind)
        k++;
    return k;
}

static void claim_all(const struct tutti_call_requests *mine)
{
    for (int i = 0; mine->entries && i < mine->n;) {
        const int k = claims_together(mine->entries + i, mine->n - i);
        if (k > 0)
            mine->entries[i]->kind->claim(mine->entries + i, k);
        else
            tutti_request_hand_over(mine->entries[i]);
        i += k > 0 ? k : 1;
    }
}

/* 1 if it is claimed and has not ended. A request that has ended is replaced by the null handle for the MPI's call. */
static int claimed_lacks(const struct tutti_call_requests *mine, MPI_Request requests[], int i)
{
    const struct tutti_request *const entry = mine->entries ? mine->entries[i] : NULL;
    if (likely(!entry || !entry->claimed))
        return 0;
    if (!entry->kind->claimed_done(entry))
        return 1;
    requests[i] = tutti_handles.no_request;
    return 0;
}

/* Those that have not ended are completed by the MPI; of those that have, the program keeps the persistent ones. */
static void unclaim_rest(const struct tutti_call_requests *mine, MPI_Request requests[])
{
    for (int i = 0; mine->entries && i < mine->n; i++) {
        struct tutti_request *const entry = mine->entries[i];
        if (!entry || !entry->claimed)
            continue;
        entry->claimed = 0;
        if (requests[i] != tutti_handles.no_request)
            entry->kind->unclaim(entry);
        else if (entry->persistent)
            requests[i] = entry->handle;
    }
}

/* ---- waiting ---- */

/* A real call that waits. done: its nonblocking form, until that says 1; wait: the call itself, once nothing needs this
 * thread any more. */
struct progressing_call {
    const struct tutti_call_requests *mine;
    uint64_t next; /* when they are looked at again; see waits_is_done() */
    int count, code, *out, *which;
    int at;         /* one by one: requests that are complete */
    int unreturned; /* one by one: a request has failed, and the MPI has returned no error after its handler */
    int waits_for_all;
    struct tutti_jobs jobs;
    struct tutti_wait in; /* spins: looks at the jobs in a round */
    unsigned looks;
    int claimed; /* of all: requests before this one are not claimed, or have ended */
    MPI_Request *requests;
    MPI_Status *statuses;
    int (*test)(struct progressing_call *call);
    int (*wait)(struct progressing_call *call);
};

enum { MANY = 256, REST = 4 };

/* To look at many requests takes long, and only few complete meanwhile: after that the thread is the engine's for REST
 * times as long. */
static int looks_again(struct progressing_call *call)
{
    return call->count <= MANY || tutti_now_ns() >= call->next;
}

/* Of several requests, some come while others are fetched; of many, what was fetched would wait for the next look. */
static void look_at_own(const struct progressing_call *call)
{
    const int several = call->count > 1 && call->count <= MANY;
    if (call->mine->entries)
        tutti_requests_progress(call->mine->entries + call->at, call->mine->requests + call->at,
                                call->mine->n - call->at,
                                !several              ? TUTTI_FETCH_NOW
                                : call->waits_for_all ? TUTTI_FETCH_BESIDE_ALL
                                                      : TUTTI_FETCH_BESIDE);
}

static int progressing_look(struct progressing_call *call)
{
    if (!wait_is_busy(call->mine)) {
        call->code = call->wait(call);
        return 1;
    }
    look_at_own(call);
    return call->test(call) || call->code != MPI_SUCCESS;
}

/* 1 if no claimed request is open any more. */
static int claimed_ended(struct progressing_call *call)
{
    while (call->claimed < call->mine->n && !claimed_lacks(call->mine, call->requests, call->claimed))
        call->claimed++;
    return call->claimed >= call->mine->n;
}

/* The first request that is left, if it is claimed. */
static const struct tutti_request *claimed_first(const struct progressing_call *call)
{
    const struct tutti_request *const entry =
        call->mine->entries && call->claimed < call->mine->n ? call->mine->entries[call->claimed] : NULL;
    return entry && entry->claimed ? entry : NULL;
}

/* 1 for the looks of a round of the engine's wait but the last one, while jobs are under way: such a look is at them
 * alone. A poll, which ends the call, reads what the library's thread and the peers write. */
static int jobs_look_on(struct progressing_call *call)
{
    struct tutti_jobs *const jobs = &call->jobs;
    if (!jobs->all)
        return 0;
    const int works = tutti_jobs_work(jobs, claimed_first(call));
    if (!works && jobs->worked) {
        tutti_progress_poll();
        (void)claimed_ended(call);
    }
    jobs->worked = works;
    return works && call->in.spins > 0 && ++call->looks % call->in.spins != 1;
}

static int waits_is_done(void *with)
{
    struct progressing_call *call = with;
    if (unlikely(tutti_fibers_any()))
        tutti_jobs_turn(&call->jobs, claimed_first(call), &call->in);
    if (jobs_look_on(call) || !looks_again(call))
        return 0;
    const uint64_t begun = call->count > MANY ? tutti_now_ns() : 0;
    const int done = progressing_look(call);
    if (begun) {
        const uint64_t now = tutti_now_ns();
        call->next = now + REST * (now - begun);
    }
    return done;
}

__thread int tutti_waits_for_claimed;

/* Also when an exception leaves the wait. */
struct wait_mark {
    const struct tutti_jobs *jobs;
    int claimed; /* tutti_waits_for_claimed before */
};

static void wait_mark_end(const struct wait_mark *mark)
{
    tutti_jobs_end(mark->jobs);
    tutti_waits_for_claimed = mark->claimed;
}

static int progressing_run(struct progressing_call *call)
{
    look_at_own(call); /* before those that send pack what could be fetched */
    const int claimed_open = !claimed_ended(call);
    call->in = (struct tutti_wait){.done = waits_is_done, .with = call};
    tutti_jobs_begin(&call->jobs, call->mine, claimed_first(call), &call->in);
    {
        __attribute__((cleanup(wait_mark_end), unused))
        const struct wait_mark mark = {&call->jobs, tutti_waits_for_claimed};
        tutti_waits_for_claimed = claimed_open;
        tutti_progress_wait(&call->in);
    }
    tutti_p2p_land(); /* senders wait for what this call leaves open */
    return call->code;
}

static int test_one(struct progressing_call *call)
{
    int flag = 0;
    if (!claimed_ended(call))
        return 0;
    call->code = tutti_next.MPI_Test(call->requests, &flag, call->statuses);
    return flag;
}

/* Before a wait inside the MPI. With no step open all claimed requests have ended. */
static void claims_end(struct progressing_call *call)
{
    if (unlikely(!claimed_ended(call)))
        unclaim_rest(call->mine, call->requests);
}

static int wait_one(struct progressing_call *call)
{
    claims_end(call);
    return tutti_next.MPI_Wait(call->requests, call->statuses);
}

static int test_all(struct progressing_call *call)
{
    int flag = 0;
    if (!claimed_ended(call))
        return 0;
    call->code = tutti_filtered_testall(call->mine->entries, call->count, call->requests, &flag, call->statuses);
    return flag;
}

static int waits_wait_all(struct progressing_call *call)
{
    claims_end(call);
    return tutti_next.MPI_Waitall(call->count, call->requests, call->statuses);
}

static int test_any(struct progressing_call *call)
{
    int flag = 0;
    call->code =
        tutti_filtered_testany(call->mine->entries, call->count, call->requests, call->which, &flag, call->statuses);
    return flag;
}

static int wait_any(struct progressing_call *call)
{
    return tutti_next.MPI_Waitany(call->count, call->requests, call->which, call->statuses);
}

static int test_some(struct progressing_call *call)
{
    call->code = tutti_filtered_testsome(call->mine->entries, call->count, call->requests, call->out, call->which,
                                         call->statuses);
    return *call->out != 0;
}

static int waits_wait_some(struct progressing_call *call)
{
    return tutti_next.MPI_Waitsome(call->count, call->requests, call->out, call->which, call->statuses);
}

int tutti_progressing_wait(const struct tutti_call_requests *mine, MPI_Request *request, MPI_Status *status)
{
    struct progressing_call call = {
        .mine = mine, .requests = request, .statuses = status, .test = test_one, .wait = wait_one};
    claim_all(mine);
    const int is_over = mine->n == 1 && mine->entries[0] && mine->entries[0]->claimed && claimed_ended(&call);
    const int code = is_over ? wait_one(&call) : progressing_run(&call);
    unclaim_rest(mine, request);
    return code;
}

/* Where errors of the request may be raised; the null handle: unknown. */
static MPI_Comm entry_comm(struct tutti_request *entry)
{
    if (!entry)
        return tutti_handles.no_comm;
    return entry->kind->comm ? *entry->kind->comm(entry) : entry->comm;
}

/* What a request has ended with, after a call for it alone that has returned `code`. An MPI may return no error where a
 * handler has returned, but it stores the error in the status, where MPI_SUCCESS stood before. */
static int code_of(struct progressing_call *call, int code, MPI_Status *status, int before)
{
    const int ended = code == MPI_ERR_IN_STATUS || code == MPI_SUCCESS ? status->MPI_ERROR : code;
    if (ended == MPI_SUCCESS)
        status->MPI_ERROR = before; /* the MPI need not store it */
    else if (code == MPI_SUCCESS)
        call->unreturned = 1;
    return ended;
}

/* Request `at`, if its data are not still coming: as a list of its own, so that an error is raised where one of
 * MPI_Waitall is; quietly: it is not raised. A request that is not active is left to MPI_Test. */
static int test_next(struct progressing_call *call, int *flag, int quietly)
{
    MPI_Status own = {.MPI_ERROR = MPI_SUCCESS},
               *status = call->statuses == MPI_STATUSES_IGNORE ? &own : &call->statuses[call->at];
    int n = 0, which;
    *flag = 0;
    if ((call->mine->entries && tutti_is_coming(call->mine->entries[call->at])) ||
        claimed_lacks(call->mine, call->requests, call->at))
        return MPI_SUCCESS;
    struct tutti_request *entry = call->mine->entries ? call->mine->entries[call->at] : NULL;
    const int before = status->MPI_ERROR;
    status->MPI_ERROR = MPI_SUCCESS;
    const int code = quietly ? tutti_testsome_quietly(entry_comm(entry), &call->requests[call->at], &n, &which, status)
                             : tutti_next.MPI_Testsome(1, &call->requests[call->at], &n, &which, status);
    if (n != 1)
        status->MPI_ERROR = before;
    if (n == MPI_UNDEFINED && code == MPI_SUCCESS)
        return tutti_next.MPI_Test(&call->requests[call->at], flag, status);
    *flag = n == 1;
    return n == 1 ? code_of(call, code, status, before) : code;
}

/* Request `at` has failed with this code, and its error was raised: the only one, as in MPI_Waitall. Those behind it
 * that are not complete stay. */
static int fail_each(struct progressing_call *call, int code)
{
    for (int i = 0; i < call->at && call->statuses != MPI_STATUSES_IGNORE; i++)
        call->statuses[i].MPI_ERROR = MPI_SUCCESS;
    for (int flag = 1;; code = test_next(call, &flag, 1)) {
        if (call->statuses != MPI_STATUSES_IGNORE)
            call->statuses[call->at].MPI_ERROR = code == MPI_SUCCESS && !flag ? MPI_ERR_PENDING : code;
        if (++call->at == call->count)
            return MPI_ERR_IN_STATUS;
    }
}

/* One after the other, for an MPI whose MPI_Testall fails where its MPI_Waitall does not. */
static int test_each(struct progressing_call *call)
{
    for (;;) {
        int flag;
        const int code = test_next(call, &flag, 0);
        if (code != MPI_SUCCESS) {
            call->code = fail_each(call, code);
            return 1;
        }
        if (!flag || ++call->at == call->count)
            return flag;
    }
}

static int wait_rest(struct progressing_call *call)
{
    if (call->at == 0)
        return waits_wait_all(call);
    claims_end(call);
    do {
        MPI_Status own = {.MPI_ERROR = MPI_SUCCESS},
                   *status = call->statuses == MPI_STATUSES_IGNORE ? &own : &call->statuses[call->at];
        const int before = status->MPI_ERROR;
        status->MPI_ERROR = MPI_SUCCESS;
        const int code = code_of(call, tutti_next.MPI_Waitall(1, &call->requests[call->at], status), status, before);
        if (code != MPI_SUCCESS)
            return fail_each(call, code);
    } while (++call->at < call->count);
    return MPI_SUCCESS;
}

int tutti_progressing_waitall(const struct tutti_call_requests *mine, int count, MPI_Request requests[],
                              MPI_Status *statuses, int *unreturned)
{
    struct progressing_call call = {.mine = mine,
                                    .count = count,
                                    .waits_for_all = 1,
                                    .requests = requests,
                                    .statuses = statuses,
                                    .test = test_all,
                                    .wait = waits_wait_all};
    if (tutti_quirks.testall_lacks_collectives && count > 0) {
        call.waits_for_all = 0;
        call.test = test_each;
        call.wait = wait_rest;
    }
    claim_all(mine);
    const int code = progressing_run(&call);
    unclaim_rest(mine, requests);
    *unreturned = call.unreturned;
    return code;
}

int tutti_progressing_waitany(const struct tutti_call_requests *mine, int count, MPI_Request requests[], int *which,
                              MPI_Status *status)
{
    return progressing_run(&(struct progressing_call){.mine = mine,
                                                      .count = count,
                                                      .requests = requests,
                                                      .which = which,
                                                      .statuses = status,
                                                      .test = test_any,
                                                      .wait = wait_any});
}

int tutti_progressing_waitsome(const struct tutti_call_requests *mine, int count, MPI_Request requests[], int *out,
                               int which[], MPI_Status *statuses)
{
    return progressing_run(&(struct progressing_call){.mine = mine,
                                                      .count = count,
                                                      .requests = requests,
                                                      .out = out,
                                                      .which = which,
                                                      .statuses = statuses,
                                                      .test = test_some,
                                                      .wait = waits_wait_some});
}

int tutti_progressing_testsome(const struct tutti_call_requests *mine, int count, MPI_Request requests[], int *out,
                               int which[], MPI_Status *statuses)
{
    tutti_call_requests_poll(mine);
    return tutti_filtered_testsome(mine->entries, count, requests, out, which, statuses);
}
