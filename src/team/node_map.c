/* Which ranks of the world share a node, of all nodes: known since the node was opened, worked out when it is asked. */
#include <stdlib.h>

#include "core/settings.h"
#include "core/status.h"
#include "team/node.h"

struct place {
    int64_t color;
    int rank;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->color != b->color)
        return a->color < b->color ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

int tutti_node_map(const struct tutti_node *node, int lowest[])
{
    const int size = node->world->size, split = (int)tutti_settings()->node_ranks;
    struct place *place = malloc((size_t)size * sizeof *place);
    if (!place)
        return TUTTI_ERR_MEMORY;
    for (int r = 0; r < size; r++)
        place[r] = (struct place){node->colors[r], r};
    qsort(place, (size_t)size, sizeof *place, compare_places);
    for (int i = 0, first = 0; i < size; i++) {
        if (place[i].color != place[first].color || (split > 0 && i - first == split))
            first = i;
        lowest[place[i].rank] = place[first].rank;
    }
    free(place);
    return TUTTI_OK;
}
