/* Copies between elements in memory of the host and their packed form in scratch of the GPU, in the team's stream:
 * plain copies would wait for the default stream of the program. Elements with gaps are packed and unpacked by this
 * thread, in pinned memory that is kept, or in ordinary memory: to make or to free pinned memory waits for kernels of
 * other calls, which may wait for this call of a peer. */
#include <stdlib.h>
#include <string.h>

#include "bounce/bounce.h"
#include "coll/algorithm.h"
#include "coll/move/packing.h"
#include "core/phases.h"
#include "core/status.h"

enum { BOUNCE_MOST = 4 << 20 }; /* bytes of pinned memory */

static int packing_put(const struct tutti_team *team, void *host, void *packed, size_t bytes, int in)
{
    return in ? team->device->stream.copy(team->stream, packed, host, bytes)
              : team->device->stream.copy(team->stream, host, packed, bytes);
}

static int packing_copy_run(const struct tutti_team *team, const struct tutti_packing_copy *copy, int in)
{
    return packing_put(team, (char *)tutti_elements_run(copy->host) + copy->first, copy->packed, copy->bytes, in);
}

/* In parts of the pinned memory, each done before the next one uses it. */
static int packing_copy_gaps(const struct tutti_team *team, const struct tutti_packing_copy *copy, int in)
{
    const uint64_t most = copy->bytes < BOUNCE_MOST ? copy->bytes : BOUNCE_MOST;
    struct tutti_bounce *bounce = tutti_bounce_take_kept(&tutti_bounce_pinned, -1, (size_t)most);
    struct tutti_elements host = *copy->host;
    char *const between = bounce ? bounce->memory : malloc((size_t)most);
    int status = between ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (uint64_t at = 0; at < copy->bytes && status == TUTTI_OK; at += most) {
        const uint64_t n = copy->bytes - at < most ? copy->bytes - at : most;
        if (in)
            status = tutti_elements_move(TUTTI_PACK, &host, copy->first + at, n, between);
        if (status == TUTTI_OK)
            status = packing_put(team, between, (char *)copy->packed + at, (size_t)n, in);
        if (status == TUTTI_OK)
            status = team->device->stream.sync(team->stream);
        if (status == TUTTI_OK && !in)
            status = tutti_elements_move(TUTTI_UNPACK, &host, copy->first + at, n, between);
    }
    if (!bounce)
        free(between);
    tutti_bounce_give_kept(bounce);
    return status;
}

/* The window is memory of the host, too. */
static int packing_copy_window(const struct tutti_packing_copy *copy, int in)
{
    struct tutti_elements host = *copy->host;
    char *const run = (char *)tutti_elements_run(copy->host) + copy->first;
    if (!host.whole)
        return tutti_elements_move(in ? TUTTI_PACK : TUTTI_UNPACK, &host, copy->first, copy->bytes, copy->packed);
    if (in)
        memcpy(copy->packed, run, copy->bytes);
    else
        memcpy(run, copy->packed, copy->bytes);
    return TUTTI_OK;
}

/* *put: 1: copies are under way in the stream. */
static int packing_copy_all(const struct tutti_team *team, const struct tutti_packing *x,
                            const struct tutti_packing_copy *copies, unsigned n, int in, int *put)
{
    int status = TUTTI_OK;
    for (unsigned i = 0; i < n && status == TUTTI_OK; i++) {
        const char *const packed = copies[i].packed;
        if (x->in_window && packed >= x->scratch && packed < x->scratch + x->used) {
            status = packing_copy_window(&copies[i], in);
        } else if (copies[i].host->whole) {
            status = packing_copy_run(team, &copies[i], in);
            *put = 1;
        } else {
            status = packing_copy_gaps(team, &copies[i], in);
        }
    }
    return status;
}

int tutti_packing_copy_in(const struct tutti_team *team, const struct tutti_packing *x)
{
    const enum tutti_phase before = tutti_phase(TUTTI_PHASE_COPY);
    int put = 0;
    const int status = packing_copy_all(team, x, x->in, x->ins, 1, &put);
    tutti_phase(before);
    return status;
}

int tutti_packing_copy_out(const struct tutti_team *team, const struct tutti_packing *x)
{
    const enum tutti_phase before = tutti_phase(TUTTI_PHASE_COPY);
    int put = 0;
    int status = packing_copy_all(team, x, x->out, x->outs, 0, &put);
    if (put && status == TUTTI_OK)
        status = team->device->stream.sync(team->stream);
    tutti_phase(before);
    return status;
}
