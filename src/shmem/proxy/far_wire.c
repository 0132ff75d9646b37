/* Requests for PEs of other nodes, over the wire (wire/wire.h). They may complete on any thread that polls the wire;
 * the proxy's thread reports them to the ring. */
#include <stdlib.h>

#include "core/status.h"
#include "shmem/proxy/proxy.h"
#include "shmem/wire/wire.h"
#include "tutti/shmem.h"

/* One a slot of the ring. */
struct far_operation {
    struct tutti_wire_op op;
    struct tutti_ring_request *request;
    struct far_operation *next; /* among those that have ended */
};
struct far {
    _Atomic(struct far_operation *) ended;
    struct far_operation *quiet; /* requests that wait until all others are complete */
    struct far_operation operation[];
};

static struct far *far_of(const struct tutti_proxy *proxy)
{
    return proxy->far_with;
}

static int far_wire_open(struct tutti_proxy *proxy)
{
    proxy->far_with = calloc(1, sizeof(struct far) + proxy->ring->slots * sizeof(struct far_operation));
    return proxy->far_with ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

/* The wire has ended before, and with it every operation. */
static void close_far(struct tutti_proxy *proxy)
{
    free(proxy->far_with);
    proxy->far_with = NULL;
}

static void far_wire_operation_ended(struct tutti_wire_op *op, int status)
{
    struct far_operation *mine = (struct far_operation *)op;
    struct far *far = op->ended_with;
    (void)status; /* far_wire_poll() asks for the state */
    mine->next = atomic_load_explicit(&far->ended, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&far->ended, &mine->next, mine, memory_order_release,
                                                  memory_order_relaxed))
        ;
}

static void wire_op_move(struct tutti_wire_op *op, const struct tutti_ring_request *o, int get)
{
    op->what = get ? TUTTI_WIRE_GET : TUTTI_WIRE_PUT;
    op->at = get ? o->source : o->dest;
    op->here = (void *)(uintptr_t)(get ? o->dest : o->source);
    op->n = 1;
    op->block = o->bytes;
    op->bytes = 1;
    op->step = op->here_step = (ptrdiff_t)o->bytes;
}

static void move_value(struct tutti_wire_op *op, struct tutti_ring_request *o, int get)
{
    wire_op_move(op, o, get);
    op->here = o->value;
    op->block = 1;
    op->bytes = o->bytes;
    op->step = op->here_step = 1;
    if (get)
        o->value[0] = 0;
}

static void far_wire_move_blocks(struct tutti_wire_op *op, const struct tutti_ring_request *o, int get)
{
    wire_op_move(op, o, get);
    op->n = o->bytes;
    op->block = o->extra;
    op->bytes = o->size;
    op->step = (ptrdiff_t)o->value[get];
    op->here_step = (ptrdiff_t)o->value[!get];
}

static void wire_op_change(struct tutti_wire_op *op, int amo, uint64_t word, uint32_t bytes, uint64_t value,
                           uint64_t compare)
{
    op->changes = 1;
    op->amo = amo;
    op->word = word;
    op->word_bytes = bytes;
    op->value = value;
    op->compare = compare;
}

/* Completed by far_wire_poll(). */
static int far_wire_begin_quiet(struct far *far, struct far_operation *mine)
{
    mine->next = far->quiet;
    far->quiet = mine;
    return TUTTI_RING_OPEN;
}

static int far_wire_begin(struct tutti_proxy *proxy, struct tutti_ring_request *o, char *at)
{
    struct far *far = far_of(proxy);
    struct far_operation *mine = &far->operation[o - proxy->ring->request];
    struct tutti_wire_op *op = &mine->op;
    (void)at;
    *mine = (struct far_operation){
        .request = o, .op = {.pe = o->pe, .confirmed = 1, .ended = far_wire_operation_ended, .ended_with = far}};
    switch (o->operation) {
    case TSHMEM_RING_QUIET:
        return far_wire_begin_quiet(far, mine);
    case TSHMEM_RING_PUT:
    case TSHMEM_RING_GET:
        wire_op_move(op, o, o->operation == TSHMEM_RING_GET);
        break;
    case TSHMEM_RING_PUT_VALUE:
    case TSHMEM_RING_GET_VALUE:
        move_value(op, o, o->operation == TSHMEM_RING_GET_VALUE);
        break;
    case TSHMEM_RING_PUT_BLOCKS:
    case TSHMEM_RING_GET_BLOCKS:
        far_wire_move_blocks(op, o, o->operation == TSHMEM_RING_GET_BLOCKS);
        break;
    case TSHMEM_RING_PUT_SIGNAL:
        wire_op_move(op, o, 0);
        op->n = o->bytes > 0;
        wire_op_change(op, o->what == TSHMEM_SIGNAL_ADD ? TSHMEM_AMO_ADD : TSHMEM_AMO_SET, o->value[1],
                       sizeof(uint64_t), o->value[0], 0);
        break;
    default: /* TSHMEM_RING_AMO */
        op->what = TUTTI_WIRE_AMO;
        op->fetches = o->tag != 0;
        wire_op_change(op, o->what, o->dest, o->size, o->value[0], o->value[1]);
    }
    const int status = (proxy->wire_by_any ? tutti_wire_begin : tutti_wire_queue)(proxy->wire, op);
    return status == TUTTI_OK ? TUTTI_RING_OPEN : status;
}

static int end_quiet(struct tutti_proxy *proxy)
{
    struct far *far = far_of(proxy);
    const int quiet = far->quiet ? tutti_wire_quiet(proxy->wire, -1) : 0;
    int ended = 0;
    for (; quiet == 1 && far->quiet; ended++) {
        struct far_operation *mine = far->quiet;
        far->quiet = mine->next;
        tutti_ring_done(proxy->ring, mine->request);
    }
    return quiet < 0 ? quiet : ended;
}

/* The number of completed requests, or the status of a failed one. */
static int far_wire_poll(struct tutti_proxy *proxy)
{
    if (proxy->wire_by_any)
        tutti_wire_poll(proxy->wire);
    struct far_operation *mine = atomic_exchange_explicit(&far_of(proxy)->ended, NULL, memory_order_acquire);
    int ended = 0;
    while (mine) {
        struct far_operation *next = mine->next;
        const int state = tutti_wire_state(&mine->op);
        if (state != TUTTI_WIRE_DONE)
            return state;
        if (mine->op.fetches)
            mine->request->value[0] = mine->op.was;
        tutti_ring_done(proxy->ring, mine->request);
        mine = next;
        ended++;
    }
    const int quieted = end_quiet(proxy);
    return quieted < 0 ? quieted : ended + quieted;
}

const struct tutti_path tutti_far_wire = {.name = "of a PE of another node",
                                          .begin = far_wire_begin,
                                          .poll = far_wire_poll,
                                          .open = far_wire_open,
                                          .close = close_far};
