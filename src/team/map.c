/* Mapping peers' buffers: a rank asks for the descriptors that it needs, takes them, and agrees with the others. */
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "team/cache.h"
#include "team/share.h"

/* Peers' buffers of one call: [0] in, [1] out. */
struct request {
    struct tutti_shares copy; /* what has been checked must not change */
    const struct tutti_share *share[2];
    struct tutti_mapping *mapping[2];
    int fd[2];   /* -1: has not arrived */
    int came[2]; /* a note for it has arrived */
    int asked;
};

/* Takes what is mapped already; 1 if a descriptor is needed. */
static int map_look_up(struct tutti_team *team, int r, struct request *q)
{
    struct tutti_membership *membership = tutti_membership(team);
    int missing = 0;
    for (int i = 0; i < 2; i++) {
        q->mapping[i] = tutti_cache_find(team->node->cache, membership->peer[r], team->gpu, &q->share[i]->what);
        if (q->mapping[i])
            membership->holds[membership->held++] = q->mapping[i];
        else
            missing |= q->share[i]->what.needs_fd;
    }
    return missing;
}

/* Reads the descriptors that rank r has sent so far; 1: all have arrived. */
static int map_collect(struct tutti_team *team, int r, struct request *q)
{
    struct tutti_membership *membership = tutti_membership(team);
    const struct tutti_export *what[2];
    tutti_share_needed(&q->copy, what);
    int all = 1;
    for (int i = 0; i < 2; i++) {
        if (what[i] && !q->came[i])
            q->came[i] = tutti_socket_take(team->node, membership->peer[r], membership->number[team->rank],
                                           team->sequence, what[i]->id, &q->fd[i]);
        all &= !what[i] || q->came[i];
    }
    return all;
}

struct awaited {
    struct tutti_team *team;
    struct request *q;
};

static int map_has_arrived(void *with)
{
    const struct awaited *a = with;
    struct tutti_membership *membership = tutti_membership(a->team);
    for (int r = 0; r < a->team->size; r++) {
        if (membership->expected >> r & 1 && map_collect(a->team, r, &a->q[r]))
            membership->expected &= ~(UINT64_C(1) << r);
    }
    return !membership->expected;
}

static int await_descriptors(struct tutti_team *team, struct request *q)
{
    struct awaited a = {team, q};
    struct tutti_waiting w = tutti_waiting(team, TUTTI_WAITING_DESCRIPTOR, tutti_membership(team)->expected);
    const int status = w.of ? tutti_await(&w, map_has_arrived, &a) : TUTTI_OK;
    return status == TUTTI_OK ? TUTTI_OK : tutti_team_break(team, status);
}

/* Maps what look_up did not find. */
static int map_rest(struct tutti_team *team, int r, struct request *q)
{
    struct tutti_membership *membership = tutti_membership(team);
    for (int i = 0; i < 2; i++) {
        const struct tutti_export *what = &q->share[i]->what;
        if (q->mapping[i])
            continue;
        int fd = q->fd[i] >= 0 || q->share[0]->what.id != what->id ? q->fd[i] : q->fd[0];
        if ((what->needs_fd && fd < 0) || tutti_cache_add_held(team->node->cache, team->device, membership->peer[r],
                                                               team->gpu, what, fd, 0, &q->mapping[i]) != TUTTI_OK)
            return 0;
        membership->holds[membership->held++] = q->mapping[i];
    }
    return 1;
}

static void close_descriptors(struct tutti_team *team, struct request *q)
{
    for (int r = 0; r < team->size; r++) {
        for (int i = 0; i < 2; i++) {
            if (q[r].fd[i] >= 0)
                close(q[r].fd[i]);
        }
    }
}

static int map_holds(const struct tutti_team *team, int r, const struct tutti_share *share, uint64_t bytes)
{
    if (share->offset <= share->what.bytes && bytes <= share->what.bytes - share->offset)
        return 1;
    tutti_error("rank %d names a buffer of %llu bytes beyond its allocation on %s: it is not mapped", r,
                (unsigned long long)bytes, team->transport->label);
    return 0;
}

/* Reads what rank r offers; 1 if it can be asked for. */
static int read_offer(const struct tutti_team *team, int r, const struct tutti_reach *reach, struct request *q)
{
    const struct tutti_reach any = {0, 0}, *least = reach ? &reach[r] : &any;
    *q = (struct request){.copy = *tutti_team_shares(team, r), .fd = {-1, -1}};
    q->share[0] = &q->copy.in;
    q->share[1] = &q->copy.out;
    return q->copy.in.shared && q->copy.out.shared && map_holds(team, r, q->share[0], least->in) &&
           map_holds(team, r, q->share[1], least->out);
}

int tutti_team_map(struct tutti_team *team, uint64_t of, const struct tutti_reach *reach, const void *in[], void *out[],
                   int *agreed)
{
    struct tutti_membership *membership = tutti_membership(team);
    struct request requests[TUTTI_MAX_RANKS];
    struct tutti_slot *own = team->slot[team->rank];
    int fine = 1, status;
    *agreed = 0;
    if (team->state == TUTTI_TEAM_BROKEN)
        return TUTTI_ERR_BROKEN;
    tutti_share_release(membership);
    membership->expected = 0;
    for (int r = 0; r < team->size; r++) {
        struct request *q = &requests[r];
        const int wanted = r != team->rank && (of >> r & 1);
        q->asked = wanted && read_offer(team, r, reach, q);
        if (!q->asked)
            *q = (struct request){.fd = {-1, -1}};
        if (wanted && !q->asked)
            fine = 0;
        if (q->asked && map_look_up(team, r, q))
            membership->expected |= UINT64_C(1) << r;
    }
    atomic_store(&own->want, membership->expected);
    status = await_descriptors(team, requests);
    for (int r = 0; r < team->size && status == TUTTI_OK; r++)
        fine &= !requests[r].asked || map_rest(team, r, &requests[r]);
    atomic_store(&own->want, 0);
    close_descriptors(team, requests);
    uint32_t all = 0;
    if (status == TUTTI_OK)
        status = tutti_team_vote(team, (uint32_t)fine, &all);
    memset(membership->served, 0, sizeof membership->served); /* after the vote no rank asks for descriptors */
    if (status != TUTTI_OK)
        return status;
    for (int r = 0; r < team->size; r++) {
        const struct request *q = &requests[r];
        if (!all || !q->asked)
            continue;
        in[r] = (const char *)q->mapping[0]->base + q->share[0]->offset;
        out[r] = (char *)q->mapping[1]->base + q->share[1]->offset;
    }
    *agreed = (int)all;
    return TUTTI_OK;
}

void tutti_team_unmap(struct tutti_team *team)
{
    if (tutti_membership(team)->held)
        tutti_share_release(tutti_membership(team));
}
