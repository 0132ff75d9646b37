/* Messages from several ranks to one that receives them from any source, with a tag of their own or on a communicator
 * of their own with any tag. Which of them a receive gets is not determined, but the set is, and the order of each
 * source: the receives of one source's messages, in the order of posting, get them in the order of sending. */
#include "programs.h"

/* Tags of groups name the program: a rank that is ahead sends those of the next one, which is no match. */
enum { TAGS_FROM = 100, PROGRAMS_APART = 1000 };
_Static_assert(TAGS_FROM + PROGRAMS_APART * PROG_GROUPS <= PROG_NO_TAG, "tags of groups are tags that are sent");

int prog_group_full(const struct prog *p, const struct prog_group *g)
{
    int started = 0;
    for (int i = 0; i < g->receives; i++)
        started += !p->req[g->receive[i]].probed;
    return started == g->total;
}

/* A new group; nothing of it is started. */
int prog_group(struct prog_drawer *d)
{
    struct prog *p = d->p;
    int c = prog_any_comm(d, prog_dice(d, 2));
    if (c < 0 || p->comm[c].loose || p->groups == PROG_GROUPS || !prog_may(d, PROG_anysource))
        return 0;
    struct prog_comm *comm = &p->comm[c];
    struct prog_group *g = &p->group[p->groups];
    int to = prog_dice(d, comm->size), first, others = prog_inter_group(comm, to, comm->left > 0, &first);
    *g = (struct prog_group){.comm = c, .to = comm->members[to], .any_tag = comm->wild};
    for (int i = 0; i < p->groups; i++) {
        if (comm->wild && p->group[i].comm == c && p->group[i].to == g->to)
            return 0;
    }
    g->tag = TAGS_FROM + (int)(p->number % PROGRAMS_APART) * PROG_GROUPS + p->groups;
    g->total = 1 + prog_dice(d, 6);
    for (int i = 0; i < g->total; i++) {
        g->from[i] = comm->members[first + prog_dice(d, others)];
        if (!prog_may(d, PROG_self) && g->from[i] == g->to)
            return 0;
    }
    g->room = prog_draw_n(d, comm->element);
    p->groups++;
    return 1;
}

static int end_of(struct prog_drawer *d, int number, int receives)
{
    struct prog *p = d->p;
    struct prog_group *g = &p->group[number];
    if (p->ends == PROG_ENDS)
        return -1;
    struct prog_end *end = &p->end[p->ends];
    *end = (struct prog_end){.rank = receives ? g->to : g->from[g->sends],
                             .receives = receives,
                             .comm = g->comm,
                             .peer = receives ? PROG_ANY : g->to,
                             .group = number};
    end->tag = !g->any_tag ? g->tag : receives ? PROG_ANY : prog_dice(d, 3);
    end->n = receives || !prog_may(d, PROG_longer) ? g->room : (size_t)prog_dice(d, (int)g->room + 1);
    if (!prog_side_draw(d, end->rank, &end->side, p->comm[g->comm].element, end->n))
        return -1;
    return p->ends++;
}

static int group_send(struct prog_drawer *d, int number)
{
    struct prog *p = d->p;
    struct prog_group *g = &p->group[number];
    int e = end_of(d, number, 0);
    if (e < 0)
        return 0;
    struct prog_end *end = &p->end[e];
    int blocks = prog_group_full(p, g) && (prog_dice(d, 2) || !prog_may(d, PROG_isend));
    if (prog_chance(d, PROG_ssend, 25))
        end->mode = PROG_MODE_SSEND;
    int r = prog_new_req(d, PROG_SENDS, end->rank, e);
    p->req[r].group = number;
    p->req[r].slot = g->sends;
    g->send[g->sends++] = r;
    p->req[r].done = blocks;
    prog_add(d, end->rank, blocks ? PROG_CALL : PROG_START, r, 0);
    return 1;
}

static int group_receive(struct prog_drawer *d, int number)
{
    struct prog *p = d->p;
    struct prog_group *g = &p->group[number];
    int e = end_of(d, number, 1);
    if (e < 0)
        return 0;
    int there = g->sends > g->receives; /* a message for it has been sent */
    int r = prog_new_req(d, PROG_RECEIVES, g->to, e);
    struct prog_req *req = &p->req[r];
    req->group = number;
    req->slot = g->receives;
    g->receive[g->receives++] = r;
    if (there && prog_chance(d, PROG_mprobe, 25)) {
        req->probed = 1;
        prog_add(d, g->to, PROG_MPROBE, r, prog_dice(d, 2));
        return 1;
    }
    if (there && prog_chance(d, PROG_probe, 20))
        prog_add(d, g->to, PROG_PROBE, r, 0);
    else if (there && prog_chance(d, PROG_iprobe, 20))
        prog_add(d, g->to, PROG_PROBE, r, 1);
    int blocks = there && (prog_dice(d, 2) || !prog_may(d, PROG_irecv));
    req->clock[g->to] = p->steps;
    req->done = blocks;
    prog_add(d, g->to, blocks ? PROG_CALL : PROG_START, r, 0);
    return 1;
}

/* The next send or receive of a group. */
int prog_group_on(struct prog_drawer *d)
{
    struct prog *p = d->p;
    if (p->groups == 0)
        return 0;
    for (int i = 0, n = prog_dice(d, p->groups); i < p->groups; i++, n = (n + 1) % p->groups) {
        struct prog_group *g = &p->group[n];
        if (g->sends == g->total && g->receives == g->total)
            continue;
        int receives = g->sends == g->total || (g->receives < g->total && prog_dice(d, 2));
        if (receives && g->receives == g->sends && !prog_may(d, PROG_irecv))
            receives = 0;
        if (!receives && !prog_group_full(p, g) && !prog_may(d, PROG_isend) && prog_may(d, PROG_irecv))
            receives = g->receives < g->total;
        return receives ? group_receive(d, n) : group_send(d, n);
    }
    return 0;
}
