/* What needs the owner's progress: messages to it in all forms, collectives, accesses of its window. */
#include "waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG = 10, SECONDS = 10, WINDOW = 100000 };

static MPI_Comm comm;
static MPI_Datatype every_other; /* bytes */
static MPI_Win window = MPI_WIN_NULL;
static struct kit_buffer out[WAITS_MOST], in[WAITS_MOST], in_window, source;
static MPI_Request requests[WAITS_MOST];

static struct waits_round *const now = &waits_now;

static MPI_Datatype receive_type(void)
{
    return now->gaps ? every_other : MPI_BYTE;
}

static void *in_open(int i)
{
    const size_t span = (now->gaps ? 2 : 1) * (size_t)now->bytes[i];
    kit_open(&in[i], now->on_device ? KIT_DEVICE : KIT_HOST, span);
    return kit_put(&in[i], 0, NULL, span);
}

static int in_is_right(int i)
{
    const size_t step = now->gaps ? 2 : 1;
    const char *got = kit_get(&in[i], NULL), *want = waits_contents(i, (size_t)now->bytes[i]);
    for (size_t b = 0; b < (size_t)now->bytes[i]; b++) {
        if (got[b * step] != want[b])
            return 0;
    }
    return 1;
}

static void in_close(void)
{
    for (int i = 0; i < now->n; i++) {
        CHECK(in_is_right(i), "wrong bytes in message %d", i);
        kit_close(&in[i]);
    }
}

static void *out_open(int i)
{
    kit_open(&out[i], KIT_DEVICE, (size_t)now->bytes[i]);
    return kit_put(&out[i], 0, waits_contents(i, (size_t)now->bytes[i]), (size_t)now->bytes[i]);
}

static void out_close(int owner)
{
    (void)owner;
    for (int i = 0; i < now->n; i++)
        kit_close(&out[i]);
}

static void requests_complete(void)
{
    MPI_Status statuses[WAITS_MOST];
    for (int done = !now->polls; !done;)
        MPI_Testall(now->n, requests, &done, statuses);
    MPI_Waitall(now->n, requests, statuses);
    for (int i = 0; i < now->n; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]);
    }
}

/* ---- receives that are open ---- */

enum { IRECV, PERSISTENT, WILD, RECEIVES };

static void receives_begin(int peer)
{
    for (int i = 0; i < now->n; i++) {
        void *const at = in_open(i);
        const int from = now->way == WILD ? MPI_ANY_SOURCE : peer;
        if (now->way == PERSISTENT) {
            MPI_Recv_init(at, now->bytes[i], receive_type(), from, TAG + i, comm, &requests[i]);
            MPI_Start(&requests[i]);
        } else {
            MPI_Irecv(at, now->bytes[i], receive_type(), from, TAG + i, comm, &requests[i]);
        }
    }
}

static void persistent_begin(int peer)
{
    now->way = PERSISTENT;
    receives_begin(peer);
}

static void receives_end(int peer)
{
    (void)peer;
    requests_complete();
    in_close();
}

enum { SEND, SSEND, RSEND, BSEND, ISEND, ISSEND, SEND_INIT, SENDRECV, SENDS };

static void send_one(int i, int to)
{
    static char attached[WAITS_ROOM + MPI_BSEND_OVERHEAD];
    void *const at = out_open(i), *detached;
    const int bytes = now->bytes[i], tag = TAG + i;
    int size;
    requests[i] = MPI_REQUEST_NULL;
    switch (now->how) {
    case SSEND:
        MPI_Ssend(at, bytes, MPI_BYTE, to, tag, comm);
        break;
    case RSEND:
        MPI_Rsend(at, bytes, MPI_BYTE, to, tag, comm);
        break;
    case BSEND:
        MPI_Buffer_attach(attached, sizeof attached);
        MPI_Bsend(at, bytes, MPI_BYTE, to, tag, comm);
        MPI_Buffer_detach(&detached, &size);
        break;
    case ISEND:
        MPI_Isend(at, bytes, MPI_BYTE, to, tag, comm, &requests[i]);
        break;
    case ISSEND:
        MPI_Issend(at, bytes, MPI_BYTE, to, tag, comm, &requests[i]);
        break;
    case SEND_INIT:
        MPI_Send_init(at, bytes, MPI_BYTE, to, tag, comm, &requests[i]);
        MPI_Start(&requests[i]);
        break;
    case SENDRECV:
        MPI_Sendrecv(at, bytes, MPI_BYTE, to, tag, NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Send(at, bytes, MPI_BYTE, to, tag, comm);
    }
}

static void sends(int owner)
{
    for (int i = 0; i < now->n; i++)
        send_one(i, owner);
    requests_complete();
}

/* ---- receives that the program has freed ---- */

static void freed_begin(int peer)
{
    receives_begin(peer);
    for (int i = 0; i < now->n; i++)
        MPI_Request_free(&requests[i]);
}

static void freed_end(int peer)
{
    const time_t end = time(NULL) + SECONDS;
    for (int i = 0; i < now->n; i++) {
        while (!in_is_right(i) && time(NULL) < end) {
            int flag;
            MPI_Iprobe(peer, TAG + WAITS_MOST, comm, &flag, MPI_STATUS_IGNORE);
        }
    }
    in_close();
}

/* ---- messages that a probe has found ---- */

static void found_before(int owner)
{
    for (int i = 0; i < now->n; i++) {
        void *const at = out_open(i);
        if (now->how % 3 == 0)
            MPI_Isend(at, now->bytes[i], MPI_BYTE, owner, TAG + i, comm, &requests[i]);
        else if (now->how % 3 == 1)
            MPI_Issend(at, now->bytes[i], MPI_BYTE, owner, TAG + i, comm, &requests[i]);
        else
            MPI_Send_init(at, now->bytes[i], MPI_BYTE, owner, TAG + i, comm, &requests[i]);
        if (now->how % 3 == 2)
            MPI_Start(&requests[i]);
    }
}

static void found_begin(int peer)
{
    for (int i = now->n - 1; i >= 0; i--) {
        MPI_Message message;
        void *const at = in_open(i);
        MPI_Mprobe(peer, TAG + i, comm, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(at, now->bytes[i], receive_type(), &message, &requests[i]);
    }
}

static void found_send(int owner)
{
    (void)owner;
    requests_complete();
}

/* ---- both ranks send to each other before one waits ---- */

static void both_before(int owner)
{
    receives_begin(owner);
}

static void both_begin(int peer)
{
    receives_begin(peer);
}

static MPI_Request sent[WAITS_MOST];

static void both_isend(int to)
{
    for (int i = 0; i < now->n; i++) {
        void *const at = out_open(i);
        MPI_Isend(at, now->bytes[i], MPI_BYTE, to, TAG + i, comm, &sent[i]);
    }
}

static void both_begin_and_send(int peer)
{
    both_begin(peer);
    both_isend(peer);
}

static void both_send(int owner)
{
    MPI_Status statuses[WAITS_MOST];
    both_isend(owner);
    if (now->how % 2)
        requests_complete(); /* the owner's sends need its progress too */
    MPI_Waitall(now->n, sent, statuses);
}

static void both_end(int peer)
{
    MPI_Status statuses[WAITS_MOST];
    MPI_Waitall(now->n, sent, statuses);
    receives_end(peer);
    out_close(peer);
}

static void both_after(int owner)
{
    if (now->how % 2 == 0)
        requests_complete();
    in_close();
    out_close(owner);
}

/* ---- collectives ---- */

enum { ALLREDUCE, BCAST, ALLTOALL, ALLGATHER, REDUCE, SCATTERV, COLLECTIVES };

static MPI_Request collective;

/* The root is the other rank than this one of the owner's, in half of the rounds. */
static void collective_begin(int other)
{
    (void)other;
    const int words = now->bytes[0] / 8 + 1, root = now->how % 2 ? now->owner : 1 - now->owner;
    const enum kit_kind kind = now->on_device || now->way == BCAST ? KIT_DEVICE : kit_rank ? KIT_HOST : KIT_DEVICE;
    const size_t bytes = 2 * (size_t)words * sizeof(int);
    static int data[WAITS_ROOM / 2];
    for (int w = 0; w < 2 * words; w++)
        data[w] = w % 1000 + 1000 * kit_rank;
    kit_open(&in[0], kind, bytes);
    kit_open(&out[0], kind, bytes);
    void *const from = kit_put(&out[0], 0, data, bytes), *const to = kit_put(&in[0], 0, NULL, bytes);
    const int counts[2] = {words, words}, displs[2] = {0, words};
    switch (now->way) {
    case ALLREDUCE:
        MPI_Iallreduce(from, to, words, MPI_INT, MPI_SUM, comm, &collective);
        break;
    case BCAST:
        MPI_Ibcast(kit_rank == root ? from : to, words, MPI_INT, root, comm, &collective);
        break;
    case ALLTOALL:
        MPI_Ialltoall(from, words, MPI_INT, to, words, MPI_INT, comm, &collective);
        break;
    case ALLGATHER:
        MPI_Iallgather(from, words, MPI_INT, to, words, MPI_INT, comm, &collective);
        break;
    case REDUCE:
        MPI_Ireduce(from, to, words, MPI_INT, MPI_SUM, root, comm, &collective);
        break;
    default:
        MPI_Iscatterv(from, counts, displs, MPI_INT, to, words, MPI_INT, root, comm, &collective);
    }
}

static int collective_value(int w, int words, int root, int *is)
{
    *is = 1;
    switch (now->way) {
    case ALLREDUCE:
        *is = w < words;
        return 2 * (w % 1000) + 1000;
    case BCAST:
        *is = w < words && kit_rank != root;
        return w % 1000 + 1000 * root;
    case ALLTOALL:
        return (w % words + words * kit_rank) % 1000 + 1000 * (w / words);
    case ALLGATHER:
        return w % words % 1000 + 1000 * (w / words);
    case REDUCE:
        *is = w < words && kit_rank == root;
        return 2 * (w % 1000) + 1000;
    default:
        *is = w < words;
        return (w + words * kit_rank) % 1000 + 1000 * root;
    }
}

static void collective_complete(void)
{
    for (int done = !now->polls; !done;)
        MPI_Test(&collective, &done, MPI_STATUS_IGNORE);
    MPI_Wait(&collective, MPI_STATUS_IGNORE);
    const int words = now->bytes[0] / 8 + 1, root = now->how % 2 ? now->owner : 1 - now->owner;
    const int *got = (const void *)kit_get(&in[0], NULL);
    int wrong = 0;
    for (int w = 0, is; w < 2 * words; w++) {
        const int value = collective_value(w, words, root, &is);
        wrong += is && got[w] != value;
    }
    CHECK(wrong == 0, "%d of %d words of a collective are wrong", wrong, words);
    kit_close(&in[0]);
    kit_close(&out[0]);
}

static void collective_send(int owner)
{
    collective_begin(owner);
    collective_complete();
}

static void collective_end(int peer)
{
    (void)peer;
    collective_complete();
}

/* ---- accesses of the owner's window ---- */

static void access_begin(int peer)
{
    (void)peer;
}

static void access_send(int owner)
{
    if (window == MPI_WIN_NULL)
        return;
    const int bytes = now->bytes[0] < WINDOW ? now->bytes[0] : WINDOW;
    void *const at = kit_put(&source, 0, waits_contents(0, (size_t)bytes), (size_t)bytes);
    MPI_Win_lock(now->how % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, owner, 0, window);
    MPI_Put(at, bytes, MPI_BYTE, owner, 0, bytes, MPI_BYTE, window);
    MPI_Win_flush(owner, window);
    void *const back = kit_put(&source, 0, NULL, (size_t)bytes);
    MPI_Get(back, bytes, MPI_BYTE, owner, 0, bytes, MPI_BYTE, window);
    MPI_Win_unlock(owner, window);
    CHECK(memcmp(kit_get(&source, NULL), waits_contents(0, (size_t)bytes), (size_t)bytes) == 0, "wrong bytes got");
}

static void access_end(int peer)
{
    (void)peer;
}

/* ---- */

const struct waits_traffic waits_traffics[] = {
    {"persistent receives", 0, SENDS, NULL, persistent_begin, sends, receives_end, out_close, 0},
    {"receives", RECEIVES, SENDS, NULL, receives_begin, sends, receives_end, out_close, 0},
    {"received by MPI_Imrecv", 0, 3, found_before, found_begin, found_send, receives_end, out_close, 0},
    {"freed receives", RECEIVES, SENDS, NULL, freed_begin, sends, freed_end, out_close, 0},
    {"messages of both", RECEIVES, 2, both_before, both_begin_and_send, both_send, both_end, both_after, 0},
    {"a collective", COLLECTIVES, 2, NULL, collective_begin, collective_send, collective_end, NULL, 1},
    {"a window", 0, 2, NULL, access_begin, access_send, access_end, NULL, 0},
};
const int waits_traffic_count = sizeof waits_traffics / sizeof waits_traffics[0];

void waits_traffic_open(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &every_other);
    MPI_Type_commit(&every_other);
    kit_open(&in_window, KIT_DEVICE, WINDOW);
    kit_open(&source, KIT_DEVICE, WINDOW);
    if (waits_windows != MPI_WIN_NULL)
        MPI_Win_create(kit_put(&in_window, 0, NULL, WINDOW), WINDOW, 1, MPI_INFO_NULL, comm, &window);
}

void waits_traffic_close(void)
{
    if (window != MPI_WIN_NULL)
        MPI_Win_free(&window);
    kit_close(&in_window);
    kit_close(&source);
    MPI_Type_free(&every_other);
    MPI_Comm_free(&comm);
}
