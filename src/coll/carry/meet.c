/* Moves among the ranks of a node: by its data movers, or by messages where some rank's memory is out of their reach.
 */
#include <stdlib.h>

#include "coll/carry/wire.h"
#include "core/status.h"

int tutti_carry_meet_open(struct tutti_carry_meet *meet, enum tutti_collective collective, int sends, int receives)
{
    *meet = (struct tutti_carry_meet){.collective = collective};
    meet->send = malloc(((size_t)sends + (size_t)receives + 1) * sizeof *meet->send);
    meet->receive = meet->send ? meet->send + sends : NULL;
    return meet->send != NULL;
}

void tutti_carry_meet_close(struct tutti_carry_meet *meet)
{
    free(meet->send);
    meet->send = meet->receive = NULL;
}

void tutti_carry_meet_send(struct tutti_carry_meet *meet, int to, const struct tutti_elements *elements, uint64_t bytes)
{
    if (bytes > 0)
        meet->send[meet->sends++] = (struct tutti_move_block){.rank = to, .bytes = bytes, .elements = *elements};
}

void tutti_carry_meet_receive(struct tutti_carry_meet *meet, int from, const struct tutti_elements *elements,
                              uint64_t bytes)
{
    if (bytes > 0)
        meet->receive[meet->receives++] =
            (struct tutti_move_block){.rank = from, .bytes = bytes, .elements = *elements};
}

/* ---- by messages ---- */

/* The next block of the list between this rank and itself, from *i on. NULL: no more. */
static struct tutti_elements *meet_next_own(struct tutti_move_block *block, int blocks, int rank, int *i)
{
    while (*i < blocks && block[*i].rank != rank)
        ++*i;
    return *i < blocks ? &block[(*i)++].elements : NULL;
}

/* What this rank sends to itself, in the order of the lists. */
static int meet_self(struct tutti_carry_meet *meet, int rank)
{
    int sent = 0, received = 0, status = TUTTI_OK;
    while (status == TUTTI_OK) {
        struct tutti_elements *from = meet_next_own(meet->send, meet->sends, rank, &sent);
        struct tutti_elements *to = meet_next_own(meet->receive, meet->receives, rank, &received);
        if (!from && !to)
            break;
        if (!from || !to)
            return TUTTI_ERR_MISMATCH;
        (void)tutti_carry_on_host(from);
        (void)tutti_carry_on_host(to);
        status = tutti_carry_copy(from, to);
    }
    return status;
}

static int meet_by_messages(struct tutti_carry_call *c, struct tutti_carry_meet *meet)
{
    const struct tutti_hierarchy *h = c->h;
    struct tutti_carry_wire wire;
    int status = tutti_carry_wire_open(&wire, c, h->here, TUTTI_CARRY_OF_NODE, meet->sends, meet->receives);
    if (status == TUTTI_OK)
        status = tutti_carry_wire_blocks(&wire, TUTTI_CARRY_OUT, meet->send, meet->sends, h->rank, h->size);
    if (status == TUTTI_OK)
        status = tutti_carry_wire_blocks(&wire, TUTTI_CARRY_IN, meet->receive, meet->receives, h->rank, h->size);
    if (status == TUTTI_OK)
        status = tutti_carry_wire_start(&wire);
    if (status == TUTTI_OK)
        status = meet_self(meet, h->rank);
    if (status == TUTTI_OK)
        status = tutti_carry_wire_wait(&wire);
    tutti_carry_wire_close(&wire, status);
    return status;
}

/* ---- by the node's movers ---- */

/* *how NULL: nothing was done, on all ranks of the node. */
static int meet_by_movers(struct tutti_carry_call *c, struct tutti_carry_meet *meet, const char **how)
{
    struct tutti_p2p_worker worker = *c->move->worker;
    struct tutti_move move = {.send = meet->send,
                              .receive = meet->receive,
                              .sends = meet->sends,
                              .receives = meet->receives,
                              .name = c->move->name,
                              .worker = &worker,
                              .seen = {.memory = {.kind = TUTTI_MEMORY_HOST}},
                              .spare = c->move->spare,
                              .current = c->move->current};
    struct tutti_call call = {.collective = meet->collective, .root = meet->root};
    if (c->team->state == TUTTI_TEAM_BROKEN)
        return TUTTI_ERR_BROKEN;
    if (worker.endpoint)
        call.move = &move;
    else
        tutti_why_set(TUTTI_REASON_APART);
    const int status = tutti_move_run(c->team, &call, how);
    (void)tutti_why_take(TUTTI_REASON_OTHER);
    if (status == TUTTI_OK && *how) {
        c->move->truncated |= move.truncated;
        return move.failed;
    }
    return status;
}

int tutti_carry_meet(struct tutti_carry_call *c, struct tutti_carry_meet *meet)
{
    const char *how = NULL;
    if (c->h->size == 1)
        return meet_self(meet, 0);
    if (!c->by_messages) {
        const int status = meet_by_movers(c, meet, &how);
        if (status != TUTTI_OK || how)
            return status;
        c->by_messages = 1;
    }
    return meet_by_messages(c, meet);
}

int tutti_carry_meet_own(struct tutti_carry_call *c)
{
    const struct tutti_hierarchy *h = c->h;
    struct tutti_carry_meet meet;
    if (!tutti_carry_meet_open(&meet, TUTTI_COLLECTIVE_ALLTOALLV, h->size, h->size))
        return TUTTI_ERR_MEMORY;
    for (int i = 0; i < h->size; i++) {
        const struct tutti_move_block *to = c->to[h->member[i]], *from = c->from[h->member[i]];
        if (to)
            tutti_carry_meet_send(&meet, i, &to->elements, to->bytes);
        if (from)
            tutti_carry_meet_receive(&meet, i, &from->elements, from->bytes);
    }
    const int status = tutti_carry_meet(c, &meet);
    tutti_carry_meet_close(&meet);
    return status;
}
