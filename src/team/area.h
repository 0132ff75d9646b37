/* An area: device memory of each rank of an open team that kernels of all ranks reach, and host memory of each rank
 * that all ranks reach. */
#ifndef TUTTI_TEAM_AREA_H
#define TUTTI_TEAM_AREA_H

#include "team/team.h"

enum { TUTTI_AREA_HOST_BYTES = 12 << 10 };

struct tutti_area {
    void *device[TUTTI_MAX_GPUS]; /* of each rank, as kernels on this rank's GPU reach it; [rank] is this rank's own */
    void *host[TUTTI_MAX_GPUS];   /* TUTTI_AREA_HOST_BYTES of each rank */
    struct tutti_mapping *mapping[TUTTI_MAX_GPUS];
};

/* Collective over the team's ranks, which have a GPU each; blocking, bounded, reports stalls. Takes `bytes` of device
 * memory and maps what the others have taken. All of it holds zeros. All ranks succeed or none: TUTTI_ERR_UNAVAILABLE
 * where a rank has no memory or cannot map that of another. */
int tutti_area_open(struct tutti_team *team, size_t bytes, struct tutti_area *area);
/* Local. No kernel uses the area any more, on any rank. `alive`: the device may be called. `keep`: kernels of peers may
 * still use this rank's memory, which is not freed then. */
void tutti_area_close(struct tutti_team *team, struct tutti_area *area, int alive, int keep);

#endif
