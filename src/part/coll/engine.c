/* The engine: advances each partition of each active collective through the steps of its schedule. */
#include <stdio.h>
#include <stdlib.h>

#include "core/log.h"
#include "part/coll/own.h"

pthread_mutex_t tutti_pcoll_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tutti_pcoll *active;

/* ---- a partition ---- */

static void pcoll_fail(struct tutti_pcoll *p, int status)
{
    if (p->status == TUTTI_OK)
        p->status = status;
}

/* Partitions [first, last] of the messages that a step sends. A failure is reported at the end of the round. Neighbours
 * wait for the messages: their rounds fail too, since they cannot get right data. */
static void step_send(struct tutti_pcoll *p, const struct tutti_pcoll_step *step, int first, int last)
{
    for (int i = 0; i < step->outs; i++) {
        struct tutti_part *part = p->edge[p->list[step->out + i]].part;
        if (part && p->status != TUTTI_OK) {
            tutti_part_give_up(part, p->status);
            continue;
        }
        if (!part || tutti_part_ready(part, first, last) == TUTTI_PART_FINE)
            continue;
        const int status = tutti_part_status(part);
        pcoll_fail(p, status != TUTTI_OK ? status : TUTTI_ERR_TRANSPORT);
    }
}

/* 1 if what the step waits for is there. */
static int step_arrived(struct tutti_pcoll *p, const struct tutti_pcoll_step *step, int partition,
                        struct tutti_pcoll_state *state)
{
    if (step->own && !p->marks.ready[partition])
        return 0;
    for (; state->arrived < step->ins; state->arrived++) {
        const struct tutti_part *part = p->edge[p->list[step->in + state->arrived]].part;
        if (part && !tutti_part_has_arrived(part, partition))
            return 0;
        if (part && tutti_part_has_failed(part))
            pcoll_fail(p, tutti_part_status(part));
    }
    return 1;
}

/* 1: done; 0: not yet. A step that fails lets the others continue. */
static int step_work(struct tutti_pcoll *p, const struct tutti_pcoll_step *step, int partition,
                     struct tutti_pcoll_state *state)
{
    int done = 1;
    if (state->runs)
        done = tutti_device()->event.query(state->event);
    else if (step->fold >= 0)
        done = tutti_pcoll_combine(p, &p->fold[step->fold], partition, state);
    if (done == 0)
        return 0;
    state->runs = 0;
    if (done > 0 && step->copy >= 0)
        done = tutti_pcoll_run_copy(p, &p->copy[step->copy], partition) == TUTTI_OK ? 1 : TUTTI_ERR_DEVICE;
    if (done < 0)
        pcoll_fail(p, done);
    return 1;
}

static void state_next(struct tutti_pcoll *p, struct tutti_pcoll_track *track, struct tutti_pcoll_state *state)
{
    state->arrived = 0;
    if (++state->step < track->steps)
        return;
    track->left--;
    atomic_store_explicit(&state->done, 1, memory_order_release);
    if (track == &p->track[TUTTI_PCOLL_RECV] && p->finish == p->copies)
        tutti_pcoll_prequest_arrived(p, (int)(state - track->state));
}

static void track_advance(struct tutti_pcoll *p, struct tutti_pcoll_track *track, int partition)
{
    struct tutti_pcoll_state *state = &track->state[partition];
    while (state->step < track->steps) {
        const struct tutti_pcoll_step *step = &track->step[state->step];
        if (!state->runs && !step_arrived(p, step, partition, state))
            return;
        if (!step_work(p, step, partition, state))
            return;
        step_send(p, step, partition, partition);
        state_next(p, track, state);
    }
}

/* Partitions that the program marks together travel together in the first step, if that only sends. */
static void track_advance_marked(struct tutti_pcoll *p, struct tutti_pcoll_track *track, int first, int last)
{
    const struct tutti_pcoll_step *step = track->step;
    int together = track->steps > 0 && step->own && step->ins == 0 && step->fold < 0 && step->copy < 0;
    for (int q = first; q <= last && together; q++)
        together = track->state[q].step == 0;
    if (together) {
        step_send(p, step, first, last);
        for (int q = first; q <= last; q++)
            state_next(p, track, &track->state[q]);
    }
    for (int q = first; q <= last; q++)
        track_advance(p, track, q);
}

/* The track whose first step waits for the program. */
static struct tutti_pcoll_track *marked_track(struct tutti_pcoll *p)
{
    return &p->track[p->track[TUTTI_PCOLL_SEND].steps > 0 ? TUTTI_PCOLL_SEND : TUTTI_PCOLL_RECV];
}

/* ---- a round ---- */

/* Called with the lock of part/ held. */
void tutti_pcoll_edge_ended(void *with)
{
    atomic_fetch_sub_explicit(&((struct tutti_pcoll *)with)->open, 1, memory_order_acq_rel);
}

static void round_end(struct tutti_pcoll *p)
{
    for (int i = p->finish; i < p->copies; i++) {
        for (int q = 0; q < p->args.recv.partitions && p->status == TUTTI_OK; q++)
            pcoll_fail(p, tutti_pcoll_run_copy(p, &p->copy[i], q));
    }
    for (int i = 0; i < p->edges; i++) {
        const struct tutti_part *part = p->edge[i].part;
        if (p->edge[i].agreement || p->met)
            continue;
        if (part && tutti_part_status(part) != TUTTI_OK)
            pcoll_fail(p, tutti_part_status(part));
        else if (part && tutti_part_truncated(part) && p->status == TUTTI_OK)
            p->status = 1;
    }
    *p->at = p->next;
    if (p->next)
        p->next->at = p->at;
    tutti_pcoll_meet_end(p);
    tutti_pcoll_prequest_ended(p);
    atomic_store_explicit(&p->active, 0, memory_order_release);
    p->args.ended(p->args.with); /* then the program may start it again, or free it, when the lock is free */
}

static struct tutti_step pcoll_step;

static int round_is_done(const struct tutti_pcoll *p)
{
    if (p->met)
        return p->met_ended;
    return p->track[TUTTI_PCOLL_SEND].left == 0 && p->track[TUTTI_PCOLL_RECV].left == 0 && p->marks.unready == 0 &&
           atomic_load_explicit(&p->open, memory_order_acquire) == 0 && !tutti_pcoll_meet_is_open(p);
}

static int round_end_if_done(struct tutti_pcoll *p)
{
    if (!round_is_done(p))
        return 0;
    round_end(p);
    tutti_step_close(&pcoll_step);
    return 1;
}

/* Partitions that are ready advance. */
static void marked_advance(struct tutti_pcoll *p, int first, int last)
{
    if (!p->met) {
        track_advance_marked(p, marked_track(p), first, last);
        return;
    }
    const int status = tutti_pcoll_meet_mark(p, first, last);
    if (status == TUTTI_OK)
        return;
    pcoll_fail(p, status);
    tutti_pcoll_meet_fail(p);
    p->met_ended = 1;
}

/* A kernel has marked partitions. */
static void marked_by_kernel(struct tutti_pcoll *p, int first, int last, int is_met)
{
    if (tutti_part_mark(&p->marks, first, last) != TUTTI_PART_FINE) {
        tutti_error("a partition was marked ready by a kernel and by MPI_Pready, or twice");
        pcoll_fail(p, TUTTI_ERR_ARGUMENT);
        return;
    }
    if (!is_met || !p->met)
        marked_advance(p, first, last);
}

static void schedule_begin(struct tutti_pcoll *p);

/* A rank has refused to meet in this round, so no partition is complete anywhere. */
static void round_leave(struct tutti_pcoll *p)
{
    tutti_pcoll_meet_leave(p);
    tutti_pcoll_prequest_schedule(p);
    p->met = 0;
    pcoll_fail(p, tutti_pcoll_prepare(p));
    schedule_begin(p);
    for (int first = 0, end; first < p->args.send.partitions; first = end) {
        end = first + 1;
        if (!p->marks.ready[first])
            continue;
        while (end < p->args.send.partitions && p->marks.ready[end])
            end++;
        track_advance_marked(p, marked_track(p), first, end - 1);
    }
}

static void met_advance(struct tutti_pcoll *p)
{
    int status = TUTTI_OK;
    const enum tutti_meet_answer answer = tutti_pcoll_meet_poll(p, &status);
    if (answer == TUTTI_MEET_SCHEDULE)
        round_leave(p);
    if (answer == TUTTI_MEET_LOST) {
        pcoll_fail(p, status);
        tutti_pcoll_meet_fail(p);
    }
    p->met_ended |= answer == TUTTI_MEET_DONE || answer == TUTTI_MEET_LOST;
}

static void round_advance(struct tutti_pcoll *p)
{
    pcoll_fail(p, tutti_pcoll_prequest_poll(p, marked_by_kernel));
    if (p->met)
        met_advance(p);
    tutti_pcoll_meet_advance(p);
    for (int t = 0; t < TUTTI_PCOLL_TRACKS && !p->met; t++) {
        for (int q = 0; q < p->track[t].partitions && p->track[t].left > 0; q++)
            track_advance(p, &p->track[t], q);
    }
    round_end_if_done(p);
}

static void round_begin(struct tutti_pcoll *p)
{
    p->status = TUTTI_OK;
    p->met_ended = 0;
    tutti_part_marks_start(&p->marks, p->args.send.used ? p->args.send.partitions : 0);
    for (int t = 0; t < TUTTI_PCOLL_TRACKS; t++) {
        struct tutti_pcoll_track *track = &p->track[t];
        track->left = track->steps > 0 ? track->partitions : 0;
        for (int q = 0; q < track->partitions; q++) {
            struct tutti_pcoll_state *state = &track->state[q];
            state->step = state->arrived = state->runs = 0;
            atomic_store_explicit(&state->done, track->steps == 0, memory_order_relaxed);
        }
    }
}

/* The messages of the round. */
static void schedule_begin(struct tutti_pcoll *p)
{
    const int agreement = tutti_pcoll_meet_attempts(p);
    int open = 0;
    p->base[TUTTI_PCOLL_AGREEMENT] = tutti_pcoll_meet_agreement(p);
    for (int i = 0; i < p->edges; i++)
        open += p->edge[i].part && (agreement || !p->edge[i].agreement);
    atomic_store_explicit(&p->open, open, memory_order_relaxed);
    for (int i = 0; i < p->edges; i++) {
        struct tutti_pcoll_edge *edge = &p->edge[i];
        if (!edge->part || (edge->agreement && !agreement))
            continue;
        tutti_part_move(edge->part, p->base[edge->base] + edge->offset);
        tutti_part_start(edge->part);
    }
    tutti_pcoll_meet_attempt(p);
}

/* The lock is held. A status. */
static int round_start(struct tutti_pcoll *p)
{
    if (atomic_load_explicit(&p->active, memory_order_relaxed))
        return TUTTI_ERR_ARGUMENT;
    p->met = tutti_pcoll_meet_start(p);
    const int status = p->met ? TUTTI_OK : tutti_pcoll_prepare(p);
    if (status != TUTTI_OK)
        return status == TUTTI_ERR_ARGUMENT ? TUTTI_ERR_DEVICE : status;
    tutti_step_open(&pcoll_step);
    round_begin(p);
    p->next = active;
    p->at = &active;
    if (p->next)
        p->next->at = &p->next;
    active = p;
    tutti_pcoll_prequest_start(p);
    if (!p->met)
        schedule_begin(p);
    atomic_store_explicit(&p->active, 1, memory_order_release);
    round_advance(p);
    return TUTTI_OK;
}

int tutti_pcoll_start(struct tutti_pcoll *p)
{
    pthread_mutex_lock(&tutti_pcoll_lock);
    const int status = round_start(p);
    pthread_mutex_unlock(&tutti_pcoll_lock);
    return status;
}

/* ---- partitions ---- */

static enum tutti_part_wrong marked_check(const struct tutti_pcoll *p)
{
    if (!p->args.send.used)
        return TUTTI_PART_NO_SEND;
    return atomic_load_explicit(&p->active, memory_order_relaxed) ? TUTTI_PART_FINE : TUTTI_PART_INACTIVE;
}

enum tutti_part_wrong tutti_pcoll_ready(struct tutti_pcoll *p, int first, int last)
{
    pthread_mutex_lock(&tutti_pcoll_lock);
    enum tutti_part_wrong wrong = marked_check(p);
    if (wrong == TUTTI_PART_FINE)
        wrong = tutti_part_mark(&p->marks, first, last);
    if (wrong == TUTTI_PART_FINE) {
        marked_advance(p, first, last);
        round_end_if_done(p);
    }
    pthread_mutex_unlock(&tutti_pcoll_lock);
    return wrong;
}

enum tutti_part_wrong tutti_pcoll_ready_list(struct tutti_pcoll *p, int n, const int partitions[])
{
    pthread_mutex_lock(&tutti_pcoll_lock);
    enum tutti_part_wrong wrong = n > 0 ? marked_check(p) : TUTTI_PART_FINE;
    if (wrong == TUTTI_PART_FINE)
        wrong = tutti_part_mark_list(&p->marks, n, partitions);
    for (int i = 0, length; i < n && wrong == TUTTI_PART_FINE; i += length) {
        length = tutti_part_marks_run(n, partitions, i);
        marked_advance(p, partitions[i], partitions[i] + length - 1);
    }
    if (n > 0 && wrong == TUTTI_PART_FINE)
        round_end_if_done(p);
    pthread_mutex_unlock(&tutti_pcoll_lock);
    return wrong;
}

int tutti_pcoll_has(const struct tutti_pcoll *p, int partition)
{
    if (tutti_pcoll_meet_is_on(p))
        return tutti_pcoll_meet_has(p, partition);
    return p->finish == p->copies &&
           atomic_load_explicit(&p->track[TUTTI_PCOLL_RECV].state[partition].done, memory_order_acquire);
}

enum tutti_part_wrong tutti_pcoll_arrived(struct tutti_pcoll *p, int partition, int *flag)
{
    *flag = 1;
    if (!p->args.recv.used)
        return TUTTI_PART_NO_RECEIVE;
    if (partition < 0 || partition >= p->args.recv.partitions)
        return TUTTI_PART_RANGE;
    if (!atomic_load_explicit(&p->active, memory_order_acquire))
        return TUTTI_PART_FINE;
    *flag = tutti_pcoll_has(p, partition);
    return TUTTI_PART_FINE;
}

int tutti_pcoll_status(const struct tutti_pcoll *p)
{
    return p->status;
}

/* ---- progress ---- */

static void pcoll_poll(void)
{
    if (pthread_mutex_trylock(&tutti_pcoll_lock) != 0)
        return;
    for (struct tutti_pcoll *p = active, *next; p; p = next) {
        next = p->next;
        round_advance(p);
    }
    pthread_mutex_unlock(&tutti_pcoll_lock);
}

static void pcoll_where(char *text, size_t size)
{
    text[0] = '\0';
    if (pthread_mutex_trylock(&tutti_pcoll_lock) != 0)
        return;
    const struct tutti_pcoll *p = active;
    if (p)
        snprintf(text, size,
                 "a partitioned collective (%s): this rank has not marked %d partitions, %d partitions of the result "
                 "are not complete, %d messages have not ended",
                 tutti_pcoll_algorithm(p), p->marks.unready, p->track[TUTTI_PCOLL_RECV].left,
                 atomic_load_explicit(&p->open, memory_order_relaxed));
    pthread_mutex_unlock(&tutti_pcoll_lock);
}

static struct tutti_step pcoll_step = {.name = "partitioned collectives", .poll = pcoll_poll, .where = pcoll_where};

void tutti_pcoll_open(struct tutti_transport *transport)
{
    tutti_pcoll_agree(transport);
    tutti_progress_add(&pcoll_step);
}

void tutti_pcoll_close(void)
{
    pthread_mutex_lock(&tutti_pcoll_lock);
    active = NULL;
    tutti_pcoll_memory_close();
    pthread_mutex_unlock(&tutti_pcoll_lock);
}
