/* Makes a rank's steps of a random program, and says what differs from what must come. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"
#include "programs_pack.h"

int prog_check(struct prog_run *run, int fine, const char *format, ...)
{
    char text[2000], what[500];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    if (CHECK(fine, "program %llu: %s", (unsigned long long)run->p->number, what))
        return 1;
    run->failed++;
    if (run->at >= 0 && run->at < run->p->steps) {
        prog_text_step(run->p, run->at, text, sizeof text);
        fprintf(stderr, "  at step%s\n", text);
    }
    return 0;
}

static int rank_in(const struct prog_comm *comm, int world)
{
    return prog_rank_of(comm, prog_rank_in(comm, world));
}

static int peer_of(const struct prog *p, const struct prog_end *end)
{
    return end->peer == PROG_NULL  ? MPI_PROC_NULL
           : end->peer == PROG_ANY ? MPI_ANY_SOURCE
                                   : rank_in(&p->comm[end->comm], end->peer);
}

static int tag_of(const struct prog_end *end)
{
    return end->tag == PROG_ANY ? MPI_ANY_TAG : end->tag;
}

static void succeeded(struct prog_run *run, int error, const char *call)
{
    prog_check(run, error == MPI_SUCCESS, "%s: error class %d", call, kit_class(error));
}

/* ---- what comes ---- */

/* The status of a message of n elements from a send. */
static void check_status(struct prog_run *run, const struct prog_end *end, int send, MPI_Status *status,
                         const char *call)
{
    const struct prog *p = run->p;
    const struct prog_end *from = &p->end[p->req[send].end];
    MPI_Datatype type = prog_layout_type(&end->side.layout);
    int count = -1, elements = -1, cancelled = -1, k = end->side.layout.k, n = (int)from->n;
    int source = rank_in(&p->comm[end->comm], from->rank);
    MPI_Get_count(status, type, &count);
    MPI_Get_elements(status, type, &elements);
    MPI_Test_cancelled(status, &cancelled);
    prog_check(run,
               status->MPI_SOURCE == source && status->MPI_TAG == from->tag && elements == n &&
                   count == (n % k ? MPI_UNDEFINED : n / k) && !cancelled,
               "%s: status: source %d, tag %d, elements %d, count %d, cancelled %d, not %d, %d, %d, %d, 0", call,
               status->MPI_SOURCE, status->MPI_TAG, elements, count, cancelled, source, from->tag, n,
               n % k ? MPI_UNDEFINED : n / k);
    if (end->side.layout.family != PROG_NAMED)
        MPI_Type_free(&type);
}

static void check_empty(struct prog_run *run, MPI_Status *status, int source)
{
    int count = -1, cancelled = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    MPI_Test_cancelled(status, &cancelled);
    prog_check(run, status->MPI_SOURCE == source && status->MPI_TAG == MPI_ANY_TAG && count == 0 && !cancelled,
               "status of nothing: source %d, tag %d, count %d, cancelled %d", status->MPI_SOURCE, status->MPI_TAG,
               count, cancelled);
}

static void expect_message(struct prog_run *run, const struct prog_side *side, int send)
{
    const struct prog_end *from = &run->p->end[run->p->req[send].end];
    prog_fill(run->p, (uint64_t)send, run->packed, from->n * prog_element_bytes[side->layout.element]);
    prog_data_expect(run, side, 0, from->n, run->packed);
}

/* Receives of a group: which message one got is known when all before it are done. */
static void group_arrived(struct prog_run *run, int number)
{
    const struct prog *p = run->p;
    const struct prog_group *g = &p->group[number];
    for (int *i = &run->group_seen[number]; *i < g->receives && run->done[g->receive[*i]]; ++*i) {
        int r = g->receive[*i], before = 0, send = -1;
        const struct prog_end *end = &p->end[p->req[r].end];
        for (int k = 0; k < *i; k++)
            before += run->source[g->receive[k]] == run->source[r];
        for (int k = 0; k < g->total && send < 0; k++) {
            if (rank_in(&p->comm[g->comm], g->from[k]) == run->source[r] && before-- == 0)
                send = g->send[k];
        }
        if (!prog_check(run, send >= 0, "receive #%d of any source: one message too many from %d", r, run->source[r]))
            continue;
        int n = (int)p->end[p->req[send].end].n, tag = p->end[p->req[send].end].tag;
        prog_check(run, run->count[r] == n && run->tag[r] == tag,
                   "receive #%d of any source: %d elements with tag %d from %d, not %d with %d", r, run->count[r],
                   run->tag[r], run->source[r], n, tag);
        expect_message(run, &end->side, send);
        prog_data_check(run, &end->side, "bytes of a receive of any source");
    }
}

void prog_arrived(struct prog_run *run, int r, MPI_Status *status, int error)
{
    const struct prog *p = run->p;
    const struct prog_req *req = &p->req[r];
    char text[40];
    snprintf(text, sizeof text, "#%d", r);
    run->done[r] = 1;
    if (req->type == PROG_COLLECTS || req->type == PROG_DUPLICATES) {
        prog_check(run, error == MPI_SUCCESS, "%s: error class %d", text, kit_class(error));
        if (req->type == PROG_COLLECTS)
            prog_coll_arrived(run, req->end);
        return;
    }
    const struct prog_end *end = &p->end[req->end];
    int cancelled = -1;
    if (req->type == PROG_SENDS) {
        prog_check(run, error == MPI_SUCCESS, "%s: error class %d", text, kit_class(error));
        if (status) {
            MPI_Test_cancelled(status, &cancelled);
            prog_check(run, !cancelled, "%s: a send is said to be cancelled", text);
        }
        return;
    }
    if (end->tag >= PROG_NO_TAG) {
        MPI_Test_cancelled(status, &cancelled);
        prog_check(run, cancelled == 1 && error == MPI_SUCCESS, "%s: not cancelled", text);
    } else if (end->peer == PROG_NULL) {
        prog_check(run, error == MPI_SUCCESS, "%s: error class %d", text, kit_class(error));
        if (!run->started[r] || run->p->kinds.may[PROG_nullstatus])
            check_empty(run, status, MPI_PROC_NULL);
    } else if (req->group >= 0) {
        prog_check(run, error == MPI_SUCCESS, "%s: error class %d", text, kit_class(error));
        run->source[r] = status->MPI_SOURCE;
        run->tag[r] = status->MPI_TAG;
        MPI_Datatype type = prog_layout_type(&end->side.layout);
        MPI_Get_elements(status, type, &run->count[r]);
        if (end->side.layout.family != PROG_NAMED)
            MPI_Type_free(&type);
        group_arrived(run, req->group);
        return;
    } else if (p->end[p->req[req->partner].end].n > end->n) {
        prog_check(run, kit_class(error) == MPI_ERR_TRUNCATE, "%s: a message too long for its receive: error class %d",
                   text, kit_class(error));
        prog_data_adopt(run, &end->side);
    } else {
        prog_check(run, error == MPI_SUCCESS, "%s: error class %d", text, kit_class(error));
        if (end->packed)
            prog_unpack(run, r);
        if (!end->parts)
            check_status(run, end, req->partner, status, text);
        expect_message(run, &end->side, req->partner);
    }
    prog_data_check(run, &end->side, "bytes of a receive");
}

/* ---- what is started ---- */

/* The call, or its form with large counts. */
#if MPI_VERSION >= 4
#define FORM(call, ...) (end->side.wide ? call##_c(__VA_ARGS__) : call(__VA_ARGS__))
#else
#define FORM(call, ...) call(__VA_ARGS__)
#endif

/* The contents of a persistent end's buffer for this activation. */
static void refresh(struct prog_run *run, int r)
{
    const struct prog_end *end = &run->p->end[run->p->req[r].end];
    prog_data_reset(run, &end->side);
    if (!end->receives)
        expect_message(run, &end->side, r);
    prog_data_store(run, &end->side);
}

static void call(struct prog_run *run, int r, int probed)
{
    const struct prog *p = run->p;
    const struct prog_end *end = &p->end[p->req[r].end];
    const struct prog_given given = prog_pack(run, r);
    void *const at = given.at;
    const MPI_Datatype type = given.type;
    MPI_Comm comm = run->comm[end->comm];
    MPI_Status status = {.MPI_SOURCE = -77};
    int count = given.count, peer = peer_of(p, end), tag = tag_of(end), error;
    if (probed)
        error = FORM(MPI_Mrecv, at, count, type, &run->message[r], &status);
    else if (end->receives)
        error = FORM(MPI_Recv, at, count, type, peer, tag, comm, &status);
    else
        error = end->mode == PROG_MODE_SSEND   ? FORM(MPI_Ssend, at, count, type, peer, tag, comm)
                : end->mode == PROG_MODE_BSEND ? FORM(MPI_Bsend, at, count, type, peer, tag, comm)
                : end->mode == PROG_MODE_RSEND ? FORM(MPI_Rsend, at, count, type, peer, tag, comm)
                                               : FORM(MPI_Send, at, count, type, peer, tag, comm);
    prog_type_done(run);
    prog_arrived(run, r, end->receives ? &status : NULL, error);
}

static void start(struct prog_run *run, int r, int probed)
{
    const struct prog *p = run->p;
    const struct prog_end *end = &p->end[p->req[r].end];
    MPI_Request *request = &run->req[r];
    run->started[r] = 1;
    if (end->persistent) {
        refresh(run, r);
        succeeded(run, MPI_Start(&run->end[p->req[r].end]), "MPI_Start");
        return;
    }
    const struct prog_given given = prog_pack(run, r);
    void *const at = given.at;
    const MPI_Datatype type = given.type;
    MPI_Comm comm = run->comm[end->comm];
    int count = given.count, peer = peer_of(p, end), tag = tag_of(end), error;
    if (probed)
        error = FORM(MPI_Imrecv, at, count, type, &run->message[r], request);
    else if (end->receives)
        error = FORM(MPI_Irecv, at, count, type, peer, tag, comm, request);
    else
        error = end->mode == PROG_MODE_SSEND   ? FORM(MPI_Issend, at, count, type, peer, tag, comm, request)
                : end->mode == PROG_MODE_BSEND ? FORM(MPI_Ibsend, at, count, type, peer, tag, comm, request)
                : end->mode == PROG_MODE_RSEND ? FORM(MPI_Irsend, at, count, type, peer, tag, comm, request)
                                               : FORM(MPI_Isend, at, count, type, peer, tag, comm, request);
    prog_type_done(run);
    succeeded(run, error, "start");
}

static void init(struct prog_run *run, int e)
{
    const struct prog_end *end = &run->p->end[e];
    void *at = prog_address(run, &end->side);
    MPI_Datatype type = prog_type_of(run, &end->side);
    MPI_Comm comm = run->comm[end->comm];
    MPI_Request *request = &run->end[e];
    int count = end->side.count[0], peer = peer_of(run->p, end), tag = tag_of(end);
    int error = end->parts                     ? prog_part_init(run, end, type, peer, request)
                : end->receives                ? FORM(MPI_Recv_init, at, count, type, peer, tag, comm, request)
                : end->mode == PROG_MODE_SSEND ? FORM(MPI_Ssend_init, at, count, type, peer, tag, comm, request)
                : end->mode == PROG_MODE_BSEND ? FORM(MPI_Bsend_init, at, count, type, peer, tag, comm, request)
                : end->mode == PROG_MODE_RSEND ? FORM(MPI_Rsend_init, at, count, type, peer, tag, comm, request)
                                               : FORM(MPI_Send_init, at, count, type, peer, tag, comm, request);
    if (!(run->p->kinds.may[PROG_freeinit]) && run->type_count)
        run->kept[run->kept_count++] = run->types[--run->type_count];
    prog_type_done(run);
    succeeded(run, error, "init");
}

/* later: by the nonblocking calls, where this MPI has them. */
static void exchange(struct prog_run *run, int s, int r, int later)
{
    const struct prog *p = run->p;
    const struct prog_end *out = &p->end[p->req[s].end], *in = &p->end[p->req[r].end];
    void *from = prog_address(run, &out->side), *to = prog_address(run, &in->side);
    MPI_Datatype type = prog_type_of(run, &out->side);
    MPI_Status status = {.MPI_SOURCE = -77};
    MPI_Request request = MPI_REQUEST_NULL;
    const int replaces = out->side.place == in->side.place && out->side.memory == in->side.memory;
    int error = MPI_SUCCESS;
#if MPI_VERSION >= 4
    run->started[r] |= later;
    if (later && replaces)
        error = MPI_Isendrecv_replace(to, in->side.count[0], type, peer_of(p, out), tag_of(out), peer_of(p, in),
                                      tag_of(in), run->comm[out->comm], &request);
    else if (later)
        error = MPI_Isendrecv(from, out->side.count[0], type, peer_of(p, out), tag_of(out), to, in->side.count[0],
                              prog_type_of(run, &in->side), peer_of(p, in), tag_of(in), run->comm[out->comm], &request);
#else
    later = 0;
#endif
    if (later) {
        succeeded(run, error, "MPI_Isendrecv");
        error = MPI_Wait(&request, &status);
    } else if (replaces) {
        error = MPI_Sendrecv_replace(to, in->side.count[0], type, peer_of(p, out), tag_of(out), peer_of(p, in),
                                     tag_of(in), run->comm[out->comm], &status);
    } else {
        error = MPI_Sendrecv(from, out->side.count[0], type, peer_of(p, out), tag_of(out), to, in->side.count[0],
                             prog_type_of(run, &in->side), peer_of(p, in), tag_of(in), run->comm[out->comm], &status);
    }
    prog_type_done(run);
    prog_arrived(run, r, &status, error);
    prog_arrived(run, s, NULL, error);
}

/* ---- probes ---- */

static void probe(struct prog_run *run, const struct prog_step *step)
{
    const struct prog *p = run->p;
    int r = step->a, matched = step->what == PROG_MPROBE, flag = 0, error = MPI_SUCCESS;
    const struct prog_end *end = &p->end[p->req[r].end];
    int peer = peer_of(p, end), tag = tag_of(end);
    MPI_Comm comm = run->comm[end->comm];
    MPI_Status status = {.MPI_SOURCE = -77};
    if (!step->b) {
        error = matched ? MPI_Mprobe(peer, tag, comm, &run->message[r], &status) : MPI_Probe(peer, tag, comm, &status);
    } else {
        while (!flag && error == MPI_SUCCESS)
            error = matched ? MPI_Improbe(peer, tag, comm, &flag, &run->message[r], &status)
                            : MPI_Iprobe(peer, tag, comm, &flag, &status);
    }
    succeeded(run, error, "probe");
    if (p->req[r].group < 0) {
        check_status(run, end, p->req[r].partner, &status, "probe");
        return;
    }
    const struct prog_group *g = &p->group[p->req[r].group];
    int count = -1, found = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    for (int i = 0; i < g->total; i++) {
        const struct prog_end *from = &p->end[p->req[g->send[i]].end];
        found |= rank_in(&p->comm[g->comm], g->from[i]) == status.MPI_SOURCE && from->tag == status.MPI_TAG &&
                 (int)(from->n * prog_element_bytes[from->side.layout.element]) == count;
    }
    prog_check(run, found, "probe of any source: %d bytes with tag %d from %d were never sent", count, status.MPI_TAG,
               status.MPI_SOURCE);
}

static void glance(struct prog_run *run, const struct prog_end *end)
{
    MPI_Status status;
    int flag = -1;
    succeeded(run, MPI_Iprobe(peer_of(run->p, end), tag_of(end), run->comm[end->comm], &flag, &status), "MPI_Iprobe");
    prog_check(run, flag == 0, "MPI_Iprobe has found what never was sent: %d", flag);
}

static void make_step(struct prog_run *run, const struct prog_step *step)
{
    const struct prog *p = run->p;
    switch (step->what) {
    case PROG_CALL:
        call(run, step->a, step->b);
        break;
    case PROG_START:
        start(run, step->a, step->b);
        break;
    case PROG_INIT:
        init(run, step->a);
        break;
    case PROG_DROP:
        succeeded(run, MPI_Request_free(&run->end[step->a]), "MPI_Request_free");
        break;
    case PROG_EXCHANGE:
        exchange(run, step->a, step->b, step->needed);
        break;
    case PROG_PROBE:
    case PROG_MPROBE:
        probe(run, step);
        break;
    case PROG_GLANCE:
        glance(run, &p->end[step->a]);
        break;
    case PROG_COMPLETE:
        prog_complete_step(run, step);
        break;
    case PROG_CANCEL:
        succeeded(run, MPI_Cancel(&run->req[step->a]), "MPI_Cancel");
        break;
    case PROG_FREE:
        if (!run->done[step->a])
            succeeded(run, MPI_Request_free(&run->req[step->a]), "MPI_Request_free");
        run->done[step->a] = 1;
        break;
    case PROG_COLLECTIVE:
        prog_coll_call(run, step->a, NULL, 0);
        prog_coll_arrived(run, step->a);
        break;
    case PROG_BEGIN:
        run->started[step->a] = 1;
        prog_coll_begin(run, step->a);
        break;
    case PROG_SETUP:
        prog_coll_call(run, step->a, &run->coll[step->a], 1);
        break;
    case PROG_MARK:
        prog_part_mark(run, step->a, step->b);
        break;
    case PROG_LEAVE:
        succeeded(run, MPI_Request_free(&run->coll[step->a]), "MPI_Request_free");
        break;
    case PROG_MAKE:
        prog_comm_make(run, step);
        break;
    case PROG_MAKE_LATER: {
        const struct prog_comm *comm = &p->comm[p->req[step->a].end];
        run->started[step->a] = 1;
        succeeded(run, MPI_Comm_idup(run->comm[comm->parent], &run->comm[p->req[step->a].end], &run->req[step->a]),
                  "MPI_Comm_idup");
        break;
    }
    case PROG_UNMAKE:
        succeeded(run, MPI_Comm_free(&run->comm[step->a]), "MPI_Comm_free");
        break;
    default:
        usleep((useconds_t)step->a);
    }
}

void prog_run(struct prog_run *run, const struct prog *p)
{
    run->p = p;
    run->at = -1;
    run->failed = 0;
    memset(run->started, 0, sizeof run->started);
    memset(run->done, 0, sizeof run->done);
    memset(run->group_seen, 0, sizeof run->group_seen);
    for (int r = 0; r < PROG_REQS; r++)
        run->req[r] = MPI_REQUEST_NULL;
    run->comm[0] = run->base;
    prog_data_begin(run);
    for (int s = 0; s < p->steps; s++) {
        if (p->step[s].rank != run->rank)
            continue;
        run->at = s;
        if (p->step[s].pause)
            usleep((useconds_t)p->step[s].pause);
        prog_aside_join(run, &p->step[s]);
        make_step(run, &p->step[s]);
    }
    prog_aside_join(run, NULL);
    run->at = p->steps;
    prog_type_done(run);
    while (run->kept_count)
        MPI_Type_free(&run->kept[--run->kept_count]);
    prog_data_end(run);
    if (p->settle)
        MPI_Barrier(run->base);
    prog_packs_free(run);
}
