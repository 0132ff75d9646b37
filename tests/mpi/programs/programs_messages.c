/* Messages of random programs. Sends and receives that are started are matched at once, as MPI's rules of order demand
 * for any timing: of one pair of ranks and communicator a send goes to the first receive posted that takes it, a
 * receive takes the first such send. Nothing that could be matched stays unmatched in between. */
#include "programs.h"
#include "programs_own.h"

static int matches(const struct prog_end *receive, const struct prog_end *send)
{
    return receive->comm == send->comm && receive->rank == send->peer && receive->peer == send->rank &&
           (receive->tag == send->tag || receive->tag == PROG_ANY) && receive->group < 0 && send->group < 0;
}

int prog_partner_of(const struct prog *p, const struct prog_end *end)
{
    enum prog_type wanted = end->receives ? PROG_SENDS : PROG_RECEIVES;
    for (int r = 0; r < p->reqs; r++) {
        const struct prog_req *req = &p->req[r];
        if (req->type != wanted || req->partner >= 0 || req->group >= 0)
            continue;
        const struct prog_end *other = &p->end[req->end];
        if (other->peer != PROG_NULL && other->tag < PROG_NO_TAG &&
            (end->receives ? matches(end, other) : matches(other, end)))
            return r;
    }
    return -1;
}

int prog_start(struct prog_drawer *d, int end, enum prog_what what, int with)
{
    struct prog *p = d->p;
    int r = prog_new_req(d, p->end[end].receives ? PROG_RECEIVES : PROG_SENDS, p->end[end].rank, end);
    p->req[r].partner = with;
    if (with >= 0)
        p->req[with].partner = r;
    prog_add(d, p->end[end].rank, what, r, 0);
    return r;
}

int prog_new_end(struct prog_drawer *d, const struct prog_end *like, size_t n)
{
    struct prog *p = d->p;
    if (p->ends == PROG_ENDS)
        return -1;
    struct prog_end *end = &p->end[p->ends];
    *end = *like;
    end->group = -1;
    end->n = n;
    if (!prog_side_draw(d, end->rank, &end->side, p->comm[end->comm].element, n))
        return -1;
    return p->ends++;
}

static size_t bytes_of(const struct prog *p, const struct prog_end *end)
{
    return end->n * prog_element_bytes[p->comm[end->comm].element];
}

/* MPI_Bsend needs room in the attached buffer until the message has left. */
static int may_buffer(struct prog_drawer *d, const struct prog_end *end)
{
    size_t bytes = bytes_of(d->p, end) + 256;
    return prog_may(d, PROG_bsend) && d->p->buffered[end->rank] + bytes < d->arena / 2;
}

/* The receive is known to have been posted before the rank's next step. */
static int surely_posted(const struct prog_drawer *d, int rank, int receive)
{
    if (receive < 0)
        return 0;
    const struct prog_req *req = &d->p->req[receive];
    return !req->probed && d->clock[rank][req->rank] > req->clock[req->rank];
}

/* Whether the MPI is given packed bytes. A receive unpacks all that it has room for. MPICH's MPI_Pack and MPI_Unpack
 * refuse MPI_BOTTOM. */
static void choose_packing(struct prog_drawer *d, struct prog_end *end, int with)
{
    const int fits = !end->receives || (with >= 0 && d->p->end[d->p->req[with].end].n == end->n);
    if (fits && !end->side.bottom && prog_chance(d, PROG_packed, 20))
        end->packed = 1 + prog_chance(d, PROG_device, 50);
}

/* Chooses how an end with a known partner is sent or received. Returns whether it blocks. */
static int choose_form(struct prog_drawer *d, struct prog_end *end, int with)
{
    choose_packing(d, end, with);
    if (end->receives)
        return with >= 0 && (prog_dice(d, 2) || !prog_may(d, PROG_irecv));
    enum { TRIES = 6 };
    end->mode = PROG_MODE_SEND;
    if (prog_chance(d, PROG_ssend, 25))
        end->mode = PROG_MODE_SSEND;
    else if (may_buffer(d, end) && prog_dice(d, 4) == 0)
        end->mode = PROG_MODE_BSEND;
    else if (prog_chance(d, PROG_rsend, 60) && surely_posted(d, end->rank, with))
        end->mode = PROG_MODE_RSEND;
    int blocks = end->mode == PROG_MODE_BSEND || (with >= 0 && !d->p->req[with].probed);
    return blocks && (prog_dice(d, 2) || !prog_may(d, PROG_isend));
}

static void count_buffered(struct prog_drawer *d, const struct prog_end *end)
{
    if (!end->receives && end->mode == PROG_MODE_BSEND)
        d->p->buffered[end->rank] += bytes_of(d->p, end) + 256;
}

void prog_done_now(struct prog_drawer *d, int req)
{
    struct prog_req *it = &d->p->req[req];
    it->done = 1;
    if (it->type == PROG_RECEIVES && it->partner >= 0)
        prog_learn(d, it->rank, d->p->req[it->partner].clock);
}

/* Starts an end in the way chosen. */
static int go(struct prog_drawer *d, int end, int with)
{
    int blocks = choose_form(d, &d->p->end[end], with);
    if (!d->p->end[end].receives)
        count_buffered(d, &d->p->end[end]);
    int r = prog_start(d, end, blocks ? PROG_CALL : PROG_START, with);
    if (blocks)
        prog_done_now(d, r);
    return 1;
}

int prog_draw_tag(struct prog_drawer *d)
{
    return prog_dice(d, 3);
}

size_t prog_longer(struct prog_drawer *d, size_t n)
{
    return prog_chance(d, PROG_longer, 30) ? n + 1 + (size_t)prog_dice(d, prog_dice(d, 3) ? 20 : 2000) : n;
}

/* A receive for a send that is under way, perhaps probed first. */
static int receive(struct prog_drawer *d, int send)
{
    struct prog *p = d->p;
    const struct prog_end *from = &p->end[p->req[send].end];
    struct prog_end like = {
        .rank = from->peer, .receives = 1, .comm = from->comm, .peer = from->rank, .tag = from->tag, .group = -1};
    if (p->comm[like.comm].loose && prog_dice(d, 3) == 0)
        like.tag = PROG_ANY;
    send = prog_partner_of(p, &like); /* an earlier one, perhaps */
    if (send < 0)
        return 0;
    from = &p->end[p->req[send].end];
    size_t n = prog_longer(d, from->n);
    if (from->n > 1 && prog_chance(d, PROG_truncate, 15))
        n = (size_t)prog_dice(d, (int)from->n);
    int end = prog_new_end(d, &like, n);
    if (end < 0)
        return 0;
    int knows = prog_dice(d, 4);
    if (knows == 0 && prog_may(d, PROG_mprobe)) {
        int r = prog_start(d, end, PROG_MPROBE, send);
        p->step[p->steps - 1].b = prog_dice(d, 2);
        p->req[r].probed = 1;
        return 1;
    }
    if ((knows == 1 && prog_may(d, PROG_probe)) || (knows == 2 && prog_may(d, PROG_iprobe))) {
        int r = prog_start(d, end, PROG_PROBE, send);
        p->step[p->steps - 1].b = knows == 2;
        if (prog_dice(d, 2) || !prog_may(d, PROG_irecv)) {
            prog_add(d, like.rank, PROG_CALL, r, 0);
            prog_done_now(d, r);
        } else {
            prog_add(d, like.rank, PROG_START, r, 0);
        }
        p->req[r].clock[like.rank] = p->steps - 1;
        return 1;
    }
    return go(d, end, send);
}

static int unmatched(struct prog_drawer *d, enum prog_type type)
{
    struct prog *p = d->p;
    if (p->reqs == 0)
        return -1;
    for (int i = 0, r = prog_dice(d, p->reqs); i < p->reqs; i++, r = (r + 1) % p->reqs) {
        const struct prog_req *req = &p->req[r];
        if (req->type != type || req->partner >= 0 || req->group >= 0)
            continue;
        const struct prog_end *end = &p->end[req->end];
        if (end->peer != PROG_NULL && end->tag < PROG_NO_TAG)
            return r;
    }
    return -1;
}

int prog_receive_sent(struct prog_drawer *d)
{
    int send = unmatched(d, PROG_SENDS);
    return send >= 0 && receive(d, send);
}

/* A send for a receive that is posted. */
int prog_send_wanted(struct prog_drawer *d)
{
    struct prog *p = d->p;
    int r = unmatched(d, PROG_RECEIVES);
    if (r < 0)
        return 0;
    const struct prog_end *to = &p->end[p->req[r].end];
    struct prog_end like = {.rank = to->peer, .comm = to->comm, .peer = to->rank, .tag = to->tag, .group = -1};
    if (like.tag == PROG_ANY)
        like.tag = prog_draw_tag(d);
    r = prog_partner_of(p, &like);
    to = &p->end[p->req[r].end];
    size_t n = to->n;
    if (prog_chance(d, PROG_longer, 30))
        n = (size_t)prog_dice(d, (int)n + 1);
    else if (prog_chance(d, PROG_truncate, 15))
        n += 1 + (size_t)prog_dice(d, 1000);
    int end = prog_new_end(d, &like, n);
    return end >= 0 && go(d, end, r);
}

int prog_choose_pair(struct prog_drawer *d, int *comm, int *a, int *b)
{
    *comm = prog_any_comm(d, 0);
    if (*comm < 0)
        return 0;
    const struct prog_comm *it = &d->p->comm[*comm];
    int place = prog_dice(d, it->size), first, n = prog_inter_group(it, place, it->left > 0, &first);
    *a = it->members[place];
    *b = it->members[first + prog_dice(d, n)];
    return *a != *b || prog_may(d, PROG_self);
}

int prog_message(struct prog_drawer *d)
{
    struct prog *p = d->p;
    int comm, a, b;
    if (!prog_choose_pair(d, &comm, &a, &b))
        return 0;
    struct prog_end send = {.rank = a, .comm = comm, .peer = b, .tag = prog_draw_tag(d), .group = -1};
    struct prog_end receives = {.rank = b, .receives = 1, .comm = comm, .peer = a, .tag = send.tag, .group = -1};
    if (p->comm[comm].loose && prog_dice(d, 3) == 0)
        receives.tag = PROG_ANY;
    int there = prog_partner_of(p, &send), here = prog_partner_of(p, &receives), way = prog_dice(d, 3);
    size_t n = prog_draw_n(d, p->comm[comm].element);
    if (way == 0 && prog_may(d, PROG_send) && there < 0 && here < 0 && a != b) { /* both block */
        int one = prog_new_end(d, &send, n), two = one < 0 ? -1 : prog_new_end(d, &receives, prog_longer(d, n));
        if (two < 0)
            return 0;
        p->end[one].mode = prog_chance(d, PROG_ssend, 30) ? PROG_MODE_SSEND : PROG_MODE_SEND;
        int r = prog_start(d, one, PROG_CALL, -1);
        int q = prog_start(d, two, PROG_CALL, r);
        prog_done_now(d, r);
        prog_done_now(d, q);
        return 1;
    }
    if (way == 1 && there < 0 && (prog_may(d, PROG_isend) || prog_may(d, PROG_bsend))) {
        send.n = n;
        if (!prog_may(d, PROG_isend) && !may_buffer(d, &send))
            return 0;
        int end = prog_new_end(d, &send, n);
        if (end < 0)
            return 0;
        if (prog_may(d, PROG_isend))
            return go(d, end, -1);
        p->end[end].mode = PROG_MODE_BSEND;
        count_buffered(d, &p->end[end]);
        prog_done_now(d, prog_start(d, end, PROG_CALL, -1));
        return 1;
    }
    if (way == 2 && here < 0 && prog_may(d, PROG_irecv)) {
        int end = prog_new_end(d, &receives, n);
        return end >= 0 && go(d, end, -1);
    }
    return 0;
}

/* MPI_Mrecv and MPI_Imrecv of what was probed. */
int prog_receive_probed(struct prog_drawer *d)
{
    struct prog *p = d->p;
    for (int r = 0; r < p->reqs; r++) {
        struct prog_req *req = &p->req[r];
        if (!req->probed || (prog_dice(d, 3) == 0 && !d->ending))
            continue;
        int blocks = prog_dice(d, 2) || !prog_may(d, PROG_irecv);
        req->probed = 0;
        req->clock[req->rank] = p->steps;
        prog_add(d, req->rank, blocks ? PROG_CALL : PROG_START, r, 1);
        if (blocks && req->group < 0)
            prog_done_now(d, r);
        else if (blocks)
            req->done = 1;
        return 1;
    }
    return 0;
}

/* Starts a persistent send or receive, or makes one. */
int prog_persistent(struct prog_drawer *d)
{
    struct prog *p = d->p;
    if (!prog_may(d, PROG_persistent))
        return 0;
    for (int i = 0, e = prog_dice(d, p->ends + 1); i < p->ends; i++, e = (e + 1) % p->ends) {
        e %= p->ends;
        struct prog_end *end = &p->end[e];
        int active = 0;
        if (end->persistent != 1 || end->group >= 0 || end->parts)
            continue;
        for (int r = 0; r < p->reqs; r++)
            active += p->req[r].end == e && p->req[r].type <= PROG_RECEIVES && !p->req[r].done;
        int with = prog_partner_of(p, end);
        if (active ||
            (with >= 0 && (end->receives ? p->end[p->req[with].end].n > end->n : p->end[p->req[with].end].n < end->n)))
            continue;
        if (end->mode == PROG_MODE_BSEND && !may_buffer(d, end))
            continue;
        if (end->mode == PROG_MODE_RSEND && !surely_posted(d, end->rank, with))
            continue;
        count_buffered(d, end);
        prog_start(d, e, PROG_START, with);
        return 1;
    }
    int comm, a, b;
    if (!prog_choose_pair(d, &comm, &a, &b))
        return 0;
    struct prog_end like = {.rank = a,
                            .receives = prog_dice(d, 2),
                            .comm = comm,
                            .peer = b,
                            .tag = prog_draw_tag(d),
                            .persistent = 1,
                            .group = -1};
    if (like.receives && p->comm[comm].loose && prog_dice(d, 3) == 0)
        like.tag = PROG_ANY;
    static const enum prog_kind kinds[] = {PROG_send, PROG_ssend, PROG_bsend, PROG_rsend};
    like.mode = (enum prog_mode)prog_dice(d, 4);
    if (like.receives || !prog_may(d, kinds[like.mode]) || (like.mode == PROG_MODE_BSEND && !prog_may(d, PROG_pbsend)))
        like.mode = PROG_MODE_SEND;
    int end = prog_new_end(d, &like, prog_draw_n(d, p->comm[comm].element));
    if (end < 0)
        return 0;
    prog_add(d, a, PROG_INIT, end, 0);
    return 1;
}

/* MPI_Request_free of a persistent end that is not active; at the end of a program. */
int prog_drop(struct prog_drawer *d)
{
    for (int e = 0; e < d->p->ends; e++) {
        if (d->p->end[e].persistent == 1) {
            d->p->end[e].persistent = 2;
            prog_add(d, d->p->end[e].rank, PROG_DROP, e, 0);
            return 1;
        }
    }
    return 0;
}
