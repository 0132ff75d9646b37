/* Which lane a tag has. A table for each ordered pair of ranks, in shared memory, holds the tag of each lane. The rank
 * that uses a tag first claims a lane for it: one that is free, or one whose tag is not in use any more.
 *
 * Each call counts its message at the lane: a send adds one, a receive takes one away. At 0 each send has its receive,
 * both are in their streams, and so both come before what either rank puts into its stream later: a message of another
 * tag may follow in the lane. This does not hold for all lanes. A graph uses the lanes of its capture again, so these
 * keep their tags. A receive from any source with one tag takes the message of a source that is not known yet, so the
 * lanes that it accepts keep their tags. With any tag it may take a message of which another receive was counted: from
 * then on all tags of that source that are in use, or come, keep their lanes. */
#include <stdatomic.h>

#include "core/status.h"
#include "p2p/lanes/lanes_own.h"
#include "progress/engine.h"

/* Of a lane: the tag plus 1 in the low half, 0: none; then sends less receives, and whether the tag stays. */
struct tag_table {
    atomic_int locked; /* a tag that has no lane gets one */
    atomic_int stays;  /* 1: no lane gets another tag */
    _Atomic uint64_t lane[TUTTI_LANES];
};
_Static_assert(TUTTI_MAX_GPUS * sizeof(struct tag_table) <= TUTTI_AREA_HOST_BYTES, "the tables fit");

enum { COUNT_BIT = 32, LARGE_LANES = 4 };
static const uint64_t one_message = UINT64_C(1) << COUNT_BIT, count_of = UINT64_C(0x7fffffff) << COUNT_BIT,
                      tag_stays = UINT64_C(1) << 63;

static struct tag_table *table_of(const struct tutti_lanes *lanes, int receiver, int sender)
{
    return (struct tag_table *)lanes->area.host[receiver] + sender;
}

/* The lane's word after one more message of the tag. */
static uint64_t tag_counted(uint64_t word, uint32_t tag, const struct tutti_lane_use *use)
{
    const uint64_t count = (word + (uint64_t)use->change * one_message) & count_of;
    return tag | count | (word & tag_stays) | (use->stays == 1 ? tag_stays : 0);
}

/* TUTTI_LANES_ASK becomes the answer. A status. */
static int use_ask(struct tutti_lanes *lanes, struct tutti_lane_use *use)
{
    if (use->stays != TUTTI_LANES_ASK)
        return TUTTI_OK;
    const int captured = tutti_lanes_captured(lanes, use->stream);
    use->stays = captured < 0 ? TUTTI_LANES_ASK : captured;
    return captured < 0 ? captured : TUTTI_OK;
}

/* *lane: the lane that has this tag, with one more message; -1: none has. A status. */
static int lane_with(struct tutti_lanes *lanes, struct tag_table *table, uint32_t tag, struct tutti_lane_use *use,
                     int *lane)
{
    int status;
    for (*lane = 0; *lane < TUTTI_LANES; ++*lane) {
        uint64_t word = atomic_load_explicit(&table->lane[*lane], memory_order_acquire);
        while ((uint32_t)word == tag) {
            if (!(word & tag_stays) && (status = use_ask(lanes, use)) != TUTTI_OK)
                return status;
            if (atomic_compare_exchange_weak(&table->lane[*lane], &word, tag_counted(word, tag, use)))
                return TUTTI_OK;
        }
    }
    *lane = -1;
    return TUTTI_OK;
}

/* Gives the tag a lane among these that is free, or whose tag is not in use; -1: all are in use. */
static int lane_claim(struct tag_table *table, int from, int end, int again, uint32_t tag,
                      const struct tutti_lane_use *use)
{
    for (int lane = from; lane < end; lane++) {
        uint64_t word = atomic_load_explicit(&table->lane[lane], memory_order_acquire);
        const int fits = again ? (uint32_t)word != 0 && !(word & (count_of | tag_stays)) && !atomic_load(&table->stays)
                               : (uint32_t)word == 0;
        if (fits && atomic_compare_exchange_strong(&table->lane[lane], &word, tag_counted(word, tag, use)))
            return lane;
    }
    return -1;
}

static int table_is_mine(void *with)
{
    int none = 0;
    return atomic_compare_exchange_strong((atomic_int *)with, &none, 1);
}

/* A status. The lock is held for a moment; a rank that died with it is noticed. */
static int table_lock(struct tutti_lanes *lanes, struct tag_table *table)
{
    if (table_is_mine(&table->locked))
        return TUTTI_OK;
    const struct tutti_wait wait = {
        .done = table_is_mine, .with = &table->locked, .what = "the tags of messages in stream order", .watched = 1};
    const int status = tutti_progress_wait(&wait);
    return status == TUTTI_OK ? TUTTI_OK : tutti_team_break(lanes->team, status);
}

int tutti_lanes_find(struct tutti_lanes *lanes, const struct tutti_lane_message *message, struct tutti_lane_use *use,
                     int *lane)
{
    const int rank = lanes->team->rank, receiver = message->send ? message->peer : rank;
    struct tag_table *const table = table_of(lanes, receiver, message->send ? rank : message->peer);
    const uint32_t tag = (uint32_t)message->tag + 1;
    int status = lane_with(lanes, table, tag, use, lane);
    if (status == TUTTI_OK && *lane < 0 && (status = use_ask(lanes, use)) == TUTTI_OK)
        status = table_lock(lanes, table);
    if (status != TUTTI_OK || *lane >= 0)
        return status;
    (void)lane_with(lanes, table, tag, use, lane); /* the other rank has claimed it meanwhile */
    if (*lane < 0)                                 /* the first lanes have the largest rings */
        *lane = lane_claim(table, 0, LARGE_LANES, 0, tag, use);
    if (*lane < 0)
        *lane = lane_claim(table, 0, LARGE_LANES, 1, tag, use);
    if (*lane < 0)
        *lane = lane_claim(table, LARGE_LANES, TUTTI_LANES, 0, tag, use);
    if (*lane < 0)
        *lane = lane_claim(table, LARGE_LANES, TUTTI_LANES, 1, tag, use);
    atomic_store(&table->locked, 0);
    return TUTTI_OK;
}

int tutti_lanes_frees(const struct tutti_lanes *lanes, int source)
{
    const struct tag_table *const table = table_of(lanes, lanes->team->rank, source);
    int frees = 0;
    for (int lane = 0; lane < TUTTI_LANES; lane++) {
        const uint64_t word = atomic_load_explicit(&table->lane[lane], memory_order_acquire);
        frees |= (uint32_t)word == 0 || (!(word & tag_stays) && !atomic_load(&table->stays));
    }
    return frees;
}

int tutti_lanes_keep_tags(struct tutti_lanes *lanes, int source)
{
    struct tag_table *const table = table_of(lanes, lanes->team->rank, source);
    if (atomic_load(&table->stays))
        return TUTTI_OK;
    const int status = table_lock(lanes, table);
    if (status != TUTTI_OK)
        return status;
    atomic_store(&table->stays, 1);
    for (int lane = 0; lane < TUTTI_LANES; lane++) { /* tags that are not in use leave their lanes first */
        uint64_t word = atomic_load(&table->lane[lane]);
        if (!(word & (count_of | tag_stays)))
            atomic_compare_exchange_strong(&table->lane[lane], &word, 0);
    }
    atomic_store(&table->locked, 0);
    return TUTTI_OK;
}

void tutti_lanes_uncount(struct tutti_lanes *lanes, const struct tutti_lane_args *args)
{
    const int rank = lanes->team->rank, peer = (int)args->peer;
    if (args->any)
        return;
    struct tag_table *const table = table_of(lanes, args->send ? peer : rank, args->send ? rank : peer);
    uint64_t word = atomic_load(&table->lane[args->lane]);
    const struct tutti_lane_use back = {.change = args->send ? -1 : 1};
    while (!atomic_compare_exchange_weak(&table->lane[args->lane], &word, tag_counted(word, (uint32_t)word, &back))) {
    }
}

int tutti_lanes_tag(const struct tutti_lanes *lanes, unsigned peer, unsigned lane)
{
    if (peer >= (unsigned)lanes->team->size || lane >= TUTTI_LANES)
        return -1;
    struct tag_table *const table = table_of(lanes, lanes->team->rank, (int)peer);
    return (int)((uint32_t)atomic_load_explicit(&table->lane[lane], memory_order_acquire) - 1);
}
