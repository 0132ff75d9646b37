/* Memory, streams and events of calls over several nodes, and what a communicator keeps of them. */
#include <stdlib.h>

#include "coll/hier/own.h"
#include "core/status.h"
#include "team/deferred_free.h"

int tutti_area_take_piece(struct tutti_nodes_call *c, int piece)
{
    const size_t count = tutti_nodes_own_part(c, piece).count;
    if (count == 0)
        return TUTTI_OK;
    return tutti_host_memory_take(
        &c->area[piece % TUTTI_AREAS],
        2 * count * c->size + tutti_nodes_exchange(c, count)->room(tutti_nodes_participants(c), count, c->size));
}

int tutti_nodes_end(struct tutti_nodes_call *c, enum tutti_port_id id, int gpu, int host, void *memory, int area,
                    struct tutti_wire_end *out)
{
    struct tutti_port *port = &c->form->port[id];
    const int status = host ? TUTTI_OK : tutti_port_open(port, gpu);
    *out = (struct tutti_wire_end){.memory = memory};
    if (status == TUTTI_OK && !host) {
        out->stream = port->stream;
        out->event = port->event[area];
        out->gpu = gpu;
    }
    return status;
}

char *tutti_nodes_arrives(const struct tutti_nodes_call *c, int piece)
{
    return c->scratch + (size_t)(piece % TUTTI_AREAS) * (c->form->scratch_bytes / TUTTI_AREAS);
}

static int scratch_fits(const struct tutti_nodes_form *form, int gpu, size_t bytes)
{
    return form->scratch && form->gpu == gpu && form->life == tutti_gpu_life(gpu) && form->scratch_bytes >= bytes;
}

static void scratch_free(struct tutti_nodes_form *form, int alive)
{
    if (form->scratch && alive && form->life == tutti_gpu_life(form->gpu))
        tutti_deferred_free_memory(form->node, form->scratch);
    form->scratch = NULL;
}

/* Peers may map it, so it is not from the pool, and stays as long as the communicator. */
void tutti_nodes_scratch(struct tutti_nodes_call *c)
{
    enum { ROUND = 512 };
    struct tutti_nodes_form *form = c->form;
    const struct tutti_part_of most = tutti_nodes_part(c, tutti_nodes_piece(c, 0).count, c->nodes->hierarchy->rank);
    const size_t bytes = TUTTI_AREAS * ((most.count * c->size + ROUND - 1) / ROUND * ROUND);
    if (most.count == 0)
        return;
    if (!scratch_fits(form, c->in_gpu, bytes)) {
        scratch_free(form, 1);
        if (tutti_device()->memory.alloc(c->in_gpu, bytes, &form->scratch) != TUTTI_OK) {
            form->scratch = NULL;
            return;
        }
        form->node = c->team->node;
        form->gpu = c->in_gpu;
        form->life = tutti_gpu_life(c->in_gpu);
        form->scratch_bytes = bytes;
    }
    c->scratch = form->scratch;
}

/* ---- what a communicator keeps ---- */

struct tutti_nodes *tutti_nodes_new(int ranks)
{
    struct tutti_nodes *nodes = calloc(1, sizeof *nodes);
    if (!nodes || !(nodes->all = malloc((size_t)ranks * sizeof *nodes->all))) {
        free(nodes);
        return NULL;
    }
    for (int r = 0; r < ranks; r++)
        nodes->all[r] = r;
    return nodes;
}

void tutti_nodes_over(struct tutti_nodes *nodes, struct tutti_hierarchy *hierarchy, int rules)
{
    nodes->hierarchy = hierarchy;
    nodes->rules = rules;
}

void tutti_nodes_free(struct tutti_nodes *nodes, int alive)
{
    if (!nodes)
        return;
    for (int f = 0; f < 2; f++) {
        for (int p = 0; p < TUTTI_PORTS; p++)
            tutti_port_close(&nodes->form[f].port[p], alive);
        scratch_free(&nodes->form[f], alive);
    }
    free(nodes->all);
    free(nodes);
}
