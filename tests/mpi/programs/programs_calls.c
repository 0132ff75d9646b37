/* Calls of random programs that are neither a plain send nor a plain receive: MPI_Sendrecv, receives that never come,
 * MPI_PROC_NULL. */
#include "programs.h"
#include "programs_own.h"

/* The i-th of a circle of m; between two groups every second one is of the other group. */
static int in_circle(const struct prog_comm *comm, int first, int m, int i)
{
    int left = comm->left, right = comm->size - left, turn = i % m / 2 + first;
    i %= m;
    return comm->members[left == 0 ? (first + i) % comm->size : i % 2 ? left + turn % right : turn % left];
}

/* MPI_Sendrecv round a circle of ranks, or along a chain that begins and ends with MPI_PROC_NULL. */
int prog_exchange(struct prog_drawer *d)
{
    struct prog *p = d->p;
    int c = prog_any_comm(d, 0), replace = prog_chance(d, PROG_replace, 30), sends[PROG_RANKS], receives[PROG_RANKS];
    if (c < 0 || !prog_may(d, PROG_sendrecv))
        return 0;
    struct prog_comm *comm = &p->comm[c];
    int m = 1 + prog_dice(d, comm->size), first = prog_dice(d, comm->size), open = prog_chance(d, PROG_null, 30);
    if (comm->left) {
        int fewer = comm->left < comm->size - comm->left ? comm->left : comm->size - comm->left;
        m = 2 * (1 + prog_dice(d, fewer));
    }
    if (m == 1 && !open && !prog_may(d, PROG_self))
        return 0;
    size_t n = prog_draw_n(d, comm->element);
    struct prog_end send[PROG_RANKS], receive[PROG_RANKS];
    for (int i = 0; i < m; i++) {
        int here = in_circle(comm, first, m, i), next = in_circle(comm, first, m, i + 1);
        int before = in_circle(comm, first, m, i + m - 1);
        send[i] = (struct prog_end){.rank = here, .comm = c, .peer = next, .tag = (i + 1) % m, .group = -1};
        receive[i] = (struct prog_end){.rank = here, .receives = 1, .comm = c, .peer = before, .tag = i, .group = -1};
        if (open && i == m - 1)
            send[i].peer = PROG_NULL;
        if (open && i == 0)
            receive[i].peer = PROG_NULL;
        if (prog_partner_of(p, &send[i]) >= 0 || prog_partner_of(p, &receive[i]) >= 0)
            return 0;
    }
    for (int i = 0; i < m; i++) {
        size_t mine = replace ? n : prog_draw_n(d, comm->element);
        sends[i] = prog_new_end(d, &send[i], i || replace ? mine : n);
        if (sends[i] < 0)
            return 0;
    }
    for (int i = 0; i < m; i++) {
        size_t room = prog_longer(d, p->end[sends[(i + m - 1) % m]].n);
        if (replace) {
            receives[i] = p->ends;
            if (p->ends == PROG_ENDS)
                return 0;
            p->end[p->ends] = receive[i];
            p->end[p->ends].side = p->end[sends[i]].side;
            p->end[p->ends++].n = n;
        } else {
            receives[i] = prog_new_end(d, &receive[i], room);
            if (receives[i] < 0)
                return 0;
        }
    }
    int s[PROG_RANKS], r[PROG_RANKS];
    for (int i = 0; i < m; i++) {
        s[i] = prog_new_req(d, PROG_SENDS, send[i].rank, sends[i]);
        r[i] = prog_new_req(d, PROG_RECEIVES, send[i].rank, receives[i]);
        prog_add(d, send[i].rank, PROG_EXCHANGE, s[i], r[i])->needed = prog_chance(d, PROG_both, 50);
    }
    for (int i = 0; i < m; i++) {
        if (receive[i].peer != PROG_NULL) {
            p->req[r[i]].partner = s[(i + m - 1) % m];
            p->req[s[(i + m - 1) % m]].partner = r[i];
        }
    }
    for (int i = 0; i < m; i++) {
        prog_done_now(d, s[i]);
        prog_done_now(d, r[i]);
    }
    return 1;
}

/* A receive that never comes: looked for, or posted and cancelled. */
int prog_cancel(struct prog_drawer *d)
{
    struct prog *p = d->p;
    for (int r = 0; r < p->reqs; r++) {
        struct prog_req *req = &p->req[r];
        if (req->type == PROG_RECEIVES && p->end[req->end].tag >= PROG_NO_TAG && !req->cancelled &&
            (d->ending || prog_dice(d, 2))) {
            req->cancelled = 1;
            prog_add(d, req->rank, PROG_CANCEL, r, 0);
            return 1;
        }
    }
    int comm, a, b;
    if (d->ending || !prog_may(d, PROG_cancel) || !prog_choose_pair(d, &comm, &a, &b))
        return 0;
    struct prog_end like = {
        .rank = a, .receives = 1, .comm = comm, .peer = b, .tag = PROG_NO_TAG + prog_dice(d, 3), .group = -1};
    int end = prog_new_end(d, &like, prog_draw_n(d, p->comm[comm].element));
    if (end < 0)
        return 0;
    if (prog_chance(d, PROG_iprobe, 40))
        prog_add(d, a, PROG_GLANCE, end, 0);
    else
        prog_start(d, end, PROG_START, -1);
    return 1;
}

int prog_null(struct prog_drawer *d)
{
    int comm, a, b;
    if (!prog_may(d, PROG_null) || !prog_choose_pair(d, &comm, &a, &b))
        return 0;
    struct prog_end like = {
        .rank = a, .receives = prog_dice(d, 2), .comm = comm, .peer = PROG_NULL, .tag = prog_draw_tag(d), .group = -1};
    int end = prog_new_end(d, &like, prog_draw_n(d, d->p->comm[comm].element));
    if (end < 0)
        return 0;
    int blocks = prog_dice(d, 2), r = prog_start(d, end, blocks ? PROG_CALL : PROG_START, -1);
    if (blocks)
        prog_done_now(d, r);
    return 1;
}
