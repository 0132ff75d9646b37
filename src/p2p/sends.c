/* Polls posted sends to ranks of the node until their data have left. */
#include <stdatomic.h>

#include "core/clock.h"
#include "core/trace.h"
#include "p2p/own.h"

enum {
    WATCH_NS = 1000000, /* between two looks at whether receivers are alive */
    ALL_NS = 5000       /* between two looks at all sends */
};

/* One caller at a time changes the count; receivers read it. */
static void sends_count(struct tutti_p2p_worker *worker, uint64_t more)
{
    const uint64_t out = atomic_load_explicit(&worker->out, memory_order_relaxed);
    atomic_store_explicit(&worker->out, out + more, memory_order_relaxed);
}

/* The oldest first: a poll packs a batch, and the oldest message has waited longest. */
void tutti_p2p_list(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    send->at = worker->sends ? worker->last : &worker->sends;
    send->next = NULL;
    *send->at = send;
    worker->last = &send->next;
    sends_count(worker, send->bytes);
}

static void send_unlist(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    if (!send->at)
        return;
    *send->at = send->next;
    if (send->next)
        send->next->at = send->at;
    else
        worker->last = send->at;
    send->at = NULL;
    sends_count(worker, 0 - send->bytes);
}

/* 1 if the data are out of the program's buffer, or are not wanted any more. */
static int send_is_out(const struct tutti_p2p_worker *worker, const struct tutti_p2p_send *send)
{
    const uint32_t state = atomic_load_explicit(&send->rndv->state, memory_order_acquire);
    const struct tutti_protocol_ops *const ops = tutti_protocol_at(state);
    if (ops)
        return ops->out && ops->out(worker, send);
    return state != TUTTI_RNDV_GETTING && state != TUTTI_RNDV_MOVING;
}

/* One launch for each GPU. */
static void sends_pack(struct tutti_p2p_worker *worker, struct tutti_p2p_batch *all)
{
    for (unsigned done = 0; done < all->n;) {
        struct tutti_pack_job jobs[TUTTI_BATCH];
        struct tutti_p2p_send *sends[TUTTI_BATCH];
        unsigned of[TUTTI_BATCH], n = 0;
        int gpu = -1;
        for (unsigned i = 0; i < all->n; i++) {
            if (!all->of[i] || (n > 0 && all->of[i]->gpu != gpu))
                continue;
            gpu = all->of[i]->gpu;
            jobs[n] = all->job[i];
            sends[n] = all->of[i];
            of[n++] = i;
        }
        const int status = tutti_engines_pack(worker, sends, jobs, n); /* into scratch on this GPU */
        for (unsigned k = 0; k < n; k++) {
            struct tutti_p2p_send *send = sends[k];
            all->of[of[k]] = NULL;
            tutti_send_note(send, status, send->packed > 0);
            if (status == TUTTI_OK)
                tutti_packed_add(send, all->pieces[of[k]]);
            tutti_rndv_move(send->rndv, TUTTI_RNDV_MOVING, status == TUTTI_OK ? TUTTI_RNDV_BOUNCE : TUTTI_RNDV_GET);
        }
        done += n;
    }
}

void tutti_p2p_poll(struct tutti_p2p_worker *worker)
{
    struct tutti_p2p_batch all;
    const uint64_t now = tutti_now_ns();
    worker->watches = now - worker->watched >= WATCH_NS;
    worker->watched = worker->watches ? now : worker->watched;
    worker->away = now - worker->polled;
    worker->polled = now;
    worker->looks_at_all = now - worker->looked >= ALL_NS;
    worker->looked = worker->looks_at_all ? now : worker->looked;
    int open = 0;
    all.n = 0;
    for (struct tutti_p2p_send *send = worker->sends; send && all.n < TUTTI_BATCH; send = send->next) {
        const uint32_t state = atomic_load_explicit(&send->rndv->state, memory_order_acquire);
        const struct tutti_protocol_ops *ops = tutti_protocol_at(state);
        if (state == TUTTI_RNDV_GETTING || state == TUTTI_RNDV_CTS || state == TUTTI_RNDV_PUTTING ||
            (state == TUTTI_RNDV_ATS && send->packed == 0))
            tutti_endpoint_saw_fetch(worker->endpoint, (int)send->rndv->to, now);
        if (send->since == 0)
            send->since = now;
        if (ops)
            ops->poll(worker, send, &all, now);
        open += state != TUTTI_RNDV_ATS;
        if (open >= TUTTI_SENDS_LOOKS && !worker->looks_at_all)
            break;
    }
    if (all.n)
        sends_pack(worker, &all);
}

int tutti_p2p_data_out(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, int *status)
{
    struct tutti_rndv *rndv = send->rndv;
    if (!rndv)
        return 1;
    if (!send_is_out(worker, send)) {
        if ((!worker->watches && send->failed == TUTTI_OK) || send->put.queue) /* an engine reads the buffer */
            return 0;
        const int alive = tutti_endpoint_watch(worker->endpoint, (int)rndv->to);
        if (alive == TUTTI_OK && send->failed == TUTTI_OK)
            return 0;
        *status = alive != TUTTI_OK ? alive : send->failed;
    }
    send_unlist(worker, send);
    tutti_trace(TUTTI_TRACE_DATA_OUT, send->bytes);
    if (tutti_rndv_is(rndv, TUTTI_RNDV_ATS))
        tutti_trace_way(TUTTI_TRACE_ATS_WAY, rndv->ended);
    tutti_endpoint_send_release(worker->endpoint, rndv);
    send->rndv = NULL;
    return 1;
}

int tutti_p2p_send_done(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    if (send->parts)
        tutti_carried_sweep(worker, send);
    return !send->parts;
}

int tutti_p2p_alive(struct tutti_p2p_worker *worker, const struct tutti_p2p_send *send)
{
    return send->rndv ? tutti_endpoint_watch(worker->endpoint, (int)send->rndv->to) : TUTTI_OK;
}
