/* Rows of one kernel each that reaches the ranks' buffers in place. Where some buffer is not mapped, the data of a
 * launch go through the windows as in `pipeline`; in `mapped_deep` those of a reduction to one of two ranks as in
 * `chain`, and those of a reduce-scatter of some MiB as in `ll128`. */
#include "coll/launch/flow.h"
#include "core/types.h"
#include "kernels/grains.h"

enum { LINES_MOST = 14 << 20 }; /* bytes of a contribution to a reduce-scatter: more are faster in chunks */

static void mapped_deep_windows(const struct tutti_team *team, const struct tutti_call *call, size_t elements,
                                struct tutti_flow *flow)
{
    const size_t size = tutti_type_size(call->type);
    if (tutti_flow_segments(call) && team->lines && elements > 0 &&
        elements * size <= LINES_MOST / (size_t)team->size) {
        tutti_ll128_shape(team, call, elements, flow);
        if (elements <= flow->most)
            return;
    }
    const int chains = call->collective == TUTTI_COLLECTIVE_REDUCE && team->size == 2; /* as kernels/mapped.inc */
    (chains ? tutti_chain_shape : tutti_pipeline_shape)(team, call, elements, flow);
}

/* Of two ranks: no more blocks than it takes for as many passes, so that none has a pass more than another one, or for
 * a small rest. Two H200, allreduce of 7 MiB: 27.6 us, and 28.4 by all blocks. */
static void mapped_deep_two(const struct tutti_team *team, const struct tutti_call *call, size_t elements,
                            struct tutti_flow *flow)
{
    mapped_deep_windows(team, call, elements, flow);
    if (team->size != 2 || flow->rows > 1 || elements == 0)
        return;
    const size_t slice = tutti_flow_segments(call) ? elements : (elements + 1) / 2,
                 bytes = slice * tutti_type_size(call->type),
                 pass = (flow->threads ? flow->threads : TUTTI_FLOW_THREADS) * TUTTI_PASS_CHUNKS * TUTTI_CHUNK,
                 each = (bytes + pass * flow->blocks - 1) / (pass * flow->blocks) * pass,
                 blocks = (bytes + each - 1) / each;
    if (blocks >= flow->blocks / 2) /* fewer would keep back what goes through the windows */
        flow->blocks = (unsigned)blocks;
}

/* The row `what` with the kernel `id` on the collectives `on`; windows: the shape of what goes through the windows. */
#define TUTTI_MAPPED_ROW(what, id, on, windows)                                                                        \
    static void what##_shape(const struct tutti_team *team, const struct tutti_call *call, size_t elements,            \
                             struct tutti_flow *flow)                                                                  \
    {                                                                                                                  \
        windows(team, call, elements, flow);                                                                           \
        flow->kernel = TUTTI_KERNEL_##id;                                                                              \
    }                                                                                                                  \
    const struct tutti_algorithm tutti_reduce_##what = {                                                               \
        .name = #what,                                                                                                 \
        .collectives = (on),                                                                                           \
        .kernels = TUTTI_LAUNCHES(id),                                                                                 \
        .waits_for_peers = 1,                                                                                          \
        .can = tutti_flow_row_can,                                                                                     \
        .flow = what##_shape,                                                                                          \
        .places = 1,                                                                                                   \
    };

enum { MAPPED_ON = TUTTI_ON(ALLREDUCE) | TUTTI_ON(REDUCE) | TUTTI_ON_REDUCE_SCATTERS };
TUTTI_MAPPED_ROW(pipeline_direct, PIPELINE_DIRECT, TUTTI_ON(ALLREDUCE), tutti_pipeline_shape)
TUTTI_MAPPED_ROW(mapped, MAPPED, MAPPED_ON, tutti_pipeline_shape)
TUTTI_MAPPED_ROW(mapped_deep, MAPPED_DEEP, MAPPED_ON, mapped_deep_two)
