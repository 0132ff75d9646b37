/* Programs as text: a line for each step. */
#include <stdarg.h>
#include <stdio.h>

#include "programs.h"

const char *const prog_way_names[PROG_WAYS] = {"Wait",    "Waitall", "Waitany",  "Waitsome",          "Test",
                                               "Testall", "Testany", "Testsome", "Request_get_status"};
static const char *const collectives[PROG_COLLECTIVES] = {"Barrier",
                                                          "Bcast",
                                                          "Gather",
                                                          "Gatherv",
                                                          "Scatter",
                                                          "Scatterv",
                                                          "Allgather",
                                                          "Allgatherv",
                                                          "Alltoall",
                                                          "Alltoallv",
                                                          "Neighbor_allgather",
                                                          "Neighbor_allgatherv",
                                                          "Neighbor_alltoall",
                                                          "Neighbor_alltoallv",
                                                          "Neighbor_alltoallw",
                                                          "Reduce",
                                                          "Allreduce",
                                                          "Reduce_scatter",
                                                          "Reduce_scatter_block",
                                                          "Scan",
                                                          "Exscan"};

struct out {
    char *at, *end;
};

static void say(struct out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct out *o, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(o->at, (size_t)(o->end - o->at), format, list);
    va_end(list);
    if (n > 0)
        o->at = n < o->end - o->at ? o->at + n : o->end - 1;
}

static void say_side(struct out *o, const struct prog_side *side)
{
    static const char *const families[] = {"", "contiguous", "vector", "indexed", "struct"};
    const struct prog_layout *layout = &side->layout;
    if (!side->used) {
        say(o, " -");
        return;
    }
    say(o, " ");
    for (int b = 0; b < side->blocks; b++)
        say(o, side->blocks > 1 ? "%s%d@%d" : "%s%d", b ? "," : "", side->count[b], side->displ[b]);
    say(o, " x %s", prog_element_names[layout->element]);
    if (layout->family != PROG_NAMED) {
        say(o, " %s(", families[layout->family]);
        for (int i = 0; i < layout->runs; i++)
            say(o, "%s%d@%d", i ? "," : "", layout->len[i], layout->disp[i]);
        say(o, layout->resized ? ")resized(%ld,%ld)" : ")", layout->lb, layout->extent);
    }
    say(o, " %s%d[%zu]", prog_memory_name(side->memory), side->memory, side->place);
    say(o, "%s%s", side->bottom ? " from MPI_BOTTOM" : "", side->wide ? " wide" : "");
}

static void say_end(struct out *o, const struct prog *p, const struct prog_end *end)
{
    static const char *const modes[] = {"send", "ssend", "bsend", "rsend"};
    say(o, " %s %s", end->receives ? "recv" : modes[end->mode], end->receives ? "from" : "to");
    if (end->peer >= 0)
        say(o, " %d", end->peer);
    else
        say(o, end->peer == PROG_ANY ? " ANY" : " NULL");
    if (end->tag == PROG_ANY)
        say(o, " tag ANY");
    else
        say(o, " tag %d", end->tag);
    say(o, " comm %d:", end->comm);
    say_side(o, &end->side);
    say(o, " (%zu bytes)%s", end->n * prog_element_bytes[end->side.layout.element],
        end->persistent ? " persistent" : "");
    if (end->packed)
        say(o, " packed in %s", end->packed == 1 ? "host" : "device");
    if (end->parts)
        say(o, " in %d partitions", end->parts);
    (void)p;
}

static void say_req(struct out *o, const struct prog *p, int r)
{
    const struct prog_req *req = &p->req[r];
    say(o, " #%d", r);
    if (req->type > PROG_RECEIVES)
        return;
    if (req->partner >= 0)
        say(o, "<->#%d", req->partner);
    if (req->group >= 0)
        say(o, " group %d", req->group);
    say_end(o, p, &p->end[req->end]);
}

static void say_coll(struct out *o, const struct prog *p, int number, int rank)
{
    const struct prog_coll *coll = &p->coll[number];
    int me = prog_rank_in(&p->comm[coll->comm], rank);
    say(o, " %s (coll %d) comm %d", collectives[coll->kind], number, coll->comm);
    if (coll->kind == PROG_BARRIER)
        return;
    say(o, " root %d%s op %d:", coll->root, coll->in_place ? " in place" : "", coll->op);
    if (coll->parts[0])
        say(o, " partitions %d, %d:", coll->parts[0], coll->parts[1]);
    say_side(o, &coll->side[me][0]);
    say(o, " ->");
    say_side(o, &coll->side[me][1]);
}

/* Members; of a communicator with neighbours how they lie, or whom each tells and hears. */
static void say_made(struct out *o, const struct prog *p, int number, int first)
{
    static const char *const origins[PROG_ORIGINS] = {
        "", "Comm_dup", "Comm_split", "", "Cart_create", "Dist_graph_create_adjacent", "Intercomm_create"};
    const struct prog_comm *comm = &p->comm[number < 0 ? first : number];
    say(o, "%s -> comm %d of %d:", origins[comm->origin], number, comm->parent);
    for (int i = 0; number >= 0 && i < comm->size; i++)
        say(o, "%s%d", i && i == comm->left ? " | " : " ", comm->members[i]);
    if (number < 0 || comm->topology < 0)
        return;
    const struct prog_topology *topology = &p->topology[comm->topology];
    for (int k = 0; k < topology->dims; k++)
        say(o, "%s%d%s", k ? " x " : ", ", topology->dim[k], topology->periods[k] ? " periodic" : "");
    for (int i = 0; topology->dims == 0 && i < comm->size; i++) {
        say(o, ", %d:", i);
        for (int b = 0; b < topology->ins[i]; b++)
            say(o, " from %d", topology->from[i][b]);
        for (int b = 0; b < topology->outs[i]; b++)
            say(o, " to %d", topology->to[i][b]);
    }
}

void prog_text_step(const struct prog *p, int number, char *text, size_t size)
{
    static const char *const names[] = {"call",
                                        "start",
                                        "init",
                                        "free persistent",
                                        "sendrecv",
                                        "probe",
                                        "Iprobe for nothing",
                                        "mprobe",
                                        "",
                                        "Cancel",
                                        "Request_free",
                                        "",
                                        "begin",
                                        "",
                                        "Comm_idup",
                                        "Comm_free",
                                        "sleep",
                                        "init of",
                                        "free persistent",
                                        "mark"};
    struct out out = {text, text + size}, *o = &out;
    const struct prog_step *step = &p->step[number];
    say(o, "%4d r%d ", number, step->rank);
    if (step->pause)
        say(o, "(%d us later) ", step->pause);
    say(o, "%s", names[step->what]);
    switch (step->what) {
    case PROG_INIT:
    case PROG_DROP:
    case PROG_GLANCE:
        say(o, " end %d", step->a);
        say_end(o, p, &p->end[step->a]);
        break;
    case PROG_COMPLETE:
        say(o, "%s (%d needed%s)", prog_way_names[step->way], step->needed, step->aside ? ", aside" : "");
        for (int i = 0; i < step->b; i++)
            say(o, " #%d", p->list[step->a + i]);
        break;
    case PROG_COLLECTIVE:
    case PROG_SETUP:
        say_coll(o, p, step->a, step->rank);
        break;
    case PROG_BEGIN:
        say(o, " #%d", step->a);
        say_coll(o, p, p->req[step->a].end, step->rank);
        break;
    case PROG_MAKE:
        say_made(o, p, step->a, step->b);
        break;
    case PROG_MAKE_LATER:
        say(o, " #%d comm %d of %d", step->a, p->req[step->a].end, p->comm[p->req[step->a].end].parent);
        break;
    case PROG_UNMAKE:
    case PROG_SLEEP:
    case PROG_LEAVE:
        say(o, " %d", step->a);
        break;
    case PROG_CANCEL:
    case PROG_FREE:
        say(o, " #%d", step->a);
        break;
    default:
        if ((step->what == PROG_PROBE || step->what == PROG_MPROBE) && step->b)
            say(o, " (I)");
        if (step->what == PROG_EXCHANGE && step->needed)
            say(o, " (I)");
        say_req(o, p, step->a);
        if (step->what == PROG_EXCHANGE)
            say_req(o, p, step->b);
    }
}

void prog_text(const struct prog *p, void (*line)(const char *))
{
    char text[2000];
    for (int s = 0; s < p->steps; s++) {
        prog_text_step(p, s, text, sizeof text);
        line(text);
    }
}
