#include "mpi/message/held_own.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "mpi/bounce/stage.h"
#include "mpi/message/endpoints.h"
#include "mpi/message/far.h"
#include "mpi/real/errors.h"
#include "mpi/real/self.h"

enum form { PLAIN, RTS, FAR_RTS }; /* what it may be; once it was read: what it is */

struct tutti_held {
    struct tutti_held *next;
    MPI_Comm comm;
    MPI_Message message;
    MPI_Status status; /* status for the program */
    enum form form;
    enum { WHOLE, READING, READ } state;
    MPI_Request request; /* READING: the receive; READ: of the message to this process */
    int claimed;         /* a receive is using it, on some thread */
    int peer, number;    /* READ, an RTS: node rank of its sender, and its rendezvous */
    uint64_t sequence;
    unsigned char text[]; /* not of PLAIN */
};

atomic_int tutti_held_count, tutti_held_guards;
int (*tutti_held_imrecv)(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request);

/* Receives hold it as readers, probes as writers; only if the program has several threads. */
static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the lists */
static struct tutti_held *list, *given, *orphans;

int tutti_held_may(void)
{
    if (likely(!tutti_endpoint && !tutti_far_on) || tutti_inside)
        return 0;
    /* While one thread is inside MPI_Probe another one may open an endpoint. */
    return tutti_far_on || tutti_held_on() || tutti_door.multiple || tutti_endpoint_listens(tutti_endpoint);
}

void tutti_held_enter(void)
{
    if (tutti_door.multiple)
        pthread_rwlock_rdlock(&gate);
}

void tutti_held_leave(void)
{
    if (tutti_door.multiple)
        pthread_rwlock_unlock(&gate);
}

/* ---- the lists ---- */

static void put(struct tutti_held **at, struct tutti_held *held)
{
    pthread_mutex_lock(&lock);
    while (*at)
        at = &(*at)->next;
    held->next = NULL;
    *at = held;
    atomic_fetch_add(&tutti_held_count, 1);
    pthread_mutex_unlock(&lock);
}

static int take_from(struct tutti_held **at, const struct tutti_held *held)
{
    while (*at && *at != held)
        at = &(*at)->next;
    if (!*at)
        return 0;
    *at = held->next;
    atomic_fetch_sub(&tutti_held_count, 1);
    return 1;
}

static void take(struct tutti_held *held)
{
    pthread_mutex_lock(&lock);
    if (!take_from(&list, held))
        take_from(&given, held);
    pthread_mutex_unlock(&lock);
}

/* The lock is held. */
static struct tutti_held *find(int source, int tag, MPI_Comm comm)
{
    struct tutti_held *held = list;
    while (held &&
           (held->claimed || held->comm != comm || (source != MPI_ANY_SOURCE && held->status.MPI_SOURCE != source) ||
            (tag != MPI_ANY_TAG && held->status.MPI_TAG != tag)))
        held = held->next;
    return held;
}

static struct tutti_held *claim(struct tutti_held *held)
{
    if (held)
        held->claimed = 1;
    pthread_mutex_unlock(&lock);
    return held;
}

struct tutti_held *tutti_held_claim(int source, int tag, MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    return claim(find(source, tag, comm));
}

struct tutti_held *tutti_held_claim_of(MPI_Message message)
{
    pthread_mutex_lock(&lock);
    struct tutti_held *held = given;
    while (held && (held->claimed || held->message != message))
        held = held->next;
    return claim(held);
}

void tutti_held_unclaim(struct tutti_held *held)
{
    pthread_mutex_lock(&lock);
    held->claimed = 0;
    pthread_mutex_unlock(&lock);
}

/* ---- reading ---- */

/* What the message may be that a probe has found. */
static enum form form_of(MPI_Comm comm, const MPI_Status *status)
{
    const MPI_Count bytes = tutti_received(status);
    if (tutti_endpoint && bytes == TUTTI_RTS_BYTES) {
        const int peer = tutti_endpoints_peer(comm, status->MPI_SOURCE);
        return peer >= 0 && tutti_endpoint_announces(tutti_endpoint, peer, status->MPI_TAG) ? RTS : PLAIN;
    }
    if (tutti_far_on && bytes == TUTTI_FAR_RTS_BYTES) {
        const int world = tutti_endpoints_world(comm, status->MPI_SOURCE);
        return world >= 0 && tutti_node_find(tutti_door.node, world) < 0 ? FAR_RTS : PLAIN;
    }
    return PLAIN;
}

static int text_bytes(enum form form)
{
    return form == RTS ? TUTTI_RTS_BYTES : form == FAR_RTS ? TUTTI_FAR_RTS_BYTES : 0;
}

/* For a message that a matched probe has found. NULL without memory. */
static struct tutti_held *new_held(MPI_Comm comm, MPI_Message message, const MPI_Status *status)
{
    const enum form form = form_of(comm, status);
    struct tutti_held *held = calloc(1, sizeof *held + (size_t)text_bytes(form));
    if (!held)
        return NULL;
    held->comm = comm;
    held->message = message;
    held->status = *status;
    held->form = form;
    tutti_next.MPI_Status_set_cancelled(&held->status, 0);
    return held;
}

/* The text has been received. */
static void interpret(struct tutti_held *held)
{
    struct tutti_rts_head rts;
    struct tutti_pipelined_rts far_rts;
    uint64_t key[2], bytes = 0;
    if (held->form == RTS) {
        memcpy(&rts, held->text, sizeof rts);
        tutti_node_key(tutti_door.node, key);
        const int is = memcmp(rts.key, key, sizeof key) == 0;
        held->number = is ? rts.number : TUTTI_RNDVS;
        held->sequence = is ? rts.sequence : 0;
        bytes = is ? rts.bytes : 0;
        tutti_endpoint_unhold(tutti_endpoint, held->peer, held->number, held->sequence);
    } else {
        memcpy(&far_rts, held->text, sizeof far_rts);
        bytes = tutti_far_is_rts(&far_rts) ? far_rts.bytes : 0;
    }
    if (bytes > 0)
        tutti_next.MPI_Status_set_elements_x(&held->status, tutti_handles.byte, (MPI_Count)bytes);
}

/* Advances the reading of a possible RTS, with `wait` to its end. 1: it is known what it is; 0: not yet; negative:
 * the message is lost. */
static int read_on(struct tutti_held *held, int wait)
{
    int flag = 1;
    if (held->form == PLAIN || held->state == READ)
        return 1;
    if (held->state == WHOLE) {
        if (held->form == RTS) {
            held->peer = tutti_endpoints_peer(held->comm, held->status.MPI_SOURCE);
            tutti_endpoint_hold(tutti_endpoint, held->peer, held->status.MPI_TAG);
        }
        if (tutti_held_imrecv(held->text, text_bytes(held->form), tutti_handles.byte, &held->message, &held->request) !=
            MPI_SUCCESS)
            return -1;
        held->state = READING;
    }
    if (wait ? tutti_next.MPI_Wait(&held->request, MPI_STATUS_IGNORE) != MPI_SUCCESS
             : tutti_next.MPI_Test(&held->request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return -1;
    if (!flag)
        return 0;
    interpret(held);
    if (tutti_self_inject(held->text, text_bytes(held->form), &held->message, &held->request) != 0)
        return -1;
    held->state = READ;
    return 1;
}

/* ---- probing; the gate is shut ---- */

static int lost(MPI_Comm comm)
{
    tutti_error("a message that a probe has found is lost: out of memory, or the MPI has failed");
    return tutti_fail_comm(comm, MPI_ERR_NO_MEM);
}

/* Takes the messages of the source out of the MPI, up to the one with this tag. An MPI code. */
static int take_out(int source, int tag, MPI_Comm comm)
{
    MPI_Message message;
    MPI_Status status;
    int flag = 0;
    do {
        int code = tutti_next.MPI_Improbe(source, MPI_ANY_TAG, comm, &flag, &message, &status);
        if (code != MPI_SUCCESS || !flag)
            return code;
        struct tutti_held *held = new_held(comm, message, &status);
        if (!held)
            return lost(comm);
        put(&list, held);
    } while (status.MPI_TAG != tag);
    return MPI_SUCCESS;
}

/* The program owns MPI_ERROR. */
static void show(const MPI_Status *from, MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    const int error = status->MPI_ERROR;
    *status = *from;
    status->MPI_ERROR = error;
}

/* Returns a message of the list to a probe. */
static int found(struct tutti_held *held, int *flag, MPI_Message *message, MPI_Status *status)
{
    const int known = read_on(held, 0);
    if (known < 0) {
        take(held);
        return lost(held->comm);
    }
    *flag = known;
    if (!known)
        return MPI_SUCCESS;
    show(&held->status, status);
    if (message) {
        *message = held->message;
        take(held);
        if (held->state == READ)
            put(&given, held);
        else
            free(held);
    }
    return MPI_SUCCESS;
}

static int probe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        struct tutti_held *held = find(source, tag, comm); /* none can be claimed: the gate is shut */
        pthread_mutex_unlock(&lock);
        MPI_Status there;
        if (held)
            return found(held, flag, message, status);
        int code = tutti_next.MPI_Iprobe(source, tag, comm, flag, &there);
        if (code != MPI_SUCCESS || !*flag)
            return code;
        const enum form form = form_of(comm, &there);
        if (form == PLAIN && message) /* another thread may have received it */
            code = tutti_next.MPI_Improbe(there.MPI_SOURCE, there.MPI_TAG, comm, flag, message, &there);
        if (form == PLAIN) {
            if (code == MPI_SUCCESS && *flag) {
                if (tutti_quirks.probe_keeps_cancelled)
                    tutti_next.MPI_Status_set_cancelled(&there, 0);
                show(&there, status);
            }
            return code;
        }
        *flag = 0;
        code = take_out(there.MPI_SOURCE, there.MPI_TAG, comm);
        if (code != MPI_SUCCESS)
            return code;
    }
}

int tutti_held_probe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    TUTTI_INSIDE();
    if (tutti_door.multiple) {
        atomic_store(&tutti_held_guards, 1);
        pthread_rwlock_wrlock(&gate);
    }
    int code = probe(source, tag, comm, flag, message, status);
    if (tutti_door.multiple)
        pthread_rwlock_unlock(&gate);
    return code;
}

/* ---- receiving ---- */

MPI_Message *tutti_held_message(struct tutti_held *held)
{
    if (held->state == READING)
        read_on(held, 1);
    return &held->message;
}

int tutti_held_begun(struct tutti_held *held)
{
    take(held);
    if (held->state != READ) {
        free(held);
        return 0;
    }
    if (held->form == RTS && held->number < TUTTI_RNDVS && tutti_endpoint)
        tutti_endpoint_received(tutti_endpoint, held->peer, held->number, held->sequence);
    return 1;
}

void tutti_held_show(const struct tutti_held *held, MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = held->status.MPI_SOURCE;
    status->MPI_TAG = held->status.MPI_TAG;
}

void tutti_held_orphan(struct tutti_held *held)
{
    pthread_mutex_lock(&lock);
    held->next = orphans;
    orphans = held;
    pthread_mutex_unlock(&lock);
}

int tutti_held_end(struct tutti_held *held, MPI_Status *status, int code)
{
    tutti_held_show(held, status);
    TUTTI_INSIDE();
    tutti_next.MPI_Wait(&held->request, MPI_STATUS_IGNORE); /* for a received message to this process */
    if (code != MPI_SUCCESS)
        code = tutti_fail_comm(held->comm, code);
    free(held);
    return code;
}

/* ---- */

/* Messages that were not received are lost with the communicator; receiving them would hide the program's error. */
void tutti_held_forget(MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    for (struct tutti_held **at = &list; *at;) {
        struct tutti_held *held = *at;
        if (held->comm != comm) {
            at = &held->next;
            continue;
        }
        *at = held->next;
        atomic_fetch_sub(&tutti_held_count, 1);
        if (held->state == WHOLE || held->form == PLAIN)
            free(held);
    }
    pthread_mutex_unlock(&lock);
}

void tutti_held_close(void)
{
    pthread_mutex_lock(&lock);
    struct tutti_held **const all[] = {&list, &given, &orphans};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        while (*all[i]) {
            struct tutti_held *held = *all[i];
            *all[i] = held->next;
            free(held);
        }
    }
    pthread_mutex_unlock(&lock);
    atomic_store(&tutti_held_count, 0);
    atomic_store(&tutti_held_guards, 0);
}
