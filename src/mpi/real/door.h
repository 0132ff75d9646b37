/* The door: state of a front end that all of src/mpi/ shares. */
#ifndef TUTTI_MPI_DOOR_H
#define TUTTI_MPI_DOOR_H

#include <stddef.h>
#include <stdint.h>

#include "core/counters.h"
#include "core/status.h"
#include "device/device.h"
#include "device/found.h"
#include "mpi/real/mpi_api.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Door functions, one a wrapped call; in the stub's table while the door is on. */
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments) int tutti_door_##name parameters;
#include "mpi/real/calls.inc"

struct tutti_door {
    const struct tutti_device *device; /* NULL in a process without it */
    struct tutti_node *node;           /* NULL: no ranks can share memory, or none was agreed */
    int on;                            /* between MPI_Init and MPI_Finalize, where a device is possible */
    int aware;                         /* the MPI takes device pointers itself */
    int stats;                         /* all ranks count */
    int multiple;                      /* MPI_THREAD_MULTIPLE */
    int forked;                        /* a child of the process that has called MPI_Init */
    int rank;                          /* in MPI_COMM_WORLD */
};
extern struct tutti_door tutti_door;

/* 1 if one thread at a time is in a call of the MPI: locks of what only these calls use need no atomic operation. The
 * steps of the progress engine are among them: without MPI_THREAD_MULTIPLE there is no helper, and the engine's own
 * thread polls none. */
static inline int tutti_door_alone(void)
{
    return likely(!tutti_door.multiple);
}

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

/* 1 if `pointer` needs staging: memory that only the device can reach. *out: its kind, where a device is active;
 * otherwise unchanged. */
static inline int tutti_on_device_at(const void *pointer, struct tutti_memory *out)
{
    if (!tutti_device_active(tutti_door.device))
        return 0;
    tutti_memory_at(tutti_door.device, pointer, out);
    return out->kind == TUTTI_MEMORY_DEVICE;
}
static inline int tutti_on_device(const void *pointer)
{
    struct tutti_memory memory;
    return tutti_on_device_at(pointer, &memory);
}
/* 1 if a device pointer must not reach the MPI. Cheap for programs without device memory. */
static inline int tutti_must_stage_at(const void *pointer, struct tutti_memory *out)
{
    return unlikely(tutti_on_device_at(pointer, out)) && !tutti_inside && !tutti_door.aware;
}
static inline int tutti_must_stage(const void *pointer)
{
    struct tutti_memory memory;
    return tutti_must_stage_at(pointer, &memory);
}

#endif
