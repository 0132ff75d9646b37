/* What the tests of packing kernels share: layouts made by hand, a naive walk of them, and one check of a job against
 * that walk, with guard bytes and holes. Runs on the device of TUTTI_DEVICE. */
#ifndef TUTTI_TESTS_PACK_KIT_H
#define TUTTI_TESTS_PACK_KIT_H

#include "dtype/pack.h"
#include "support/check.h"
#include "support/random.h"

enum { KIT_SEGMENTS = 12, KIT_ENTRIES = 4096 };

/* A plan and what it points at. */
struct kit_layout {
    struct tutti_plan plan;
    struct tutti_segment segment[KIT_SEGMENTS];
    int64_t *offsets[KIT_SEGMENTS];
    uint64_t *begins[KIT_SEGMENTS];
    int64_t *where; /* [plan.size] from the element, by the naive walk */
};

/* Numbers the plan, walks it, finds its bounds. extent INT64_MIN: from the first byte to the last, padded by `pad`. */
void kit_finish(struct kit_layout *layout, int64_t extent, int64_t pad);
void kit_free(struct kit_layout *layout);
/* The layout of a plan that was built. */
void kit_of_plan(struct kit_layout *layout, const struct tutti_plan *plan);

enum kit_memory { KIT_DEVICE, KIT_PINNED, KIT_HOST };

struct kit_case {
    const struct kit_layout *layout, *to_layout; /* to_layout: RELAYOUT */
    uint64_t count, to_count;
    unsigned memory_off, packed_off; /* misalignment */
    uint64_t first, bytes;
    enum tutti_direction direction;
    enum kit_memory memory, packed; /* of what kind */
    int now;                        /* tutti_pack_now, otherwise tutti_pack_enqueue */
};
/* One job. Returns 1 if every byte is right. `what` is shown where not. */
int kit_check(const struct kit_case *test, const char *what);
/* Several jobs in one call. */
int kit_check_all(const struct kit_case *tests, unsigned n, int now, const char *what);
/* Packing or unpacking jobs whose memory and packed bytes lie in one allocation each, of `bytes`: job i's at at[i]. */
int kit_check_in(const struct kit_case *tests, unsigned n, size_t bytes, uint64_t (*at)[2], int now, const char *what);
/* All directions, the whole message and parts of it. */
void kit_check_both(uint64_t *random, const struct kit_layout *layout, uint64_t count, unsigned memory_off,
                    unsigned packed_off, const char *what);

int kit_open(void); /* 0, or the exit status of a test that ends here */
int kit_on_gpu(void);
void kit_close(void);

#endif
