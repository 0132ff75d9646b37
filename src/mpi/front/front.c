/* Opening a front end: the calls that it wraps, and the stub's table. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "mpi/call/calls.h"
#include "mpi/enqueue/messages.h"
#include "mpi/front/front.h"
#include "mpi/message/unexpected.h"
#include "mpi/move/mover_enqueue.h"
#include "mpi/part/coll.h"
#include "mpi/part/prequest.h"
#include "mpi/queue/queue.h"
#include "mpi/real/door.h"
#include "mpi/real/handles.h"
#include "mpi/real/stub.h"
#include "mpi/reduce/deferred_call.h"
#include "mpi/reduce/enqueue.h"
#include "tutti/tutti.h"

static struct tutti_stub stub;
static int enabled; /* TUTTI_DEVICE is not none */

__attribute__((visibility("default"))) tutti_front_open_fn tutti_front_open;
__attribute__((visibility("default"))) tutti_front_mpix_type_fn tutti_front_mpix_type;
__attribute__((visibility("default"))) tutti_front_mpix_call_fn tutti_front_mpix_call;

enum {
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments) CALL_##name,
#include "mpi/real/calls.inc"
    CALLS
};

static const struct row {
    void *door;
    void **real;
} rows[CALLS] = {
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments)                                          \
    {(void *)tutti_door_##name, (void **)(void *)&tutti_next.name},
#include "mpi/real/calls.inc"
};

/* libtutti.so loads this library when it has found the MPI. In LD_PRELOAD by itself it wraps no call, and
 * the program would run without a word. */
__attribute__((constructor)) static void front_preloaded(void)
{
    const char *list = getenv("LD_PRELOAD");
    Dl_info own;
    if (!list || dladdr((void *)tutti_front_open, &own) == 0 || !own.dli_fname)
        return;
    const char *slash = strrchr(own.dli_fname, '/'), *name = slash ? slash + 1 : own.dli_fname;
    if (strstr(list, name) && !strstr(list, "libtutti.so"))
        tutti_warn("%s is in LD_PRELOAD, where it does nothing: put libtutti.so there, which loads it", name);
}

static void point_table(enum tutti_table where)
{
    for (int i = 0; i < CALLS; i++) {
        void *real = *rows[i].real;
        int always = enabled && (i == CALL_MPI_Init || i == CALL_MPI_Init_thread || i == CALL_MPI_Finalize ||
                                 i == CALL_MPI_Session_init || i == CALL_MPI_Session_finalize ||
                                 i == CALL_MPI_Session_get_info || i == CALL_MPI_Comm_create_from_group ||
                                 i == CALL_MPIX_Query_cuda_support || i == CALL_MPIX_GPU_query_support);
        int forked = where == TUTTI_TABLE_FORKED && i == CALL_MPI_Free_mem;
        stub.table[i] = where == TUTTI_TABLE_DOOR || always || forked ? rows[i].door : real;
        if (!stub.wraps[i])
            stub.outer[i] = stub.table[i];
    }
}

/* The passes over tutti_next, in this order. Each replaces entries by functions that call what the entries held before:
 * a call of the door goes through the passes from the last to the first, then to the MPI. */
static void (*const passes[])(void) = {
    tutti_calls_tagless, /* ranks of nonblocking collectives that have nothing to move take a tag all the same */
    tutti_calls_supply,  /* makes calls that the MPI lacks of other calls */
    tutti_calls_supply_persistent, /* the same of persistent collectives that move data */
    tutti_calls_comm_info,         /* notes the hints of communicators, which the MPI may forget */
    tutti_calls_comm_made,         /* notes which communicators the MPI has begun to duplicate */
    tutti_calls_complete,          /* fills what is still missing: large counts from plain ones, the others fail */
    tutti_calls_unexpected,        /* receives look among the messages that probes have taken out */
    tutti_calls_progressing,       /* blocking calls that wait for other ranks poll the steps that are open */
    tutti_calls_detach,            /* the same of calls that wait for buffered messages */
    tutti_calls_deferred,          /* nonblocking collectives wait for their turn */
    tutti_calls_comm_identity,     /* notes the numbers of new communicators */
};

static const struct tutti_front front = {point_table, tutti_shmem_front_close, tutti_shmem_front_up};

int tutti_front_open(const struct tutti_stub *offer, char *why, size_t size)
{
    if (offer->version != TUTTI_STUB_VERSION || offer->calls != CALLS) {
        snprintf(why, size, "libtutti.so and its front end are of different versions");
        return -1;
    }
    stub = *offer;
    tutti_front = &front;
    stub.path = NULL;
    tutti_real_from(offer->mpi);
    for (int i = 0; i < CALLS; i++)
        *rows[i].real = offer->beneath[i] ? offer->beneath[i] : tutti_mpi_symbol(offer->name[i]);
    if (tutti_real_open(offer->path, why, size) != 0)
        return -1;
    enabled = tutti_settings()->device != TUTTI_SET_DEVICE_NONE;
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++)
        passes[i]();
    tutti_shmem_front_open();
    point_table(TUTTI_TABLE_MPI);
    return 0;
}

int tutti_front_mpix_type(int which, void *handle, size_t size)
{
    MPI_Datatype type;
    if (size != sizeof type || tutti_half_type(which, &type) != 0)
        return -1;
    *(MPI_Datatype *)handle = type;
    return 0;
}

void *tutti_front_mpix_call(const char *name, size_t size)
{
#define ROW(call)                                                                                                      \
    {                                                                                                                  \
#call, (void *)tutti_door_##call                                                                               \
    }
#define BOTH(call) ROW(call), ROW(call##_c)
    /* clang-format off */
    static const struct {
        const char *name;
        void *call;
    } calls[] = {
        {"MPIX_Stream_create", (void *)tutti_mpix_stream_create},
        {"MPIX_Stream_free", (void *)tutti_mpix_stream_free},
        {"MPIX_Stream_comm_create", (void *)tutti_mpix_stream_comm_create},
        ROW(MPIX_Barrier_enqueue),
#define TUTTI_REDUCTION(ID, call, nonblocking, enqueued, ...) BOTH(enqueued),
#define TUTTI_STREAM_MOVER(ID, call, nonblocking, enqueued, ...) BOTH(enqueued),
#include "tutti/collectives.def"
        BOTH(MPIX_Reduce_local_enqueue),
        BOTH(MPIX_Send_enqueue),         BOTH(MPIX_Recv_enqueue),   BOTH(MPIX_Isend_enqueue),
        BOTH(MPIX_Irecv_enqueue),        ROW(MPIX_Wait_enqueue),    ROW(MPIX_Waitall_enqueue),
#define TUTTI_MPIX_CALL(call, ...) ROW(call),
#include "tutti/mpix_pcoll.def"
#include "tutti/mpix_queue.def"
        ROW(MPIX_Pbuf_prepare),          ROW(MPIX_Pbuf_prepareall), ROW(MPIX_Prequest_create),
        ROW(MPIX_Prequest_free),         ROW(tshmem_init_comm),     ROW(tshmem_team_from_comm),
        {"tutti_alloc", (void *)tutti_alloc}, {"tutti_free", (void *)tutti_free},
    };
    /* clang-format on */
#undef ROW
#undef BOTH
    for (size_t i = 0; size == sizeof(MPI_Comm) && i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(calls[i].name, name) == 0)
            return calls[i].call;
    }
    return NULL;
}
