/* Which calls go in two levels. */
#include "coll/nodes.h"
#include "core/settings.h"

enum {
    RARE = 1 << 20, /* the longest stretch of calls without an agreement while the MPI makes them */
    OFTEN = 64 /* and while Tutti makes them: a program whose memory is not a GPU's any more is not to be held up */
};

static uint64_t kind_key(const struct tutti_call *call, int nonblocking)
{
    uint64_t key = ((uint64_t)call->count * 2 + (uint64_t)nonblocking) * 64 + (uint64_t)(unsigned)call->type;
    key = key * 64 + (uint64_t)(unsigned)call->op;
    key = key * 64 + (uint64_t)call->collective;
    return key * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static struct tutti_nodes_kind *kind_at(struct tutti_nodes_kinds *kinds, const struct tutti_call *call)
{
    const uint64_t key = kind_key(call, kinds->nonblocking);
    struct tutti_nodes_kind *kind = &kinds->kind[key >> 58];
    if (kind->key != key)
        *kind = (struct tutti_nodes_kind){.key = key};
    return kind;
}

/* 1 if ranks with host memory among others do not keep the call from being taken. */
static int any_memory_does(const struct tutti_call *call)
{
    return tutti_settings()->order == TUTTI_SET_ORDER_RANKS && tutti_nodes_knows(call->collective);
}

enum tutti_nodes_turn tutti_nodes_turn(struct tutti_nodes_kinds *kinds, const struct tutti_call *call)
{
    struct tutti_nodes_kind *kind = kind_at(kinds, call);
    const uint32_t calls = ++kind->calls, most = kind->taken ? OFTEN : RARE;
    if ((calls & (calls - 1)) == 0 || calls % most == 0 || any_memory_does(call))
        return TUTTI_NODES_AGREE;
    return kind->taken ? TUTTI_NODES_TAKEN : TUTTI_NODES_TO_MPI;
}

void tutti_nodes_agreed(struct tutti_nodes_kinds *kinds, const struct tutti_call *call, int taken, uint64_t bytes)
{
    struct tutti_nodes_kind *kind = kind_at(kinds, call);
    kind->taken = taken;
    kind->bytes = bytes;
}

uint64_t tutti_nodes_agreed_bytes(struct tutti_nodes_kinds *kinds, const struct tutti_call *call)
{
    return kind_at(kinds, call)->bytes;
}

/* Whether all bring device memory, or none at all; whether some rank does; whether all have the same rules and
 * settings; the most bytes. */
void tutti_nodes_words(const struct tutti_call *call, uint64_t bytes, int64_t words[TUTTI_NODES_WORDS])
{
    const struct tutti_settings *settings = tutti_settings();
    int begin, defaults;
    const int64_t hash = (int64_t)tutti_rules_hash(&begin, &defaults) << 24 ^ (int64_t)settings->nodes_piece_kb << 1 ^
                         (int64_t)settings->order;
    const int device = call->kind == TUTTI_ARRIVAL_DEVICE ||
                       !call->host_ok; /* what the MPI cannot reduce has one order of nodes too */
    words[0] = device || call->kind == TUTTI_ARRIVAL_NONE;
    words[1] = -device;
    words[2] = hash;
    words[3] = -hash;
    words[4] = -(int64_t)bytes;
}

int tutti_nodes_said(const struct tutti_call *call, const int64_t words[TUTTI_NODES_WORDS], int *rules, uint64_t *bytes)
{
    int begin, defaults;
    tutti_rules_hash(&begin, &defaults);
    const int same = words[2] == -words[3], any = words[1] < 0;
    *rules = begin;
    *bytes = (uint64_t)-words[4];
    return same && any && (any_memory_does(call) || words[0] == 1);
}
