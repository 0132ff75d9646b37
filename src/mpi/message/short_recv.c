#include "mpi/message/short_recv.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "mpi/bounce/overrun.h"
#include "mpi/real/errors.h"
#include "mpi/real/handles.h"
#include "mpi/real/quiet.h"
#include "mpi/real/quirks.h"
#include "mpi/request/request.h"
#include "progress/engine.h"

atomic_int tutti_short_recv_on;

/* An MPI that writes a message whole, though it is longer than its buffer, would write over the heap. Memory that may
 * be overrun is a mapping of its own: so many receives have one, as many as are kept for the next ones. */
enum { LENT_MOST = 64 };
static atomic_int lent;

unsigned char *tutti_short_recv_lend(void)
{
    if (!tutti_quirks.overruns)
        return NULL;
    unsigned char *memory = NULL;
    if (atomic_fetch_add(&lent, 1) < LENT_MOST)
        memory = tutti_overrun_lend(TUTTI_FAR_RTS_BYTES);
    if (!memory)
        atomic_fetch_sub(&lent, 1);
    return memory;
}

void tutti_short_recv_return(unsigned char *memory)
{
    if (!memory)
        return;
    tutti_overrun_return(memory);
    atomic_fetch_sub(&lent, 1);
}

void tutti_short_recv_free(struct tutti_short_recv *short_recv)
{
    if (short_recv && short_recv->memory != short_recv->own)
        tutti_short_recv_return(short_recv->memory);
    if (short_recv)
        free(short_recv->dropping);
    free(short_recv);
}

/* Only predefined types: derived ones seldom describe such short messages. */
struct tutti_short_recv *tutti_short_recv_new(void *buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm)
{
    int size = 0;
    if (count <= 0 || count >= TUTTI_FAR_RTS_BYTES || (type != tutti_handles.byte && !tutti_type_find(type)) ||
        tutti_next.MPI_Type_size(type, &size) != MPI_SUCCESS || size <= 0 ||
        (size_t)count * (size_t)size >= (tutti_far_has_arrived() ? TUTTI_FAR_RTS_BYTES : TUTTI_RTS_BYTES))
        return NULL;
    unsigned char *const memory = tutti_short_recv_lend();
    struct tutti_short_recv *short_recv = malloc(sizeof *short_recv + (memory ? 0 : TUTTI_FAR_RTS_BYTES));
    if (!short_recv) {
        tutti_short_recv_return(memory);
        return NULL;
    }
    short_recv->memory = memory ? memory : short_recv->own;
    short_recv->buffer = buffer;
    short_recv->moved = 0;
    short_recv->dropping = NULL;
    short_recv->capacity = (size_t)count * (size_t)size;
    short_recv->comm = comm;
    return short_recv;
}

static struct tutti_recv_request *short_recv_dropping(const struct tutti_short_recv *short_recv,
                                                      const MPI_Status *status)
{
    static const struct tutti_stage none;
    struct tutti_recv_request *recv = malloc(sizeof *recv);
    if (!recv)
        return NULL;
    *recv = (struct tutti_recv_request){
        .core.elements = {.buffer = short_recv->memory, .count = TUTTI_FAR_RTS_BYTES, .whole = 1},
        .type = tutti_handles.byte,
        .comm = short_recv->comm,
        .size = 1,
        .extent = 1};
    tutti_recv_arrived(recv, &none, status);
    recv->core.capacity = short_recv->capacity;
    return recv;
}

/* Releases the sender of an RTS: its message is too long. Without memory it is tried again. */
static void short_recv_drop(struct tutti_short_recv *short_recv, const MPI_Status *status, int how)
{
    static struct tutti_stage none;
    struct tutti_stage *stage = &none;
    if (!short_recv->dropping)
        short_recv->dropping = short_recv_dropping(short_recv, status);
    if (short_recv->dropping && tutti_recv_is_open(short_recv->dropping))
        tutti_recv_fetch(&short_recv->dropping, &stage, 1, how);
}

void tutti_short_recv_drop(struct tutti_short_recv *short_recv, const MPI_Status *status)
{
    short_recv_drop(short_recv, status, TUTTI_FETCH_NOW);
}

int tutti_short_recv_move(struct tutti_short_recv *short_recv, const MPI_Status *status)
{
    if (short_recv->moved || tutti_was_cancelled(status))
        return 1;
    const MPI_Count bytes = tutti_received(status);
    if (bytes < 0 || (size_t)bytes > short_recv->capacity)
        return 0;
    memcpy(short_recv->buffer, short_recv->memory, (size_t)bytes);
    short_recv->moved = 1;
    return 1;
}

int tutti_short_recv_end(struct tutti_short_recv *short_recv, const MPI_Status *status, int code)
{
    if (code == MPI_SUCCESS && !tutti_short_recv_move(short_recv, status)) {
        short_recv_drop(short_recv, status, tutti_progress_polling() ? TUTTI_FETCH_NOW : TUTTI_FETCH_ALL);
        tutti_error("a message of more than %zu bytes arrived for a buffer of %zu", short_recv->capacity,
                    short_recv->capacity);
        code = tutti_fail_comm(short_recv->comm, MPI_ERR_TRUNCATE);
    }
    tutti_short_recv_free(short_recv);
    return code;
}

/* ---- requests that the program has freed ---- */

struct short_freed {
    struct tutti_short_recv *short_recv; /* NULL: it has ended */
};

static int short_freed_arrived(struct tutti_request *entry, const MPI_Status *status, struct tutti_batch *batch)
{
    struct tutti_short_recv *const short_recv = TUTTI_REQUEST_OF(struct short_freed, entry)->short_recv;
    (void)batch;
    if (!tutti_short_recv_move(short_recv, status))
        tutti_short_recv_drop(short_recv, status);
    entry->coming = !short_recv->moved && (!short_recv->dropping || tutti_recv_is_open(short_recv->dropping));
    return entry->coming;
}

static int short_freed_deliver(struct tutti_request *entry, MPI_Status *status)
{
    struct short_freed *const freed = TUTTI_REQUEST_OF(struct short_freed, entry);
    struct tutti_short_recv *const short_recv = freed->short_recv;
    freed->short_recv = NULL;
    return tutti_short_recv_end(short_recv, status, MPI_SUCCESS);
}

static void short_freed_close(struct tutti_request *entry)
{
    tutti_short_recv_free(TUTTI_REQUEST_OF(struct short_freed, entry)->short_recv);
}

static const struct tutti_request_kind short_freed_kind = {.name = "freed receive with memory of its own",
                                                           .arrived = short_freed_arrived,
                                                           .deliver = short_freed_deliver,
                                                           .close = short_freed_close};

struct tutti_request *tutti_short_recv_freed(struct tutti_short_recv *short_recv, MPI_Request request)
{
    struct tutti_request *const entry = tutti_request_new(&short_freed_kind, request, short_recv->comm);
    if (entry)
        TUTTI_REQUEST_OF(struct short_freed, entry)->short_recv = short_recv;
    return entry;
}

/* ---- when errors return ---- */

void tutti_short_recv_look(MPI_Errhandler handler)
{
    if (handler != tutti_handles.errors_are_fatal && (tutti_endpoint_everywhere || tutti_far_on))
        atomic_store(&tutti_short_recv_on, 1);
}

void tutti_short_recv_open(void)
{
    MPI_Errhandler handler;
    if (tutti_next.MPI_Comm_get_errhandler(tutti_handles.world, &handler) != MPI_SUCCESS)
        return;
    tutti_short_recv_look(handler);
    tutti_quiet_begin(handler);
    tutti_next.MPI_Errhandler_free(&handler);
}

int tutti_door_MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler)
{
    const int code = tutti_quiet_set(comm, errhandler);
    if (code == MPI_SUCCESS && !tutti_inside)
        tutti_short_recv_look(errhandler);
    return code;
}

/* MPI-1's form. */
int tutti_door_MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
    return tutti_door_MPI_Comm_set_errhandler(comm, errhandler);
}
