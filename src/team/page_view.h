/* Parts of a rank's control page as kernels of one GPU reach them. Host memory that a GPU maps is mapped as long as
 * that GPU's context lives, for other GPUs too: so each GPU maps addresses of its own of the page. Private to team/. */
#ifndef TUTTI_TEAM_PAGE_VIEW_H
#define TUTTI_TEAM_PAGE_VIEW_H

#include "team/node.h"

struct tutti_page_view {
    struct tutti_page_view *next;
    const struct tutti_device *device;
    int peer, gpu;
    unsigned life; /* of the GPU */
    size_t offset, bytes;
    void *host;  /* further addresses of this part of the page */
    int is_page; /* 1: `host` is the page itself */
    void *device_at;
};

/* Where kernels of `gpu`, in its life `life`, reach the `bytes` bytes of the control page of rank `peer` of the node
 * that begin at `offset`, a multiple of 4096. The first call for a part and GPU maps host memory. NULL: kernels do not
 * reach it. The node's lock is held. */
void *tutti_page_view(struct tutti_node *node, const struct tutti_device *device, int peer, int gpu, unsigned life,
                      size_t offset, size_t bytes);
/* Ends all views. alive: the device may be called. */
void tutti_page_views_close(struct tutti_node *node, int alive);

#endif
