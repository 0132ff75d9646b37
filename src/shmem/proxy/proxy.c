#include "shmem/proxy/proxy.h"

#include "core/log.h"
#include "core/status.h"
#include "tutti/shmem.h"

/* ---- checks; a kernel may have written anything ---- */

static const struct tutti_ring_operation operations[TSHMEM_RING_OPERATIONS];

static int proxy_refuse(const struct tutti_proxy *proxy, const struct tutti_ring_request *r, int status,
                        const char *why)
{
    tutti_error("a kernel of PE %d asked for %s with PE %u, %llu bytes at %llx and %llx: %s", proxy->state->me,
                operations[r->operation].name, (unsigned)r->pe, (unsigned long long)r->bytes,
                (unsigned long long)r->dest, (unsigned long long)r->source, why);
    return status;
}

static int refuse_place(const struct tutti_proxy *proxy, const struct tutti_ring_request *r)
{
    return proxy_refuse(proxy, r, TUTTI_ERR_ARGUMENT, "not what lies in a heap");
}

static int is_in_heap(const struct tutti_proxy *proxy, uint64_t offset, uint64_t bytes)
{
    const uint64_t all =
        proxy->mapped ? atomic_load_explicit(proxy->mapped, memory_order_relaxed) : proxy->state->heap_bytes;
    return offset <= all && bytes <= all - offset;
}

/* Chooses the path to the PE, which exists. at: offset of the symmetric side. */
static int begin_by_path(struct tutti_proxy *proxy, struct tutti_ring_request *r, uint64_t at)
{
    char *const heap = tutti_proxy_heap(proxy, r->pe);
    int status;
    if (heap)
        status = proxy->near->begin(proxy, r, heap + at);
    else if (proxy->far)
        status = proxy->far->begin(proxy, r, NULL);
    else
        return proxy_refuse(proxy, r, TUTTI_ERR_UNAVAILABLE, "that PE is not reached");
    return status < 0 ? proxy_refuse(proxy, r, status, tutti_status_text(status)) : status;
}

/* bytes: size of the access to the heap of its PE; 0: out of range. */
static int begin_in_heap(struct tutti_proxy *proxy, struct tutti_ring_request *r, uint64_t at, uint64_t bytes)
{
    if (r->pe >= proxy->state->pes || bytes == 0 || !is_in_heap(proxy, at, bytes))
        return refuse_place(proxy, r);
    return begin_by_path(proxy, r, at);
}

/* ---- operations ---- */

static int begin_put(void *proxy, struct tutti_ring_request *r)
{
    return begin_in_heap(proxy, r, r->dest, r->bytes);
}

static int begin_get(void *proxy, struct tutti_ring_request *r)
{
    return begin_in_heap(proxy, r, r->source, r->bytes);
}

static int begin_put_value(void *proxy, struct tutti_ring_request *r)
{
    return begin_in_heap(proxy, r, r->dest, r->bytes <= sizeof r->value ? r->bytes : 0);
}

static int begin_get_value(void *proxy, struct tutti_ring_request *r)
{
    return begin_in_heap(proxy, r, r->source, r->bytes <= sizeof *r->value ? r->bytes : 0);
}

static int begin_put_signal(void *with, struct tutti_ring_request *r)
{
    struct tutti_proxy *const proxy = with;
    const uint64_t signal = r->value[1];
    if (r->pe >= proxy->state->pes || !is_in_heap(proxy, r->dest, r->bytes) ||
        !is_in_heap(proxy, signal, sizeof(uint64_t)) || signal % sizeof(uint64_t) != 0 ||
        (r->what != TSHMEM_SIGNAL_SET && r->what != TSHMEM_SIGNAL_ADD))
        return refuse_place(proxy, r);
    return begin_by_path(proxy, r, r->dest);
}

static int proxy_begin_amo(void *proxy, struct tutti_ring_request *r)
{
    const int sound = (r->size == 4 || r->size == 8) && r->what <= TSHMEM_AMO_ADD_FLOAT && r->dest % r->size == 0;
    return begin_in_heap(proxy, r, r->dest, sound ? r->size : 0);
}

/* Bytes from the first to the last of all blocks; 0: more than any heap has. */
static uint64_t span_of_blocks(const struct tutti_ring_request *r, int64_t stride)
{
    uint64_t last, elements, bytes;
    if (stride < 1 || __builtin_mul_overflow(r->bytes - 1, (uint64_t)stride, &last) ||
        __builtin_add_overflow(last, r->extra, &elements) || __builtin_mul_overflow(elements, r->size, &bytes))
        return 0;
    return bytes;
}

static int proxy_begin_blocks(void *proxy, struct tutti_ring_request *r, uint64_t at, uint64_t stride)
{
    if (r->bytes == 0 || r->extra == 0)
        return TUTTI_RING_DONE;
    return begin_in_heap(proxy, r, at, span_of_blocks(r, (int64_t)stride));
}

static int begin_put_blocks(void *proxy, struct tutti_ring_request *r)
{
    return proxy_begin_blocks(proxy, r, r->dest, r->value[0]);
}

static int begin_get_blocks(void *proxy, struct tutti_ring_request *r)
{
    return proxy_begin_blocks(proxy, r, r->source, r->value[1]);
}

/* Operations on a near PE are complete already. */
static int proxy_begin_quiet(void *with, struct tutti_ring_request *r)
{
    struct tutti_proxy *const proxy = with;
    if (r->pe >= proxy->state->pes)
        return refuse_place(proxy, r);
    return tutti_proxy_heap(proxy, r->pe) ? TUTTI_RING_DONE : begin_by_path(proxy, r, 0);
}

static const struct tutti_ring_operation operations[TSHMEM_RING_OPERATIONS] = {
    [TSHMEM_RING_PUT] = {"a put", begin_put},
    [TSHMEM_RING_PUT_VALUE] = {"a put of a value", begin_put_value},
    [TSHMEM_RING_PUT_SIGNAL] = {"a put with signal", begin_put_signal},
    [TSHMEM_RING_GET] = {"a get", begin_get},
    [TSHMEM_RING_GET_VALUE] = {"a get of a value", begin_get_value},
    [TSHMEM_RING_AMO] = {"an atomic", proxy_begin_amo},
    [TSHMEM_RING_PUT_BLOCKS] = {"a strided put", begin_put_blocks},
    [TSHMEM_RING_QUIET] = {"quiet", proxy_begin_quiet},
    [TSHMEM_RING_GET_BLOCKS] = {"a strided get", begin_get_blocks},
};

/* ---- what is open ---- */

static int poll_path(struct tutti_proxy *proxy, const struct tutti_path *path)
{
    const int ended = path && path->poll ? path->poll(proxy) : 0;
    if (ended < 0)
        tutti_error("what a kernel of PE %d asked for %s failed: %s", proxy->state->me, path->name,
                    tutti_status_text(ended));
    return ended;
}

static int poll_paths(void *with)
{
    struct tutti_proxy *const proxy = with;
    const int near = poll_path(proxy, proxy->near), far = near < 0 ? 0 : poll_path(proxy, proxy->far);
    return near < 0 ? near : far < 0 ? far : near + far;
}

/* ---- life ---- */

int tutti_proxy_open(struct tutti_proxy *proxy, struct tutti_ring_server *server)
{
    const struct tutti_ring_user user = {.first = TSHMEM_RING_PUT,
                                         .count = TSHMEM_RING_OPERATIONS - TSHMEM_RING_PUT,
                                         .operations = &operations[TSHMEM_RING_PUT],
                                         .poll = poll_paths,
                                         .user = proxy};
    int status = tutti_ring_server_register(server, &user);
    proxy->ring = &server->ring;
    if (status == TUTTI_OK && proxy->near->open)
        status = proxy->near->open(proxy);
    if (status == TUTTI_OK && proxy->far && proxy->far->open)
        status = proxy->far->open(proxy);
    return status;
}

void tutti_proxy_close(struct tutti_proxy *proxy)
{
    if (proxy->near && proxy->near->close)
        proxy->near->close(proxy);
    if (proxy->far && proxy->far->close)
        proxy->far->close(proxy);
}
