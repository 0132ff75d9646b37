/* Copies by groups of threads (tutti/device/copy.h), which the host device has of one thread alone: here each thread of
 * a group has its turn, and copies nothing if tutti_dev_has_part() is 0; the same of memory outside the heap. All
 * alignments and sizes around the limits; every byte is stored, and none outside. */
#define TSHMEM_KERNELS
#define TSHMEM_STATE() (&no_state)
#include "tutti/shmem_state.h"

static struct tshmem_state no_state;

#include "tutti/device.h"

#include "support/check.h"

#include <stdio.h>
#include <string.h>

enum { SPACE = 20000, GUARD = 64 };
static unsigned char from[SPACE] __attribute__((aligned(64))), to[SPACE] __attribute__((aligned(64))), right[SPACE];

enum way { FOUR, TWO, EIGHT, ALONE, OWN }; /* as TUTTI_DEV_COPY_...; of memory outside the heap */
static const int words[] = {TUTTI_DEV_COPY_FOUR, TUTTI_DEV_COPY_TWO, TUTTI_DEV_COPY_EIGHT, TUTTI_DEV_COPY_ALONE};

/* As tutti_dev_copy_by() of a block. */
static void part(void *dest, const void *source, size_t bytes, size_t rank, size_t size, int way)
{
    if (bytes == 0 || !tutti_dev_copy_element(dest, source, bytes, rank))
        tutti_dev_copy_part(dest, source, bytes, rank, size, way);
}

/* As a put of a group with `size` threads; the threads in an order of their own. */
static void copy(size_t size, size_t dest, size_t source, size_t bytes, enum way way)
{
    for (size_t i = 0; i < size; i++) {
        const size_t rank = (i * 7 + 3) % size;
        if (!tutti_dev_has_part(rank, to + dest, from + source, bytes))
            CHECK(rank != 0, "the leader, who makes requests, has no part");
        else if (way == OWN)
            tutti_dev_own_part(rank, size, to + dest, from + source, bytes);
        else
            part(to + dest, from + source, bytes, rank, size, words[way]);
    }
}

static void one(size_t size, size_t dest, size_t source, size_t bytes, enum way first)
{
    static const char *const names[] = {", four", ", two", ", eight", ", alone", ", outside the heap"};
    const enum way ways[] = {first, OWN};
    const size_t end = dest + bytes + GUARD;
    memset(right, 0xa5, end);
    memcpy(right + dest, from + source, bytes);
    for (int i = 0; i < 2; i++) {
        memset(to, 0xa5, end);
        copy(size, dest, source, bytes, ways[i]);
        CHECK(memcmp(to, right, end) == 0, "%zu bytes from %zu to %zu by %zu threads%s", bytes, source % 32, dest % 32,
              size, names[ways[i]]);
    }
}

/* The ways take turns. */
static enum way turn(size_t size, size_t number)
{
    const enum way ways[] = {size == 1 ? ALONE : FOUR, TWO, EIGHT};
    return ways[number % 3];
}

int main(void)
{
    static const size_t sizes[] = {1, 2, 32, 96, 128, 1024};
    for (size_t i = 0; i < SPACE; i++)
        from[i] = (unsigned char)(i * 131 + i / 251);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t size = sizes[s], step = size > 128 ? 4 : 1; /* 7 and all sizes have no common factor */
        for (size_t dest = 0; dest < 16; dest++) {
            for (size_t source = 0; source < 16; source += 1 + (size > 32)) {
                for (size_t bytes = 0; bytes < 70; bytes += 1 + (bytes > 36) * step)
                    one(size, GUARD + dest, GUARD + source, bytes, turn(size, bytes + dest + source));
            }
        }
        /* One word a thread, two, three ... nine, of each width, and some bytes more or less; of one thread more. */
        for (size_t each = 1; each < (size == 1 ? 40 : 10); each++) {
            for (size_t width = 4; width <= 16 && size * each * width + 40 < SPACE - 2 * GUARD; width *= 2) {
                one(size, GUARD + width, GUARD + 2 * width, size * each * width, turn(size, each + width));
                for (int more = -3; more < 4 && (size < 1024 || each < 2); more++)
                    one(size, GUARD + width, GUARD + 2 * width, size * each * width + (size_t)(more + 8),
                        turn(size, each + (size_t)(more + 3)));
            }
        }
    }
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
