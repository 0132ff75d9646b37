#include "dtype/pack/image.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/once.h"
#include "core/status.h"
#include "kernels/pack_args.h"
#include "progress/gate.h"

enum {
    BUCKETS = 256,
    WORDS_MOST = 1024, /* of a table */
    SPAN_MOST = 1 << 20
};

static struct tutti_plan_image *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct tutti_device *keeper; /* there is one device in a process */

int tutti_image_needed(const struct tutti_plan *plan)
{
    for (uint32_t s = 0; s < plan->segments; s++) {
        if (plan->segment[s].entries)
            return 1;
    }
    return 0;
}

/* The largest power of two, up to 16, that all numbers of the plan are multiples of. */
static unsigned image_word_of(const struct tutti_plan *plan)
{
    uint64_t bits = plan->size | (uint64_t)plan->extent | 16;
    for (uint32_t i = 0; i < plan->segments; i++) {
        const struct tutti_segment *s = &plan->segment[i];
        bits |= (uint64_t)s->offset | s->packed | s->block | s->pitch;
        for (uint32_t d = 0; d < s->dims; d++)
            bits |= (uint64_t)s->dim[d].stride | (uint64_t)s->dim[d].packed;
        for (uint64_t e = 0; e < s->entries; e++)
            bits |= (uint64_t)s->offsets[e] | (s->begins ? s->begins[e + 1] : 0);
    }
    return (unsigned)(bits & (~bits + 1));
}

/* One regular segment is better worked out than looked up. */
static int wants_table(const struct tutti_plan *plan)
{
    if (plan->segments == 0 || (plan->segments == 1 && plan->segment[0].entries == 0))
        return 0;
    if (plan->true_end - plan->true_lower > SPAN_MOST || plan->true_lower < -SPAN_MOST || plan->true_end > SPAN_MOST)
        return 0;
    return plan->size <= WORDS_MOST * 16 && plan->size / image_word_of(plan) <= WORDS_MOST;
}

int tutti_image_useful(const struct tutti_plan *plan)
{
    return tutti_image_needed(plan) || wants_table(plan);
}

/* ---- the table ---- */
static void fill_words(int32_t *table, unsigned word, uint64_t packed, int64_t offset, uint64_t bytes)
{
    for (uint64_t x = 0; x < bytes; x += word)
        table[(packed + x) / word] = (int32_t)(offset + (int64_t)x);
}

static void fill_level(const struct tutti_segment *s, uint32_t level, int32_t *table, unsigned word, uint64_t packed,
                       int64_t offset)
{
    const int has = s->entries > 0;
    if (level == s->dims + (uint32_t)has) {
        fill_words(table, word, packed, offset, s->block);
    } else if (has && level == s->list_at) {
        for (uint64_t e = 0; e < s->entries; e++) {
            if (s->begins)
                fill_words(table, word, packed + s->begins[e], offset + s->offsets[e], s->begins[e + 1] - s->begins[e]);
            else
                fill_level(s, level + 1, table, word, packed + e * s->pitch, offset + s->offsets[e]);
        }
    } else {
        const struct tutti_dim *dim = &s->dim[level - (has && level > s->list_at)];
        for (uint64_t i = 0; i < dim->count; i++)
            fill_level(s, level + 1, table, word, packed + i * (uint64_t)dim->packed,
                       offset + (int64_t)i * dim->stride);
    }
}

/* ---- lists ---- */
static void image_measure(const struct tutti_segment *s, struct tutti_image_list *list)
{
    list->entries = s->entries;
    list->host = s->offsets;
    if (s->entries == 0)
        return;
    list->low = list->high = s->offsets[0];
    list->end = INT64_MIN;
    for (uint64_t e = 0; e < s->entries; e++) {
        const int64_t last = s->offsets[e] + (s->begins ? (int64_t)(s->begins[e + 1] - s->begins[e]) : 0);
        list->end = last > list->end ? last : list->end;
        list->low = s->offsets[e] < list->low ? s->offsets[e] : list->low;
        list->high = s->offsets[e] > list->high ? s->offsets[e] : list->high;
        list->bits |= (uint64_t)s->offsets[e] | (s->begins ? s->begins[e] : 0);
    }
    const uint64_t end = s->begins ? s->begins[s->entries] : 0;
    list->bits |= end;
    list->wide = list->low < INT32_MIN || list->high > INT32_MAX || end > UINT32_MAX;
    const size_t number = list->wide ? 8 : 4;
    list->bytes[0] = s->entries * number;
    if (s->begins) {
        list->bytes[1] = (s->entries + 1) * number;
        list->bytes[2] = (size_t)((end >> TUTTI_PACK_GRAIN) + 2) * sizeof(uint32_t);
    }
}

static void write_numbers(unsigned char *to, const void *from, uint64_t n, int wide)
{
    if (wide) {
        memcpy(to, from, n * 8);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t number;
        memcpy(&number, (const unsigned char *)from + i * 8, 8);
        const uint32_t narrow = (uint32_t)number;
        memcpy(to + i * 4, &narrow, 4);
    }
}

static void write_starts(unsigned char *to, const struct tutti_segment *s, size_t bytes)
{
    uint32_t entry = 0;
    for (size_t k = 0; k < bytes / sizeof entry; k++) {
        while (entry + 1 < s->entries && s->begins[entry + 1] <= (uint64_t)k << TUTTI_PACK_GRAIN)
            entry++;
        memcpy(to + k * sizeof entry, &entry, sizeof entry);
    }
}

static size_t image_padded(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* Everything in one allocation: host bytes first. */
static size_t image_layout(struct tutti_plan_image *image, const struct tutti_plan *plan)
{
    size_t bytes = 0;
    if (wants_table(plan)) {
        const unsigned word = image_word_of(plan);
        image->words = (uint32_t)(plan->size / word);
        image->wide = (uint32_t)__builtin_ctz(word);
        bytes = image_padded(image->words * sizeof(int32_t));
    }
    for (uint32_t i = 0; i < plan->segments; i++) {
        image_measure(&plan->segment[i], &image->list[i]);
        for (int k = 0; k < 3; k++)
            bytes += image_padded(image->list[i].bytes[k]);
    }
    return bytes;
}

static void write_bytes(struct tutti_plan_image *image, const struct tutti_plan *plan, unsigned char *host)
{
    const unsigned char *device = image->memory;
    if (image->words) {
        int32_t *table = (int32_t *)(void *)host;
        for (uint32_t i = 0; i < plan->segments; i++)
            fill_level(&plan->segment[i], 0, table, 1u << image->wide, plan->segment[i].packed,
                       plan->segment[i].offset);
        image->table = (const int32_t *)(const void *)device;
        host += image_padded(image->words * sizeof(int32_t));
        device += image_padded(image->words * sizeof(int32_t));
    }
    for (uint32_t i = 0; i < plan->segments; i++) {
        const struct tutti_segment *s = &plan->segment[i];
        struct tutti_image_list *list = &image->list[i];
        if (s->entries == 0)
            continue;
        write_numbers(host, s->offsets, s->entries, list->wide);
        list->offsets = device;
        host += image_padded(list->bytes[0]);
        device += image_padded(list->bytes[0]);
        if (!s->begins)
            continue;
        write_numbers(host, s->begins, s->entries + 1, list->wide);
        write_starts(host + image_padded(list->bytes[1]), s, list->bytes[2]);
        list->begins = device;
        list->starts = (const uint32_t *)(const void *)(device + image_padded(list->bytes[1]));
        host += image_padded(list->bytes[1]) + image_padded(list->bytes[2]);
        device += image_padded(list->bytes[1]) + image_padded(list->bytes[2]);
    }
}

static int image_make(const struct tutti_device *device, struct tutti_stream *stream, const struct tutti_plan *plan,
                      int gpu, struct tutti_plan_image **out)
{
    struct tutti_plan_image *image = calloc(1, sizeof *image + plan->segments * sizeof image->list[0]);
    if (!image)
        return TUTTI_ERR_MEMORY;
    image->id = plan->id;
    image->gpu = gpu;
    image->life = tutti_gpu_life(gpu);
    const size_t bytes = image_layout(image, plan);
    unsigned char *host = NULL;
    int status = posix_memalign((void **)&host, 16, bytes ? bytes : 16) == 0 ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK)
        status = device->memory.alloc(gpu, bytes, &image->memory);
    if (status == TUTTI_OK) {
        memset(host, 0, bytes);
        write_bytes(image, plan, host);
        status = device->stream.copy(stream, image->memory, host, bytes);
        const int waited = device->stream.sync(stream);
        status = status == TUTTI_OK ? waited : status;
        if (status != TUTTI_OK)
            device->memory.free(image->memory);
    }
    free(host);
    if (status != TUTTI_OK)
        free(image);
    else
        *out = image;
    return status;
}

/* ---- which are there ---- */
static struct tutti_plan_image **image_bucket_of(uint64_t id)
{
    return &buckets[id % BUCKETS];
}

/* Under the lock. */
static struct tutti_plan_image *image_look(const struct tutti_plan *plan, int gpu)
{
    struct tutti_plan_image *image = *image_bucket_of(plan->id);
    while (image && (image->id != plan->id || image->gpu != gpu || image->life != tutti_gpu_life(gpu)))
        image = image->next;
    return image;
}

/* Frees a list. Memory that cannot be freed now (progress/gate.h) waits for the next list. */
static void images_end(const struct tutti_device *device, struct tutti_plan_image *gone)
{
    static struct tutti_plan_image *aside;
    struct tutti_plan_image **last = &gone;
    while (*last)
        last = &(*last)->next;
    pthread_mutex_lock(&lock);
    *last = aside;
    aside = tutti_gate_closed() ? gone : NULL;
    gone = aside ? NULL : gone;
    pthread_mutex_unlock(&lock);
    while (gone) {
        struct tutti_plan_image *next = gone->next;
        if (tutti_device_active(device) && gone->life == tutti_gpu_life(gone->gpu))
            device->memory.free(gone->memory);
        free(gone);
        gone = next;
    }
}

/* The plan is freed: its images are not in use. */
static void image_forget(const struct tutti_plan *plan)
{
    struct tutti_plan_image *gone = NULL;
    pthread_mutex_lock(&lock);
    const struct tutti_device *device = keeper;
    for (struct tutti_plan_image **at = image_bucket_of(plan->id); *at;) {
        struct tutti_plan_image *image = *at;
        if (image->id != plan->id) {
            at = &image->next;
            continue;
        }
        *at = image->next;
        image->next = gone;
        gone = image;
    }
    pthread_mutex_unlock(&lock);
    images_end(device, gone);
}

const struct tutti_plan_image *tutti_image_find(const struct tutti_plan *plan, int gpu)
{
    pthread_mutex_lock(&lock);
    const struct tutti_plan_image *image = image_look(plan, gpu);
    pthread_mutex_unlock(&lock);
    return image;
}

static struct tutti_once image_once = TUTTI_ONCE_INIT;
static void set_forget(void)
{
    tutti_plan_at_free(image_forget);
}

int tutti_image_make(const struct tutti_device *device, struct tutti_stream *stream, const struct tutti_plan *plan,
                     int gpu, const struct tutti_plan_image **out)
{
    struct tutti_plan_image *made = NULL;
    *out = tutti_image_find(plan, gpu);
    if (*out)
        return TUTTI_OK;
    tutti_once(&image_once, set_forget);
    int status = image_make(device, stream, plan, gpu, &made);
    if (status != TUTTI_OK) {
        tutti_error("what a datatype needs on GPU %d could not be put there: %s", gpu, tutti_status_text(status));
        return status;
    }
    pthread_mutex_lock(&lock);
    keeper = device;
    struct tutti_plan_image *other = image_look(plan, gpu);
    if (!other) {
        made->next = *image_bucket_of(plan->id);
        *image_bucket_of(plan->id) = made;
    }
    pthread_mutex_unlock(&lock);
    if (other) /* another thread was faster */
        images_end(device, made);
    *out = other ? other : made;
    return TUTTI_OK;
}
