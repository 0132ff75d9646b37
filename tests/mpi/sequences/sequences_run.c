/* One sequence: its calls in an order of this rank's own, as far as MPI and docs/streams.md leave it to the rank.
 *
 * Units of one communicator keep their order. So do, over all communicators, those in which a rank may wait for others
 * (blocking and nonblocking calls, waits for a stream, calls that may fill one): they have one order on all ranks, so
 * two ranks never wait for each other. Calls in stream order of different communicators come
 * in any order, also round the others. A communicator is replaced between the same units of all ranks. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sequences.h"
#include "tutti/tutti.h"

enum { TEXT = 8192 };

static const struct seq *now;
static uint64_t own;
static MPI_Request requests[SEQ_CALLS];
static int begun[SEQ_CALLS], begun_count; /* calls that were started */
static void *graphs[SEQ_GROUPS];
static int busy[SEQ_SLOTS]; /* 1: calls are in the stream, or may be */
static int order[SEQ_UNITS], ordered;
static const char *stage; /* what follows the last of them */

static void fine(int error, int number)
{
    if (CHECK(error == MPI_SUCCESS, "sequence %llu, call %d: class %d", (unsigned long long)now->number, number,
              kit_class(error)))
        return;
    seq_say();
    sleep(2); /* the others say theirs */
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- calls ---- */

static int blocking(const struct seq_call *call, const void *in, void *out, MPI_Comm comm)
{
    MPI_Datatype type = call->handle->type;
    MPI_Op op = kit_op(call->op);
    int n = (int)call->count;
    switch (call->kind) {
    case SEQ_ALLREDUCE:
        return MPI_Allreduce(in, out, n, type, op, comm);
    case SEQ_REDUCE:
        return MPI_Reduce(in, out, n, type, op, call->root, comm);
    case SEQ_REDUCE_SCATTER:
        return MPI_Reduce_scatter(in, out, call->counts, type, op, comm);
    case SEQ_REDUCE_SCATTER_BLOCK:
        return MPI_Reduce_scatter_block(in, out, n, type, op, comm);
    case SEQ_SCAN:
        return MPI_Scan(in, out, n, type, op, comm);
    case SEQ_EXSCAN:
        return MPI_Exscan(in, out, n, type, op, comm);
    default:
        return MPI_Barrier(comm);
    }
}

static int started(const struct seq_call *call, const void *in, void *out, MPI_Comm comm, MPI_Request *request)
{
    MPI_Datatype type = call->handle->type;
    MPI_Op op = kit_op(call->op);
    int n = (int)call->count;
    switch (call->kind) {
    case SEQ_ALLREDUCE:
        return MPI_Iallreduce(in, out, n, type, op, comm, request);
    case SEQ_REDUCE:
        return MPI_Ireduce(in, out, n, type, op, call->root, comm, request);
    case SEQ_REDUCE_SCATTER:
        return MPI_Ireduce_scatter(in, out, call->counts, type, op, comm, request);
    case SEQ_REDUCE_SCATTER_BLOCK:
        return MPI_Ireduce_scatter_block(in, out, n, type, op, comm, request);
    case SEQ_SCAN:
        return MPI_Iscan(in, out, n, type, op, comm, request);
    default:
        return MPI_Iexscan(in, out, n, type, op, comm, request);
    }
}

static int enqueued(const struct seq_call *call, const void *in, void *out, MPI_Comm comm)
{
    MPI_Datatype type = call->handle->type;
    MPI_Op op = kit_op(call->op);
    int n = (int)call->count;
    MPI_Count counts[SEQ_RANKS];
    for (int r = 0; r < call->shape.size; r++)
        counts[r] = call->counts[r];
    switch (call->kind) {
    case SEQ_ALLREDUCE:
        return call->large ? MPIX_Allreduce_enqueue_c(in, out, n, type, op, comm)
                           : MPIX_Allreduce_enqueue(in, out, n, type, op, comm);
    case SEQ_REDUCE:
        return call->large ? MPIX_Reduce_enqueue_c(in, out, n, type, op, call->root, comm)
                           : MPIX_Reduce_enqueue(in, out, n, type, op, call->root, comm);
    case SEQ_REDUCE_SCATTER:
        return call->large ? MPIX_Reduce_scatter_enqueue_c(in, out, counts, type, op, comm)
                           : MPIX_Reduce_scatter_enqueue(in, out, call->counts, type, op, comm);
    case SEQ_REDUCE_SCATTER_BLOCK:
        return call->large ? MPIX_Reduce_scatter_block_enqueue_c(in, out, n, type, op, comm)
                           : MPIX_Reduce_scatter_block_enqueue(in, out, n, type, op, comm);
    case SEQ_SCAN:
        return call->large ? MPIX_Scan_enqueue_c(in, out, n, type, op, comm)
                           : MPIX_Scan_enqueue(in, out, n, type, op, comm);
    case SEQ_EXSCAN:
        return call->large ? MPIX_Exscan_enqueue_c(in, out, n, type, op, comm)
                           : MPIX_Exscan_enqueue(in, out, n, type, op, comm);
    default:
        return MPIX_Barrier_enqueue(comm);
    }
}

/* Once. */
static void make(int number)
{
    seq_goes_on();
    const struct seq_call *call = &now->call[number];
    const struct seq_slot *slot = &seq_slots[call->slot];
    const void *in = seq_data_at(call, 0);
    busy[call->slot] |= call->form == SEQ_ENQUEUED;
    void *out = seq_data_at(call, 1);
    if (call->in_place) {
        out = seq_data_at(call, 0);
        in = MPI_IN_PLACE;
    }
    if (seq_moves(call->kind)) {
        fine(seq_move_enqueue(call, seq_data_at(call, 0), seq_data_at(call, 1), slot->rank, slot->comm), number);
        return;
    }
    if (call->kind == SEQ_REDUCE && slot->rank != call->root) {
        in = seq_data_at(call, 0);
        out = NULL;
    }
    if (call->form == SEQ_STARTED) {
        fine(started(call, in, out, slot->comm, &requests[number]), number);
        begun[begun_count++] = number;
    } else {
        fine(call->form == SEQ_BLOCKING ? blocking(call, in, out, slot->comm) : enqueued(call, in, out, slot->comm),
             number);
    }
}

/* ---- delays ---- */

/* Now and then, on the slow rank more often: this rank waits, or its stream has something else to do. */
static void delay(int s)
{
    void *stream = s < seq_streams() ? seq_slots[s].stream : NULL;
    if (seq_dice(&own, 16) >= (now->slow == kit_rank ? 8u : 1u))
        return;
    unsigned how = seq_dice(&own, 4);
    if (!stream || how == 0)
        usleep(seq_dice(&own, 300));
    else if (how < 3 && seq_graphs())
        seq_spin(stream, seq_dice(&own, 6) ? 1 : 1500, seq_dice(&own, 400000));
    else
        seq_data_load(stream, 1 + seq_dice(&own, SEQ_LOAD) / (seq_dice(&own, 4) ? 16 : 1));
}

/* ---- completion ---- */

static void closed(int i)
{
    begun[i] = begun[--begun_count];
}

static int wanted(int i, int slot)
{
    return slot < 0 || now->call[begun[i]].slot == slot;
}

/* Completes the nonblocking calls of a communicator; -1: of all. */
static void complete(int slot)
{
    MPI_Request some[SEQ_CALLS];
    MPI_Status statuses[SEQ_CALLS];
    int n = 0, which, flag = 0, picked[SEQ_CALLS];
    unsigned how = seq_dice(&own, 4);
    for (int i = begun_count - 1; i >= 0; i--) {
        int j = (int)seq_dice(&own, (unsigned)n + 1); /* in any order */
        if (!wanted(i, slot))
            continue;
        picked[n] = picked[j];
        picked[j] = begun[i];
        n++;
        closed(i);
    }
    for (int i = 0; i < n; i++)
        some[i] = requests[picked[i]];
    if (n == 0)
        return;
    seq_goes_on();
    if (how == 0) {
        fine(MPI_Waitall(n, some, statuses), picked[0]);
    } else if (how == 1) {
        for (int i = 0; i < n; i++)
            fine(MPI_Waitany(n, some, &which, MPI_STATUS_IGNORE), picked[i]);
    } else {
        for (int i = 0; i < n; i++, flag = 0) {
            seq_goes_on();
            for (int error = 0; how == 2 && !flag && error == 0; sched_yield())
                error = MPI_Test(&some[i], &flag, MPI_STATUS_IGNORE);
            fine(MPI_Wait(&some[i], MPI_STATUS_IGNORE), picked[i]);
        }
    }
}

/* ---- units ---- */

static int waits(const struct seq_unit *unit)
{
    const struct seq_call *call = &now->call[unit->number];
    if (unit->what == SEQ_CALL)
        return call->form != SEQ_ENQUEUED || call->many;
    if (unit->what != SEQ_LAUNCH)
        return 1;
    const struct seq_group *group = &now->group[unit->number];
    int many = 0;
    for (int i = 0; i < group->calls; i++)
        many |= now->call[group->first + i].many;
    return many;
}

/* 1 if unit u may come before unit v, though it is behind it. */
static int passes(const struct seq_unit *u, const struct seq_unit *v)
{
    const int firm = u->what == SEQ_RENEW || v->what == SEQ_RENEW || u->what == SEQ_MEMORY || v->what == SEQ_MEMORY;
    return u->slot != v->slot && !(waits(u) && waits(v)) && !firm;
}

static void launch(int g)
{
    const struct seq_group *group = &now->group[g];
    busy[group->slot] = 1;
    if (graphs[g]) {
        seq_graph_launch(graphs[g], seq_slots[group->slot].stream);
        return;
    }
    for (int i = 0; i < group->calls; i++) {
        delay(group->slot);
        make(group->first + i);
    }
}

static void capture(int g)
{
    const struct seq_group *group = &now->group[g];
    void *stream = seq_slots[group->slot].stream;
    seq_capture_begin(stream, group->mode);
    for (int i = 0; i < group->calls; i++) {
        if (seq_dice(&own, 4) == 0)
            seq_spin(stream, 1, seq_dice(&own, 200000));
        make(group->first + i);
    }
    graphs[g] = seq_capture_end(stream);
}

/* 1 if no call uses the memory of the communicator any more. Graphs hold its address. */
static int rests(int slot)
{
    int rests = !busy[slot];
    for (int g = 0; g < now->groups; g++)
        rests &= !graphs[g] || now->group[g].slot != slot;
    return rests;
}

static void sync_stream(int slot)
{
    seq_goes_on();
    fine(tutti_stream_sync(seq_slots[slot].stream), -1);
    busy[slot] = 0;
}

/* This rank frees memory and allocates it again, while its other streams and its peers' are at work. A free may wait
 * for all kernels of the process: all calls before are in the streams, none of those behind, and no nonblocking call is
 * open, which a peer may have to start. */
static void renew_memory(void)
{
    complete(-1);
    for (int s = 0; s < SEQ_SLOTS; s++) {
        if (s < seq_streams() && busy[s] && seq_dice(&own, 3) == 0)
            sync_stream(s);
        if (rests(s) && seq_dice(&own, 2) == 0)
            seq_memory_renew(s, now->used, &own);
    }
}

static void go(int u)
{
    const struct seq_unit *unit = &now->unit[u];
    const struct seq_call *call = &now->call[unit->number];
    stage = " (completing)";
    order[ordered++] = u;
    seq_goes_on();
    if (unit->what == SEQ_LAUNCH || unit->what == SEQ_RENEW || (unit->what == SEQ_CALL && call->form == SEQ_ENQUEUED))
        complete(unit->slot);
    delay(unit->slot);
    stage = "";
    switch (unit->what) {
    case SEQ_CALL:
        for (int i = 0; i < call->times; i++)
            make(unit->number);
        break;
    case SEQ_LAUNCH:
        launch(unit->number);
        break;
    case SEQ_SYNC:
        sync_stream(unit->slot);
        break;
    case SEQ_MEMORY:
        renew_memory();
        break;
    default:
        seq_slot_renew(unit->slot, unit->id);
    }
    stage = " (done)";
    if (begun_count > 0 && seq_dice(&own, 6) == 0)
        complete(seq_dice(&own, 2) ? -1 : now->call[begun[0]].slot);
}

/* What is to be done on this rank, over all units; a communicator that is made anew changes who is in it. */
static int concerns(int u)
{
    const struct seq_unit *unit = &now->unit[u];
    if (unit->what == SEQ_RENEW)
        return 1;
    if (unit->what == SEQ_CALL)
        return seq_place_of(&now->call[unit->number].shape, kit_rank) >= 0;
    if (unit->what == SEQ_LAUNCH)
        return seq_place_of(&now->call[now->group[unit->number].first].shape, kit_rank) >= 0;
    return 1;
}

static void all_units(void)
{
    int done[SEQ_UNITS], left = 0;
    for (int u = 0; u < now->units; u++) {
        done[u] = !concerns(u);
        left += !done[u];
    }
    for (; left > 0; left--) {
        int ready[SEQ_UNITS], n = 0;
        for (int u = 0; u < now->units; u++) {
            int may = !done[u];
            for (int v = 0; may && v < u; v++)
                may = done[v] || passes(&now->unit[u], &now->unit[v]);
            if (may)
                ready[n++] = u;
        }
        int u = ready[seq_dice(&own, 2) ? seq_dice(&own, (unsigned)n) : 0];
        done[u] = 1;
        go(u);
    }
}

void seq_say(void)
{
    static char text[TEXT];
    if (!now)
        return;
    int at = snprintf(text, sizeof text, "rank %d, sequence %llu of seed %llu, slow rank %d, order", kit_rank,
                      (unsigned long long)now->number, (unsigned long long)kit_seed, now->slow);
    for (int i = 0; i < ordered; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, " %d", order[i]);
    at += snprintf(text + at, sizeof text - (size_t)at, "%s:\n", stage);
    seq_text(now, text + at, sizeof text - (size_t)at);
    fputs(text, stderr);
}

int seq_run(const struct seq *seq, uint64_t dice)
{
    char where[128];
    int wrong;
    now = seq;
    own = dice;
    ordered = begun_count = 0;
    stage = " (renewing)";
    for (int s = 0; s < SEQ_WORLD; s++) {
        seq_goes_on();
        seq_slot_renew(s, seq->id[s]);
    }
    for (int s = 0; seq_lives() && s < SEQ_SLOTS; s++) {
        if (seq_dice(&own, 3) == 0)
            seq_memory_renew(s, 0, &own);
    }
    seq_data_fill(seq);
    for (int g = 0; g < SEQ_GROUPS; g++)
        graphs[g] = NULL;
    for (int g = 0; g < seq->groups; g++) {
        if (seq_graphs() && seq_slots[seq->group[g].slot].rank >= 0)
            capture(g);
    }
    all_units();
    stage = " (completing all)";
    complete(-1);
    stage = " (waiting for streams)";
    for (int s = 0; s < seq_streams(); s++)
        sync_stream(s);
    stage = ", all done";
    seq_goes_on();
    snprintf(where, sizeof where, "sequence %llu", (unsigned long long)seq->number);
    wrong = seq_data_check(seq, where);
    for (int g = 0; g < seq->groups; g++) {
        if (graphs[g])
            seq_graph_free(graphs[g]);
    }
    if (wrong)
        seq_say();
    return wrong;
}
