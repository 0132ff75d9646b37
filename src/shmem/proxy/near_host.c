/* Requests for heaps in host memory: done by the CPU at once. */
#include "shmem/proxy/proxy.h"

#include "shmem/kind.h"

static int near_host_begin(struct tutti_proxy *proxy, struct tutti_ring_request *o, char *at)
{
    const struct tutti_shmem_kind *const kind = proxy->kind;
    void *const dest = (void *)(uintptr_t)o->dest;
    const void *const source = (const void *)(uintptr_t)o->source;
    switch (o->operation) {
    case TSHMEM_RING_PUT:
        return kind->copy(proxy->space, at, source, o->bytes, 0);
    case TSHMEM_RING_PUT_VALUE:
        return kind->element(proxy->space, at, o->value, o->bytes);
    case TSHMEM_RING_GET:
        return kind->copy(proxy->space, dest, at, o->bytes, 0);
    case TSHMEM_RING_GET_VALUE:
        o->value[0] = 0;
        return kind->element(proxy->space, o->value, at, o->bytes);
    case TSHMEM_RING_PUT_SIGNAL:
        return kind->put_signal(proxy->space, at, source, o->bytes,
                                (uint64_t *)(void *)(tutti_proxy_heap(proxy, o->pe) + o->value[1]), o->value[0],
                                o->what, 0);
    case TSHMEM_RING_AMO:
        o->value[0] = kind->amo(proxy->space, o->what, at, o->size, o->value[0], o->value[1]);
        return TUTTI_RING_DONE;
    case TSHMEM_RING_PUT_BLOCKS:
        return kind->blocks(proxy->space, at, source, (ptrdiff_t)o->value[0], (ptrdiff_t)o->value[1], o->extra,
                            o->bytes, o->size);
    default:
        return kind->blocks(proxy->space, dest, at, (ptrdiff_t)o->value[0], (ptrdiff_t)o->value[1], o->extra, o->bytes,
                            o->size);
    }
}

_Static_assert((int)TUTTI_RING_DONE == 0, "what a kind did is done");

const struct tutti_path tutti_near_host = {.name = "of a PE of this node", .begin = near_host_begin};
