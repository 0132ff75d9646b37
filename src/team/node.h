/* Private to team/: what a node holds, and the part of a team that outlives it until all peers have left. */
#ifndef TUTTI_TEAM_NODE_H
#define TUTTI_TEAM_NODE_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "progress/fiber.h"
#include "progress/forecast.h"
#include "team/sm_budget.h"
#include "team/team.h"
#include "team/wait.h"

/* A mapped control page. Ranks of one process (threads) share the mapping. */
struct tutti_page {
    struct tutti_control *control;
    atomic_int refs;
};

struct tutti_peer {
    int socket; /* -1: this rank itself */
    int pid;    /* as this process sees it */
    struct tutti_page *page;
    atomic_int gone;             /* its socket has been seen closed */
    uint32_t invalidations_seen; /* of its allocations that are gone, see invalidation.h; under the node's `gone` */
};

/* A descriptor that has arrived for a team of this rank, see socket.h. */
struct tutti_received;
/* One that could not be kept. */
enum { TUTTI_LOST = 16, TUTTI_SHARING_GPUS = 64 };
struct tutti_lost {
    int peer; /* -1: forgotten */
    uint32_t slot, sequence;
    uint64_t id;
};
struct tutti_cache;

/* What an open team uses of this process: channel, stream and words. Reused as a whole. */
struct tutti_resources {
    struct tutti_resources *next;
    int gpu;
    unsigned life; /* of the GPU: channel and stream have gone where that is over */
    void *channel;
    size_t bytes;
    struct tutti_share share; /* of the channel */
    uint64_t ticks;           /* that the channel (struct tutti_channel_flags) has counted for earlier teams */
    struct tutti_stream *stream;
    int words; /* index of the set in the control page */
    int used;
    int stuck;   /* 1: a kernel has not left it; never reused */
    int spoilt;  /* 1: the last team broke: what lies in the channel may be of later epochs than its ticks say */
    size_t laid; /* bytes of a channel as the last team laid it out; 0: there was none */
    uint64_t
        teammates; /* node ranks below 64 of the teams that have had it: their leaders have it mapped, most likely */
};

/* The private part of a team that is whole. The members from `slot` on are not set in a new one: each of their entries
 * is written before it is read. */
struct tutti_membership {
    struct tutti_membership *next; /* among those left here but not yet by all peers */
    struct tutti_node *node;
    int rank, size;
    struct tutti_exposing *exposing; /* see expose.h; NULL: nothing is exposed */

    const void *caller; /* tutti_fiber_self() of the current call; kernels in stream order look at it meanwhile */
    struct tutti_resources *resources;
    struct tutti_waiting kernel; /* of kernels that run on the caller's thread */
    uint32_t kernel_epoch;
    int kernel_status;
    uint64_t work; /* what kernels do next, see tutti_team_expect() */
    struct tutti_forecast forecast;

    uint64_t come;         /* this rank and those whose records have been read */
    uint64_t late;         /* of these: records that were gone, so that only the kind is known */
    unsigned device_calls; /* arrivals with device memory so far */
    int offered;           /* 1: the shares of the next call have been filled */
    int listed;            /* 1: this rank's lists of blocks have memory */
    /* See tutti_team_on_release(). */
    void (*release)(void *with, struct tutti_team *team, const struct tutti_arrival *call, uint64_t in_mpi);
    void *release_with;

    uint64_t served[2]; /* ranks that have been sent the descriptors of this call's `in` and `out` */
    uint64_t expected;  /* ranks whose descriptors have not arrived */
    int held;           /* mappings that the current call uses */
    int pinned;         /* mappings that the open team uses */

    struct tutti_slot *slot[TUTTI_MAX_RANKS];
    int peer[TUTTI_MAX_RANKS];   /* node rank of each rank */
    int number[TUTTI_MAX_RANKS]; /* slot of each rank in its page */
    uint32_t generation[TUTTI_MAX_RANKS];
    int words_of[TUTTI_MAX_RANKS];              /* of an open team: each rank's set of words */
    unsigned char uuid[TUTTI_MAX_GPUS][16];     /* of an open team: each participant's GPU */
    int lines;                                  /* rank 0, team->lines_later: what lines.c knows so far */
    struct tutti_arrival seen[TUTTI_MAX_RANKS]; /* records of the current call, of the ranks in `come` */
    struct tutti_mapping *holds[2 * TUTTI_MAX_RANKS];
    struct tutti_mapping *pins[TUTTI_MAX_GPUS + TUTTI_MAX_RANKS];
};

/* Memory of teams that were freed, for the next ones: malloc() would join blocks of this size with its neighbours, and
 * tidy up each time. */
enum { TUTTI_TEAM_MEMORY = 4 };
struct tutti_team_memory {
    int n;
    void *block[TUTTI_TEAM_MEMORY];
};

struct tutti_sharing;
struct tutti_node {
    struct tutti_transport *world;
    int rank, size;
    uint64_t nonce[2];
    struct tutti_peer *peer;           /* [size]; [rank] is this one */
    int *world_rank;                   /* [size], in increasing order */
    int64_t *colors;                   /* [ranks of the world]: the machine of each, see node_color() of a transport */
    int cores;                         /* that the ranks of the node may use together */
    int forgotten;                     /* 1: in a child after fork */
    const struct tutti_device *device; /* set by the first team that opens */

    pthread_mutex_t lock; /* slots, resources, words, leaving, memory of teams */
    uint64_t slots[TUTTI_SLOTS / 64];
    uint64_t words;
    struct tutti_resources *resources;
    size_t window_bytes;                /* of all resources */
    struct tutti_page_view *page_views; /* see page_view.h */
    uint64_t marks[TUTTI_MARKS / 64];   /* that are taken */
    struct tutti_membership *leaving;
    struct tutti_team_memory team_memory, membership_memory;

    pthread_mutex_t post; /* sockets and received */
    struct tutti_received *received;
    struct tutti_lost lost[TUTTI_LOST]; /* the last ones */
    unsigned losses;

    struct tutti_cache *cache;
    pthread_mutex_t invalidating;                        /* see invalidation.h */
    _Atomic uint64_t frees;                              /* that this rank has looked after */
    _Atomic uint32_t notices;                            /* counts the notices of peers */
    struct tutti_sm_budget sm_budget[TUTTI_BUDGET_GPUS]; /* by GPU of this process */
    int presents;                                        /* see sharing.c */
    struct tutti_sharing *sharing;              /* likewise, with the other nodes of the machine, if it has any */
    atomic_int present[TUTTI_SHARING_GPUS];     /* by GPU of this process: its entry + 1; 0: none yet; -1: none */
    atomic_int streams;                         /* communicators with a stream */
    atomic_int kernels;                         /* see tutti_deferred_free_kernels() */
    struct tutti_deferred_free *deferred_frees; /* see deferred_free.h; under `lock` */
    struct tutti_watcher *watcher;              /* see watcher.h; under `lock` */
};

static inline struct tutti_control *tutti_node_control(const struct tutti_node *node)
{
    return node->peer[node->rank].page->control;
}

static inline struct tutti_membership *tutti_membership(const struct tutti_team *team)
{
    return team->private_;
}

/* The record of `sequence` in a slot: 1 and *out; 0: not written yet; -1: overwritten by a later record. */
static inline int tutti_record_read(const struct tutti_slot *slot, uint32_t sequence, struct tutti_arrival *out)
{
    const struct tutti_record *record = &slot->record[sequence % TUTTI_RECORDS];
    if (!tutti_reached(atomic_load_explicit(&record->ready, memory_order_acquire), sequence))
        return 0;
    uint64_t count = atomic_load_explicit(&record->count, memory_order_acquire);
    uint64_t detail = atomic_load_explicit(&record->detail, memory_order_acquire);
    uint32_t blocks = atomic_load_explicit(&record->blocks, memory_order_acquire);
    uint64_t head = atomic_load_explicit(&record->head, memory_order_relaxed); /* after what it vouches for */
    if ((uint32_t)head != sequence)
        return -1;
    *out = (struct tutti_arrival){.collective = head >> 40 & 0xff,
                                  .type = (int8_t)(head >> 48),
                                  .op = (int8_t)(head >> 56),
                                  .kind = head >> 32 & 0xff,
                                  .count = count,
                                  .detail = detail,
                                  .blocks = blocks & ((UINT32_C(1) << 30) - 1),
                                  .lines = blocks >> 30 & 1,
                                  .streams = blocks >> 31};
    return 1;
}
/* The status in a word that a peer has written: TUTTI_OK or a negative status, for any value of the word. */
static inline int tutti_status_of_word(uint32_t word)
{
    return word == 0 ? TUTTI_OK : word <= (uint32_t)-TUTTI_ERR_NOT_EXPORTABLE ? -(int)word : TUTTI_ERR_BROKEN;
}
/* Local, rank 0, see lines.c. open: the answer, LATER if it is not there; with TUTTI_MAPPING_PRICE_US it is waited for.
 * look: before an arrival with device memory of a team with lines_later; 1 if all links are known to deliver lines. */
enum tutti_lines { TUTTI_LINES_NONE, TUTTI_LINES_LATER, TUTTI_LINES_THERE };
enum tutti_lines tutti_team_lines_open(struct tutti_team *team);
int tutti_team_lines_look(struct tutti_team *team);
/* tutti_team_vote() for another purpose, which stall reports name. */
int tutti_team_vote_for(struct tutti_team *team, enum tutti_waiting_for what, uint32_t mine, uint32_t *all);
/* The same among the ranks of the mask; breaks nothing. */
int tutti_team_vote_among(struct tutti_team *team, enum tutti_waiting_for what, uint64_t of, uint32_t mine,
                          uint32_t *all);

/* Makes this rank's page, its descriptor (the caller closes it) and its mapping. */
int tutti_page_create(const uint64_t nonce[2], int *fd, struct tutti_page **out);
/* Maps the page behind `fd` after checking size, seals, magic and nonce. */
int tutti_page_map(int fd, const uint64_t nonce[2], struct tutti_page **out);
void tutti_page_release(struct tutti_page *page);

/* Slots of this rank's page. take: fresh slots, all or none; 1 or 0. drop: slots that no peer has seen. */
int tutti_slots_take(struct tutti_node *node, int number[], int n);
void tutti_slots_drop(struct tutti_node *node, const int number[], int n);
/* take: a block, or NULL. put: frees the block if there is no room for it. The lock is held. */
void *tutti_team_memory_take(struct tutti_team_memory *memory);
void tutti_team_memory_put(struct tutti_team_memory *memory, void *block);
/* Leaves the communicator: the place lives until all peers have left too, and is freed by a later sweep. */
void tutti_membership_leave(struct tutti_membership *membership);
/* Frees places that all peers have left; the lock is held. 1 if none is left. */
int tutti_membership_sweep(struct tutti_node *node);

#endif
