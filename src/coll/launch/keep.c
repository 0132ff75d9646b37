/* Programs call a reduction on the same buffers again and again, and a launch that the driver has prepared starts in a
 * third of the time of a fresh one (docs/performance.md). A launch is kept when it has come for the second time, so
 * that what comes once costs a few comparisons. */
#include "coll/launch/keep.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/status.h"
#include "team/discard.h"

enum { SEEN_ENOUGH = 2 };

static int same(const struct tutti_keep *keep, const struct tutti_launch *launch)
{
    const struct tutti_flow_args *flow = launch->flow;
    return keep->calls > 0 && keep->flow.in == flow->in && keep->flow.out == flow->out &&
           keep->flow.count == flow->count && keep->launch.kernel == launch->kernel &&
           keep->launch.type == launch->type && keep->launch.op == launch->op &&
           keep->launch.blocks == launch->blocks && keep->launch.threads == launch->threads &&
           memcmp(&keep->flow, flow, sizeof *flow) == 0;
}

/* The place of this launch: its own, or that of another one which gives way. */
static struct tutti_keep *place_of(struct tutti_team *team, const struct tutti_launch *launch)
{
    struct tutti_keep *spare = NULL;
    for (int i = 0; i < TUTTI_KEEPS; i++) {
        struct tutti_keep *keep = &team->keep[i];
        if (same(keep, launch))
            return keep;
        if (keep->calls == 0 && !spare)
            spare = keep;
    }
    /* Whoever is in use is not driven out by launches that come once: all grow older, and the first to be as new as a
     * launch that has just come gives way. */
    for (int i = 0; i < TUTTI_KEEPS && !spare; i++) {
        struct tutti_keep *keep = &team->keep[(team->keeps + (unsigned)i) % TUTTI_KEEPS];
        keep->calls /= 2;
        if (keep->calls == 0)
            spare = keep;
    }
    if (spare) {
        team->keep_stale = spare->kept;
        *spare = (struct tutti_keep){.launch = *launch};
        memcpy(&spare->flow, launch->flow, sizeof spare->flow);
    }
    return spare;
}

int tutti_keep_launch(struct tutti_team *team, const struct tutti_launch *launch)
{
    /* To make one ready may wait for what runs, as kernels in stream order may for long: see team/discard.h. */
    if (!team->device->launch_keep || team->keep_off || tutti_discard_held(team->node))
        return team->device->launch(team->stream, launch);
    if (!team->keep)
        team->keep = calloc(TUTTI_KEEPS, sizeof *team->keep);
    struct tutti_keep *keep = team->keep ? place_of(team, launch) : NULL;
    team->keeps++;
    if (!keep)
        return team->device->launch(team->stream, launch);
    if (keep->calls < UINT32_MAX / 2)
        keep->calls++;
    if (keep->kept) {
        int status = team->device->launch_kept(team->stream, keep->kept);
        if (status != TUTTI_ERR_UNAVAILABLE)
            return status;
        team->keep_stale = keep->kept;
        keep->kept = NULL;
    }
    if (keep->calls >= SEEN_ENOUGH)
        team->keep_next = keep;
    return team->device->launch(team->stream, launch);
}

void tutti_keep_make(struct tutti_team *team)
{
    struct tutti_keep *keep = team->keep_next;
    tutti_discard_launch(team->node, team->keep_stale);
    team->keep_stale = NULL;
    team->keep_next = NULL;
    if (!keep || tutti_discard_held(team->node))
        return;
    keep->launch.flow = &keep->flow;
    int status = team->device->launch_keep(team->stream, &keep->launch, &keep->kept);
    if (status == TUTTI_OK)
        return;
    keep->kept = NULL;
    team->keep_off = 1; /* calls go on as they did */
    tutti_info("launches cannot be kept ready: %s", tutti_status_text(status));
}
