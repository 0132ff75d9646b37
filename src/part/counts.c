#include "part/counts.h"

#include <pthread.h>
#include <stdlib.h>

#include "bounce/bounce.h"
#include "core/lives.h"
#include "core/status.h"
#include "device/device.h"

enum { SLAB = 2048, WORD = 64 }; /* counts of a slab; a request with more has a slab of its own */

struct slab {
    struct slab *next;
    struct tutti_bounce *bounce;
    int gpu, n, taken;
    unsigned life;
    int spoilt; /* 1: something was returned that is not 0: nothing more is taken of it */
    uint64_t used[SLAB / WORD];
};

struct tutti_part_counts {
    struct slab *slab;
    int first, n;
};

static struct slab *slabs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all above; never held while the device is called */

static int slab_clear(struct tutti_prequest_count *memory, int n)
{
    void *zeros = calloc((size_t)n, sizeof *memory);
    if (!zeros)
        return TUTTI_ERR_MEMORY;
    const int status = tutti_device()->memory.copy_now(memory, zeros, (size_t)n * sizeof *memory);
    free(zeros);
    return status;
}

static struct slab *slab_new(int gpu, int n)
{
    struct slab *slab = calloc(1, sizeof *slab);
    if (!slab)
        return NULL;
    slab->gpu = gpu;
    slab->n = n > SLAB ? n : SLAB;
    slab->bounce = tutti_bounce_take(&tutti_bounce_device, gpu, (size_t)slab->n * sizeof(struct tutti_prequest_count));
    slab->life = tutti_gpu_life(gpu);
    if (slab->bounce && slab_clear(slab->bounce->memory, slab->n) == TUTTI_OK)
        return slab;
    tutti_bounce_give(slab->bounce);
    free(slab);
    return NULL;
}

/* ---- the lock is held ---- */

/* The first of `n` free counts that follow each other; -1. */
static int slab_find(const struct slab *slab, int n)
{
    int run = 0;
    if (slab->n > SLAB) /* one owner has all of it */
        return slab->taken == 0 && n <= slab->n ? 0 : -1;
    for (int i = 0; i < SLAB; i++) {
        run = slab->used[i / WORD] >> i % WORD & 1 ? 0 : run + 1;
        if (run == n)
            return i + 1 - n;
    }
    return -1;
}

static void slab_mark(struct slab *slab, int first, int n, int used)
{
    slab->taken += used ? n : -n;
    for (int i = first; slab->n <= SLAB && i < first + n; i++) {
        const uint64_t bit = UINT64_C(1) << i % WORD;
        slab->used[i / WORD] = used ? slab->used[i / WORD] | bit : slab->used[i / WORD] & ~bit;
    }
}

static int slab_serves(const struct slab *slab, int gpu)
{
    return slab->gpu == gpu && !slab->spoilt && slab->life == tutti_gpu_life(gpu);
}

static void counts_take_from(struct slab *slab, struct tutti_part_counts *counts)
{
    const int first = slab_find(slab, counts->n);
    if (first < 0)
        return;
    slab_mark(slab, first, counts->n, 1);
    counts->slab = slab;
    counts->first = first;
}

/* Nothing will be taken of it. */
static int slab_is_over(const struct slab *slab)
{
    return slab->spoilt || slab->n > SLAB || slab->life != tutti_gpu_life(slab->gpu);
}

/* Takes slabs out of the list of which no request has counts: those that are over, or all. */
static struct slab *counts_take_unused(int all)
{
    struct slab *unused = NULL;
    for (struct slab **at = &slabs; *at;) {
        struct slab *slab = *at;
        if (slab->taken > 0 || !(all || slab_is_over(slab))) {
            at = &slab->next;
            continue;
        }
        *at = slab->next;
        slab->next = unused;
        unused = slab;
    }
    return unused;
}

/* ---- without the lock ---- */

static void slabs_free(struct slab *slab)
{
    while (slab) {
        struct slab *next = slab->next;
        tutti_bounce_give(slab->bounce);
        free(slab);
        slab = next;
    }
}

struct tutti_part_counts *tutti_part_counts_take(int gpu, int n)
{
    struct tutti_part_counts *counts = calloc(1, sizeof *counts);
    if (!counts)
        return NULL;
    counts->n = n;
    pthread_mutex_lock(&lock);
    for (struct slab *slab = slabs; slab && !counts->slab; slab = slab->next) {
        if (slab_serves(slab, gpu))
            counts_take_from(slab, counts);
    }
    pthread_mutex_unlock(&lock);
    if (counts->slab)
        return counts;
    struct slab *slab = slab_new(gpu, n);
    if (!slab) {
        free(counts);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    slab->next = slabs;
    slabs = slab;
    counts_take_from(slab, counts);
    pthread_mutex_unlock(&lock);
    return counts;
}

struct tutti_prequest_count *tutti_part_counts_memory(const struct tutti_part_counts *counts)
{
    return (struct tutti_prequest_count *)counts->slab->bounce->memory + counts->first;
}

int tutti_part_counts_clear(const struct tutti_part_counts *counts)
{
    return slab_clear(tutti_part_counts_memory(counts), counts->n);
}

void tutti_part_counts_give(struct tutti_part_counts *counts, int clean)
{
    if (!counts)
        return;
    pthread_mutex_lock(&lock);
    slab_mark(counts->slab, counts->first, counts->n, 0);
    counts->slab->spoilt |= !clean;
    struct slab *unused = counts_take_unused(0);
    pthread_mutex_unlock(&lock);
    slabs_free(unused);
    free(counts);
}

/* What requests still have stays: the program may free them later. */
void tutti_part_counts_close(void)
{
    pthread_mutex_lock(&lock);
    struct slab *unused = counts_take_unused(1);
    pthread_mutex_unlock(&lock);
    slabs_free(unused);
}
