#include "shmem/near.h"

#include <stdlib.h>
#include <string.h>

#include "team/team.h"

static struct tutti_shmem_near *near_of(struct tutti_transport *transport)
{
    return (struct tutti_shmem_near *)transport;
}

/* All PEs gather, and each looks at its node's. */
static int allgather(struct tutti_transport *transport, const void *in, void *out, size_t bytes)
{
    struct tutti_shmem_near *near = near_of(transport);
    char *all = calloc((size_t)near->all->size + 1, bytes);
    char own[TUTTI_EXCHANGE_BYTES * TSHMEM_PES_MAX]; /* who has no memory would leave the others in the exchange */
    char *room = bytes <= TUTTI_EXCHANGE_BYTES ? own : all;
    int status = TUTTI_ERR_MEMORY;
    if (room)
        status = near->all->ops->allgather(near->all, in, room, bytes);
    for (int i = 0; i < near->count && status == TUTTI_OK; i++)
        memcpy((char *)out + (size_t)i * bytes, room + (size_t)near->pe[i] * bytes, bytes);
    free(all);
    return status;
}

static int barrier(struct tutti_transport *transport)
{
    return near_of(transport)->all->ops->barrier(near_of(transport)->all);
}

static int allreduce(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how)
{
    return near_of(transport)->all->ops->allreduce(near_of(transport)->all, words, count, how);
}

static void progress(struct tutti_transport *transport)
{
    near_of(transport)->all->ops->progress(near_of(transport)->all);
}

static const struct tutti_transport_ops ops = {
    .barrier = barrier, .allgather = allgather, .allreduce = allreduce, .progress = progress};

int tutti_shmem_near_find(struct tutti_shmem *space, struct tutti_transport *all, const struct tutti_node *node)
{
    uint64_t mine[2] = {0, 0}, keys[2 * TSHMEM_PES_MAX]; /* without a node: the team says that it is none */
    struct tutti_shmem_near *near = calloc(1, sizeof *near);
    if (node)
        tutti_node_key(node, mine);
    int status = all->ops->allgather(all, mine, keys, sizeof mine);
    int64_t able = near != NULL;
    if (status == TUTTI_OK)
        status = all->ops->allreduce(all, &able, 1, TUTTI_COMBINE_MIN);
    if (status == TUTTI_OK && !able)
        status = TUTTI_ERR_MEMORY;
    if (status != TUTTI_OK) {
        free(near);
        return status;
    }
    for (int pe = 0; pe < all->size; pe++) {
        if (memcmp(&keys[2 * (size_t)pe], mine, sizeof mine) != 0)
            continue;
        near->me = pe == all->rank ? near->count : near->me;
        near->pe[near->count++] = pe;
    }
    near->all = all;
    near->base = *all;
    near->base.ops = &ops;
    near->base.rank = near->me;
    near->base.size = near->count;
    space->near = near;
    return TUTTI_OK;
}
