/* Copies by a group of threads, in the widest words that the alignment of both sides allows. Written here, for nvcc
 * knows only copies of a thread. */
#ifndef TUTTI_DEVICE_COPY_H
#define TUTTI_DEVICE_COPY_H

/* How many loads are under way before the first store. The values 0 and 1 are those of TUTTI_DEV_FEW. */
enum {
    TUTTI_DEV_COPY_FOUR,  /* four */
    TUTTI_DEV_COPY_TWO,   /* two, in fewer registers */
    TUTTI_DEV_COPY_EIGHT, /* eight */
    TUTTI_DEV_COPY_ALONE  /* eight, by a thread that copies alone */
};

/* Copies four words of this thread, `step` words apart; then `in` and `out` are at its next ones. */
#define TUTTI_DEV_COPY_4(word, step)                                                                                   \
    do {                                                                                                               \
        const tutti_dev_##word a = in[0], b = in[step], c = in[2 * (step)], d = in[3 * (step)];                        \
        out[0] = a;                                                                                                    \
        out[step] = b;                                                                                                 \
        out[2 * (step)] = c;                                                                                           \
        out[3 * (step)] = d;                                                                                           \
        in += 4 * (step);                                                                                              \
        out += 4 * (step);                                                                                             \
    } while (0)

/* The same of eight words. */
#define TUTTI_DEV_COPY_8(word, step)                                                                                   \
    do {                                                                                                               \
        const tutti_dev_##word a = in[0], b = in[step], c = in[2 * (step)], d = in[3 * (step)], e = in[4 * (step)],    \
                               f = in[5 * (step)], g = in[6 * (step)], h = in[7 * (step)];                             \
        out[0] = a;                                                                                                    \
        out[step] = b;                                                                                                 \
        out[2 * (step)] = c;                                                                                           \
        out[3 * (step)] = d;                                                                                           \
        out[4 * (step)] = e;                                                                                           \
        out[5 * (step)] = f;                                                                                           \
        out[6 * (step)] = g;                                                                                           \
        out[7 * (step)] = h;                                                                                           \
        in += 8 * (step);                                                                                              \
        out += 8 * (step);                                                                                             \
    } while (0)

/* `n` words, those of this thread; the last ones are loaded at once, too. Two addresses and a count, and nothing else,
 * live past a load. way: TUTTI_DEV_COPY_... */
#define TUTTI_DEV_COPY(word)                                                                                           \
    TUTTI_DEV void tutti_dev_copy_##word(char *to, const char *from, size_t n, size_t rank, size_t size, int way)      \
    {                                                                                                                  \
        tutti_dev_##word *out = (tutti_dev_##word *)(void *)to + rank;                                                 \
        const tutti_dev_##word *in = (const tutti_dev_##word *)(const void *)from + rank;                              \
        if (!TUTTI_DEV_FEW && n <= size) {                                                                             \
            if (rank < n)                                                                                              \
                out[0] = in[0];                                                                                        \
            return;                                                                                                    \
        }                                                                                                              \
        size_t left = n > rank ? n - rank : 0; /* from this thread's next word on */                                   \
        TUTTI_DEV_UNROLL_1                                                                                             \
        for (; way == TUTTI_DEV_COPY_ALONE && left > 7; left -= 8)                                                     \
            TUTTI_DEV_COPY_8(word, 1);                                                                                 \
        TUTTI_DEV_UNROLL_1                                                                                             \
        for (; way == TUTTI_DEV_COPY_EIGHT && left > 7 * size; left -= left > 8 * size ? 8 * size : left)              \
            TUTTI_DEV_COPY_8(word, size);                                                                              \
        TUTTI_DEV_UNROLL_1                                                                                             \
        for (; way != TUTTI_DEV_COPY_TWO && left > 3 * size; left -= left > 4 * size ? 4 * size : left)                \
            TUTTI_DEV_COPY_4(word, size);                                                                              \
        if (way != TUTTI_DEV_COPY_TWO && left > 2 * size) {                                                            \
            const tutti_dev_##word a = in[0], b = in[size], c = in[2 * size];                                          \
            out[0] = a;                                                                                                \
            out[size] = b;                                                                                             \
            out[2 * size] = c;                                                                                         \
            return;                                                                                                    \
        }                                                                                                              \
        TUTTI_DEV_UNROLL_1                                                                                             \
        for (; left > size; left -= left > 2 * size ? 2 * size : left) {                                               \
            const tutti_dev_##word a = in[0], b = in[size];                                                            \
            out[0] = a;                                                                                                \
            out[size] = b;                                                                                             \
            in += 2 * size;                                                                                            \
            out += 2 * size;                                                                                           \
        }                                                                                                              \
        if (left > 0)                                                                                                  \
            out[0] = in[0];                                                                                            \
    }
TUTTI_DEV_COPY(u8)
TUTTI_DEV_COPY(u16)
TUTTI_DEV_COPY(u32)
TUTTI_DEV_COPY(u64)
TUTTI_DEV_COPY(u128)
#undef TUTTI_DEV_COPY
#undef TUTTI_DEV_COPY_8
#undef TUTTI_DEV_COPY_4

/* What is no whole word of 16 bytes, by one thread: words of 1, 2, 4 and 8 bytes, each once at most, all loaded before
 * the first is stored; few: one after the other. up: the small ones first, as the end is what is aligned. */
TUTTI_DEV void tutti_dev_copy_rest(char *to, const char *from, unsigned bytes, int up, int few)
{
    const unsigned at8 = up ? bytes & 7 : 0, at4 = up ? bytes & 3 : bytes & 8;
    const unsigned at2 = up ? bytes & 1 : bytes & 12, at1 = up ? 0 : bytes & 14;
    tutti_dev_u64 d = 0;
    tutti_dev_u32 c = 0;
    tutti_dev_u16 b = 0;
    tutti_dev_u8 a = 0;
    if (few) {
        if (bytes & 8)
            *(tutti_dev_u64 *)(void *)(to + at8) = *(const tutti_dev_u64 *)(const void *)(from + at8);
        if (bytes & 4)
            *(tutti_dev_u32 *)(void *)(to + at4) = *(const tutti_dev_u32 *)(const void *)(from + at4);
        if (bytes & 2)
            *(tutti_dev_u16 *)(void *)(to + at2) = *(const tutti_dev_u16 *)(const void *)(from + at2);
        if (bytes & 1)
            *(tutti_dev_u8 *)(void *)(to + at1) = *(const tutti_dev_u8 *)(const void *)(from + at1);
        return;
    }
    if (bytes & 8)
        d = *(const tutti_dev_u64 *)(const void *)(from + at8);
    if (bytes & 4)
        c = *(const tutti_dev_u32 *)(const void *)(from + at4);
    if (bytes & 2)
        b = *(const tutti_dev_u16 *)(const void *)(from + at2);
    if (bytes & 1)
        a = *(const tutti_dev_u8 *)(const void *)(from + at1);
    if (bytes & 8)
        *(tutti_dev_u64 *)(void *)(to + at8) = d;
    if (bytes & 4)
        *(tutti_dev_u32 *)(void *)(to + at4) = c;
    if (bytes & 2)
        *(tutti_dev_u16 *)(void *)(to + at2) = b;
    if (bytes & 1)
        *(tutti_dev_u8 *)(void *)(to + at1) = a;
}

/* The thread that copies what is behind the last of `words` words: the one whose turn it is, or the last one. So it has
 * the least number that can be (tutti_dev_has_part). */
TUTTI_DEV size_t tutti_dev_copy_last(size_t words, size_t size)
{
    return words < size ? words : size - 1;
}

/* Both are aligned to 1 or 2 bytes alone: seldom, and out of the way. */
TUTTI_DEV_APART void tutti_dev_copy_narrow(char *to, const char *from, size_t bytes, size_t rank, size_t size)
{
    const size_t head = (uintptr_t)to & 1, words = (bytes - head) / 2;
    if ((((uintptr_t)to ^ (uintptr_t)from) & 1) != 0 || bytes < 2) {
        tutti_dev_copy_u8(to, from, bytes, rank, size, TUTTI_DEV_FEW);
        return;
    }
    if (rank == 0)
        tutti_dev_copy_rest(to, from, (unsigned)head, 1, TUTTI_DEV_FEW);
    tutti_dev_copy_u16(to + head, from + head, words, rank, size, TUTTI_DEV_FEW);
    if (rank == tutti_dev_copy_last(words, size))
        tutti_dev_copy_rest(to + head + 2 * words, from + head + 2 * words, (unsigned)(bytes - head - 2 * words), 0,
                            TUTTI_DEV_FEW);
}

/* What is not whole words of 16 bytes alone: what lies up to the first whole word, and from the last one on, is copied
 * by one thread each. They come first, so that what they need takes no registers in the loops. */
TUTTI_DEV void tutti_dev_copy_wide(char *to, const char *from, size_t bytes, size_t rank, size_t size, int way)
{
    const unsigned differ = (unsigned)((uintptr_t)to ^ (uintptr_t)from);
    const unsigned shift = (differ & 15) == 0 ? 4 : (differ & 7) == 0 ? 3 : 2;
    const size_t head = (0 - (unsigned)(uintptr_t)to) & ((1u << shift) - 1);
    if ((differ & 3) != 0 || head > bytes) { /* or less than a word, and none begins in it */
        tutti_dev_copy_narrow(to, from, bytes, rank, size);
        return;
    }
    const size_t words = (bytes - head) >> shift, tail = head + (words << shift);
    if (rank == tutti_dev_copy_last(words, size) && tail != bytes)
        tutti_dev_copy_rest(to + tail, from + tail, (unsigned)(bytes - tail), 0, way == TUTTI_DEV_COPY_TWO);
    if (rank == 0 && head != 0)
        tutti_dev_copy_rest(to, from, (unsigned)head, 1, way == TUTTI_DEV_COPY_TWO);
    to += head;
    from += head;
    if (shift == 4)
        tutti_dev_copy_u128(to, from, words, rank, size, way);
    else if (shift == 3)
        tutti_dev_copy_u64(to, from, words, rank, size, way);
    else
        tutti_dev_copy_u32(to, from, words, rank, size, way);
}

/* One element, by one thread: at once where it is 1, 2, 4, 8 or 16 aligned bytes. */
TUTTI_DEV void tutti_dev_copy_one(void *to, const void *from, size_t bytes)
{
    const int aligned = (((uintptr_t)to | (uintptr_t)from) & (bytes - 1)) == 0;
    if (bytes == 8 && aligned)
        *(tutti_dev_u64 *)to = *(const tutti_dev_u64 *)from;
    else if (bytes == 4 && aligned)
        *(tutti_dev_u32 *)to = *(const tutti_dev_u32 *)from;
    else if (bytes == 2 && aligned)
        *(tutti_dev_u16 *)to = *(const tutti_dev_u16 *)from;
    else if (bytes == 16 && aligned)
        *(tutti_dev_u128 *)to = *(const tutti_dev_u128 *)from;
    else if (bytes == 1)
        *(tutti_dev_u8 *)to = *(const tutti_dev_u8 *)from;
    else
        tutti_dev_copy_wide((char *)to, (const char *)from, bytes, 0, 1, 0);
}

/* 8 or 4 aligned bytes, which are sent most, go at once, by the leader. 0: there are others. */
TUTTI_DEV int tutti_dev_copy_element(void *dest, const void *source, size_t bytes, size_t rank)
{
    const unsigned mixed = (unsigned)(uintptr_t)dest | (unsigned)(uintptr_t)source;
    if (bytes == 8 && (mixed & 7) == 0) {
        if (rank == 0)
            *(tutti_dev_u64 *)dest = *(const tutti_dev_u64 *)source;
        return 1;
    }
    if (bytes == 4 && (mixed & 3) == 0) {
        if (rank == 0)
            *(tutti_dev_u32 *)dest = *(const tutti_dev_u32 *)source;
        return 1;
    }
    return 0;
}

/* That thread's part of what is no element. Whole words of 16 bytes have the shortest way. Relocatable code has one
 * loop for all copies of words of 16 bytes. */
TUTTI_DEV void tutti_dev_copy_part(void *dest, const void *source, size_t bytes, size_t rank, size_t size, int way)
{
    const unsigned mixed = (unsigned)(uintptr_t)dest | (unsigned)(uintptr_t)source | (unsigned)bytes;
    if (!TUTTI_DEV_FEW && (mixed & 15) == 0)
        tutti_dev_copy_u128((char *)dest, (const char *)source, bytes >> 4, rank, size, way);
    else
        tutti_dev_copy_wide((char *)dest, (const char *)source, bytes, rank, size, way);
}

/* No wait: neither before nor after. A block looks for long copies first, as all of its warps look. */
TUTTI_DEV void tutti_dev_copy_by(int group, void *dest, const void *source, size_t bytes, int way)
{
    const size_t rank = tutti_dev_rank(group), size = tutti_dev_size(group);
    const unsigned mixed = (unsigned)(uintptr_t)dest | (unsigned)(uintptr_t)source | (unsigned)bytes;
    const int is_long = !TUTTI_DEV_FEW && group != TUTTI_BY_THREAD && group != TUTTI_BY_WARP && (mixed & 15) == 0;
    if (is_long || !tutti_dev_copy_element(dest, source, bytes, rank))
        tutti_dev_copy_part(dest, source, bytes, rank, size, way);
}

/* The way of a group. Relocatable code has no registers for an unrolled loop. */
TUTTI_DEV int tutti_dev_copy_way(int group)
{
    return !TUTTI_DEV_FEW && group == TUTTI_BY_THREAD ? TUTTI_DEV_COPY_ALONE : TUTTI_DEV_COPY_FOUR;
}

TUTTI_DEV void tutti_dev_copy(int group, void *dest, const void *source, size_t bytes)
{
    tutti_dev_copy_by(group, dest, source, bytes, tutti_dev_copy_way(group));
}

/* n blocks of `block` elements of `bytes` bytes, whose beginnings lie `dst` and `sst` elements apart. Short blocks are
 * spread by elements, each of long ones is copied by the whole group. */
TUTTI_DEV void tutti_dev_copy_blocks(int group, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                     size_t block, size_t n, size_t bytes)
{
    char *const to = (char *)dest;
    const char *const from = (const char *)source;
    const ptrdiff_t step = (ptrdiff_t)bytes;
    if (block * bytes >= 64) {
        for (size_t i = 0; i < n; i++)
            tutti_dev_copy(group, to + (ptrdiff_t)i * dst * step, from + (ptrdiff_t)i * sst * step, block * bytes);
        return;
    }
    for (size_t i = tutti_dev_rank(group); i < n * block; i += tutti_dev_size(group)) {
        const ptrdiff_t number = (ptrdiff_t)(block == 1 ? i : i / block), in = block == 1 ? 0 : (ptrdiff_t)(i % block);
        tutti_dev_copy_one(to + (number * dst + in) * step, from + (number * sst + in) * step, bytes);
    }
}

#endif
