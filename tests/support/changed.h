/* What fuzzers make of a word: another value, far off, next to it, or at a border. */
#ifndef TUTTI_TESTS_CHANGED_H
#define TUTTI_TESTS_CHANGED_H

#include <stddef.h>
#include <string.h>

#include "support/random.h"

static inline uint64_t changed_word(uint64_t word, uint64_t *state)
{
    static const uint64_t borders[] = {
        0, 1, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN, UINT64_C(1) << 62, UINT32_MAX, (uint64_t)INT32_MAX + 1,
        2, 64};
    uint64_t draw = random_next(state);
    switch (draw % 5) {
    case 0:
        return borders[draw / 5 % (sizeof borders / sizeof borders[0])];
    case 1:
        return word + 1 + draw / 5 % 16;
    case 2:
        return word - 1 - draw / 5 % 16;
    case 3:
        return word ^ UINT64_C(1) << (draw / 5 % 64);
    default:
        return random_next(state);
    }
}

/* Changes up to three words, of 1 to 8 bytes, of the `bytes` bytes at `at`. */
static inline void changed_bytes(void *at, size_t bytes, uint64_t *state)
{
    for (int words = 1 + (int)(random_next(state) % 3); words > 0; words--) {
        size_t size = (size_t)1 << (random_next(state) % 4);
        if (size > bytes)
            continue;
        char *to = (char *)at + random_next(state) % (bytes / size) * size;
        uint64_t word = 0;
        memcpy(&word, to, size);
        word = changed_word(word, state);
        memcpy(to, &word, size);
    }
}

#endif
