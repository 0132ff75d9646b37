#include "team/marks.h"

#include "core/lives.h"
#include "team/control.h"
#include "team/node.h"
#include "team/page_view.h"

enum { WORD = 64 };

static int marks_are_free(const struct tutti_node *node, int first, int n)
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
        else if (marks_are_free(node, i, n))
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

uint32_t *tutti_marks_view(struct tutti_node *node, const struct tutti_device *device, int peer, int gpu, int may_map)
{
    tutti_fiber_lock(&node->lock);
    uint32_t *seen = tutti_page_view(node, device, peer, gpu, tutti_gpu_life(gpu),
                                     offsetof(struct tutti_control, marks), sizeof(struct tutti_marks), may_map);
    pthread_mutex_unlock(&node->lock);
    return seen;
}
