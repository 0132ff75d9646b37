/* What both sides of messages in chunks share, and word of mails for probes. */
#include "mpi/far_own.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "mpi/requests.h"

enum { GPUS = 64, KEPT_BYTES = 64 << 20, WORD_NS = 200000000 };

int tutti_far_on;
atomic_int tutti_far_moving, tutti_far_heard;
pthread_mutex_t tutti_far_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct tutti_far_piece *pieces;
static size_t kept;
static struct tutti_stream *streams[GPUS][2];
static uint64_t key[2];

/* Word of mails that have not been received yet; or (gone) of those that were, before word of them came. */
static struct heard {
    struct heard *next;
    int source, tag, gone;
    uint64_t sequence, bytes;
} * heard;
/* Ranks and tags of which messages as long as mails are no mails: whoever has sent one sends no mail by that tag. */
enum { PLAIN = 64 };
static struct plain {
    int source, tag;
} plain[PLAIN];
static unsigned plains;

void tutti_far_open(void)
{
    enum { NOT, KEY, WORDS = 3 };
    int64_t mine[WORDS] = {tutti_door.aware, 0, 0}, all[WORDS];
    uint64_t drawn[2];
    int size = 1;
    tutti_real.MPI_Comm_size(tutti_handles.world, &size);
    if (tutti_node_size(tutti_door.node) == size) /* so it is for all */
        return;
    tutti_node_key(tutti_door.node, drawn);
    if (tutti_door.rank == 0) {
        mine[KEY] = (int64_t)(drawn[0] >> 1);
        mine[KEY + 1] = (int64_t)(drawn[1] >> 1);
    }
    if (tutti_real.MPI_Allreduce(mine, all, WORDS, tutti_handles.int64, tutti_handles.max, tutti_handles.world) !=
            MPI_SUCCESS ||
        all[NOT])
        return;
    key[0] = (uint64_t)all[KEY];
    key[1] = (uint64_t)all[KEY + 1];
    tutti_far_on = 1;
}

void tutti_far_close(int alive)
{
    while (pieces) {
        struct tutti_far_piece *piece = pieces;
        pieces = piece->next;
        if (alive) {
            tutti_door.device->event_destroy(piece->event);
            tutti_door.device->free_pinned(piece->memory);
        }
        free(piece);
    }
    kept = 0;
    for (int g = 0; g < GPUS; g++) {
        for (int d = 0; d < 2; d++) {
            if (streams[g][d] && alive)
                tutti_door.device->stream_destroy(streams[g][d]);
            streams[g][d] = NULL;
        }
    }
    while (heard) {
        struct heard *one = heard;
        heard = one->next;
        free(one);
    }
    tutti_far_on = 0;
}

/* ---- moving ---- */

int tutti_far_gpu(const struct tutti_places *places)
{
    int gpu = places->gpu;
    if (gpu < 0 && tutti_door.device->current(&gpu) != TUTTI_OK)
        gpu = -1;
    return gpu < 0 || gpu >= GPUS ? 0 : gpu;
}

static struct tutti_far_piece *new_piece(size_t bytes, int gpu)
{
    struct tutti_far_piece *piece = calloc(1, sizeof *piece);
    if (!piece)
        return NULL;
    piece->gpu = gpu;
    piece->room = bytes;
    if (tutti_door.device->alloc_pinned(bytes, &piece->memory) != TUTTI_OK) {
        free(piece);
        return NULL;
    }
    if (tutti_door.device->event_create(gpu, &piece->event) != TUTTI_OK) {
        tutti_door.device->free_pinned(piece->memory);
        free(piece);
        return NULL;
    }
    return piece;
}

struct tutti_far_piece *tutti_far_piece_take(size_t bytes, int gpu)
{
    const size_t usual = (size_t)tutti_settings()->message_chunk;
    pthread_mutex_lock(&lock);
    struct tutti_far_piece **at = &pieces, *found = NULL;
    while (*at && ((*at)->gpu != gpu || (*at)->room < bytes))
        at = &(*at)->next;
    if ((found = *at) != NULL) {
        *at = found->next;
        kept -= found->room;
    }
    pthread_mutex_unlock(&lock);
    return found ? found : new_piece(bytes < usual ? usual : bytes, gpu);
}

void tutti_far_piece_give(struct tutti_far_piece *piece)
{
    pthread_mutex_lock(&lock);
    const int keeps = kept + piece->room <= KEPT_BYTES;
    if (keeps) {
        piece->next = pieces;
        pieces = piece;
        kept += piece->room;
    }
    pthread_mutex_unlock(&lock);
    if (keeps)
        return;
    tutti_door.device->event_destroy(piece->event);
    tutti_door.device->free_pinned(piece->memory);
    free(piece);
}

int tutti_far_stream(int gpu, enum tutti_direction direction, struct tutti_stream **out)
{
    int status = TUTTI_OK;
    pthread_mutex_lock(&lock);
    struct tutti_stream **at = &streams[gpu][direction == TUTTI_UNPACK];
    if (!*at)
        status = tutti_door.device->stream_create(gpu, at);
    *out = *at;
    pthread_mutex_unlock(&lock);
    return status;
}

int tutti_far_move(enum tutti_direction direction, int gpu, const struct tutti_plan *plan, MPI_Count count,
                   const void *buffer, int whole, uint64_t first, uint64_t bytes, struct tutti_far_piece *piece)
{
    struct tutti_stream *stream;
    int status = tutti_far_stream(gpu, direction, &stream);
    if (status != TUTTI_OK)
        return status;
    char *run = (char *)(uintptr_t)buffer + plan->true_lower + first;
    if (whole && direction == TUTTI_PACK) {
        status = tutti_door.device->copy(stream, piece->memory, run, bytes);
    } else if (whole) {
        status = tutti_door.device->copy(stream, run, piece->memory, bytes);
    } else {
        const struct tutti_pack_job job = {.direction = direction,
                                           .plan = plan,
                                           .count = (uint64_t)count,
                                           .memory = (void *)(uintptr_t)buffer,
                                           .packed = piece->memory,
                                           .first = first,
                                           .bytes = bytes};
        status = tutti_pack_enqueue(stream, gpu, &job, 1);
    }
    return status == TUTTI_OK ? tutti_door.device->event_record(piece->event, stream) : status;
}

void tutti_far_poll(void)
{
    if (pthread_mutex_trylock(&tutti_far_lock) != 0)
        return;
    TUTTI_INSIDE();
    tutti_far_reap();
    tutti_far_advance();
    pthread_mutex_unlock(&tutti_far_lock);
}

/* ---- word of mails ---- */

/* The lock is held: takes out what was heard of the mail. */
static struct heard *heard_of(int source, uint64_t sequence)
{
    struct heard **at = &heard;
    while (*at && ((*at)->source != source || (*at)->sequence != sequence))
        at = &(*at)->next;
    struct heard *found = *at;
    if (found)
        *at = found->next;
    return found;
}

/* The lock is held. Takes note of the mail, or that it is gone: whichever comes second removes both. */
static void note(int source, int gone, const struct tutti_far_word *word)
{
    struct heard *before = heard_of(source, word->sequence);
    if (before) {
        free(before);
        return;
    }
    struct heard *one = malloc(sizeof *one), **at = &heard;
    if (!one)
        return;
    *one = (struct heard){NULL, source, word->tag, gone, word->sequence, word->bytes};
    while (*at)
        at = &(*at)->next;
    *at = one;
}

/* The lock is held. Receives what word has come. */
static void listen(void)
{
    struct tutti_far_word word;
    MPI_Message message;
    MPI_Status status;
    int flag = 0;
    while (tutti_real.MPI_Improbe(MPI_ANY_SOURCE, TUTTI_FAR_WORD_TAG, tutti_lane_box, &flag, &message, &status) ==
               MPI_SUCCESS &&
           flag) {
        const int source = status.MPI_SOURCE;
        if (tutti_real.MPI_Mrecv(&word, (int)sizeof word, tutti_handles.byte, &message, &status) != MPI_SUCCESS)
            return;
        atomic_store(&tutti_far_heard, 1);
        note(source, word.bytes == 0, &word);
    }
}

int tutti_far_is_mail(const struct tutti_far_head *head)
{
    if (memcmp(head->key, key, sizeof key) != 0)
        return 0;
    const struct tutti_far_word word = {.sequence = head->sequence};
    TUTTI_INSIDE();
    atomic_store(&tutti_far_heard, 1);
    pthread_mutex_lock(&lock);
    listen();
    note(head->rank, 1, &word);
    pthread_mutex_unlock(&lock);
    return 1;
}

void tutti_far_key(uint64_t out[2])
{
    memcpy(out, key, sizeof key);
}

/* The lock is held. */
static const struct heard *oldest(int source, int tag)
{
    listen();
    for (const struct heard *one = heard; one; one = one->next) {
        if (one->source == source && one->tag == tag && !one->gone)
            return one;
    }
    return NULL;
}

void tutti_far_probed(MPI_Comm comm, MPI_Status *status)
{
    const int source = tutti_lanes_world(comm, status->MPI_SOURCE), tag = status->MPI_TAG;
    const uint64_t limit = tutti_now_ns() + WORD_NS;
    unsigned rounds = 0;
    MPI_Count bytes = 0;
    if (source < 0 || tutti_node_find(tutti_door.node, source) >= 0)
        return;
    TUTTI_INSIDE();
    tutti_pending_look(); /* mails that receives have taken are not what the probe met */
    for (int known = 0; bytes == 0 && !known;) {
        pthread_mutex_lock(&lock);
        const struct heard *one = oldest(source, tag);
        bytes = one ? (MPI_Count)one->bytes : 0;
        for (unsigned i = 0; i < plains && i < PLAIN; i++)
            known |= plain[i].source == source && plain[i].tag == tag;
        if (!one && !known && tutti_now_ns() > limit)
            plain[plains++ % PLAIN] = (struct plain){source, tag};
        pthread_mutex_unlock(&lock);
        if (bytes == 0 && !known)
            tutti_nonblocking_pause(&rounds);
    }
    if (bytes > 0)
        tutti_real.MPI_Status_set_elements_x(status, tutti_handles.byte, bytes);
}
