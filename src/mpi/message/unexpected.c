#include "mpi/message/unexpected_own.h"

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

/* What it may be, and after it was read its kind. FEW: the RTS of a message that is shorter than it. */
enum form { PLAIN, RTS, LEAN_RTS, FEW_RTS, FAR_RTS };

struct tutti_unexpected {
    struct tutti_unexpected *next;
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

atomic_int tutti_unexpected_count, tutti_unexpected_guards;
int (*tutti_unexpected_imrecv)(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request);

/* Receives hold it as readers, probes as writers; only if the program has several threads. */
static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the lists */
static struct tutti_unexpected *list, *given, *orphans;

int tutti_unexpected_may(void)
{
    if (likely(!tutti_endpoint && !tutti_far_on) || tutti_inside)
        return 0;
    /* While one thread is inside MPI_Probe another one may open an endpoint. */
    return tutti_far_on || tutti_unexpected_on() || tutti_door.multiple || tutti_endpoint_listens(tutti_endpoint);
}

void tutti_unexpected_enter(void)
{
    if (tutti_door.multiple)
        pthread_rwlock_rdlock(&gate);
}

void tutti_unexpected_leave(void)
{
    if (tutti_door.multiple)
        pthread_rwlock_unlock(&gate);
}

/* ---- the lists ---- */

static void unexpected_put(struct tutti_unexpected **at, struct tutti_unexpected *unexpected)
{
    pthread_mutex_lock(&lock);
    while (*at)
        at = &(*at)->next;
    unexpected->next = NULL;
    *at = unexpected;
    atomic_fetch_add(&tutti_unexpected_count, 1);
    pthread_mutex_unlock(&lock);
}

static int take_from(struct tutti_unexpected **at, const struct tutti_unexpected *unexpected)
{
    while (*at && *at != unexpected)
        at = &(*at)->next;
    if (!*at)
        return 0;
    *at = unexpected->next;
    atomic_fetch_sub(&tutti_unexpected_count, 1);
    return 1;
}

static void unexpected_take(struct tutti_unexpected *unexpected)
{
    pthread_mutex_lock(&lock);
    if (!take_from(&list, unexpected))
        take_from(&given, unexpected);
    pthread_mutex_unlock(&lock);
}

/* The lock is held. */
static struct tutti_unexpected *unexpected_find(int source, int tag, MPI_Comm comm)
{
    struct tutti_unexpected *unexpected = list;
    while (unexpected && (unexpected->claimed || unexpected->comm != comm ||
                          (source != MPI_ANY_SOURCE && unexpected->status.MPI_SOURCE != source) ||
                          (tag != MPI_ANY_TAG && unexpected->status.MPI_TAG != tag)))
        unexpected = unexpected->next;
    return unexpected;
}

static struct tutti_unexpected *unexpected_claim(struct tutti_unexpected *unexpected)
{
    if (unexpected)
        unexpected->claimed = 1;
    pthread_mutex_unlock(&lock);
    return unexpected;
}

struct tutti_unexpected *tutti_unexpected_claim(int source, int tag, MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    return unexpected_claim(unexpected_find(source, tag, comm));
}

struct tutti_unexpected *tutti_unexpected_claim_of(MPI_Message message)
{
    pthread_mutex_lock(&lock);
    struct tutti_unexpected *unexpected = given;
    while (unexpected && (unexpected->claimed || unexpected->message != message))
        unexpected = unexpected->next;
    return unexpected_claim(unexpected);
}

void tutti_unexpected_unclaim(struct tutti_unexpected *unexpected)
{
    pthread_mutex_lock(&lock);
    unexpected->claimed = 0;
    pthread_mutex_unlock(&lock);
}

/* ---- reading ---- */

/* What the message may be that a probe has found. */
static enum form form_of(MPI_Comm comm, const MPI_Status *status)
{
    const MPI_Count bytes = tutti_received(status);
    const enum form near = bytes == TUTTI_RTS_BYTES         ? RTS
                           : bytes == TUTTI_LEAN_RTS_BYTES  ? LEAN_RTS
                           : bytes == TUTTI_SHORT_RTS_LEAST ? FEW_RTS
                                                            : PLAIN;
    if (tutti_endpoint && near != PLAIN && (near != FEW_RTS || tutti_endpoint_shorts(tutti_endpoint))) {
        const int peer = tutti_endpoints_peer(comm, status->MPI_SOURCE);
        const uint64_t most = near == FEW_RTS ? TUTTI_SHORT_RTS_LEAST - 1 : UINT64_MAX;
        return peer >= 0 && tutti_endpoint_announces(tutti_endpoint, peer, status->MPI_TAG, most) ? near : PLAIN;
    }
    if (tutti_far_on && bytes == TUTTI_FAR_RTS_BYTES) {
        const int world = tutti_endpoints_world(comm, status->MPI_SOURCE);
        return world >= 0 && tutti_node_find(tutti_door.node, world) < 0 ? FAR_RTS : PLAIN;
    }
    return PLAIN;
}

static int unexpected_is_near(const struct tutti_unexpected *unexpected)
{
    return unexpected->form != PLAIN && unexpected->form != FAR_RTS;
}

static int text_bytes(enum form form)
{
    static const int bytes[] = {[RTS] = TUTTI_RTS_BYTES,
                                [LEAN_RTS] = TUTTI_LEAN_RTS_BYTES,
                                [FEW_RTS] = TUTTI_SHORT_RTS_LEAST,
                                [FAR_RTS] = TUTTI_FAR_RTS_BYTES};
    return bytes[form];
}

/* For a message that a matched probe has found. NULL without memory. */
static struct tutti_unexpected *unexpected_new(MPI_Comm comm, MPI_Message message, const MPI_Status *status)
{
    const enum form form = form_of(comm, status);
    struct tutti_unexpected *unexpected = calloc(1, sizeof *unexpected + (size_t)text_bytes(form));
    if (!unexpected)
        return NULL;
    unexpected->comm = comm;
    unexpected->message = message;
    unexpected->status = *status;
    unexpected->form = form;
    tutti_next.MPI_Status_set_cancelled(&unexpected->status, 0);
    return unexpected;
}

/* 1 if the text is an RTS of a rank of the node. */
static int is_near_rts(const struct tutti_unexpected *unexpected, struct tutti_rts_head *rts)
{
    uint64_t key[2];
    if (unexpected->form != FEW_RTS) {
        memcpy(rts, unexpected->text, sizeof *rts);
        tutti_node_key(tutti_door.node, key);
        if (memcmp(rts->key, key, sizeof key) == 0)
            return 1;
    }
    return unexpected->form != RTS && tutti_short_rts_read(&tutti_p2p, unexpected->status.MPI_TAG, unexpected->text,
                                                           (size_t)text_bytes(unexpected->form), rts);
}

/* The text has been received. */
static void unexpected_interpret(struct tutti_unexpected *unexpected)
{
    struct tutti_rts_head rts;
    struct tutti_pipelined_rts far_rts;
    uint64_t bytes = 0;
    if (unexpected_is_near(unexpected)) {
        const int is = is_near_rts(unexpected, &rts);
        unexpected->number = is ? rts.number : TUTTI_RNDVS;
        unexpected->sequence = is ? rts.sequence : 0;
        bytes = is ? rts.bytes : 0;
        tutti_endpoint_unhold(tutti_endpoint, unexpected->peer, unexpected->number, unexpected->sequence);
    } else {
        memcpy(&far_rts, unexpected->text, sizeof far_rts);
        bytes = tutti_far_is_rts(&far_rts) ? far_rts.bytes : 0;
    }
    if (bytes > 0)
        tutti_next.MPI_Status_set_elements_x(&unexpected->status, tutti_handles.byte, (MPI_Count)bytes);
}

/* Advances the reading of a possible RTS, with `wait` to its end. 1: its kind is known; 0: not yet; negative:
 * the message is lost. */
static int read_on(struct tutti_unexpected *unexpected, int wait)
{
    int flag = 1;
    if (unexpected->form == PLAIN || unexpected->state == READ)
        return 1;
    if (unexpected->state == WHOLE) {
        if (unexpected_is_near(unexpected)) {
            unexpected->peer = tutti_endpoints_peer(unexpected->comm, unexpected->status.MPI_SOURCE);
            tutti_endpoint_hold(tutti_endpoint, unexpected->peer, unexpected->status.MPI_TAG);
        }
        if (tutti_unexpected_imrecv(unexpected->text, text_bytes(unexpected->form), tutti_handles.byte,
                                    &unexpected->message, &unexpected->request) != MPI_SUCCESS)
            return -1;
        unexpected->state = READING;
    }
    if (wait ? tutti_next.MPI_Wait(&unexpected->request, MPI_STATUS_IGNORE) != MPI_SUCCESS
             : tutti_next.MPI_Test(&unexpected->request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return -1;
    if (!flag)
        return 0;
    unexpected_interpret(unexpected);
    if (tutti_self_inject(unexpected->text, text_bytes(unexpected->form), &unexpected->message, &unexpected->request) !=
        0)
        return -1;
    unexpected->state = READ;
    return 1;
}

/* ---- probing; the gate is shut ---- */

static int unexpected_lost(MPI_Comm comm)
{
    tutti_error("a message that a probe has found is lost: out of memory, or the MPI has failed");
    return tutti_fail_comm(comm, MPI_ERR_NO_MEM);
}

/* Takes the messages of the source out of the MPI, up to the one with this tag. An MPI code. */
static int unexpected_take_out(int source, int tag, MPI_Comm comm)
{
    MPI_Message message;
    MPI_Status status;
    int flag = 0;
    do {
        int code = tutti_next.MPI_Improbe(source, MPI_ANY_TAG, comm, &flag, &message, &status);
        if (code != MPI_SUCCESS || !flag)
            return code;
        struct tutti_unexpected *unexpected = unexpected_new(comm, message, &status);
        if (!unexpected)
            return unexpected_lost(comm);
        unexpected_put(&list, unexpected);
    } while (status.MPI_TAG != tag);
    return MPI_SUCCESS;
}

/* The program owns MPI_ERROR. */
static void status_show(const MPI_Status *from, MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    const int error = status->MPI_ERROR;
    *status = *from;
    status->MPI_ERROR = error;
}

/* Returns a message of the list to a probe. */
static int unexpected_found(struct tutti_unexpected *unexpected, int *flag, MPI_Message *message, MPI_Status *status)
{
    const int known = read_on(unexpected, 0);
    if (known < 0) {
        unexpected_take(unexpected);
        return unexpected_lost(unexpected->comm);
    }
    *flag = known;
    if (!known)
        return MPI_SUCCESS;
    status_show(&unexpected->status, status);
    if (message) {
        *message = unexpected->message;
        unexpected_take(unexpected);
        if (unexpected->state == READ)
            unexpected_put(&given, unexpected);
        else
            free(unexpected);
    }
    return MPI_SUCCESS;
}

static int unexpected_probe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        struct tutti_unexpected *unexpected =
            unexpected_find(source, tag, comm); /* none can be claimed: the gate is shut */
        pthread_mutex_unlock(&lock);
        MPI_Status there;
        if (unexpected)
            return unexpected_found(unexpected, flag, message, status);
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
                status_show(&there, status);
            }
            return code;
        }
        *flag = 0;
        code = unexpected_take_out(there.MPI_SOURCE, there.MPI_TAG, comm);
        if (code != MPI_SUCCESS)
            return code;
    }
}

int tutti_unexpected_probe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    TUTTI_INSIDE();
    if (tutti_door.multiple) {
        atomic_store(&tutti_unexpected_guards, 1);
        pthread_rwlock_wrlock(&gate);
    }
    int code = unexpected_probe(source, tag, comm, flag, message, status);
    if (tutti_door.multiple)
        pthread_rwlock_unlock(&gate);
    return code;
}

/* ---- receiving ---- */

MPI_Message *tutti_unexpected_message(struct tutti_unexpected *unexpected)
{
    if (unexpected->state == READING)
        read_on(unexpected, 1);
    return &unexpected->message;
}

int tutti_unexpected_begun(struct tutti_unexpected *unexpected)
{
    unexpected_take(unexpected);
    if (unexpected->state != READ) {
        free(unexpected);
        return 0;
    }
    if (unexpected_is_near(unexpected) && unexpected->number < TUTTI_RNDVS && tutti_endpoint)
        tutti_endpoint_received(tutti_endpoint, unexpected->peer, unexpected->number, unexpected->sequence);
    return 1;
}

void tutti_unexpected_show(const struct tutti_unexpected *unexpected, MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = unexpected->status.MPI_SOURCE;
    status->MPI_TAG = unexpected->status.MPI_TAG;
}

void tutti_unexpected_orphan(struct tutti_unexpected *unexpected)
{
    pthread_mutex_lock(&lock);
    unexpected->next = orphans;
    orphans = unexpected;
    pthread_mutex_unlock(&lock);
}

int tutti_unexpected_end(struct tutti_unexpected *unexpected, MPI_Status *status, int code)
{
    tutti_unexpected_show(unexpected, status);
    TUTTI_INSIDE();
    tutti_next.MPI_Wait(&unexpected->request, MPI_STATUS_IGNORE); /* for a received message to this process */
    if (code != MPI_SUCCESS)
        code = tutti_fail_comm(unexpected->comm, code);
    free(unexpected);
    return code;
}

/* ---- */

/* Messages that were not received are lost with the communicator; receiving them would hide the program's error. */
void tutti_unexpected_forget(MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    for (struct tutti_unexpected **at = &list; *at;) {
        struct tutti_unexpected *unexpected = *at;
        if (unexpected->comm != comm) {
            at = &unexpected->next;
            continue;
        }
        *at = unexpected->next;
        atomic_fetch_sub(&tutti_unexpected_count, 1);
        if (unexpected->state == WHOLE || unexpected->form == PLAIN)
            free(unexpected);
    }
    pthread_mutex_unlock(&lock);
}

void tutti_unexpected_close(void)
{
    pthread_mutex_lock(&lock);
    struct tutti_unexpected **const all[] = {&list, &given, &orphans};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        while (*all[i]) {
            struct tutti_unexpected *unexpected = *all[i];
            *all[i] = unexpected->next;
            free(unexpected);
        }
    }
    pthread_mutex_unlock(&lock);
    atomic_store(&tutti_unexpected_count, 0);
    atomic_store(&tutti_unexpected_guards, 0);
}
