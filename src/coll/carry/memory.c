/* Scratch of moves over nodes, and what a communicator keeps of them. */
#include <stdlib.h>

#include "coll/carry/own.h"
#include "core/status.h"
#include "team/deferred_free.h"

/* ---- scratch of a GPU ---- */

enum { KEPT_SCRATCH = 32 << 20 }; /* bytes */

static void carry_scratch_free(struct tutti_carry *carry, int alive)
{
    if (carry->scratch && alive && carry->scratch_life == tutti_gpu_life(carry->scratch_gpu))
        tutti_deferred_free_memory(carry->node, carry->scratch);
    carry->scratch = NULL;
    carry->scratch_bytes = 0;
}

void *tutti_carry_scratch(struct tutti_carry *carry, int gpu, size_t bytes)
{
    const int fits = carry->scratch && carry->scratch_gpu == gpu && carry->scratch_bytes >= bytes &&
                     carry->scratch_life == tutti_gpu_life(gpu);
    if (fits)
        return carry->scratch;
    carry_scratch_free(carry, 1);
    if (tutti_device()->memory.alloc(gpu, bytes, &carry->scratch) != TUTTI_OK)
        return carry->scratch = NULL;
    carry->node = carry->hierarchy->team->node;
    carry->scratch_gpu = gpu;
    carry->scratch_life = tutti_gpu_life(gpu);
    carry->scratch_bytes = bytes;
    return carry->scratch;
}

void tutti_carry_scratch_end(struct tutti_carry *carry)
{
    if (carry->scratch_bytes > KEPT_SCRATCH)
        carry_scratch_free(carry, 1);
}

/* ---- what a communicator keeps ---- */

/* The ranks of each node: they are counted, and then put behind those of the nodes before. */
static void carry_find_members(struct tutti_carry *carry)
{
    const struct tutti_hierarchy *h = carry->hierarchy;
    const int ranks = h->ranks->size;
    for (int r = 0; r < ranks; r++)
        carry->local[r] = carry->first[h->node_of[r] + 1]++;
    for (int n = 0; n < h->nodes; n++)
        carry->first[n + 1] += carry->first[n];
    for (int r = 0; r < ranks; r++)
        carry->member[carry->first[h->node_of[r]] + carry->local[r]] = r;
}

struct tutti_carry *tutti_carry_new(struct tutti_hierarchy *hierarchy, int rules)
{
    const size_t ranks = (size_t)hierarchy->ranks->size;
    struct tutti_carry *carry = calloc(1, sizeof *carry);
    if (!carry)
        return NULL;
    carry->hierarchy = hierarchy;
    carry->rules = rules;
    carry->first = calloc((size_t)hierarchy->nodes + 1, sizeof *carry->first);
    carry->member = malloc(ranks * sizeof *carry->member);
    carry->local = malloc(ranks * sizeof *carry->local);
    if (!carry->first || !carry->member || !carry->local) {
        tutti_carry_free(carry, 0);
        return NULL;
    }
    carry_find_members(carry);
    return carry;
}

void tutti_carry_free(struct tutti_carry *carry, int alive)
{
    if (!carry)
        return;
    for (int wire = 0; wire < TUTTI_CARRY_WIRES; wire++) {
        for (int way = 0; way < TUTTI_CARRY_WAYS; way++)
            tutti_port_close(&carry->port[wire][way], alive);
    }
    carry_scratch_free(carry, alive);
    for (int form = 0; form < 2 && carry->status == TUTTI_OK; form++) /* else the transport may still write there */
        tutti_board_close(&carry->board[form].board);
    free(carry->first);
    free(carry->member);
    free(carry->local);
    free(carry);
}
