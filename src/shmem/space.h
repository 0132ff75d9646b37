/* The address space of this process: one PE, its heap, and the mapped heaps and control pages of its peers of the
 * node. Control pages are host memory for all kinds of heaps. PEs of other nodes are *far*: they are reached by
 * messages (far.h). */
#ifndef TUTTI_SHMEM_SPACE_H
#define TUTTI_SHMEM_SPACE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "shmem/heap.h"
#include "shmem/kind.h"
#include "shmem/local/channels.h"
#include "shmem/local/contribution.h"
#include "shmem/local/openshmem.h"
#include "shmem/local/statics.h"
#include "shmem/shmem.h"
#include "tutti/shmem.h"

/* The meetings of one team, as one PE sees them, for calls on the host. Sequences only grow as long as the team
 * lives. */
struct tutti_shmem_place {
    /* By member: the member's last meeting, see tutti_shmem_arrival(); the member stores it here. In large teams by
     * hop (local/steps.h): the last meeting in which the hop was made. */
    _Alignas(128) _Atomic uint64_t arrived[TSHMEM_NEAR_MAX];
    /* The owner's contribution to the meeting of sequence s: contribution[s & 1]. No member arrives at s + 2 before all
     * have read it. */
    _Alignas(128) struct tutti_shmem_contribution contribution[2];
    uint64_t sequence; /* used by the owner alone */
    atomic_int busy;   /* a collective of the team is under way on this PE */
};

/* Tables for kernels of a PE. If the heap is memory of a GPU, a copy lies in front of the heap: host memory is far
 * from kernels. */
struct tutti_shmem_kernel_view {
    struct tshmem_team_state team[TSHMEM_TEAMS_MAX];
    uint64_t context[TSHMEM_CONTEXTS_MAX];
};

enum { TUTTI_SHMEM_ENDING = 1 << 8 };

/* Host memory of one PE, mapped by all. Kernels of its GPU read the abort word there, at the host's address. */
struct tutti_shmem_control {
    _Alignas(128) uint32_t abort;  /* not zero: every wait of this PE leaves; peers store it too */
    struct tshmem_failure failure; /* why a kernel of this PE gave up; peers read it too */
    uint32_t stream_error;         /* in units of struct tutti_shmem_args; zero: not requested */
    uint32_t ending; /* TUTTI_SHMEM_ENDING and a status: a PE ends the program; peers store it, then `abort` */
    uint32_t ended;  /* progress of this PE's end */
    struct tutti_shmem_offer offer;
    struct tutti_shmem_kernel_view kernel_view;
    struct tutti_shmem_place place[TSHMEM_TEAMS_MAX];  /* by number of the team */
    char record[TSHMEM_TEAMS_MAX][TUTTI_SHMEM_RECORD]; /* the same: members that are about to open its channel */
};

/* Functions that end the program in this process; registered by life/exit.c. */
struct tutti_shmem_ends {
    /* Ends the program on all PEs, after exit handlers and streams of stdio of this process; bounded. Does not
     * return. */
    void (*all)(struct tutti_shmem *space, int status);
    /* Ends this process if a wait finds that another PE ends the program. */
    void (*with_others)(struct tutti_shmem *space);
    /* 1 on the thread that ends the program: calls of its exit handlers fail silently. */
    int (*is_ending)(void);
};

/* State of errors, also before and after there is an address space. */
struct tutti_shmem_errors {
    atomic_int status; /* the first status that the program has not asked for */
    atomic_uint shown; /* messages since the program last asked */
    int was_up;        /* there has been an address space */
    char failed[192];  /* reason why tshmem_init failed; empty: it was not called, or it succeeded */
};

/* Contributions of the members of a team with far ones to its last two meetings: [member][2]. far.c */
struct tutti_shmem_far_room {
    struct tutti_shmem_contribution (*contribution)[2];
    int size;
};

struct tutti_shmem_near;
struct tutti_step;
struct tutti_shmem_wire;

struct tutti_shmem {
    struct tshmem_state state; /* pes 0: the address space is not up; peer: NULL of far PEs */
    /* By PE: the operations on its heap, and the base of addresses there: the mapping; of far PEs a name. */
    const struct tutti_shmem_kind **kind_of; /* [PEs], as the next three */
    char **base;
    char **heaps;                                /* as mapped here; NULL: far */
    struct tutti_shmem_control **control;        /* NULL: far */
    int32_t *world[TSHMEM_TEAMS_MAX];            /* PE of each member of a team, by its number */
    int32_t *lists;                              /* the same for kernels, if they do not read `world`: [teams][PEs] */
    struct tutti_shmem_near *near;               /* PEs of this node */
    struct tutti_shmem_wire *wire;               /* the wire to all others, see wire/wire.h; NULL: none exist */
    uint64_t began;                              /* bytes that programs got at the start */
    uint64_t first;                              /* offset of the first byte of the heap that programs get */
    _Atomic uint64_t mapped;                     /* see tutti_shmem_mapped() */
    const struct tutti_shmem_kind *kind;         /* of this PE's heap and all near heaps */
    struct tutti_shmem_kernel_view *kernel_view; /* the address of `state` for kernels */
    struct tutti_heap heap;                      /* offsets from `first` on */
    struct tutti_shmem_statics statics;
    struct tutti_shmem_channels channels; /* for teams whose members are near */
    int rules;                            /* first of the rules that were in force at the start, see rules/rules.h */
    struct tutti_team *team;              /* of the near PEs */
    struct tutti_transport *transport;    /* of all PEs */
    const struct tutti_shmem_host *host;
    struct tutti_shmem_gpu *gpu;             /* of heaps on a device, see copy_queue.h */
    const struct tutti_path *far_path;       /* requests of kernels for far PEs (proxy/proxy.h); NULL: none exist */
    struct tutti_proxy_server *proxy_server; /* requests of kernels, see proxy_server.c; NULL: there is no ring */
    int uneven;                  /* PEs of this node are not even steps apart, and kernels reach this PE's heap alone */
    int crowded;                 /* more PEs than cores: waits do not spin */
    int users;                   /* calls of tshmem_init without one of finalize */
    atomic_int failure_reported; /* the reason of a kernel of this node that gave up has been reported */
    unsigned char *is_far;       /* [PEs]: messages go there; far.c */
    struct tutti_shmem_far_room far_room[TSHMEM_TEAMS_MAX]; /* by number of the team */
    /* The rest outlives the address space. */
    struct tutti_shmem_errors errors;
    const struct tutti_shmem_ends *ends;
    struct tutti_step *step; /* step of the progress engine: polls the wire, see far.h */
};

/* space.c: tutti_shmem_open(), _close() and _forget() (shmem.h) for this address space. */
int tutti_shmem_space_open(struct tutti_shmem *space, struct tutti_transport *transport, struct tutti_node *node,
                           const struct tutti_shmem_host *host);
void tutti_shmem_space_close(struct tutti_shmem *space);
void tutti_shmem_space_forget(struct tutti_shmem *space);

/* Bytes of each heap that exist, from its first one: addresses beyond are refused. */
static inline uint64_t tutti_shmem_mapped(const struct tutti_shmem *space)
{
    return atomic_load_explicit(&space->mapped, memory_order_relaxed);
}

/* The PE of that member. */
static inline int tutti_shmem_pe_of(struct tutti_shmem *space, const struct tshmem_team_state *team, int member)
{
    return space->world[team->number][member];
}
/* window.c: 1 if kernels of this PE load and store the heap of that PE. */
int tutti_shmem_kernels_reach(struct tutti_shmem *space, int pe);

/* fail.c. Reports an error once, keeps the status for tshmem_error(), and returns it. Ends the program if
 * TUTTI_SHMEM_ERRORS demands it. Must not be called with a lock held. */
int tutti_shmem_fail(struct tutti_shmem *space, int status, const char *call, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same, but never ends the program: for failures that the result reports, and before a wait that fails by
 * itself. */
int tutti_shmem_answer(struct tutti_shmem *space, int status, const char *call, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The name of a call in errors: that of tutti_shmem_as(), or its own. */
const char *tutti_shmem_called(const char *call);
/* fail(): there is no address space, and its reason. */
int tutti_shmem_down(struct tutti_shmem *space, const char *call);
/* Clears the reason: the address space is made, or the next attempt begins. */
void tutti_shmem_up(struct tutti_shmem *space);
/* Publishes to the PEs of this node that another PE ends the program with that status. */
void tutti_shmem_exit_from_peer(struct tutti_shmem *space, int status);

/* Reports why the address cannot be used with that PE. NULL. */
void *tutti_shmem_refuse(struct tutti_shmem *space, const void *address, size_t bytes, int pe, const char *call);

/* Addresses in heaps of far PEs are names in a range where nothing is ever mapped: PE and offset are found from
 * them. */
enum { TUTTI_SHMEM_FAR_BITS = 48 };
static inline char *tutti_shmem_far_base(int pe)
{
    return (char *)((uintptr_t)1 << 62 | (uintptr_t)pe << TUTTI_SHMEM_FAR_BITS);
}
static inline int tutti_shmem_is_far(const void *address)
{
    return (uintptr_t)address >> 62 == 1;
}

/* The address in the block of the heap for a static variable; any other address unchanged. */
static inline const void *tutti_shmem_unstatic(struct tutti_shmem *space, const void *address)
{
    const struct tutti_shmem_statics *statics = &space->statics;
    const uint64_t at = (uint64_t)((uintptr_t)address - (uintptr_t)statics->from);
    return statics->block && at < statics->bytes ? statics->block + at : address;
}
/* The same, also for constants, which have a copy to be read. */
static inline const void *tutti_shmem_unconstant(struct tutti_shmem *space, const void *address)
{
    const char *copy = tutti_shmem_constant(&space->statics, address);
    return copy ? copy : tutti_shmem_unstatic(space, address);
}

/* The address of `bytes` bytes at a symmetric address in the heap of that PE; NULL, after an error message, if they
 * are not there. kind_of[pe] has the operations on it. reads: a constant is allowed. */
static inline void *tutti_shmem_find(struct tutti_shmem *space, const void *address, size_t bytes, int pe,
                                     const char *call, int reads)
{
    const uint64_t all = tutti_shmem_mapped(space);
    uint64_t at = (uint64_t)((uintptr_t)address - (uintptr_t)space->state.heap);
    if (__builtin_expect(at >= all, 0))
        at = (uint64_t)((uintptr_t)(reads ? tutti_shmem_unconstant(space, address)
                                          : tutti_shmem_unstatic(space, address)) -
                        (uintptr_t)space->state.heap);
    if (__builtin_expect(
            (unsigned)pe < (unsigned)space->state.pes && at >= space->first && at <= all && bytes <= all - at, 1))
        return space->base[pe] + at;
    return tutti_shmem_refuse(space, address, bytes, pe, call);
}
static inline void *tutti_shmem_at(struct tutti_shmem *space, const void *address, size_t bytes, int pe,
                                   const char *call)
{
    return tutti_shmem_find(space, address, bytes, pe, call, 0);
}
static inline const void *tutti_shmem_from(struct tutti_shmem *space, const void *address, size_t bytes, int pe,
                                           const char *call)
{
    return tutti_shmem_find(space, address, bytes, pe, call, 1);
}

/* rma.c: the signal at that PE; NULL, after an error message, if there is no such signal or operation. */
uint64_t *tutti_shmem_signal_at(struct tutti_shmem *space, uint64_t *signal, int operation, int pe, const char *call);

/* rma.c: completes the host's operations of a context, and what kernels have requested so far. far: also a flush of
 * that far PE, or of all (-1); neither the wire nor requests of kernels are counted by context. */
void tutti_shmem_complete(struct tutti_shmem *space, int context, int (*far)(struct tutti_shmem *space, int pe),
                          int pe);
/* rma.c: put, get and put_signal; `later` as in kind.h; call: name in errors. */
void tutti_shmem_put(struct tutti_shmem *space, void *dest, const void *source, size_t bytes, int pe, int later,
                     const char *call);
void tutti_shmem_get(struct tutti_shmem *space, void *dest, const void *source, size_t bytes, int pe, int later,
                     const char *call);
void tutti_shmem_put_signal(struct tutti_shmem *space, void *dest, const void *source, size_t bytes, uint64_t *signal,
                            uint64_t value, int operation, int pe, int later, const char *call);

/* rma.c: as tutti_shmem_amo(). */
uint64_t tutti_shmem_change(struct tutti_shmem *space, int operation, void *dest, size_t bytes, uint64_t value,
                            uint64_t compare, int pe);

/* wait.c: waits for a word of this PE; a status, after an error message. */
int tutti_shmem_wait_word(struct tutti_shmem *space, const uint32_t *word, int comparison, uint32_t value,
                          const char *call);

/* meet.c: this PE's tables, which the host reads and writes. publish copies a change to where kernels read it; it
 * does nothing once the address space has ended. */
struct tutti_shmem_kernel_view *tutti_shmem_kernel_view(struct tutti_shmem *space);
int tutti_shmem_publish(struct tutti_shmem *space, const void *changed, size_t bytes);
/* ctx.c: completes and ends the contexts of that team; of all teams. */
void tutti_shmem_contexts_leave(struct tutti_shmem *space, tshmem_team_t team);
void tutti_shmem_contexts_close(struct tutti_shmem *space);

enum { TUTTI_SHMEM_ALIGN_MOST = 1 << 21 }; /* alignment of heaps, and unit of their growth */

/* window.c: memory of all PEs. map: collective, in two phases: heap_bytes bytes a PE for programs, of which
 * *heap_bytes exist afterwards, and addresses for `most`, or for as many as all can have; unmap: local. */
int tutti_shmem_map(struct tutti_shmem *space, uint64_t *heap_bytes, uint64_t most);
void tutti_shmem_unmap(struct tutti_shmem *space);
/* The same phases for a piece by which all heaps grow; the PEs agree between them and afterwards. 1: done, 0:
 * failed, with the reason in piece->why. make: makes this PE's piece; map: maps those of the PEs of this node, after
 * all have made theirs; drop: undoes both. */
int tutti_shmem_piece_make(struct tutti_shmem *space, struct tutti_shmem_piece *piece, int *fd);
int tutti_shmem_piece_map(struct tutti_shmem *space, struct tutti_shmem_piece *piece, int fd);
void tutti_shmem_piece_drop(struct tutti_shmem *space, const struct tutti_shmem_piece *piece);
/* memfd.c: `bytes` bytes of host memory for all PEs of the node, allocated at once; -1, and the reason in `why`.
 * all: the share of each of `pes`. */
int tutti_shmem_memfd(size_t bytes, uint64_t all, int pes, char why[TUTTI_SHMEM_WHY]);
/* Maps it if it is such memory of that size, at reserved addresses or, at NULL, anywhere. NULL if it is not, or if
 * there is no room. unmap: reserves the addresses again. */
void *tutti_shmem_memfd_map(int fd, size_t bytes, void *at);
void tutti_shmem_memfd_unmap(void *at, size_t bytes);
/* Reserves addresses, so that byte `before` lies at a multiple of `align`, a power of two; NULL if none exist.
 * Freed by munmap(). */
void *tutti_shmem_reserve(size_t bytes, size_t before, size_t align);
/* proxy_server.c: ring and proxy for kernels of this PE, if TUTTI_SHMEM_RING or the rules demand it, or a PE is not
 * reached by loads and stores. Local. open: once heaps are mapped; publishes space->state.ring. A status, after an
 * error message. start: starts the poller. stop: while the heaps still exist. close: frees the rest. */
int tutti_shmem_proxy_open(struct tutti_shmem *space);
int tutti_shmem_proxy_start(struct tutti_shmem *space);
/* proxy_server.c: waits until all requests that kernels have made so far are complete. Kernels that have ended have
 * made all their requests. */
void tutti_shmem_proxy_quiet(struct tutti_shmem *space);
void tutti_shmem_proxy_stop(struct tutti_shmem *space);
void tutti_shmem_proxy_close(struct tutti_shmem *space);
/* fail.c: reports and keeps errors that kernels have published since the last call, of other PEs of the node too. */
void tutti_shmem_stream_look(struct tutti_shmem *space);
/* fail.c: all PEs leave their waits, and all further calls are errors; the second: those of this node alone. */
void tutti_shmem_leave_all(struct tutti_shmem *space);
void tutti_shmem_leave_near(struct tutti_shmem *space);
/* bind.c: gives kernels' modules the state, or NULL. */
void tutti_shmem_bind(struct tutti_shmem *space, const struct tshmem_state *state);
/* teams.c: makes the three predefined teams. Local. */
int tutti_shmem_teams_open(struct tutti_shmem *space);

#endif
