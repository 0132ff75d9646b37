/* The door: state of a front end that all of src/mpi/ shares. */
#ifndef TUTTI_MPI_DOOR_H
#define TUTTI_MPI_DOOR_H

#include <pthread.h>
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
    int strict_alias;                  /* the MPI refuses equal buffers, so they may go to it as they are */
    int stats;                         /* all ranks count */
    int multiple;                      /* MPI_THREAD_MULTIPLE */
    int rank;                          /* in MPI_COMM_WORLD */
};
extern struct tutti_door tutti_door;

/* Depth of real calls that this thread is in: what the MPI calls by itself is passed on as it is. */
extern __thread int tutti_inside __attribute__((tls_model("initial-exec")));
static inline void tutti_leave(int *unused)
{
    (void)unused;
    tutti_inside--;
}
/* Until the end of the block, also when an exception leaves it. */
#define TUTTI_INSIDE()                                                                                                 \
    __attribute__((cleanup(tutti_leave), unused)) int tutti_inside_mark = tutti_inside++

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

/* life.c: called by the door functions of MPI_Init and MPI_Finalize. */
void tutti_door_table(int on); /* points the stub's table at the door (1) or at the MPI (0) */

/* errors.c */
int tutti_fail_comm(MPI_Comm comm, int code);
int tutti_fail_win(MPI_Win win, int code);
int tutti_fail_file(MPI_File file, int code);
int tutti_fail_self(int code);
/* Says that `call` cannot take device memory in `argument`. */
void tutti_refuse(const char *call, const char *argument);
/* MPI error code of a status of Tutti. */
int tutti_error_code(int status);

/* handles.c: MPI handles to element types and operators; read only after tutti_types_open(). */
struct tutti_type_row {
    MPI_Datatype handle;
    int type;      /* enum tutti_type */
    uint32_t legal; /* bit o: operator o is legal and has a kernel */
    int host_ok;   /* the MPI can reduce it */
    size_t size;
};
void tutti_types_open(void);
void tutti_types_close(void);
/* NULL for any handle that is not a predefined type that kernels reduce. */
const struct tutti_type_row *tutti_type_find(MPI_Datatype handle);
int tutti_op_find(MPI_Op handle); /* enum tutti_op, or TUTTI_OP_NONE */
int tutti_half_type(int which, MPI_Datatype *out);

/* transport.c: the transport over an MPI communicator, which must stay alive as long. */
struct tutti_mpi_transport {
    struct tutti_transport base;
    MPI_Comm comm;
};
void tutti_transport_over(struct tutti_mpi_transport *transport, MPI_Comm comm);

/* comms.c: state of communicators. */
struct tutti_comm {
    MPI_Comm handle;
    const char *passed;      /* not NULL: reductions are passed on, for this reason */
    struct tutti_team *team; /* where not passed */
    struct tutti_mpi_transport transport;
    struct tutti_comm *next;
};
/* State of an intracommunicator or intercommunicator; NULL before the first tutti_comm_make(). Lock-free. */
struct tutti_comm *tutti_comm_find(MPI_Comm comm);
/* Collective over the communicator at its first reduction; NULL where the handle is not valid (nothing was done). */
struct tutti_comm *tutti_comm_make(MPI_Comm comm);
int tutti_comms_open(void);
void tutti_comms_close(void);
int tutti_comms_broken(void); /* 1 where a team has failed */
void tutti_comms_forget(void);

#endif
