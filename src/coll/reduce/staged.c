/* staged: through host memory and the transport, for calls that kernels or windows cannot serve. Small pieces: each
 * rank gathers all contributions; larger ones: each rank reduces a slice and sends it to the ranks that need it.
 * Combined in rank order, as in kernels. */
#include <stdlib.h>
#include <string.h>

#include "coll/algorithm.h"
#include "core/phases.h"
#include "core/settings.h"
#include "core/status.h"
#include "core/types.h"
#include "kernels/reduce.h"

enum { GATHER_BYTES = 32 << 10 }; /* of all contributions together */

struct staging {
    struct tutti_team *team;
    const struct tutti_call *call;
    size_t size;     /* of an element */
    size_t ranks;    /* ranks of the team, which may be more than kernels take */
    char *mine;      /* this rank's piece, padded to whole slices */
    char *theirs;    /* contributions of all ranks: of the whole piece or of this rank's slice */
    const void **in; /* a pointer a rank */
};

static int staged_allgather(const struct staging *s, const void *in, void *out, size_t bytes)
{
    return s->team->transport->ops->allgather(s->team->transport, in, out, bytes);
}

static int staged_alltoall(const struct staging *s, const void *in, void *out, size_t bytes)
{
    return s->team->transport->ops->alltoall(s->team->transport, in, out, bytes);
}

/* Combines the contributions of ranks 0 to depth - 1, which lie `bytes` apart in `theirs`. */
static void staged_combine(const struct staging *s, size_t depth, size_t bytes, void *out, size_t count)
{
    for (size_t r = 0; r < depth; r++)
        s->in[r] = s->theirs + r * bytes;
    tutti_reduce_host(s->call->type, s->call->op, (int)depth, s->in, out, count);
}

/* Replaces every rank's slice in `theirs` by that rank's result of a scan. Half precision is rounded once, so a
 * result cannot be a term of the next one: from the last rank down, as only ranks above need its contribution. */
static void scan_slices(const struct staging *s, size_t count)
{
    size_t bytes = count * s->size;
    int type = s->call->type;
    if (type == TUTTI_TYPE_F16 || type == TUTTI_TYPE_BF16) {
        for (size_t r = s->ranks; r-- > 1;)
            staged_combine(s, r + 1, bytes, s->theirs + r * bytes, count);
    } else {
        for (size_t r = 1; r < s->ranks; r++) {
            const void *pair[] = {s->theirs + (r - 1) * bytes, s->theirs + r * bytes};
            tutti_reduce_host(type, s->call->op, 2, pair, s->theirs + r * bytes, count);
        }
    }
    if (s->call->collective == TUTTI_COLLECTIVE_EXSCAN)
        memmove(s->theirs + bytes, s->theirs, (s->ranks - 1) * bytes);
}

/* `count` elements of the contribution, in `mine`; on return this rank's result of them is there. */
static int staged_piece(const struct staging *s, size_t count)
{
    size_t bytes = count * s->size, depth = (size_t)tutti_result_depth(s->call, s->team->rank, s->team->size);
    int wanted = tutti_result_of(s->call, s->team->rank, s->team->size).count > 0;
    if (bytes * s->ranks <= GATHER_BYTES) {
        int status = staged_allgather(s, s->mine, s->theirs, bytes);
        if (status == TUTTI_OK && wanted)
            staged_combine(s, depth, bytes, s->mine, count);
        return status;
    }
    size_t slice = (count + s->ranks - 1) / s->ranks, slice_bytes = slice * s->size;
    memset(s->mine + bytes, 0, slice_bytes * s->ranks - bytes);
    int status = staged_alltoall(s, s->mine, s->theirs, slice_bytes);
    if (status != TUTTI_OK)
        return status;
    if (s->call->collective == TUTTI_COLLECTIVE_SCAN || s->call->collective == TUTTI_COLLECTIVE_EXSCAN) {
        scan_slices(s, slice);
        return staged_alltoall(s, s->theirs, s->mine, slice_bytes);
    }
    staged_combine(s, s->ranks, slice_bytes, s->theirs, slice);
    return staged_allgather(s, s->theirs, s->mine, slice_bytes);
}

static int staged_whole(const struct staging *s, size_t most)
{
    const struct tutti_call *call = s->call;
    int wanted = tutti_result_of(call, s->team->rank, s->team->size).count > 0, status = TUTTI_OK;
    for (size_t at = 0; at < call->count && status == TUTTI_OK; at += most) {
        size_t count = call->count - at < most ? call->count - at : most;
        status = tutti_move(s->team, s->mine, (const char *)call->in + at * s->size, count * s->size);
        if (status == TUTTI_OK)
            status = staged_piece(s, count);
        if (status == TUTTI_OK && wanted)
            status = tutti_move(s->team, (char *)call->out + at * s->size, s->mine, count * s->size);
    }
    return status;
}

/* Elements [at, at + most) of every segment go to the rank that gets it. */
static int send_segments(const struct staging *s, size_t at, size_t most)
{
    int status = TUTTI_OK, ranks = s->team->size;
    size_t block = most * s->size;
    const char *in = s->call->in;
    if (s->call->collective == TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK && most * s->ranks == s->call->count) {
        status = tutti_move(s->team, s->mine, in, s->call->count * s->size);
    } else {
        for (int r = 0; r < ranks && status == TUTTI_OK; r++) {
            struct tutti_result part = tutti_result_of(s->call, r, ranks);
            size_t left = part.count > at ? part.count - at : 0, n = left < most ? left : most;
            memset(s->mine + (size_t)r * block + n * s->size, 0, block - n * s->size);
            if (n > 0)
                status =
                    tutti_move(s->team, s->mine + (size_t)r * block, in + (part.begin + at) * s->size, n * s->size);
        }
    }
    return status == TUTTI_OK ? staged_alltoall(s, s->mine, s->theirs, block) : status;
}

/* In place, all elements that a round overwrites have been read: element i of a result overlaps element i of the
 * contribution, which is in some segment at i or before. */
static int staged_segments(const struct staging *s, size_t longest, size_t most)
{
    struct tutti_result part = tutti_result_of(s->call, s->team->rank, s->team->size);
    int status = TUTTI_OK;
    for (size_t at = 0; at < longest && status == TUTTI_OK; at += most) {
        size_t left = part.count > at ? part.count - at : 0, n = left < most ? left : most;
        status = send_segments(s, at, most);
        if (status != TUTTI_OK || n == 0)
            continue;
        staged_combine(s, s->ranks, most * s->size, s->mine, n);
        status = tutti_move(s->team, (char *)s->call->out + at * s->size, s->mine, n * s->size);
    }
    return status;
}

/* A rank without memory must not leave the others in the exchange: all ranks get to know of it, and none begins. They
 * agree through the team if it is open, otherwise through the MPI. */
static int staged_agree(struct tutti_team *team, int status)
{
    uint32_t fine = status == TUTTI_OK;
    int64_t word = fine;
    int agreed;
    if (team->whole && team->state != TUTTI_TEAM_BROKEN) {
        agreed = tutti_team_vote(team, fine, &fine);
        word = fine;
    } else {
        agreed = team->transport->ops->allreduce(team->transport, &word, 1, TUTTI_COMBINE_MIN);
    }
    return agreed == TUTTI_OK && !word ? TUTTI_ERR_MEMORY : agreed;
}

static int staged_run(struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    struct staging s = {.team = team, .call = call, .size = tutti_type_size(call->type), .ranks = (size_t)team->size};
    int scatters = tutti_shape_of(call) == TUTTI_SHAPE_SEGMENTS;
    tutti_phase(TUTTI_PHASE_MPI); /* except for copies, see tutti_move() */
    size_t longest = call->count, most = ((size_t)tutti_settings()->staging_mb << 20) / s.size;
    if (scatters) {
        longest = 0;
        for (int r = 0; r < team->size; r++) {
            size_t count = tutti_result_of(call, r, team->size).count;
            longest = count > longest ? count : longest;
        }
        most = most / s.ranks + 1;
    }
    if (most > longest)
        most = longest;
    size_t room = (scatters ? most * s.ranks : most + s.ranks) * s.size;
    s.mine = malloc(room);
    s.theirs = malloc(room > GATHER_BYTES ? room : GATHER_BYTES);
    s.in = malloc(s.ranks * sizeof *s.in);
    int status = staged_agree(team, s.mine && s.theirs && s.in ? TUTTI_OK : TUTTI_ERR_MEMORY);
    *fits = 1;
    if (status == TUTTI_OK)
        status = scatters ? staged_segments(&s, longest, most) : staged_whole(&s, most);
    free(s.mine);
    free(s.theirs);
    free(s.in);
    return status;
}

const struct tutti_algorithm tutti_reduce_staged = {
    .name = "staged",
    .collectives = TUTTI_ON_REDUCTIONS,
    .last_resort = 1,
    .run = staged_run,
};
