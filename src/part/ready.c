/* The program marks partitions of a send as ready: the call is checked, the marks are set, and the sender sends them.
 */
#include <string.h>

#include "part/own.h"

static enum tutti_part_wrong check(const struct tutti_part *part, int first, int last)
{
    if (!part->args.send)
        return TUTTI_PART_NO_SEND;
    if (!atomic_load_explicit(&part->active, memory_order_relaxed))
        return TUTTI_PART_INACTIVE;
    if (first < 0 || last < first || last >= part->args.partitions)
        return TUTTI_PART_RANGE;
    return memchr(part->ready + first, 1, (size_t)(last - first) + 1) ? TUTTI_PART_TWICE : TUTTI_PART_FINE;
}

/* Sends what was marked. */
static enum tutti_part_wrong send_marked(struct tutti_part *part, int first, int n)
{
    const int status =
        part->status == TUTTI_OK ? tutti_part_send_ready(part, (uint32_t)first, (uint32_t)n) : part->status;
    tutti_part_fail(part, status);
    return status == TUTTI_OK ? TUTTI_PART_FINE : TUTTI_PART_FAILED;
}

enum tutti_part_wrong tutti_part_ready(struct tutti_part *part, int first, int last)
{
    struct tutti_part_engine *engine = &tutti_part_engine;
    pthread_mutex_lock(&engine->lock);
    enum tutti_part_wrong wrong = check(part, first, last);
    if (wrong == TUTTI_PART_FINE) {
        memset(part->ready + first, 1, (size_t)(last - first) + 1);
        part->unready -= last - first + 1;
        wrong = send_marked(part, first, last - first + 1);
        tutti_part_end_if_done(part);
    }
    pthread_mutex_unlock(&engine->lock);
    return wrong;
}

/* The list is marked entry by entry, so an entry that comes twice is found; then the marks are taken back. */
static enum tutti_part_wrong list_mark(struct tutti_part *part, int n, const int partitions[])
{
    for (int i = 0; i < n; i++) {
        const enum tutti_part_wrong wrong = check(part, partitions[i], partitions[i]);
        if (wrong == TUTTI_PART_FINE) {
            part->ready[partitions[i]] = 1;
            continue;
        }
        while (i-- > 0)
            part->ready[partitions[i]] = 0;
        return wrong;
    }
    part->unready -= n;
    return TUTTI_PART_FINE;
}

/* Entries that follow each other travel together. */
enum tutti_part_wrong tutti_part_ready_list(struct tutti_part *part, int n, const int partitions[])
{
    struct tutti_part_engine *engine = &tutti_part_engine;
    pthread_mutex_lock(&engine->lock);
    enum tutti_part_wrong wrong = list_mark(part, n, partitions);
    for (int i = 0, length; i < n && wrong == TUTTI_PART_FINE; i += length) {
        length = 1;
        while (i + length < n && partitions[i + length] == partitions[i] + length)
            length++;
        wrong = send_marked(part, partitions[i], length);
    }
    if (n > 0 && (wrong == TUTTI_PART_FINE || wrong == TUTTI_PART_FAILED))
        tutti_part_end_if_done(part);
    pthread_mutex_unlock(&engine->lock);
    return wrong;
}
