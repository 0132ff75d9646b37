/* The row of the protocol `pipelined`: its operations, made of the functions of both sides (pipelined.h). */
#include "core/log.h"
#include "core/status.h"
#include "p2p/own.h"
#include "p2p/pipelined_own.h"

/* ---- sender ---- */

static int pipelined_can(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    const struct tutti_places *places = tutti_elements_places(&send->elements);
    if (!worker->pipelined)
        return 0;
    if (!places->device || !tutti_places_reached(places))
        return TUTTI_NO(UNREACHED);
    send->gpu = tutti_fragment_gpu(places);
    send->fragment = tutti_pipelined_fragment(send->bytes);
    return send->fragment > 0;
}

static enum tutti_protocol_cost pipelined_cost(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    (void)worker;
    (void)send;
    return TUTTI_COST_READY;
}

static int pipelined_post(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_pack_job *job)
{
    (void)job;
    send->out = tutti_pipelined_offer(worker->pipelined, &send->elements, send->bytes, send->fragment, send->gpu,
                                      send->to, &send->rts);
    return send->out != NULL;
}

static void pipelined_row_cancel(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    (void)worker;
    tutti_outgoing_withdraw(send->out);
    send->out = NULL;
}

/* ---- receiver ---- */

static void say_lost(const struct tutti_pipelined_rts *rts, int status)
{
    tutti_error("a message of %llu bytes from rank %d, on another node, is not taken: %s",
                (unsigned long long)rts->bytes, rts->rank,
                status == TUTTI_ERR_MEMORY     ? "out of memory"
                : status == TUTTI_ERR_MISMATCH ? "its RTS is old, or a duplicate"
                                               : "its RTS is not one of Tutti's");
}

void tutti_p2p_from_far(struct tutti_p2p_recv *recv)
{
    recv->bytes = recv->far_rts.bytes;
    recv->far = &tutti_pipelined_ops;
}

/* Asks for the fragments. A status. */
static int pipelined_begin(struct tutti_pipelined *pipelined, struct tutti_p2p_recv *recv)
{
    struct tutti_incoming *in = NULL;
    int status = tutti_pipelined_accept(pipelined, &recv->far_rts, &recv->elements, recv->capacity, &in);
    if (status == TUTTI_OK)
        status = tutti_incoming_start(in);
    if (status == TUTTI_OK)
        recv->in = in;
    else
        tutti_incoming_free(in);
    return status;
}

static void pipelined_end(struct tutti_p2p_recv *recv, struct tutti_incoming *in)
{
    int status = tutti_incoming_status(in);
    if (status == TUTTI_OK && tutti_incoming_packed(in))
        status = recv->unpack(recv, tutti_incoming_packed(in));
    if (status == TUTTI_OK && tutti_incoming_truncated(in)) {
        recv->truncated = 1;
        status = TUTTI_ERR_ARGUMENT;
    }
    tutti_incoming_free(in);
    tutti_recv_end(recv, status);
}

/* Several calls may poll one message: one of them asks for the fragments, one ends it. */
static int pipelined_fetch(struct tutti_p2p_fetch *fetch, struct tutti_pack_job *job)
{
    struct tutti_p2p_recv *recv = fetch->recv;
    struct tutti_pipelined *pipelined = fetch->worker->pipelined;
    struct tutti_incoming *in = NULL;
    int status = TUTTI_OK;
    (void)job;
    pthread_mutex_lock(&pipelined->fetching);
    if (!recv->begun) {
        recv->begun = 1;
        status = pipelined_begin(pipelined, recv);
    } else if (recv->in && tutti_incoming_done(recv->in)) {
        in = recv->in;
        recv->in = NULL;
    }
    pthread_mutex_unlock(&pipelined->fetching);
    if (in)
        pipelined_end(recv, in);
    if (status == TUTTI_OK)
        return recv->ended ? -1 : 0;
    say_lost(&recv->far_rts, status);
    tutti_recv_end(recv, status);
    return -1;
}

const struct tutti_protocol_ops tutti_pipelined_ops = {.can = pipelined_can,
                                                       .cost = pipelined_cost,
                                                       .post = pipelined_post,
                                                       .cancel = pipelined_row_cancel,
                                                       .fetch = pipelined_fetch,
                                                       .instead = TUTTI_PROTOCOLS};
