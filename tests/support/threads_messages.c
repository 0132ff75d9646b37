#include "support/threads_messages.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"

enum { SMALL = 4096 }; /* bytes from which on a send is never done before it is received */

struct message {
    struct message *next;
    int from, tag, to, kept; /* kept: `memory` is this message's own, and the send is done */
    const void *memory;
    size_t bytes;
    int matched, received; /* received: `memory` is not read any more */
    int sent;              /* the send is done: nobody but the receive knows the message */
};

/* What a transfer stands for. */
struct transfer {
    struct transfer *next;   /* among the receives of the rank that wait */
    struct message *message; /* of a send, or of a receive that has been matched */
    int sends, synchronous;
    void *memory;
    size_t room;
    int rank, from, tag;
};

/* A nonblocking collective: what the ranks have brought to it. */
struct gathering {
    struct gathering *next;
    uint64_t number;
    int joined, left;
    char **in;
};
/* One rank's part of it. */
struct joined {
    struct gathering *of;
    enum post_collective what;
    void *out;
    size_t bytes;
    enum tutti_combine how;
};

struct post {
    pthread_mutex_t lock;
    struct gathering *gatherings;
    uint64_t *collectives; /* for each rank, how many it has made */
    uint64_t calls;
    int ranks;
    struct message **come;     /* for each rank those that nobody has taken, in order */
    struct transfer **waiting; /* for each rank its receives that have none, in order */
};

static int fits(int from, int tag, const struct message *message)
{
    return (from == TUTTI_ANY_RANK || from == message->from) && (tag == TUTTI_ANY_TAG || tag == message->tag);
}

/* Something that looks drawn. The lock is held. */
static uint64_t turn(struct post *post)
{
    uint64_t x = ++post->calls * UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    return x * UINT64_C(0xbf58476d1ce4e5b9) >> 33;
}

struct post *post_new(int ranks)
{
    struct post *post = calloc(1, sizeof *post);
    if (!post)
        abort();
    pthread_mutex_init(&post->lock, NULL);
    post->ranks = ranks;
    post->come = calloc((size_t)ranks, sizeof *post->come);
    post->waiting = calloc((size_t)ranks, sizeof *post->waiting);
    post->collectives = calloc((size_t)ranks, sizeof *post->collectives);
    if (!post->come || !post->waiting || !post->collectives)
        abort();
    return post;
}

static void drop(struct message *message)
{
    if (message->kept)
        free((void *)(uintptr_t)message->memory);
    free(message);
}

void post_free(struct post *post)
{
    for (int r = 0; r < post->ranks; r++) {
        while (post->come[r]) {
            struct message *message = post->come[r];
            post->come[r] = message->next;
            drop(message);
        }
        while (post->waiting[r]) {
            struct transfer *transfer = post->waiting[r];
            post->waiting[r] = transfer->next;
            free(transfer);
        }
    }
    free(post->come);
    free(post->waiting);
    free(post->collectives);
    pthread_mutex_destroy(&post->lock);
    free(post);
}

/* Gives the message to the first receive that waits for it, or keeps it for one. The lock is held. */
static void deliver(struct post *post, struct message *message)
{
    struct transfer **at = &post->waiting[message->to];
    while (*at && !fits((*at)->from, (*at)->tag, message))
        at = &(*at)->next;
    if (*at) {
        struct transfer *transfer = *at;
        *at = transfer->next;
        transfer->message = message;
        message->matched = 1;
        return;
    }
    struct message **end = &post->come[message->to];
    while (*end)
        end = &(*end)->next;
    *end = message;
}

int post_send(struct post *post, int from, const void *memory, size_t bytes, int to, int tag, int synchronous,
              struct tutti_transfer *out)
{
    struct message *message = calloc(1, sizeof *message);
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (to < 0 || to >= post->ranks || !message || !transfer)
        abort();
    pthread_mutex_lock(&post->lock);
    *message = (struct message){.from = from, .tag = tag, .to = to, .memory = memory, .bytes = bytes};
    if (bytes <= SMALL && turn(post) % 2) {
        void *copy = malloc(bytes + 1);
        if (!copy)
            abort();
        memcpy(copy, memory, bytes);
        message->memory = copy;
        message->kept = 1;
    }
    *transfer = (struct transfer){.message = message, .sends = 1, .synchronous = synchronous};
    deliver(post, message);
    pthread_mutex_unlock(&post->lock);
    out->handle = (uintptr_t)transfer;
    return TUTTI_OK;
}

int post_receive(struct post *post, int rank, void *memory, size_t room, int from, int tag, struct tutti_transfer *out)
{
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer)
        abort();
    *transfer = (struct transfer){.memory = memory, .room = room, .rank = rank, .from = from, .tag = tag};
    pthread_mutex_lock(&post->lock);
    struct message **at = &post->come[rank];
    while (*at && !fits(from, tag, *at))
        at = &(*at)->next;
    if (*at) {
        transfer->message = *at;
        *at = (*at)->next;
        transfer->message->matched = 1;
    } else {
        struct transfer **end = &post->waiting[rank];
        while (*end)
            end = &(*end)->next;
        *end = transfer;
    }
    pthread_mutex_unlock(&post->lock);
    out->handle = (uintptr_t)transfer;
    return TUTTI_OK;
}

int post_probe(struct post *post, int rank, int from, int tag, struct tutti_caught *out, int *flag)
{
    pthread_mutex_lock(&post->lock);
    struct message **at = &post->come[rank];
    while (*at && !fits(from, tag, *at))
        at = &(*at)->next;
    struct message *found = *at;
    *flag = found && turn(post) % 4 != 0;
    if (*flag) {
        *at = found->next;
        found->matched = 1;
        *out = (struct tutti_caught){(uintptr_t)found, {found->from, found->tag, found->bytes}};
    }
    pthread_mutex_unlock(&post->lock);
    return TUTTI_OK;
}

int post_receive_caught(struct post *post, struct tutti_caught *caught, void *memory, size_t room,
                        struct tutti_transfer *out)
{
    struct transfer *transfer = calloc(1, sizeof *transfer);
    (void)post;
    if (!transfer)
        abort();
    *transfer = (struct transfer){.memory = memory, .room = room, .message = (struct message *)caught->handle};
    caught->handle = 0;
    out->handle = (uintptr_t)transfer;
    return TUTTI_OK;
}

/* The side that comes second ends the message. The lock is held. */
static void leave(struct message *message, int *side)
{
    *side = 1;
    if (message->sent && message->received)
        drop(message);
}

static int test_send(struct post *post, struct transfer *transfer)
{
    struct message *message = transfer->message;
    const int free_to_go = message->kept || message->received;
    if (!free_to_go || (transfer->synchronous && !message->matched) || turn(post) % 4 == 0)
        return 0;
    leave(message, &message->sent);
    return 1;
}

int post_test(struct post *post, struct tutti_transfer *handle, struct tutti_transfer_status *came, int *done)
{
    struct transfer *transfer = (struct transfer *)handle->handle;
    int status = TUTTI_OK;
    pthread_mutex_lock(&post->lock);
    *done = 0;
    if (transfer->sends) {
        *done = test_send(post, transfer);
    } else if (transfer->message && turn(post) % 4 != 0) {
        struct message *message = transfer->message;
        *done = 1;
        if (came)
            *came = (struct tutti_transfer_status){message->from, message->tag, message->bytes};
        if (message->bytes <= transfer->room)
            memcpy(transfer->memory, message->memory, message->bytes);
        else
            status = TUTTI_ERR_TRANSPORT;
        leave(message, &message->received);
    }
    pthread_mutex_unlock(&post->lock);
    if (*done) {
        free(transfer);
        handle->handle = 0;
    }
    return status;
}

int post_cancel(struct post *post, struct tutti_transfer *handle, int *cancelled)
{
    struct transfer *transfer = (struct transfer *)handle->handle;
    pthread_mutex_lock(&post->lock);
    *cancelled = !transfer->sends && !transfer->message;
    if (*cancelled) {
        struct transfer **at = &post->waiting[transfer->rank];
        while (*at != transfer)
            at = &(*at)->next;
        *at = transfer->next;
    }
    pthread_mutex_unlock(&post->lock);
    if (*cancelled) {
        free(transfer);
        handle->handle = 0;
    }
    return TUTTI_OK;
}

/* ---- nonblocking collectives ---- */

int64_t post_combine(int64_t a, int64_t b, enum tutti_combine how)
{
    return (how == TUTTI_COMBINE_MIN) == (a < b) ? a : b;
}

/* The one of this number; the lock is held. */
static struct gathering *gathering_of(struct post *post, uint64_t number)
{
    struct gathering **at = &post->gatherings;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    if (!*at) {
        *at = calloc(1, sizeof **at);
        if (!*at || !((*at)->in = calloc((size_t)post->ranks, sizeof *(*at)->in)))
            abort();
        (*at)->number = number;
    }
    return *at;
}

int post_collect(struct post *post, int rank, enum post_collective what, const void *in, void *out, size_t bytes,
                 enum tutti_combine how, struct tutti_pending *pending)
{
    struct joined *joined = calloc(1, sizeof *joined);
    char *copy = malloc(bytes + 1);
    if (!joined || !copy)
        abort();
    if (bytes > 0)
        memcpy(copy, in, bytes);
    pthread_mutex_lock(&post->lock);
    struct gathering *of = gathering_of(post, post->collectives[rank]++);
    of->in[rank] = copy;
    of->joined++;
    *joined = (struct joined){of, what, out, bytes, how};
    pthread_mutex_unlock(&post->lock);
    pending->handle = (uintptr_t)joined;
    return TUTTI_OK;
}

/* All ranks have brought theirs. */
static void deliver_collective(const struct joined *joined, int ranks)
{
    for (int r = 0; r < ranks && joined->bytes > 0; r++) {
        const char *in = joined->of->in[r];
        if (joined->what == POST_WORDS && r > 0) {
            for (size_t i = 0; i < joined->bytes / sizeof(int64_t); i++) {
                int64_t *word = (int64_t *)joined->out + i, theirs;
                memcpy(&theirs, in + i * sizeof theirs, sizeof theirs);
                *word = post_combine(*word, theirs, joined->how);
            }
        } else if (joined->what == POST_WORDS) {
            memcpy(joined->out, in, joined->bytes);
        } else {
            memcpy((char *)joined->out + (size_t)r * joined->bytes, in, joined->bytes);
        }
    }
}

/* The last one to leave frees it; the lock is held. */
static void leave_gathering(struct post *post, struct gathering *of)
{
    struct gathering **at = &post->gatherings;
    if (++of->left < post->ranks)
        return;
    while (*at != of)
        at = &(*at)->next;
    *at = of->next;
    for (int r = 0; r < post->ranks; r++)
        free(of->in[r]);
    free(of->in);
    free(of);
}

int post_collected(struct post *post, struct tutti_pending *pending, int *done)
{
    struct joined *joined = (struct joined *)pending->handle;
    pthread_mutex_lock(&post->lock);
    *done = joined->of->joined == post->ranks && turn(post) % 4 != 0;
    if (*done) {
        deliver_collective(joined, post->ranks);
        leave_gathering(post, joined->of);
    }
    pthread_mutex_unlock(&post->lock);
    if (*done) {
        free(joined);
        pending->handle = 0;
    }
    return TUTTI_OK;
}
