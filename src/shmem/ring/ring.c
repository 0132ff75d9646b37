#include "shmem/ring/ring.h"

#include <string.h>

enum { AHEAD = 8, WORDS = 8 };

static size_t pages(size_t bytes)
{
    return (bytes + TUTTI_RING_ALIGN - 1) / TUTTI_RING_ALIGN * TUTTI_RING_ALIGN;
}

size_t tutti_ring_bytes(uint64_t slots)
{
    return pages(slots * sizeof(struct tshmem_request)) + pages(TSHMEM_COMPLETIONS * sizeof(struct tshmem_completion)) +
           pages(sizeof(struct tshmem_ring_progress)) + pages(slots * sizeof(struct tutti_ring_operation));
}

static char *carve(char **at, size_t bytes)
{
    char *const here = *at;
    *at += pages(bytes);
    return here;
}

void tutti_ring_lay(struct tutti_ring *ring, void *memory, uint64_t slots, uint64_t first)
{
    char *at = memory;
    memset(memory, 0, tutti_ring_bytes(slots));
    *ring = (struct tutti_ring){.slots = slots, .consumed = first, .completed = first};
    while (UINT64_C(1) << ring->shift < slots)
        ring->shift++;
    ring->request = (void *)carve(&at, slots * sizeof *ring->request);
    ring->completion = (void *)carve(&at, TSHMEM_COMPLETIONS * sizeof *ring->completion);
    ring->progress = (void *)carve(&at, sizeof *ring->progress);
    ring->operation = (void *)carve(&at, slots * sizeof *ring->operation);
    ring->progress->consumed = ring->progress->completed = first;
    /* All slots are as after the turn before. */
    for (uint64_t i = 0; i < slots * WORDS; i++)
        ring->request[i / WORDS].word[i % WORDS] = first >> ring->shift & 0xff;
}

void tutti_ring_own(struct tshmem_ring_own *own, uint64_t first)
{
    memset(own, 0, sizeof *own);
    own->next = own->consumed = own->completed = first;
}

void tutti_ring_tell(const struct tutti_ring *ring, void *memory, struct tshmem_ring_own *own,
                     struct tshmem_ring_state *out)
{
    char *const from = (char *)ring->request, *const to = memory;
    *out = (struct tshmem_ring_state){.slots = ring->slots,
                                      .shift = ring->shift,
                                      .request = (void *)to,
                                      .completion = (void *)(to + ((char *)ring->completion - from)),
                                      .progress = (void *)(to + ((char *)ring->progress - from)),
                                      .own = own};
}

/* 56 bits, above the turn; the turn's part that is not the one of the slot is left in `wrong`. */
static inline uint64_t word_of(const struct tshmem_request *request, int i, uint64_t turn, uint64_t *wrong)
{
    const uint64_t word = __atomic_load_n(&request->word[i], __ATOMIC_ACQUIRE);
    *wrong |= (word ^ turn) & 0xff;
    return word >> 8;
}

/* Reads a request; 0 where not all of its words have come. The last word is looked at first: mostly it comes last.
 * Words stay in registers: an array of them would be stored and loaded again in other pieces, which stalls. */
static inline int read_request(const struct tutti_ring *ring, uint64_t sequence, struct tutti_ring_operation *out)
{
    const struct tshmem_request *request = &ring->request[sequence & (ring->slots - 1)];
    const uint64_t turn = ((sequence >> ring->shift) + 1) & 0xff;
    uint64_t wrong = 0;
    const uint64_t end = word_of(request, 7, turn, &wrong);
    if (wrong)
        return 0;
    const uint64_t extra = word_of(request, 6, turn, &wrong), compare = word_of(request, 5, turn, &wrong);
    const uint64_t value = word_of(request, 4, turn, &wrong), bytes = word_of(request, 3, turn, &wrong);
    const uint64_t source = word_of(request, 2, turn, &wrong), dest = word_of(request, 1, turn, &wrong);
    const uint64_t begin = word_of(request, 0, turn, &wrong);
    if (wrong)
        return 0;
    out->operation = (uint8_t)begin;
    out->what = (uint8_t)(begin >> 8);
    out->pe = (uint16_t)(begin >> 16);
    out->size = (uint8_t)(begin >> 32);
    out->dest = dest;
    out->source = source;
    out->bytes = bytes;
    out->value[0] = value | (begin >> 40 & 0xff) << 56;
    out->value[1] = compare | (begin >> 48 & 0xff) << 56;
    out->extra = extra;
    out->completion = (uint32_t)(end & 0xffffff);
    out->tag = (uint32_t)(end >> 24);
    return 1;
}

void tutti_ring_done(struct tutti_ring *ring, struct tutti_ring_operation *operation)
{
    if (operation->tag != 0 && operation->completion < TSHMEM_COMPLETIONS) {
        uint64_t *const word = ring->completion[operation->completion].word;
        const uint64_t tag = (uint64_t)operation->tag << 32, value = operation->value[0];
        __atomic_store_n(&word[0], tag | (value & 0xffffffffu), __ATOMIC_RELEASE);
        __atomic_store_n(&word[1], tag | value >> 32, __ATOMIC_RELEASE);
    }
    operation->open = 0;
}

/* Up to the first request that is open. */
static void tell_progress(struct tutti_ring *ring)
{
    struct tshmem_ring_progress *const told = ring->progress;
    while (ring->completed != ring->consumed && !ring->operation[ring->completed & (ring->slots - 1)].open)
        ring->completed++;
    if (told->consumed != ring->consumed)
        __atomic_store_n(&told->consumed, ring->consumed, __ATOMIC_RELEASE);
    if (told->completed != ring->completed)
        __atomic_store_n(&told->completed, ring->completed, __ATOMIC_RELEASE);
}

/* A request that is done when it is begun. Mostly all before it are too. */
static void done_at_once(struct tutti_ring *ring, struct tutti_ring_operation *operation)
{
    if (operation->tag != 0)
        tutti_ring_done(ring, operation);
    operation->open = 0;
    if (ring->completed == ring->consumed)
        ring->completed++;
}

int tutti_ring_poll(struct tutti_ring *ring, unsigned most, tutti_ring_begin *begin, void *with)
{
    const uint64_t first = ring->consumed, last = first + most, mask = ring->slots - 1;
    int status = TUTTI_RING_DONE;
    tell_progress(ring); /* of what has ended since */
    while (ring->consumed != last && ring->consumed - ring->completed < ring->slots) {
        struct tutti_ring_operation *const operation = &ring->operation[ring->consumed & mask];
        if (!read_request(ring, ring->consumed, operation))
            break;
        if (ring->consumed - first >= AHEAD) /* many have come: so have the next, mostly */
            __builtin_prefetch(&ring->request[(ring->consumed + AHEAD) & mask]);
        operation->open = 1;
        status = operation->operation == TSHMEM_RING_NOP ? TUTTI_RING_DONE : begin(with, operation);
        if (status == TUTTI_RING_BUSY || status < 0) {
            operation->open = 0;
            break;
        }
        if (status == TUTTI_RING_DONE)
            done_at_once(ring, operation);
        ring->consumed++;
    }
    tell_progress(ring);
    return status < 0 ? status : (int)(ring->consumed - first);
}

uint64_t tutti_ring_open(const struct tutti_ring *ring)
{
    return ring->consumed - ring->completed;
}
