/* From jobs to the parts of a launch. Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_JOBS_H
#define TUTTI_DTYPE_PACK_JOBS_H

#include "dtype/pack.h"
#include "dtype/pack_kept.h"
#include "dtype/pack_parts.h"

/* kept, to_kept: what the GPU keeps of the two plans; NULL where that is nothing. */
int tutti_job_add(struct tutti_parts *parts, const struct tutti_pack_job *job, const struct tutti_kept *kept,
                  const struct tutti_kept *to_kept);

#endif
