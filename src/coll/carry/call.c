/* One call: its blocks by rank, its row, and what follows a failure. */
#include <stdlib.h>

#include "coll/carry/own.h"
#include "core/settings.h"
#include "core/status.h"

static int carry_call_open(struct tutti_carry_call *c, struct tutti_carry *carry, const struct tutti_call *call,
                           struct tutti_carry_desk *desk)
{
    const struct tutti_hierarchy *h = carry->hierarchy;
    *c = (struct tutti_carry_call){.kept = carry,
                                   .h = h,
                                   .call = call,
                                   .move = call->move,
                                   .team = desk ? h->team->nonblocking : h->team,
                                   .desk = desk,
                                   .row = tutti_carry_choose(carry->rules, call),
                                   .rank = h->ranks->rank,
                                   .ranks = h->ranks->size,
                                   .piece = (size_t)tutti_settings()->nodes_piece_kb << 10};
    c->to = calloc(2 * (size_t)c->ranks, sizeof *c->to);
    if (!c->to)
        return TUTTI_ERR_MEMORY;
    c->from = c->to + c->ranks;
    for (int i = 0; i < c->move->sends; i++) {
        if (c->move->send[i].bytes > 0)
            c->to[c->move->send[i].rank] = &c->move->send[i];
    }
    for (int i = 0; i < c->move->receives; i++) {
        if (c->move->receive[i].bytes > 0)
            c->from[c->move->receive[i].rank] = &c->move->receive[i];
    }
    return TUTTI_OK;
}

/* All ranks of the node notice a failure through the team. */
static int carry_call_close(struct tutti_carry_call *c, int status)
{
    if (status != TUTTI_OK) {
        c->kept->status = status;
        if (c->h->size > 1 && c->team->state != TUTTI_TEAM_BROKEN)
            tutti_team_break(c->team, status);
        c->aside = (struct tutti_host_memory){.memory = NULL}; /* the transport may still use it: it is lost */
    }
    tutti_host_memory_give(&c->aside);
    tutti_carry_scratch_end(c->kept);
    free(c->to);
    return status;
}

int tutti_carry_make(struct tutti_carry *carry, const struct tutti_call *call, struct tutti_carry_desk *desk,
                     const char **how)
{
    struct tutti_carry_call c;
    if (carry->status != TUTTI_OK)
        return carry->status;
    int status = carry_call_open(&c, carry, call, desk);
    if (status == TUTTI_OK && !c.row) /* the rules took it when the ranks agreed */
        status = TUTTI_ERR_UNAVAILABLE;
    if (status == TUTTI_OK && c.move->aside)
        status = tutti_carry_set_aside(&c);
    if (status == TUTTI_OK) {
        *how = c.row->name;
        status = c.row->run(&c);
    }
    return carry_call_close(&c, status);
}

int tutti_carry_run(struct tutti_carry *carry, const struct tutti_call *call, const char **how)
{
    return tutti_carry_make(carry, call, NULL, how);
}
