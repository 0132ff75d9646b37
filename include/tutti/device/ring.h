/* The ring: requests of kernels to the host (tutti/ring_state.h), for PEs that they do not reach and where copy
 * engines are faster. One addition reserves a slot. Each word of a request carries the turn of its slot, so it shows by
 * itself that it has arrived. A thread waits only for a completion that it needs, or for room when the ring is full.
 * One thread of a group makes the request; plain loads and stores never use the ring. */
#ifndef TUTTI_DEVICE_RING_H
#define TUTTI_DEVICE_RING_H

/* The first words are as in the ring. Of them `first` and `completion` are set when a request is sent from memory. */
struct tutti_dev_request {
    uint64_t first, dest, source, bytes, value, compare, extra, completion;
    int operation, what, pe;
    unsigned size;
    const tutti_dev_u8 *from; /* bytes that the request does not contain yet */
    size_t left;
};

/* Which of the thresholds holds for a group. */
TUTTI_DEV int tutti_dev_group_size(int group)
{
    const size_t size = group == TUTTI_BY_THREAD ? 1 : tutti_dev_size(group);
    return size == 1     ? TSHMEM_GROUP_1
           : size <= 32  ? TSHMEM_GROUP_32
           : size <= 128 ? TSHMEM_GROUP_128
                         : TSHMEM_GROUP_1024;
}

/* With a ring: 1 if a transfer of so many bytes goes by it. Few programs have one. */
TUTTI_DEV_APART int tutti_dev_is_cut(int group, int cut, size_t bytes)
{
    return bytes > tutti_dev_state()->ring.cutover[cut][tutti_dev_group_size(group)] - 1;
}

/* 1 if a transfer of so many bytes, which loads and stores may do (near), goes by the ring all the same. */
TUTTI_DEV int tutti_dev_by_ring(int group, int cut, int near, size_t bytes)
{
    if (!near)
        return 1;
    return tutti_dev_state()->ring.slots != 0 && tutti_dev_is_cut(group, cut, bytes);
}

/* tutti_dev_find() for elements (`which` 0), and for atomics and signals: NULL if the ring has them. */
TUTTI_DEV char *tutti_dev_near(const void *address, int pe, int atomics)
{
    char *const at = tutti_dev_find(address, pe);
    return at && !(atomics ? tutti_dev_state()->ring.atomics : tutti_dev_state()->ring.elements) ? at : NULL;
}

/* A request that cannot be made says why. */
TUTTI_DEV_COLD void tutti_dev_ring_refuse(int operation, const void *address, uint64_t bytes, int pe)
{
    const struct tshmem_state *const state = tutti_dev_state();
    int reason = TSHMEM_WHY_NO_PE;
    if (TUTTI_DEV_KNOWN(state) && (unsigned)pe < (unsigned)state->pes)
        reason = (uint64_t)((uintptr_t)address - (uintptr_t)state->heap) >= state->heap_bytes ? TSHMEM_WHY_NOT_SYMMETRIC
                                                                                              : TSHMEM_WHY_NO_WAY;
    tutti_dev_refuse(operation, reason, pe, -1, (uint64_t)(uintptr_t)address, bytes);
}

/* Offset of the object at that PE, for a request; 0 if there is no such PE, address or ring, which is a failure of
 * `operation`. */
TUTTI_DEV int tutti_dev_ring_offset(int operation, const void *address, uint64_t bytes, int pe, uint64_t *offset)
{
    const struct tshmem_state *const state = tutti_dev_state();
    const int known = TUTTI_DEV_KNOWN(state);
    *offset = known ? (uint64_t)((uintptr_t)address - (uintptr_t)state->heap) : 0;
    if (known && state->ring.slots && (unsigned)pe < (unsigned)state->pes && *offset < state->heap_bytes)
        return 1;
    tutti_dev_ring_refuse(operation, address, bytes, pe);
    return 0;
}

/* Waits until the request has room. One of 32 that wait asks the host, whose memory is far, and publishes the answer to
 * the others; they ask seldom. 0: the wait was left. */
TUTTI_DEV int tutti_dev_ring_room(const struct tshmem_ring_state *ring, uint64_t sequence)
{
    struct tutti_dev_patience patience = {0, 0};
    for (;;) {
        if (sequence % 32 == 0 || patience.spins % 64 == 63)
            tutti_dev_store_relaxed64(&ring->own->consumed, tutti_dev_load_acquire64(&ring->progress->consumed));
        if (sequence - tutti_dev_load_acquire64(&ring->own->consumed) < ring->slots)
            return 1;
        if (tutti_dev_leave(&patience, TSHMEM_KERNEL_REQUEST, &ring->progress->consumed))
            return 0;
    }
}

TUTTI_DEV uint64_t tutti_dev_ring_first(const struct tutti_dev_request *r)
{
    const uint32_t low = (uint32_t)r->operation | (uint32_t)r->what << 8 | (uint32_t)r->pe << 16;
    const uint32_t high = r->size | (uint32_t)(r->value >> 56) << 8 | (uint32_t)(r->compare >> 56) << 16;
    return (uint64_t)high << 32 | low;
}

/* Takes a slot of the ring: its words, and its turn; NULL: the wait for one was left. Four times a turn a request looks
 * how far the host is, so that those after it need not. */
TUTTI_DEV uint64_t *tutti_dev_ring_slot(uint64_t *turn)
{
    const struct tshmem_ring_state *const ring = &tutti_dev_state()->ring;
    const uint64_t consumed = tutti_dev_load_relaxed64(&ring->own->consumed);
    const uint64_t sequence = tutti_dev_add64(&ring->own->next, 1);
    if (sequence - consumed >= ring->slots && !tutti_dev_ring_room(ring, sequence))
        return NULL;
    if ((sequence & (ring->slots / 4 - 1)) == 0)
        tutti_dev_store_relaxed64(&ring->own->consumed, tutti_dev_load_acquire64(&ring->progress->consumed));
    *turn = ((sequence >> ring->shift) + 1) & 0xff;
    return ring->request[sequence & (ring->slots - 1)].word;
}

/* Puts a request into the ring; completion: index and tag, 0: none. 0: the wait for a slot was left. */
TUTTI_DEV_APART int tutti_dev_ring_send(const struct tutti_dev_request *r, uint64_t completion)
{
    uint64_t turn = 0, *const word = tutti_dev_ring_slot(&turn);
    if (!word)
        return 0;
    tutti_dev_store_pair(&word[0], tutti_dev_ring_first(r) << 8 | turn, r->dest << 8 | turn);
    tutti_dev_store_pair(&word[2], r->source << 8 | turn, r->bytes << 8 | turn);
    tutti_dev_store_pair(&word[4], r->value << 8 | turn, r->compare << 8 | turn);
    tutti_dev_store_pair(&word[6], r->extra << 8 | turn, completion << 8 | turn);
    return 1;
}

/* The same out of memory, for calls whose kernels have few registers left. */
TUTTI_DEV_APART int tutti_dev_ring_send_kept(struct tutti_dev_request *r, uint64_t completion)
{
    r->first = tutti_dev_ring_first(r);
    r->completion = completion;
    tutti_dev_keep(r);
    uint64_t turn = 0, *word = tutti_dev_ring_slot(&turn);
    TUTTI_DEV_UNROLL_1
    for (unsigned i = 0; word && i < 8; i += 2, word += 2) {
        const uint64_t *const pair = (const uint64_t *)(const void *)((const char *)r + 8 * i);
        tutti_dev_store_pair(word, pair[0] << 8 | turn, pair[1] << 8 | turn);
    }
    return word != NULL;
}

/* A completion for a request: index below, tag from bit 24 on; 0: the wait for one was left. */
TUTTI_DEV uint64_t tutti_dev_ring_claim(const struct tshmem_ring_state *ring)
{
    struct tutti_dev_patience patience = {0, 0};
    for (uint32_t i = tutti_dev_spread();; i++) {
        const uint32_t index = i % TUTTI_RING_COMPLETIONS, was = tutti_dev_or32(&ring->own->taken[index], 1);
        if ((was & 1) == 0)
            return (uint64_t)((was >> 1) + 1) << 24 | index;
        if (tutti_dev_leave(&patience, TSHMEM_KERNEL_REQUEST, &ring->own->taken[index]))
            return 0;
    }
}

/* Sends it, waits until it is done, and returns its answer. Where the wait was left the completion stays taken:
 * the host may still write it. */
TUTTI_DEV_APART uint64_t tutti_dev_ring_call(struct tutti_dev_request *r)
{
    const struct tshmem_ring_state *const ring = &tutti_dev_state()->ring;
    tutti_dev_keep(r);
    const uint64_t completion = tutti_dev_ring_claim(ring);
    const uint32_t index = (uint32_t)completion & 0xffffff, tag = (uint32_t)(completion >> 24);
    struct tutti_dev_patience patience = {0, 0};
    tutti_dev_u64 low, high;
    if (tag == 0 || !tutti_dev_ring_send_kept(r, completion))
        return 0;
    for (;;) {
        tutti_dev_load_pair_acquire(ring->completion[index].word, &low, &high);
        if (low >> 32 == tag && high >> 32 == tag)
            break;
        if (tutti_dev_leave(&patience, TSHMEM_KERNEL_REQUEST, ring->completion[index].word))
            return 0;
    }
    /* What it brought is in registers: nothing of this thread must be seen before the next one may take it. */
    tutti_dev_store_relaxed32(&ring->own->taken[index], tag << 1);
    return (low & 0xffffffffu) | high << 32;
}

/* Waits until all requests of this GPU so far are complete; costs almost nothing without requests. */
TUTTI_DEV_APART void tutti_dev_ring_drain(void)
{
    const struct tshmem_ring_state *const ring = &tutti_dev_state()->ring;
    struct tutti_dev_patience patience = {0, 0};
    const uint64_t next = tutti_dev_load_relaxed64(&ring->own->next);
    uint64_t completed = tutti_dev_load_acquire64(&ring->own->completed);
    if ((int64_t)(completed - next) >= 0)
        return;
    while ((int64_t)((completed = tutti_dev_load_acquire64(&ring->progress->completed)) - next) < 0) {
        if (tutti_dev_leave(&patience, TSHMEM_KERNEL_QUIET, &ring->progress->completed))
            return;
    }
    tutti_dev_store_release64(&ring->own->completed, completed);
}

/* By all threads of the group; what they have asked for is complete for all of them after their next wait for each
 * other. */
TUTTI_DEV void tutti_dev_drain(int group)
{
    const struct tshmem_state *const state = tutti_dev_state();
    if (!TUTTI_DEV_KNOWN(state) || state->ring.slots == 0)
        return;
    tutti_dev_join(group);
    if (tutti_dev_rank(group) == 0)
        tutti_dev_ring_drain();
}

/* ---- by one thread; dest or source of the other PE is symmetric ---- */

/* At most 16 bytes, in registers. */
TUTTI_DEV void tutti_dev_ring_put_value(uint64_t offset, uint64_t low, uint64_t high, size_t bytes, int pe)
{
    struct tutti_dev_request r = TUTTI_DEV_ZERO;
    r.operation = TSHMEM_RING_PUT_VALUE;
    r.pe = pe;
    r.dest = offset;
    r.bytes = bytes;
    r.value = low;
    r.compare = high;
    tutti_dev_ring_send(&r, 0);
}

/* At most 8 bytes. */
TUTTI_DEV uint64_t tutti_dev_ring_get_value(uint64_t offset, size_t bytes, int pe)
{
    struct tutti_dev_request r = TUTTI_DEV_ZERO;
    r.operation = TSHMEM_RING_GET_VALUE;
    r.pe = pe;
    r.source = offset;
    r.bytes = bytes;
    return tutti_dev_ring_call(&r);
}

/* Up to 8 bytes, of any alignment: from the last one on, for which the fewest registers are enough. */
TUTTI_DEV uint64_t tutti_dev_ring_bytes(const tutti_dev_u8 *from, unsigned bytes)
{
    uint64_t value = 0;
    TUTTI_DEV_UNROLL_1
    while (bytes-- > 0)
        value = value << 8 | from[bytes];
    return value;
}

/* Any number of bytes, out of any memory of the kernel, by requests that contain them. r: the PE, and the offset that
 * the next bytes go to. */
TUTTI_DEV void tutti_dev_ring_put_values(struct tutti_dev_request *r, const void *source, size_t bytes)
{
    r->operation = TSHMEM_RING_PUT_VALUE;
    r->from = (const tutti_dev_u8 *)source;
    r->left = bytes;
    TUTTI_DEV_UNROLL_1
    while (r->left > 0) {
        const unsigned part = r->left < 16 ? (unsigned)r->left : 16;
        r->bytes = part;
        r->value = tutti_dev_ring_bytes(r->from, part < 8 ? part : 8);
        r->compare = 0;
        tutti_dev_keep(r);
        if (part > 8)
            r->compare = tutti_dev_ring_bytes(r->from + 8, part - 8);
        tutti_dev_ring_send_kept(r, 0);
        tutti_dev_keep(r);
        r->dest += r->bytes;
        r->from += r->bytes;
        r->left -= (size_t)r->bytes;
    }
}

/* Blocking: `source` may be used again afterwards. */
TUTTI_DEV_APART void tutti_dev_ring_put(void *dest, const void *source, size_t bytes, int pe, int blocking)
{
    struct tutti_dev_request r = TUTTI_DEV_ZERO;
    if (!tutti_dev_ring_offset(TSHMEM_KERNEL_PUT, dest, bytes, pe, &r.dest))
        return;
    r.pe = pe;
    if (bytes <= 16 || !tutti_dev_host_finds(source)) {
        tutti_dev_ring_put_values(&r, source, bytes);
        return;
    }
    r.operation = TSHMEM_RING_PUT;
    r.source = (uint64_t)(uintptr_t)source;
    r.bytes = bytes;
    tutti_dev_keep(&r);
    tutti_dev_fence(); /* what the group has stored into `source` */
    if (blocking)
        tutti_dev_ring_call(&r);
    else
        tutti_dev_ring_send_kept(&r, 0);
}

TUTTI_DEV_APART void tutti_dev_ring_get(void *dest, const void *source, size_t bytes, int pe, int blocking)
{
    struct tutti_dev_request r = TUTTI_DEV_ZERO;
    if (!tutti_dev_ring_offset(TSHMEM_KERNEL_GET, source, bytes, pe, &r.source))
        return;
    r.pe = pe;
    if (bytes <= 8 || !tutti_dev_host_finds(dest)) {
        r.operation = TSHMEM_RING_GET_VALUE;
        TUTTI_DEV_UNROLL_1
        for (size_t at = 0; at < bytes; at += 8, r.source += 8) {
            r.bytes = bytes - at < 8 ? bytes - at : 8;
            uint64_t value = tutti_dev_ring_call(&r);
            TUTTI_DEV_UNROLL_1
            for (size_t i = at; i < at + 8 && i < bytes; i++, value >>= 8)
                ((tutti_dev_u8 *)dest)[i] = (tutti_dev_u8)value;
        }
        return;
    }
    r.operation = TSHMEM_RING_GET;
    r.dest = (uint64_t)(uintptr_t)dest;
    r.bytes = bytes;
    tutti_dev_fence(); /* what was stored into `dest` is visible before */
    if (blocking)
        tutti_dev_ring_call(&r);
    else
        tutti_dev_ring_send_kept(&r, 0);
}

/* n blocks of `block` elements of `bytes` bytes, as tutti_dev_copy_blocks(); get 0: put. Done on return. */
TUTTI_DEV_APART void tutti_dev_ring_blocks(int get, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                           size_t block, size_t n, size_t bytes, int pe)
{
    struct tutti_dev_request r = TUTTI_DEV_ZERO;
    const void *const own = get ? dest : source;
    if (!tutti_dev_ring_offset(get ? TSHMEM_KERNEL_GET_BLOCKS : TSHMEM_KERNEL_PUT_BLOCKS, get ? source : dest,
                               n * block * bytes, pe, get ? &r.source : &r.dest))
        return;
    if (!tutti_dev_host_finds(own)) {
        TUTTI_DEV_UNROLL_1
        for (size_t i = 0; i < n * block; i++) {
            const ptrdiff_t number = (ptrdiff_t)(i / block), in = (ptrdiff_t)(i % block), step = (ptrdiff_t)bytes;
            char *const to = (char *)dest + (number * dst + in) * step;
            const char *const from = (const char *)source + (number * sst + in) * step;
            if (get)
                tutti_dev_ring_get(to, from, bytes, pe, 1);
            else
                tutti_dev_ring_put(to, from, bytes, pe, 1);
        }
        return;
    }
    if (get)
        r.dest = (uint64_t)(uintptr_t)own;
    else
        r.source = (uint64_t)(uintptr_t)own;
    r.operation = get ? TSHMEM_RING_GET_BLOCKS : TSHMEM_RING_PUT_BLOCKS;
    r.pe = pe;
    r.bytes = n;
    r.value = (uint64_t)dst;
    r.compare = (uint64_t)sst;
    r.extra = block;
    r.size = (unsigned)bytes;
    tutti_dev_fence();
    tutti_dev_ring_call(&r);
}

/* bytes 0: the signal alone, behind what was stored before. Blocking: `source` may be used again afterwards. */
TUTTI_DEV_APART void tutti_dev_ring_put_signal(void *dest, const void *source, size_t bytes, uint64_t *signal,
                                               uint64_t value, int operation, int pe, int blocking)
{
    struct tutti_dev_request r = TUTTI_DEV_ZERO;
    const int call = bytes ? TSHMEM_KERNEL_PUT_SIGNAL : TSHMEM_KERNEL_SIGNAL;
    if (!tutti_dev_ring_offset(call, signal, sizeof *signal, pe, &r.compare) ||
        (bytes && !tutti_dev_ring_offset(call, dest, bytes, pe, &r.dest)))
        return;
    r.pe = pe;
    if (bytes && !tutti_dev_host_finds(source)) { /* goes value by value, and the signal behind it */
        const uint64_t at = r.compare;
        tutti_dev_ring_put_values(&r, source, bytes);
        tutti_dev_ring_drain();
        r.compare = at;
        bytes = 0;
    }
    r.operation = TSHMEM_RING_PUT_SIGNAL;
    r.what = operation;
    r.source = (uint64_t)(uintptr_t)source;
    r.bytes = bytes;
    r.value = value;
    tutti_dev_keep(&r);
    tutti_dev_fence();
    if (bytes && blocking)
        tutti_dev_ring_call(&r);
    else
        tutti_dev_ring_send_kept(&r, 0);
}

TUTTI_DEV_APART uint64_t tutti_dev_ring_amo(int operation, void *dest, size_t bytes, uint64_t value, uint64_t compare,
                                            int pe, int fetching)
{
    struct tutti_dev_request r = TUTTI_DEV_ZERO;
    if (!tutti_dev_ring_offset(TSHMEM_KERNEL_AMO, dest, bytes, pe, &r.dest))
        return 0;
    r.operation = TSHMEM_RING_AMO;
    r.what = operation;
    r.pe = pe;
    r.size = (unsigned)bytes;
    r.value = value;
    r.compare = compare;
    if (fetching)
        return tutti_dev_ring_call(&r);
    tutti_dev_ring_send(&r, 0);
    return 0;
}

#endif
