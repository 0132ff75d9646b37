/* Receives messages whose RTSs have arrived, many at a time. */
#include <stdatomic.h>

#include "core/counters.h"
#include "core/log.h"
#include "core/trace.h"
#include "p2p/flights.h"
#include "p2p/own.h"
#include "p2p/turns.h"
#include "progress/engine.h"
#include "team/deferred_free.h"

/* The message is too long for the buffer: releases its sender. 0: later. */
static int fetch_drop(struct tutti_p2p_fetch *f, uint32_t state)
{
    if (!f->ops || !f->ops->drop(f) || !tutti_rndv_move(f->rndv, (enum tutti_rndv_state)state, TUTTI_RNDV_ATS))
        return 0;
    f->recv->truncated = 1;
    tutti_recv_end(f->recv, TUTTI_ERR_ARGUMENT);
    return -1;
}

/* As the fetch() of a row. */
static int fetch_begin(struct tutti_p2p_fetch *f, struct tutti_pack_job *job)
{
    struct tutti_p2p_recv *recv = f->recv;
    const struct tutti_rts_head *rts = &recv->rts;
    f->rndv = tutti_endpoint_find(f->worker->endpoint, rts->rank, rts->number, rts->sequence);
    if (!f->rndv) {
        tutti_error(
            "a message from rank %d of this node is lost: its rendezvous is gone (its RTS is old, or a duplicate)",
            rts->rank);
        tutti_recv_end(recv, TUTTI_ERR_MISMATCH);
        return -1;
    }
    const uint32_t state = atomic_load_explicit(&f->rndv->state, memory_order_acquire);
    f->ops = tutti_protocol_at(state);
    if (recv->bytes > recv->capacity)
        return fetch_drop(f, state);
    if (!f->ops)
        return 0;
    if (recv->elements.plan)
        tutti_elements_places(&recv->elements);
    return f->ops->fetch(f, job);
}

/* 1 if both are fetched together. */
static int is_alike(const struct tutti_p2p_fetch *one, const struct tutti_p2p_fetch *other)
{
    return one->gpu == other->gpu && one->engines == other->engines && one->recv->engines == other->recv->engines;
}

/* Not 0 if copy engines fetch them, within the memory of one GPU, since the kernels are not loaded: 1 if all are
 * messages of this rank to itself, 2 if not. */
static int engines_come_first(struct tutti_p2p_fetch *const of[], unsigned n, int near)
{
    const struct tutti_p2p_worker *const worker = of[0]->worker;
    int first = near && tutti_endpoint_lacks_kernels(worker->endpoint, of[0]->gpu);
    for (unsigned i = 0, own = 1; i < n && first; i++) {
        own = own && tutti_p2p_is_self(worker, of[i]->recv->rts.rank);
        first = own ? 1 : 2;
    }
    return first;
}

/* 1 if nothing but the end of the kernel, or of the copies by engines, is needed to end them. */
static int may_fly(struct tutti_p2p_fetch *const of[], unsigned n)
{
    int may = !tutti_endpoint_is_streamed(of[0]->worker->endpoint);
    for (unsigned i = 0; i < n; i++)
        may &= of[i]->state == TUTTI_RNDV_GETTING || of[i]->state == TUTTI_RNDV_LANDING;
    return may;
}

/* How a kernel is launched for such fetches. alone: the call waits for no other receive. */
static unsigned launched_how(const struct tutti_p2p_fetch *first, int near, int alone)
{
    const int keeps =
        !tutti_endpoint_is_streamed(first->worker->endpoint) && !tutti_deferred_free_may_wait(first->worker->node);
    return (keeps ? TUTTI_PACK_KEEP : 0) | (near ? TUTTI_PACK_NEAR : 0) | (alone ? TUTTI_PACK_ALONE : 0);
}

static void count_copies(const struct tutti_p2p_fetch *first, unsigned n)
{
    for (unsigned i = 0; i < n && first->engines; i++)
        tutti_count("copies of messages", TUTTI_OUTCOME_LAUNCHED, "copy engines");
}

/* Copies of fetches that are alike: by the engines of the row `engines`, by those that the communicator asks for, by
 * engines since the kernels are not loaded, or by a kernel. */
static int fetch_jobs(const struct tutti_p2p_fetch *first, const struct tutti_pack_job *jobs, unsigned n, int instead,
                      unsigned how)
{
    int status = TUTTI_ERR_UNAVAILABLE;
    if (first->engines || first->recv->engines)
        status = tutti_pack_copies(first->gpu, jobs, n, tutti_deferred_free_may_load(first->worker->node));
    else if (instead)
        status = tutti_engines_meanwhile(first->worker, first->gpu, jobs, n, instead == 1);
    if (status == TUTTI_OK)
        count_copies(first, n);
    return status == TUTTI_ERR_UNAVAILABLE ? tutti_pack_reached(first->gpu, jobs, n, how) : status;
}

/* 1 if kernels of this rank and of a sender of these messages take turns on the GPU, where the messages are stored. */
static int fetch_takes_turns(struct tutti_p2p_fetch *const of[], unsigned n, int near)
{
    int turns = 0, last = -1;
    for (unsigned i = 0; i < n && near && !of[0]->engines && !of[0]->recv->engines && !turns; i++) {
        const int peer = of[i]->recv->rts.rank;
        turns = peer != last && tutti_turns_with(of[0]->worker, peer, of[0]->gpu);
        last = peer;
    }
    return turns;
}

/* The jobs of these fetches have run. Returns how many messages are not complete. */
static unsigned fetch_ran(struct tutti_p2p_fetch *const of[], unsigned n, int status)
{
    unsigned left = 0;
    for (unsigned k = 0; k < n; k++) {
        if (status == TUTTI_OK && of[k]->ops->fetched && !of[k]->ops->fetched(of[k])) {
            tutti_fetch_release(of[k]);
            left++;
        } else {
            tutti_fetch_end(of[k], status);
        }
        of[k]->recv = NULL;
    }
    return left;
}

/* Fetches that are alike, by one launch or by copies. Returns how many are not complete. near: all are stored in memory
 * of their GPU. */
static unsigned fetch_together(const struct tutti_p2p_fetching *all, struct tutti_p2p_fetch *const of[],
                               const struct tutti_pack_job *jobs, unsigned n, int near)
{
    const unsigned how = launched_how(of[0], near, all->n == 1);
    const int instead = engines_come_first(of, n, near), turns = fetch_takes_turns(of, n, near);
    struct tutti_turn turn;
    int status = turns ? tutti_turns_copy(of[0]->worker, of[0]->gpu, jobs, n) : TUTTI_ERR_UNAVAILABLE;
    if (status != TUTTI_ERR_UNAVAILABLE)
        return fetch_ran(of, n, status);
    tutti_turn_begin(&turn, turns, of[0]->gpu, jobs, n);
    if (all->beside && !instead && may_fly(of, n) && tutti_flight_begin(of, jobs, n, how, &turn) == TUTTI_OK) {
        count_copies(of[0], n);
        for (unsigned k = 0; k < n; k++)
            of[k]->recv = NULL;
        return n;
    }
    status = fetch_jobs(of[0], jobs, n, instead, how);
    tutti_turn_end(&turn);
    return fetch_ran(of, n, status);
}

/* One launch for each GPU, or copies by its engines. Returns how many are not complete. */
static unsigned p2p_fetch_run(const struct tutti_p2p_fetching *all, struct tutti_p2p_fetch *fetches,
                              struct tutti_pack_job *jobs, unsigned n)
{
    unsigned left = 0;
    for (unsigned done = 0; done < n;) {
        struct tutti_pack_job together[TUTTI_BATCH];
        struct tutti_p2p_fetch *of[TUTTI_BATCH];
        unsigned used = 0;
        int near = 1;
        for (unsigned i = 0; i < n; i++) {
            if (!fetches[i].recv || (used > 0 && !is_alike(&fetches[i], of[0])))
                continue;
            together[used] = jobs[i];
            near &= tutti_fetch_is_near(&fetches[i]);
            of[used++] = &fetches[i];
        }
        if (used == 0)
            break; /* none is left */
        tutti_trace(TUTTI_TRACE_FETCH, of[0]->recv->bytes);
        done += used;
        left += fetch_together(all, of, together, used, near);
    }
    return left;
}

/* Ends the messages whose kernels have ended. Returns how many bytes have arrived that no kernel is fetching. */
static uint64_t fetch_landed(const struct tutti_p2p_fetching *all)
{
    struct tutti_p2p_flight *polled = NULL; /* a look at copies asks the driver: one for the messages of a flight */
    uint64_t bytes = 0;
    for (int i = 0; i < all->n; i++) {
        struct tutti_p2p_recv *recv = all->at(all, i);
        if (recv && recv->flight && recv->flight == polled)
            continue;
        if (recv && recv->flight)
            tutti_flight_poll(polled = recv->flight);
        else if (recv && !recv->far && !recv->ended)
            bytes += recv->bytes;
    }
    return bytes;
}

/* Fetches what can be fetched now of ranks of the node. 1: all are complete. */
static int fetch_node(void *with)
{
    struct tutti_p2p_fetch fetches[TUTTI_BATCH];
    struct tutti_pack_job jobs[TUTTI_BATCH];
    const struct tutti_p2p_fetching *all = with;
    int gpus[TUTTI_ENDPOINT_GPUS], uses = -1; /* asked for once: that looks for resets */
    unsigned used = 0, left = 0;
    const uint64_t bytes = fetch_landed(all);
    const int full = all->beside && !tutti_flights_may(bytes, all->last);
    for (int i = 0; i < all->n; i++) {
        struct tutti_p2p_recv *recv = all->at(all, i);
        if (!recv || recv->far || recv->ended)
            continue;
        if (used == TUTTI_BATCH || full || recv->flight) {
            left++;
            continue;
        }
        if (uses < 0)
            uses = tutti_endpoint_gpus(all->worker->endpoint, gpus);
        fetches[used].used = gpus;
        fetches[used].uses = uses;
        fetches[used].waiting = bytes;
        fetches[used].worker = all->worker;
        fetches[used].recv = recv;
        fetches[used].held = NULL;
        fetches[used].like = used > 0 ? fetches[used - 1].held : NULL;
        fetches[used].from = NULL;
        fetches[used].pieces = 0;
        fetches[used].engines = 0;
        const int what = fetch_begin(&fetches[used], &jobs[used]);
        used += what == 1;
        if (what == 0 && tutti_endpoint_watch(all->worker->endpoint, recv->rts.rank) != TUTTI_OK)
            tutti_recv_end(recv, TUTTI_ERR_PEER);
        else
            left += what == 0;
    }
    if (used)
        left += p2p_fetch_run(all, fetches, jobs, used);
    return left == 0;
}

/* The same of ranks of other nodes. */
static int fetch_far(void *with)
{
    const struct tutti_p2p_fetching *all = with;
    int left = 0;
    for (int i = 0; i < all->n; i++) {
        struct tutti_p2p_recv *recv = all->at(all, i);
        if (!recv || !recv->far || recv->ended)
            continue;
        struct tutti_p2p_fetch fetch = {.worker = all->worker, .recv = recv};
        left += recv->far->fetch(&fetch, NULL) == 0;
    }
    return left == 0;
}

void tutti_p2p_begin(struct tutti_p2p_worker *worker, struct tutti_p2p_recv *recv)
{
    struct tutti_p2p_fetch fetch = {.worker = worker, .recv = recv};
    if (!recv->begun)
        recv->far->fetch(&fetch, NULL);
}

void tutti_p2p_fetch_all(struct tutti_p2p_fetching *fetching, int wait)
{
    if (!fetch_far(fetching)) {
        if (wait) {
            tutti_progress_wait(&(const struct tutti_wait){
                .done = fetch_far, .with = fetching, .what = "for the rest of a message from another node"});
        } else {
            tutti_progress_poll();
            fetch_far(fetching);
        }
    }
    if (!fetch_node(fetching) && wait) /* their owners may wait in the same way for messages of this rank */
        tutti_progress_wait(&(const struct tutti_wait){
            .done = fetch_node, .with = fetching, .what = "for the data of a message of the node"});
}
