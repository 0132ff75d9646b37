/* Node: discovery, set-up in two phases, teardown. */
#include "team/node.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/log.h"
#include "core/settings.h"
#include "progress/engine.h"
#include "progress/pause.h"
#include "team/cache.h"
#include "team/deferred_free.h"
#include "team/page_view.h"
#include "team/resources.h"
#include "team/sharing.h"
#include "team/socket.h"
#include "team/watch.h"
#include "team/watcher.h"

enum { CLOSE_SECONDS = 2 }; /* peers may take this long to leave the last communicators */

struct discovery {
    int64_t *colors;                     /* of each rank of the world */
    uint64_t (*nonces)[2];               /* drawn by each */
    struct tutti_socket_name *names;     /* of each rank of the world: of its listening socket */
    struct tutti_socket_name (*both)[2]; /* and beside it that of sharing.h */
    int first;                           /* world rank of node rank 0 */
    int split;                           /* 1: other nodes are of this machine */
};

/* *speaker: the rank of the world that says why nothing is shared, the same on all: one that has failed by itself, if
 * there is one, rather than one that has waited for others in vain. -1 if all are fine. Collective. */
static int choose_speaker(struct tutti_transport *world, int status, int *speaker)
{
    const int by_others = status == TUTTI_ERR_TIMEOUT || status == TUTTI_ERR_PEER;
    int64_t word = status == TUTTI_OK ? INT64_MAX : (int64_t)world->rank + (by_others ? world->size : 0);
    int failed = world->ops->allreduce(world, &word, 1, TUTTI_COMBINE_MIN);
    *speaker = word == INT64_MAX ? -1 : (int)(word % world->size);
    return failed;
}

/* Ranks of one machine, in order of rank, in groups of TUTTI_NODE_RANKS. */
static void node_find_members(struct tutti_node *node, struct discovery *d)
{
    const struct tutti_transport *world = node->world;
    int64_t mine = d->colors[world->rank];
    int split = (int)tutti_settings()->node_ranks, before = 0, all = 0;
    for (int r = 0; r < world->size; r++) {
        before += r < world->rank && d->colors[r] == mine;
        all += d->colors[r] == mine;
    }
    int start = split > 0 ? before / split * split : 0;
    node->rank = before - start;
    node->size = split > 0 && all - start > split ? split : all - start;
    d->split = node->size < all;
    for (int r = 0, at = 0; r < world->size; r++) {
        if (d->colors[r] == mine && at++ == start)
            d->first = r;
    }
}

static int draw_nonce(uint64_t nonce[2])
{
    return getrandom(nonce, 16, 0) == 16 ? TUTTI_OK : TUTTI_ERR_SYSTEM;
}

/* Collective: members and the nonce of their first. *mine: how this rank has fared. */
static int node_discover(struct tutti_node *node, struct discovery *d, int *mine)
{
    struct tutti_transport *world = node->world;
    int64_t color = 0;
    uint64_t nonce[2] = {0, 0};
    int status = world->ops->node_color(world, &color);
    if (status == TUTTI_OK)
        status = world->ops->allgather(world, &color, d->colors, sizeof color);
    if (status != TUTTI_OK)
        return status;
    *mine = draw_nonce(nonce);
    status = world->ops->allgather(world, nonce, d->nonces, sizeof nonce);
    if (status != TUTTI_OK)
        return status;
    node_find_members(node, d);
    memcpy(node->nonce, d->nonces[d->first], sizeof node->nonce);
    node->peer = calloc((size_t)node->size, sizeof *node->peer);
    node->world_rank = calloc((size_t)node->size, sizeof *node->world_rank);
    if (!node->peer || !node->world_rank)
        *mine = TUTTI_ERR_MEMORY;
    int64_t color_here = d->colors[world->rank];
    for (int r = d->first, at = 0; node->world_rank && at < node->size; r++) {
        if (d->colors[r] == color_here)
            node->world_rank[at++] = r;
    }
    for (int r = 0; node->peer && r < node->size; r++)
        node->peer[r].socket = -1;
    return TUTTI_OK;
}

static void free_node(struct tutti_node *node)
{
    if (!node)
        return;
    for (int r = 0; node->peer && r < node->size; r++) {
        if (node->peer[r].socket >= 0)
            close(node->peer[r].socket);
        tutti_page_release(node->peer[r].page);
    }
    tutti_sharing_close(node);
    tutti_cache_free(node->cache);
    pthread_mutex_destroy(&node->lock);
    pthread_mutex_destroy(&node->post);
    pthread_mutex_destroy(&node->invalidating);
    free(node->peer);
    free(node->world_rank);
    free(node->colors);
    free(node);
}

static struct tutti_node *node_new(struct tutti_transport *world)
{
    struct tutti_node *node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    node->world = world;
    pthread_mutex_init(&node->lock, NULL);
    pthread_mutex_init(&node->post, NULL);
    pthread_mutex_init(&node->invalidating, NULL);
    node->cache = tutti_cache_new((size_t)tutti_settings()->cache_entries);
    if (!node->cache) {
        free_node(node);
        return NULL;
    }
    return node;
}

static int node_open_own(struct tutti_node *node, int *page_fd, int *listener, struct tutti_socket_name *name)
{
    int status = tutti_page_create(node->nonce, page_fd, &node->peer[node->rank].page);
    if (status == TUTTI_OK && node->size > 1)
        status = tutti_socket_listen(node, listener, name);
    return status;
}

/* Collective: page and listener, then the mesh; both agreed. mine: how this rank has fared so far. *speaker: as above.
 */
static int connect_members(struct tutti_node *node, struct discovery *d, int mine, int *speaker)
{
    struct tutti_transport *world = node->world;
    struct tutti_socket_name name[2] = {{.length = 0}, {.length = 0}};
    int page_fd = -1, listener = -1;
    if (mine == TUTTI_OK)
        mine = node_open_own(node, &page_fd, &listener, &name[0]);
    int status = choose_speaker(world, mine, speaker);
    if (d->split)
        tutti_sharing_open(node, &name[1]);
    if (status == TUTTI_OK && *speaker < 0)
        status = world->ops->allgather(world, name, d->both, sizeof name);
    for (int r = 0; r < world->size && status == TUTTI_OK && *speaker < 0; r++) {
        d->names[r] = d->both[r][0];
        if (d->both[r][1].length > 0 && d->colors[r] == d->colors[world->rank])
            tutti_sharing_meet(node, r, &d->both[r][1], d->nonces[0]);
    }
    if (status == TUTTI_OK && *speaker < 0) {
        mine = tutti_socket_mesh(node, listener, d->names, page_fd);
        status = choose_speaker(world, mine, speaker);
    }
    if (listener >= 0)
        close(listener);
    if (page_fd >= 0)
        close(page_fd);
    return status;
}

int tutti_node_open(struct tutti_transport *world, struct tutti_node **out)
{
    *out = NULL;
    struct tutti_node *node = node_new(world);
    size_t size = (size_t)world->size;
    struct discovery d = {malloc(size * sizeof *d.colors),
                          malloc(size * sizeof *d.nonces),
                          malloc(size * sizeof *d.names),
                          malloc(size * sizeof *d.both),
                          0,
                          0};
    const int fine = node && d.colors && d.nonces && d.names && d.both;
    int speaker, status = choose_speaker(world, fine ? TUTTI_OK : TUTTI_ERR_MEMORY, &speaker);
    if (status == TUTTI_OK && speaker < 0) {
        int mine = TUTTI_OK;
        status = node_discover(node, &d, &mine);
        if (status == TUTTI_OK)
            status = connect_members(node, &d, mine, &speaker);
    }
    free(d.nonces);
    free(d.names);
    free(d.both);
    if (status == TUTTI_OK && speaker < 0) {
        node->colors = d.colors;
        tutti_debug("node of %d ranks, rank %d, %d cores", node->size, node->rank, node->cores);
        tutti_pause_among(tutti_settings()->node_ranks > 0 ? world->size : node->size, node->cores);
        *out = node;
        return TUTTI_OK;
    }
    free(d.colors);
    if (speaker == world->rank)
        tutti_warn("device memory is not shared between ranks: rank %d and the others of its machine could not be "
                   "connected (TUTTI_LOG=info says more)",
                   world->rank);
    free_node(node);
    return status == TUTTI_OK ? TUTTI_ERR_UNAVAILABLE : status;
}

/* Waits, bounded, until peers have left the communicators that this rank has left: their kernels may still write here.
 */
static int all_have_left(void *with)
{
    struct tutti_node *node = with;
    for (const struct tutti_membership *membership = node->leaving; membership; membership = membership->next)
        tutti_watch_gone(membership, UINT64_MAX);
    tutti_fiber_lock(&node->lock);
    int none = tutti_membership_sweep(node);
    pthread_mutex_unlock(&node->lock);
    return none;
}

static void await_leaving(struct tutti_node *node)
{
    tutti_progress_wait(&(const struct tutti_wait){
        .done = all_have_left, .with = node, .quiet = 1, .seconds = CLOSE_SECONDS, .every_us = 200});
}

static void free_places(struct tutti_node *node)
{
    while (node->leaving) {
        struct tutti_membership *membership = node->leaving;
        node->leaving = membership->next;
        free(membership);
    }
    while (node->team_memory.n > 0)
        free(tutti_team_memory_take(&node->team_memory));
    while (node->membership_memory.n > 0)
        free(tutti_team_memory_take(&node->membership_memory));
}

void tutti_node_close(struct tutti_node *node)
{
    if (!node)
        return;
    if (!node->forgotten) {
        tutti_watcher_end(node);
        await_leaving(node);
        atomic_store(&tutti_node_control(node)->closed, 1);
        tutti_socket_purge(node, -2);
    }
    int alive = !node->forgotten && tutti_device_active(node->device);
    tutti_deferred_free_end(node, alive);
    if (alive)
        tutti_cache_empty(node->cache, node->device);
    tutti_page_views_close(node, alive);
    tutti_resources_free(node, alive);
    free_places(node);
    free_node(node);
}

void tutti_node_forget(struct tutti_node *node)
{
    if (!node)
        return;
    node->forgotten = 1;  /* no lock is taken here: another thread of the parent may have held it */
    node->watcher = NULL; /* its thread does not exist here */
    for (int r = 0; r < node->size; r++) {
        if (node->peer[r].socket >= 0)
            close(node->peer[r].socket);
        node->peer[r].socket = -1;
        tutti_page_release(node->peer[r].page);
        node->peer[r].page = NULL;
    }
}

int tutti_node_rank(const struct tutti_node *node)
{
    return node->rank;
}

int tutti_node_cores(const struct tutti_node *node)
{
    return node->cores;
}

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

void tutti_node_key(const struct tutti_node *node, uint64_t key[2])
{
    memcpy(key, node->nonce, sizeof node->nonce);
}

/* ---- which ranks of the world share a node, of all nodes: known since the node was opened ---- */

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
