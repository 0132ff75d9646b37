/* Places of the scratch that rendezvous have taken, in a list by address for each GPU. */
#include "team/endpoint/endpoint_own.h"

/* Where the gap behind place `before` (0: the beginning) starts, and where it ends. */
static uint64_t gap_behind(const struct tutti_endpoint *endpoint, const struct tutti_endpoint_gpu *gpu, uint16_t before,
                           uint64_t *end)
{
    const struct tutti_endpoint_piece *piece = before ? &endpoint->piece[before - 1] : NULL;
    const uint16_t next = piece ? piece->next : gpu->first;
    *end = next ? endpoint->piece[next - 1].at : endpoint->bytes;
    return piece ? piece->at + piece->bytes : 0;
}

static void place_link(struct tutti_endpoint *endpoint, struct tutti_endpoint_gpu *gpu, int number, uint16_t before)
{
    struct tutti_endpoint_piece *piece = &endpoint->piece[number];
    uint16_t *link = before ? &endpoint->piece[before - 1].next : &gpu->first;
    piece->before = before;
    piece->next = *link;
    *link = (uint16_t)(number + 1);
    if (piece->next)
        endpoint->piece[piece->next - 1].before = *link;
    gpu->latest = *link;
}

int tutti_endpoint_place_take(struct tutti_endpoint *endpoint, int number, uint64_t bytes)
{
    struct tutti_endpoint_piece *piece = &endpoint->piece[number];
    struct tutti_endpoint_gpu *gpu = &endpoint->gpu[piece->gpu];
    tutti_endpoint_place_give(endpoint, number);
    const uint16_t start = gpu->latest;
    uint16_t before = start;
    if (bytes == 0 || bytes > endpoint->bytes)
        return 0;
    do {
        uint64_t end;
        const uint64_t at = gap_behind(endpoint, gpu, before, &end);
        gpu->steps++;
        if (at <= end && end - at >= bytes) {
            piece->at = at;
            piece->bytes = bytes;
            place_link(endpoint, gpu, number, before);
            return 1;
        }
        before = before ? endpoint->piece[before - 1].next : gpu->first; /* 0 past the last: the beginning */
    } while (before != start);
    return 0;
}

void tutti_endpoint_place_give(struct tutti_endpoint *endpoint, int number)
{
    struct tutti_endpoint_piece *piece = &endpoint->piece[number];
    struct tutti_endpoint_gpu *gpu = &endpoint->gpu[piece->gpu];
    if (piece->bytes == 0)
        return;
    *(piece->before ? &endpoint->piece[piece->before - 1].next : &gpu->first) = piece->next;
    if (piece->next)
        endpoint->piece[piece->next - 1].before = piece->before;
    if (gpu->latest == number + 1)
        gpu->latest = piece->before;
    piece->bytes = 0;
}
