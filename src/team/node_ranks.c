/* Ranks of a node, by their numbers in the world. */
#include "team/node.h"

int tutti_node_size(const struct tutti_node *node)
{
    return node->size;
}

int tutti_node_world_size(const struct tutti_node *node)
{
    return node->world->size;
}

int tutti_node_find(const struct tutti_node *node, int world_rank)
{
    int low = 0, high = node->size - 1;
    while (low <= high) {
        int middle = (low + high) / 2;
        if (node->world_rank[middle] == world_rank)
            return middle;
        if (node->world_rank[middle] < world_rank)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}

int tutti_node_world(const struct tutti_node *node, int rank)
{
    return rank >= 0 && rank < node->size ? node->world_rank[rank] : -1;
}
