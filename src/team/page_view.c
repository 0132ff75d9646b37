#include "team/page_view.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "team/control.h"

static struct tutti_page_view *page_view_find(const struct tutti_node *node, int peer, size_t offset)
{
    struct tutti_page_view *view = node->page_views;
    while (view && (view->peer != peer || view->offset != offset))
        view = view->next;
    return view;
}

/* The sanitizer takes words at two addresses for two words: for it the first GPU has those of the page itself. */
#ifdef __SANITIZE_THREAD__
enum { FIRST_IS_PAGE = 1 };
#else
enum { FIRST_IS_PAGE = 0 };
#endif

/* Addresses of the part for one GPU. */
static int page_view_place(const struct tutti_node *node, struct tutti_page_view *view)
{
    char *page = (char *)node->peer[view->peer].page->control + view->offset;
    view->is_page = FIRST_IS_PAGE && !page_view_find(node, view->peer, view->offset);
    view->host = view->is_page ? page : mremap(page, 0, view->bytes, MREMAP_MAYMOVE);
    return view->host != MAP_FAILED;
}

static void page_view_free(struct tutti_page_view *view)
{
    if (!view->is_page)
        munmap(view->host, view->bytes);
    free(view);
}

static struct tutti_page_view *page_view_open(struct tutti_node *node, const struct tutti_page_view *wanted)
{
    struct tutti_page_view *view = malloc(sizeof *view);
    if (!view)
        return NULL;
    *view = *wanted;
    if (!page_view_place(node, view)) {
        free(view);
        return NULL;
    }
    if (view->device->memory.map_host(view->gpu, view->host, view->bytes, &view->device_at) != TUTTI_OK) {
        page_view_free(view);
        return NULL;
    }
    view->next = node->page_views;
    return node->page_views = view;
}

void *tutti_page_view(struct tutti_node *node, const struct tutti_device *device, int peer, int gpu, unsigned life,
                      size_t offset, size_t bytes)
{
    const struct tutti_page_view wanted = {
        .device = device, .peer = peer, .gpu = gpu, .life = life, .offset = offset, .bytes = bytes};
    struct tutti_page_view *view = node->page_views;
    while (view && (view->peer != peer || view->gpu != gpu || view->life != life || view->offset != offset))
        view = view->next;
    if (!view)
        view = page_view_open(node, &wanted);
    return view ? view->device_at : NULL;
}

void tutti_page_views_close(struct tutti_node *node, int alive)
{
    while (node->page_views) {
        struct tutti_page_view *view = node->page_views;
        node->page_views = view->next;
        if (alive) {
            view->device->memory.unmap_host(view->gpu, view->host);
            page_view_free(view);
        } else {
            free(view);
        }
    }
}
