/* Random programs of messages in stream order. All ranks draw the same program: a list of messages, in an order in
 * which plain blocking calls could do them one by one. Each side of a message is blocking or started and waited for
 * later; receives and sends that are started may move forward, past others of other tags. A send may forward what an
 * earlier message has brought, so that a message that arrives too early, too late or through another's memory is found.
 */
#include "stream_messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tutti/tutti.h"

enum { MOST = 40, TAGS = 5, ACTIONS = 4 * MOST };

struct message {
    int from, to, tag, sum; /* sum: no message, but a reduction of all ranks */
    size_t bytes, out, in;  /* places in the senders' and the receivers' memory */
    int forwards;           /* the message whose contents it hands on; -1: new ones */
    unsigned content;
    int started[2]; /* the send, the receive */
};

enum kind { SENDS, RECEIVES, SUMS, WAITS };
struct action {
    enum kind kind;
    int message, waits; /* WAITS: for the first `waits` requests that are open */
};

struct program {
    int n, actions;
    struct message message[MOST];
    struct action action[ACTIONS];
};

static size_t draw_bytes(uint64_t *random)
{
    const uint64_t how = random_next(random) % 20, number = random_next(random);
    if (how == 0) /* the longest message of packets, and those beside it */
        return 2038 + number % 10;
    const size_t below = how < 2 ? 1 : how < 8 ? 64 : how < 13 ? 5000 : how < 18 ? 100000 : 400000;
    return how == 19 && number % 4 == 0 ? (8 << 20) + number % 1500000 : number % below;
}

/* The last message that rank `at` got by a blocking receive or has waited for, of at least so many bytes; -1: none. */
static int draw_forward(const struct program *p, uint64_t *random, int at, size_t bytes, int done)
{
    const int first = (int)(random_next(random) % MOST);
    for (int i = 0; i < done; i++) {
        const struct message *one = &p->message[(first + i) % done];
        if (!one->sum && one->to == at && !one->started[1] && one->bytes >= bytes)
            return (first + i) % done;
    }
    return -1;
}

static void draw_messages(struct program *p, uint64_t *random)
{
    size_t out = 0, in = 0;
    p->n = 10 + (int)(random_next(random) % (MOST - 10));
    const int first = 50 + (random_next(random) % 2 ? (int)(random_next(random) % 3000) : 0); /* more tags than lanes */
    for (int i = 0; i < p->n; i++) {
        struct message *one = &p->message[i];
        *one = (struct message){.from = (int)(random_next(random) % (unsigned)kit_size),
                                .to = (int)(random_next(random) % (unsigned)kit_size),
                                .tag = first + (int)(random_next(random) % TAGS),
                                .sum = random_next(random) % 12 == 0,
                                .bytes = draw_bytes(random),
                                .forwards = -1,
                                .content = (unsigned)random_next(random)};
        one->started[0] = (int)(random_next(random) % 2) || one->from == one->to;
        one->started[1] = (int)(random_next(random) % 2);
        one->out = out + random_next(random) % 16;
        one->in = in + random_next(random) % 16;
        if (out + one->bytes + 32 > MESSAGES_MOST || in + one->bytes + 32 > MESSAGES_MOST)
            one->bytes = 0;
        out = one->out + one->bytes + 16;
        in = one->in + one->bytes + 16;
        if (one->sum || random_next(random) % 3)
            continue;
        one->forwards = draw_forward(p, random, one->from, one->bytes, i);
        if (one->forwards >= 0)
            one->content = p->message[one->forwards].content;
    }
}

/* 1 if `one` may go before `other`, of the same rank. */
static int may_pass(const struct program *p, const struct action *one, const struct action *other)
{
    const struct message *a = &p->message[one->message], *b = &p->message[other->message];
    if (one->kind > RECEIVES || other->kind > RECEIVES || !a->started[one->kind == RECEIVES])
        return other->kind == SUMS && one->kind <= RECEIVES && a->started[one->kind == RECEIVES] && a->forwards < 0;
    if (one->kind == SENDS && a->forwards >= 0)
        return 0;
    return one->kind != other->kind || a->tag != b->tag || (one->kind == SENDS ? a->to != b->to : a->from != b->from);
}

static void draw_actions(struct program *p, uint64_t random)
{
    p->actions = 0;
    for (int i = 0; i < p->n; i++) {
        const struct message *one = &p->message[i];
        if (one->sum)
            p->action[p->actions++] = (struct action){SUMS, i, 0};
        if (!one->sum && one->from == kit_rank)
            p->action[p->actions++] = (struct action){SENDS, i, 0};
        if (!one->sum && one->to == kit_rank)
            p->action[p->actions++] = (struct action){RECEIVES, i, 0};
        for (int at = p->actions - 1;
             at > 0 && random_next(&random) % 3 && may_pass(p, &p->action[at], &p->action[at - 1]); at--) {
            const struct action before = p->action[at - 1];
            p->action[at - 1] = p->action[at];
            p->action[at] = before;
        }
        if (random_next(&random) % 4 == 0)
            p->action[p->actions++] = (struct action){WAITS, i, 1 + (int)(random_next(&random) % 6)};
    }
    p->action[p->actions++] = (struct action){WAITS, 0, ACTIONS};
}

static void fill(unsigned content, unsigned char *out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char)(content + i * 7 + (i >> 7));
}

int messages_status(const MPI_Status *status, int source, int tag, int bytes)
{
    int count = -1, cancelled = 1;
    MPI_Get_count(status, MPI_BYTE, &count);
    MPI_Test_cancelled(status, &cancelled);
    return status->MPI_SOURCE == source && status->MPI_TAG == tag && count == bytes && !cancelled;
}

/* The statuses of receives: some calls want them. Before the stream is past its receive a status holds what no message
 * has. */
struct statuses {
    MPI_Status of[MOST];
    int wanted[MOST];
    MPI_Status all[ACTIONS]; /* of MPIX_Waitall_enqueue, one array behind the other */
    int message[ACTIONS];    /* -1: a send */
    int used;
};

static MPI_Status *want(struct statuses *statuses, int message)
{
    memset(&statuses->of[message], 0x5a, sizeof statuses->of[message]);
    statuses->wanted[message] = 1;
    return &statuses->of[message];
}

static void check_statuses(const struct program *p, const struct statuses *statuses, long number)
{
    for (int i = 0; i < p->n; i++) {
        const struct message *one = &p->message[i];
        if (statuses->wanted[i])
            CHECK(messages_status(&statuses->of[i], one->from, one->tag, (int)one->bytes),
                  "program %ld: the status of message %d, of %zu bytes from %d, tag %d, is wrong", number, i,
                  one->bytes, one->from, one->tag);
    }
    for (int i = 0; i < statuses->used; i++) {
        const struct message *one = &p->message[statuses->message[i] < 0 ? 0 : statuses->message[i]];
        if (statuses->message[i] >= 0)
            CHECK(messages_status(&statuses->all[i], one->from, one->tag, (int)one->bytes),
                  "program %ld: status %d of Waitall, of a message of %zu bytes from %d, tag %d, is wrong", number, i,
                  one->bytes, one->from, one->tag);
        else
            CHECK(messages_status(&statuses->all[i], MPI_ANY_SOURCE, MPI_ANY_TAG, 0),
                  "program %ld: status %d of a send", number, i);
    }
}

/* Waits for the first requests, whose messages are `of` (-1: a send), some with statuses. */
static void run_waits(int waits, MPI_Request open[], const int of[], struct statuses *statuses)
{
    if (waits == 1)
        FINE(MPIX_Wait_enqueue(&open[0], of[0] >= 0 && of[0] % 2 ? want(statuses, of[0]) : MPI_STATUS_IGNORE));
    if (waits <= 1)
        return;
    MPI_Status *const all =
        of[0] % 2 && statuses->used + waits <= ACTIONS ? &statuses->all[statuses->used] : MPI_STATUSES_IGNORE;
    FINE(MPIX_Waitall_enqueue(waits, open, all));
    for (int i = 0; i < waits && all != MPI_STATUSES_IGNORE; i++)
        statuses->message[statuses->used++] = of[i];
}

/* 1: the message is received into memory of the host. */
static int lands(const struct program *p, int message)
{
    for (int i = 0; i < p->n; i++) {
        if (p->message[i].forwards == message)
            return 0;
    }
    return p->message[message].content % 3 == 1;
}

/* host: the senders' memory once more, in memory of the host; landed: the receivers'. Some new messages are sent from
 * there, some received there. */
static void run(struct messages *m, const struct program *p, const unsigned char *host, unsigned char *landed,
                unsigned *sums, struct statuses *statuses)
{
    MPI_Request open[ACTIONS];
    int of[ACTIONS], n = 0;
    char *const in = m->memory + MESSAGES_MOST;
    for (int i = 0; i < p->actions; i++) {
        const struct action *action = &p->action[i];
        const struct message *one = &p->message[action->message];
        const char *out = one->forwards >= 0      ? in + p->message[one->forwards].in
                          : one->content % 4 == 0 ? (const char *)host + one->out
                                                  : m->memory + one->out;
        char *const to = lands(p, action->message) ? (char *)landed + one->in : in + one->in;
        const int bytes = (int)one->bytes;
        of[n] = action->kind == RECEIVES ? action->message : -1;
        if (action->kind == SENDS && one->started[0])
            FINE(MPIX_Isend_enqueue(out, bytes, MPI_BYTE, one->to, one->tag, m->comm, &open[n++]));
        else if (action->kind == SENDS)
            FINE(MPIX_Send_enqueue(out, bytes, MPI_BYTE, one->to, one->tag, m->comm));
        else if (action->kind == RECEIVES && one->started[1])
            FINE(MPIX_Irecv_enqueue(to, bytes, MPI_BYTE, one->from, one->tag, m->comm, &open[n++]));
        else if (action->kind == RECEIVES)
            FINE(MPIX_Recv_enqueue(to, bytes + 1, MPI_BYTE, one->from, one->tag, m->comm,
                                   action->message % 3 ? MPI_STATUS_IGNORE : want(statuses, action->message)));
        else if (action->kind == SUMS)
            FINE(MPIX_Allreduce_enqueue(MPI_IN_PLACE, sums, 64, MPI_UNSIGNED, MPI_SUM, m->comm));
        const int waits = action->kind != WAITS ? 0 : action->waits < n ? action->waits : n;
        run_waits(waits, open, of, statuses);
        memmove(open, open + waits, (size_t)(n - waits) * sizeof *open);
        memmove(of, of + waits, (size_t)(n - waits) * sizeof *of);
        n -= waits;
    }
}

/* What was received into memory of the host goes to its place among the rest, which must hold nothing else. */
static int merge(const struct program *p, unsigned char *got, unsigned char *landed)
{
    int right = 1;
    for (int i = 0; i < p->n; i++) {
        const struct message *one = &p->message[i];
        if (one->sum || one->to != kit_rank || !lands(p, i))
            continue;
        for (size_t k = one->in; k < one->in + one->bytes; k++)
            right &= got[k] == 0xee;
        memcpy(got + one->in, landed + one->in, one->bytes);
        memset(landed + one->in, 0xee, one->bytes);
    }
    for (size_t i = 0; i < MESSAGES_MOST; i++)
        right &= landed[i] == 0xee;
    return right;
}

/* The whole of the receivers' memory: what was not sent there is as before. */
static int check(const struct program *p, const unsigned char *got, unsigned char *want)
{
    memset(want, 0xee, MESSAGES_MOST);
    for (int i = 0; i < p->n; i++) {
        const struct message *one = &p->message[i];
        if (!one->sum && one->to == kit_rank)
            fill(one->content, want + one->in, one->bytes);
    }
    for (size_t i = 0; i < MESSAGES_MOST; i++) {
        if (got[i] != want[i]) {
            for (int j = 0; j < p->n; j++) {
                const struct message *one = &p->message[j];
                if (!one->sum && one->to == kit_rank && i >= one->in && i < one->in + one->bytes + 16)
                    printf("rank %d: byte %zu of message %d: %zu bytes from %d, tag %d\n", kit_rank, i - one->in, j,
                           one->bytes, one->from, one->tag);
            }
            return 0;
        }
    }
    return 1;
}

void messages_programs(struct messages *m, long programs)
{
    static struct program p;
    static struct statuses statuses;
    uint64_t random = kit_seed;
    unsigned char *host = malloc(MESSAGES_MOST), *got = malloc(MESSAGES_MOST), *landed = malloc(MESSAGES_MOST);
    unsigned ones[64], *sums = NULL;
    long wrong = 0;
    CHECK(tutti_alloc(sizeof ones, (void **)&sums) == 0, "memory");
    for (int i = 0; i < 64; i++)
        ones[i] = 1;
    for (long number = 0; number < programs && wrong < 3; number++) {
        unsigned factor = 1;
        draw_messages(&p, &random);
        draw_actions(&p, random + 977 * (unsigned)kit_rank);
        for (int i = 0; i < p.n; i++) {
            if (!p.message[i].sum && p.message[i].from == kit_rank)
                fill(p.message[i].content, host + p.message[i].out, p.message[i].bytes);
            factor *= p.message[i].sum ? (unsigned)kit_size : 1;
        }
        memset(got, 0xee, MESSAGES_MOST);
        memset(landed, 0xee, MESSAGES_MOST);
        CHECK(tutti_copy(m->memory, host, MESSAGES_MOST) == 0 && tutti_copy(sums, ones, sizeof ones) == 0 &&
                  tutti_copy(m->memory + MESSAGES_MOST, got, MESSAGES_MOST) == 0,
              "copies");
        memset(&statuses, 0, sizeof statuses);
        run(m, &p, host, landed, sums, &statuses);
        CHECK(tutti_stream_sync(m->stream) == 0, "the stream");
        check_statuses(&p, &statuses, number);
        CHECK(tutti_copy(got, m->memory + MESSAGES_MOST, MESSAGES_MOST) == 0, "a copy");
        wrong += !CHECK(merge(&p, got, landed), "program %ld: memory of the host is wrong", number);
        wrong += !CHECK(check(&p, got, host), "program %ld: a byte is wrong", number);
        CHECK(tutti_copy(got, sums, sizeof ones) == 0, "a copy");
        memcpy(host, got, 64 * sizeof *sums);
        CHECK(((unsigned *)(void *)host)[63] == factor, "program %ld: a sum is wrong", number);
    }
    tutti_free(sums);
    free(host);
    free(got);
    free(landed);
}

/* A receive into memory of the host returns before its message is sent. Once more with the same memory, shorter. */
void messages_into_host(struct messages *m)
{
    enum { MOST_BYTES = 100000 };
    static unsigned char host[MOST_BYTES], want[MOST_BYTES];
    for (int turn = 0; turn < 6 && kit_rank < 2; turn++) {
        const int bytes = turn % 2 ? 500 : MOST_BYTES, other = 1 - kit_rank;
        MPI_Request request;
        MPI_Status status;
        memset(want, 0x33, sizeof want);
        fill((unsigned)turn, want, (size_t)bytes);
        if (kit_rank == 0) {
            memset(host, 0x33, sizeof host);
            FINE(MPIX_Irecv_enqueue(host, MOST_BYTES, MPI_BYTE, other, 3, m->comm, &request));
            FINE(MPIX_Wait_enqueue(&request, turn % 3 ? &status : MPI_STATUS_IGNORE));
            MPI_Send(NULL, 0, MPI_BYTE, other, 3, MPI_COMM_WORLD);
            CHECK(tutti_stream_sync(m->stream) == 0, "the stream");
            CHECK(memcmp(host, want, sizeof want) == 0, "turn %d: %d bytes in memory of the host are wrong", turn,
                  bytes);
            CHECK(turn % 3 == 0 || messages_status(&status, other, 3, bytes), "turn %d: the status", turn);
        } else {
            CHECK(tutti_copy(m->memory, want, sizeof want) == 0, "a copy");
            MPI_Recv(NULL, 0, MPI_BYTE, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            FINE(MPIX_Send_enqueue(m->memory, bytes, MPI_BYTE, other, 3, m->comm));
            CHECK(tutti_stream_sync(m->stream) == 0, "the stream");
        }
    }
}

void messages_open(struct messages *m)
{
    void *memory = NULL;
    FINE(tutti_stream_create(&m->stream));
    FINE(queue_name_stream(NULL, m->stream, &m->mpix));
    FINE(MPIX_Stream_comm_create(MPI_COMM_WORLD, m->mpix, &m->comm));
    if (m->comm == MPI_COMM_NULL || MPIX_Send_enqueue(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, m->comm) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    FINE(tutti_alloc((size_t)2 * MESSAGES_MOST, &memory));
    m->memory = memory;
}

void messages_group(struct messages *m)
{
    char value[8] = "";
    int found = 0;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "tutti_group_messages", "true");
    FINE(MPI_Comm_set_info(m->comm, info));
    MPI_Info_free(&info);
    FINE(MPI_Comm_get_info(m->comm, &info));
    MPI_Info_get(info, "tutti_group_messages", 7, value, &found);
    MPI_Info_free(&info);
    CHECK(found && strcmp(value, "true") == 0, "the hint is not kept: %s", value);
}

void messages_close(struct messages *m, int fails)
{
    CHECK(tutti_stream_sync(m->stream) == 0, "the stream");
    const int freed = MPIX_Stream_free(&m->mpix), left = MPI_Comm_free(&m->comm);
    CHECK(fails ? freed != MPI_SUCCESS && left != MPI_SUCCESS : freed == MPI_SUCCESS && left == MPI_SUCCESS,
          "freeing: %d, %d", freed, left);
    FINE(tutti_free(m->memory));
    FINE(tutti_stream_destroy(m->stream));
}
