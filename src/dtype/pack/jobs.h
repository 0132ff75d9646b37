/* From jobs to the parts of a launch. Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_JOBS_H
#define TUTTI_DTYPE_PACK_JOBS_H

#include "dtype/pack.h"
#include "dtype/pack/image.h"
#include "dtype/pack/parts.h"

/* The same job n times: `memory` bytes from one to the next on its plan's side, `packed` on the other. Of whole
 * messages that are packed or unpacked alone. */
struct tutti_repeat {
    uint64_t n;
    int64_t memory, packed;
};

/* image, to_image: what the GPU keeps of the two plans; NULL if that is nothing. */
int tutti_job_add(struct tutti_parts *parts, const struct tutti_pack_job *given, const struct tutti_plan_image *image,
                  const struct tutti_plan_image *to_image, const struct tutti_repeat *repeat);
/* How many of the first of n jobs are one job again and again, at equal distances: two always are. */
unsigned tutti_job_alike(const struct tutti_pack_job *job, unsigned n, struct tutti_repeat *repeat);

#endif
