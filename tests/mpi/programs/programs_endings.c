/* How what is open is completed: any set of one rank's requests, of which some must be able to complete, in any way. */
#include "programs.h"

/* 1 if the request completes whatever the other ranks do after their steps so far. */
int prog_completable(const struct prog *p, int number)
{
    const struct prog_req *req = &p->req[number];
    if (req->probed)
        return 0;
    if (req->type == PROG_COLLECTS || req->type == PROG_DUPLICATES) {
        const struct prog_coll *coll = &p->coll[req->end];
        const struct prog_comm *comm = &p->comm[req->type == PROG_COLLECTS ? coll->comm : req->end];
        for (int i = 0; i < comm->size; i++) {
            if ((req->type == PROG_COLLECTS ? coll->req[i] : comm->req[i]) < 0)
                return 0;
        }
        return 1;
    }
    const struct prog_end *end = &p->end[req->end];
    if (end->peer == PROG_NULL)
        return 1;
    if (end->tag >= PROG_NO_TAG)
        return req->cancelled;
    if (req->type == PROG_SENDS && end->mode == PROG_MODE_BSEND)
        return 1;
    if (req->group >= 0) {
        const struct prog_group *g = &p->group[req->group];
        if (req->type == PROG_RECEIVES)
            return g->sends > req->slot;
        return prog_group_full(p, g);
    }
    return req->partner >= 0 && !p->req[req->partner].probed && !req->unmarked && !p->req[req->partner].unmarked;
}

static void done(struct prog_drawer *d, int number)
{
    struct prog *p = d->p;
    struct prog_req *req = &p->req[number];
    req->done = 1;
    if (req->type == PROG_RECEIVES && req->partner >= 0)
        prog_learn(d, req->rank, p->req[req->partner].clock);
    if (req->type == PROG_DUPLICATES) {
        struct prog_comm *comm = &p->comm[req->end];
        int ready = 1;
        for (int i = 0; i < comm->size; i++)
            ready &= comm->req[i] >= 0 && p->req[comm->req[i]].done;
        comm->ready = ready;
    }
}

static enum prog_way choose_way(struct prog_drawer *d, int n, int surely)
{
    int test = prog_chance(d, PROG_test, 40), dice = prog_dice(d, 4);
    if (n == 1 && prog_chance(d, PROG_getstatus, 15))
        return PROG_GETSTATUS;
    if (n == 1 && dice < 2)
        return test ? PROG_TEST : PROG_WAIT;
    if (dice < 3 && prog_chance(d, PROG_any, 60))
        return test ? PROG_TESTANY : PROG_WAITANY;
    if (prog_chance(d, PROG_some, 60))
        return test ? PROG_TESTSOME : PROG_WAITSOME;
    if (surely == n)
        return test ? PROG_TESTALL : PROG_WAITALL;
    return PROG_WAYS;
}

/* 1 if a send's request may be freed while it is under way. */
static int may_free(const struct prog_drawer *d, const struct prog_req *req)
{
    const struct prog *p = d->p;
    if (req->type == PROG_SENDS && p->end[req->end].peer == req->rank && !prog_may(d, PROG_selffree))
        return 0;
    return req->type == PROG_SENDS && !p->end[req->end].persistent && p->end[req->end].peer != PROG_NULL;
}

/* Completes some of the rank's open requests. */
int prog_complete(struct prog_drawer *d, int rank)
{
    struct prog *p = d->p;
    int sure[PROG_IN_LIST], maybe[PROG_IN_LIST], n = 0, m = 0, all = d->ending || prog_dice(d, 3) == 0;
    int first = p->reqs ? prog_dice(d, p->reqs) : 0;
    for (int i = 0; i < p->reqs; i++) {
        int r = (first + i) % p->reqs;
        struct prog_req *req = &p->req[r];
        if (req->rank != rank || req->done || req->probed)
            continue;
        int ends = prog_completable(p, r);
        if (may_free(d, req) && prog_chance(d, PROG_reqfree, 8)) {
            req->done = req->freed = 1;
            p->settle = 1;
            prog_add(d, rank, PROG_FREE, r, 0);
            continue;
        }
        if (ends && n < PROG_IN_LIST / 2 && (all || prog_dice(d, 2)))
            sure[n++] = r;
        else if (m < PROG_IN_LIST / 2 && prog_dice(d, 2))
            maybe[m++] = r;
    }
    if (n == 0)
        return 0;
    int surely = n;
    enum prog_way way = choose_way(d, n, n);
    if (way == PROG_WAITANY || way == PROG_WAITSOME || way == PROG_TESTANY || way == PROG_TESTSOME) {
        for (int i = 0; i < m && prog_dice(d, 3); i++)
            sure[n++] = maybe[i];
    }
    if (way == PROG_WAYS)
        way = PROG_WAITALL;
    int makes = 0;
    for (int i = 0; i < n; i++)
        makes |= p->req[sure[i]].type == PROG_DUPLICATES;
    if (p->listed + n > PROG_LISTED)
        return 0;
    struct prog_step *step = prog_add(d, rank, PROG_COMPLETE, p->listed, n);
    step->way = way;
    if (!makes && (way == PROG_WAIT || way == PROG_WAITALL) && prog_chance(d, PROG_aside, 50))
        step->aside = 1 + prog_dice(d, 6);
    step->needed = surely;
    for (int i = 0; i < n; i++)
        p->list[p->listed++] = sure[i];
    for (int i = 0; i < surely; i++)
        done(d, sure[i]);
    return 1;
}
