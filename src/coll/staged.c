/* staged: through host memory and the transport, for what kernels or windows cannot serve. Small pieces: everybody
 * gathers all contributions; larger ones: everybody reduces a slice and hands it to all. Combined in rank order, as the
 * kernels do. */
#include <stdlib.h>

#include "coll/algorithm.h"
#include "core/settings.h"
#include "core/status.h"
#include "core/types.h"
#include "kernels/reduce.h"

enum { GATHER_BYTES = 32 << 10 }; /* of all contributions together */

int tutti_staged_can(const struct tutti_team *team, const struct tutti_reduce *call)
{
    (void)team;
    (void)call;
    return 1;
}

struct buffers {
    char *mine;   /* this rank's piece, padded to whole slices */
    char *theirs; /* contributions of all ranks: of the whole piece or of this rank's slice */
};

static int piece(struct tutti_team *team, const struct tutti_reduce *call, struct buffers *b, size_t count)
{
    struct tutti_transport *transport = team->transport;
    size_t size = tutti_type_size(call->type), ranks = (size_t)team->size, bytes = count * size;
    const void **in = malloc(ranks * sizeof *in);
    if (!in)
        return TUTTI_ERR_MEMORY;
    int status = tutti_move(team, b->mine, call->in, bytes);
    if (status == TUTTI_OK && bytes * ranks <= GATHER_BYTES) {
        status = transport->ops->allgather(transport, b->mine, b->theirs, bytes);
        for (size_t r = 0; r < ranks; r++)
            in[r] = b->theirs + r * bytes;
        if (status == TUTTI_OK)
            tutti_reduce_host(call->type, call->op, team->size, in, b->mine, count);
    } else if (status == TUTTI_OK) {
        size_t slice = (count + ranks - 1) / ranks, slice_bytes = slice * size;
        status = transport->ops->alltoall(transport, b->mine, b->theirs, slice_bytes);
        for (size_t r = 0; r < ranks; r++)
            in[r] = b->theirs + r * slice_bytes;
        if (status == TUTTI_OK) {
            tutti_reduce_host(call->type, call->op, team->size, in, b->theirs, slice);
            status = transport->ops->allgather(transport, b->theirs, b->mine, slice_bytes);
        }
    }
    free(in);
    return status == TUTTI_OK ? tutti_move(team, call->out, b->mine, bytes) : status;
}

int tutti_staged_run(struct tutti_team *team, const struct tutti_reduce *call, int *fits)
{
    size_t size = tutti_type_size(call->type), ranks = (size_t)team->size;
    size_t most = ((size_t)tutti_settings()->staging_mb << 20) / size;
    if (most > call->count)
        most = call->count;
    size_t room = (most + ranks) * size;
    struct buffers b = {malloc(room), malloc(room > GATHER_BYTES ? room : GATHER_BYTES)};
    int status = b.mine && b.theirs ? TUTTI_OK : TUTTI_ERR_MEMORY;
    *fits = 1;
    for (size_t at = 0; at < call->count && status == TUTTI_OK; at += most) {
        struct tutti_reduce part = *call;
        part.in = (const char *)call->in + at * size;
        part.out = (char *)call->out + at * size;
        status = piece(team, &part, &b, call->count - at < most ? call->count - at : most);
    }
    free(b.mine);
    free(b.theirs);
    return status;
}
