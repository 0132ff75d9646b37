#include "team/exports.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/fnv.h"
#include "core/status.h"
#include "progress/fiber.h"

enum { EXPORT_CHAINS = 512 };

/* The name of an allocation of this rank. Names are never evicted: a peer may have mapped the allocation, and needs
 * a notice when it is freed. */
struct export_entry {
    struct export_entry *next; /* in its chain */
    uint64_t id;
    const void *pointer; /* into the allocation */
    int status;
    struct tutti_export what;
};

struct tutti_exports {
    pthread_mutex_t lock;
    struct export_entry *chain[EXPORT_CHAINS];
    unsigned entries; /* in all chains */
    unsigned next;    /* chain whose allocations are looked at next, whether they are still there */
    _Atomic uint64_t named;
};

struct tutti_exports *tutti_exports_new(void)
{
    struct tutti_exports *exports = calloc(1, sizeof *exports);
    if (exports)
        pthread_mutex_init(&exports->lock, NULL);
    return exports;
}

void tutti_exports_free(struct tutti_exports *exports)
{
    for (int i = 0; exports && i < EXPORT_CHAINS; i++) {
        for (struct export_entry *entry = exports->chain[i], *next; entry; entry = next) {
            next = entry->next;
            free(entry);
        }
    }
    if (exports)
        pthread_mutex_destroy(&exports->lock);
    free(exports);
}

static struct export_entry **exports_of(struct tutti_exports *exports, uint64_t id)
{
    return &exports->chain[tutti_mix(id) % EXPORT_CHAINS];
}

static struct export_entry *find_export(struct tutti_exports *exports, uint64_t id)
{
    struct export_entry *entry = id ? *exports_of(exports, id) : NULL;
    while (entry && entry->id != id)
        entry = entry->next;
    return entry;
}

/* A new name. The lock is not held meanwhile: the driver may wait for kernels. The name of
 * another thread, if it was faster, is taken. id 0: it is not kept. A status. */
static int make_export(struct tutti_exports *exports, const struct tutti_device *device, const void *pointer,
                       uint64_t id, struct tutti_export *out)
{
    struct export_entry *entry = malloc(sizeof *entry); /* first: a name that is given away must be kept */
    int fd = -1;
    if (!entry)
        return TUTTI_ERR_MEMORY;
    *entry = (struct export_entry){.id = id, .pointer = pointer};
    int status = entry->status = device->share.export(pointer, &entry->what, &fd);
    if (status == TUTTI_OK && fd >= 0)
        close(fd); /* a rank that needs a descriptor gets a new one */
    tutti_fiber_lock(&exports->lock);
    const struct export_entry *const found = find_export(exports, id);
    if (found)
        status = found->status;
    if (status == TUTTI_OK)
        *out = found ? found->what : entry->what;
    exports->named++;
    if (id && !found) {
        struct export_entry **chain = exports_of(exports, id);
        entry->next = *chain;
        *chain = entry;
        exports->entries++;
    } else {
        free(entry);
    }
    pthread_mutex_unlock(&exports->lock);
    return status;
}

int tutti_exports_name(struct tutti_exports *exports, const struct tutti_device *device, const void *pointer,
                       uint64_t id, struct tutti_export *out)
{
    tutti_fiber_lock(&exports->lock);
    const struct export_entry *entry = find_export(exports, id);
    const int known = entry != NULL, status = entry ? entry->status : TUTTI_OK;
    if (entry && status == TUTTI_OK)
        *out = entry->what;
    pthread_mutex_unlock(&exports->lock);
    return known ? status : make_export(exports, device, pointer, id, out);
}

int tutti_exports_has(struct tutti_exports *exports, uint64_t id)
{
    tutti_fiber_lock(&exports->lock);
    const int has = find_export(exports, id) != NULL;
    pthread_mutex_unlock(&exports->lock);
    return has;
}

/* Looks at one chain, until `most` ids are written. The number of allocations that were looked at. */
static unsigned look_at_chain(struct tutti_exports *exports, const struct tutti_device *device, uint64_t ids[],
                              unsigned most, unsigned *n)
{
    struct export_entry **at = &exports->chain[exports->next % EXPORT_CHAINS];
    unsigned looked = 0;
    while (*at && *n < most) {
        struct export_entry *entry = *at;
        struct tutti_memory memory;
        looked++;
        device->memory.classify(entry->pointer, &memory);
        if (memory.kind == TUTTI_MEMORY_DEVICE && memory.id == entry->id) {
            at = &entry->next;
            continue;
        }
        if (entry->status == TUTTI_OK)
            ids[(*n)++] = entry->what.id;
        *at = entry->next;
        exports->entries--;
        free(entry);
    }
    return looked;
}

unsigned tutti_exports_gone(struct tutti_exports *exports, const struct tutti_device *device, unsigned few,
                            uint64_t ids[], unsigned most)
{
    unsigned n = 0, looked = 0;
    tutti_fiber_lock(&exports->lock);
    const unsigned all = exports->entries, enough = few && few < all ? few : all;
    for (int i = 0; i < EXPORT_CHAINS && looked < enough; i++) {
        looked += look_at_chain(exports, device, ids, most, &n);
        if (n == most) /* there may be more in this chain */
            break;
        exports->next++;
    }
    pthread_mutex_unlock(&exports->lock);
    return n;
}

uint64_t tutti_exports_named(struct tutti_exports *exports)
{
    return atomic_load_explicit(&exports->named, memory_order_relaxed);
}
