#include "shmem/near.h"

#include <stdlib.h>
#include <string.h>

#include "team/team.h"

static struct tutti_shmem_near *near_of(struct tutti_transport *transport)
{
    return (struct tutti_shmem_near *)transport;
}

/* All PEs gather; each reads the entries of its node. */
static int near_allgather(struct tutti_transport *transport, const void *in, void *out, size_t bytes)
{
    struct tutti_shmem_near *near = near_of(transport);
    /* A PE without memory would leave the others in the exchange, so the memory is taken first. */
    char *all = bytes <= TUTTI_EXCHANGE_BYTES ? NULL : calloc((size_t)near->all->size + 1, bytes);
    char *room = bytes <= TUTTI_EXCHANGE_BYTES ? near->room : all;
    int status = TUTTI_ERR_MEMORY;
    if (room)
        status = near->all->ops->allgather(near->all, in, room, bytes);
    for (int i = 0; i < near->count && status == TUTTI_OK; i++)
        memcpy((char *)out + (size_t)i * bytes, room + (size_t)near->pe[i] * bytes, bytes);
    free(all);
    return status;
}

static int near_barrier(struct tutti_transport *transport)
{
    return near_of(transport)->all->ops->barrier(near_of(transport)->all);
}

static int near_allreduce(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how)
{
    return near_of(transport)->all->ops->allreduce(near_of(transport)->all, words, count, how);
}

static void near_progress(struct tutti_transport *transport)
{
    near_of(transport)->all->ops->progress(near_of(transport)->all);
}

static const struct tutti_transport_ops ops = {
    .barrier = near_barrier, .allgather = near_allgather, .allreduce = near_allreduce, .progress = near_progress};

int tutti_shmem_near_find(struct tutti_shmem *space, struct tutti_transport *all, const struct tutti_node *node)
{
    uint64_t mine[2] = {0, 0}; /* without a node: the team reports that */
    struct tutti_shmem_near *near = calloc(1, sizeof *near);
    if (near)
        near->room = calloc((size_t)all->size + 1, TUTTI_EXCHANGE_BYTES);
    const uint64_t *keys = near ? (const uint64_t *)(void *)near->room : NULL;
    int64_t able = keys != NULL;
    if (node)
        tutti_node_key(node, mine);
    int status = all->ops->allreduce(all, &able, 1, TUTTI_COMBINE_MIN);
    if (status == TUTTI_OK && !able)
        status = TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK)
        status = all->ops->allgather(all, mine, near->room, sizeof mine);
    int most = 0; /* all PEs see the same keys */
    for (int pe = 0; pe < all->size && status == TUTTI_OK; pe++) {
        if (memcmp(&keys[2 * (size_t)pe], mine, sizeof mine) != 0)
            continue;
        near->me = pe == all->rank ? near->count : near->me;
        if (near->count < TSHMEM_NEAR_MAX)
            near->pe[near->count] = pe;
        near->count++;
    }
    if (status == TUTTI_OK) {
        int64_t count = near->count;
        status = all->ops->allreduce(all, &count, 1, TUTTI_COMBINE_MAX);
        most = (int)count;
    }
    if (status == TUTTI_OK && most > TSHMEM_NEAR_MAX)
        status = tutti_shmem_fail(space, TUTTI_ERR_UNAVAILABLE, "tshmem_init",
                                  "%d processes on a node: it has %d PEs at most", most, TSHMEM_NEAR_MAX);
    if (status != TUTTI_OK) {
        tutti_shmem_near_free(near);
        return status;
    }
    near->all = all;
    near->base = *all;
    near->base.ops = &ops;
    near->base.rank = near->me;
    near->base.size = near->count;
    space->near = near;
    return TUTTI_OK;
}

void tutti_shmem_near_free(struct tutti_shmem_near *near)
{
    if (near)
        free(near->room);
    free(near);
}
