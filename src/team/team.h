/* Node: the ranks of one machine that can share memory, made once a process. Team: the ranks of one communicator, over
 * a node. A team is cheap until its ranks bring device memory; then it is opened: window, channel, GPUs and leaders.
 *
 * Nothing here is global: every rank has its own node, so that ranks may be threads of one process in tests. */
#ifndef TUTTI_TEAM_TEAM_H
#define TUTTI_TEAM_TEAM_H

#include <stddef.h>

#include "core/types.h"
#include "kernels/args.h"
#include "progress/transport.h"
#include "team/control.h"

struct tutti_node; /* defined in node.h; private to team/ */

/* Collective over `world`. Finds the ranks of this machine (virtual nodes of TUTTI_NODE_RANKS), connects them by Unix
 * sockets and maps everybody's control page. All ranks succeed or none: on failure *out is NULL on every rank, and the
 * reason is logged at info level. `world` must outlive the node. */
int tutti_node_open(struct tutti_transport *world, struct tutti_node **out);
/* Local. Frees sockets, pages, channels and mappings. Teams must be freed before. Calls the device where it is alive.
 */
void tutti_node_close(struct tutti_node *node);
/* Local, in a child after fork: forgets everything without touching the device or telling peers. */
void tutti_node_forget(struct tutti_node *node);
/* Local. Process id of a rank of the node whose process has died without finalizing, or 0; of any rank, or of rank r. A
 * system call for each. */
int tutti_node_dead(const struct tutti_node *node);
int tutti_node_died(const struct tutti_node *node, int r);
int tutti_node_rank(const struct tutti_node *node);
/* Drawn at random, alike on all ranks of the node. */
void tutti_node_key(const struct tutti_node *node, uint64_t key[2]);
/* Rank in the node of a rank of the world, or -1; and the other way, -1 if the node has no such rank. */
int tutti_node_find(const struct tutti_node *node, int world_rank);
int tutti_node_world(const struct tutti_node *node, int rank);
int tutti_node_size(const struct tutti_node *node);
int tutti_node_world_size(const struct tutti_node *node);
/* lowest[r], of each rank r of the world: the lowest rank of its node (virtual nodes of TUTTI_NODE_RANKS). No
 * communication. TUTTI_OK or TUTTI_ERR_MEMORY. */
int tutti_node_map(const struct tutti_node *node, int lowest[]);
/* CPUs that its ranks may use together, as they are bound. */
int tutti_node_cores(const struct tutti_node *node);

enum { TUTTI_TEAM_ATTACHED_BYTES = 1536 };
enum tutti_team_state { TUTTI_TEAM_CLOSED, TUTTI_TEAM_OPEN, TUTTI_TEAM_UNAVAILABLE, TUTTI_TEAM_BROKEN };

struct tutti_team {
    struct tutti_node *node;
    struct tutti_transport *transport; /* of the communicator; owned by the caller */
    int rank, size;
    int whole; /* 1: all ranks are on this node and there are at most TUTTI_MAX_RANKS; otherwise every call is passed on
                */
    const char *why; /* reason where not whole or not available; static text */
    enum tutti_team_state state;
    int status; /* BROKEN: the failure that broke it */

    /* Where whole: */
    struct tutti_team
        *nonblocking; /* a second team of the same ranks with a sequence and, where open, a channel of its own:
                  nonblocking calls use it, so that they never meet the blocking ones. NULL in such a team */
    int is_nonblocking;
    struct tutti_slot *slot[TUTTI_MAX_RANKS];     /* of each rank; slot[rank] is written here */
    struct tutti_listed *listed[TUTTI_MAX_RANKS]; /* of each rank: two; listed[rank] are written here */
    uint32_t sequence;                            /* of the last arrival */
    uint32_t met;                                 /* of the last one after which all ranks were seen to have arrived */
    uint32_t votes;

    /* Set before it is opened, the same on all ranks: bytes of its channel and blocks of its kernels, at most. 0: as
     * settings say. */
    size_t channel_most;
    unsigned blocks_most;
    /* Local, set before it has a share: its kernels in stream order, and those of blocking calls, run one after the
     * other with those of all other teams of this rank where this is 1. So these teams have their blocks together. */
    int turns;
    /* Set before it has a share: the stream of its calls in stream order. NULL: there are several, or other threads may
     * use it while this one calls. */
    struct tutti_stream *stream_of_calls;

    /* Where open: */
    const struct tutti_device *device;
    int gpu;                       /* ordinal in this process */
    unsigned life;                 /* of that GPU: after a reset nothing of the team's is there any more */
    int gpus;                      /* participants */
    int gpu_index;                 /* this rank's among them */
    int leader;                    /* 1: this rank launches for its GPU */
    int gpu_of[TUTTI_MAX_RANKS];   /* participant that rank r belongs to */
    int leader_of[TUTTI_MAX_GPUS]; /* rank that launches for participant g: its lowest */
    size_t channel_bytes;          /* of each channel, flags included */
    void *window[TUTTI_MAX_GPUS];  /* leader of g's channel, in this process's address space; [gpu_index] of a rank that
                                      does not lead is its leader's */
    void *scratch;                 /* this rank's own channel */
    void *scratch_of[TUTTI_MAX_RANKS]; /* leaders: own channels of the ranks of this GPU, else NULL */
    struct tutti_stream *stream;       /* of this rank */
    struct tutti_words *words;         /* host view of this rank's words */
    struct tutti_words *words_device;  /* kernels' view */
    uint32_t epoch;                    /* of the last launch, alike on all ranks */
    uint32_t finished;                 /* blocks of this GPU's launches so far */
    uint32_t noticed;                  /* what the last launch that was waited for left in its word */
    int lines;                         /* 1: all GPUs see peers' 128-byte stores whole, or TUTTI_LINES is set so */
    int lines_later;                   /* 1: that is not known yet; alike on all ranks */
    unsigned blocks;                   /* of a kernel that waits, at most; agreed by all ranks */
    unsigned held;                     /* blocks that this rank has taken for it, see sm_budget.h */
    unsigned share;                    /* blocks that are the team's for as long as it lives; 0: none */
    unsigned share_own;                /* of these, the blocks that this rank has given to this team alone */
    int in_turns;                      /* 1: it uses the blocks of teams that take turns */
    _Atomic int fault;                 /* what the watcher has found, a status; see watcher.h */
    /* The kernel that may still stay after its call and take mail, see mail.h. */
    struct tutti_mail_box {
        uint32_t launch_number; /* of its launch; 0: nothing launched. The caller sets it after a launch */
        uint32_t sequence;      /* of the last command */
    } mail;
    /* Room for the state of the room above that runs calls on the team: zero in a new team, and not looked at here.
     * What it holds is freed by attached_end(), where that is set, before the team gives its channel back. alive: the
     * device and the node may be used. */
    _Alignas(max_align_t) unsigned char attached[TUTTI_TEAM_ATTACHED_BYTES];
    void (*attached_end)(struct tutti_team *team, int alive);
    void *private_; /* of team/ */
};

/* Local: a team of ranks of which each knows that they cannot share memory, and why. NULL without memory. */
struct tutti_team *tutti_team_apart(struct tutti_node *node, struct tutti_transport *transport, const char *why);
/* Collective over `transport` (one allgather): a team and its nonblocking team. Local failures make the team not whole
 * on all ranks.
 */
int tutti_team_create(struct tutti_node *node, struct tutti_transport *transport, struct tutti_team **out);
/* The same in two parts, for a caller that exchanges the records (TUTTI_EXCHANGE_BYTES of each rank, in order of rank)
 * without waiting for it. In between `team` is not whole and waits for no rank, but tutti_team_announce() may be called
 * on the nonblocking team where nonblocking->slot[rank] is not NULL. A rank that fails to begin passes on its
 * record too: then no rank's team is whole. Local; join cannot fail. Teams of more than TUTTI_MAX_RANKS need no
 * records. abandon: instead of join, where the exchange failed. */
enum { TUTTI_EXCHANGE_BYTES = 64 };
int tutti_team_begin(struct tutti_node *node, struct tutti_transport *transport, void *exchange,
                     struct tutti_team **out);
void tutti_team_join(struct tutti_team *team, const void *exchanges);
void tutti_team_abandon(struct tutti_team *team, const void *exchange);
/* Local. Frees a team's resources for calls in stream order: its share of the multiprocessors, and its place with the
 * watcher. Its stream has done its work, or the process ends. Does nothing for other teams. */
void tutti_team_unshare(struct tutti_team *team);
/* Local. Returns slots and channels, also the nonblocking team's, to the node. */
void tutti_team_free(struct tutti_team *team);

/* Local. Announces this rank at its next call: a few stores, no system call. The record is copied. Team whole. */
void tutti_team_arrive(struct tutti_team *team, const struct tutti_arrival *mine);
/* Local. The same for a rank with host memory, which never waits, in the fewest instructions: programs without device
 * memory are to notice nothing. Team whole, more than one rank. */
static inline void tutti_team_announce(struct tutti_team *team, enum tutti_collective collective, int type, int op,
                                       uint64_t count, uint64_t detail)
{
    struct tutti_slot *slot = team->slot[team->rank];
    uint32_t sequence = ++team->sequence;
    if ((sequence & 0xffff) == 0) /* keeps `done` near the sequence, so that comparisons survive the wrap */
        atomic_store_explicit(&slot->done, sequence - 1, memory_order_relaxed);
    tutti_record_write(slot, sequence, collective, type, op, TUTTI_ARRIVAL_HOST, count, detail);
}
/* What rank r offers to its peers in the current call; the own ones are filled (tutti_team_share) before a vote, others
 * read after it. */
static inline struct tutti_shares *tutti_team_shares(const struct tutti_team *team, int r)
{
    return &team->slot[r]->shares[team->sequence & 1];
}

/* Local. The shares of this rank's next call, to be filled before it arrives there: peers read them after
 * tutti_team_await(), without a vote. Shares that are not filled so are empty when the rank arrives. */
struct tutti_shares *tutti_team_offer(struct tutti_team *team);

/* Blocks that rank r offers in the current call, where its shares have `listed` set; read after tutti_team_await(). */
static inline const struct tutti_listed *tutti_team_listed(const struct tutti_team *team, int r)
{
    return &team->listed[r][team->sequence & 1];
}
/* Local. Those of this rank's next call, to be filled before it arrives there. Team whole. NULL without memory. */
struct tutti_listed *tutti_team_list(struct tutti_team *team);

/* Numbers of the rendezvous of rank r, by receiver, in the current call: filled by their owner before a vote, read by
 * others after it. TUTTI_RNDVS: none. */
static inline uint16_t *tutti_team_rndvs(const struct tutti_team *team, int r)
{
    return team->slot[r]->rndv[team->sequence & 1];
}
/* Local. Those of this rank's next call, to be filled before it arrives there: then peers read them after
 * tutti_team_await(), without a vote. NULL: a peer may be in an earlier call still, and read those of the call before
 * the last there, since this rank has not waited for it in the last one. */
static inline uint16_t *tutti_team_rndvs_next(const struct tutti_team *team)
{
    return team->met == team->sequence ? team->slot[team->rank]->rndv[(team->sequence + 1) & 1] : NULL;
}
/* Local. Node rank of rank r. Team whole. */
int tutti_team_peer(const struct tutti_team *team, int r);

/* Waits until all ranks have arrived at the current call and points all[r] at copies of their records (valid until this
 * rank's next arrival; of a rank that is many calls ahead only the kind may be known, the rest is then taken for
 * this rank's own). Bounded; reports stalls; TUTTI_ERR_MISMATCH (reported) where collective, type, op, count or
 * detail differ; TUTTI_ERR_PEER where a rank has died. On failure the team is broken. */
int tutti_team_await(struct tutti_team *team, const struct tutti_arrival *all[]);
/* Local, after tutti_team_await() has failed. 1 if a rank had given the team up in an earlier call, so that it does not
 * arrive at this one: then the call has begun on no rank. */
int tutti_team_is_left(const struct tutti_team *team);
/* Local. 1 if a broken team has been broken by something after which its ranks may be at different calls: a death,
 * calls that do not match, a wait that was too long. Alike on all ranks. 0: by a launch that was refused, for example.
 */
int tutti_team_is_lost(const struct tutti_team *team);
/* Local; team broken. This rank leaves the call that begins now, and all later ones, to the MPI. Called by
 * the thread that makes the calls, in their order, since other threads may break a team while this one arrives. Peers
 * that wait for the arrival of a rank that has given up wait until they know whether it still arrives. */
static inline void tutti_team_leave(const struct tutti_team *team)
{
    if (team->whole && team->slot[team->rank])
        atomic_store(&team->slot[team->rank]->left, 1);
}
/* Local. 1 if rank r has arrived at the current call, or arrives at no call any more. Team whole. */
int tutti_team_has_come(const struct tutti_team *team, int r);
/* Local. Where the calls do not match and the ranks of the mask are in the MPI with `call`, all alike, release() makes
 * that call with them, after tutti_team_release(), so that they return and read the report. Without release() they are
 * not released. A team that is not whole needs no release(). */
void tutti_team_on_release(struct tutti_team *team,
                           void (*release)(void *with, struct tutti_team *team, const struct tutti_arrival *call,
                                           uint64_t in_mpi),
                           void *with);
/* Collective over the ranks that are not in the mask, from within release(): agrees that all are able to make the call
 * of the ranks in the mask. 1: those ranks have the report, and the call must be made; 0: it must not. */
int tutti_team_release(struct tutti_team *team, uint64_t in_mpi, int able);
/* 1 if peers have found while this rank was in the MPI that its call does not match theirs. A load. */
static inline int tutti_team_has_report(const struct tutti_team *team)
{
    return team->size > 1 && team->whole &&
           atomic_load_explicit(&team->slot[team->rank]->report, memory_order_relaxed) != 0;
}
/* Then: breaks the team by what they have found, and returns it. */
int tutti_team_take_report(struct tutti_team *team);
/* Opens the team on GPU `gpu`. Collective over the team's ranks, in two phases: state becomes OPEN on all ranks or
 * UNAVAILABLE on all (`why` says the reason; not an error). Through shared memory alone, so that it is bounded, reports
 * stalls and may be called on any thread. */
int tutti_team_open(struct tutti_team *team, int gpu);
/* Local, after tutti_team_await(). 1 on all ranks, or on none: from the next call on team->lines is 1, by
 * tutti_team_lines_take(). Ranks that did not wait for this call's arrivals keep team->lines too. */
int tutti_team_lines_told(const struct tutti_team *team, const struct tutti_arrival *const all[]);
static inline int tutti_team_lines_come(const struct tutti_team *team, const struct tutti_arrival *const all[])
{
    return team->lines_later && tutti_team_lines_told(team, all);
}
void tutti_team_lines_take(struct tutti_team *team);
/* Collective over the ranks of an open team: waits until team->lines is known. A status. */
int tutti_team_lines_settle(struct tutti_team *team);
/* Local. 1 if opening a closed team that is whole on `gpu` (-1: on the GPU of some earlier team) most likely allocates
 * and maps nothing: a team of all its ranks was open there before, and has given its channel back. */
int tutti_team_opens_soon(const struct tutti_team *team, int gpu);
/* Collective over the ranks of an open team that no stream uses (share 0), in a call at which all have arrived: gives
 * the channel back, so that the team can be opened again, on other GPUs or in a new life of its own. reset: ranks whose
 * GPUs have been reset, of whose channels nothing is kept mapped. What the room above keeps on the GPU must have gone
 * before. Bounded. */
int tutti_team_close(struct tutti_team *team, uint64_t reset);

/* Host-level agreement of the current call: waits for all votes, *all is the minimum. Serves peers' requests for
 * descriptors meanwhile. */
int tutti_team_vote(struct tutti_team *team, uint32_t mine, uint32_t *all);
/* Bytes of a rank's buffers that the call touches. */
struct tutti_reach {
    uint64_t in, out;
};
/* Collective over the team's ranks, after tutti_team_await: maps `in` and `out` of the current arrivals of the ranks in
 * the mask `of` (bit r; may be empty, may include this rank: its own pointers are not mapped, the caller knows them)
 * and agrees: *agreed is 1 if all ranks mapped all they asked for. Pointers are set for the ranks asked for.
 * Mappings stay in the node's cache; those of the current call are not evicted until tutti_team_unmap(). reach: of each
 * rank; a share that does not hold so many bytes cannot be mapped. NULL: any number will do. */
int tutti_team_map(struct tutti_team *team, uint64_t of, const struct tutti_reach *reach, const void *in[], void *out[],
                   int *agreed);
/* Local. The kernels of the current call have ended: its mappings may be evicted. Without it the next call of the team
 * does it, and until then a peer's new memory at the address of a freed buffer cannot be mapped. */
void tutti_team_unmap(struct tutti_team *team);
/* Local. Fills a share for `pointer`, from a cache keyed by the allocation's id; shared = 0 if it cannot be
 * exported. */
void tutti_team_share(struct tutti_team *team, const void *pointer, struct tutti_share *out);

/* Collective over the team's ranks, between calls: every rank hands a descriptor (-1: none) to all others. theirs[r] is
 * what rank r gave, the caller closes it; -1 for the own one, for none, and where it could not be kept. Bounded,
 * reports stalls. Team whole. */
int tutti_team_pass(struct tutti_team *team, int mine, int theirs[]);
/* Says that this rank has finished the current call with `status`. TUTTI_OK: its kernels have ended, and its mappings
 * are given back before. */
void tutti_team_done(struct tutti_team *team, int status);
/* Waits until the ranks in the mask have finished the current call; returns the first failure among them. */
int tutti_team_await_done(struct tutti_team *team, uint64_t of);
/* Local. Names the work that the team's kernels do next: how long they take is the same for the same name (not 0),
 * within what the machine lets vary. Long waits for them are then slept through (progress/forecast.h), where TUTTI_WAIT
 * is auto. 0: their time is not known. */
void tutti_team_expect(struct tutti_team *team, uint64_t work);
/* Waits until this rank's done word (team->words->done) has reached `epoch`; on abort or the death of a peer sets the
 * abort word, waits a bounded time for the kernel to leave and breaks the team. */
int tutti_team_await_kernel(struct tutti_team *team, uint32_t epoch);
/* The same for a launch that says its epoch (TUTTI_NOTICE_EPOCH), each of which is waited for. */
int tutti_team_await_notice(struct tutti_team *team);
/* Local, after a launch has failed. Waits, up to a bound, until what was put into the team's stream before it has
 * ended. */
void tutti_team_drain(struct tutti_team *team);
/* Local. Mail to the kernel that stays (team->mail.launch_number). post: 1 if the command of `args` (in, out,
 * count below 2^32, shape, root, launch_number) is on its way: tutti_team_await_mail() is next; 0 if the kernel is
 * known to leave, and is forgotten. leave: makes it leave and forgets it; 1 if there was one: the stream is free
 * when it has gone. */
int tutti_team_mail_post(struct tutti_team *team, const struct tutti_flow_args *args);
int tutti_team_mail_leave(struct tutti_team *team);
/* As tutti_team_await_kernel() for a command: *served is 0 if the kernel has left without beginning it, and is
 * forgotten. */
int tutti_team_await_mail(struct tutti_team *team, uint32_t launch_number, int *served);
/* For kernels of the host device (args.host_wait): progress, liveness, abort. `with` is the struct tutti_team. */
int tutti_team_host_wait(void *with);
/* Local. Why calls of this team in stream order have failed, TUTTI_OK if none is known to; then the team is broken.
 * A load or two. Team open. */
int tutti_team_fault(struct tutti_team *team);
/* Local, any thread: the same, but the team is left as it is. */
int tutti_team_seen(const struct tutti_team *team);
/* Marks the team broken by `status` and makes local kernels leave. Returns status. */
int tutti_team_break(struct tutti_team *team, int status);

#endif
