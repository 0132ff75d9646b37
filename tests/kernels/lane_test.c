/* The lane kernels: the blocks of a launch are threads that run at once, as on a GPU; the host device runs one after
 * the other. Random programs of messages between ranks, waited for by their launch or started, over numbers of chunks
 * at which flags and words wrap; each program runs several times with the same launches, as a graph does. Every byte is
 * compared. TUTTI_TEST_PROGRAMS: how many (40). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "exact.h"
#include "kernels/lane.h"
#include "support/check.h"

enum { RANKS = 3, MESSAGES = 40, LAUNCHES = 3 * MESSAGES, OPS = 20, GUARD = 16, RUNS = 3 };
enum { BLOCKS_MOST = 6, GROUP_BLOCKS = 3 * TUTTI_LANE_PARTS, ANY_TAG = 1, ANY_SOURCE = 2 };
static const unsigned lanes[] = {0, 1, 4, 63};
static const uint64_t limit_ns = 60000000000u;

struct message {
    unsigned from, to, lane;
    uint64_t bytes, room; /* room: of the receive */
    unsigned char *out, *in;
    int started[2]; /* of the sender, of the receiver: 1: waited for by a later launch */
    int any;        /* the receive: bit 0: with any tag; bit 1: from any source */
    unsigned op[2];
};

struct rank {
    struct tutti_lane_args launch[LAUNCHES];
    unsigned launches;
    int of[LAUNCHES]; /* the message that it receives and waits for, of TUTTI_LANE_DO; -1: none */
    unsigned char *area;
    uint32_t abort, where, failed;
    struct tutti_lane_report reports[TUTTI_LANE_OPS];
    struct tutti_lane_part part[TUTTI_LANE_PARTS]; /* started, but not launched yet */
    unsigned parts, beside;                        /* beside: launches beside the stream that may run */
    int closed;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};
static struct rank rank[RANKS];
static struct message message[MESSAGES];
static unsigned messages;
static int groups; /* 1: what is started waits for its launch until a wait, or another launch */
static uint64_t began;

static uint64_t below(uint64_t *random, uint64_t n)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (*random >> 11) % n;
}

/* ---- running ---- */

static int look(void *with)
{
    (void)with;
    return tutti_now_ns() - began > limit_ns;
}

struct block {
    const struct tutti_lane_args *args;
    unsigned number;
};

static void *run_block(void *with)
{
    const struct block *const block = with;
    if ((block->number * 7 + block->args->bytes) % 5 == 0)
        usleep(100); /* some begin late */
    tutti_lane_host_block(block->args, block->number);
    return NULL;
}

static void run_launch(const struct tutti_lane_args *args)
{
    pthread_t thread[GROUP_BLOCKS];
    struct block block[GROUP_BLOCKS];
    for (unsigned b = 0; b < args->blocks; b++) {
        block[b] = (struct block){args, b};
        if (b > 0)
            pthread_create(&thread[b], NULL, run_block, &block[b]);
    }
    run_block(&block[0]);
    for (unsigned b = 1; b < args->blocks; b++)
        pthread_join(thread[b], NULL);
}

static void *run_beside(void *with)
{
    struct rank *const me = with;
    struct tutti_lane_args args = me->launch[0];
    args.what = TUTTI_LANE_BESIDE;
    args.blocks = 1;
    args.reports = NULL;
    args.awaited = 0;
    for (;;) {
        pthread_mutex_lock(&me->lock);
        while (me->beside == 0 && !me->closed)
            pthread_cond_wait(&me->changed, &me->lock);
        const int over = me->beside == 0;
        me->beside -= !over;
        pthread_mutex_unlock(&me->lock);
        if (over)
            return NULL;
        run_launch(&args);
    }
}

static void *run_stream(void *with)
{
    struct rank *const me = with;
    pthread_t beside;
    me->closed = 0;
    if (me->launches == 0)
        return NULL;
    pthread_create(&beside, NULL, run_beside, me);
    for (unsigned i = 0; i < me->launches; i++) {
        run_launch(&me->launch[i]);
        if (me->of[i] >= 0) {
            const struct message *const one = &message[me->of[i]];
            if (one->any)
                CHECK(me->reports[0].peer == one->from && me->reports[0].lane == one->lane,
                      "a message from %u in lane %u is reported as from %u in lane %u", one->from, one->lane,
                      me->reports[0].peer, me->reports[0].lane);
            CHECK(me->reports[0].bytes == one->bytes, "a message of %lu bytes is reported as %lu",
                  (unsigned long)one->bytes, (unsigned long)me->reports[0].bytes);
        }
        if (me->launch[i].what != TUTTI_LANE_POST)
            continue;
        pthread_mutex_lock(&me->lock);
        me->beside++;
        pthread_cond_signal(&me->changed);
        pthread_mutex_unlock(&me->lock);
    }
    pthread_mutex_lock(&me->lock);
    me->closed = 1;
    pthread_cond_signal(&me->changed);
    pthread_mutex_unlock(&me->lock);
    pthread_join(beside, NULL);
    return NULL;
}

/* ---- drawing ---- */

static uint64_t draw_bytes(uint64_t *random)
{
    static const uint64_t edges[] = {0,     4,     2044,  2045,  8192,   8193,   16384,  16385,
                                     32768, 32769, 65536, 65537, 131072, 524288, 524289, 1048576};
    switch (below(random, 5)) {
    case 0:
        return edges[below(random, sizeof edges / sizeof *edges)];
    case 1:
        return below(random, 300000);
    case 2:
        return below(random, 20) == 0 ? 9 << 20 : below(random, 70000);
    default:
        return below(random, 2200);
    }
}

static struct tutti_lane_args *add_launch(unsigned r, enum tutti_lane_what what)
{
    struct rank *const me = &rank[r];
    struct tutti_lane_args *const args = &me->launch[me->launches];
    me->of[me->launches++] = -1;
    *args = (struct tutti_lane_args){
        .what = (uint32_t)what,
        .ranks = RANKS,
        .rank = r,
        .blocks = 1,
        .abort = &me->abort,
        .where = &me->where,
        .failed = &me->failed,
        .host_wait = look,
    };
    for (unsigned i = 0; i < RANKS; i++)
        args->area[i] = rank[i].area;
    return args;
}

/* ---- groups ---- */

static void take_parts(struct rank *me, struct tutti_lane_args *args)
{
    args->parts = args->awaited = me->parts;
    memcpy(args->part, me->part, sizeof me->part);
    for (unsigned i = 0; i < me->parts; i++)
        args->await[i] = (uint16_t)me->part[i].op;
    me->parts = 0;
}

/* Launches what waits for it. */
static void add_parts(unsigned r)
{
    if (rank[r].parts > 0)
        take_parts(&rank[r], add_launch(r, TUTTI_LANE_POST));
}

/* 1 if the message may wait for its launch: as it does from here on. */
static int add_part(const struct tutti_lane_args *args, unsigned r)
{
    struct rank *const me = &rank[r];
    if (args->any || me->parts == TUTTI_LANE_PARTS)
        return 0;
    for (unsigned i = 0; i < me->parts; i++) {
        if (me->part[i].send == args->send && me->part[i].peer == args->peer && me->part[i].lane == args->lane)
            return 0;
    }
    me->part[me->parts++] = (struct tutti_lane_part){
        args->buffer, args->bytes, args->op, args->send, args->peer, args->lane, 0, 0, 0, 0, 0, 0};
    return 1;
}

/* One launch that starts and waits for what waits for it. */
static void add_group(uint64_t *random, unsigned r)
{
    struct tutti_lane_args *const args = add_launch(r, TUTTI_LANE_GROUP);
    take_parts(&rank[r], args);
    args->in_turn = below(random, 4) == 0;
    args->blocks = 0;
    for (unsigned i = 0; i < args->parts; i++) {
        struct tutti_lane_part *const one = &args->part[i];
        one->first = args->blocks;
        one->blocks = 1 + (unsigned)(below(random, 2) * below(random, 3)); /* packets go by one */
        args->blocks += one->blocks;
        for (unsigned j = 0; j < args->parts && one->send; j++) {
            const struct tutti_lane_part *const other = &args->part[j];
            if (!other->send || other->peer != one->peer)
                continue;
            one->nth += j < i;
            one->sends++;
            one->lanes = other->lane + 1 > one->lanes ? other->lane + 1 : one->lanes;
        }
    }
}

/* A receive names less. */
static void widen(struct tutti_lane_args *args, const struct message *one)
{
    args->any = one->any != 0;
    for (unsigned peer = 0; peer < RANKS; peer++) {
        const int accepts = peer == one->from || (one->any & ANY_SOURCE);
        args->accepts[peer] = (unsigned char)(!accepts             ? TUTTI_LANE_NONE
                                              : one->any & ANY_TAG ? TUTTI_LANE_ALL
                                                                   : (int)one->lane);
    }
    if (one->any & ANY_SOURCE)
        args->peer = TUTTI_LANE_ANY_PEER;
    if (one->any)
        args->lane = 0;
}

/* One side of message m: waited for by its launch, or started. */
static void add_side(uint64_t *random, unsigned m, int receives, uint64_t used[RANKS])
{
    struct message *const one = &message[m];
    const unsigned r = receives ? one->to : one->from;
    if (!one->started[receives])
        add_parts(r);
    struct tutti_lane_args *args = add_launch(r, one->started[receives] ? TUTTI_LANE_POST : TUTTI_LANE_DO);
    args->send = !receives;
    args->peer = receives ? one->from : one->to;
    args->lane = one->lane;
    args->buffer = receives ? one->in : one->out;
    args->bytes = receives ? one->room : one->bytes;
    args->awaited = 1;
    if (receives)
        widen(args, one);
    if (one->started[receives]) {
        unsigned op = 1;
        while (used[r] >> op & 1)
            op++;
        used[r] |= UINT64_C(1) << op;
        args->op = one->op[receives] = op;
        args->await[0] = (uint16_t)op;
        const struct tutti_lane_args alone = *args;
        rank[r].launches--;
        if (groups && add_part(&alone, r))
            return;
        add_parts(r);
        args = add_launch(r, TUTTI_LANE_POST);
        *args = alone;
        return;
    }
    args->in_turn = below(random, 4) == 0;
    args->blocks = 1 + (unsigned)(below(random, 2) * below(random, BLOCKS_MOST));
    if (receives) {
        args->reports = rank[r].reports;
        rank[r].of[rank[r].launches - 1] = (int)m;
    }
}

/* Waits for some of the operations of rank r that are started; all: for all of them. */
static void add_wait(uint64_t *random, unsigned r, int all, uint64_t used[RANKS])
{
    struct tutti_lane_args *args = NULL;
    if (all && rank[r].parts > 0 && (unsigned)__builtin_popcountll(used[r]) == rank[r].parts) {
        add_group(random, r);
        used[r] = 0;
        return;
    }
    add_parts(r);
    for (unsigned op = 1; op <= OPS; op++) {
        if (!(used[r] >> op & 1) || (!all && below(random, 2)))
            continue;
        if (!args) {
            args = add_launch(r, TUTTI_LANE_WAIT);
            args->blocks = 1 + (unsigned)below(random, BLOCKS_MOST);
        }
        args->await[args->awaited++] = (uint16_t)op;
        used[r] &= ~(UINT64_C(1) << op);
    }
}

static void draw(uint64_t *random)
{
    uint64_t used[RANKS] = {0};
    const unsigned starts = (unsigned)below(random, 3); /* 0: no message is started */
    const unsigned anys = (unsigned)below(random, 3);   /* 0: no receive names less than source and tag */
    /* A receive with any tag gets the message that it was drawn with, as both sides are in the order of the messages.
     * So does one from any source if its rank has one source: distance to it, or RANKS. */
    const unsigned alone = (unsigned)below(random, RANKS + 1);
    messages = 1 + (unsigned)below(random, MESSAGES);
    groups = below(random, 2) == 0;
    for (unsigned r = 0; r < RANKS; r++)
        rank[r].launches = rank[r].parts = 0;
    for (unsigned m = 0; m < messages; m++) {
        struct message *const one = &message[m];
        one->from = (unsigned)below(random, RANKS);
        one->to = alone < RANKS ? (one->from + alone) % RANKS : (unsigned)below(random, RANKS);
        one->any = anys > 0 && below(random, 3) < anys ? (int)below(random, alone < RANKS ? 4 : 2) : 0;
        one->lane = lanes[below(random, sizeof lanes / sizeof *lanes)];
        one->bytes = draw_bytes(random);
        one->room = one->bytes + (below(random, 2) ? below(random, 100000) : 0);
        one->out = malloc(one->bytes + 8);
        one->in = malloc(one->room + GUARD + 8);
        for (int side = 0; side < 2; side++) {
            const unsigned r = side ? one->to : one->from;
            one->started[side] = (starts && below(random, 3) < starts) || (one->from == one->to && side == 0);
            if (__builtin_popcountll(used[r]) >= OPS - 2) /* room for both sides: none waits for the other */
                add_wait(random, r, 1, used);
        }
        for (int side = 0; side < 2; side++)
            add_side(random, m, side, used);
        if (below(random, 3) == 0)
            add_wait(random, (unsigned)below(random, RANKS), below(random, 2) == 0, used);
    }
    for (unsigned r = 0; r < RANKS; r++)
        add_wait(random, r, 1, used);
}

/* ---- the areas: as after `first` chunks on every lane, and `before` messages ---- */

static void open_areas(uint64_t first, uint64_t before)
{
    for (unsigned r = 0; r < RANKS; r++) {
        struct rank *const me = &rank[r];
        const size_t bytes = tutti_lane_area_bytes(RANKS);
        me->abort = me->failed = me->beside = 0;
        me->area = aligned_alloc(4096, bytes);
        memset(me->area, 0, bytes);
        struct tutti_lane_area *const area = (struct tutti_lane_area *)(void *)me->area;
        for (unsigned peer = 0; peer < RANKS && before > 0; peer++) { /* messages of lane 0 */
            struct tutti_lane_side *const sends = &area->side[TUTTI_LANE_SEND][peer][0];
            struct tutti_lane_side *const receives = &area->side[TUTTI_LANE_RECV][peer][0];
            sends->messages = receives->messages = receives->known = before;
            sends->posted = (before - 1) << 24 | (before & 0xffffff);
            area->sent[peer] = before << 8 | 1;
        }
        for (unsigned peer = 0; peer < RANKS && first > 0; peer++) {
            for (unsigned lane = 0; lane < TUTTI_LANES; lane++) {
                const unsigned slots = TUTTI_LANE_SLOTS_OF(lane);
                const unsigned slot = lane == 0 ? 0 : lane < 4 ? 240 + lane * 16 : 288 + lane * 4;
                area->side[0][peer][lane].next = area->side[1][peer][lane].next = first;
                for (uint64_t q = first - slots; q < first; q++)
                    area->head[peer][slot + q % slots].flag = area->credit[peer][slot + q % slots] = q + 1;
            }
        }
    }
}

static void fill(const struct message *one, unsigned run)
{
    for (uint64_t i = 0; i < one->bytes; i++)
        one->out[i] = (unsigned char)(i * 31 + (i >> 9) + (uint64_t)(one - message) * 17 + run * 101);
    memset(one->in, 0x5c, one->room + GUARD);
}

static int compare(const struct message *one)
{
    int fine = memcmp(one->out, one->in, one->bytes) == 0;
    for (uint64_t i = one->bytes; i < one->room + GUARD && fine; i++)
        fine = one->in[i] == 0x5c;
    return fine;
}

static int run_program(unsigned number, unsigned run)
{
    pthread_t thread[RANKS];
    int fine = 1;
    for (unsigned m = 0; m < messages; m++)
        fill(&message[m], run);
    began = tutti_now_ns();
    for (unsigned r = 0; r < RANKS; r++)
        pthread_create(&thread[r], NULL, run_stream, &rank[r]);
    for (unsigned r = 0; r < RANKS; r++)
        pthread_join(thread[r], NULL);
    for (unsigned r = 0; r < RANKS; r++)
        fine &= CHECK(rank[r].failed == 0, "program %u, run %u: a launch of rank %u was left: %u", number, run, r,
                      rank[r].failed);
    for (unsigned m = 0; m < messages && fine; m++)
        fine =
            CHECK(compare(&message[m]), "program %u, run %u: message %u, %lu bytes from %u to %u in lane %u, is wrong",
                  number, run, m, (unsigned long)message[m].bytes, message[m].from, message[m].to, message[m].lane);
    return fine;
}

int main(void)
{
    static const uint64_t firsts[] = {0, 0, (UINT64_C(1) << 31) - 8, (UINT64_C(1) << 32) - 8};
    static const uint64_t befores[] = {0, (UINT64_C(1) << 24) - 6, (UINT64_C(1) << 40) - 6};
    uint64_t random = exact_seed();
    const long programs = check_many("TUTTI_TEST_PROGRAMS", 40);
    int fine = 1;
    for (unsigned r = 0; r < RANKS; r++) {
        pthread_mutex_init(&rank[r].lock, NULL);
        pthread_cond_init(&rank[r].changed, NULL);
    }
    for (unsigned number = 0; number < programs && fine; number++) {
        open_areas(firsts[below(&random, sizeof firsts / sizeof *firsts)],
                   befores[below(&random, sizeof befores / sizeof *befores)]);
        draw(&random);
        for (unsigned run = 0; run < RUNS && fine; run++)
            fine = run_program(number, run);
        for (unsigned m = 0; m < messages; m++) {
            free(message[m].out);
            free(message[m].in);
        }
        for (unsigned r = 0; r < RANKS; r++)
            free(rank[r].area);
    }
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
