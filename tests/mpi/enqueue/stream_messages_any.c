/* Random programs of receives from any source or with any tag in stream order. All ranks draw the same messages. Each
 * rank starts its sends and posts its receives in an order of its own, and waits for them later.
 *
 * The oracle: the receives that took messages of one source are matched with these messages by the rules of MPI. In the
 * order of the sends, each message takes the first of these receives that accepts it and is still free. Contents and
 * statuses must be those of that message. So receives that name their source have one right result; the order in which
 * the messages of several sources arrive is free. */
#include "stream_messages.h"

#include <stdlib.h>
#include <string.h>

#include "tutti/tutti.h"

enum { MOST = 40, TAGS = 4, FIRST_TAG = 70, OF_TAGS = 12, LEAST = 8, OF_ALL = 16 * MOST };

/* What the receives of one rank name, so that no choice leaves a receive without a message. */
enum mode {
    ANY_TAGS,    /* a source, with a tag or any */
    ANY_SOURCES, /* any source with tags of which all receives do so, or both */
    ALL_ANY,     /* any source and any tag */
    SOME_FIRST,  /* both, and behind these receives any source and any tag */
    MODES
};

struct any_message {
    int from, to, tag;
    size_t bytes;
    unsigned content;
};

struct any_receive {
    int source, tag; /* as named */
    int message;     /* that it was drawn for; then the one that it got */
    int blocking;
};

static struct any_program {
    int n, receives, first; /* its first tag: lanes must not change between programs */
    size_t most;            /* bytes of a message */
    struct any_message message[OF_ALL];
    struct any_receive receive[MOST]; /* of this rank */
    MPI_Status status[MOST];
} p;

static void any_fill(int number, unsigned char *out)
{
    const struct any_message *one = &p.message[number];
    for (size_t i = 0; i < one->bytes; i++)
        out[i] = (unsigned char)(one->content + i * 13 + (i >> 8));
    memcpy(out, &number, sizeof number);
}

static void draw_any_messages(uint64_t *random)
{
    static const size_t most[] = {64, 2040, 2041, 40000, 480000};
    int from[OF_ALL] = {0};
    p.most = most[random_next(random) % 5];
    p.n = 0;
    for (int to = 0; to < kit_size; to++) {
        const int some = 4 + (int)(random_next(random) % (MOST - 4));
        for (int i = 0; i < some; i++, p.n++) {
            p.message[p.n] = (struct any_message){.from = (int)(random_next(random) % (unsigned)kit_size),
                                                  .to = to,
                                                  .tag = p.first + (int)(random_next(random) % TAGS),
                                                  .bytes = LEAST + random_next(random) % (p.most - LEAST + 1),
                                                  .content = (unsigned)random_next(random)};
            if ((size_t)++from[p.message[p.n].from] * p.most > MESSAGES_MOST)
                break; /* its memory is full */
        }
    }
}

static void name_receive(struct any_receive *r, enum mode mode, int open_tags, uint64_t *random)
{
    const struct any_message *one = &p.message[r->message];
    r->source = one->from;
    r->tag = one->tag;
    if (mode == ALL_ANY || (mode == ANY_SOURCES && one->tag - p.first < open_tags))
        r->source = MPI_ANY_SOURCE;
    if (mode == ALL_ANY || (mode == ANY_TAGS && random_next(random) % 2))
        r->tag = MPI_ANY_TAG;
}

/* The message of each receive that takes one of `source`, by the rules; 1 if each of them has one. */
static int match_source(int source, const int of[], int want[])
{
    for (int i = 0; i < p.receives; i++)
        want[i] = of[i] == source ? -1 : want[i];
    for (int i = 0; i < p.n; i++) {
        const struct any_message *one = &p.message[i];
        int r = 0;
        if (one->from != source || one->to != kit_rank)
            continue;
        while (r < p.receives &&
               (of[r] != source || want[r] >= 0 || (p.receive[r].tag != MPI_ANY_TAG && p.receive[r].tag != one->tag)))
            r++;
        if (r == p.receives)
            return 0;
        want[r] = i;
    }
    return 1;
}

/* 1 where receives that name their sources all get a message, in the order in which they are. */
static int is_complete(void)
{
    int of[MOST], want[MOST], all = 1;
    for (int i = 0; i < p.receives; i++)
        of[i] = p.receive[i].source;
    for (int source = 0; source < kit_size; source++)
        all &= match_source(source, of, want);
    return all;
}

/* In the order of the messages, then moved where that leaves no receive without a message. */
static void draw_receives(uint64_t random)
{
    const enum mode mode = (enum mode)(random_next(&random) % MODES);
    const int open_tags = 1 + (int)(random_next(&random) % TAGS);
    p.receives = 0;
    for (int pass = 0; pass < 2; pass++) { /* the second one: any source and any tag, behind the others */
        for (int i = 0; i < p.n; i++) {
            const int late = mode == SOME_FIRST && p.message[i].content % 2;
            if (p.message[i].to != kit_rank || late != pass)
                continue;
            struct any_receive *r = &p.receive[p.receives++];
            r->message = i;
            name_receive(r, pass ? ALL_ANY : mode, open_tags, &random);
        }
    }
    for (int moves = mode == SOME_FIRST ? 0 : 4 * p.receives; moves > 0; moves--) {
        const int at = (int)(random_next(&random) % (unsigned)p.receives);
        if (at == 0)
            continue;
        const struct any_receive before = p.receive[at - 1];
        p.receive[at - 1] = p.receive[at];
        p.receive[at] = before;
        if (mode == ANY_TAGS && !is_complete()) {
            p.receive[at] = p.receive[at - 1];
            p.receive[at - 1] = before;
        }
    }
    for (int i = 0; i < p.receives; i++)
        p.receive[i].blocking = (int)(random_next(&random) % 3 == 0);
}

static void post_receive(struct messages *m, int i, MPI_Request *request)
{
    struct any_receive *r = &p.receive[i];
    char *const at = m->memory + MESSAGES_MOST + (size_t)i * p.most;
    memset(&p.status[i], 0x5a, sizeof p.status[i]);
    *request = MPI_REQUEST_NULL;
    if (r->blocking)
        FINE(MPIX_Recv_enqueue(at, (int)p.most, MPI_BYTE, r->source, r->tag, m->comm, &p.status[i]));
    else
        FINE(MPIX_Irecv_enqueue(at, (int)p.most, MPI_BYTE, r->source, r->tag, m->comm, request));
}

/* A blocking receive may need a message whose sender waits for one of this rank: it comes behind this rank's sends. */
static void run_any(struct messages *m, uint64_t random)
{
    MPI_Request sends[OF_ALL], receives[MOST];
    int sent = 0, posted = 0, waited = 0;
    for (int i = 0; i < p.n; i++) {
        if (p.message[i].from == kit_rank) {
            FINE(MPIX_Isend_enqueue(m->memory + (size_t)sent * p.most, (int)p.message[i].bytes, MPI_BYTE,
                                    p.message[i].to, p.message[i].tag, m->comm, &sends[sent]));
            sent++;
        }
        while (posted < p.receives && !p.receive[posted].blocking && random_next(&random) % 2) {
            post_receive(m, posted, &receives[posted]);
            posted++;
        }
    }
    while (posted < p.receives || waited < posted) {
        const int some = (int)(random_next(&random) % 5), all = posted == p.receives;
        if (posted < p.receives) {
            post_receive(m, posted, &receives[posted]);
            posted++;
        }
        for (int i = 0; (i < some || all) && waited < posted; i++, waited++) {
            if (!p.receive[waited].blocking)
                FINE(MPIX_Wait_enqueue(&receives[waited], &p.status[waited]));
        }
        if (all && sent > 0) {
            FINE(MPIX_Waitall_enqueue(sent, sends, MPI_STATUSES_IGNORE));
            sent = 0;
        }
    }
    if (sent > 0)
        FINE(MPIX_Waitall_enqueue(sent, sends, MPI_STATUSES_IGNORE));
}

/* 1 if the receives have got what they should. */
static int check_any(const unsigned char *got, long number)
{
    unsigned char *content = malloc(p.most);
    int of[MOST], want[MOST], right = 1;
    for (int i = 0; i < p.receives; i++)
        of[i] = p.status[i].MPI_SOURCE;
    for (int source = 0; source < kit_size; source++)
        right &= CHECK(match_source(source, of, want), "program %ld: a message of rank %d went to no receive", number,
                       source);
    for (int i = 0; i < p.receives && right; i++) {
        const struct any_receive *r = &p.receive[i];
        if (!(right = CHECK(of[i] >= 0 && of[i] < kit_size && want[i] >= 0,
                            "program %ld: receive %d got too much from %d", number, i, of[i])))
            break;
        const struct any_message *one = &p.message[want[i]];
        int which;
        memcpy(&which, got + (size_t)i * p.most, sizeof which);
        any_fill(want[i], content);
        right &= CHECK(messages_status(&p.status[i], one->from, one->tag, (int)one->bytes),
                       "program %ld: the status of receive %d (from %d, tag %d): tag %d, not %d", number, i, r->source,
                       r->tag, p.status[i].MPI_TAG, one->tag);
        right &= CHECK(memcmp(content, got + (size_t)i * p.most, one->bytes) == 0,
                       "program %ld: receive %d (from %d, tag %d) has message %d, not %d, or a byte is wrong", number,
                       i, r->source, r->tag, which, want[i]);
    }
    free(content);
    return right;
}

void messages_any(struct messages *m, long programs)
{
    uint64_t random = kit_seed;
    unsigned char *host = malloc(MESSAGES_MOST);
    for (long number = 0, wrong = 0; number < programs && wrong < 3; number++) {
        p.first = FIRST_TAG + (int)(number % OF_TAGS) * TAGS;
        draw_any_messages(&random);
        draw_receives(random + 977 * (unsigned)kit_rank);
        int sends = 0;
        for (int i = 0; i < p.n; i++) {
            if (p.message[i].from == kit_rank)
                any_fill(i, host + (size_t)sends++ * p.most);
        }
        CHECK(tutti_copy(m->memory, host, (size_t)sends * p.most) == 0, "a copy");
        run_any(m, random * 31 + (unsigned)kit_rank);
        CHECK(tutti_stream_sync(m->stream) == 0, "the stream");
        MPI_Barrier(MPI_COMM_WORLD); /* a receive from any source would take a message of the next program */
        CHECK(tutti_copy(host, m->memory + MESSAGES_MOST, (size_t)p.receives * p.most) == 0, "a copy");
        wrong += !check_any(host, number);
    }
    free(host);
}
