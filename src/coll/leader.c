/* leader: of the ranks that share a GPU one launches, over all their buffers; contexts of several processes on one GPU
 * take turns, and two kernels that wait for each other there would stand still. With several GPUs the leaders run
 * oneshot or twoshot with the contributions of all their ranks, so the order of ranks stays. Memory that cannot be
 * mapped goes through its rank's own channel in pieces. */
#include "coll/algorithm.h"
#include "core/status.h"
#include "core/types.h"

enum { ONESHOT_BYTES = 256 << 10 }; /* up to here leaders of several GPUs use oneshot */

int tutti_leader_can(const struct tutti_team *team, const struct tutti_reduce *call)
{
    (void)call;
    return team->gpus < team->size;
}

static uint64_t members(const struct tutti_team *team)
{
    uint64_t mask = 0;
    for (int r = 0; r < team->size; r++)
        mask |= (uint64_t)(team->gpu_of[r] == team->gpu_index) << r;
    return mask;
}

/* One GPU's work, over buffers that the leader can reach; in and out are indexed by rank. */
static int lead(struct tutti_team *team, const struct tutti_reduce *call, const void *in[], void *out[])
{
    if (team->gpus == 1)
        return tutti_direct_mapped(team, call, in, out);
    struct tutti_locals locals = {.n = 0};
    for (int r = 0; r < team->size; r++) {
        if (team->gpu_of[r] != team->gpu_index)
            continue;
        locals.rank[locals.n] = r;
        locals.in[locals.n] = in[r];
        locals.out[locals.n++] = out[r];
    }
    if (call->count * tutti_type_size(call->type) <= ONESHOT_BYTES)
        return tutti_oneshot_locals(team, &locals, call->count, call->type, call->op);
    return tutti_twoshot_locals(team, &locals, call->count, call->type, call->op);
}

/* Everybody copies a piece into its own channel, the leader works there, everybody copies the piece of the result out.
 */
static int by_pieces(struct tutti_team *team, const struct tutti_reduce *call)
{
    size_t size = tutti_type_size(call->type), most = tutti_channel_half(team) / size;
    size_t in_at = tutti_channel_data(team, 0), out_at = tutti_channel_data(team, 1);
    int status = TUTTI_OK;
    for (size_t at = 0; at < call->count && status == TUTTI_OK; at += most) {
        struct tutti_reduce piece = *call;
        piece.count = call->count - at < most ? call->count - at : most;
        piece.in = (const char *)call->in + at * size;
        piece.out = (char *)call->out + at * size;
        size_t bytes = piece.count * size;
        uint32_t fine;
        if (!team->leader)
            status = tutti_move(team, (char *)team->scratch + in_at, piece.in, bytes);
        if (status == TUTTI_OK)
            status = tutti_team_vote(team, 1, &fine);
        if (status == TUTTI_OK && team->leader) {
            const void *in[TUTTI_MAX_RANKS];
            void *out[TUTTI_MAX_RANKS];
            for (int r = 0; r < team->size; r++) {
                in[r] = r == team->rank ? piece.in : (char *)team->scratch_of[r] + in_at;
                out[r] = r == team->rank ? piece.out : (char *)team->scratch_of[r] + out_at;
            }
            status = lead(team, &piece, in, out);
        }
        if (status == TUTTI_OK)
            status = tutti_team_vote(team, 1, &fine);
        if (status == TUTTI_OK && !team->leader)
            status = tutti_move(team, piece.out, (char *)team->scratch + out_at, bytes);
    }
    return status;
}

int tutti_leader_run(struct tutti_team *team, const struct tutti_reduce *call, int *fits)
{
    const void *in[TUTTI_MAX_RANKS];
    void *out[TUTTI_MAX_RANKS];
    int mapped, status = tutti_map_buffers(team, call, team->leader ? members(team) : 0, in, out, &mapped);
    *fits = 1;
    if (status != TUTTI_OK)
        return status;
    if (!mapped) {
        status = by_pieces(team, call);
        return status == TUTTI_OK ? TUTTI_OK : tutti_team_break(team, status);
    }
    if (!team->leader)
        return tutti_team_await_done(team, UINT64_C(1) << team->leader_of[team->gpu_index]);
    status = lead(team, call, in, out);
    tutti_team_done(team, status);
    return status;
}
