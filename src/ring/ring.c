#include "ring/ring.h"

#include <string.h>

#include "core/status.h"

enum { AHEAD = 8, WORDS = 8 };

static size_t ring_pages(size_t bytes)
{
    return (bytes + TUTTI_RING_ALIGN - 1) / TUTTI_RING_ALIGN * TUTTI_RING_ALIGN;
}

size_t tutti_ring_bytes(uint64_t slots)
{
    return ring_pages(slots * sizeof(struct tutti_ring_slot)) +
           ring_pages(TUTTI_RING_COMPLETIONS * sizeof(struct tutti_ring_completion)) +
           ring_pages(sizeof(struct tutti_ring_progress)) + ring_pages(slots * sizeof(struct tutti_ring_request));
}

static char *ring_carve(char **at, size_t bytes)
{
    char *const here = *at;
    *at += ring_pages(bytes);
    return here;
}

/* ---- operations ---- */

static int begin_nothing(void *user, struct tutti_ring_request *request)
{
    (void)user, (void)request;
    return TUTTI_RING_DONE;
}

static int begin_unknown(void *user, struct tutti_ring_request *request)
{
    (void)user, (void)request;
    return TUTTI_ERR_ARGUMENT;
}

static const struct tutti_ring_operation nothing = {"nothing", begin_nothing}, unknown = {NULL, begin_unknown};

int tutti_ring_register(struct tutti_ring *ring, unsigned first, const struct tutti_ring_operation *operations,
                        unsigned count, void *user)
{
    if (first > TUTTI_RING_OPERATIONS || count > TUTTI_RING_OPERATIONS - first)
        return TUTTI_ERR_ARGUMENT;
    for (unsigned i = 0; i < count; i++) {
        if (ring->handler[first + i].operation != &unknown)
            return TUTTI_ERR_ARGUMENT;
    }
    for (unsigned i = 0; i < count; i++) {
        ring->handler[first + i].operation = &operations[i];
        ring->handler[first + i].user = user;
    }
    return TUTTI_OK;
}

const char *tutti_ring_name(const struct tutti_ring *ring, const struct tutti_ring_request *request)
{
    return ring->handler[request->operation].operation->name;
}

/* ---- layout ---- */

void tutti_ring_init(struct tutti_ring *ring, void *memory, uint64_t slots, uint64_t first)
{
    char *at = memory;
    memset(memory, 0, tutti_ring_bytes(slots));
    *ring = (struct tutti_ring){.slots = slots, .consumed = first, .completed = first};
    while (UINT64_C(1) << ring->shift < slots)
        ring->shift++;
    ring->slot = (void *)ring_carve(&at, slots * sizeof *ring->slot);
    ring->completion = (void *)ring_carve(&at, TUTTI_RING_COMPLETIONS * sizeof *ring->completion);
    ring->progress = (void *)ring_carve(&at, sizeof *ring->progress);
    ring->request = (void *)ring_carve(&at, slots * sizeof *ring->request);
    ring->progress->consumed = ring->progress->completed = first;
    for (uint64_t i = 0; i < slots * WORDS; i++) /* all slots are as after the turn before */
        ring->slot[i / WORDS].word[i % WORDS] = first >> ring->shift & 0xff;
    for (unsigned i = 0; i < TUTTI_RING_OPERATIONS; i++)
        ring->handler[i].operation = i == TUTTI_RING_NOP ? &nothing : &unknown;
}

struct tutti_ring_kernel_view tutti_ring_kernel_view(const struct tutti_ring *ring, void *memory,
                                                     struct tutti_ring_counters *counters)
{
    char *const from = (char *)ring->slot, *const to = memory;
    return (struct tutti_ring_kernel_view){.slots = ring->slots,
                                           .shift = ring->shift,
                                           .slot = (void *)to,
                                           .completion = (void *)(to + ((char *)ring->completion - from)),
                                           .progress = (void *)(to + ((char *)ring->progress - from)),
                                           .counters = counters};
}

/* ---- requests ---- */

/* The 56 bits above the turn. Bits in which the turn is not the slot's are set in `wrong`. */
static inline uint64_t ring_word_of(const struct tutti_ring_slot *slot, int i, uint64_t turn, uint64_t *wrong)
{
    const uint64_t word = __atomic_load_n(&slot->word[i], __ATOMIC_ACQUIRE);
    *wrong |= (word ^ turn) & 0xff;
    return word >> 8;
}

/* Reads a request; 0: some of its words have not arrived. The last word is read first, since it mostly arrives last.
 * Words stay in registers: an array of them would be stored and loaded again in other pieces, which stalls. */
static inline int read_slot(const struct tutti_ring *ring, uint64_t sequence, struct tutti_ring_request *out)
{
    const struct tutti_ring_slot *slot = &ring->slot[sequence & (ring->slots - 1)];
    const uint64_t turn = ((sequence >> ring->shift) + 1) & 0xff;
    uint64_t wrong = 0;
    const uint64_t end = ring_word_of(slot, 7, turn, &wrong);
    if (wrong)
        return 0;
    const uint64_t extra = ring_word_of(slot, 6, turn, &wrong), compare = ring_word_of(slot, 5, turn, &wrong);
    const uint64_t value = ring_word_of(slot, 4, turn, &wrong), bytes = ring_word_of(slot, 3, turn, &wrong);
    const uint64_t source = ring_word_of(slot, 2, turn, &wrong), dest = ring_word_of(slot, 1, turn, &wrong);
    const uint64_t begin = ring_word_of(slot, 0, turn, &wrong);
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

void tutti_ring_answer(struct tutti_ring *ring, uint32_t completion, uint32_t tag, uint64_t value)
{
    if (tag == 0 || completion >= TUTTI_RING_COMPLETIONS)
        return;
    uint64_t *const word = ring->completion[completion].word;
    __atomic_store_n(&word[0], (uint64_t)tag << 32 | (value & 0xffffffffu), __ATOMIC_RELEASE);
    __atomic_store_n(&word[1], (uint64_t)tag << 32 | value >> 32, __ATOMIC_RELEASE);
}

void tutti_ring_done(struct tutti_ring *ring, struct tutti_ring_request *request)
{
    tutti_ring_answer(ring, request->completion, request->tag, request->value[0]);
    request->open = 0;
}

/* Completed are all requests up to the first one that is open. */
static void publish_progress(struct tutti_ring *ring)
{
    struct tutti_ring_progress *const published = ring->progress;
    while (ring->completed != ring->consumed && !ring->request[ring->completed & (ring->slots - 1)].open)
        ring->completed++;
    if (published->consumed != ring->consumed)
        __atomic_store_n(&published->consumed, ring->consumed, __ATOMIC_RELEASE);
    if (published->completed != ring->completed)
        __atomic_store_n(&published->completed, ring->completed, __ATOMIC_RELEASE);
}

/* A request that is complete, or taken, when begin() returns. Mostly all before it are complete too. */
static void done_at_once(struct tutti_ring *ring, struct tutti_ring_request *request, int status)
{
    if (request->tag != 0 && status == TUTTI_RING_DONE)
        tutti_ring_done(ring, request);
    request->open = 0;
    if (ring->completed == ring->consumed)
        ring->completed++;
}

static inline int begin_request(struct tutti_ring *ring, struct tutti_ring_request *request)
{
    return ring->handler[request->operation].operation->begin(ring->handler[request->operation].user, request);
}

int tutti_ring_poll(struct tutti_ring *ring, unsigned most)
{
    const uint64_t first = ring->consumed, last = first + most, mask = ring->slots - 1;
    int status = TUTTI_RING_DONE;
    publish_progress(ring); /* of what has ended since */
    while (ring->consumed != last && ring->consumed - ring->completed < ring->slots) {
        struct tutti_ring_request *const request = &ring->request[ring->consumed & mask];
        if (!read_slot(ring, ring->consumed, request))
            break;
        if (ring->consumed - first >= AHEAD) /* many have arrived: mostly the next has, too */
            __builtin_prefetch(&ring->slot[(ring->consumed + AHEAD) & mask]);
        request->open = 1;
        status = begin_request(ring, request);
        if (status == TUTTI_RING_BUSY || status < 0) {
            request->open = 0;
            break;
        }
        if (status != TUTTI_RING_OPEN)
            done_at_once(ring, request, status);
        ring->consumed++;
    }
    publish_progress(ring);
    return status < 0 ? status : (int)(ring->consumed - first);
}

int tutti_ring_is_complete(const struct tutti_ring *ring, uint64_t number)
{
    return (int64_t)(__atomic_load_n(&ring->progress->completed, __ATOMIC_ACQUIRE) - number) >= 0;
}
