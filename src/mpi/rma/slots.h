/* What each rank shows the others of its node about windows, in its control page: a slot for each window whose
 * operations may reach mapped memory, and rows of what it has attached to dynamic windows. All ranks of a window derive
 * its number without communication. A rank takes a slot before the call that makes the window, and the others find it
 * by that number afterwards: so a window needs no message, and no memory of its own. */
#ifndef TUTTI_MPI_RMA_SLOTS_H
#define TUTTI_MPI_RMA_SLOTS_H

#include <stdatomic.h>
#include <stdint.h>

#include "mpi/real/door.h"

/* A rank's side of a window. Only the owner writes what follows `updater`. */
enum { TUTTI_ATTACH_NOTES = 64 };
struct tutti_mapped_line {
    _Alignas(128) _Atomic uint32_t lock; /* of MPI_Win_lock: EXCLUSIVE, or how many ranks share it */
    _Atomic uint32_t updater;            /* 1 + the rank that updates elements of this rank's window; 0: none */
    _Atomic uint32_t fences;             /* fences that this rank has arrived at; of all windows that had the slot */
    /* Of dynamic windows: */
    _Atomic uint32_t met; /* 1: `uuid` is the GPU by which this rank reaches windows; zeros: any */
    unsigned char uuid[16];
    _Atomic uint32_t shown;                    /* regions of device memory that it has shown to the others */
    _Atomic uint64_t note[TUTTI_ATTACH_NOTES]; /* what the last of them are named by the descriptors sent; 0: none is */
};

struct tutti_mapped_slot {
    _Alignas(128) _Atomic uint64_t window; /* its number; 0: the slot is free */
    uint32_t fences;                       /* of the line, when the window took the slot */
    struct tutti_mapped_line line;
    /* [3][ranks of the node], by rank of the window: MPI_Win_post of this rank for the origin, MPI_Win_complete of this
     * rank for the target, and what of `shown` the reader has looked at. */
    _Atomic uint32_t words[];
};

/* Rows of a rank. */
enum { TUTTI_ATTACHED_ROWS = 16384 };
struct tutti_attached_row {
    _Atomic uint32_t generation; /* 0: never used; odd: this region is attached */
    uint32_t mapped;             /* by the ranks; otherwise `copy` is */
    uint64_t window;             /* its number */
    uint64_t base, bytes;
    uint64_t copy; /* where the public copy lies at the owner */
};

/* 0: no rank has attached device memory to a dynamic window of this process and its node. */
extern const _Atomic uint32_t *_Atomic tutti_windows_foreign;
static inline int tutti_windows_have_foreign(void)
{
    return atomic_load_explicit(atomic_load_explicit(&tutti_windows_foreign, memory_order_relaxed),
                                memory_order_relaxed) != 0;
}

/* Local: the number of a window of the communicator whose ranks in the world these are; child: what
 * tutti_comm_identity_window() says at this window. 0: not known, on all of its ranks. */
uint64_t tutti_window_number(uint64_t child, const int *world, int n);
/* Takes a slot of this rank, its line and words zeros. NULL: all are in use. */
struct tutti_mapped_slot *tutti_mapped_slot_take(uint64_t window);
/* This rank shall have no slot for the window: its peers need not wait. */
void tutti_mapped_slot_refuse(uint64_t window);
/* No rank uses the slot for the window any more. */
void tutti_mapped_slot_leave(struct tutti_mapped_slot *slot);
/* The slot of a node rank. 1: found; 0: not yet; -1: the rank has refused it. hint: this rank's own. */
int tutti_mapped_slot_find(int peer, uint64_t window, const struct tutti_mapped_slot *hint,
                           struct tutti_mapped_slot **out);
/* Of a node rank. */
struct tutti_attached_row *tutti_mapped_rows(int peer);
struct tutti_share *tutti_mapped_shares(int peer);
void *tutti_mapped_box_memory(int peer);
/* To a node rank: this rank has attached device memory to a window that both have. */
void tutti_mapped_announce(int peer);

#endif
