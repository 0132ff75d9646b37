#include "team/sharing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/lives.h"
#include "core/status.h"
#include "team/socket.h"

/* ---- other nodes of the machine: notes without a connection ---- */

struct sharing_note {
    uint64_t key[2];
    unsigned char uuid[16];
    int32_t from;    /* rank of the world */
    uint32_t answer; /* 1: to a note */
};

struct tutti_sharing {
    int socket;
    uint64_t key[2];
    struct tutti_socket_name *name; /* [ranks of the world]; no length: not of another node of this machine */
};

void tutti_sharing_open(struct tutti_node *node, struct tutti_socket_name *name)
{
    name->length = 0;
    struct tutti_sharing *sharing = calloc(1, sizeof *sharing);
    if (!sharing)
        return;
    sharing->socket = tutti_socket_named(SOCK_DGRAM, name);
    sharing->name = calloc((size_t)node->world->size, sizeof *sharing->name);
    node->sharing = sharing;
    if (!sharing->name || sharing->socket < 0) {
        name->length = 0;
        tutti_sharing_close(node);
    }
}

void tutti_sharing_meet(struct tutti_node *node, int world_rank, const struct tutti_socket_name *name,
                        const uint64_t key[2])
{
    if (!node->sharing || tutti_node_find(node, world_rank) >= 0)
        return;
    memcpy(node->sharing->key, key, sizeof node->sharing->key);
    node->sharing->name[world_rank] = *name;
}

void tutti_sharing_close(struct tutti_node *node)
{
    struct tutti_sharing *sharing = node->sharing;
    node->sharing = NULL;
    if (!sharing)
        return;
    if (sharing->socket >= 0)
        close(sharing->socket);
    free(sharing->name);
    free(sharing);
}

/* That this rank works on the GPU. A note that is lost, because its receiver has ended or is not read, costs speed
 * alone. */
static void sharing_send(const struct tutti_node *node, int to, const unsigned char uuid[16], int answer)
{
    const struct tutti_sharing *sharing = node->sharing;
    const struct tutti_socket_name *name = &sharing->name[to];
    struct sharing_note note = {.from = node->world->rank, .answer = (uint32_t)answer};
    struct sockaddr_un at;
    if (name->length == 0)
        return;
    memcpy(note.key, sharing->key, sizeof note.key);
    memcpy(note.uuid, uuid, sizeof note.uuid);
    const socklen_t length = tutti_socket_address(name, &at);
    (void)!sendto(sharing->socket, &note, sizeof note, MSG_NOSIGNAL, (const struct sockaddr *)&at, length);
}

/* The lock is held. Reads what ranks of other nodes have sent; each is answered once, since it may have begun before
 * this rank. */
static void sharing_read(struct tutti_node *node)
{
    struct tutti_present *own = tutti_node_control(node)->present;
    struct sharing_note note;
    while (recv(node->sharing->socket, &note, sizeof note, 0) == (ssize_t)sizeof note) {
        if (memcmp(note.key, node->sharing->key, sizeof note.key) != 0 || note.from < 0 ||
            note.from >= node->world->size)
            continue;
        for (int i = 0; i < node->presents; i++) {
            if (memcmp(own[i].uuid, note.uuid, sizeof note.uuid) != 0)
                continue;
            atomic_store(&own[i].shared, 1);
            if (!note.answer)
                sharing_send(node, note.from, note.uuid, 1);
        }
    }
}

/* ---- the ranks of the node: their pages ---- */

/* Of two ranks that begin at the same time at least one sees the other, and marks both. */
static void sharing_compare(struct tutti_node *node, struct tutti_present *own)
{
    for (int r = 0; r < node->size; r++) {
        struct tutti_present *theirs = node->peer[r].page->control->present;
        for (int i = 0; i < TUTTI_PRESENT_GPUS && r != node->rank && atomic_load(&theirs[i].there); i++) {
            if (memcmp(theirs[i].uuid, own->uuid, sizeof own->uuid) != 0)
                continue;
            atomic_store(&theirs[i].shared, 1);
            atomic_store(&own->shared, 1);
        }
    }
}

/* Publishes that this rank works on the GPU. Its entry; NULL: there are too many, or it has no UUID. */
static struct tutti_present *sharing_announce(struct tutti_node *node, const struct tutti_device *device, int gpu)
{
    struct tutti_present *own = NULL;
    pthread_mutex_lock(&node->lock);
    if (atomic_load(&node->present[gpu]) == 0) {
        const int i = node->presents;
        struct tutti_present *next = &tutti_node_control(node)->present[i];
        if (i < TUTTI_PRESENT_GPUS && device->gpu.uuid && device->gpu.uuid(gpu, next->uuid) == TUTTI_OK) {
            node->presents++;
            own = next;
            atomic_store(&own->there, 1);
            sharing_compare(node, own);
            for (int r = 0; node->sharing && r < node->world->size; r++)
                sharing_send(node, r, own->uuid, 0);
        }
        atomic_store(&node->present[gpu], own ? i + 1 : -1);
    }
    pthread_mutex_unlock(&node->lock);
    return own;
}

void tutti_sharing_look(struct tutti_node *node, const struct tutti_device *device, int gpu)
{
    if (gpu < 0 || gpu >= TUTTI_SHARING_GPUS || (node->size < 2 && !node->sharing))
        return;
    const int i = atomic_load_explicit(&node->present[gpu], memory_order_relaxed);
    const struct tutti_present *own = i > 0    ? &tutti_node_control(node)->present[i - 1]
                                      : i == 0 ? sharing_announce(node, device, gpu)
                                               : NULL;
    if (own && node->sharing && !atomic_load_explicit(&own->shared, memory_order_relaxed) &&
        pthread_mutex_trylock(&node->lock) == 0) {
        sharing_read(node);
        pthread_mutex_unlock(&node->lock);
    }
    if (own && atomic_load_explicit(&own->shared, memory_order_relaxed))
        tutti_gpu_share(gpu, !device->gpu.turns || device->gpu.turns(gpu));
}
