/* Messages that tests of protocols exchange: elements of random layouts in memory of several kinds. */
#ifndef TUTTI_TESTS_P2P_ELEMENTS_H
#define TUTTI_TESTS_P2P_ELEMENTS_H

#include "dtype/describe_any.h"
#include "p2p/fragments.h"

enum kit_memory {
    KIT_HOST,
    KIT_DEVICE,
    KIT_BOTH,  /* blocks in both, by absolute addresses */
    KIT_WHOLE, /* host memory, and nobody knows the layout */
    KIT_MEMORIES
};

/* The elements of one side of a message. */
struct kit_side {
    enum kit_memory memory;
    struct tutti_elements elements;
    uint64_t capacity; /* packed bytes */
    char *host, *device;
    size_t room; /* bytes of each that is there */
    struct any_room types;
};

/* Memory filled with what kit_judge() knows again, for `bytes` packed bytes, or for `fewer` less. */
void kit_make(struct kit_side *side, enum kit_memory memory, uint64_t bytes, int fewer, uint64_t *state);
void kit_shut(struct kit_side *side);
/* Puts the message of this seed there, of `bytes` bytes. */
void kit_fill(struct kit_side *side, uint64_t seed, uint64_t bytes);
/* Checks that the message lies where it belongs and nothing else has changed; bytes 0: nothing has. packed: KIT_WHOLE,
 * what came. */
void kit_judge(const struct kit_side *side, uint64_t seed, uint64_t bytes, const char *packed, int number);

/* The packed message of a seed; the caller frees it. */
char *kit_pattern(uint64_t seed, uint64_t bytes);

#endif
