#include "mpi/rma/slots.h"

#include <pthread.h>
#include <string.h>

#include "core/fnv.h"
#include "team/control.h"
#include "team/pair.h"

enum { LINE = 128, REFUSED = 64 };

/* At the beginning of a rank's words. */
struct head {
    _Atomic uint32_t foreign; /* 1: a rank has attached device memory to a window of this rank; written by it */
    _Atomic uint32_t used;    /* slots that are in use, or were */
    _Atomic uint32_t refusals;
    _Atomic uint64_t refused[REFUSED]; /* numbers of the last windows */
};
enum { HEAD = (sizeof(struct head) + LINE - 1) / LINE * LINE };

static const _Atomic uint32_t none_foreign;
const _Atomic uint32_t *_Atomic tutti_windows_foreign = &none_foreign;
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER; /* of this rank's */
static unsigned slots_taken;

static struct head *slots_head(int peer)
{
    return tutti_pair_words(tutti_door.node, peer);
}

static size_t slot_bytes(void)
{
    const size_t words = 3 * (size_t)tutti_node_size(tutti_door.node) * sizeof(uint32_t);
    return (sizeof(struct tutti_mapped_slot) + words + LINE - 1) / LINE * LINE;
}

static struct tutti_mapped_slot *slot_at(int peer, size_t i)
{
    return (void *)((char *)tutti_pair_words(tutti_door.node, peer) + HEAD + i * slot_bytes());
}

uint64_t tutti_window_number(uint64_t child, const int *world, int n)
{
    const uint64_t ranks = tutti_fnv(TUTTI_FNV_BEGIN, world, (size_t)n * sizeof *world);
    return child == 0 ? 0 : tutti_mix(child ^ tutti_mix(ranks)) | 1;
}

struct tutti_mapped_slot *tutti_mapped_slot_take(uint64_t window)
{
    const int own = tutti_node_rank(tutti_door.node);
    const size_t slots = (TUTTI_WINDOW_WORDS - HEAD) / slot_bytes();
    struct tutti_mapped_slot *slot = NULL;
    struct head *head = slots_head(own);
    pthread_mutex_lock(&slots_lock);
    for (size_t i = 0; i < slots && !slot; i++) {
        struct tutti_mapped_slot *free = slot_at(own, i);
        if (atomic_load_explicit(&free->window, memory_order_relaxed) != 0)
            continue;
        slot = free;
        /* A peer that is late in its last fence still reads how many there were. */
        const uint32_t fences = atomic_load(&slot->line.fences);
        memset((char *)&slot->line, 0, slot_bytes() - offsetof(struct tutti_mapped_slot, line));
        atomic_store(&slot->line.fences, fences);
        slot->fences = fences;
        if (i >= atomic_load(&head->used))
            atomic_store(&head->used, (uint32_t)i + 1);
        slots_taken++;
        atomic_store(&tutti_windows_foreign, &head->foreign);
        atomic_store_explicit(&slot->window, window, memory_order_release);
    }
    pthread_mutex_unlock(&slots_lock);
    return slot;
}

void tutti_mapped_slot_refuse(uint64_t window)
{
    struct head *head = slots_head(tutti_node_rank(tutti_door.node));
    pthread_mutex_lock(&slots_lock);
    const uint32_t i = atomic_load(&head->refusals);
    atomic_store(&head->refused[i % REFUSED], window);
    atomic_store(&head->refusals, i + 1);
    pthread_mutex_unlock(&slots_lock);
}

void tutti_mapped_slot_leave(struct tutti_mapped_slot *slot)
{
    pthread_mutex_lock(&slots_lock);
    atomic_store(&slot->window, 0);
    if (--slots_taken == 0)
        atomic_store(&tutti_windows_foreign, &none_foreign);
    pthread_mutex_unlock(&slots_lock);
}

static int slot_is(const struct tutti_mapped_slot *slot, uint64_t window)
{
    return atomic_load_explicit(&slot->window, memory_order_acquire) == window;
}

int tutti_mapped_slot_find(int peer, uint64_t window, const struct tutti_mapped_slot *hint,
                           struct tutti_mapped_slot **out)
{
    const int own = tutti_node_rank(tutti_door.node);
    struct head *head = slots_head(peer);
    const size_t used = atomic_load(&head->used),
                 first = (size_t)((const char *)hint - (const char *)slot_at(own, 0)) / slot_bytes();
    for (size_t i = 0; i < used; i++) {
        *out = slot_at(peer, (first + i) % used);
        if (slot_is(*out, window))
            return 1;
    }
    for (uint32_t i = 0; i < REFUSED; i++) {
        if (atomic_load(&head->refused[i]) == window)
            return -1;
    }
    return 0;
}

struct tutti_attached_row *tutti_mapped_rows(int peer)
{
    return tutti_pair_rows(tutti_door.node, peer);
}

struct tutti_share *tutti_mapped_shares(int peer)
{
    return (void *)(tutti_mapped_rows(peer) + TUTTI_ATTACHED_ROWS);
}

void *tutti_mapped_box_memory(int peer)
{
    return tutti_mapped_shares(peer) + TUTTI_ATTACHED_ROWS;
}

void tutti_mapped_announce(int peer)
{
    atomic_store(&slots_head(peer)->foreign, 1);
}
