/* The parts of earlier jobs, for jobs with the same plans at addresses that are aligned alike.
 * Plans are known by their ids, which are never used again. Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_PARTS_CACHE_H
#define TUTTI_DTYPE_PACK_PARTS_CACHE_H

#include "dtype/pack.h"
#include "dtype/pack/jobs.h"

/* Adds the parts and returns 1 if they are known. */
int tutti_parts_cache_add(struct tutti_parts *parts, int gpu, const struct tutti_pack_job *job,
                          const struct tutti_repeat *repeat);

/* Between the two: where parts are added to `parts` for one job. */
struct tutti_parts_cache_mark {
    uint32_t n, extras, reaches;
    unsigned launches;
};
struct tutti_parts_cache_mark tutti_parts_cache_begin(const struct tutti_parts *parts);
void tutti_parts_cache_keep(struct tutti_parts *parts, int gpu, const struct tutti_pack_job *job,
                            const struct tutti_repeat *repeat, struct tutti_parts_cache_mark before);

#endif
