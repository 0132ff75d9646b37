/* coll/'s state of a team, in the space that the team has for it (team.h, `attached`). Private to coll/. */
#ifndef TUTTI_COLL_STATE_H
#define TUTTI_COLL_STATE_H

#include "coll/call/opening_price.h"
#include "team/team.h"

struct tutti_plan;         /* dtype/plan.h */
struct tutti_side_streams; /* coll/launch/side_streams.h */

enum { TUTTI_SPARES = 64, TUTTI_CACHED_LAUNCHES = 16 };

struct tutti_coll_state {
    /* Waits for the program's work in its own stream of the communicator; see tutti_coll_settle_by(). */
    int (*settle)(void *with);
    void *settle_with;
    int owed; /* what settle() returned in a call that went to the MPI for it; see tutti_coll_owed() */
    /* Team UNAVAILABLE: calls since, and until it is tried again. */
    unsigned refused, backoff;
    /* Team open on other GPUs than a call's: calls that are still staged until it is opened on theirs, how many after
     * the last opening, and calls done since. */
    unsigned other_left, other_backoff, served;
    /* What calls of each kind that wait for the team or for kernels have lost, call/opening.h. */
    uint64_t lost_ns[TUTTI_OPENING_KINDS];
    int rules;                                 /* first of the rules in force: all ranks have the same */
    uint16_t prepared[TUTTI_TYPES][TUTTI_OPS]; /* bit k: this rank has prepared kernel k */
    /* The last call whose kernels were prepared. */
    struct {
        uint64_t count;
        uint8_t collective, type, op;
    } last;

    /* Of the call under way: */
    int offered;        /* 1: all ranks have filled their shares before they arrived */
    unsigned granted;   /* blocks of a kernel that waits, the same on all ranks; 0: not agreed */
    int beside_streams; /* 1: some rank has communicators with a stream */
    int lines_come;     /* 1: the next call may be made in lines */

    uint32_t mixed; /* bit of each data mover in whose last call some rank had blocks in memory of the host */
    uint32_t posts; /* bit of each whose blocks this rank posts before it arrives, if it expects a row that posts */
    _Atomic uint8_t declined[TUTTI_COLLECTIVES];      /* calls that peers leave to the MPI, call/declined.h */
    _Atomic uint8_t declined_long[TUTTI_COLLECTIVES]; /* bits of the length of the longest of these in a row */
    int moves_prepared;                               /* 1: this rank has prepared the kernels that move data */
    uint64_t lead_longest;                            /* bytes of the longest run that leaders have moved */
    uint64_t direct_runs; /* runs whose place in a result of this rank a peer has mapped: they pass no window */
    int early;            /* 1: the last launch in stream order let the next one start at once */
    struct tutti_side_streams
        *sides[2]; /* for copy engines, of calls in the team's stream and in stream order; NULL: none yet */
    /* Device scratch: each is at least twice as large as the previous one, and all are freed with the team, since
     * work in streams and graphs may still use them. */
    void *spare[TUTTI_SPARES];
    int spares;
    size_t spare_bytes; /* of the last one */
    /* Plans of calls in stream order that pack and unpack; held until the team is freed, for the same reason. */
    const struct tutti_plan **plan;
    size_t plans;
    const struct tutti_plan *bytes; /* one of them: a byte; NULL: not needed yet */

    /* Launches of the team's stream that repeat, kept ready by the device. */
    struct tutti_cached_launch {
        struct tutti_prepared *prepared; /* NULL: seen, but not made yet */
        struct tutti_launch launch;
        struct tutti_flow_args flow;
        uint32_t calls;
    } * launch_cache;
    uint32_t launch_lookups;                /* calls that have searched for one */
    uint64_t launches_held;                 /* calls that have found one while communicators with a stream lived */
    struct tutti_cached_launch *cache_next; /* to be prepared after the call under way */
    struct tutti_prepared *cache_stale;     /* to be dropped then */
    int cache_off;                          /* 1: the device could not keep one */

    /* The kernel that may stay after its call, see kernels/linger.inc. */
    struct tutti_linger {
        uint32_t us;  /* how long kernels stay, the same on all ranks; 0: they do not */
        int type, op; /* that it serves */
        uint64_t launches, served;
    } linger;
};
_Static_assert(sizeof(struct tutti_coll_state) <= TUTTI_TEAM_ATTACHED_BYTES, "the room that a team has for it");

static inline struct tutti_coll_state *tutti_coll_of(const struct tutti_team *team)
{
    return (struct tutti_coll_state *)(uintptr_t)team->attached;
}
/* Local. Makes the last spare one of at least `bytes` bytes; gpu: the team's, also if it is not open. A status. */
int tutti_coll_spare(struct tutti_team *team, int gpu, size_t bytes);
/* Local. The plan lives as long as the team. A status. */
int tutti_coll_hold_plan(struct tutti_team *team, const struct tutti_plan *plan);

/* Blocks of a kernel in the call under way. Team open. */
static inline unsigned tutti_coll_blocks(const struct tutti_team *team)
{
    const unsigned granted = tutti_coll_of(team)->granted, most = granted ? granted : team->blocks;
    return most < TUTTI_MAX_BLOCKS ? most : TUTTI_MAX_BLOCKS;
}
/* Local. From now on the state has resources to be freed with the team. */
void tutti_coll_keeps(struct tutti_team *team);
/* Local, before the team is closed: frees the state's resources on the GPU. The owner's hooks and the counts of
 * tries stay. */
void tutti_coll_renew(struct tutti_team *team);

#endif
