#include "dtype/plan.h"

#include "core/log.h"
#include "core/status.h"
#include "dtype/plan/emit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A plan and the number of its users. */
struct shared {
    struct tutti_plan plan;
    _Atomic uint64_t references; /* reaches 0, and rises from what others may see, under the lock alone */
    struct shared *next;         /* of the same bucket */
    struct tutti_segments segments;
};

static struct {
    pthread_mutex_t lock;
    struct shared **bucket;
    size_t buckets, n; /* a power of two, or 0 */
    uint64_t last_id;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic(void (*)(const struct tutti_plan *)) at_free;

void tutti_plan_at_free(void (*forget)(const struct tutti_plan *plan))
{
    atomic_store(&at_free, forget);
}

static struct shared *shared_of(const struct tutti_plan *plan)
{
    return (struct shared *)(uintptr_t)plan; /* its first member */
}

static void plan_destroy(struct shared *made)
{
    tutti_segments_free(&made->segments);
    free(made);
}

static int plan_grow(void)
{
    size_t buckets = all.buckets ? 4 * all.buckets : 64;
    struct shared **bucket = calloc(buckets, sizeof *bucket);
    if (!bucket)
        return TUTTI_ERR_MEMORY;
    for (size_t i = 0; i < all.buckets; i++) {
        while (all.bucket[i]) {
            struct shared *one = all.bucket[i];
            all.bucket[i] = one->next;
            one->next = bucket[one->plan.hash & (buckets - 1)];
            bucket[one->plan.hash & (buckets - 1)] = one;
        }
    }
    free(all.bucket);
    all.bucket = bucket;
    all.buckets = buckets;
    return TUTTI_OK;
}

static int plan_same(const struct tutti_plan *a, const struct tutti_plan *b)
{
    return a->hash == b->hash && a->size == b->size && a->lower == b->lower && a->extent == b->extent &&
           a->true_lower == b->true_lower && a->true_end == b->true_end && a->overlaps == b->overlaps &&
           a->segments == b->segments && tutti_segments_equal(a->segment, b->segment, a->segments);
}

/* Finds its like, which replaces it, or adds it. */
static int plan_share(struct shared *made, const struct tutti_plan **out)
{
    int status = TUTTI_OK;
    pthread_mutex_lock(&all.lock);
    struct shared *found = all.buckets ? all.bucket[made->plan.hash & (all.buckets - 1)] : NULL;
    while (found && !plan_same(&found->plan, &made->plan))
        found = found->next;
    if (!found && all.n >= all.buckets)
        status = plan_grow();
    if (status == TUTTI_OK && !found) {
        struct shared **bucket = &all.bucket[made->plan.hash & (all.buckets - 1)];
        made->plan.id = ++all.last_id;
        made->next = *bucket;
        *bucket = made;
        all.n++;
        found = made;
    }
    if (found)
        found->references++;
    pthread_mutex_unlock(&all.lock);
    if (found != made)
        plan_destroy(made);
    if (found)
        *out = &found->plan;
    return status;
}

static uint64_t plan_hash_of(const struct shared *made)
{
    const struct tutti_plan *plan = &made->plan;
    uint64_t hash = tutti_hash_mix(tutti_segments_hash(&made->segments), plan->size);
    return tutti_hash_mix(tutti_hash_mix(hash, (uint64_t)plan->lower), (uint64_t)plan->extent);
}

static int plan_make(struct tutti_workshop *shop, const struct tutti_description *what, struct shared *made)
{
    struct tutti_made is;
    int status = tutti_build(shop, what, &is);
    if (status == TUTTI_OK)
        status = tutti_membership_normal(shop, &is.place);
    if (status == TUTTI_OK)
        status = tutti_segments_make(shop, is.place, &made->segments);
    if (status != TUTTI_OK)
        return status;
    struct tutti_plan *plan = &made->plan;
    plan->size = tutti_membership_size(is.place);
    plan->lower = is.lower;
    plan->extent = is.upper - is.lower;
    if (plan->size > 0) {
        plan->true_lower = is.place.offset + tutti_membership_low(is.place);
        plan->true_end = is.place.offset + tutti_membership_high(is.place);
        plan->overlaps = (uint32_t)tutti_membership_overlaps(is.place);
    }
    plan->segment = made->segments.at;
    plan->segments = made->segments.n;
    plan->hash = plan_hash_of(made);
    return TUTTI_OK;
}

int tutti_plan_build(const struct tutti_description *what, const struct tutti_plan **out)
{
    struct tutti_workshop shop;
    struct shared *made = calloc(1, sizeof *made);
    if (!made)
        return TUTTI_ERR_MEMORY;
    tutti_workshop_open(&shop);
    int status = plan_make(&shop, what, made);
    tutti_workshop_close(&shop);
    if (status == TUTTI_OK)
        return plan_share(made, out);
    if (status == TUTTI_ERR_UNAVAILABLE)
        tutti_debug("a datatype is left to the MPI: %s", shop.why ? shop.why : "a form that is not known");
    plan_destroy(made);
    return status;
}

int tutti_plan_adopt(const struct tutti_plan *like, struct tutti_segments *segments, const struct tutti_plan **out)
{
    struct shared *made = calloc(1, sizeof *made);
    if (!made) {
        tutti_segments_free(segments);
        return TUTTI_ERR_MEMORY;
    }
    made->segments = *segments;
    made->plan = *like;
    made->plan.segment = made->segments.at;
    made->plan.segments = made->segments.n;
    made->plan.hash = plan_hash_of(made);
    return plan_share(made, out);
}

const struct tutti_plan *tutti_plan_hold(const struct tutti_plan *plan)
{
    atomic_fetch_add_explicit(&shared_of(plan)->references, 1, memory_order_relaxed);
    return plan;
}

void tutti_plan_drop(const struct tutti_plan *plan)
{
    struct shared *made = shared_of(plan);
    uint64_t references = atomic_load_explicit(&made->references, memory_order_relaxed);
    while (references > 1) {
        if (atomic_compare_exchange_weak_explicit(&made->references, &references, references - 1, memory_order_release,
                                                  memory_order_relaxed))
            return;
    }
    pthread_mutex_lock(&all.lock); /* it may be found once more until then */
    int last = atomic_fetch_sub(&made->references, 1) == 1;
    if (last) {
        struct shared **at = &all.bucket[plan->hash & (all.buckets - 1)];
        while (*at != made)
            at = &(*at)->next;
        *at = made->next;
        all.n--;
        if (all.n == 0) {
            free(all.bucket);
            all.bucket = NULL;
            all.buckets = 0;
        }
    }
    pthread_mutex_unlock(&all.lock);
    if (!last)
        return;
    void (*forget)(const struct tutti_plan *) = atomic_load(&at_free);
    if (forget)
        forget(plan);
    plan_destroy(made);
}

int tutti_segment_repeat(struct tutti_segment *segment, uint64_t count, int64_t extent, uint64_t size)
{
    struct tutti_dim *first = segment->dim;
    int64_t whole;
    if (count == 1)
        return 1;
    if (segment->dims == 0 && segment->entries == 0 && segment->block == size && extent == (int64_t)size) {
        segment->block *= count;
        return 1;
    }
    if (segment->dims > 0 && (segment->entries == 0 || segment->list_at > 0) &&
        !__builtin_mul_overflow(first->stride, (int64_t)first->count, &whole) && whole == extent &&
        first->count * (uint64_t)first->packed == size) {
        first->count *= count;
        return 1;
    }
    if (segment->dims == TUTTI_PLAN_DIMS)
        return 0;
    memmove(first + 1, first, segment->dims * sizeof *first);
    *first = (struct tutti_dim){count, extent, (int64_t)size};
    segment->dims++;
    if (segment->entries > 0)
        segment->list_at++;
    return 1;
}
