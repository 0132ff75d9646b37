/* What a device keeps of a plan: its lists, and for small elements a table of their words. Uploaded once for a plan and
 * GPU, freed with the plan. Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_IMAGE_H
#define TUTTI_DTYPE_PACK_IMAGE_H

#include "device/device.h"
#include "dtype/plan.h"

/* The list of one segment. */
struct tutti_image_list {
    const int64_t *host; /* offsets, as in the plan */
    const void *offsets; /* device pointers: int32_t, or int64_t where wide */
    const void *begins;  /* uint32_t or uint64_t; NULL: equal entries */
    const uint32_t *starts;
    size_t bytes[3]; /* of offsets, begins, starts */
    uint64_t entries;
    int64_t low, high; /* of the offsets */
    int64_t end;       /* unequal entries: where the last byte of any ends */
    uint64_t bits;     /* of all offsets and begins, or'ed */
    int wide;
};

struct tutti_plan_image {
    struct tutti_plan_image *next;
    uint64_t id; /* of the plan */
    int gpu;
    unsigned life; /* of the GPU */
    void *memory;
    const int32_t *table;           /* device pointer; NULL: no table */
    uint32_t words;                 /* of the table */
    uint32_t wide;                  /* 1 << wide bytes a word */
    struct tutti_image_list list[]; /* one a segment */
};

/* 1 if a device has to keep something of the plan: without it a plan with lists cannot be packed there. */
int tutti_image_needed(const struct tutti_plan *plan);
/* 1 if it would be of use. */
int tutti_image_useful(const struct tutti_plan *plan);
/* What `gpu` keeps of the plan, or NULL. Valid as long as the plan. */
const struct tutti_plan_image *tutti_image_find(const struct tutti_plan *plan, int gpu);
/* The same, uploaded through `stream` (of that GPU) where it was not there yet. */
int tutti_image_make(const struct tutti_device *device, struct tutti_stream *stream, const struct tutti_plan *plan,
                     int gpu, const struct tutti_plan_image **out);

#endif
