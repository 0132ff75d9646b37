/* The address space's operations on the ring: a user of it (ring/server.h). A request is checked, then begun by the
 * path to its PE:
 *
 *     near   the PE's memory is mapped here: the CPU for heaps in host memory, copy engines for heaps on GPUs
 *     far    it is not: a wire to other nodes
 *
 * All of it runs on the poller's thread, which never waits. */
#ifndef TUTTI_SHMEM_PROXY_PROXY_H
#define TUTTI_SHMEM_PROXY_PROXY_H

#include <stdatomic.h>

#include "ring/server.h"
#include "tutti/shmem_state.h"

struct tutti_amo_args;
struct tutti_device;
struct tutti_proxy;
struct tutti_shmem;
struct tutti_shmem_kind;
struct tutti_stream;
struct tutti_shmem_wire;

struct tutti_path {
    const char *name;
    /* As begin() of struct tutti_ring_operation. A request that stays OPEN ends with tutti_ring_done(proxy->ring,
     * request), when it is complete at the other PE, on the poller's thread. at: the symmetric side as mapped here;
     * for far PEs NULL, and the offset is in the request. Everything has been checked except local memory of this
     * PE. */
    int (*begin)(struct tutti_proxy *proxy, struct tutti_ring_request *request, char *at);
    /* Advances open requests; returns how many have ended, or a negative status. NULL: requests never stay open. */
    int (*poll)(struct tutti_proxy *proxy);
    /* Before the first and after the last call. Both may be NULL. */
    int (*open)(struct tutti_proxy *proxy);
    void (*close)(struct tutti_proxy *proxy);
};
extern const struct tutti_path tutti_near_host, tutti_near_device, tutti_far_wire;

struct tutti_proxy {
    struct tutti_ring *ring;
    struct tutti_shmem *space; /* for the following fields; NULL: none of them needs it */
    const struct tshmem_state *state;
    char *const *heaps;                  /* [PEs], as mapped here; NULL: those of the state, [PEs] */
    const _Atomic uint64_t *mapped;      /* bytes of each heap that exist; NULL: all of state->heap_bytes */
    const struct tutti_path *near, *far; /* far NULL: there is no wire */
    void *near_with, *far_with;          /* theirs */
    struct tutti_shmem_wire *wire;       /* of the far path; see wire/wire.h */
    int wire_by_any;                     /* 1: the poller's thread may call its transport */
    /* Near paths: operations of the host on heaps. On a GPU: launch of an atomic, all of args but `what` set. */
    const struct tutti_shmem_kind *kind;
    const struct tutti_device *device;
    int gpu;
    int (*launch)(struct tutti_shmem *space, struct tutti_stream *stream, int operation, size_t bytes,
                  struct tutti_amo_args *args);
    ptrdiff_t shift; /* translates a value of a request from the host's address to the kernels' */
};

/* Heap of that PE as mapped here; NULL: far. */
static inline char *tutti_proxy_heap(const struct tutti_proxy *proxy, int pe)
{
    return proxy->heaps ? proxy->heaps[pe] : proxy->state->peer[pe];
}

/* Local. Opens the paths, and registers the operations of the address space (enum tshmem_ring_operation) on the server,
 * whose ring becomes the proxy's. close: also after a failed open. */
int tutti_proxy_open(struct tutti_proxy *proxy, struct tutti_ring_server *server);
void tutti_proxy_close(struct tutti_proxy *proxy);

/* The part of a ring that kernels read. Cutovers and the rest become zero. */
static inline void tutti_proxy_publish(const struct tutti_ring_kernel_view *view, struct tshmem_ring_state *out)
{
    *out = (struct tshmem_ring_state){.slots = view->slots,
                                      .shift = view->shift,
                                      .request = view->slot,
                                      .completion = view->completion,
                                      .progress = view->progress,
                                      .own = view->counters};
}

/* cutover.c: the thresholds by the rules. Returns 1 if there is any. */
int tutti_cutovers(uint64_t cutover[TSHMEM_CUTS][TSHMEM_GROUPS]);

#endif
