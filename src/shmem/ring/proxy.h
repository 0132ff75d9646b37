/* The proxy: does what kernels of one PE ask for by the ring. A request is looked at, then begun by the path to its PE:
 *
 *     near   the PE's memory is mapped here: the CPU for heaps in host memory, copy engines for heaps on GPUs
 *     far    it is not: a wire to other nodes
 *
 * All of it runs on one thread, which never waits. */
#ifndef TUTTI_SHMEM_PROXY_H
#define TUTTI_SHMEM_PROXY_H

#include <stdatomic.h>

#include "shmem/ring/ring.h"

struct tutti_amo_args;
struct tutti_device;
struct tutti_proxy;
struct tutti_shmem_kind;
struct tutti_stream;
struct tutti_wire;

struct tutti_path {
    const char *name;
    /* As tutti_ring_begin. What OPEN was said of ends with tutti_ring_done(&proxy->ring, operation), when it is
     * complete at the other PE, on the proxy's thread. at: the symmetric side as mapped here; far: NULL, it is the
     * offset that the operation says. Everything has been checked but what lies at this PE. */
    int (*begin)(struct tutti_proxy *proxy, struct tutti_ring_operation *operation, char *at);
    /* Brings on what is open; how much has ended, or a negative status. NULL: nothing ever is. */
    int (*poll)(struct tutti_proxy *proxy);
    /* Before the first and after the last call. Both may be NULL. */
    int (*open)(struct tutti_proxy *proxy);
    void (*close)(struct tutti_proxy *proxy);
};
extern const struct tutti_path tutti_near_host, tutti_near_device, tutti_far_wire;

struct tutti_proxy {
    struct tutti_ring ring;
    const struct tshmem_state *state;
    char *const *heaps;                  /* [PEs], as mapped here; NULL: those of the state, [PEs] */
    const _Atomic uint64_t *mapped;      /* bytes of each heap that are there; NULL: all of state->heap_bytes */
    const struct tutti_path *near, *far; /* far NULL: there is no wire */
    void *near_with, *far_with;          /* theirs */
    struct tutti_wire *wire;             /* of the far path; see wire/wire.h */
    int wire_by_any;                     /* 1: the proxy's thread may call its transport */
    int (*dead)(void);                   /* says which process has died; 0: none. NULL: nobody knows */
    unsigned looks;
    /* Of near paths: how the host works on heaps; of a GPU: how an atomic is launched, all of args but `what` set. */
    const struct tutti_shmem_kind *kind;
    const struct tutti_device *device;
    int gpu;
    int (*launch)(struct tutti_stream *stream, int operation, size_t bytes, struct tutti_amo_args *args);
    void *memory, *seen; /* of the ring, here and as kernels address it */
};

/* Heap of that PE as mapped here; NULL: far. */
static inline char *tutti_proxy_heap(const struct tutti_proxy *proxy, int pe)
{
    return proxy->heaps ? proxy->heaps[pe] : proxy->state->peer[pe];
}

/* One round: how much was begun or has ended; a negative status, said, and the abort word set, where something cannot
 * be done: then nothing is any more. Never waits. `with`: the proxy. */
int tutti_proxy_poll(void *with);

/* cutover.c: the thresholds of the rules. 1 where there is any. */
int tutti_cutovers(uint64_t cutover[TSHMEM_CUTS][TSHMEM_GROUPS]);

#endif
