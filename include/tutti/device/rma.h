/* Put, get, signals and their order: loads and stores of the peer's memory by the group, or a request to the host
 * (ring.h).
 *
 * A group's call begins with a wait for its threads, so that it reads what each of them had stored; blocking ones end
 * with one, so that buffers may be used again. */
#ifndef TUTTI_DEVICE_RMA_H
#define TUTTI_DEVICE_RMA_H

/* What this group's threads have stored, and asked for, is everywhere before what they do next. One fence of the
 * leader, past a wait for the others: fences of many warps that have stored one after the other wait for each other's
 * stores. */
TUTTI_DEV void tutti_dev_quiet(int group)
{
    tutti_dev_drain(group);
    tutti_dev_join(group);
    if (tutti_dev_rank(group) == 0)
        tutti_dev_fence();
    tutti_dev_join(group);
}

/* A thread that sees the next store of this group's threads also sees their earlier stores and requests. */
TUTTI_DEV void tutti_dev_order(int group)
{
    tutti_dev_drain(group);
    tutti_dev_join(group);
    if (tutti_dev_rank(group) == 0)
        tutti_dev_fence_release();
    tutti_dev_join(group);
}

/* 1 if that thread of a group has some of a copy's bytes; an answer of 1 too many costs time alone. Bytes are dealt out
 * in words of 16 bytes where both sides are aligned so, of 4 or more where they are aligned to 4, else of single bytes;
 * less than 16 bytes may go in smaller words (tutti_dev_copy_narrow), which the first 32 threads have. The first thread
 * makes requests, of no bytes too. */
TUTTI_DEV int tutti_dev_has_part(size_t rank, const void *dest, const void *source, size_t bytes)
{
    const unsigned mixed = (unsigned)(uintptr_t)dest | (unsigned)(uintptr_t)source;
    const unsigned part = mixed % 16 == 0 ? 16 : mixed % 4 == 0 ? 4 : 1;
    return rank < 32 || (unsigned)rank * part < bytes;
}

/* The same of this thread, by symmetric addresses: heaps differ by whole words of 16 bytes. Of a large block most warps
 * leave at once, and look for no peer; relocatable code, which has few registers, asks behind the look. Lanes of a warp
 * stay together. */
TUTTI_DEV int tutti_dev_takes_part(int group, const void *dest, const void *source, size_t bytes)
{
    return TUTTI_DEV_FEW || group == TUTTI_BY_THREAD || group == TUTTI_BY_WARP ||
           tutti_dev_has_part(tutti_dev_rank(group), dest, source, bytes);
}

/* Off the way: what a PE puts or gets of its own memory outside the heap is a copy by the threads that take part, of
 * any kind of memory. What else is not reached by loads and stores asks the host. */
#define TUTTI_DEV_OWN_COPY(word)                                                                                       \
    TUTTI_DEV_UNROLL_1                                                                                                 \
    for (size_t i = rank; i < bytes / sizeof(tutti_dev_##word); i += size)                                             \
    ((tutti_dev_##word *)dest)[i] = ((const tutti_dev_##word *)source)[i]
TUTTI_DEV void tutti_dev_own_part(size_t rank, size_t size, void *dest, const void *source, size_t bytes)
{
    const unsigned mixed = (unsigned)(uintptr_t)dest | (unsigned)(uintptr_t)source;
    const unsigned width = mixed % 16 == 0 ? 16 : mixed % 8 == 0 ? 8 : mixed % 4 == 0 ? 4 : 1;
    const size_t end = bytes / width * width; /* an element of 4 or 8 bytes is stored at once */
    if (width == 16)
        TUTTI_DEV_OWN_COPY(u128);
    else if (width == 8)
        TUTTI_DEV_OWN_COPY(u64);
    else if (width == 4)
        TUTTI_DEV_OWN_COPY(u32);
    else
        TUTTI_DEV_OWN_COPY(u8);
    if (rank == 0)
        tutti_dev_copy_rest((char *)dest + end, (const char *)source + end, (unsigned)(bytes - end), 0, 1);
}
#undef TUTTI_DEV_OWN_COPY
TUTTI_DEV_APART void tutti_dev_own_copy(int group, void *dest, const void *source, size_t bytes)
{
    tutti_dev_own_part(tutti_dev_rank(group), tutti_dev_size(group), dest, source, bytes);
}

/* A put's copy waits for memory of this GPU alone, in relocatable code by few registers; a get's for the link: with
 * more loads under way. */
TUTTI_DEV int tutti_dev_move_way(int group, int put)
{
    const int way = tutti_dev_copy_way(group);
    if (TUTTI_DEV_FEW)
        return put && group == TUTTI_BY_BLOCK ? TUTTI_DEV_COPY_TWO : way;
    return !put && way == TUTTI_DEV_COPY_FOUR ? TUTTI_DEV_COPY_EIGHT : way;
}

TUTTI_DEV void tutti_dev_move(int group, void *dest, const void *source, size_t bytes, int put)
{
    if (!TUTTI_DEV_FEW || group == TUTTI_BY_THREAD || tutti_dev_has_part(tutti_dev_rank(group), dest, source, bytes))
        tutti_dev_copy_by(group, dest, source, bytes, tutti_dev_move_way(group, put));
}

TUTTI_DEV void tutti_dev_put(int group, void *dest, const void *source, size_t bytes, int pe, int blocking)
{
    tutti_dev_join(group);
    if (tutti_dev_takes_part(group, dest, source, bytes)) {
        char *to;
        const int near = tutti_dev_reaches(dest, pe, &to);
        if (!tutti_dev_by_ring(group, TSHMEM_CUT_PUT, near, bytes))
            tutti_dev_move(group, tutti_dev_global(to), source, bytes, 1);
        else if (tutti_dev_is_own(dest, pe))
            tutti_dev_own_copy(group, dest, source, bytes);
        else if (tutti_dev_rank(group) == 0)
            tutti_dev_ring_put(dest, source, bytes, pe, blocking);
    }
    if (blocking)
        tutti_dev_join(group);
}

TUTTI_DEV void tutti_dev_get(int group, void *dest, const void *source, size_t bytes, int pe, int blocking)
{
    tutti_dev_join(group);
    if (tutti_dev_takes_part(group, dest, source, bytes)) {
        char *from;
        const int near = tutti_dev_reaches(source, pe, &from);
        if (!tutti_dev_by_ring(group, TSHMEM_CUT_GET, near, bytes))
            tutti_dev_move(group, dest, tutti_dev_global(from), bytes, 0);
        else if (tutti_dev_is_own(source, pe))
            tutti_dev_own_copy(group, dest, source, bytes);
        else if (tutti_dev_rank(group) == 0)
            tutti_dev_ring_get(dest, source, bytes, pe, blocking);
    }
    if (blocking)
        tutti_dev_join(group);
}

/* One element after the other, dealt out to the threads. */
TUTTI_DEV_APART void tutti_dev_own_blocks(int group, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                          size_t block, size_t n, size_t bytes)
{
    const ptrdiff_t step = (ptrdiff_t)bytes;
    TUTTI_DEV_UNROLL_1
    for (size_t i = tutti_dev_rank(group); i < n * block; i += tutti_dev_size(group)) {
        const ptrdiff_t number = (ptrdiff_t)(i / block), in = (ptrdiff_t)(i % block);
        tutti_dev_own_copy(TUTTI_BY_THREAD, (char *)dest + (number * dst + in) * step,
                           (const char *)source + (number * sst + in) * step, bytes);
    }
}

TUTTI_DEV void tutti_dev_put_blocks(int group, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                    size_t block, size_t n, size_t bytes, int pe)
{
    char *const to = tutti_dev_near(dest, pe, 0);
    tutti_dev_join(group);
    if (to)
        tutti_dev_copy_blocks(group, to, source, dst, sst, block, n, bytes);
    else if (tutti_dev_is_own(dest, pe))
        tutti_dev_own_blocks(group, dest, source, dst, sst, block, n, bytes);
    else if (tutti_dev_rank(group) == 0)
        tutti_dev_ring_blocks(0, dest, source, dst, sst, block, n, bytes, pe);
    tutti_dev_join(group);
}

TUTTI_DEV void tutti_dev_get_blocks(int group, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                    size_t block, size_t n, size_t bytes, int pe)
{
    const char *const from = tutti_dev_near(source, pe, 0);
    tutti_dev_join(group);
    if (from)
        tutti_dev_copy_blocks(group, dest, from, dst, sst, block, n, bytes);
    else if (tutti_dev_is_own(source, pe))
        tutti_dev_own_blocks(group, dest, source, dst, sst, block, n, bytes);
    else if (tutti_dev_rank(group) == 0)
        tutti_dev_ring_blocks(1, dest, source, dst, sst, block, n, bytes, pe);
    tutti_dev_join(group);
}

/* An element of own memory that is in no heap: plain stores and loads, of any kind of memory. */
TUTTI_DEV void tutti_dev_store_own(void *dest, uint64_t low, uint64_t high, unsigned bytes)
{
    if (bytes == 1)
        *(tutti_dev_u8 *)dest = (tutti_dev_u8)low;
    else if (bytes == 2)
        *(tutti_dev_u16 *)dest = (tutti_dev_u16)low;
    else if (bytes == 4)
        *(tutti_dev_u32 *)dest = (tutti_dev_u32)low;
    else
        *(tutti_dev_u64 *)dest = low;
    if (bytes == 16)
        ((tutti_dev_u64 *)dest)[1] = high;
}

TUTTI_DEV uint64_t tutti_dev_load_own(const void *source, unsigned bytes)
{
    return bytes == 1   ? *(const tutti_dev_u8 *)source
           : bytes == 2 ? *(const tutti_dev_u16 *)source
           : bytes == 4 ? *(const tutti_dev_u32 *)source
                        : *(const tutti_dev_u64 *)source;
}

/* One element by the ring, in registers: what has an address lies in memory, on all ways. */
TUTTI_DEV_APART void tutti_dev_ring_element(void *dest, uint64_t low, uint64_t high, unsigned bytes, int pe)
{
    uint64_t offset;
    if (tutti_dev_is_own(dest, pe))
        tutti_dev_store_own(dest, low, high, bytes);
    else if (tutti_dev_ring_offset(TSHMEM_KERNEL_P, dest, bytes, pe, &offset))
        tutti_dev_ring_put_value(offset, low, high, bytes, pe);
}

/* One element, of 1, 2, 4 or 8 bytes, which appear at once: peers may wait for it. It has a size of
 * a type, thus up to 16 bytes. */
TUTTI_DEV void tutti_dev_p(void *dest, const void *value, size_t bytes, int pe)
{
    char *const to = tutti_dev_near(dest, pe, 0);
    const uint64_t low = bytes >= 8   ? *(const tutti_dev_u64 *)value
                         : bytes == 4 ? *(const tutti_dev_u32 *)value
                         : bytes == 2 ? *(const tutti_dev_u16 *)value
                                      : *(const tutti_dev_u8 *)value;
    const uint64_t high = bytes == 16 ? ((const tutti_dev_u64 *)value)[1] : 0;
    if (!to)
        tutti_dev_ring_element(dest, low, high, (unsigned)bytes, pe);
    else if (bytes == 4)
        tutti_dev_store_relaxed32(to, (tutti_dev_u32)low);
    else if (bytes == 2)
        tutti_dev_store_relaxed16(to, (tutti_dev_u16)low);
    else if (bytes == 1)
        tutti_dev_store_relaxed8(to, (tutti_dev_u8)low);
    else
        tutti_dev_store_relaxed64(to, low);
    if (to && bytes == 16)
        tutti_dev_store_relaxed64(to + 8, high);
}

/* Up to 8 bytes by the ring. */
TUTTI_DEV_APART uint64_t tutti_dev_ring_fetch(const void *source, unsigned bytes, int pe)
{
    uint64_t offset;
    if (tutti_dev_is_own(source, pe))
        return tutti_dev_load_own(source, bytes);
    return tutti_dev_ring_offset(TSHMEM_KERNEL_G, source, bytes, pe, &offset)
               ? tutti_dev_ring_get_value(offset, bytes, pe)
               : 0;
}

TUTTI_DEV void tutti_dev_g(void *value, const void *source, size_t bytes, int pe)
{
    const char *const from = tutti_dev_near(source, pe, 0);
    const unsigned part = bytes == 16 ? 8 : (unsigned)bytes;
    const uint64_t low = !from        ? tutti_dev_ring_fetch(source, part, pe)
                         : bytes == 4 ? tutti_dev_load_relaxed32(from)
                         : bytes == 2 ? tutti_dev_load_relaxed16(from)
                         : bytes == 1 ? tutti_dev_load_relaxed8(from)
                                      : tutti_dev_load_relaxed64(from);
    if (bytes == 16)
        ((tutti_dev_u64 *)value)[1] =
            from ? tutti_dev_load_relaxed64(from + 8) : tutti_dev_ring_fetch((const char *)source + 8, part, pe);
    if (bytes == 4)
        *(tutti_dev_u32 *)value = (tutti_dev_u32)low;
    else if (bytes == 2)
        *(tutti_dev_u16 *)value = (tutti_dev_u16)low;
    else if (bytes == 1)
        *(tutti_dev_u8 *)value = (tutti_dev_u8)low;
    else
        *(tutti_dev_u64 *)value = low;
}

TUTTI_DEV_APART void tutti_dev_signal_apart(uint64_t *signal, uint64_t value, int operation, int pe)
{
    if (!tutti_dev_is_own(signal, pe)) {
        tutti_dev_ring_put_signal(NULL, NULL, 0, signal, value, operation, pe, 0);
        return;
    }
    tutti_dev_fence();
    if (operation == TSHMEM_SIGNAL_ADD)
        tutti_dev_own_amo(TSHMEM_AMO_ADD, signal, sizeof *signal, value, 0);
    else
        *(volatile tutti_dev_u64 *)signal = value;
}

/* By the leader, after its group has stored everything: a PE that sees the signal sees the data. at: the signal at that
 * PE; NULL: the ring sets it. */
TUTTI_DEV void tutti_dev_signal_at(char *at, uint64_t *signal, uint64_t value, int operation, int pe)
{
    if (!at)
        tutti_dev_signal_apart(signal, value, operation, pe);
    else if (operation == TSHMEM_SIGNAL_ADD)
        tutti_dev_add_release64(at, value);
    else
        tutti_dev_store_release64(at, value);
}

TUTTI_DEV void tutti_dev_signal(uint64_t *signal, uint64_t value, int operation, int pe)
{
    tutti_dev_signal_at(tutti_dev_near(signal, pe, 1), signal, value, operation, pe);
}

/* The leader looks for the signal once its group has stored everything, unless a request to the host sets it. */
TUTTI_DEV void tutti_dev_put_signal(int group, void *dest, const void *source, size_t bytes, uint64_t *signal,
                                    uint64_t value, int operation, int pe, int blocking)
{
    int asked = 0;
    tutti_dev_join(group);
    if (tutti_dev_takes_part(group, dest, source, bytes)) {
        char *to;
        const int near = tutti_dev_reaches(dest, pe, &to);
        if (!tutti_dev_by_ring(group, TSHMEM_CUT_PUT, near, bytes)) {
            tutti_dev_move(group, tutti_dev_global(to), source, bytes, 1);
        } else if (tutti_dev_is_own(dest, pe) || tutti_dev_is_own(signal, pe)) {
            tutti_dev_own_copy(group, dest, source, bytes);
        } else if (tutti_dev_rank(group) == 0) {
            tutti_dev_ring_put_signal(dest, source, bytes, signal, value, operation, pe, blocking);
            asked = 1;
        }
    }
    tutti_dev_join(group);
    if (tutti_dev_rank(group) == 0 && !asked)
        tutti_dev_signal(signal, value, operation, pe);
}

#endif
