/* Completion of random programs' requests, in each of MPI's ways. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "programs.h"

struct set {
    struct prog_run *run;
    int n, which[PROG_IN_LIST]; /* requests of the program */
    int guests;                 /* requests behind them, which are none of the program: 0 or 1 */
    MPI_Request handle[PROG_IN_LIST + 1];
    MPI_Status status[PROG_IN_LIST + 1];
};

static MPI_Request *place_of(struct prog_run *run, int r)
{
    const struct prog_req *req = &run->p->req[r];
    if (req->type == PROG_COLLECTS && run->p->coll[req->end].persistent)
        return &run->coll[run->p->coll[req->end].base];
    int lasts = req->type <= PROG_RECEIVES && run->p->end[req->end].persistent;
    return lasts ? &run->end[req->end] : &run->req[r];
}

/* The MPI has completed entry i. */
static void completed(struct set *set, int i, MPI_Status *status, int error)
{
    struct prog_run *run = set->run;
    int r = set->which[i];
    if (!prog_check(run, !run->done[r], "#%d is said to be complete twice", r))
        return;
    prog_arrived(run, r, status, error);
}

static void give_back(struct set *set)
{
    for (int i = 0; i < set->n; i++) {
        int r = set->which[i], lasts = place_of(set->run, r) != &set->run->req[r];
        if (set->run->started[r])
            *place_of(set->run, r) = set->handle[i];
        if (set->run->done[r])
            prog_check(set->run, lasts == (set->handle[i] != MPI_REQUEST_NULL), "#%d: handle after completion: %s null",
                       r, lasts ? "is" : "is not");
    }
}

static int left(const struct set *set, int of)
{
    int n = 0;
    for (int i = 0; i < of; i++)
        n += !set->run->done[set->which[i]];
    return n;
}

/* Waitany, Testany: one at a time. */
static void one_by_one(struct set *set, int test, int needed)
{
    while (left(set, needed)) {
        int index = -77, flag = 1;
        MPI_Status status = {.MPI_SOURCE = -77};
        int error = test ? MPI_Testany(set->n, set->handle, &index, &flag, &status)
                         : MPI_Waitany(set->n, set->handle, &index, &status);
        if (!flag)
            continue;
        if (!prog_check(set->run, index >= 0 && index < set->n, "%s: index %d", test ? "MPI_Testany" : "MPI_Waitany",
                        index))
            return;
        completed(set, index, &status, error);
    }
}

static void some_by_some(struct set *set, int test, int needed)
{
    while (left(set, needed)) {
        int indices[PROG_IN_LIST], count = -77;
        for (int i = 0; i < set->n; i++)
            set->status[i].MPI_ERROR = MPI_SUCCESS;
        int error = test ? MPI_Testsome(set->n, set->handle, &count, indices, set->status)
                         : MPI_Waitsome(set->n, set->handle, &count, indices, set->status);
        if (!prog_check(set->run, count >= !test && count <= set->n, "%s: count %d",
                        test ? "MPI_Testsome" : "MPI_Waitsome", count))
            return;
        for (int i = 0; i < count; i++) {
            if (prog_check(set->run, indices[i] >= 0 && indices[i] < set->n, "MPI_Waitsome, MPI_Testsome: index %d",
                           indices[i]))
                completed(set, indices[i], &set->status[i],
                          kit_class(error) == MPI_ERR_IN_STATUS ? set->status[i].MPI_ERROR : error);
        }
    }
}

/* What a call that completes all has left. 0: it failed. */
static int all_completed(struct set *set, int error)
{
    if (!prog_check(set->run, error == MPI_SUCCESS || kit_class(error) == MPI_ERR_IN_STATUS,
                    "MPI_Waitall, MPI_Testall: error class %d", kit_class(error)))
        return 0;
    for (int i = 0; i < set->n; i++) {
        int own = error == MPI_SUCCESS ? MPI_SUCCESS : set->status[i].MPI_ERROR;
        if (!set->run->done[set->which[i]] && kit_class(own) != MPI_ERR_PENDING)
            completed(set, i, &set->status[i], own);
    }
    return 1;
}

static int guest_query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 7);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 5;
    status->MPI_TAG = 6;
    return MPI_SUCCESS;
}

static int guest_free(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int guest_cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

/* A generalised request that is complete, behind the others. */
static void guest_comes(struct set *set)
{
    int n = set->n;
    MPI_Grequest_start(guest_query, guest_free, guest_cancel, NULL, &set->handle[n]);
    MPI_Grequest_complete(set->handle[n]);
    set->status[n] = (MPI_Status){.MPI_SOURCE = -77, .MPI_ERROR = MPI_SUCCESS};
    set->guests = 1;
}

static void guest_goes(struct set *set, int error)
{
    int n = set->n, count = -1;
    if (set->handle[n] != MPI_REQUEST_NULL)
        return;
    set->guests = 0;
    MPI_Get_count(&set->status[n], MPI_BYTE, &count);
    prog_check(set->run,
               set->status[n].MPI_SOURCE == 5 && set->status[n].MPI_TAG == 6 && count == 7 &&
                   (error == MPI_SUCCESS || set->status[n].MPI_ERROR == MPI_SUCCESS),
               "status of a generalised request: source %d, tag %d, count %d", set->status[n].MPI_SOURCE,
               set->status[n].MPI_TAG, count);
}

/* Waitall, Testall. Where one request fails the others may be pending: then again. */
static void all_at_once(struct set *set, int test)
{
    if (left(set, set->n) && set->run->p->kinds.may[PROG_guest] && set->which[0] % 3 == 0)
        guest_comes(set);
    while (left(set, set->n) || set->guests) {
        int flag = 1, error, n = set->n + set->guests;
        for (int i = 0; i < set->n; i++)
            set->status[i] = (MPI_Status){.MPI_SOURCE = -77, .MPI_ERROR = MPI_SUCCESS};
        error = test ? MPI_Testall(n, set->handle, &flag, set->status) : MPI_Waitall(n, set->handle, set->status);
        if (!flag && error == MPI_SUCCESS)
            continue;
        if (set->guests)
            guest_goes(set, error);
        if (!all_completed(set, error))
            return;
    }
}

static void one(struct set *set, enum prog_way way)
{
    if (set->run->done[set->which[0]])
        return;
    int flag = 0, error = MPI_SUCCESS;
    MPI_Status status = {.MPI_SOURCE = -77}, seen = status;
    if (way == PROG_GETSTATUS) {
        while (!flag && error == MPI_SUCCESS)
            error = MPI_Request_get_status(set->handle[0], &flag, &seen);
        prog_check(set->run, set->handle[0] != MPI_REQUEST_NULL, "MPI_Request_get_status has freed the request");
    }
    if (way == PROG_TEST) {
        for (flag = 0, error = MPI_SUCCESS; !flag && error == MPI_SUCCESS;)
            error = MPI_Test(&set->handle[0], &flag, &status);
    } else {
        error = MPI_Wait(&set->handle[0], &status);
    }
    if (way == PROG_GETSTATUS && set->run->p->req[set->which[0]].type == PROG_RECEIVES) {
        int counts[2] = {-1, -2};
        MPI_Get_count(&seen, MPI_BYTE, &counts[0]);
        MPI_Get_count(&status, MPI_BYTE, &counts[1]);
        prog_check(set->run,
                   seen.MPI_SOURCE == status.MPI_SOURCE && seen.MPI_TAG == status.MPI_TAG && counts[0] == counts[1],
                   "MPI_Request_get_status told of %d bytes from %d, MPI_Wait of %d from %d", counts[0],
                   seen.MPI_SOURCE, counts[1], status.MPI_SOURCE);
    }
    completed(set, 0, &status, error);
}

/* ---- a second thread ---- */

/* What it does: one call, whose results the rank's own thread looks at. */
struct prog_aside {
    struct set set;
    pthread_t thread;
    int single, error, at, steps;
};

static void *wait_aside(void *with)
{
    struct prog_aside *aside = with;
    struct set *set = &aside->set;
    aside->error =
        aside->single ? MPI_Wait(&set->handle[0], &set->status[0]) : MPI_Waitall(set->n, set->handle, set->status);
    return NULL;
}

/* 1 if the rank may make the step while a second thread waits for requests that are none of the step's. */
static int may_overlap(const struct prog *p, const struct prog_step *step)
{
    const struct prog_end *end =
        step->what == PROG_CALL || step->what == PROG_START ? &p->end[p->req[step->a].end] : NULL;
    switch (step->what) {
    case PROG_CALL:
    case PROG_START:
        return !end->persistent && end->mode != PROG_MODE_RSEND;
    case PROG_EXCHANGE:
    case PROG_PROBE:
    case PROG_MPROBE:
    case PROG_GLANCE:
    case PROG_COLLECTIVE:
    case PROG_SLEEP:
        return 1;
    case PROG_BEGIN:
        return !p->coll[p->req[step->a].end].persistent;
    default:
        return 0;
    }
}

static int begin_aside(struct set *set, const struct prog_step *step)
{
    struct prog_run *run = set->run;
    if (!step->aside || left(set, set->n) < set->n)
        return 0;
    struct prog_aside *aside = malloc(sizeof *aside);
    if (!aside)
        abort();
    *aside = (struct prog_aside){.set = *set, .single = step->way == PROG_WAIT, .at = run->at, .steps = step->aside};
    for (int i = 0; i < set->n; i++)
        aside->set.status[i] = (MPI_Status){.MPI_SOURCE = -77, .MPI_ERROR = MPI_SUCCESS};
    if (pthread_create(&aside->thread, NULL, wait_aside, aside) != 0)
        abort();
    run->aside = aside;
    return 1;
}

void prog_aside_join(struct prog_run *run, const struct prog_step *step)
{
    struct prog_aside *aside = run->aside;
    if (!aside || (step && aside->steps-- > 0 && may_overlap(run->p, step)))
        return;
    const int at = run->at;
    run->at = aside->at;
    pthread_join(aside->thread, NULL);
    run->aside = NULL;
    if (aside->single)
        completed(&aside->set, 0, &aside->set.status[0], aside->error);
    else if (all_completed(&aside->set, aside->error))
        all_at_once(&aside->set, 0);
    give_back(&aside->set);
    free(aside);
    run->at = at;
}

void prog_complete_step(struct prog_run *run, const struct prog_step *step)
{
    struct set set = {.run = run};
    for (int i = 0; i < step->b; i++) {
        int r = run->p->list[step->a + i];
        /* what an earlier step has completed is a null handle, and a persistent one inactive or active again */
        set.which[set.n] = r;
        set.handle[set.n++] = run->done[r] || !run->started[r] ? MPI_REQUEST_NULL : *place_of(run, r);
    }
    if (begin_aside(&set, step))
        return;
    int before[PROG_IN_LIST];
    for (int i = 0; i < set.n; i++)
        before[i] = run->done[set.which[i]];
    switch (step->way) {
    case PROG_WAITANY:
    case PROG_TESTANY:
        one_by_one(&set, step->way == PROG_TESTANY, step->needed);
        break;
    case PROG_WAITSOME:
    case PROG_TESTSOME:
        some_by_some(&set, step->way == PROG_TESTSOME, step->needed);
        break;
    case PROG_WAITALL:
    case PROG_TESTALL:
        all_at_once(&set, step->way == PROG_TESTALL);
        break;
    default:
        one(&set, step->way);
    }
    int n = 0;
    for (int i = 0; i < set.n; i++) { /* those that were complete before keep what they have */
        if (before[i])
            continue;
        set.which[n] = set.which[i];
        set.handle[n++] = set.handle[i];
    }
    set.n = n;
    give_back(&set);
}
