#include "team/marks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/lives.h"
#include "team/control.h"
#include "team/node.h"

enum { WORD = 64 };

/* A rank's marks as kernels of one GPU see them, at addresses of their own (struct tutti_words_view). */
struct tutti_marks_view {
    struct tutti_marks_view *next;
    const struct tutti_device *device;
    int peer, gpu;
    unsigned life; /* of the GPU */
    struct tutti_marks *host;
    uint32_t *seen;
    int own; /* 1: `host` is a mapping of the view */
};

static int is_free(const struct tutti_node *node, int first, int n)
{
    for (int i = first; i < first + n; i++) {
        if (node->marks[i / WORD] >> i % WORD & 1)
            return 0;
    }
    return 1;
}

int tutti_marks_take(struct tutti_node *node, int n)
{
    int first = -1;
    if (n < 1 || n > TUTTI_MARKS)
        return -1;
    tutti_fiber_lock(&node->lock);
    for (int i = 0; i + n <= TUTTI_MARKS && first < 0; i++) {
        if (i % WORD == 0 && ~node->marks[i / WORD] == 0)
            i += WORD - 1;
        else if (is_free(node, i, n))
            first = i;
    }
    for (int i = first; first >= 0 && i < first + n; i++)
        node->marks[i / WORD] |= UINT64_C(1) << i % WORD;
    pthread_mutex_unlock(&node->lock);
    for (int i = first; first >= 0 && i < first + n; i++)
        atomic_store(&tutti_node_control(node)->marks.word[i], 0);
    return first;
}

void tutti_marks_give(struct tutti_node *node, int first, int n)
{
    tutti_fiber_lock(&node->lock);
    for (int i = first; i < first + n; i++)
        node->marks[i / WORD] &= ~(UINT64_C(1) << i % WORD);
    pthread_mutex_unlock(&node->lock);
}

uint32_t *tutti_marks_own(const struct tutti_node *node)
{
    return (uint32_t *)(void *)tutti_node_control(node)->marks.word;
}

const uint32_t *tutti_marks_of(const struct tutti_node *node, int peer)
{
    return (const uint32_t *)(const void *)node->peer[peer].page->control->marks.word;
}

/* ---- views; the lock is held ---- */

/* The sanitizer takes words at two addresses for two words: for it the views have those of the page itself. */
static struct tutti_marks *marks_page(const struct tutti_node *node, int peer, int *own)
{
    struct tutti_marks *marks = &node->peer[peer].page->control->marks;
    *own = 0;
#ifndef __SANITIZE_THREAD__
    void *page = mremap(marks, 0, sizeof *marks, MREMAP_MAYMOVE);
    *own = page != MAP_FAILED;
    marks = *own ? page : NULL;
#endif
    return marks;
}

static void view_free(struct tutti_marks_view *view)
{
    if (view->own)
        munmap(view->host, sizeof *view->host);
    free(view);
}

static struct tutti_marks_view *view_open(struct tutti_node *node, const struct tutti_device *device, int peer, int gpu)
{
    struct tutti_marks_view *view = calloc(1, sizeof *view);
    void *seen = NULL;
    if (!view)
        return NULL;
    view->host = marks_page(node, peer, &view->own);
    if (!view->host || device->memory.map_host(gpu, view->host, sizeof *view->host, &seen) != TUTTI_OK) {
        view_free(view);
        return NULL;
    }
    view->device = device;
    view->peer = peer;
    view->gpu = gpu;
    view->life = tutti_gpu_life(gpu);
    view->seen = seen;
    view->next = node->marks_views;
    node->marks_views = view;
    return view;
}

uint32_t *tutti_marks_view(struct tutti_node *node, const struct tutti_device *device, int peer, int gpu)
{
    tutti_fiber_lock(&node->lock);
    struct tutti_marks_view *view = node->marks_views;
    while (view && (view->peer != peer || view->gpu != gpu || view->life != tutti_gpu_life(gpu)))
        view = view->next;
    if (!view)
        view = view_open(node, device, peer, gpu);
    uint32_t *seen = view ? view->seen : NULL;
    pthread_mutex_unlock(&node->lock);
    return seen;
}

void tutti_marks_close(struct tutti_node *node, int alive)
{
    while (node->marks_views) {
        struct tutti_marks_view *view = node->marks_views;
        node->marks_views = view->next;
        if (alive) {
            view->device->memory.unmap_host(view->gpu, view->host);
            view_free(view);
        } else {
            free(view);
        }
    }
}
