/* Messages that their sender stores into the receiver's buffer: a rendezvous put. Copy engines that store into a peer's
 * memory leave the other direction of the link to data, while engines and kernels that read it send requests there. So
 * where both directions carry large messages, the receiver of an offered message (GET) asks its sender to store it:
 * the receiver names its buffer, and moves the rendezvous to CTS. The sender begins only in a wait, and leaves the wait
 * when the copy has ended: otherwise the receiver would wait as long as the program computes. A sender that does not
 * begin in time is in no wait, and the receiver fetches the message after all. The sender refuses if it cannot reach
 * the buffer yet.
 *
 * Rules of the section `message_put` say for which messages the receiver asks. The default rules end at 1 GiB: a sender
 * whose wait is over stays in it for 20 ms at most (progress/engine.h), so the four copies that its queue takes must
 * end before. Behind a longer copy the receiver would wait for the sender's next call. */
#include "core/clock.h"
#include "core/counters.h"
#include "core/lives.h"
#include "p2p/own.h"
#include "progress/engine.h"
#include "team/deferred_free.h"

enum {
    LOSES_BYTES = 4096,   /* a fetched message loses a ns for so many bytes while the other direction is busy too */
    STORING_BYTES = 1024, /* the same while this rank stores messages there: its GPU alone drives both directions */
    PART = 4              /* both directions are busy if this rank sends so large a part of the message, or more */
};

/* ---- rules ---- */

/* The patience bounds what a message loses whose sender is in no wait: that is longer than fetching it takes. What a
 * program loses by many such messages is bounded by tutti_endpoint_put_late(). Rules `always` are for tests and
 * measurements, which want the message stored. */
enum { NEVER, EXCHANGE, BUSY, ALWAYS }; /* in the order of the names */
TUTTI_RULES_SECTION(put_rules, "message_put", .what = "time of puts", .known = "never exchange busy always")
/* ns in which the sender begins, or continues with messages before this one */
static const uint64_t patience[] = {[NEVER] = 0, [EXCHANGE] = 300000, [BUSY] = 300000, [ALWAYS] = 10000000};

/* ---- receiver ---- */

/* What the rules say of a message of so many bytes: those of a window are equally long. */
static int rndv_put_rule(uint64_t bytes)
{
    static _Thread_local struct tutti_rules_last last;
    const int when = tutti_rules_first(put_rules.first, bytes, &last);
    return when > NEVER ? when : NEVER;
}

/* 1 if such a message is to be stored by its sender now. EXCHANGE: this rank sends too, and other messages have
 * arrived, which keep the link busy while the sender is asked; BUSY: one of the two. */
static int rndv_put_is_wanted(const struct tutti_p2p_fetch *f, uint64_t bytes, int when)
{
    const int sends = atomic_load_explicit(&f->worker->out, memory_order_relaxed) >= bytes / PART;
    const int several = f->waiting > bytes;
    return when == ALWAYS || (!tutti_gpu_takes_turns(f->gpu) && (when == BUSY ? sends || several : sends && several));
}

/* 1 if both sides are one run of bytes, this one in one allocation of a GPU. */
static int rndv_put_is_possible(struct tutti_p2p_fetch *f)
{
    const struct tutti_p2p_recv *recv = f->recv;
    if (f->n == 0 || !recv->elements.plan || !recv->elements.whole || recv->demanded || recv->bytes == 0 ||
        __atomic_load_n(&f->rndv->layout_bytes, __ATOMIC_RELAXED) != 0)
        return 0;
    f->gpu = f->gpus[0];
    return tutti_fetch_is_near(f);
}

int tutti_put_ask(struct tutti_p2p_fetch *f)
{
    struct tutti_p2p_recv *recv = f->recv;
    struct tutti_endpoint *endpoint = f->worker->endpoint;
    const int peer = recv->rts.rank;
    struct tutti_share into;
    const int when = recv->asked || recv->fetched ? NEVER : rndv_put_rule(recv->bytes);
    if (when == NEVER || !rndv_put_is_possible(f) || !rndv_put_is_wanted(f, recv->bytes, when))
        return 0;
    recv->asked = when;
    const uint64_t loses = recv->bytes / (tutti_endpoint_puts(endpoint, peer) > 0 ? STORING_BYTES : LOSES_BYTES);
    tutti_endpoint_poll(endpoint); /* the sender may want a descriptor of the buffer, and this rank only receives */
    if (tutti_endpoint_is_streamed(endpoint) ||
        !tutti_endpoint_put_pays(endpoint, peer, recv->elements.places.id, loses) ||
        !tutti_endpoint_show(endpoint, peer, tutti_elements_run(&recv->elements), recv->elements.places.id, f->gpu,
                             &into))
        return 0;
    tutti_endpoint_put_into(f->rndv, &into);
    recv->asked_at = tutti_now_ns();
    return tutti_rndv_win(f->rndv, TUTTI_RNDV_CTS);
}

/* 1 if the sender has not begun, and neither continues with messages before this one. */
static int rndv_put_is_late(const struct tutti_p2p_fetch *f, uint64_t now)
{
    const uint64_t seen = tutti_endpoint_put_seen(f->worker->endpoint, f->recv->rts.rank);
    const uint64_t since = seen > f->recv->asked_at ? seen : f->recv->asked_at;
    return now > since && now - since > patience[f->recv->asked];
}

static int rndv_put_fetch(struct tutti_p2p_fetch *f, struct tutti_pack_job *job)
{
    (void)job;
    struct tutti_endpoint *endpoint = f->worker->endpoint;
    const int peer = f->recv->rts.rank;
    const uint64_t now = tutti_now_ns();
    if (tutti_rndv_is(f->rndv, TUTTI_RNDV_CTS)) {
        if (!rndv_put_is_late(f, now) || !tutti_rndv_move(f->rndv, TUTTI_RNDV_CTS, TUTTI_RNDV_GET))
            return 0;
        tutti_endpoint_put_late(endpoint, peer, f->recv->asked_at, now);
        return 0; /* the next look fetches it */
    }
    tutti_endpoint_put_saw(endpoint, peer, now);
    if (!tutti_rndv_is(f->rndv, TUTTI_RNDV_PUT))
        return 0;
    f->state = TUTTI_RNDV_PUT;
    tutti_fetch_end(f, TUTTI_OK);
    return -1;
}

/* The receiver asks for no message that is too long for its buffer. */
static int rndv_put_drop(struct tutti_p2p_fetch *f)
{
    (void)f;
    return 0;
}

/* ---- sender ---- */

/* Starts the copy, or refuses: the rendezvous is offered again, and the receiver fetches the message, or this rank
 * packs it. So a send needs its receiver no more than if it had not been asked. */
static void rndv_put_start(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    struct tutti_rndv *rndv = send->rndv;
    const struct tutti_share into = rndv->into; /* once: what has been checked must not change */
    char *data;
    struct tutti_mapping *held = NULL;
    if (tutti_progress_waiting() && tutti_copy_queue_is_full(send->gpu))
        return; /* of copies that this rank waits for */
    if (!tutti_progress_waiting() || !send->elements.whole ||
        tutti_endpoint_put(worker->endpoint, (int)rndv->to, &into, -1, send->gpu, send->bytes, &data, &held) !=
            TUTTI_REACHED) {
        tutti_rndv_move(rndv, TUTTI_RNDV_CTS, TUTTI_RNDV_GET);
        return;
    }
    if (!tutti_rndv_move(rndv, TUTTI_RNDV_CTS, TUTTI_RNDV_PUTTING)) {
        tutti_endpoint_release(worker->endpoint, held);
        return;
    }
    const int started = tutti_copy_queue_start(send->gpu, data, tutti_elements_run(&send->elements), send->bytes,
                                               tutti_deferred_free_may_load(worker->node), &send->put);
    if (started == 1) {
        send->put_held = held;
        atomic_fetch_add_explicit(&tutti_progress_owed, 1, memory_order_relaxed);
        tutti_endpoint_put_runs(worker->endpoint, (int)rndv->to, 1);
        tutti_count("copies of messages", TUTTI_OUTCOME_LAUNCHED, "copy engines, into the receiver's buffer");
        return;
    }
    tutti_endpoint_release(worker->endpoint, held);
    tutti_rndv_move(rndv, TUTTI_RNDV_PUTTING, started == 0 ? TUTTI_RNDV_CTS : TUTTI_RNDV_GET);
}

static void rndv_put_poll(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_p2p_batch *batch,
                          uint64_t now)
{
    (void)batch, (void)now;
    if (tutti_rndv_is(send->rndv, TUTTI_RNDV_CTS)) {
        rndv_put_start(worker, send);
        return;
    }
    const int ended = send->put.queue ? tutti_copy_queue_poll(&send->put) : 0;
    if (ended == 0)
        return;
    tutti_endpoint_release(worker->endpoint, send->put_held);
    send->put_held = NULL;
    atomic_fetch_sub_explicit(&tutti_progress_owed, 1, memory_order_relaxed);
    tutti_endpoint_put_runs(worker->endpoint, (int)send->rndv->to, -1);
    /* After a failure the receiver fetches the message, and finds what fails. */
    tutti_rndv_move(send->rndv, TUTTI_RNDV_PUTTING, ended > 0 ? TUTTI_RNDV_PUT : TUTTI_RNDV_GET);
}

static int rndv_put_out(const struct tutti_p2p_worker *worker, const struct tutti_p2p_send *send)
{
    (void)worker;
    return tutti_rndv_is(send->rndv, TUTTI_RNDV_PUT);
}

const struct tutti_protocol_ops tutti_put_ops = {.poll = rndv_put_poll,
                                                 .out = rndv_put_out,
                                                 .fetch = rndv_put_fetch,
                                                 .drop = rndv_put_drop,
                                                 .instead = TUTTI_PROTOCOLS};
