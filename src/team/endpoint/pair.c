#include "team/pair.h"

#include <unistd.h>

#include "core/status.h"
#include "team/cache.h"
#include "team/node.h"
#include "team/socket.h"

int tutti_pair_show(struct tutti_node *node, const struct tutti_device *device, int peer, const void *pointer,
                    struct tutti_share *out)
{
    int fd = -1, sent = 1;
    *out = (struct tutti_share){.shared = 0};
    const int status = device->share.export(pointer, &out->what, &fd);
    if (status != TUTTI_OK)
        return status;
    if (out->what.needs_fd && peer != node->rank) {
        const struct tutti_note note = {.id = out->what.id, .slot = (uint32_t)TUTTI_NOTE_PAIR};
        sent = tutti_socket_give(node, peer, &note, fd);
    }
    if (fd >= 0)
        close(fd);
    if (!sent)
        return 1;
    out->shared = 1;
    out->offset = (uint64_t)(uintptr_t)pointer - out->what.base;
    return TUTTI_OK;
}

int tutti_pair_map(struct tutti_node *node, const struct tutti_device *device, int peer, int gpu,
                   const struct tutti_share *share, size_t bytes, struct tutti_mapping **mapping, void **out)
{
    int fd = -1;
    *mapping = NULL;
    if (!share->shared || share->offset > share->what.bytes || bytes > share->what.bytes - share->offset)
        return TUTTI_ERR_ARGUMENT;
    if (peer == node->rank) {
        *out = (void *)(uintptr_t)(share->what.base + share->offset);
        return TUTTI_OK;
    }
    *mapping = tutti_cache_find(node->cache, peer, gpu, &share->what);
    if (!*mapping) {
        if (share->what.needs_fd && !tutti_socket_take(node, peer, TUTTI_NOTE_PAIR, 0, share->what.id, &fd))
            return 1;
        const int status = share->what.needs_fd && fd < 0
                               ? TUTTI_ERR_UNAVAILABLE
                               : tutti_cache_add(node->cache, device, peer, gpu, &share->what, fd, 1, mapping);
        if (fd >= 0)
            close(fd);
        if (status != TUTTI_OK)
            return status;
    }
    *out = (char *)(*mapping)->base + share->offset;
    return TUTTI_OK;
}

void tutti_pair_poll(struct tutti_node *node, int peer)
{
    int none;
    if (peer != node->rank)
        (void)tutti_socket_take(node, peer, TUTTI_NOTE_PAIR, 1, 0, &none); /* no note has this sequence */
}

void tutti_pair_drop(struct tutti_node *node, int peer, const struct tutti_share *share)
{
    int fd = -1;
    if (peer != node->rank && share->shared && share->what.needs_fd &&
        tutti_socket_take(node, peer, TUTTI_NOTE_PAIR, 0, share->what.id, &fd) && fd >= 0)
        close(fd);
}

void tutti_pair_release(struct tutti_node *node, const struct tutti_device *device, struct tutti_mapping *mapping)
{
    if (mapping)
        tutti_cache_release(node->cache, device, mapping);
}

void *tutti_pair_words(const struct tutti_node *node, int peer)
{
    return node->peer[peer].page->control->window_words;
}

void *tutti_pair_rows(const struct tutti_node *node, int peer)
{
    return node->peer[peer].page->control->window_rows;
}
