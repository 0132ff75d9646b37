/* The door: state of a front end that all of src/mpi/ shares. */
#ifndef TUTTI_MPI_DOOR_H
#define TUTTI_MPI_DOOR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "coll/coll.h"
#include "core/counters.h"
#include "core/status.h"
#include "core/types.h"
#include "device/device.h"
#include "mpi/mpi_api.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Door functions, one a wrapped call; in the stub's table while the door is on. */
#define TUTTI_EACH(kind, name, errors, buffers, parameters, arguments) int tutti_door_##name parameters;
#include "mpi/calls.inc"

struct tutti_door {
    const struct tutti_device *device; /* NULL: this process has none */
    struct tutti_node *node;           /* NULL: no ranks can share memory, or none was agreed */
    int on;                            /* between MPI_Init and MPI_Finalize, where a device is possible */
    int aware;                         /* the MPI takes device pointers itself */
    int intel;                         /* Intel MPI */
    int overruns;                      /* the MPI may write a message past a buffer that is too short for it */
    int strict_alias;                  /* the MPI refuses equal buffers, so they may go to it as they are */
    int strict_allreduce;              /* the same, of MPI_Allreduce and MPI_Iallreduce of several elements alone */
    int stats;                         /* all ranks count */
    int multiple;                      /* MPI_THREAD_MULTIPLE */
    int forked;                        /* a child of the process that has called MPI_Init */
    int rank;                          /* in MPI_COMM_WORLD */
};
extern struct tutti_door tutti_door;

/* state.c: the MPI's library, then what it must have; -1 and the reason where it lacks something. */
void tutti_real_from(void *library);
int tutti_real_open(const char *path, char *why, size_t size);
/* What the MPI has by this name; NULL: nothing. */
void *tutti_mpi_symbol(const char *name);

/* Depth of real calls that this thread is in: what the MPI calls by itself is passed on as it is. */
extern __thread int tutti_inside __attribute__((tls_model("initial-exec")));
static inline void tutti_leave(int *unused)
{
    (void)unused;
    tutti_inside--;
}
/* Until the end of the block, also when an exception leaves it. */
#define TUTTI_INSIDE() __attribute__((cleanup(tutti_leave), unused)) int tutti_inside_mark = tutti_inside++

/* 1 where `pointer` needs staging: memory that only the device can reach. */
static inline int tutti_on_device(const void *pointer)
{
    if (!tutti_door.device || !tutti_door.device->active())
        return 0;
    struct tutti_memory memory;
    tutti_door.device->classify(pointer, &memory);
    return memory.kind == TUTTI_MEMORY_DEVICE;
}
/* 1 where a device pointer must not reach the MPI. Cheap for programs without device memory. */
static inline int tutti_must_stage(const void *pointer)
{
    return unlikely(tutti_on_device(pointer)) && !tutti_inside && !tutti_door.aware;
}

/* large.c: gives calls that the MPI lacks something to do, once the others are known. */
void tutti_calls_complete(void);
/* Before that: what the MPI lacks and Tutti makes of other calls. */
void tutti_calls_supply(void);
extern int tutti_lacks_sendrecv; /* 1: the MPI has no MPI_Isendrecv */
/* patient.c: then makes blocking calls patient, see there. */
void tutti_calls_patient(void);
/* Announces a call of all ranks that moves nothing. */
void tutti_meet_pass(MPI_Comm comm);

/* front.c: called by the door functions of MPI_Init and MPI_Finalize. */
/* Points the stub's table at the MPI; at the door; in a forked child at the MPI but for what would do harm there. */
enum tutti_table { TUTTI_TABLE_MPI, TUTTI_TABLE_DOOR, TUTTI_TABLE_FORKED };
void tutti_door_table(enum tutti_table where);

/* errors.c */
int tutti_mpi_version(void); /* of the standard: 301, 400 ... */
int tutti_fail_comm(MPI_Comm comm, int code);
int tutti_fail_win(MPI_Win win, int code);
int tutti_fail_file(MPI_File file, int code);
int tutti_fail_self(int code);
/* Says that `call` cannot take device memory in `argument`. */
void tutti_refuse(const char *call, const char *argument);
/* MPI error code of a status of Tutti. open: once, in MPI_Init, so that the MPI knows the texts. */
void tutti_errors_open(void);
int tutti_error_code(int status);

/* handles.c: MPI handles to element types and operators; read only after tutti_types_open(). */
struct tutti_type_row {
    MPI_Datatype handle;
    int type;       /* enum tutti_type */
    uint32_t legal; /* bit o: operator o is legal and has a kernel */
    int host_ok;    /* the MPI can reduce it */
    int used;
};
struct tutti_op_row {
    MPI_Op handle;
    int op; /* enum tutti_op */
    int used;
};
enum { TUTTI_TYPE_SLOTS = 256, TUTTI_OP_SLOTS = 64 };
extern struct tutti_type_row tutti_type_table[TUTTI_TYPE_SLOTS];
extern struct tutti_op_row tutti_op_table[TUTTI_OP_SLOTS];
void tutti_types_open(void);
void tutti_types_close(void);
int tutti_half_type(int which, MPI_Datatype *out);

static inline size_t tutti_hash(uint64_t key, size_t slots)
{
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> 40) & (slots - 1);
}
/* NULL for any handle that is not a predefined type that kernels reduce. */
static inline const struct tutti_type_row *tutti_type_find(MPI_Datatype handle)
{
    size_t i = tutti_hash((uint64_t)(uintptr_t)handle, TUTTI_TYPE_SLOTS);
    for (; tutti_type_table[i].used; i = (i + 1) & (TUTTI_TYPE_SLOTS - 1)) {
        if (likely(tutti_type_table[i].handle == handle))
            return &tutti_type_table[i];
    }
    return NULL;
}
/* enum tutti_op, or TUTTI_OP_NONE */
static inline int tutti_op_find(MPI_Op handle)
{
    size_t i = tutti_hash((uint64_t)(uintptr_t)handle, TUTTI_OP_SLOTS);
    for (; tutti_op_table[i].used; i = (i + 1) & (TUTTI_OP_SLOTS - 1)) {
        if (likely(tutti_op_table[i].handle == handle))
            return tutti_op_table[i].op;
    }
    return TUTTI_OP_NONE;
}

/* transport.c: the transport over an MPI communicator, which must stay alive as long. */
struct tutti_mpi_transport {
    struct tutti_transport base;
    MPI_Comm comm;
};
/* Waits for a nonblocking call of the MPI over the transport, which ends also where a rank of the node has died:
 * TUTTI_ERR_PEER, and the request is lost. */
int tutti_transport_await(struct tutti_transport *transport, MPI_Request *request);
void tutti_transport_over(struct tutti_mpi_transport *transport, MPI_Comm comm);

/* comms.c: state of communicators. */
struct tutti_mpix_stream;
struct tutti_comm {
    MPI_Comm handle;
    const char *passed;      /* not NULL: reductions are passed on, for this reason */
    int alone;               /* 1: passed for a reason of this rank alone */
    int failed;              /* not TUTTI_OK: why reductions fail: a peer died before there was a team */
    struct tutti_team *team; /* where neither */
    _Atomic(struct tutti_comm_opening *)
        opening;                      /* not NULL: its team is being made; nonblocking calls do not wait for it */
    struct tutti_worker *worker;      /* of nonblocking calls; NULL before the first */
    atomic_int queued;                /* nonblocking calls of which it is not known yet who makes them */
    unsigned walk, unread;            /* of tutti_nonblocking_poll(): a call of it was met in this walk that nobody
                                         makes yet; that has not even been read */
    struct tutti_mpix_stream *stream; /* NULL: none; its team is open then, where it has more than one rank */
    struct tutti_mpi_transport transport;
    struct tutti_comm *next;
};
struct tutti_comm_slot {
    _Atomic uint64_t key; /* TUTTI_SLOT_FREE, _GONE or tutti_comm_key() */
    _Atomic(struct tutti_comm *) comm;
};
enum { TUTTI_SLOT_FREE, TUTTI_SLOT_GONE };
struct tutti_comm_table {
    size_t slots, used;             /* a power of two; used: not free */
    struct tutti_comm_table *older; /* readers may still be in it */
    struct tutti_comm_slot slot[];
};
extern _Atomic(struct tutti_comm_table *) tutti_comm_table;

static inline uint64_t tutti_comm_key(MPI_Comm comm)
{
    return (uint64_t)(uintptr_t)comm + 2;
}
/* State of an intracommunicator or intercommunicator; NULL before the first tutti_comm_make(). Lock-free. */
static inline struct tutti_comm *tutti_comm_find(MPI_Comm comm)
{
    struct tutti_comm_table *table = atomic_load_explicit(&tutti_comm_table, memory_order_acquire);
    uint64_t key = tutti_comm_key(comm);
    if (unlikely(!table))
        return NULL;
    for (size_t i = tutti_hash(key, table->slots);; i = (i + 1) & (table->slots - 1)) {
        uint64_t there = atomic_load_explicit(&table->slot[i].key, memory_order_acquire);
        if (likely(there == key))
            return atomic_load_explicit(&table->slot[i].comm, memory_order_acquire);
        if (there == TUTTI_SLOT_FREE)
            return NULL;
    }
}
/* Collective over the communicator at its first reduction; NULL where the handle is not valid (nothing was done). */
struct tutti_comm *tutti_comm_make(MPI_Comm handle);
/* comm_team.c: gives a new one its team, or says why it has none; without `wait`, the ranks' tickets may be on their
 * way then. */
void tutti_comm_team(struct tutti_comm *comm, int wait);
/* As tutti_comm_make(), without waiting: where it is collective, `opening` is set on return. */
struct tutti_comm *tutti_comm_begin(MPI_Comm handle);
/* Local: ends the making of a team whose tickets have come; with `wait`, waits for them. 1 where `opening` is NULL on
 * return. Safe from several threads. */
int tutti_comm_ready(struct tutti_comm *comm, int wait);
/* Local: the team of a communicator whose tickets are on their way; NULL: there is none, or it is ready now. */
struct tutti_team *tutti_comm_early(struct tutti_comm *comm);
/* Local: nobody ends the making of the team in between; where its ranks share no memory, the end takes the twin away.
 */
void tutti_comm_hold(struct tutti_comm *comm);
void tutti_comm_let_go(struct tutti_comm *comm);
struct tutti_comm_opening {
    struct tutti_team *team;
    MPI_Request request;
    char *tickets, mine[TUTTI_TICKET_BYTES];
};
/* Local. Ranks in MPI_COMM_WORLD of those that messages on `comm` go to (of an intercommunicator, the other group), or
 * MPI_UNDEFINED; the caller frees them. NULL without memory or for a handle that is not valid. */
int *tutti_world_ranks(MPI_Comm comm, int *n);
/* Whose ranks a communicator has, as each of them knows without the others. Those of another MPI_COMM_WORLD may not
 * even have Tutti in front. The node must be known. */
enum tutti_whose { TUTTI_OURS, TUTTI_OF_NODES, TUTTI_OF_OTHERS };
enum tutti_whose tutti_whose(MPI_Comm comm);
/* Who has something on a communicator that leaves. */
struct tutti_comm_users {
    void (*leave)(struct tutti_comm *comm); /* waits until it is known who makes each of its nonblocking calls */
    int (*close_stream)(struct tutti_comm *comm, int closing); /* see tutti_comm_stream_close() */
};
int tutti_comms_open(const struct tutti_comm_users *users);
void tutti_comms_close(void);
int tutti_comms_broken(void); /* 1 where a team has failed */
void tutti_comms_forget(void);

#endif
