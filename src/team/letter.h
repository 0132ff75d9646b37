/* Letters in a rank's control page: messages that the MPI matches but does not carry. The MPI takes a few bytes to the
 * receiver, which name a letter; the letter says where the data lie. */
#ifndef TUTTI_TEAM_LETTER_H
#define TUTTI_TEAM_LETTER_H

#include <stdatomic.h>
#include <stdint.h>

#include "device/device.h"

/* A buffer that peers may map. */
struct tutti_share {
    uint32_t shared; /* 0: cannot be mapped, or was not asked for */
    uint32_t pad;
    uint64_t offset; /* of the buffer in the allocation */
    struct tutti_export what;
};

enum {
    TUTTI_LETTERS = 256,
    TUTTI_LETTER_LAYOUT = 640, /* bytes of a layout, as tutti_plan_write() makes them */
    TUTTI_LANE_PEERS = 256,    /* ranks of a node that have lanes */
    TUTTI_LANE_KNOWN = 8       /* allocations of a peer that a rank takes from directly */
};

/* An allocation of a peer that this rank keeps mapped. Whoever offers a letter in it takes a lease before, which lasts
 * until nobody will fetch from there any more: meanwhile the mapping stays, so that an offered letter can be fetched
 * whatever its sender does. The owner of the entry changes it when it has closed it, which it can when nobody leases.
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

/* Who moves a letter on: its owner from FREE, MOVING, and DONE; both from OFFERED, by compare and swap, so that the
 * data are moved once, by whoever comes first; its receiver from CLAIMED, PACKED and MAILED. */
enum tutti_letter_state {
    TUTTI_LETTER_FREE,
    TUTTI_LETTER_OFFERED, /* in the owner's buffer, in its layout */
    TUTTI_LETTER_CLAIMED, /* the receiver is taking them from there */
    TUTTI_LETTER_MOVING,  /* the owner is packing them */
    TUTTI_LETTER_PACKED,  /* in the owner's scratch */
    TUTTI_LETTER_MAILED,  /* come packed, by the MPI on a communicator of Tutti's, with the letter's number as tag */
    TUTTI_LETTER_DONE     /* the receiver has them, or wants them no more */
};

/* Taken out of the MPI by a probe of the receiver, and not received. */
enum tutti_letter_held { TUTTI_HELD_NOT, TUTTI_HELD_PERHAPS, TUTTI_HELD };

struct tutti_letter {
    _Alignas(128) _Atomic uint32_t state;
    uint32_t to; /* node rank of the receiver */
    _Atomic uint64_t sequence;
    uint32_t next;          /* in a collective: the owner's next letter for the same rank; TUTTI_LETTERS: none */
    _Atomic uint32_t hurry; /* 1: the receiver cannot map the share: it is to be packed at once */
    int32_t tag;            /* of the message */
    uint32_t layout_bytes;  /* OFFERED; 0: the message lies as it is, packed */
    uint64_t bytes;         /* of the packed message */
    uint64_t count;         /* OFFERED: elements of the layout */
    int64_t lowest;         /* OFFERED: of the lowest byte in the share, from the buffer that the layout counts from */
    uint64_t at;            /* PACKED: place in the scratch */
    _Atomic uint32_t held;  /* enum tutti_letter_held; written by the receiver */
    struct tutti_share share; /* the owner's buffer: OFFERED, or to be known to the receiver */
    unsigned char layout[TUTTI_LETTER_LAYOUT];
};

/* One rank's side of all its lanes. */
struct tutti_lanes {
    _Alignas(128) _Atomic uint32_t offered; /* 1: uuid and scratch are there */
    _Atomic uint32_t declared;              /* 1: this rank may have lanes */
    unsigned char uuid[16];                 /* of the GPU that owns the scratch */
    struct tutti_share scratch;
    _Atomic uint8_t open[TUTTI_LANE_PEERS];                       /* 1: this rank takes letters of that rank */
    struct tutti_known known[TUTTI_LANE_PEERS][TUTTI_LANE_KNOWN]; /* of that rank's allocations */
    _Atomic uint32_t asked;                                       /* counts what follows, roughly: 0: nothing */
    struct tutti_wanted wanted[TUTTI_LANE_PEERS];                 /* by that rank */
    struct tutti_letter letter[TUTTI_LETTERS];
};

#endif
