/* Put, get, signals and their order: loads and stores of the peer's memory by the group, or a request to the host
 * (ring.h).
 *
 * A group's call begins with a wait for its threads, so that it reads what each of them had stored; blocking ones end
 * with one, so that buffers may be used again. */
#ifndef TUTTI_DEVICE_RMA_H
#define TUTTI_DEVICE_RMA_H

/* Order and completion are one thing here: what this group's threads have stored, and asked for, is everywhere before
 * what they do next. */
TUTTI_DEV void tutti_dev_quiet(int group)
{
    tutti_dev_drain(group);
    tutti_dev_fence();
    tutti_dev_sync(group, 0);
}

TUTTI_DEV void tutti_dev_put(int group, void *dest, const void *source, size_t bytes, int pe, int blocking)
{
    char *const to = tutti_dev_find(dest, pe);
    tutti_dev_sync(group, 0);
    if (!tutti_dev_by_ring(group, TSHMEM_CUT_PUT, to, bytes))
        tutti_dev_copy(group, to, source, bytes);
    else if (tutti_dev_rank(group) == 0)
        tutti_dev_ring_put(dest, source, bytes, pe, blocking);
    if (blocking)
        tutti_dev_sync(group, 0);
}

TUTTI_DEV void tutti_dev_get(int group, void *dest, const void *source, size_t bytes, int pe, int blocking)
{
    const char *const from = tutti_dev_find(source, pe);
    tutti_dev_sync(group, 0);
    if (!tutti_dev_by_ring(group, TSHMEM_CUT_GET, from, bytes))
        tutti_dev_copy(group, dest, from, bytes);
    else if (tutti_dev_rank(group) == 0)
        tutti_dev_ring_get(dest, source, bytes, pe, blocking);
    if (blocking)
        tutti_dev_sync(group, 0);
}

TUTTI_DEV void tutti_dev_put_blocks(int group, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                    size_t block, size_t n, size_t bytes, int pe)
{
    char *const to = tutti_dev_near(dest, pe, 0);
    tutti_dev_sync(group, 0);
    if (to)
        tutti_dev_copy_blocks(group, to, source, dst, sst, block, n, bytes);
    else if (tutti_dev_rank(group) == 0)
        tutti_dev_ring_blocks(0, dest, source, dst, sst, block, n, bytes, pe);
    tutti_dev_sync(group, 0);
}

TUTTI_DEV void tutti_dev_get_blocks(int group, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                    size_t block, size_t n, size_t bytes, int pe)
{
    const char *const from = tutti_dev_near(source, pe, 0);
    tutti_dev_sync(group, 0);
    if (from)
        tutti_dev_copy_blocks(group, dest, from, dst, sst, block, n, bytes);
    else if (tutti_dev_rank(group) == 0)
        tutti_dev_ring_blocks(1, dest, source, dst, sst, block, n, bytes, pe);
    tutti_dev_sync(group, 0);
}

/* One element, whose bytes appear at once where there are 1, 2, 4 or 8 of them: peers may wait for it. */
TUTTI_DEV void tutti_dev_p(void *dest, const void *value, size_t bytes, int pe)
{
    char *const to = tutti_dev_near(dest, pe, 0);
    if (!to)
        tutti_dev_ring_put(dest, value, bytes, pe, 0);
    else if (bytes == 8)
        tutti_dev_store_relaxed64(to, *(const tutti_dev_u64 *)value);
    else if (bytes == 4)
        tutti_dev_store_relaxed32(to, *(const tutti_dev_u32 *)value);
    else if (bytes == 2)
        tutti_dev_store_relaxed16(to, *(const tutti_dev_u16 *)value);
    else if (bytes == 1)
        tutti_dev_store_relaxed8(to, *(const tutti_dev_u8 *)value);
    else
        tutti_dev_copy_one(to, value, bytes);
}

TUTTI_DEV void tutti_dev_g(void *value, const void *source, size_t bytes, int pe)
{
    const char *const from = tutti_dev_near(source, pe, 0);
    if (!from)
        tutti_dev_ring_get(value, source, bytes, pe, 1);
    else if (bytes == 8)
        *(tutti_dev_u64 *)value = tutti_dev_load_relaxed64(from);
    else if (bytes == 4)
        *(tutti_dev_u32 *)value = tutti_dev_load_relaxed32(from);
    else if (bytes == 2)
        *(tutti_dev_u16 *)value = tutti_dev_load_relaxed16(from);
    else if (bytes == 1)
        *(tutti_dev_u8 *)value = tutti_dev_load_relaxed8(from);
    else
        tutti_dev_copy_one(value, from, bytes);
}

/* By the leader, once its group has stored everything: whoever sees the signal sees the data. */
TUTTI_DEV void tutti_dev_signal(uint64_t *signal, uint64_t value, int operation, int pe)
{
    char *const at = tutti_dev_near(signal, pe, 1);
    if (!at) {
        tutti_dev_ring_put_signal(NULL, NULL, 0, signal, value, operation, pe, 0);
        return;
    }
    if (operation == TSHMEM_SIGNAL_ADD)
        tutti_dev_add_release64(at, value);
    else
        tutti_dev_store_release64(at, value);
}

TUTTI_DEV void tutti_dev_put_signal(int group, void *dest, const void *source, size_t bytes, uint64_t *signal,
                                    uint64_t value, int operation, int pe, int blocking)
{
    if (!tutti_dev_by_ring(group, TSHMEM_CUT_PUT, tutti_dev_find(dest, pe), bytes)) {
        tutti_dev_put(group, dest, source, bytes, pe, 1);
        if (tutti_dev_rank(group) == 0)
            tutti_dev_signal(signal, value, operation, pe);
        return;
    }
    tutti_dev_sync(group, 0);
    if (tutti_dev_rank(group) == 0)
        tutti_dev_ring_put_signal(dest, source, bytes, signal, value, operation, pe, blocking);
    if (blocking)
        tutti_dev_sync(group, 0);
}

#endif
