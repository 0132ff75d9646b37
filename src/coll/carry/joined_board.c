/* joined, for few bytes: the ranks of a node hand each other their blocks on boards, without a message. A rank packs
 * all of its blocks on its board, node by node, behind a table of what it sends and receives. So each rank knows the
 * lengths of all blocks of its node, and the node decides alone whether they fit. The messages between nodes are those
 * of joined.c.
 *
 * Calls write on two sides in turn. A rank writes on a side when all ranks have written on the other one, and so have
 * read what this side held before. */
#include <stdlib.h>
#include <string.h>

#include "coll/carry/batch.h"
#include "coll/carry/joined.h"
#include "core/status.h"
#include "progress/engine.h"

enum { BOARD_OUT = 64 << 10, BOARD_IN = 256 << 10, BOARD_RANKS = 1024, BOARD_APART = -2 };

/* The beginning of a board; tables, blocks and messages follow, two of each. */
struct board_head {
    _Alignas(128) _Atomic uint32_t packed; /* the last call whose table and blocks are there */
    _Alignas(128) _Atomic uint32_t landed; /* the last call whose messages from other nodes are there */
};

struct board_part {
    struct tutti_elements *elements;
    char *at;
    uint64_t bytes;
};

struct board {
    struct tutti_carry_call *c;
    const struct tutti_carry *k;
    const struct tutti_board *of;
    uint32_t call;
    int node, rank, size;    /* this node; this rank's number on it; its ranks */
    struct board_part *part; /* [ranks] */
    int parts;
    char *out; /* messages to other nodes */
};

/* ---- layout ---- */

static size_t board_bytes(int ranks)
{
    return sizeof(struct board_head) + 2 * (2 * (size_t)ranks * sizeof(uint64_t) + BOARD_OUT + BOARD_IN);
}

static struct board_head *board_head(const struct board *b, int local)
{
    return b->of->of[local];
}

/* Bytes that the rank sends to each rank, in the order of `member`; [ranks] entries further, what it receives. */
static uint64_t *board_to(const struct board *b, int local)
{
    return (uint64_t *)(board_head(b, local) + 1) + (b->call & 1) * 2 * (size_t)b->c->ranks;
}

static uint64_t *board_from(const struct board *b, int local)
{
    return board_to(b, local) + b->c->ranks;
}

static char *board_out(const struct board *b, int local)
{
    char *const rooms = (char *)((uint64_t *)(board_head(b, local) + 1) + 4 * (size_t)b->c->ranks);
    return rooms + (size_t)(b->call & 1) * (BOARD_OUT + BOARD_IN);
}

static char *board_in(const struct board *b, int local)
{
    return board_out(b, local) + BOARD_OUT;
}

static uint64_t board_sum(const uint64_t *bytes, int begin, int end)
{
    uint64_t sum = 0;
    for (int i = begin; i < end; i++)
        sum += bytes[i];
    return sum;
}

/* Of the message from node m. */
static uint64_t board_in_bytes(const struct board *b, int m)
{
    uint64_t sum = 0;
    for (int r = 0; r < b->size; r++)
        sum += board_sum(board_from(b, r), b->k->first[m], b->k->first[m + 1]);
    return sum;
}

/* Where the message from node m lies on the board of the rank that receives it. */
static char *board_in_of(const struct board *b, int m)
{
    const int lead = tutti_joined_lead(b->c, b->node, m);
    char *at = board_in(b, lead);
    for (int before = 0; before < m; before++) {
        if (before != b->node && tutti_joined_lead(b->c, b->node, before) == lead)
            at += board_in_bytes(b, before);
    }
    return at;
}

/* Of the blocks of a rank: those that do not fit in one piece need not be handed on at once. */
static uint64_t board_most(const struct board *b)
{
    return b->c->piece < BOARD_OUT ? b->c->piece : BOARD_OUT;
}

/* ---- packing ---- */

static void board_add(struct board *b, struct tutti_move_block *block, char *at)
{
    if (block)
        b->part[b->parts++] = (struct board_part){&block->elements, at, block->bytes};
}

static int board_copied(void *event)
{
    return tutti_device()->event.query(event);
}

/* Elements in memory of the port's GPU, through pinned memory. The copy of a window (wire_copy.c) is a task of a
 * schedule, polled beside messages, and may begin in the middle of a block. A board is copied whole while its caller
 * waits, and blocks that no stream reaches are moved apart. What both have in common is the batch (batch.h). */
static int board_copy(enum tutti_direction direction, const struct tutti_port *port,
                      const struct board_part *const of[], int parts, char *pinned)
{
    struct tutti_carry_batch batch = {.port = port, .direction = direction};
    char *at = pinned;
    int status = TUTTI_OK;
    for (int i = 0; i < parts && status == TUTTI_OK; at += of[i++]->bytes) {
        if (direction == TUTTI_UNPACK)
            memcpy(at, of[i]->at, of[i]->bytes);
        status = tutti_carry_batch_add(&batch, of[i]->elements, 0, of[i]->bytes, at);
    }
    if (status == TUTTI_OK)
        status = tutti_carry_batch_end(&batch, port->event[0]);
    if (status > 0)
        status = tutti_progress_wait(&(const struct tutti_wait){.done = board_copied, .with = port->event[0]});
    at = pinned;
    for (int i = 0; i < parts && direction == TUTTI_PACK && status == TUTTI_OK; at += of[i++]->bytes)
        memcpy(of[i]->at, at, of[i]->bytes);
    return status;
}

/* The GPU whose stream copies elements; -1: that of the call's thread; BOARD_APART: no stream does. */
static int board_gpu(struct tutti_elements *elements)
{
    const int reached = !tutti_carry_on_host(elements) && tutti_places_reached(&elements->places);
    return reached ? elements->places.gpu : BOARD_APART;
}

/* Elements that no stream copies, to or from ordinary memory. */
static int board_move_apart(enum tutti_direction direction, const struct board_part *part)
{
    struct tutti_elements *elements = part->elements;
    char *const run = tutti_elements_run(elements);
    if (tutti_carry_on_host(elements) || !elements->whole)
        return tutti_elements_move(direction, elements, 0, part->bytes, part->at);
    return tutti_device()->memory.copy_now(direction == TUTTI_PACK ? part->at : run,
                                           direction == TUTTI_PACK ? run : part->at, part->bytes);
}

static int board_port(const struct board *b, int gpu, struct tutti_port *port)
{
    if (gpu < 0)
        gpu = b->c->move->current;
    if (gpu < 0 && tutti_device()->gpu.current(&gpu) != TUTTI_OK)
        gpu = 0;
    return tutti_port_open(port, gpu);
}

/* Moves all parts between the program's memory and the boards. */
static int board_move(struct board *b, enum tutti_direction direction)
{
    struct tutti_port *port =
        &b->c->kept->port[TUTTI_JOINED_OVER][direction == TUTTI_PACK ? TUTTI_CARRY_OUT : TUTTI_CARRY_IN];
    struct tutti_host_memory pinned = {.memory = NULL};
    const struct board_part **of = malloc((size_t)b->parts * sizeof *of);
    uint64_t bytes = 0;
    int copies = 0, gpu = -1, status = of || b->parts == 0 ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (int i = 0; i < b->parts && status == TUTTI_OK; i++) {
        const struct board_part *part = &b->part[i];
        const int its = board_gpu(part->elements);
        if (its == BOARD_APART || (gpu >= 0 && its >= 0 && its != gpu)) {
            status = board_move_apart(direction, part);
            continue;
        }
        gpu = its >= 0 ? its : gpu;
        bytes += part->bytes;
        of[copies++] = part;
    }
    if (copies > 0 && status == TUTTI_OK)
        status = board_port(b, gpu, port);
    if (copies > 0 && status == TUTTI_OK)
        status = tutti_host_memory_take(&pinned, bytes);
    if (copies > 0 && status == TUTTI_OK && pinned.bounce)
        status = board_copy(direction, port, of, copies, pinned.memory);
    for (int i = 0; i < copies && status == TUTTI_OK && !pinned.bounce; i++)
        status = board_move_apart(direction, of[i]);
    tutti_host_memory_give(&pinned);
    free(of);
    b->parts = 0;
    return status;
}

/* The table, and all blocks if there is room. */
static int board_pack(struct board *b)
{
    uint64_t *to = board_to(b, b->rank), *from = board_from(b, b->rank), bytes = 0;
    for (int p = 0; p < b->c->ranks; p++) {
        struct tutti_move_block *block = b->c->to[b->k->member[p]];
        const struct tutti_move_block *comes = b->c->from[b->k->member[p]];
        to[p] = block ? block->bytes : 0;
        from[p] = comes ? comes->bytes : 0;
        board_add(b, block, board_out(b, b->rank) + bytes);
        bytes += to[p];
    }
    if (bytes > board_most(b)) {
        b->parts = 0;
        return TUTTI_OK;
    }
    return board_move(b, TUTTI_PACK);
}

/* By the tables of all ranks of the node, so they all find the same. */
static int board_fits(const struct board *b)
{
    uint64_t in[TUTTI_MAX_RANKS] = {0};
    int fits = 1;
    for (int r = 0; r < b->size && fits; r++)
        fits = board_sum(board_to(b, r), 0, b->c->ranks) <= board_most(b);
    for (int m = 0; m < b->c->h->nodes && fits; m++) {
        uint64_t *sum = &in[tutti_joined_lead(b->c, b->node, m)];
        *sum += m != b->node ? board_in_bytes(b, m) : 0;
        fits = *sum <= BOARD_IN;
    }
    return fits;
}

/* ---- between nodes ---- */

static int board_leads(const struct board *b, int m)
{
    return m != b->node && tutti_joined_lead(b->c, b->node, m) == b->rank;
}

/* The part of each rank of this node, one behind the other. */
static char *board_join(const struct board *b, int m, char *at)
{
    for (int r = 0; r < b->size; r++) {
        const uint64_t *to = board_to(b, r);
        const uint64_t before = board_sum(to, 0, b->k->first[m]),
                       bytes = board_sum(to, b->k->first[m], b->k->first[m + 1]);
        memcpy(at, board_out(b, r) + before, bytes);
        at += bytes;
    }
    return at;
}

struct board_messages {
    struct tutti_carry_wire wire;
    struct tutti_elements *run; /* [2 * nodes] */
    int *peer;                  /* [nodes] */
};

static int board_send(struct board *b, struct board_messages *messages)
{
    const int nodes = b->c->h->nodes;
    uint64_t bytes = 0;
    int status = tutti_carry_wire_open(&messages->wire, b->c, b->c->h->ranks, TUTTI_JOINED_OVER, nodes, nodes);
    for (int r = 0; r < b->size; r++)
        bytes += board_sum(board_to(b, r), 0, b->c->ranks);
    messages->run = malloc(2 * (size_t)nodes * sizeof *messages->run);
    messages->peer = malloc((size_t)nodes * sizeof *messages->peer);
    b->out = malloc(bytes + 1);
    if (status == TUTTI_OK && (!messages->run || !messages->peer || !b->out))
        status = TUTTI_ERR_MEMORY;
    char *at = b->out;
    for (int m = 0; m < nodes && status == TUTTI_OK; m++) {
        struct tutti_elements *out = &messages->run[2 * m], *in = out + 1;
        if (!board_leads(b, m))
            continue;
        char *const begin = at;
        at = board_join(b, m, at);
        messages->peer[m] = tutti_carry_member(b->k, m, tutti_joined_lead(b->c, m, b->node));
        status = tutti_carry_run_of(begin, (uint64_t)(at - begin), out);
        if (status == TUTTI_OK)
            status = tutti_carry_run_of(board_in_of(b, m), board_in_bytes(b, m), in);
        out->placed = in->placed = 1; /* ordinary memory */
        tutti_carry_wire_receive(&messages->wire, in, 0, (uint64_t)in->count, messages->peer[m], NULL, 0, m);
        tutti_carry_wire_send(&messages->wire, out, 0, (uint64_t)out->count, &messages->peer[m], 1, m);
    }
    return status == TUTTI_OK ? tutti_carry_wire_start(&messages->wire) : status;
}

/* ---- unpacking ---- */

/* A block whose lengths differ at its two ends is an error of the program. */
static int board_take(struct board *b, int member, char *at, uint64_t bytes)
{
    struct tutti_move_block *block = b->c->from[b->k->member[member]];
    if (bytes != (block ? block->bytes : 0))
        return TUTTI_ERR_MISMATCH;
    board_add(b, block, at);
    return TUTTI_OK;
}

/* The blocks of this node's ranks. */
static int board_unpack_here(struct board *b)
{
    const int first = b->k->first[b->node];
    int status = TUTTI_OK;
    for (int q = 0; q < b->size && status == TUTTI_OK; q++) {
        const uint64_t *to = board_to(b, q);
        status = board_take(b, first + q, board_out(b, q) + board_sum(to, 0, first + b->rank), to[first + b->rank]);
    }
    return status == TUTTI_OK ? board_move(b, TUTTI_UNPACK) : status;
}

/* Of the message from node m: in the order of its ranks, and of each those for the ranks of this node. */
static int board_take_of(struct board *b, int m)
{
    char *at = board_in_of(b, m);
    int status = TUTTI_OK;
    for (int s = b->k->first[m]; s < b->k->first[m + 1]; s++) {
        for (int r = 0; r < b->size; r++) {
            const uint64_t bytes = board_from(b, r)[s];
            if (r == b->rank && status == TUTTI_OK)
                status = board_take(b, s, at, bytes);
            at += bytes;
        }
    }
    return status;
}

static int board_unpack_far(struct board *b)
{
    int status = TUTTI_OK;
    for (int m = 0; m < b->c->h->nodes && status == TUTTI_OK; m++) {
        const int lead = tutti_joined_lead(b->c, b->node, m);
        if (m == b->node || board_sum(board_from(b, b->rank), b->k->first[m], b->k->first[m + 1]) == 0)
            continue;
        if (lead != b->rank)
            status = tutti_board_await(b->c->team, lead, &board_head(b, lead)->landed, b->call);
        if (status == TUTTI_OK)
            status = board_take_of(b, m);
    }
    return status == TUTTI_OK ? board_move(b, TUTTI_UNPACK) : status;
}

/* ---- the call ---- */

static int board_exchange(struct board *b)
{
    struct board_messages messages = {.run = NULL};
    int leads = 0, status = TUTTI_OK;
    for (int m = 0; m < b->c->h->nodes; m++)
        leads += board_leads(b, m);
    if (leads > 0)
        status = board_send(b, &messages);
    if (status == TUTTI_OK)
        status = board_unpack_here(b);
    if (leads > 0) {
        if (status == TUTTI_OK)
            status = tutti_carry_wire_wait(&messages.wire);
        tutti_carry_wire_close(&messages.wire, status);
        if (status == TUTTI_OK)
            atomic_store_explicit(&board_head(b, b->rank)->landed, b->call, memory_order_release);
    }
    if (status == TUTTI_OK)
        status = board_unpack_far(b);
    free(messages.run);
    free(messages.peer);
    if (status == TUTTI_OK) /* otherwise the transport may still use it */
        free(b->out);
    return status;
}

int tutti_joined_board(struct tutti_carry_call *c)
{
    struct tutti_carry_board *kept = &c->kept->board[c->desk != NULL];
    int status = TUTTI_OK, fits = 0;
    if (kept->refused || !c->team->whole || c->by_messages || c->ranks > BOARD_RANKS)
        return 0;
    if (kept->board.bytes == 0 &&
        (status = tutti_board_open(c->team, board_bytes(c->ranks), &kept->board)) != TUTTI_OK) {
        kept->refused = 1;
        return status == TUTTI_ERR_UNAVAILABLE ? 0 : status;
    }
    struct board b = {.c = c,
                      .k = c->kept,
                      .of = &kept->board,
                      .call = ++kept->calls,
                      .node = c->h->node,
                      .rank = c->h->rank,
                      .size = c->h->size,
                      .part = malloc((size_t)c->ranks * sizeof *b.part)};
    status = b.part ? board_pack(&b) : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK)
        atomic_store_explicit(&board_head(&b, b.rank)->packed, b.call, memory_order_release);
    for (int r = 0; r < b.size && status == TUTTI_OK; r++)
        status = tutti_board_await(c->team, r, &board_head(&b, r)->packed, b.call);
    if (status == TUTTI_OK && (fits = board_fits(&b)))
        status = board_exchange(&b);
    free(b.part);
    return status == TUTTI_OK ? fits : status;
}
