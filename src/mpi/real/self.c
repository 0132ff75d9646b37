#include "mpi/real/self.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/lock.h"
#include "progress/engine.h"

enum {
    PULSE_TAG,
    INJECT_TAG,
    ROOM_TAG,
    FIRST_TAG,
    KEPT = 64,          /* requests with the first tags that are kept: a window of messages */
    LEAST_TAGS = 32767, /* every MPI has tags up to this one */
    AT_FIRST = 256
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static MPI_Comm self; /* of this process alone */
static atomic_int made;
static int last_tag; /* of this MPI */
static int *free_tags, tags_free, tags_used, tags_room;
/* Receives with the tags FIRST_TAG + k, posted in that order, so that an MPI finds the first ones at the head of its
 * list. posted: bits of those which the MPI has, `idle` of those of them that no operation uses. */
static struct kept {
    MPI_Request request[KEPT];
    uint64_t posted;
    _Atomic uint64_t idle; /* taken and given without the lock */
} kept;
static struct tutti_lock pulse_lock;
static struct stand_in {
    struct stand_in *next;
    MPI_Errhandler handler; /* the communicator keeps it alive */
    MPI_Comm comm;
} * stand_ins;                                      /* one for each handler */
static MPI_Request pulse TUTTI_GUARDED(pulse_lock); /* a receive of what is sent at the end */

int tutti_self_last_tag(void)
{
    int *most = NULL, flag = 0;
    int code = tutti_next.MPI_Comm_get_attr(tutti_handles.world, MPI_TAG_UB, &most, &flag);
    return code == MPI_SUCCESS && flag && *most > LEAST_TAGS ? *most : LEAST_TAGS;
}

int tutti_self_tag_is_fine(int tag)
{
    return atomic_load_explicit(&made, memory_order_acquire) && tag >= 0 && tag <= last_tag;
}

/* The lock is held. 0: it cannot be made. */
static int make_self(void)
{
    if (!made && tutti_next.MPI_Comm_split(tutti_handles.self, 0, 0, &self) == MPI_SUCCESS) {
        last_tag = tutti_self_last_tag();
        made = tutti_next.MPI_Comm_set_errhandler(self, tutti_handles.errors_return) == MPI_SUCCESS;
    }
    return made;
}

MPI_Comm tutti_self_quiet(void)
{
    if (likely(atomic_load_explicit(&made, memory_order_acquire)))
        return self;
    TUTTI_INSIDE();
    pthread_mutex_lock(&lock);
    MPI_Comm quiet = make_self() ? self : tutti_handles.self;
    pthread_mutex_unlock(&lock);
    return quiet;
}

static MPI_Comm find_stand_in(MPI_Errhandler handler)
{
    pthread_mutex_lock(&lock);
    const struct stand_in *found = stand_ins;
    while (found && found->handler != handler)
        found = found->next;
    pthread_mutex_unlock(&lock);
    return found ? found->comm : tutti_handles.no_comm;
}

/* Without the lock: the MPI may poll steps meanwhile. */
static MPI_Comm new_stand_in(MPI_Errhandler handler, MPI_Comm quiet)
{
    struct stand_in *stand_in = calloc(1, sizeof *stand_in);
    if (!stand_in || quiet == tutti_handles.self || tutti_next.MPI_Comm_dup(quiet, &stand_in->comm) != MPI_SUCCESS) {
        free(stand_in);
        return quiet;
    }
    tutti_next.MPI_Comm_set_errhandler(stand_in->comm, handler);
    stand_in->handler = handler;
    pthread_mutex_lock(&lock);
    stand_in->next = stand_ins;
    stand_ins = stand_in;
    pthread_mutex_unlock(&lock);
    return stand_in->comm;
}

MPI_Comm tutti_self_stand_in(MPI_Comm comm)
{
    MPI_Errhandler handler;
    MPI_Comm quiet = tutti_self_quiet();
    TUTTI_INSIDE();
    if (tutti_next.MPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS)
        return quiet;
    MPI_Comm found = find_stand_in(handler);
    if (found == tutti_handles.no_comm)
        found = new_stand_in(handler, quiet);
    tutti_next.MPI_Errhandler_free(&handler);
    return found;
}

static void free_stand_ins(void)
{
    while (stand_ins) {
        struct stand_in *next = stand_ins->next;
        tutti_next.MPI_Comm_free(&stand_ins->comm);
        free(stand_ins);
        stand_ins = next;
    }
}

int tutti_self_asks(MPI_Datatype type)
{
    char nothing;
    MPI_Comm quiet = tutti_self_quiet();
    TUTTI_INSIDE();
    return tutti_next.MPI_Bcast(&nothing, 1, type, 0, quiet) == MPI_SUCCESS;
}

/* The lock is held. Room for all tags that are in use to be given back. */
static int self_grow(void)
{
    if (tags_used < tags_room)
        return 1;
    const int room = tags_room ? 2 * tags_room : AT_FIRST;
    int *more = realloc(free_tags, (size_t)room * sizeof *more);
    if (!more)
        return 0;
    free_tags = more;
    tags_room = room;
    return 1;
}

/* The lock is held. */
static int take_tag(void)
{
    if (!make_self())
        return -1;
    if (tags_free > 0)
        return free_tags[--tags_free];
    return tags_used < last_tag - FIRST_TAG - KEPT && self_grow() ? FIRST_TAG + KEPT + tags_used++ : -1;
}

/* 1: the first idle one. */
static int take_idle(MPI_Request *request, int *tag)
{
    uint64_t idle = atomic_load_explicit(&kept.idle, memory_order_relaxed);
    while (idle) {
        const int k = __builtin_ctzll(idle);
        if (tutti_door_alone())
            atomic_store_explicit(&kept.idle, idle & (idle - 1), memory_order_relaxed);
        else if (!atomic_compare_exchange_weak_explicit(&kept.idle, &idle, idle & (idle - 1), memory_order_acquire,
                                                        memory_order_relaxed))
            continue;
        *request = kept.request[k];
        *tag = FIRST_TAG + k;
        return 1;
    }
    return 0;
}

/* The lock is held. The tag behind those that are posted, or any. */
static int take_behind(void)
{
    const int behind = kept.posted ? 64 - __builtin_clzll(kept.posted) : 0;
    if (behind == KEPT || !make_self())
        return take_tag();
    kept.posted |= UINT64_C(1) << behind;
    return FIRST_TAG + behind;
}

/* Bit of a request that can be kept; 0: it is another one. */
static uint64_t kept_bit(int tag)
{
    return tag >= FIRST_TAG && tag < FIRST_TAG + KEPT ? UINT64_C(1) << (tag - FIRST_TAG) : 0;
}

int tutti_self_request(int persistent, MPI_Request *request, int *tag)
{
    if (!persistent && take_idle(request, tag))
        return 0;
    TUTTI_INSIDE();
    pthread_mutex_lock(&lock);
    *tag = persistent ? take_tag() : take_behind();
    pthread_mutex_unlock(&lock);
    if (*tag < 0)
        return -1;
    int code = persistent ? tutti_next.MPI_Recv_init(NULL, 0, tutti_handles.byte, 0, *tag, self, request)
                          : tutti_next.MPI_Irecv(NULL, 0, tutti_handles.byte, 0, *tag, self, request);
    if (code == MPI_SUCCESS)
        return 0;
    tutti_self_release(*tag);
    return -1;
}

/* A test of a request that is not complete: an MPI polls all its networks before it returns false. A probe may find an
 * old message and poll nothing; a probe within this process alone need not poll others. */
void tutti_self_progress(void)
{
    int flag;
    TUTTI_INSIDE();
    if (!tutti_lock_try_alone(&pulse_lock, tutti_door_alone())) /* another thread is at it */
        return;
    if (pulse != tutti_handles.no_request)
        tutti_next.MPI_Test(&pulse, &flag, MPI_STATUS_IGNORE);
    tutti_lock_give(&pulse_lock);
}

void tutti_self_look(void)
{
    if (likely(!tutti_progress_busy()) || tutti_inside)
        return;
    tutti_progress_poll();
    tutti_self_progress();
}

/* Before other threads make calls, and after. */
TUTTI_UNGUARDED void tutti_self_open(void)
{
    pulse = tutti_handles.no_request;
    pthread_mutex_lock(&lock);
    if (make_self() && tutti_next.MPI_Irecv(NULL, 0, tutti_handles.byte, 0, PULSE_TAG, self, &pulse) != MPI_SUCCESS)
        pulse = tutti_handles.no_request;
    pthread_mutex_unlock(&lock);
}

TUTTI_UNGUARDED static void end_pulse(void)
{
    if (pulse == tutti_handles.no_request)
        return;
    tutti_self_complete(PULSE_TAG);
    tutti_next.MPI_Wait(&pulse, MPI_STATUS_IGNORE);
}

void tutti_self_complete(int tag)
{
    MPI_Request request; /* not by a call that makes progress of others: locks may be held */
    TUTTI_INSIDE();
    if (tutti_next.MPI_Isend(NULL, 0, tutti_handles.byte, 0, tag, self, &request) == MPI_SUCCESS)
        tutti_next.MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int tutti_self_inject(const void *text, int bytes, MPI_Message *message, MPI_Request *sending)
{
    int flag = 0, code;
    MPI_Comm quiet = tutti_self_quiet();
    TUTTI_INSIDE();
    if (quiet == tutti_handles.self ||
        tutti_next.MPI_Isend(text, bytes, tutti_handles.byte, 0, INJECT_TAG, quiet, sending) != MPI_SUCCESS)
        return -1;
    do { /* it is here already */
        code = tutti_next.MPI_Improbe(0, INJECT_TAG, quiet, &flag, message, MPI_STATUS_IGNORE);
    } while (code == MPI_SUCCESS && !flag);
    return code == MPI_SUCCESS ? 0 : -1;
}

int tutti_self_room_open(void *to, int bytes, MPI_Request *receive)
{
    MPI_Comm quiet = tutti_self_quiet();
    TUTTI_INSIDE();
    return quiet != tutti_handles.self &&
                   tutti_next.MPI_Irecv(to, bytes, tutti_handles.byte, 0, ROOM_TAG, quiet, receive) == MPI_SUCCESS
               ? 0
               : -1;
}

int tutti_self_room_takes(const void *from, int bytes)
{
    TUTTI_INSIDE();
    return tutti_next.MPI_Bsend(from, bytes, tutti_handles.byte, 0, ROOM_TAG, self) == MPI_SUCCESS;
}

void tutti_self_room_close(int taken, MPI_Request *receive)
{
    TUTTI_INSIDE();
    if (!taken)
        tutti_self_complete(ROOM_TAG);
    tutti_next.MPI_Wait(receive, MPI_STATUS_IGNORE);
}

void tutti_self_end(int persistent, MPI_Request *request)
{
    TUTTI_INSIDE();
    tutti_next.MPI_Wait(request, MPI_STATUS_IGNORE);
    if (persistent)
        tutti_next.MPI_Request_free(request);
}

void tutti_self_release(int tag)
{
    const uint64_t bit = kept_bit(tag);
    pthread_mutex_lock(&lock);
    if (bit)
        kept.posted &= ~bit;
    else
        free_tags[tags_free++] = tag;
    pthread_mutex_unlock(&lock);
}

void tutti_self_keep(int tag, MPI_Request request)
{
    const uint64_t bit = kept_bit(tag);
    if (!bit) {
        tutti_self_complete(tag);
        tutti_self_end(0, &request);
        tutti_self_release(tag);
        return;
    }
    kept.request[tag - FIRST_TAG] = request;
    if (tutti_door_alone())
        atomic_store_explicit(&kept.idle, atomic_load_explicit(&kept.idle, memory_order_relaxed) | bit,
                              memory_order_relaxed);
    else
        atomic_fetch_or_explicit(&kept.idle, bit, memory_order_release);
}

static void self_end_kept(void)
{
    for (int k = 0; k < KEPT; k++) {
        if (!(kept.idle >> k & 1))
            continue;
        tutti_self_complete(FIRST_TAG + k);
        tutti_self_end(0, &kept.request[k]);
    }
    kept.posted = 0;
    kept.idle = 0;
}

void tutti_self_close(int idle)
{
    end_pulse();
    self_end_kept();
    free_stand_ins();
    if (made && idle)
        tutti_next.MPI_Comm_free(&self);
    made = 0;
    free(free_tags);
    free_tags = NULL;
    tags_free = tags_used = tags_room = 0;
}
