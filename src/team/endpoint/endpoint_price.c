/* When memory of a peer is mapped, and when scratch is allocated, on devices where both take long: not before the
 * messages that the MPI has carried, or that were packed, have lost as much. So first messages take the time that they
 * take by hand, and all messages of an allocation together never cost more than twice what the better of both ways does
 * (the rule of ski rental). The sender keeps the account: it sees all messages, also those that the MPI has.
 *
 * One mapping of a process is made on credit: of an allocation whose messages have lost a small part of it, as the
 * first opening of a communicator's team is (coll/call/opening_price.h). What that mapping costs more than its messages
 * have lost is owed until messages from mapped allocations have saved as much. While something is owed, the other
 * allocations pay the whole price first. But where mapped allocations have been used since the newest allocation came,
 * up to two first mappings may be owed: arrays that a program sends from in turns. So a program with few messages, or
 * whose allocations are new every few messages, is slower by one mapping, two at most. A program whose mappings pay
 * never waits for them: also one that times a few exchanges to choose among ways of its own (a tuner). The message that
 * brings a mapping on credit waits for it, and so do those behind it: the driver holds back the copies of staged ones
 * meanwhile.
 */
#include "team/endpoint/endpoint_own.h"

#include "core/clock.h"
#include "core/counters.h"
#include "core/fnv.h"
#include "core/settings.h"
#include "dtype/pack.h"

enum {
    LANDING_PART = 4,        /* of what a message loses that the MPI carries: so much loses one that lands */
    PACK_NS = 5000,          /* that packing takes longer than fetching alone, without the bytes: at a KiB a ns */
    SCRATCH_PRICES = 2,      /* scratch is allocated, then mapped */
    SCRATCH_NS = 500000,     /* that allocating scratch takes */
    LEFT_BYTES = 1 << 20,    /* staged by the MPI up to here, until scratch is mapped: no RTS, no answer */
    UNANSWERED_NS = 1000000, /* a rank that is in a call has answered by then */
    CREDIT_NS = 100000,      /* an allocation that has lost so much is mapped on credit: by 10 exchanges of 8 KiB */
    AWAITING_MOST = 128,     /* messages that wait for such a mapping */
    AWAITS_TIMES = 2, /* of what a mapping takes: so long they wait. Both ranks may map at once, one behind the other */
    KERNELS_PART = 3, /* of the time of loading the kernels: so much all messages must have lost before */
    TURNS_NS = 260000 /* what a packed message loses besides, if both ranks' kernels wait for turns on the GPU */
};

/* Of a peer that has mapped nothing of this rank the first mapping: the GPUs are to be joined. */
uint64_t tutti_endpoint_price(const struct tutti_endpoint *endpoint, const struct tutti_endpoint_from *to,
                              const struct tutti_endpoints *of, enum tutti_mapping_size size)
{
    const uint64_t set = (uint64_t)tutti_settings()->mapping_price_us * 1000,
                   usual = endpoint->device->share.usual_ns();
    const uint64_t takes = tutti_endpoint_mapping_takes(endpoint, of, size);
    if (set)
        return set;
    return takes < usual && !atomic_load_explicit(&to->leased, memory_order_relaxed) ? usual : takes;
}

/* What a mapping costs more while they are not loaded; no part of what is owed. */
static uint64_t price_of_kernels(int gpu)
{
    return tutti_settings()->mapping_price_us || tutti_pack_state(gpu) == TUTTI_PACK_READY ? 0 : TUTTI_PACK_LOADING_NS;
}

/* What packing a message takes longer than to fetch it from a mapped allocation. */
static uint64_t packing_loses(uint64_t bytes)
{
    return PACK_NS + bytes / 1024;
}

/* What a message loses that the MPI carries, beside one that is packed. Ones up to `shorter` bytes are never packed. */
static uint64_t loses_unpacked(uint64_t bytes, uint64_t shorter)
{
    const uint64_t all = tutti_endpoint_loses(bytes), packed = packing_loses(bytes);
    return bytes > shorter && all > packed ? all - packed : 0;
}

/* NULL: there is no account. */
static struct tutti_endpoint_account *account_find(struct tutti_endpoint_from *to, uint64_t id)
{
    struct tutti_endpoint_account *const all = to->account[tutti_mix(id) % TUTTI_ENDPOINT_ACCOUNTS];
    for (int i = 0; i < TUTTI_ENDPOINT_WAYS; i++) {
        if (all[i].id == id)
            return &all[i];
    }
    return NULL;
}

static struct tutti_endpoint_account *account_of(struct tutti_endpoint *endpoint, struct tutti_endpoint_from *to,
                                                 uint64_t id)
{
    struct tutti_endpoint_account *account = account_find(to, id);
    if (account)
        return account;
    account = &to->account[tutti_mix(id) % TUTTI_ENDPOINT_ACCOUNTS][to->accounts++ % TUTTI_ENDPOINT_WAYS];
    *account = (struct tutti_endpoint_account){.id = id};
    atomic_store_explicit(&endpoint->in_use, 0, memory_order_relaxed);
    return account;
}

/* What a mapping costs. */
struct price {
    uint64_t mapping, kernels; /* ns; kernels: besides, while they are not loaded */
    uint64_t usual;            /* ns of the first mapping of such a size */
    int turns;                 /* 1: the two ranks' kernels take turns on the GPU */
};

/* What a mapping costs more than its messages have lost, if it may be made on credit; otherwise 0. Not for ranks whose
 * kernels take turns on the GPU: there a message from mapped memory saves little beside one that is staged by copies
 * that wait for no turn. The kernels alone are not paid for. */
static uint64_t price_to_lend(const struct tutti_endpoint *endpoint, const struct tutti_endpoint_account *account,
                              const struct price *price)
{
    const uint64_t more = account->spent < price->mapping ? price->mapping - account->spent : 0,
                   owed = atomic_load_explicit(&endpoint->owed, memory_order_relaxed);
    const int second = atomic_load_explicit(&endpoint->in_use, memory_order_relaxed) && owed + more <= 2 * price->usual;
    if (account->spent < CREDIT_NS || account->next || price->turns || tutti_settings()->mapping_price_us ||
        (owed > 0 && !second))
        return 0;
    return more;
}

/* 1 if the allocation is mapped on credit. */
static int price_lends(struct tutti_endpoint *endpoint, const struct tutti_endpoint_account *account,
                       const struct price *price) TUTTI_HOLDS(endpoint->lock)
{
    const uint64_t more = price_to_lend(endpoint, account, price);
    if (more == 0)
        return 0;
    atomic_fetch_add_explicit(&endpoint->owed, more, memory_order_relaxed);
    tutti_count("allocations of this rank", TUTTI_OUTCOME_ASKED, "to be mapped on credit");
    return 1;
}

void tutti_endpoint_saves(struct tutti_endpoint *endpoint, uint64_t bytes)
{
    const uint64_t saved = tutti_endpoint_loses(bytes);
    uint64_t owed = atomic_load_explicit(&endpoint->owed, memory_order_relaxed);
    if (owed > 0)
        atomic_store_explicit(&endpoint->in_use, 1, memory_order_relaxed);
    while (owed > 0 && !atomic_compare_exchange_weak_explicit(&endpoint->owed, &owed, owed > saved ? owed - saved : 0,
                                                              memory_order_relaxed, memory_order_relaxed))
        ;
}

/* The peer is asked to map the allocation: what is to be lost before it is asked again, `all` at most. */
static void price_is_paid(struct tutti_endpoint_account *account, uint64_t all)
{
    const uint64_t next = account->next ? 2 * account->next : CREDIT_NS;
    account->next = next < all ? next : all;
    account->spent = 0;
}

/* Whether the peer is to map the allocation now, which loses ns more by this message. A peer that was asked maps one
 * allocation at a time, or cannot map this one: it is asked again ever more seldom. */
static enum tutti_pays price_asks(struct tutti_endpoint *endpoint, struct tutti_endpoint_from *to,
                                  struct tutti_endpoint_account *account, uint64_t ns, const struct price *price)
    TUTTI_HOLDS(endpoint->lock)
{
    const uint64_t least = account->next ? account->next : price->mapping;
    account->spent += ns;
    account->messages++;
    to->lost += ns;
    const int pays =
        account->spent >= least && (account->next || to->lost >= price->mapping + price->kernels / KERNELS_PART);
    if (account->awaits > 0 && !pays) {
        account->awaits--;
        return TUTTI_PAYS_AWAITS;
    }
    if (!pays && !price_lends(endpoint, account, price))
        return TUTTI_PAYS_NOT;
    if (!pays)
        account->awaits = AWAITING_MOST;
    price_is_paid(account, price->mapping + price->kernels);
    return account->awaits > 0 ? TUTTI_PAYS_AWAITS : TUTTI_PAYS;
}

/* 1 once messages have lost as much as scratch costs, which is then paid. The lock is held. */
static int price_of_scratch_is_spent(const struct tutti_endpoint *endpoint, const struct tutti_endpoints *theirs,
                                     struct tutti_endpoint_from *to, uint64_t ns, int gpu, int lacks)
    TUTTI_HOLDS(endpoint->lock)
{
    const uint64_t least = SCRATCH_PRICES * tutti_endpoint_price(endpoint, to, theirs, TUTTI_MAPPING_SMALL);
    to->unpacked += ns;
    if (to->unpacked < (lacks ? least / SCRATCH_PRICES + SCRATCH_NS : least + price_of_kernels(gpu)))
        return 0;
    to->unpacked = 0;
    return 1;
}

/* The peer maps a scratch when a rendezvous shows it: once for each scratch. 1: this rendezvous is to do so. */
static int shows_scratch(struct tutti_endpoint *endpoint, struct tutti_endpoint_from *to, int gpu, int maps)
{
    const uint32_t bit = UINT32_C(1) << gpu, shown = to->scratch_shown;
    const int offered = atomic_load_explicit(&tutti_endpoint_mine(endpoint)->gpu[gpu].offered, memory_order_acquire);
    to->scratch_shown = offered == 2 && maps == TUTTI_MAPS_NOT_YET ? shown | bit : shown & ~bit;
    return (to->scratch_shown & ~shown) != 0;
}

/* A message of so many bytes from an allocation of `extent` bytes on the GPU of this index. */
struct price_message {
    int peer, index;
    uint64_t id, extent, bytes;
};

/* 1 if the MPI is to have it. */
static int price_decide(struct tutti_endpoint *endpoint, const struct price_message *m,
                        struct tutti_endpoint_verdict *verdict)
{
    struct tutti_endpoint_from *to = &endpoint->from[m->peer];
    const struct tutti_endpoints *theirs = tutti_endpoint_theirs(endpoint, m->peer);
    const int several = tutti_endpoint_several(endpoint, m->peer, m->index, m->id), gpu = endpoint->gpu[m->index].gpu;
    const int maps = atomic_load(&theirs->maps[endpoint->node->rank][m->index]);
    const int turns = tutti_endpoint_takes_turns(endpoint, m->peer, gpu);
    const int lacks = m->bytes > TUTTI_ENDPOINT_FIRST_BYTES && tutti_endpoint_lacks_kernels(endpoint, gpu);
    const struct price price = {.mapping = tutti_endpoint_price(endpoint, to, theirs, tutti_mapping_size(m->extent)),
                                .kernels = lacks || turns ? 0 : price_of_kernels(gpu),
                                .usual = tutti_endpoint_mapping_usual(endpoint, tutti_mapping_size(m->extent)),
                                .turns = turns};
    tutti_fiber_take(&endpoint->lock);
    struct tutti_endpoint_account *const account = account_of(endpoint, to, m->id);
    const int lands = verdict->unwaited && tutti_endpoint_lands(endpoint, gpu);
    const uint64_t single = verdict->alone || lands ? TUTTI_ENDPOINT_FIRST_BYTES : TUTTI_ENDPOINT_SHORT_BYTES;
    const uint64_t shorter = account->messages ? single : TUTTI_ENDPOINT_FIRST_BYTES;
    const int stays = m->bytes <= (maps == TUTTI_MAPS && !turns ? shorter : LEFT_BYTES);
    const uint64_t fetching = lacks ? TUTTI_ENDPOINT_FETCH_LOSES : 0,
                   packing = lacks ? fetching + TUTTI_ENDPOINT_PACK_LOSES : 0;
    const int staged = maps != TUTTI_MAPS || stays;
    const uint64_t lost = lands && staged && stays ? tutti_endpoint_loses(m->bytes) / LANDING_PART
                          : staged                 ? tutti_endpoint_loses(m->bytes) - fetching
                          : turns                  ? packing_loses(m->bytes) + TURNS_NS
                                                   : packing_loses(m->bytes);
    const uint64_t saves = turns && stays ? 0 : loses_unpacked(m->bytes, single);
    const enum tutti_pays pays = price_asks(endpoint, to, account, lost, &price);
    const int shows = shows_scratch(endpoint, to, m->index, maps);
    const int scratch_pays =
        maps != TUTTI_MAPS && several &&
        price_of_scratch_is_spent(endpoint, theirs, to, saves > packing ? saves - packing : 0, gpu, lacks);
    tutti_lock_give(&endpoint->lock);
    if (lacks && stays)
        tutti_pack_lost(gpu, fetching);
    if (pays == TUTTI_PAYS_AWAITS && m->bytes <= TUTTI_ENDPOINT_FIRST_BYTES &&
        tutti_endpoint_lacks_kernels(endpoint, gpu)) /* for the answer, while this message waits */
        tutti_pack_lost(gpu, TUTTI_PACK_LOADING_NS);
    verdict->made = 1;
    verdict->pays = pays;
    verdict->scratch_pays = scratch_pays;
    return !pays && !scratch_pays && !shows && stays;
}

void tutti_endpoint_account(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv,
                            const struct tutti_endpoint_verdict *verdict)
{
    struct tutti_endpoint_piece *piece = &endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)];
    struct tutti_endpoint_verdict now = *verdict;
    if (!tutti_endpoint_is_slow(endpoint) || tutti_endpoint_is_own(endpoint, piece->to))
        return;
    const struct price_message message = {piece->to, piece->gpu, rndv->share.what.id, rndv->share.what.bytes,
                                          rndv->bytes};
    piece->left = !now.made && price_decide(endpoint, &message, &now);
    piece->scratch_pays = now.scratch_pays;
    atomic_store_explicit(&rndv->pays, (uint32_t)now.pays, memory_order_relaxed);
}

int tutti_endpoint_leaves_now(struct tutti_endpoint *endpoint, int peer, int gpu, uint64_t id, uint64_t extent,
                              uint64_t bytes, struct tutti_endpoint_verdict *verdict)
{
    const int index = tutti_endpoint_index(endpoint, gpu);
    return index >= 0 && bytes <= LEFT_BYTES && tutti_endpoint_is_unnamed(endpoint, peer, id) &&
           price_decide(endpoint, &(const struct price_message){peer, index, id, extent, bytes}, verdict);
}

/* ---- blocks of collectives ---- */

/* 1 if blocks of the allocation need no mapping: the peer has it, or mapping is quick. */
static int price_is_none(const struct tutti_endpoint *endpoint, int peer, uint64_t id)
{
    return tutti_endpoint_is_own(endpoint, peer) || !tutti_endpoint_is_slow(endpoint) ||
           tutti_endpoint_is_known(endpoint, peer, id);
}

static struct price price_of_blocks(const struct tutti_endpoint *endpoint, int peer, uint64_t extent)
{
    const struct tutti_endpoint_from *const to = &endpoint->from[peer];
    const enum tutti_mapping_size size = tutti_mapping_size(extent);
    return (struct price){.mapping = tutti_endpoint_price(endpoint, to, tutti_endpoint_theirs(endpoint, peer), size),
                          .usual = tutti_endpoint_mapping_usual(endpoint, size)};
}

static int price_is_lost(const struct tutti_endpoint_account *account, const struct price *price)
{
    return account->spent >= (account->next ? account->next : price->mapping);
}

int tutti_endpoint_keeps(struct tutti_endpoint *endpoint, int peer, uint64_t id, uint64_t extent)
{
    if (price_is_none(endpoint, peer, id))
        return 1;
    const struct price price = price_of_blocks(endpoint, peer, extent);
    tutti_fiber_take(&endpoint->lock);
    const struct tutti_endpoint_account *const account = id ? account_find(&endpoint->from[peer], id) : NULL;
    const int pays = account && (price_is_lost(account, &price) || price_to_lend(endpoint, account, &price) > 0);
    tutti_lock_give(&endpoint->lock);
    return pays;
}

void tutti_endpoint_block_lost(struct tutti_endpoint *endpoint, int peer, uint64_t id, uint64_t ns)
{
    if (!id || price_is_none(endpoint, peer, id))
        return;
    tutti_fiber_take(&endpoint->lock);
    struct tutti_endpoint_account *const account = account_of(endpoint, &endpoint->from[peer], id);
    account->spent += ns;
    account->messages++;
    tutti_lock_give(&endpoint->lock);
}

void tutti_endpoint_block_asks(struct tutti_endpoint *endpoint, int peer, uint64_t id, uint64_t extent)
{
    if (!id || price_is_none(endpoint, peer, id))
        return;
    const struct price price = price_of_blocks(endpoint, peer, extent);
    tutti_fiber_take(&endpoint->lock);
    struct tutti_endpoint_account *const account = account_of(endpoint, &endpoint->from[peer], id);
    price_lends(endpoint, account, &price);
    price_is_paid(account, price.mapping);
    tutti_lock_give(&endpoint->lock);
}

int tutti_endpoint_needs_scratch(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    const struct tutti_endpoint_piece *piece = &endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)];
    return tutti_endpoint_is_slow(endpoint)
               ? piece->scratch_pays
               : tutti_endpoint_several(endpoint, piece->to, piece->gpu, rndv->share.what.id);
}

int tutti_endpoint_leaves(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    return endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)].left;
}

/* ns that this rank takes to map the allocation of an offered message. */
static uint64_t mapping_expected(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    return tutti_endpoint_mapping_takes(endpoint, tutti_endpoint_mine(endpoint),
                                        tutti_mapping_size(rndv->share.what.bytes));
}

int tutti_endpoint_unanswered(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv, uint64_t since)
{
    const uint64_t takes = tutti_endpoint_is_slow(endpoint) ? mapping_expected(endpoint, rndv) : 0;
    return tutti_now_ns() - since > (takes > UNANSWERED_NS ? takes : UNANSWERED_NS);
}

void tutti_endpoint_meanwhile(struct tutti_endpoint *endpoint, int peer, struct tutti_rndv *rndv, uint64_t bytes,
                              uint64_t since)
{
    const struct tutti_endpoint_from *from = &endpoint->from[peer];
    if (!tutti_endpoint_is_slow(endpoint))
        return;
    const uint64_t expected = mapping_expected(endpoint, rndv), now = tutti_now_ns();
    const int awaits = atomic_load_explicit(&rndv->pays, memory_order_relaxed) == TUTTI_PAYS_AWAITS;
    if (now - since >= expected * (awaits ? AWAITS_TIMES : 1)) /* the sender is in no call: it has cost as much */
        atomic_store_explicit(&rndv->pays, TUTTI_PAYS, memory_order_relaxed);
    if (atomic_load_explicit(&rndv->must, memory_order_relaxed) != TUTTI_MUST_NOT)
        return;
    tutti_fiber_take(&endpoint->lock);
    const int mapping = from->asked.id != 0;
    const uint64_t waited = mapping && now > from->asked_at ? now - from->asked_at : 0;
    tutti_lock_give(&endpoint->lock);
    const uint64_t carried = tutti_endpoint_carrying(bytes);
    if (mapping && atomic_load_explicit(&rndv->pays, memory_order_relaxed) == TUTTI_PAYS_AWAITS)
        return;
    if (!mapping || carried <= waited || carried + waited <= expected) {
        atomic_store_explicit(&rndv->must, TUTTI_MUST_HURRY, memory_order_release);
        tutti_count("allocations of other ranks", TUTTI_OUTCOME_MAPPED, "after a message that the MPI is to carry");
    }
}
