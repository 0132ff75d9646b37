/* The address space of this process: one PE, its heap, and the heaps and control pages of its peers of the node, all
 * mapped. The control pages are host memory, whatever the heaps are. PEs of other nodes are *far*: reached by messages
 * (far.h). */
#ifndef TUTTI_SHMEM_SPACE_H
#define TUTTI_SHMEM_SPACE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "shmem/heap.h"
#include "shmem/kind.h"
#include "shmem/local/channels.h"
#include "shmem/local/openshmem.h"
#include "shmem/local/said.h"
#include "shmem/local/statics.h"
#include "shmem/shmem.h"
#include "tutti/shmem.h"

/* One PE's place in the meetings of one team, for calls on the host. Sequences only grow as long as the team lives. */
struct tutti_shmem_place {
    /* By member: the last meeting to which it has come, see tutti_shmem_arrival(). It stores that here. Of large teams
     * by hop (local/steps.h): the last meeting in which it was made. */
    _Alignas(128) _Atomic uint64_t arrived[TSHMEM_NEAR_MAX];
    /* The owner's, of the meeting of sequence s: said[s & 1]. Nobody comes to s + 2 before all have read it. */
    _Alignas(128) struct tutti_shmem_said said[2];
    uint64_t sequence; /* the owner's alone */
    atomic_int busy;   /* a collective of the team is under way on this PE */
};

/* What kernels of a PE look up. They have a copy in front of the heap, where that is memory of a GPU: host memory is
 * far from there. */
struct tutti_shmem_told {
    struct tshmem_team_state team[TSHMEM_TEAMS_MAX];
    uint64_t context[TSHMEM_CONTEXTS_MAX];
};

enum { TUTTI_SHMEM_ENDING = 1 << 8 };

/* Host memory of one PE, mapped by all. Kernels of its GPU read the abort word there, at the address that the host has
 * it at. */
struct tutti_shmem_control {
    _Alignas(128) uint32_t abort;  /* not zero: every wait of this PE leaves; peers store it too */
    struct tshmem_failure failure; /* why a kernel of this PE gave up; peers read it too */
    uint32_t stream_error;         /* as struct tutti_shmem_args has it; nobody has asked for it */
    uint32_t ending; /* TUTTI_SHMEM_ENDING and a status: a PE ends the program; peers store it, then abort */
    uint32_t ended;  /* how far this PE has come with that */
    struct tutti_shmem_offer offer;
    struct tutti_shmem_told told;
    struct tutti_shmem_place place[TSHMEM_TEAMS_MAX];  /* by number of the team */
    char record[TSHMEM_TEAMS_MAX][TUTTI_SHMEM_RECORD]; /* the same: of members that are about to open its channel */
};

/* How this process ends the program; life/exit.c gives it. */
struct tutti_shmem_ends {
    /* On all PEs, after what is left of it here (exit handlers, streams of stdio), bounded. Does not return. */
    void (*all)(struct tutti_shmem *space, int status);
    /* Ends this process, too, where another PE ends the program, as a wait of this one finds. */
    void (*with_others)(struct tutti_shmem *space);
    /* 1 on the thread that ends it: what its exit handlers call fails in silence. */
    int (*is_ending)(void);
};

/* What a process keeps of errors, also before and after there is an address space. */
struct tutti_shmem_errors {
    atomic_int status; /* the first one that the program has not asked for */
    atomic_uint shown; /* messages since the program asked */
    int was_up;        /* there has been an address space */
    char failed[192];  /* why tshmem_init failed; empty: it was not called, or the address space was made */
};

/* What the members of a team with far ones have brought to its last two meetings: [member][2]. far.c */
struct tutti_shmem_far_room {
    struct tutti_shmem_said (*said)[2];
    int size;
};

struct tutti_shmem_near;
struct tutti_step;
struct tutti_wire;

struct tutti_shmem {
    struct tshmem_state state; /* pes 0: the address space is not up; peer: NULL of far PEs */
    /* What is done on the heap of a PE, and how addresses there begin: where it is mapped; of far PEs names. */
    const struct tutti_shmem_kind **kind_of; /* [PEs], as the next three */
    char **base;
    char **heaps;                         /* as mapped here; NULL: far */
    struct tutti_shmem_control **control; /* NULL: far */
    int32_t *world[TSHMEM_TEAMS_MAX];     /* PE of each member of a team, by its number */
    int32_t *lists;                      /* the same as kernels read it, where they do not read `world`: [teams][PEs] */
    struct tutti_shmem_near *near;       /* PEs of this node */
    struct tutti_wire *wire;             /* to the others, see wire/wire.h; NULL: there are none */
    uint64_t began;                      /* bytes that programs got at the start */
    uint64_t first;                      /* offset of the first byte of the heap that programs get */
    _Atomic uint64_t mapped;             /* see tutti_shmem_mapped() */
    const struct tutti_shmem_kind *kind; /* of the own heap, and all near ones */
    struct tutti_shmem_told *told;       /* as kernels read it */
    struct tutti_heap heap;              /* offsets from `first` on */
    struct tutti_shmem_statics statics;
    struct tutti_shmem_channels channels; /* of teams whose members are near */
    int rules;                            /* where those in force at the start begin, see rules/rules.h */
    struct tutti_team *team;              /* of the near PEs */
    struct tutti_transport *transport;    /* of all PEs */
    const struct tutti_shmem_host *host;
    struct tutti_shmem_gpu *gpu;       /* of heaps on a device, see lane.h */
    const struct tutti_path *far_path; /* of requests of kernels to far PEs (proxy/proxy.h); NULL: there are none */
    struct tutti_proxy_server *proxy_server; /* of requests of kernels, see proxy_server.c; NULL: there is no ring */
    int control_mapped;                      /* the own control page is registered with it */
    int uneven;              /* PEs of this node are not even steps apart, and kernels reach the own heap alone */
    int crowded;             /* more PEs than cores: waits do not spin */
    int users;               /* calls of tshmem_init without one of finalize */
    atomic_int failure_told; /* why a kernel gave up, of this PE or another one of the node, has been said */
    unsigned char *is_far;   /* [PEs]: messages go there; far.c */
    struct tutti_shmem_far_room far_room[TSHMEM_TEAMS_MAX]; /* by number of the team */
    /* What follows outlives the address space. */
    struct tutti_shmem_errors errors;
    const struct tutti_shmem_ends *ends;
    struct tutti_step *step; /* of the progress engine: polls the wire of this address space, see far.h */
};

/* space.c: as tutti_shmem_open(), _close() and _forget() (shmem.h), of this address space. */
int tutti_shmem_space_open(struct tutti_shmem *space, struct tutti_transport *transport, struct tutti_node *node,
                           const struct tutti_shmem_host *host);
void tutti_shmem_space_close(struct tutti_shmem *space);
void tutti_shmem_space_forget(struct tutti_shmem *space);

/* Bytes of each heap, from its first one, that are there: what programs name beyond is refused. */
static inline uint64_t tutti_shmem_mapped(const struct tutti_shmem *space)
{
    return atomic_load_explicit(&space->mapped, memory_order_relaxed);
}

/* PE of that member. */
static inline int tutti_shmem_pe_of(struct tutti_shmem *space, const struct tshmem_team_state *team, int member)
{
    return space->world[team->number][member];
}
/* window.c: 1 where kernels of this PE load and store the heap of that one. */
int tutti_shmem_kernels_reach(struct tutti_shmem *space, int pe);

/* fail.c. Says what is wrong, once, keeps the status for tshmem_error(), and returns it. Ends the program where
 * TUTTI_SHMEM_ERRORS says so. Not below a lock. */
int tutti_shmem_fail(struct tutti_shmem *space, int status, const char *call, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same, but never ends the program: of what the call's result tells it, and where a later wait fails by itself. */
int tutti_shmem_answer(struct tutti_shmem *space, int status, const char *call, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The name of a call in errors: as tutti_shmem_as() says, or its own. */
const char *tutti_shmem_called(const char *call);
/* fail(): there is no address space, and why. */
int tutti_shmem_down(struct tutti_shmem *space, const char *call);
/* Forgets why there is none: it is made, or the next try begins. */
void tutti_shmem_up(struct tutti_shmem *space);
/* Another PE ends the program with that status: those of this node are told. */
void tutti_shmem_exit_is_told(struct tutti_shmem *space, int status);

/* Says why the address cannot be used with that PE. NULL. */
void *tutti_shmem_refuse(struct tutti_shmem *space, const void *address, size_t bytes, int pe, const char *call);

/* Addresses in heaps of far PEs are names, where nothing is ever mapped: what they are given to finds PE and offset in
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

/* Static variables that have a block of the heap under them: an address in the block; otherwise as it is. */
static inline const void *tutti_shmem_unstatic(struct tutti_shmem *space, const void *address)
{
    const struct tutti_shmem_statics *statics = &space->statics;
    const uint64_t at = (uint64_t)((uintptr_t)address - (uintptr_t)statics->from);
    return statics->block && at < statics->bytes ? statics->block + at : address;
}
/* The same also of constants, of which there is a copy to be read. */
static inline const void *tutti_shmem_unconstant(struct tutti_shmem *space, const void *address)
{
    const char *copy = tutti_shmem_constant(&space->statics, address);
    return copy ? copy : tutti_shmem_unstatic(space, address);
}

/* Where `bytes` bytes at a symmetric address lie in the heap of that PE; NULL, and it is said why, where they do not.
 * Then kind_of[pe] knows what to do with it. reads: a constant will do. */
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

/* rma.c: the signal at that PE; NULL, and it is said why, where it, or the operation, is none. */
uint64_t *tutti_shmem_signal_at(struct tutti_shmem *space, uint64_t *signal, int operation, int pe, const char *call);

/* rma.c: completes what the host has begun in a context, and what kernels have asked so far. far: what has to be waited
 * for of that far PE, or of all (-1), besides; neither that nor what kernels ask is counted by context. */
void tutti_shmem_complete(struct tutti_shmem *space, int context, int (*far)(struct tutti_shmem *space, int pe),
                          int pe);
/* rma.c: put, get and put_signal; later: as in kind.h; call: its name in errors. */
void tutti_shmem_put(struct tutti_shmem *space, void *dest, const void *source, size_t bytes, int pe, int later,
                     const char *call);
void tutti_shmem_get(struct tutti_shmem *space, void *dest, const void *source, size_t bytes, int pe, int later,
                     const char *call);
void tutti_shmem_put_signal(struct tutti_shmem *space, void *dest, const void *source, size_t bytes, uint64_t *signal,
                            uint64_t value, int operation, int pe, int later, const char *call);

/* rma.c: as tutti_shmem_amo(). */
uint64_t tutti_shmem_change(struct tutti_shmem *space, int operation, void *dest, size_t bytes, uint64_t value,
                            uint64_t compare, int pe);

/* wait.c: waits for an own word; a status, which is said. */
int tutti_shmem_wait_word(struct tutti_shmem *space, const uint32_t *word, int comparison, uint32_t value,
                          const char *call);

/* meet.c: the own one, which the host reads and writes. What has changed goes to where kernels have it; nothing where
 * the address space has ended. */
struct tutti_shmem_told *tutti_shmem_told(struct tutti_shmem *space);
int tutti_shmem_tell(struct tutti_shmem *space, const void *changed, size_t bytes);
/* ctx.c: ends the contexts of that team, after they have been completed; of all teams. */
void tutti_shmem_contexts_leave(struct tutti_shmem *space, tshmem_team_t team);
void tutti_shmem_contexts_close(struct tutti_shmem *space);

enum { TUTTI_SHMEM_ALIGN_MOST = 1 << 21 }; /* heaps begin at multiples of it, and grow by them */

/* window.c: memory of all PEs. map: collective, in two phases: heap_bytes bytes a PE for programs, of which *heap_bytes
 * are there afterwards, and addresses for `most`, or as many as all can have; unmap: local. */
int tutti_shmem_map(struct tutti_shmem *space, uint64_t *heap_bytes, uint64_t most);
void tutti_shmem_unmap(struct tutti_shmem *space);
/* The same phases of a piece by which all heaps are to grow; between them, and after, the PEs agree. 1: done, 0: not,
 * and piece->why says it. make: the own one; map: those of the PEs of this node, who all have made theirs; drop: what
 * was done of both. */
int tutti_shmem_piece_make(struct tutti_shmem *space, struct tutti_shmem_piece *piece, int *fd);
int tutti_shmem_piece_map(struct tutti_shmem *space, struct tutti_shmem_piece *piece, int fd);
void tutti_shmem_piece_drop(struct tutti_shmem *space, const struct tutti_shmem_piece *piece);
/* memfd.c: `bytes` bytes of host memory for all PEs of the node, all of it taken now; -1, and `why` says it. all: what
 * each of `pes` has then. */
int tutti_shmem_memfd(size_t bytes, uint64_t all, int pes, char why[TUTTI_SHMEM_WHY]);
/* Maps it, where it is such memory of that size, at addresses that are reserved, or, at NULL, anywhere. NULL where it
 * is not, and where there is no room. unmap: they are only reserved again. */
void *tutti_shmem_memfd_map(int fd, size_t bytes, void *at);
void tutti_shmem_memfd_unmap(void *at, size_t bytes);
/* Addresses, so that byte `before` lies at a multiple of `align`, a power of two; NULL where there are none. Given back
 * by munmap(). */
void *tutti_shmem_reserve(size_t bytes, size_t before, size_t align);
/* proxy_server.c: ring and proxy for kernels of this PE, where TUTTI_SHMEM_RING or the rules say so, or a PE is not
 * reached by loads and stores. Local. open: once heaps are mapped; publishes space->state.ring. A status, after an
 * error message. start: the poller begins. stop: as long as the heaps are there. close: everything else. */
int tutti_shmem_proxy_open(struct tutti_shmem *space);
int tutti_shmem_proxy_start(struct tutti_shmem *space);
/* proxy_server.c: waits until all requests that kernels have made so far are complete. Kernels that have ended have
 * made all of theirs. */
void tutti_shmem_proxy_quiet(struct tutti_shmem *space);
void tutti_shmem_proxy_stop(struct tutti_shmem *space);
void tutti_shmem_proxy_close(struct tutti_shmem *space);
/* fail.c: says and keeps what kernels have told since the last look, of other PEs of the node too. */
void tutti_shmem_stream_look(struct tutti_shmem *space);
/* fail.c: all PEs leave their waits, and all further calls are errors; those of this node alone. */
void tutti_shmem_leave_all(struct tutti_shmem *space);
void tutti_shmem_leave_near(struct tutti_shmem *space);
/* bind.c: kernels' modules get the state, or NULL. */
void tutti_shmem_bind(struct tutti_shmem *space, const struct tshmem_state *state);
/* teams.c: the three that are always there. Local. */
int tutti_shmem_teams_open(struct tutti_shmem *space);

#endif
