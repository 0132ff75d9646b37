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

enum tutti_nodes_turn tutti_nodes_turn(struct tutti_nodes_kinds *kinds, const struct tutti_call *call)
{
    struct tutti_nodes_kind *kind = kind_at(kinds, call);
    const uint32_t calls = ++kind->calls, most = kind->taken ? OFTEN : RARE;
    if ((calls & (calls - 1)) == 0 || calls % most == 0 || tutti_settings()->order == TUTTI_SET_ORDER_RANKS)
        return TUTTI_NODES_AGREE;
    return kind->taken ? TUTTI_NODES_TAKEN : TUTTI_NODES_TO_MPI;
}

void tutti_nodes_agreed(struct tutti_nodes_kinds *kinds, const struct tutti_call *call, int taken)
{
    kind_at(kinds, call)->taken = taken;
}

/* Whether all bring device memory, whether some rank does, whether all have the same rules and settings, and whether
 * all are able. */
void tutti_nodes_words(const struct tutti_call *call, int64_t words[TUTTI_NODES_WORDS])
{
    const struct tutti_settings *settings = tutti_settings();
    int begin, defaults;
    const int64_t hash = (int64_t)tutti_rules_hash(&begin, &defaults) << 24 ^ (int64_t)settings->nodes_piece_kb << 1 ^
                         (int64_t)settings->order;
    words[0] = call->kind == TUTTI_ARRIVAL_DEVICE ||
               !call->host_ok; /* what the MPI cannot reduce has one order of nodes too */
    words[1] = -words[0];
    words[2] = hash;
    words[3] = -hash;
}

int tutti_nodes_said(const int64_t words[TUTTI_NODES_WORDS], int *rules)
{
    int begin, defaults;
    tutti_rules_hash(&begin, &defaults);
    const int same = words[2] == -words[3], any = words[1] < 0;
    *rules = begin;
    return same && (tutti_settings()->order == TUTTI_SET_ORDER_RANKS ? any : words[0] == 1);
}
