/* Private to the endpoints: what one holds. */
#ifndef TUTTI_TEAM_ENDPOINT_OWN_H
#define TUTTI_TEAM_ENDPOINT_OWN_H

#include <pthread.h>

#include "dtype/pack.h"
#include "progress/beside.h"
#include "team/deferred_free.h"
#include "team/endpoint.h"
#include "team/node.h"

enum {
    TUTTI_ENDPOINT_SIGHTED = 64,
    TUTTI_ENDPOINT_HOPELESS = 8,
    TUTTI_ENDPOINT_ACCOUNTS = 32,
    TUTTI_ENDPOINT_PUTS = 8,
    TUTTI_ENDPOINT_WAYS = 4
};

/* No allocation has this id, see `named`. */
#define TUTTI_ENDPOINT_SEVERAL UINT64_MAX

/* Time between two tries to map what could not be mapped, of the first two and the longest. */
#define TUTTI_ENDPOINT_AGAIN_NS      UINT64_C(1000000)
#define TUTTI_ENDPOINT_AGAIN_MOST_NS UINT64_C(4000000000)

/* What this rank holds of a peer's. */
struct tutti_endpoint_from {
    _Atomic uint64_t seen;                 /* when its process was looked at */
    _Atomic int dead;                      /* it was not there any more */
    _Atomic uint64_t fetched;              /* when it was seen to fetch from this rank */
    _Atomic uint64_t leased;               /* as sender: the allocation that it was last seen to keep mapped; 0: none */
    _Atomic uint32_t unannounced;          /* RTSs for it that it does not know of yet */
    uint32_t shorts;                       /* as sender: open rendezvous for it whose RTSs are short; under the lock */
    uint32_t leases[TUTTI_ENDPOINT_KNOWN]; /* the same under one lease of each known allocation; under the lock */
    /* Its scratches, by its GPU and by this rank's that they are mapped for. */
    struct tutti_mapping *scratch[TUTTI_ENDPOINT_GPUS][TUTTI_ENDPOINT_GPUS];
    /* The scratch that it offered before it reset its GPU: messages may lie there that it packed before. */
    struct tutti_mapping *former[TUTTI_ENDPOINT_GPUS][TUTTI_ENDPOINT_GPUS];
    unsigned met;                                       /* allocations that were made known so far */
    struct tutti_mapping *pinned[TUTTI_ENDPOINT_KNOWN]; /* of those that are known */
    /* The memory that is being mapped, one at a time; asked.id 0: none. endpoint_map.c */
    struct tutti_export asked;
    int asked_gpu, asked_channel;    /* GPU and channel that it is to be mapped for */
    unsigned asked_life;             /* of that GPU */
    uint64_t asked_at, rung;         /* times; rung: that the peer's bell was rung last */
    int joined[TUTTI_MAPPING_SIZES]; /* 1: memory of the peer, of this size, has been mapped: the next costs less */
    int kernels;                     /* 1: a short message waits for the mapping: kernels are loaded with it */
    _Atomic int mapping;             /* enum tutti_endpoint_mapping */
    int fd;                          /* of `mapping` MAPPING; -1: none */
    struct tutti_mapping *mapped;    /* of `mapping` MAPPED; NULL: it could not be mapped */
    struct tutti_endpoint *endpoint;
    struct tutti_endpoint_hopeless {
        uint64_t id; /* of an allocation that could not be mapped for this GPU */
        int gpu;
        uint64_t next, wait; /* when it is tried again; how long after the last try */
    } hopeless[TUTTI_ENDPOINT_HOPELESS];
    unsigned hopes;
    /* As sender: the allocation of each GPU that messages to the peer have named so far; TUTTI_ENDPOINT_SEVERAL: others
     * too, or the peer does not keep it mapped. */
    _Atomic uint64_t named[TUTTI_ENDPOINT_GPUS];
    struct tutti_endpoint_sight {
        uint64_t id;    /* of an allocation that messages have named and that is not known */
        uint64_t since; /* time of the first of them */
    } sighted[TUTTI_ENDPOINT_SIGHTED];
    unsigned sights;
    /* As sender: what messages from allocations that the peer has not mapped have lost, endpoint_price.c */
    struct tutti_endpoint_account {
        uint64_t id, spent;        /* spent: in ns, since the peer was asked to map it */
        uint64_t next;             /* how much is spent until the peer is asked again; 0: it was not asked yet */
        unsigned messages, awaits; /* awaits: so many more messages wait for its mapping */
    } account[TUTTI_ENDPOINT_ACCOUNTS][TUTTI_ENDPOINT_WAYS]; /* by the id: one look, not one at each */
    unsigned accounts;
    uint64_t lost;          /* ns that messages of all allocations have lost */
    uint64_t unpacked;      /* ns that those have lost which scratch would have packed, since it paid last */
    uint32_t scratch_shown; /* bits of this rank's GPUs: a rendezvous has shown the peer the scratch there */
    /* As receiver: what messages into allocations that the peer has not mapped have lost, endpoint_put.c */
    struct tutti_endpoint_put_account {
        uint64_t id, lost; /* ns, since the peer was asked to map it */
    } puts[TUTTI_ENDPOINT_PUTS];
    unsigned put_next;
    _Atomic int put_runs;                      /* messages that this rank is storing there */
    _Atomic uint64_t put_late;                 /* when the peer last was late */
    _Atomic uint64_t put_seen;                 /* when a put of the peer was last seen under way */
    _Atomic uint32_t puts_late, puts_left_out; /* see tutti_endpoint_put_late() */
    _Atomic uint32_t to_host; /* as sender: short messages that its receives into memory of the host decided */
};

/* What is under way for the memory that is being mapped. */
enum tutti_endpoint_mapping {
    TUTTI_ENDPOINT_ASKED,   /* its descriptor */
    TUTTI_ENDPOINT_MAPPING, /* a thread beside maps it */
    TUTTI_ENDPOINT_MAPPED   /* nothing more: the thread has ended */
};

/* The thread that answers the bell. */
enum tutti_endpoint_bell { TUTTI_ENDPOINT_BELL_NONE, TUTTI_ENDPOINT_BELL_THERE, TUTTI_ENDPOINT_BELL_ENDS };

/* TRIED: a thread makes what messages need to land, or could not. */
enum tutti_lands { TUTTI_LANDS_NOT, TUTTI_LANDS_TRIED, TUTTI_LANDS };

/* A GPU that the program has passed memory of, and this rank's scratch there. */
struct tutti_endpoint_gpu {
    int gpu;               /* ordinal in this process */
    _Atomic unsigned life; /* of that GPU; after a reset it is met again */
    char *scratch;
    int making; /* 1: a thread beside allocates it */
    /* endpoint_landing.c. The places as this GPU sees them, its word for launches, and the stream of the copies; valid
     * while `lands` is TUTTI_LANDS. Written under the lock. */
    struct tutti_endpoint_landings {
        struct tutti_landing *seen;
        uint32_t *ended;
        struct tutti_stream *stream;
    } landings;
    atomic_int lands;        /* of enum tutti_lands */
    _Atomic unsigned staged; /* messages that would have landed */
    atomic_int by_engine;    /* messages that a copy engine copies, as a kernel was late */
    struct tutti_endpoint *endpoint;
    unsigned asked, backoff; /* without success so far; and how often before the next try */
    /* Places of the scratch that are taken, by address, as numbers of rendezvous + 1; 0: none. latest: the one that was
     * taken last, behind which the next search begins. */
    uint16_t first, latest;
    uint64_t steps; /* of all searches */
};

struct tutti_endpoint {
    struct tutti_node *node;
    const struct tutti_device *device;
    size_t bytes; /* of a scratch */
    struct tutti_lock lock;
    struct tutti_endpoint_gpu gpu[TUTTI_ENDPOINT_GPUS];
    _Atomic int gpus;
    void (*before)(void);    /* called before this rank takes rendezvous; NULL: nothing */
    void (*after)(void);     /* called once it takes them; NULL: nothing */
    _Atomic int blind;       /* 1: a receive of this rank may be open that knows no short RTSs */
    int connecting;          /* 1: all ranks make a communicator with a stream, so that memory may be mapped */
    int connected;           /* 1: there has been one: what messages of its ranks need is mapped */
    _Atomic uint32_t rtss;   /* that this rank has seen */
    _Atomic int unannounced; /* 1: RTSs for some peers */
    uint64_t sequence;
    _Atomic uint64_t owed; /* ns of mappings on credit that no message has saved yet, endpoint_price.c */
    _Atomic int in_use;    /* 1: messages have saved some of it since the newest account was opened */
    uint64_t used[TUTTI_RNDVS / 64], held[TUTTI_RNDVS / 64]; /* held by the sender */
    _Atomic int rndvs;                                       /* in use; written under the lock */
    struct tutti_step *step;                                 /* open once for each of them; NULL: not open */
    _Atomic unsigned polls;                                  /* while many are open; about */
    unsigned char lease[TUTTI_RNDVS]; /* of each rendezvous: its entry among known + 1; 0: none */
    _Atomic int asking;               /* peers whose memory is being mapped */
    _Atomic int beside;               /* threads beside that map or allocate for this endpoint */
    _Atomic uint64_t again; /* time of the next attempt to map scratches that could not be mapped; 0: all are mapped */
    _Atomic uint32_t notices_seen; /* of the node's, as far as it has been followed */
    int most;                      /* known of one peer */
    _Atomic int bell;              /* enum tutti_endpoint_bell */
    struct tutti_endpoint_piece {
        uint64_t at, bytes;    /* of the scratch of `gpu`; bytes 0: none */
        uint16_t next, before; /* that are taken, by address, as in struct tutti_endpoint_gpu */
        int to, gpu;           /* as the rendezvous says, which others can write */
        uint64_t each;         /* bytes of a piece */
        const void *own;       /* to this rank itself: what is offered */
        int short_rts;         /* 1: it is counted among the `shorts` of its receiver */
        int by_kernel;         /* LANDING: 1: a kernel copies it */
        int scratch_pays;      /* 1: the messages so far have cost as much as scratch does */
        int left;              /* 1: the MPI is to have the message, see tutti_endpoint_leaves() */
        int of_call;           /* 1: the caller of a collective looks at it: no step is open for it */
    } piece[TUTTI_RNDVS];      /* of each rendezvous */
    struct tutti_endpoint_from *from;
};

/* Index of a GPU that the program has passed memory of in its present life; -1: it has not. */
static inline int tutti_endpoint_index(const struct tutti_endpoint *endpoint, int gpu)
{
    const int n = atomic_load_explicit(&endpoint->gpus, memory_order_acquire);
    for (int i = n - 1; i >= 0; i--) {
        if (endpoint->gpu[i].gpu == gpu)
            return atomic_load_explicit(&endpoint->gpu[i].life, memory_order_acquire) == tutti_gpu_life(gpu) ? i : -1;
    }
    return -1;
}

/* 0 after a reset of the GPU. */
static inline int tutti_endpoint_is_there(const struct tutti_endpoint_gpu *own)
{
    return atomic_load_explicit(&own->life, memory_order_acquire) == tutti_gpu_life(own->gpu);
}

static inline struct tutti_endpoints *tutti_endpoint_mine(const struct tutti_endpoint *endpoint)
{
    return &tutti_node_control(endpoint->node)->endpoints;
}

/* tutti_endpoint_number(), which the sender's side asks for some times in each message. */
static inline int tutti_endpoint_number_of(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    return (int)(rndv - tutti_endpoint_mine(endpoint)->rndv);
}

/* A rank takes from its own memory as it is: there is nothing to be mapped. */
static inline int tutti_endpoint_is_own(const struct tutti_endpoint *endpoint, int peer)
{
    return peer == endpoint->node->rank;
}

static inline struct tutti_endpoints *tutti_endpoint_theirs(const struct tutti_endpoint *endpoint, int peer)
{
    return &endpoint->node->peer[peer].page->control->endpoints;
}

/* 1 if the peer keeps this rank's allocation mapped. No lock, no lease: it may be unmapped at once. */
static inline int tutti_endpoint_is_known(const struct tutti_endpoint *endpoint, int peer, uint64_t id)
{
    const struct tutti_known *const all = tutti_endpoint_theirs(endpoint, peer)->known[endpoint->node->rank];
    for (int i = 0; i < TUTTI_ENDPOINT_KNOWN && id; i++) {
        if (atomic_load_explicit(&all[i].id, memory_order_relaxed) == id)
            return 1;
    }
    return 0;
}

/* 1 if nothing may be allocated or mapped now: kernels in stream order may be waiting for this process, and the driver
 * for them. What messages need between ranks of a communicator with a stream is there. */
static inline int tutti_endpoint_quiet(const struct tutti_endpoint *endpoint)
{
    return endpoint->connected && !endpoint->connecting && !tutti_deferred_free_may_map(endpoint->node);
}

/* 1 if mapping and allocating may take the device longer than a message. */
static inline int tutti_endpoint_is_slow(const struct tutti_endpoint *endpoint)
{
    return endpoint->device->share.usual_ns && endpoint->device->share.usual_ns() > 0;
}

/* ns that the MPI takes to carry a message, with its copies: 30 us, and a ns for four bytes. */
static inline uint64_t tutti_endpoint_carrying(uint64_t bytes)
{
    return 30000 + bytes / 4;
}

/* ns that a message loses that the MPI carries, beside one from a mapped allocation. */
static inline uint64_t tutti_endpoint_loses(uint64_t bytes)
{
    return tutti_pack_gains(bytes);
}

/* ns that the first mapping of such a size usually takes. */
static inline uint64_t tutti_endpoint_mapping_usual(const struct tutti_endpoint *endpoint, enum tutti_mapping_size size)
{
    enum { USUAL_TIMES = 5 }; /* a large one */
    return endpoint->device->share.usual_ns() * (size == TUTTI_MAPPING_LARGE ? USUAL_TIMES : 1);
}

/* ns that a rank takes to map memory of a peer, by its last mapping of such a size. More than 20 ms was the machine. */
static inline uint64_t tutti_endpoint_mapping_takes(const struct tutti_endpoint *endpoint,
                                                    const struct tutti_endpoints *of, enum tutti_mapping_size size)
{
    const uint64_t last = atomic_load_explicit(&of->mapping_ns[size], memory_order_relaxed), most = 20000000,
                   ns = last ? last : tutti_endpoint_mapping_usual(endpoint, size);
    return ns < most ? ns : most;
}
/* endpoint_price.c: what the messages of an allocation of that size lose before it is mapped: the time of a mapping, or
 * what is set. */
uint64_t tutti_endpoint_price(const struct tutti_endpoint *endpoint, const struct tutti_endpoint_from *to,
                              const struct tutti_endpoints *of, enum tutti_mapping_size size);

/* On a thread beside: loads the packing kernels of the GPU in this life, which the next messages need. A failure is
 * reported by the call that needs them. */
static inline void tutti_endpoint_load_kernels(const struct tutti_endpoint *endpoint, int gpu, unsigned life)
{
    if (tutti_endpoint_is_slow(endpoint) && life == tutti_gpu_life(gpu) && tutti_pack_state(gpu) != TUTTI_PACK_READY)
        (void)tutti_pack_prepare_few(gpu);
}

int tutti_endpoint_copies_first(const struct tutti_endpoint *endpoint);
/* The last call of what tutti_endpoint_begin() has begun. */
static inline void tutti_endpoint_ended(struct tutti_endpoint *endpoint)
{
    atomic_fetch_sub(&endpoint->beside, 1);
}

/* Calls run(with) on a thread beside; on the calling thread if none can be made, or if the device is quick. */
static inline void tutti_endpoint_begin(struct tutti_endpoint *endpoint, void (*run)(void *with), void *with)
{
    atomic_fetch_add(&endpoint->beside, 1);
    if (!tutti_endpoint_is_slow(endpoint) || tutti_beside_start(run, with) != TUTTI_OK)
        run(with);
}

/* endpoint_places.c, the lock is held. Takes so many bytes of the scratch of the rendezvous' GPU in place of those that
 * it has: piece->at, piece->bytes; 0, and it keeps no place, where no gap is long enough. Searches go on where the last
 * one ended, so that messages that end in the order in which they began cost a step or two. give: does nothing for a
 * rendezvous without a place. */
int tutti_endpoint_place_take(struct tutti_endpoint *endpoint, int number, uint64_t bytes) TUTTI_HOLDS(endpoint->lock);
void tutti_endpoint_place_give(struct tutti_endpoint *endpoint, int number) TUTTI_HOLDS(endpoint->lock);
/* The lock is held. The rendezvous, in this state, is free again. */
void tutti_endpoint_put_back(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv, uint32_t state)
    TUTTI_HOLDS(endpoint->lock);
/* endpoint_landing.c. Ends the landings of this GPU; alive: the device may be called, and the GPU was not reset. The
 * lock is held, or no other thread is there. */
void tutti_endpoint_landing_close(struct tutti_endpoint *endpoint, int index, int alive);
/* The lock is held, here and below. No rank will fetch a rendezvous of this rank from its buffer any more. */
void tutti_endpoint_end_lease(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
    TUTTI_HOLDS(endpoint->lock);
/* 1 if the peer keeps the allocation of this id mapped: the rendezvous has a lease now. */
int tutti_endpoint_lease(struct tutti_endpoint *endpoint, int number, int peer, uint64_t id)
    TUTTI_HOLDS(endpoint->lock);
/* Without the lock: a message of so many bytes goes by such a rendezvous. */
void tutti_endpoint_leased(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv, uint64_t id, uint64_t bytes);
/* endpoint_serve.c. serve: sends what peers have asked for. is_unserved: 1 while the peer has not sent what this rank
 * has asked for; now and then its bell is rung. hang, end: without the lock or with it. hang: peers map memory of this
 * rank by descriptors: from now on a thread answers the bell. end: it ends soon. */
void tutti_endpoint_serve(struct tutti_endpoint *endpoint) TUTTI_HOLDS(endpoint->lock);
int tutti_endpoint_is_unserved(struct tutti_endpoint *endpoint, int peer) TUTTI_HOLDS(endpoint->lock);
void tutti_endpoint_bell_hang(struct tutti_endpoint *endpoint);
void tutti_endpoint_bell_end(struct tutti_endpoint *endpoint);
/* This rank's scratch on its GPU `index`, allocated and offered to the peers at its first use. NULL if it cannot be
 * allocated now. */
char *tutti_endpoint_own_scratch(struct tutti_endpoint *endpoint, int index) TUTTI_HOLDS(endpoint->lock);
/* The same, begun on a thread beside where that is slow. Without the lock. */
void tutti_endpoint_make_scratch(struct tutti_endpoint *endpoint, int index);
/* The scratch of a peer's GPU for kernels of `gpu`, kept until the endpoint ends or one of the two GPUs is reset. */
enum tutti_reaching tutti_endpoint_map_scratch(struct tutti_endpoint *endpoint, int peer, unsigned index, int gpu,
                                               struct tutti_mapping **out) TUTTI_HOLDS(endpoint->lock);
/* Gives up one of these. */
void tutti_endpoint_drop(struct tutti_endpoint *endpoint, struct tutti_mapping **kept) TUTTI_HOLDS(endpoint->lock);
/* The peer's scratch `id` for kernels of `gpu`, also if the peer has reset its GPU since and offers another one. The
 * lock is held. */
enum tutti_reaching tutti_endpoint_map_packed(struct tutti_endpoint *endpoint, int peer, unsigned index, int gpu,
                                              uint64_t id, struct tutti_mapping **out) TUTTI_HOLDS(endpoint->lock);
/* 1 if the allocation of this id is not the only one of its GPU that messages to the peer have named, or the peer does
 * not keep it mapped. index: of the GPU. */
int tutti_endpoint_several(struct tutti_endpoint *endpoint, int peer, int index, uint64_t id);
/* A message of so many bytes goes from an allocation that the peer has mapped: repays a mapping on credit. */
void tutti_endpoint_saves(struct tutti_endpoint *endpoint, uint64_t bytes);
/* 1 if the allocation has no name yet and naming it may take the driver longer than a message to the peer. */
int tutti_endpoint_is_unnamed(struct tutti_endpoint *endpoint, int peer, uint64_t id);
/* 1 if the allocation of an offered rendezvous is to be mapped: it comes again, or the scratch is of no use. */
int tutti_endpoint_worth(struct tutti_endpoint *endpoint, int peer, unsigned index, const struct tutti_rndv *rndv,
                         uint64_t id) TUTTI_HOLDS(endpoint->lock);
/* Releases known allocations that their owners have freed, see invalidation.h. */
void tutti_endpoint_forget(struct tutti_endpoint *endpoint) TUTTI_HOLDS(endpoint->lock);
/* A peer's allocation for kernels of `gpu`, with one more reference; once it is mapped, its owner is notified. */
enum tutti_reaching tutti_endpoint_map_named(struct tutti_endpoint *endpoint, int peer, int gpu,
                                             const struct tutti_export *what, struct tutti_mapping **out)
    TUTTI_HOLDS(endpoint->lock);
/* 1 if the peer offers a scratch that this rank has not tried to map. Any thread, without the lock. */
int tutti_endpoint_unmapped(const struct tutti_endpoint *endpoint, int peer, unsigned index);
/* Maps peers' scratches that are offered. Tries those once more that could not be mapped: the reason may have gone. */
void tutti_endpoint_try_again(struct tutti_endpoint *endpoint) TUTTI_HOLDS(endpoint->lock);
/* Has descriptors mapped that this rank has asked for and received; takes over what has been mapped. */
void tutti_endpoint_settle(struct tutti_endpoint *endpoint) TUTTI_HOLDS(endpoint->lock);

#endif
