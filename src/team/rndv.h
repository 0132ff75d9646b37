/* Rendezvous in a rank's control page: messages that the MPI matches but does not carry. The MPI carries a few bytes to
 * the receiver, which name a rendezvous. The rendezvous holds the place of the data. */
#ifndef TUTTI_TEAM_RNDV_H
#define TUTTI_TEAM_RNDV_H

#include <stdatomic.h>
#include <stdint.h>

#include "device/device.h"

/* A buffer that peers may map. */
struct tutti_share {
    uint32_t shared; /* 0: cannot be mapped, or was not asked for */
    uint32_t near;   /* of a result: 1 if its owner finds it without a fence over the system, see struct tutti_call */
    uint64_t offset; /* of the buffer in the allocation */
    struct tutti_export what;
};

enum {
    TUTTI_RNDVS = 256,
    TUTTI_RNDV_LAYOUT = 640,    /* bytes of a layout, as tutti_plan_write() makes them */
    TUTTI_ENDPOINT_PEERS = 256, /* ranks of a node that have endpoints */
    TUTTI_ENDPOINT_KNOWN = 8,   /* allocations of a peer that a rank takes from directly */
    TUTTI_ENDPOINT_GPUS = 16    /* GPUs of a process whose memory its messages may lie in */
};

/* An allocation of a peer that this rank keeps mapped. Before a sender offers a rendezvous in it, the sender takes a
 * lease, which lasts until the last fetch from the allocation. While a lease is held the mapping stays, so that an
 * offered rendezvous can be fetched at any time. The owner of the entry closes it when it has no lease, and
 * changes it only then.
 */
enum { TUTTI_KNOWN_CLOSED = 1 << 30 };
struct tutti_known {
    _Atomic uint64_t id; /* 0: none */
    _Atomic uint32_t leases;
    uint32_t pad;
};

/* A descriptor that a peer asks for: the peer writes base, then id; the owner clears the id when it has sent it. */
struct tutti_wanted {
    _Atomic uint64_t id; /* of the allocation; 0: none */
    uint64_t base;
};

/* Which side moves a rendezvous on: its owner from FREE, MOVING, PUTTING and ATS; its receiver from GETTING, BOUNCE,
 * AM, LANDING and PUT; from GET and CTS the first side to do so. Every step that the other side could take too is a
 * compare and swap, ATS included: the owner may use a rendezvous again as soon as it is in ATS.
 *
 * BOUNCE: the packed message passes through `slots` pieces of scratch. The owner stores how many pieces it has packed
 * so far, the receiver how many it has taken; piece k lies in slot k modulo `slots`. A message that fits is one piece.
 *
 * CTS: the receiver asks the owner to store the message into the buffer that `into` names. The receiver may take that
 * back until the owner has begun, and the owner may refuse: both go back to GET.
 */
enum tutti_rndv_state {
    TUTTI_RNDV_FREE,
    TUTTI_RNDV_GET,     /* in the owner's buffer, in its layout */
    TUTTI_RNDV_GETTING, /* the receiver is taking them from there */
    TUTTI_RNDV_MOVING,  /* the owner is packing them */
    TUTTI_RNDV_BOUNCE,  /* in the owner's scratch, piece after piece */
    TUTTI_RNDV_AM,  /* the MPI carries them packed, on a communicator of Tutti, with the number of the rendezvous as tag
                     */
    TUTTI_RNDV_CTS, /* the owner is to store them into the receiver's buffer */
    TUTTI_RNDV_PUTTING, /* the owner is storing them there */
    TUTTI_RNDV_PUT,     /* they are there */
    TUTTI_RNDV_LANDING, /* the owner's GPU copies them into the owner's struct tutti_landing */
    TUTTI_RNDV_ATS      /* the receiver has the data, or does not want them */
};

/* What the receiver of an offered rendezvous (GET) asks of the owner if it cannot fetch from the owner's buffer, or
 * cannot yet. */
enum tutti_must {
    TUTTI_MUST_NOT,
    TUTTI_MUST_HURRY, /* it is mapping the memory: the MPI carries the data if the receiver has not fetched them before
                       */
    TUTTI_MUST_PACK,  /* into the scratch, which the receiver has mapped */
    TUTTI_MUST_CARRY  /* the MPI has to carry the data: no memory of the owner's can be mapped */
};

/* Two classes of allocations, by the time that the first mapping takes: on two H200 2 ms up to 336 MiB, 10 ms from 512
 * MiB to 4 GiB, twice as long where both ranks map at once. Further ones of both take 0.1 ms. */
enum tutti_mapping_size { TUTTI_MAPPING_SMALL, TUTTI_MAPPING_LARGE, TUTTI_MAPPING_SIZES };
static inline enum tutti_mapping_size tutti_mapping_size(uint64_t bytes)
{
    return bytes >= UINT64_C(256) << 20 ? TUTTI_MAPPING_LARGE : TUTTI_MAPPING_SMALL;
}

/* Taken out of the MPI by a probe of the receiver, and not received. */
enum tutti_rndv_held { TUTTI_HELD_NOT, TUTTI_HELD_PERHAPS, TUTTI_HELD };

/* The owner stores only words that differ: an unchanged line remains in the caches of both sides. The first line
 * changes with each message. In windows of messages from the same buffers no other line changes. */
#define TUTTI_RNDV_SET(word, value)                                                                                    \
    do {                                                                                                               \
        if ((word) != (value))                                                                                         \
            (word) = (value);                                                                                          \
    } while (0)

/* Whether the receiver is to map the allocation. */
enum tutti_pays {
    TUTTI_PAYS_NOT,
    TUTTI_PAYS,       /* beside: the MPI may carry the message meanwhile */
    TUTTI_PAYS_AWAITS /* the message waits as long as a mapping takes */
};

struct tutti_rndv {
    _Alignas(128) _Atomic uint32_t state;
    _Atomic uint32_t to; /* node rank of the receiver */
    _Atomic uint64_t sequence;
    uint32_t next;            /* in a collective: the owner's next rendezvous for the same rank; TUTTI_RNDVS: none */
    _Atomic uint32_t must;    /* enum tutti_must; written by the receiver */
    int32_t tag;              /* of the message */
    uint32_t layout_bytes;    /* GET; 0: the message lies as it is, packed */
    uint64_t bytes;           /* of the packed message */
    uint64_t count;           /* GET: elements of the layout */
    int64_t lowest;           /* GET: of the lowest byte in the share, from the buffer that the layout counts from */
    uint32_t gpu;             /* of the owner's GPUs (struct tutti_endpoint_page): the one that the data lie on */
    uint32_t short_rts;       /* 1: its RTS is as short as the message (p2p/short_rts.h) */
    uint64_t at, piece;       /* BOUNCE: place of the first slot in the allocation; bytes of a piece */
    uint64_t scratch;         /* BOUNCE: the scratch's allocation */
    _Atomic uint64_t packed;  /* BOUNCE: pieces that the owner has packed */
    _Atomic uint64_t taken;   /* BOUNCE: pieces that the receiver has taken */
    _Atomic uint32_t held;    /* enum tutti_rndv_held; written by the receiver */
    uint32_t slots;           /* BOUNCE: pieces that the scratch has room for */
    uint32_t engines;         /* GET; 1: copy engines fetch it */
    _Atomic uint32_t pays;    /* enum tutti_pays, of the allocation (endpoint_price.c); written by the owner, and by a
                               * receiver that has waited as long as the mapping takes */
    uint64_t posted, ended;   /* core/trace.h: when the owner posted it, when the receiver ended it; 0: not recorded */
    struct tutti_share share; /* the owner's buffer: GET, or to be known to the receiver */
    struct tutti_share into;  /* CTS: the receiver's buffer; written by the receiver */
    unsigned char layout[TUTTI_RNDV_LAYOUT];
};

/* Host memory of a rank into which its GPU copies a short message, and from which the receiver takes it:
 * each of the rank's first rendezvous has one. The word follows the message, see endpoint_landing.c. */
enum { TUTTI_LANDINGS = 64, TUTTI_LANDING_BYTES = 16 << 10 };
struct tutti_landing {
    _Alignas(64) _Atomic uint32_t word;
    _Alignas(64) unsigned char data[TUTTI_LANDING_BYTES];
};

/* A GPU that a rank has passed memory of. */
struct tutti_endpoint_page {
    _Atomic uint32_t offered; /* 1: the UUID is there; 2: the scratch too */
    unsigned char uuid[16];
    struct tutti_share scratch; /* on that GPU */
};

/* What a rank has made of a peer's scratch. */
enum tutti_maps { TUTTI_MAPS_NOT_YET, TUTTI_MAPS, TUTTI_MAPS_CANNOT };

/* One rank's side of all its endpoints. */
struct tutti_endpoints {
    _Alignas(128) _Atomic uint32_t declared; /* 1: this rank may have endpoints */
    _Atomic uint32_t listens;                /* GPUs that it has passed memory of; not 0: it takes rendezvous */
    _Atomic uint32_t urged;                  /* 1: a peer's send waits until this rank looks at its receives */
    _Atomic uint32_t takes_short;            /* 1: all receives of this rank know short RTSs */
    _Atomic uint32_t shorts;                 /* ranks with open rendezvous for this rank whose RTSs are short */
    _Atomic uint32_t announced;              /* RTSs that were sent to this rank so far */
    struct tutti_endpoint_page gpu[TUTTI_ENDPOINT_GPUS];
    _Atomic uint8_t maps[TUTTI_ENDPOINT_PEERS][TUTTI_ENDPOINT_GPUS]; /* enum tutti_maps: of that rank's scratches */
    struct tutti_known known[TUTTI_ENDPOINT_PEERS][TUTTI_ENDPOINT_KNOWN]; /* of that rank's allocations */
    /* Nanoseconds of this rank's last mapping of a peer's memory, by size class (tutti_mapping_size()); 0: it has
     * mapped none. */
    _Atomic uint64_t mapping_ns[TUTTI_MAPPING_SIZES];
    /* Of that rank's last short messages, one after the other: how many this rank has received into memory of the host,
     * as far as it counts (endpoint_to_host.c). */
    _Atomic uint8_t to_host[TUTTI_ENDPOINT_PEERS];
    _Atomic uint32_t asked;                           /* about how many entries of `wanted` are set; 0: none */
    struct tutti_wanted wanted[TUTTI_ENDPOINT_PEERS]; /* by that rank */
    _Atomic uint32_t bell; /* rings of peers that get no answer to `asked` (endpoint_serve.c) */
    struct tutti_rndv rndv[TUTTI_RNDVS];
};

#endif
