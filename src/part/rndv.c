/* Partitions of device memory for a rank of the node: the message of the channel names a rendezvous, and the receiver
 * fetches the data by the protocols of src/p2p/, as it fetches messages of device memory. */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "part/own.h"

static struct sent {
    struct sent *next;
    struct tutti_part *part;
    struct tutti_p2p_send core;
} * sends;

static struct fetched {
    struct fetched *next;
    struct tutti_part *part;
    uint64_t first;
    struct tutti_p2p_recv core;
} * fetches;

/* ---- sender ---- */

/* The node rank of the receiver of so many bytes, if a protocol reaches it from this GPU; -1. The channel's message
 * names the rendezvous, so no receive has to look for an RTS. */
static int rndv_peer(const struct tutti_part *part, uint64_t bytes)
{
    struct tutti_p2p_worker *worker = &tutti_part_engine.worker;
    const struct tutti_places *places = &part->elements.places;
    if (!worker->endpoint || !places->device || !tutti_places_reached(places))
        return -1;
    const int peer = tutti_node_find(worker->node, part->args.peer);
    const int reaches = peer >= 0 && tutti_endpoint_use(worker->endpoint, places->gpu) >= 0 &&
                        tutti_p2p_reaches(worker, peer, places->gpu, bytes, &tutti_rules_of_messages);
    return reaches ? peer : -1;
}

static struct tutti_elements rndv_elements_of(const struct tutti_part *part, uint64_t first, uint64_t count)
{
    const struct tutti_part_args *args = &part->args;
    return (struct tutti_elements){.plan = args->plan,
                                   .count = (int64_t)count,
                                   .buffer = (char *)args->buffer + (int64_t)first * args->plan->extent,
                                   .whole = args->in_order && (args->solid || count == 1),
                                   .placed = part->elements.placed,
                                   .places = part->elements.places};
}

static int sent_post(struct sent *sent, int peer)
{
    struct tutti_p2p_worker *worker = &tutti_part_engine.worker;
    struct tutti_p2p_send *core = &sent->core;
    const char *end;
    if (!(core->rndv = tutti_endpoint_rndv(worker->endpoint, peer, core->gpu)))
        return 0;
    core->rndv->tag = INT32_MIN; /* no message of the program: probes do not see it */
    core->rndv->next = TUTTI_RNDVS;
    core->rndv->bytes = core->bytes;
    core->allocation = core->elements.places.id;
    if (core->allocation)
        tutti_elements_span(&core->elements, &core->lowest, &end);
    core->since = tutti_now_ns();
    if (tutti_p2p_choose(worker, core, &tutti_rules_of_messages, NULL))
        return 1;
    if (core->rndv)
        tutti_endpoint_withdraw(worker->endpoint, core->rndv);
    return 0;
}

int tutti_part_rndv_send(struct tutti_part *part, uint64_t first, uint64_t n, struct tutti_part_head *head)
{
    struct tutti_p2p_worker *worker = &tutti_part_engine.worker;
    const int peer = rndv_peer(part, head->bytes);
    const uint64_t count = (uint64_t)part->args.count;
    struct sent *sent = peer < 0 ? NULL : calloc(1, sizeof *sent);
    if (!sent)
        return 0;
    sent->part = part;
    sent->core.elements = rndv_elements_of(part, first * count, n * count);
    sent->core.bytes = head->bytes;
    sent->core.gpu = part->elements.places.gpu;
    if (!sent_post(sent, peer)) {
        free(sent);
        return 0;
    }
    head->way = TUTTI_PART_RNDV;
    head->rndv = tutti_endpoint_number(worker->endpoint, sent->core.rndv);
    head->rndv_rank = tutti_node_rank(worker->node);
    head->rndv_sequence = atomic_load(&sent->core.rndv->sequence);
    sent->next = sends;
    sends = sent;
    part->rndvs++;
    return 1;
}

void tutti_part_rndv_withdraw(struct tutti_part *part)
{
    struct sent *sent = sends;
    sends = sent->next;
    tutti_endpoint_withdraw(tutti_part_engine.worker.endpoint, sent->core.rndv);
    part->rndvs--;
    free(sent);
}

void tutti_part_rndv_sent(void)
{
    tutti_p2p_list(&tutti_part_engine.worker, &sends->core);
}

/* 1 once the data are out of the buffer, and the transport has none of them. */
static int sent_ended(struct sent *sent)
{
    struct tutti_p2p_worker *worker = &tutti_part_engine.worker;
    int status = TUTTI_OK;
    const int out = tutti_p2p_data_out(worker, &sent->core, &status);
    tutti_part_fail(sent->part, status);
    return out && tutti_p2p_send_done(worker, &sent->core);
}

static void sends_poll(void)
{
    tutti_p2p_poll(&tutti_part_engine.worker);
    for (struct sent **at = &sends; *at;) {
        struct sent *sent = *at;
        if (!sent_ended(sent)) {
            at = &sent->next;
            continue;
        }
        *at = sent->next;
        sent->part->rndvs--;
        free(sent);
    }
}

/* ---- receiver ---- */

static struct fetched *fetched_of(struct tutti_p2p_recv *recv)
{
    return (struct fetched *)(void *)((char *)recv - offsetof(struct fetched, core));
}

/* The sender's partitions begin or end within an element of this side: the packed message is stored from its copy. */
static int fetched_unpack(struct tutti_p2p_recv *recv, char *packed)
{
    const struct fetched *fetched = fetched_of(recv);
    return tutti_elements_move(TUTTI_UNPACK, &fetched->part->elements, fetched->first, recv->bytes, packed);
}

int tutti_part_rndv_receive(struct tutti_part *part, uint64_t first, const struct tutti_part_head *head)
{
    struct tutti_p2p_worker *worker = &tutti_part_engine.worker;
    const uint64_t size = part->args.plan->size, end = first + head->bytes;
    struct fetched *fetched = calloc(1, sizeof *fetched);
    if (!fetched)
        return TUTTI_ERR_MEMORY;
    if (part->elements.places.device && part->elements.places.gpu >= 0)
        tutti_endpoint_use(worker->endpoint, part->elements.places.gpu);
    fetched->part = part;
    fetched->first = first;
    fetched->core.bytes = head->bytes;
    fetched->core.rts = (struct tutti_rts_head){
        .sequence = head->rndv_sequence, .bytes = head->bytes, .number = head->rndv, .rank = head->rndv_rank};
    fetched->core.unpack = fetched_unpack;
    fetched->core.capacity = end <= tutti_part_capacity(part) ? head->bytes : 0;
    if (first % size == 0 && end % size == 0)
        fetched->core.elements = rndv_elements_of(part, first / size, head->bytes / size);
    fetched->next = fetches;
    fetches = fetched;
    part->rndvs++;
    return TUTTI_OK;
}

static void fetched_end(struct fetched *fetched)
{
    struct tutti_part *part = fetched->part;
    part->rndvs--;
    if (fetched->core.status != TUTTI_OK && !fetched->core.truncated)
        tutti_part_fail(part, fetched->core.status);
    tutti_part_landed(part, fetched->first, fetched->core.bytes);
    free(fetched);
}

struct fetching {
    struct tutti_p2p_fetching base;
    struct fetched *of[TUTTI_RNDVS];
};

static struct tutti_p2p_recv *fetching_at(const struct tutti_p2p_fetching *base, int i)
{
    return &((const struct fetching *)(const void *)base)->of[i]->core;
}

static void fetches_poll(void)
{
    struct fetching all = {.base = {.worker = &tutti_part_engine.worker, .at = fetching_at}};
    for (struct fetched *fetched = fetches; fetched && all.base.n < TUTTI_RNDVS; fetched = fetched->next)
        all.of[all.base.n++] = fetched;
    tutti_p2p_fetch_all(&all.base, 0);
    for (struct fetched **at = &fetches; *at;) {
        struct fetched *fetched = *at;
        if (!fetched->core.ended) {
            at = &fetched->next;
            continue;
        }
        *at = fetched->next;
        fetched_end(fetched);
    }
}

void tutti_part_rndv_poll(void)
{
    if (sends)
        sends_poll();
    if (fetches)
        fetches_poll();
    if ((sends || fetches) && tutti_part_engine.worker.endpoint)
        tutti_endpoint_poll(tutti_part_engine.worker.endpoint);
}

void tutti_part_rndv_close(void)
{
    while (fetches) {
        struct fetched *next = fetches->next;
        free(fetches);
        fetches = next;
    }
    while (sends) {
        struct sent *next = sends->next;
        free(sends);
        sends = next;
    }
}
