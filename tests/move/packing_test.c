/* Random moves in pieces of a few bytes: what each rank packs, copies and unpacks around the kernel of each piece, with
 * a loop over the runs in place of the kernel. Blocks have gaps or none, lie in memory of the host or of the GPU, and
 * are one or several for a rank; the root of a broadcast sends one block to all. TUTTI_TEST_ROUNDS, TUTTI_TEST_SEED */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/move/moves.h"
#include "coll/move/packing.h"
#include "coll/state.h"
#include "core/status.h"
#include "device/device.h"
#include "p2p/elements.h"
#include "support/check.h"
#include "support/random.h"

enum { RANKS = 4, EACH = 3, MOST = 2500, PIECE_LEAST = 6, PIECES = 8, UNTOUCHED = 0xa5 };
enum { LONG = 6 << 20 /* more than the copies of elements with gaps take at once */, ROOM = 16 << 20 };

/* A block from one rank to another. A broadcast's blocks have one sender's side. */
struct block {
    struct kit_side from, to;
    uint64_t bytes, seed,
        cut; /* cut: it is two that follow each other in memory, the first one so long; 0: it is not */
};

static struct rank {
    struct tutti_team team;
    struct tutti_move move;
    struct tutti_move_block send[2 * RANKS * EACH], receive[2 * RANKS * EACH];
    struct tutti_packing x;
    struct tutti_move_flow flow;
    char *scratch;
    struct tutti_stream *stream;
} all[RANKS];
static struct block blocks[RANKS][RANKS][EACH]; /* [from][to] */
static int count[RANKS][RANKS], ranks, is_bcast, is_long;
static uint64_t state;

static unsigned drawn(unsigned n)
{
    return (unsigned)(random_next(&state) % n);
}

static enum kit_memory draw_memory(void)
{
    return drawn(is_long ? 2 : 3) ? KIT_DEVICE : KIT_HOST;
}

/* One run of bytes. */
static void side_of_run(struct kit_side *side, uint64_t bytes)
{
    for (kit_make(side, KIT_DEVICE, bytes, 0, &state); !side->elements.whole;
         kit_make(side, KIT_DEVICE, bytes, 0, &state))
        kit_shut(side);
}

static void block_make(struct block *b, const struct block *same)
{
    *b = (struct block){.bytes = same       ? same->bytes
                                 : is_long  ? LONG + drawn(MOST)
                                 : drawn(8) ? 1 + drawn(MOST)
                                            : 1,
                        .seed = random_next(&state)};
    if (!same && !is_bcast && b->bytes > 1 && drawn(4) == 0) {
        b->cut = 1 + drawn((unsigned)b->bytes - 1);
        side_of_run(&b->to, b->bytes);
        side_of_run(&b->from, b->bytes);
        kit_fill(&b->from, b->seed, b->bytes);
        return;
    }
    kit_make(&b->to, draw_memory(), b->bytes, 0, &state);
    if (same) {
        b->from = same->from;
        b->seed = same->seed;
        return;
    }
    kit_make(&b->from, draw_memory(), b->bytes, 0, &state);
    kit_fill(&b->from, b->seed, b->bytes);
}

static void draw(void)
{
    ranks = is_long ? 2 : 2 + (int)drawn(RANKS - 1);
    is_bcast = !is_long && drawn(4) == 0;
    const int root = (int)drawn((unsigned)ranks);
    for (int from = 0; from < ranks; from++) {
        const struct block *same = NULL;
        for (int to = 0; to < ranks; to++) {
            count[from][to] = is_long ? from != to : !is_bcast ? (int)drawn(EACH + 1) : from == root && to != root;
            for (int i = 0; i < count[from][to]; i++)
                block_make(&blocks[from][to][i], same);
            if (is_bcast && count[from][to])
                same = &blocks[from][to][0];
        }
    }
}

/* Blocks of a rank are sent, and received, in an order of its own; those of one pair in theirs. */
static void order_of(int order[])
{
    for (int r = 0; r < ranks; r++) {
        const int at = (int)drawn((unsigned)r + 1);
        order[r] = order[at];
        order[at] = r;
    }
}

/* Adds the block of one side to the list. */
static void add(struct tutti_move_block list[], int *n, const struct block *b, const struct kit_side *side, int rank)
{
    if (!b->cut) {
        list[(*n)++] = (struct tutti_move_block){.elements = side->elements, .bytes = b->bytes, .rank = rank};
        return;
    }
    for (uint64_t at = 0; at < b->bytes; at += at ? b->bytes : b->cut) {
        const uint64_t bytes = at ? b->bytes - at : b->cut;
        list[(*n)++] = (struct tutti_move_block){.elements = {.plan = tutti_plan_of_byte(),
                                                              .count = (int64_t)bytes,
                                                              .buffer = tutti_elements_run(&side->elements) + at,
                                                              .whole = 1},
                                                 .bytes = bytes,
                                                 .rank = rank};
    }
}

static void rank_begin(int r)
{
    struct rank *const me = &all[r];
    int order[RANKS];
    me->team.rank = r;
    me->team.size = me->team.gpus = ranks;
    me->move = (struct tutti_move){
        .send = me->send, .receive = me->receive, .joins = 1, .aside = drawn(6) == 0, .current = -1};
    order_of(order);
    for (int k = 0; k < ranks; k++) {
        for (int i = 0; i < count[r][order[k]]; i++) {
            const struct block *b = &blocks[r][order[k]][i];
            add(me->send, &me->move.sends, b, &b->from, order[k]);
        }
    }
    order_of(order);
    for (int k = 0; k < ranks; k++) {
        for (int i = 0; i < count[order[k]][r]; i++) {
            const struct block *b = &blocks[order[k]][r][i];
            add(me->receive, &me->move.receives, b, &b->to, order[k]);
        }
    }
    CHECK(tutti_move_flatten(&me->team, &me->move), "the blocks of rank %d are no runs", r);
}

static void rank_pack(struct rank *me, uint64_t begin, uint64_t end)
{
    tutti_packing_of(&me->team, &me->move, NULL, begin, end, &me->x, &me->flow);
    CHECK(me->x.used <= ROOM, "%llu bytes of scratch", (unsigned long long)me->x.used);
    for (int to = 0; to < ranks && me->move.aside; to++) { /* blocks are received where it is sent from */
        const char *const at = me->flow.send[to].bytes > 0 ? me->flow.send[to].at : me->scratch;
        CHECK(at >= me->scratch && at <= me->scratch + me->x.used, "a block is sent from where it lies");
    }
    CHECK(tutti_packing_copy_in(&me->team, &me->x) == TUTTI_OK, "copies before the kernel");
    CHECK(tutti_pack_now(-1, me->x.pack, me->x.packs) == TUTTI_OK, "packing");
    CHECK(tutti_device()->stream.sync(me->stream) == TUTTI_OK, "stream");
}

/* Returns the bytes of the longest run. */
static uint64_t kernel(void)
{
    uint64_t longest = 0;
    for (int from = 0; from < ranks; from++) {
        for (int to = 0; to < ranks; to++) {
            const struct tutti_move_send *out = &all[from].flow.send[to];
            const struct tutti_move_receive *in = &all[to].flow.receive[from];
            longest = out->bytes > longest ? out->bytes : longest;
            if (CHECK(out->bytes == in->bytes, "%d to %d: %llu bytes are sent, %llu received", from, to,
                      (unsigned long long)out->bytes, (unsigned long long)in->bytes) &&
                out->bytes > 0)
                CHECK(tutti_device()->memory.copy_now(in->at, out->at, out->bytes) == TUTTI_OK, "copy");
        }
    }
    return longest;
}

static void rank_unpack(struct rank *me)
{
    CHECK(tutti_pack_now(-1, me->x.unpack, me->x.unpacks) == TUTTI_OK, "unpacking");
    CHECK(tutti_packing_copy_out(&me->team, &me->x) == TUTTI_OK, "copies after the kernel");
    memset(me->scratch, UNTOUCHED, me->x.used); /* nothing of a piece is left for the next */
}

static void judge(int number)
{
    for (int from = 0; from < ranks; from++) {
        int sides = 0;
        for (int to = 0; to < ranks; to++) {
            for (int i = 0; i < count[from][to]; i++) {
                struct block *const b = &blocks[from][to][i];
                kit_judge(&b->to, b->seed, b->bytes, NULL, number);
                kit_judge(&b->from, b->seed, b->bytes, NULL, number);
                kit_shut(&b->to);
                sides++;
                if (!is_bcast || sides == 1)
                    continue;
                b->from = (struct kit_side){.elements = {.plan = NULL}}; /* the first block's */
            }
        }
        for (int to = 0; to < ranks; to++) {
            for (int i = 0; i < count[from][to]; i++) {
                if (blocks[from][to][i].from.elements.plan)
                    kit_shut(&blocks[from][to][i].from);
            }
        }
    }
}

static void one(int number)
{
    const unsigned piece = drawn(5) && !is_long ? PIECE_LEAST + drawn(PIECES) : 0;
    uint64_t longest = 0;
    draw();
    for (int r = 0; r < ranks; r++) {
        rank_begin(r);
        for (int to = 0; to < ranks; to++)
            longest = all[r].move.runs.flow.send[to].bytes > longest ? all[r].move.runs.flow.send[to].bytes : longest;
    }
    const uint64_t each = piece ? UINT64_C(1) << piece : longest;
    for (uint64_t begin = 0; begin < longest; begin += each) {
        for (int r = 0; r < ranks; r++)
            rank_pack(&all[r], begin, piece ? begin + each : UINT64_MAX);
        CHECK(kernel() <= each, "a piece has more than %llu bytes of a run", (unsigned long long)each);
        for (int r = 0; r < ranks; r++)
            rank_unpack(&all[r]);
    }
    judge(number);
}

int main(void)
{
    char why[160];
    state = check_seed();
    printf("seed %llu (TUTTI_TEST_SEED)\n", (unsigned long long)state);
    const struct tutti_device *const device = tutti_device();
    CHECK(device->open(why, sizeof why) == TUTTI_OK, "the device opens");
    for (int r = 0; r < RANKS; r++) {
        void *scratch = NULL;
        CHECK(device->memory.alloc(-1, ROOM, &scratch) == TUTTI_OK, "scratch");
        CHECK(device->stream.create(-1, &all[r].stream) == TUTTI_OK, "a stream");
        all[r].scratch = scratch;
        all[r].team.device = device;
        all[r].team.stream = all[r].stream;
        all[r].team.state = TUTTI_TEAM_OPEN;
        tutti_coll_of(&all[r].team)->spare[0] = scratch;
        tutti_coll_of(&all[r].team)->spares = 1;
    }
    const long rounds = check_many("TUTTI_TEST_ROUNDS", 1200);
    for (int i = 0; i < rounds && check_failed() == 0; i++) {
        is_long = i % 100 == 50;
        one(i);
    }
    for (int r = 0; r < RANKS; r++) {
        device->stream.destroy(all[r].stream);
        device->memory.free(all[r].scratch);
    }
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
