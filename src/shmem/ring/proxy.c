#include "shmem/ring/proxy.h"

#include "core/log.h"
#include "core/status.h"
#include "tutti/shmem.h"

enum { BATCH = 256, LOOKS = 1024 }; /* requests of a round; idle rounds between looks after dead processes */

/* ---- what a request touches in the heap of its PE; 0 where that is more than any heap ---- */

static uint64_t bytes_of(const struct tutti_ring_operation *o)
{
    return o->bytes;
}

static uint64_t value_of(const struct tutti_ring_operation *o)
{
    return o->bytes <= (o->operation == TSHMEM_RING_GET_VALUE ? 8 : 16) ? o->bytes : 0;
}

static uint64_t word_of(const struct tutti_ring_operation *o)
{
    return (o->size == 4 || o->size == 8) && o->what <= TSHMEM_AMO_ADD_FLOAT ? o->size : 0;
}

/* From the first to the last byte of all blocks. */
static uint64_t blocks_of(const struct tutti_ring_operation *o)
{
    const int64_t stride = (int64_t)o->value[o->operation == TSHMEM_RING_GET_BLOCKS];
    uint64_t last, elements, bytes;
    if (stride < 1 || o->bytes == 0 || o->extra == 0 || __builtin_mul_overflow(o->bytes - 1, (uint64_t)stride, &last) ||
        __builtin_add_overflow(last, o->extra, &elements) || __builtin_mul_overflow(elements, o->size, &bytes))
        return 0;
    return bytes;
}

static const struct {
    const char *name;
    int get; /* the symmetric side is the source */
    uint64_t (*reach)(const struct tutti_ring_operation *o);
} rows[TSHMEM_RING_OPERATIONS] = {
    [TSHMEM_RING_NOP] = {"nothing", 0, bytes_of},
    [TSHMEM_RING_PUT] = {"a put", 0, bytes_of},
    [TSHMEM_RING_PUT_VALUE] = {"a put of a value", 0, value_of},
    [TSHMEM_RING_PUT_SIGNAL] = {"a put with signal", 0, bytes_of},
    [TSHMEM_RING_GET] = {"a get", 1, bytes_of},
    [TSHMEM_RING_GET_VALUE] = {"a get of a value", 1, value_of},
    [TSHMEM_RING_AMO] = {"an atomic", 0, word_of},
    [TSHMEM_RING_PUT_BLOCKS] = {"a strided put", 0, blocks_of},
    [TSHMEM_RING_QUIET] = {"quiet", 0, bytes_of},
    [TSHMEM_RING_GET_BLOCKS] = {"a strided get", 1, blocks_of},
};

static int is_nothing(const struct tutti_proxy *proxy, const struct tutti_ring_operation *o)
{
    const int blocks = o->operation == TSHMEM_RING_PUT_BLOCKS || o->operation == TSHMEM_RING_GET_BLOCKS;
    const int near = o->operation == TSHMEM_RING_QUIET && o->pe < proxy->state->pes && tutti_proxy_heap(proxy, o->pe);
    return near || (blocks && (o->bytes == 0 || o->extra == 0));
}

static int in_heap(const struct tutti_proxy *proxy, uint64_t offset, uint64_t bytes)
{
    const uint64_t all =
        proxy->mapped ? atomic_load_explicit(proxy->mapped, memory_order_relaxed) : proxy->state->heap_bytes;
    return offset <= all && bytes <= all - offset;
}

static int is_sound(const struct tutti_proxy *proxy, const struct tutti_ring_operation *o)
{
    const struct tshmem_state *const state = proxy->state;
    if (o->operation >= TSHMEM_RING_OPERATIONS || o->pe >= state->pes)
        return 0;
    const uint64_t bytes = rows[o->operation].reach(o), at = rows[o->operation].get ? o->source : o->dest;
    if (o->operation == TSHMEM_RING_QUIET)
        return 1;
    if (o->operation == TSHMEM_RING_AMO && at % (o->size ? o->size : 1) != 0)
        return 0;
    if (o->operation != TSHMEM_RING_PUT_SIGNAL)
        return bytes > 0 && in_heap(proxy, at, bytes);
    return in_heap(proxy, at, bytes) && in_heap(proxy, o->value[1], sizeof(uint64_t)) && o->value[1] % 8 == 0 &&
           (o->what == TSHMEM_SIGNAL_SET || o->what == TSHMEM_SIGNAL_ADD);
}

static int refuse(const struct tshmem_state *state, const struct tutti_ring_operation *o, int status, const char *why)
{
    tutti_error("a kernel of PE %d asked for %s with PE %u, %llu bytes at %llx and %llx: %s", state->me,
                o->operation < TSHMEM_RING_OPERATIONS ? rows[o->operation].name : "no operation", (unsigned)o->pe,
                (unsigned long long)o->bytes, (unsigned long long)o->dest, (unsigned long long)o->source, why);
    return status;
}

static int begin(void *with, struct tutti_ring_operation *o)
{
    struct tutti_proxy *const proxy = with;
    const struct tshmem_state *const state = proxy->state;
    int status;
    if (is_nothing(proxy, o))
        return TUTTI_RING_DONE;
    if (!is_sound(proxy, o))
        return refuse(state, o, TUTTI_ERR_ARGUMENT, "not what lies in a heap");
    char *const heap = tutti_proxy_heap(proxy, o->pe);
    if (heap)
        status = proxy->near->begin(proxy, o, heap + (rows[o->operation].get ? o->source : o->dest));
    else if (proxy->far)
        status = proxy->far->begin(proxy, o, NULL);
    else
        return refuse(state, o, TUTTI_ERR_UNAVAILABLE, "that PE is not reached");
    return status < 0 ? refuse(state, o, status, tutti_status_text(status)) : status;
}

static int poll_path(struct tutti_proxy *proxy, const struct tutti_path *path)
{
    const int ended = path && path->poll ? path->poll(proxy) : 0;
    if (ended < 0)
        tutti_error("what a kernel of PE %d asked for %s failed: %s", proxy->state->me, path->name,
                    tutti_status_text(ended));
    return ended;
}

/* A process that kernels may wait for has died: no wait of theirs goes on. */
static int look_after_dead(struct tutti_proxy *proxy)
{
    const int dead = proxy->dead && ++proxy->looks % LOOKS == 0 ? proxy->dead() : 0;
    if (dead)
        tutti_error("process %d has died, and kernels of PE %d may wait for it", dead, proxy->state->me);
    return dead ? TUTTI_ERR_PEER : TUTTI_OK;
}

int tutti_proxy_poll(void *with)
{
    struct tutti_proxy *const proxy = with;
    uint32_t *const abort = proxy->state->abort;
    if (__atomic_load_n(abort, __ATOMIC_RELAXED))
        return TUTTI_ERR_BROKEN;
    int status = tutti_ring_poll(&proxy->ring, BATCH, begin, proxy), done = status;
    if (status == 0)
        status = look_after_dead(proxy);
    for (int i = 0; i < 2 && status >= 0; i++) {
        status = poll_path(proxy, i ? proxy->far : proxy->near);
        done += status;
    }
    if (status >= 0)
        return done;
    __atomic_store_n(abort, 1, __ATOMIC_RELEASE);
    return status;
}
