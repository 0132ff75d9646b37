/* joined: an all-to-all of small blocks. All blocks from the ranks of one node to those of another one are one message.
 * For each other node a rank of this node gathers the blocks in host memory, sends the message to a rank there, and
 * hands out the blocks of the message that arrives from there. Blocks within the node go by its movers meanwhile. Each
 * rank sends this rank the lengths of what it sends and receives, so the two nodes exchange no lengths. */
#include "coll/carry/joined.h"

#include <stdlib.h>

#include "coll/mover_row.h"
#include "core/status.h"

/* Of rank `local` of this node: bytes that it sends to the other node, and behind them those that it receives from each
 * rank there. */
static uint64_t *joined_word(const struct joined *j, const struct joined_node *of, int local)
{
    return of->word + (size_t)local * (1 + (size_t)tutti_carry_size_of(j->c->kept, of->node));
}

/* ---- lists of blocks ---- */

static int joined_add_run(struct tutti_move_block *list, int *n, int rank, void *at, uint64_t bytes)
{
    struct tutti_move_block *block = &list[*n];
    *block = (struct tutti_move_block){.rank = rank, .bytes = bytes};
    *n += bytes > 0;
    return tutti_carry_run_of(at, bytes, &block->elements);
}

static void joined_add_block(struct tutti_move_block *list, int *n, int rank, const struct tutti_move_block *block)
{
    if (!block)
        return;
    list[*n] = *block;
    list[(*n)++].rank = rank;
}

static int joined_start(struct joined *j, struct tutti_transport *transport, int number, int me, int ranks)
{
    int status = tutti_carry_wire_open(&j->wire, j->c, transport, number, j->outs, j->ins);
    if (status == TUTTI_OK)
        status = tutti_carry_wire_blocks(&j->wire, TUTTI_CARRY_OUT, j->out, j->outs, me, ranks);
    if (status == TUTTI_OK)
        status = tutti_carry_wire_blocks(&j->wire, TUTTI_CARRY_IN, j->in, j->ins, me, ranks);
    return status == TUTTI_OK ? tutti_carry_wire_start(&j->wire) : status;
}

static int joined_end(struct joined *j, int status)
{
    if (status == TUTTI_OK)
        status = tutti_carry_wire_wait(&j->wire);
    tutti_carry_wire_close(&j->wire, status);
    j->wire = (struct tutti_carry_wire){.call = NULL};
    j->outs = j->ins = 0;
    return status;
}

/* Messages in the node, and meanwhile the blocks within it, unless they have been moved. */
static int joined_here(struct joined *j, int status)
{
    if (status == TUTTI_OK)
        status = joined_start(j, j->c->h->here, TUTTI_JOINED_HERE, j->c->h->rank, j->c->h->size);
    if (status == TUTTI_OK && !j->met)
        status = tutti_carry_meet_own(j->c);
    j->met = 1;
    return joined_end(j, status);
}

/* ---- memory ---- */

static int joined_open(struct joined *j)
{
    const struct tutti_carry *k = j->c->kept;
    const struct tutti_hierarchy *h = j->c->h;
    size_t words = (size_t)h->nodes + (size_t)j->c->ranks, blocks = words;
    j->of = calloc((size_t)h->nodes, sizeof *j->of);
    for (int m = 0; m < h->nodes && j->of; m++) {
        if (m == h->node || tutti_joined_lead(j->c, h->node, m) != h->rank)
            continue;
        j->of[j->leads++] =
            (struct joined_node){.node = m, .peer = tutti_carry_member(k, m, tutti_joined_lead(j->c, m, h->node))};
        words += (size_t)h->size * (1 + (size_t)tutti_carry_size_of(k, m));
        blocks += (size_t)h->size * (1 + (size_t)tutti_carry_size_of(k, m));
    }
    j->words = calloc(words, sizeof *j->words);
    j->out = malloc(2 * (blocks + 1) * sizeof *j->out);
    if (!j->of || !j->words || !j->out)
        return TUTTI_ERR_MEMORY;
    j->in = j->out + blocks + 1;
    j->own = j->words;
    uint64_t *next = j->words + (size_t)h->nodes + (size_t)j->c->ranks;
    for (int i = 0; i < j->leads; i++) {
        j->of[i].word = next;
        next += (size_t)h->size * (1 + (size_t)tutti_carry_size_of(k, j->of[i].node));
    }
    return TUTTI_OK;
}

/* status: negative where the call has failed: memory that may be in use is lost. */
static void joined_close(struct joined *j, int status)
{
    for (int i = 0; i < j->leads && status == TUTTI_OK; i++) {
        tutti_host_memory_give(&j->of[i].out);
        tutti_host_memory_give(&j->of[i].in);
    }
    if (status == TUTTI_OK)
        free(j->words);
    free(j->of);
    free(j->out);
}

/* ---- lengths ---- */

/* This rank's words for node m. Returns their number. */
static int joined_say(const struct joined *j, int m, uint64_t *word)
{
    const int theirs = tutti_carry_size_of(j->c->kept, m);
    for (int i = 0; i < theirs; i++) {
        const int r = tutti_carry_member(j->c->kept, m, i);
        word[0] += j->c->to[r] ? j->c->to[r]->bytes : 0;
        word[1 + i] = j->c->from[r] ? j->c->from[r]->bytes : 0;
    }
    return 1 + theirs;
}

/* All blocks have one length, so the ranks send no lengths. */
static void joined_lengths_alike(struct joined *j)
{
    uint64_t bytes = 0;
    for (int r = 0; r < j->c->ranks && bytes == 0; r++)
        bytes = j->c->to[r] ? j->c->to[r]->bytes : j->c->from[r] ? j->c->from[r]->bytes : 0;
    for (int i = 0; i < j->leads; i++) {
        const int theirs = tutti_carry_size_of(j->c->kept, j->of[i].node);
        for (int r = 0; r < j->c->h->size; r++) {
            uint64_t *word = joined_word(j, &j->of[i], r);
            word[0] = (uint64_t)theirs * bytes;
            for (int s = 0; s < theirs; s++)
                word[1 + s] = bytes;
        }
    }
}

static int joined_lengths(struct joined *j)
{
    const struct tutti_hierarchy *h = j->c->h;
    uint64_t *own = j->own;
    int status = TUTTI_OK;
    if (tutti_mover_is_even(j->c->call->collective)) {
        joined_lengths_alike(j);
        return TUTTI_OK;
    }
    for (int m = 0; m < h->nodes && status == TUTTI_OK; m++) {
        if (m == h->node)
            continue;
        const int n = joined_say(j, m, own), lead = tutti_joined_lead(j->c, h->node, m);
        if (lead != h->rank)
            status = joined_add_run(j->out, &j->outs, lead, own, (uint64_t)n * sizeof *own);
        own += n;
    }
    for (int i = 0; i < j->leads; i++) {
        const struct joined_node *of = &j->of[i];
        (void)joined_say(j, of->node, joined_word(j, of, h->rank));
        for (int r = 0; r < h->size && status == TUTTI_OK; r++) {
            const size_t bytes = (1 + (size_t)tutti_carry_size_of(j->c->kept, of->node)) * sizeof *own;
            if (r != h->rank)
                status = joined_add_run(j->in, &j->ins, r, joined_word(j, of, r), bytes);
        }
    }
    return joined_here(j, status);
}

/* Takes the memory of the messages. */
static int joined_take(struct joined *j)
{
    int status = TUTTI_OK;
    for (int i = 0; i < j->leads && status == TUTTI_OK; i++) {
        struct joined_node *of = &j->of[i];
        for (int r = 0; r < j->c->h->size; r++) {
            const uint64_t *word = joined_word(j, of, r);
            of->out_bytes += word[0];
            for (int s = 0; s < tutti_carry_size_of(j->c->kept, of->node); s++)
                of->in_bytes += word[1 + s];
        }
        if (of->out_bytes > 0)
            status = tutti_host_memory_take(&of->out, of->out_bytes);
        if (of->in_bytes > 0 && status == TUTTI_OK)
            status = tutti_host_memory_take(&of->in, of->in_bytes);
    }
    return status;
}

/* ---- gathering ---- */

/* This rank's own blocks, to the place of its part. */
static int joined_pack_own(const struct joined *j, const struct joined_node *of, char *at)
{
    int status = TUTTI_OK;
    for (int i = 0; i < tutti_carry_size_of(j->c->kept, of->node) && status == TUTTI_OK; i++) {
        struct tutti_move_block *block = j->c->to[tutti_carry_member(j->c->kept, of->node, i)];
        if (!block)
            continue;
        (void)tutti_carry_on_host(&block->elements);
        status = tutti_elements_move(TUTTI_PACK, &block->elements, 0, block->bytes, at);
        at += block->bytes;
    }
    return status;
}

/* A message has the parts of this node's ranks in their order, and a part the blocks in the order of the ranks there.
 */
static int joined_gather(struct joined *j)
{
    const struct tutti_hierarchy *h = j->c->h;
    int status = TUTTI_OK;
    for (int m = 0; m < h->nodes; m++) {
        const int lead = tutti_joined_lead(j->c, h->node, m);
        for (int i = 0; m != h->node && lead != h->rank && i < tutti_carry_size_of(j->c->kept, m); i++)
            joined_add_block(j->out, &j->outs, lead, j->c->to[tutti_carry_member(j->c->kept, m, i)]);
    }
    for (int i = 0; i < j->leads; i++) {
        char *at = j->of[i].out.memory;
        for (int r = 0; r < h->size && status == TUTTI_OK; r++) {
            const uint64_t bytes = joined_word(j, &j->of[i], r)[0];
            if (r != h->rank)
                status = joined_add_run(j->in, &j->ins, r, at, bytes);
            else
                status = joined_pack_own(j, &j->of[i], at);
            at += bytes;
        }
    }
    return joined_here(j, status);
}

/* ---- between nodes ---- */

static int joined_exchange(struct joined *j)
{
    int status = TUTTI_OK;
    for (int i = 0; i < j->leads && status == TUTTI_OK; i++) {
        struct joined_node *of = &j->of[i];
        status = joined_add_run(j->out, &j->outs, of->peer, of->out.memory, of->out_bytes);
        if (status == TUTTI_OK)
            status = joined_add_run(j->in, &j->ins, of->peer, of->in.memory, of->in_bytes);
    }
    return joined_end(
        j, status != TUTTI_OK ? status : joined_start(j, j->c->h->ranks, TUTTI_JOINED_OVER, j->c->rank, j->c->ranks));
}

/* ---- handing out ---- */

/* Of the message from one node: the blocks of all ranks of this one. */
static int joined_hand_out_one(struct joined *j, const struct joined_node *of)
{
    const struct tutti_hierarchy *h = j->c->h;
    const int theirs = tutti_carry_size_of(j->c->kept, of->node);
    char *at = of->in.memory;
    int status = TUTTI_OK;
    for (int s = 0; s < theirs; s++) {
        struct tutti_move_block *own = j->c->from[tutti_carry_member(j->c->kept, of->node, s)];
        for (int r = 0; r < h->size && status == TUTTI_OK; r++) {
            const uint64_t bytes = joined_word(j, of, r)[1 + s];
            if (r != h->rank)
                status = joined_add_run(j->out, &j->outs, r, at, bytes);
            else if (own)
                (void)tutti_carry_on_host(&own->elements);
            if (r == h->rank && own)
                status = tutti_elements_move(TUTTI_UNPACK, &own->elements, 0, own->bytes, at);
            at += bytes;
        }
    }
    return status;
}

static int joined_hand_out(struct joined *j)
{
    const struct tutti_hierarchy *h = j->c->h;
    int status = TUTTI_OK;
    for (int i = 0; i < j->leads && status == TUTTI_OK; i++)
        status = joined_hand_out_one(j, &j->of[i]);
    for (int m = 0; m < h->nodes; m++) {
        const int lead = tutti_joined_lead(j->c, h->node, m);
        for (int i = 0; m != h->node && lead != h->rank && i < tutti_carry_size_of(j->c->kept, m); i++)
            joined_add_block(j->in, &j->ins, lead, j->c->from[tutti_carry_member(j->c->kept, m, i)]);
    }
    return joined_here(j, status);
}

static int joined_run(struct tutti_carry_call *c)
{
    struct joined j = {.c = c};
    const int on_board = tutti_joined_board(c);
    if (on_board != 0)
        return on_board < 0 ? on_board : TUTTI_OK;
    int status = joined_open(&j);
    if (status == TUTTI_OK)
        status = joined_lengths(&j);
    if (status == TUTTI_OK)
        status = joined_take(&j);
    if (status == TUTTI_OK)
        status = joined_gather(&j);
    if (status == TUTTI_OK)
        status = joined_exchange(&j);
    if (status == TUTTI_OK)
        status = joined_hand_out(&j);
    joined_close(&j, status);
    return status;
}

const struct tutti_carry_row tutti_carry_joined = {
    .name = "joined",
    .collectives = TUTTI_ON(ALLTOALL) | TUTTI_ON(ALLTOALLV) | TUTTI_ON(ALLTOALLW),
    .run = joined_run,
};
