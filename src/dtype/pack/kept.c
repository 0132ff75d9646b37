#include "dtype/pack/kept.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/status.h"

enum { ENTRIES = 16, REACHES = 8 };

struct kept_pack {
    unsigned calls; /* 0: the entry is free */
    uint32_t bytes;
    uint64_t hash;
    struct tutti_prepared *prepared; /* NULL: it is not ready */
    unsigned reaches;
    struct tutti_pack_reach reach[REACHES];
    _Alignas(struct tutti_pack_args) unsigned char args[TUTTI_PACK_FEW_BYTES];
};

struct tutti_kept_packs {
    struct kept_pack of[ENTRIES];
    struct kept_pack *next; /* to be made ready; NULL: none */
    struct tutti_prepared *stale;
    unsigned lookups;
    int off; /* 1: the device could not keep one */
};

/* Arguments are whole words. */
static uint64_t kept_hash(const void *args, uint32_t bytes)
{
    uint64_t hash = bytes;
    for (uint32_t at = 0; at + 8 <= bytes; at += 8) {
        uint64_t word;
        memcpy(&word, (const char *)args + at, 8);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

static struct kept_pack *kept_find(struct tutti_kept_packs *all, uint64_t hash, const void *args, uint32_t bytes)
{
    for (int i = 0; i < ENTRIES; i++) {
        struct kept_pack *const it = &all->of[i];
        if (it->calls && it->hash == hash && it->bytes == bytes && memcmp(it->args, args, bytes) == 0)
            return it;
    }
    return NULL;
}

/* A free entry, or the first entry that is as new as the present launch. All entries grow older meanwhile, so that a
 * launch that is made once does not replace repeated ones. NULL: none, or the last dropped launch still exists. */
static struct kept_pack *kept_spare(struct tutti_kept_packs *all)
{
    for (int i = 0; i < ENTRIES; i++) {
        if (all->of[i].calls == 0)
            return &all->of[i];
    }
    if (all->stale)
        return NULL;
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct kept_pack *const it = &all->of[(all->lookups + i) % ENTRIES];
        if ((it->calls /= 2) > 0)
            continue;
        all->stale = it->prepared;
        it->prepared = NULL;
        all->next = all->next == it ? NULL : all->next;
        return it;
    }
    return NULL;
}

static void kept_remember(struct tutti_kept_packs *all, uint64_t hash, const struct tutti_pack_launch *launch)
{
    struct kept_pack *const it = kept_spare(all);
    if (!it)
        return;
    it->calls = 1;
    it->bytes = launch->args->head.bytes;
    it->hash = hash;
    memcpy(it->args, launch->args, it->bytes);
    it->reaches = launch->reaches;
    for (unsigned i = 0; i < launch->reaches; i++)
        it->reach[i] = launch->reach[i];
}

static int kept_fresh(const struct tutti_device *device, struct tutti_stream *stream,
                      const struct tutti_pack_launch *launch)
{
    return device->launch.own_pack ? device->launch.own_pack(stream, launch) : device->launch.pack(stream, launch);
}

int tutti_kept_packs_launch(struct tutti_kept_packs **all, const struct tutti_device *device,
                            struct tutti_stream *stream, const struct tutti_pack_launch *launch)
{
    const uint32_t bytes = launch->args->head.bytes;
    if (!device->launch.keep_pack || bytes > TUTTI_PACK_FEW_BYTES || launch->reaches > REACHES)
        return kept_fresh(device, stream, launch);
    if (!*all)
        *all = calloc(1, sizeof **all);
    struct tutti_kept_packs *const kept = *all;
    if (!kept || kept->off) /* it only saves time */
        return kept_fresh(device, stream, launch);
    const uint64_t hash = kept_hash(launch->args, bytes);
    struct kept_pack *const it = kept_find(kept, hash, launch->args, bytes);
    kept->lookups++;
    if (!it) {
        kept_remember(kept, hash, launch);
        return kept_fresh(device, stream, launch);
    }
    it->calls += it->calls < UINT32_MAX / 2;
    if (it->prepared) {
        const int status = device->launch.kept(stream, it->prepared);
        if (status != TUTTI_ERR_UNAVAILABLE)
            return status;
        if (kept->stale) /* one at a time */
            return kept_fresh(device, stream, launch);
        kept->stale = it->prepared;
        it->prepared = NULL;
    }
    if (it->calls >= TUTTI_LAUNCH_SEEN)
        kept->next = it;
    return kept_fresh(device, stream, launch);
}

int tutti_kept_packs_lack(const struct tutti_kept_packs *all)
{
    return all && (all->next || all->stale);
}

void tutti_kept_packs_fill(struct tutti_kept_packs *all, const struct tutti_device *device, struct tutti_stream *stream)
{
    if (!tutti_kept_packs_lack(all))
        return;
    struct kept_pack *const it = all->next;
    device->launch.drop(all->stale);
    all->stale = NULL;
    all->next = NULL;
    if (!it || it->prepared || all->off)
        return;
    const struct tutti_pack_launch launch = {(const struct tutti_pack_args *)(const void *)it->args, it->reach,
                                             it->reaches};
    const int status = device->launch.keep_pack(stream, &launch, &it->prepared);
    if (status == TUTTI_OK)
        return;
    it->prepared = NULL;
    all->off = 1; /* launches go on without it */
    tutti_info("launches of packing kernels cannot be kept ready: %s", tutti_status_text(status));
}

void tutti_kept_packs_free(struct tutti_kept_packs *all, const struct tutti_device *device)
{
    for (int i = 0; all && i < ENTRIES; i++)
        device->launch.drop(all->of[i].prepared);
    if (all)
        device->launch.drop(all->stale);
    free(all);
}
