/* Random exchanges in stream order: all ranks draw the same list of messages; each starts its sends and its receives,
 * in the order of the list, and waits for all of them at once. Where messages are launched together, an exchange of few
 * messages is one launch; a tag that is used twice, a receive with any tag, a blocking message in between or too many
 * messages divide it. */
#include "stream_messages.h"

#include <stdlib.h>
#include <string.h>

#include "tutti/tutti.h"

enum { MOST = 24, TAGS = 6, FIRST_TAG = 90, ROOM = 400000 };

static struct exchange {
    int n, blocking; /* blocking: the first message is sent and received by blocking calls, in the middle; -1: none */
    struct {
        int from, to, tag, any; /* any: the receive names no tag */
        size_t bytes;
        unsigned content;
    } message[MOST];
} x;

static void exchange_draw(uint64_t *random)
{
    static const size_t most[] = {1, 64, 2046, 9000, 70000, ROOM};
    const int anys = random_next(random) % 3 == 0, twice = random_next(random) % 3 == 0;
    x.n = 1 + (int)(random_next(random) % (MOST - 1));
    x.blocking = random_next(random) % 4 == 0 ? (int)(random_next(random) % (unsigned)x.n) : -1;
    for (int i = 0; i < x.n; i++) {
        x.message[i].from = (int)(random_next(random) % (unsigned)kit_size);
        x.message[i].to = (int)(random_next(random) % (unsigned)kit_size);
        x.message[i].tag = FIRST_TAG + (twice ? (int)(random_next(random) % TAGS) : i);
        x.message[i].any = anys && random_next(random) % 4 == 0;
        x.message[i].bytes = random_next(random) % most[random_next(random) % 6];
        x.message[i].content = (unsigned)random_next(random);
        if (x.message[i].from == x.message[i].to && i == x.blocking)
            x.blocking = -1;
    }
}

static void exchange_fill(int number, unsigned char *out)
{
    for (size_t i = 0; i < x.message[number].bytes; i++)
        out[i] = (unsigned char)(x.message[number].content + i * 11 + (i >> 8));
}

/* This rank's half of a message, if it has one. */
static void exchange_put(struct messages *m, int i, int sends, MPI_Request request[], int of[], int *n)
{
    char *const out = m->memory + (size_t)i * ROOM, *const in = m->memory + MESSAGES_MOST + (size_t)i * ROOM;
    const int bytes = (int)x.message[i].bytes, tag = x.message[i].tag;
    if ((sends ? x.message[i].from : x.message[i].to) != kit_rank)
        return;
    if (sends && i == x.blocking) {
        FINE(MPIX_Send_enqueue(out, bytes, MPI_BYTE, x.message[i].to, tag, m->comm));
    } else if (sends) {
        FINE(MPIX_Isend_enqueue(out, bytes, MPI_BYTE, x.message[i].to, tag, m->comm, &request[*n]));
        of[(*n)++] = -1;
    } else if (i == x.blocking) {
        FINE(MPIX_Recv_enqueue(in, bytes, MPI_BYTE, x.message[i].from, tag, m->comm, MPI_STATUS_IGNORE));
    } else {
        FINE(MPIX_Irecv_enqueue(in, bytes, MPI_BYTE, x.message[i].from, x.message[i].any ? MPI_ANY_TAG : tag, m->comm,
                                &request[*n]));
        of[(*n)++] = i;
    }
}

/* Sends and receives each in the order of the list; a blocking message when all before it is started, on both sides. */
static void exchange_run(struct messages *m, uint64_t random, MPI_Status statuses[], int of[], int *n)
{
    MPI_Request request[2 * MOST];
    const int wants = random_next(&random) % 2 == 0;
    for (int sent = 0, received = 0; sent < x.n || received < x.n;) {
        int sends = received == x.n || (sent < x.n && random_next(&random) % 2);
        if (sends ? sent == x.blocking && received < sent : received == x.blocking && sent < received)
            sends = !sends; /* the other half of the message that blocks */
        if (sends)
            exchange_put(m, sent++, 1, request, of, n);
        else
            exchange_put(m, received++, 0, request, of, n);
    }
    FINE(MPIX_Waitall_enqueue(*n, request, wants ? statuses : MPI_STATUSES_IGNORE));
    *n = wants ? *n : 0;
}

static int exchange_check(const MPI_Status statuses[], const int of[], int n, const unsigned char *got,
                          unsigned char *want, long number)
{
    int right = 1;
    for (int i = 0; i < n; i++) {
        if (of[i] >= 0)
            right &= CHECK(
                messages_status(&statuses[i], x.message[of[i]].from, x.message[of[i]].tag, (int)x.message[of[i]].bytes),
                "exchange %ld: the status of message %d is wrong", number, of[i]);
    }
    for (int i = 0; i < x.n && right; i++) {
        exchange_fill(i, want);
        if (x.message[i].to == kit_rank)
            right &= CHECK(memcmp(want, got + (size_t)i * ROOM, x.message[i].bytes) == 0,
                           "exchange %ld: message %d, %zu bytes from %d, tag %d, is wrong", number, i,
                           x.message[i].bytes, x.message[i].from, x.message[i].tag);
    }
    return right;
}

void messages_exchanges(struct messages *m, long exchanges)
{
    uint64_t random = kit_seed;
    unsigned char *host = malloc((size_t)MOST * ROOM), *want = malloc(ROOM);
    static MPI_Status statuses[2 * MOST];
    int of[2 * MOST], right = 1;
    _Static_assert((size_t)MOST * ROOM <= MESSAGES_MOST, "all messages have room");
    for (long number = 0; number < exchanges && right; number++) {
        int n = 0;
        exchange_draw(&random);
        for (int i = 0; i < x.n; i++)
            exchange_fill(i, host + (size_t)i * ROOM);
        CHECK(tutti_copy(m->memory, host, (size_t)x.n * ROOM) == 0, "a copy");
        memset(host, 0, (size_t)x.n * ROOM);
        CHECK(tutti_copy(m->memory + MESSAGES_MOST, host, (size_t)x.n * ROOM) == 0, "a copy");
        memset(statuses, 0x5a, sizeof statuses);
        exchange_run(m, random + 977 * (unsigned)kit_rank, statuses, of, &n);
        CHECK(tutti_stream_sync(m->stream) == 0, "the stream");
        CHECK(tutti_copy(host, m->memory + MESSAGES_MOST, (size_t)x.n * ROOM) == 0, "a copy");
        right = exchange_check(statuses, of, n, host, want, number);
        MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    free(host);
    free(want);
}
