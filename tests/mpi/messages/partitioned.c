/* Partitioned messages: random programs against what they must give. Every rank draws the same program: some pairs of
 * ranks, several with the same tag, each side with its own number of partitions, type and kind of memory; rounds; the
 * order in which partitions become ready, and the calls that mark them; waits by MPI_Parrived or by completion calls.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

enum { PAIRS = 5, ROUNDS = 3, MOST = 9, UNIT = 6 };

/* Open MPI 4.1's header lacks them. */
static int (*psend_init)(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
static int (*precv_init)(void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
static int (*pready)(int, MPI_Request);
static int (*pready_range)(int, int, MPI_Request);
static int (*pready_list)(int, const int[], MPI_Request);
static int (*parrived)(MPI_Request, int, int *);

static void *find(const char *name)
{
    void *call = dlsym(RTLD_DEFAULT, name);
    CHECK(call != NULL, "%s is not there", name);
    return call;
}

struct side {
    int rank, partitions, ints, kind, spaced, each; /* each: ints of an element of the type */
    MPI_Datatype type;
    struct kit_buffer buffer;
    void *memory;
    MPI_Request request;
};
struct pair {
    int tag, comm;
    size_t total; /* ints */
    struct side send, recv;
    int used;
};

static MPI_Comm comms[3];
static int use_threads, may_meet = 1;

static int value(uint64_t program, int pair, int round, size_t i)
{
    return (int)(program * 7919 + (uint64_t)pair * 104729 + (uint64_t)round * 1299709 + i);
}

static MPI_Datatype type_of(int spaced, int each)
{
    MPI_Datatype one, type;
    MPI_Type_vector(each, 1, 1 + spaced, MPI_INT, &one);
    MPI_Type_create_resized(one, 0, (MPI_Aint)sizeof(int) * each * (1 + spaced), &type);
    MPI_Type_free(&one);
    MPI_Type_commit(&type);
    return type;
}

static uint64_t dice;
static int draw(int n)
{
    return (int)(random_next(&dice) % (uint64_t)n);
}

static void draw_side(struct side *side, int partitions, size_t total)
{
    static const int eaches[] = {1, 2, 3};
    side->rank = draw(kit_size);
    side->partitions = partitions;
    side->ints = (int)(total / (size_t)partitions);
    side->kind = draw(2) ? KIT_DEVICE : KIT_HOST;
    side->spaced = draw(2);
    side->each = eaches[draw(3)];
}

static void draw_pair(struct pair *pair)
{
    static const int units[] = {1, 1, 40, 900, 20000};
    const int p = 1 + draw(MOST), q = 1 + draw(MOST);
    pair->tag = draw(2);
    pair->comm = draw(3);
    pair->total = (size_t)p * (size_t)q * UNIT * (size_t)units[draw(5)];
    draw_side(&pair->send, p, pair->total);
    draw_side(&pair->recv, q, pair->total);
}

static size_t bytes_of(const struct side *side, size_t total)
{
    return total * sizeof(int) * (size_t)(1 + side->spaced);
}

static void side_open(struct pair *pair, struct side *side, int sends)
{
    const int peer = sends ? pair->recv.rank : pair->send.rank;
    if (side->rank != kit_rank)
        return;
    side->type = type_of(side->spaced, side->each);
    kit_open(&side->buffer, (enum kit_kind)side->kind, bytes_of(side, pair->total));
    side->memory = kit_put(&side->buffer, 0, NULL, bytes_of(side, pair->total));
    const MPI_Count count = side->ints / side->each;
    const int code = sends ? psend_init(side->memory, side->partitions, count, side->type, peer, pair->tag,
                                        comms[pair->comm], MPI_INFO_NULL, &side->request)
                           : precv_init(side->memory, side->partitions, count, side->type, peer, pair->tag,
                                        comms[pair->comm], MPI_INFO_NULL, &side->request);
    CHECK(code == MPI_SUCCESS, "%s: error class %d", sends ? "MPI_Psend_init" : "MPI_Precv_init", kit_class(code));
    MPI_Type_free(&side->type);
}

static void side_fill(const struct pair *pair, struct side *side, uint64_t program, int which, int round)
{
    int *data = calloc(pair->total, sizeof(int) * (size_t)(1 + side->spaced));
    for (size_t i = 0; i < pair->total; i++)
        data[i * (size_t)(1 + side->spaced)] = value(program, which, round, i);
    kit_put(&side->buffer, 0, data, bytes_of(side, pair->total));
    free(data);
}

static void side_check(const struct pair *pair, struct side *side, uint64_t program, int which, int round, size_t from,
                       size_t to, const char *what)
{
    int guards = 1;
    const int *got = (const int *)(const void *)kit_get(&side->buffer, &guards);
    size_t i = from;
    while (i < to && got[i * (size_t)(1 + side->spaced)] == value(program, which, round, i))
        i++;
    CHECK(i == to && guards, "program %llu, pair %d, round %d: %s: integer %zu of %zu is wrong (guards %d)",
          (unsigned long long)program, which, round, what, i, pair->total, guards);
}

/* Marks partitions order[0..n) of a send. */
struct marking {
    MPI_Request request;
    const int *order;
    int n, form;
};

static void *mark(void *with)
{
    const struct marking *m = with;
    int code = MPI_SUCCESS;
    if (m->form == 1 && m->n > 0)
        code = pready_list(m->n, m->order, m->request);
    for (int i = 0; m->form == 0 && i < m->n && code == MPI_SUCCESS; i++)
        code = pready(m->order[i], m->request);
    CHECK(code == MPI_SUCCESS, "marking: error class %d", kit_class(code));
    return NULL;
}

static void side_mark(struct side *side)
{
    int order[MOST];
    const int n = side->partitions, form = draw(3), half = draw(n + 1);
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        const int j = draw(i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    if (side->rank != kit_rank)
        return;
    if (form == 2) {
        int code = half > 0 ? pready_range(0, half - 1, side->request) : MPI_SUCCESS;
        if (half < n)
            code = pready_range(half, n - 1, side->request);
        CHECK(code == MPI_SUCCESS, "MPI_Pready_range: error class %d", kit_class(code));
        return;
    }
    struct marking one = {side->request, order, half, form}, two = {side->request, order + half, n - half, form};
    pthread_t thread;
    if (use_threads && pthread_create(&thread, NULL, mark, &one) == 0) {
        mark(&two);
        pthread_join(thread, NULL);
        return;
    }
    mark(&one);
    mark(&two);
}

/* Until all partitions have arrived; each is checked when it has. */
static void side_watch(const struct pair *pair, struct side *side, uint64_t program, int which, int round)
{
    for (int p = 0; p < side->partitions; p++) {
        int flag = 0, code = MPI_SUCCESS;
        while (!flag && code == MPI_SUCCESS)
            code = parrived(side->request, p, &flag);
        CHECK(code == MPI_SUCCESS, "MPI_Parrived: error class %d", kit_class(code));
        side_check(pair, side, program, which, round, (size_t)p * (size_t)side->ints,
                   (size_t)(p + 1) * (size_t)side->ints, "a partition that has arrived");
    }
}

static void check_status(const struct pair *pair, const MPI_Status *status)
{
    int ints = -1;
    MPI_Get_elements(status, MPI_INT, &ints);
    CHECK(status->MPI_SOURCE == pair->send.rank && status->MPI_TAG == pair->tag && (size_t)ints == pair->total,
          "the status names source %d, tag %d, %d integers", status->MPI_SOURCE, status->MPI_TAG, ints);
}

static void round_run(struct pair *pairs, int n, uint64_t program, int round)
{
    MPI_Request requests[2 * PAIRS];
    MPI_Status statuses[2 * PAIRS];
    const struct pair *of[2 * PAIRS];
    int used = 0;
    for (int i = 0; i < n; i++) {
        if (pairs[i].send.rank == kit_rank)
            side_fill(&pairs[i], &pairs[i].send, program, i, round);
        if (pairs[i].recv.rank == kit_rank)
            pairs[i].recv.memory = kit_put(&pairs[i].recv.buffer, 0, NULL, bytes_of(&pairs[i].recv, pairs[i].total));
    }
    for (int i = 0; i < n; i++) {
        if (pairs[i].send.rank == kit_rank) {
            of[used] = NULL;
            requests[used++] = pairs[i].send.request;
        }
        if (pairs[i].recv.rank == kit_rank) {
            of[used] = &pairs[i];
            requests[used++] = pairs[i].recv.request;
        }
    }
    int code = MPI_Startall(used, requests);
    CHECK(code == MPI_SUCCESS, "MPI_Startall: error class %d", kit_class(code));
    for (int i = 0; i < n; i++)
        side_mark(&pairs[i].send);
    for (int i = 0; i < n; i++) {
        const int watches = draw(2);
        if (watches && pairs[i].recv.rank == kit_rank)
            side_watch(&pairs[i], &pairs[i].recv, program, i, round);
    }
    if (draw(3) == 0 && may_meet) /* see `Limits` of docs/partitioned.md */
        MPI_Barrier(MPI_COMM_WORLD);
    if (draw(2)) {
        code = MPI_Waitall(used, requests, statuses);
    } else {
        for (int done = 0; code == MPI_SUCCESS && !done;)
            code = MPI_Testall(used, requests, &done, statuses);
    }
    CHECK(code == MPI_SUCCESS, "completion: error class %d", kit_class(code));
    for (int i = 0; i < used; i++) {
        if (of[i])
            check_status(of[i], &statuses[i]);
    }
    for (int i = 0; i < n; i++) {
        if (pairs[i].recv.rank == kit_rank)
            side_check(&pairs[i], &pairs[i].recv, program, i, round, 0, pairs[i].total, "the message");
    }
}

static void program_run(uint64_t program)
{
    struct pair pairs[PAIRS];
    memset(pairs, 0, sizeof pairs);
    dice = random_mix(kit_seed + program);
    const int n = 1 + draw(PAIRS), rounds = 1 + draw(ROUNDS);
    for (int i = 0; i < n; i++)
        draw_pair(&pairs[i]);
    for (int i = 0; i < n; i++) {
        side_open(&pairs[i], &pairs[i].send, 1);
    }
    for (int comm = 2; comm >= 0; comm--) { /* the order counts within a communicator alone */
        for (int i = 0; i < n; i++) {
            if (pairs[i].comm == comm)
                side_open(&pairs[i], &pairs[i].recv, 0);
        }
    }
    for (int round = 0; round < rounds; round++)
        round_run(pairs, n, program, round);
    for (int i = 0; i < n; i++) {
        struct side *sides[] = {&pairs[i].send, &pairs[i].recv};
        for (int s = 0; s < 2; s++) {
            if (sides[s]->rank != kit_rank)
                continue;
            MPI_Request_free(&sides[s]->request);
            kit_close(&sides[s]->buffer);
        }
    }
}

/* Each error has its class, and what it names is not done. */
static void errors(void)
{
    enum { N = 4 };
    int in[N] = {1, 2, 3, 4}, out[N] = {0}, twice[] = {1, 1};
    MPI_Request s, r;
    MPI_Comm self = MPI_COMM_SELF;
    int flag = 0, code;
    MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
    CHECK(psend_init(in, N, 1, MPI_INT, 0, 5, self, MPI_INFO_NULL, &s) == MPI_SUCCESS, "init");
    CHECK(precv_init(out, 2, 2, MPI_INT, 0, 5, self, MPI_INFO_NULL, &r) == MPI_SUCCESS, "init");
    code = pready(0, s);
    CHECK(kit_class(code) == MPI_ERR_REQUEST, "Pready, inactive: class %d", kit_class(code));
    CHECK(parrived(r, 0, &flag) == MPI_SUCCESS && flag, "Parrived, inactive");
    MPI_Start(&s);
    MPI_Start(&r);
    code = pready(N, s);
    CHECK(kit_class(code) == MPI_ERR_ARG, "Pready, no such partition: class %d", kit_class(code));
    code = pready_range(2, 1, s);
    CHECK(kit_class(code) == MPI_ERR_ARG, "Pready_range, empty: class %d", kit_class(code));
    code = pready_list(2, twice, s);
    CHECK(kit_class(code) == MPI_ERR_ARG, "Pready_list, twice: class %d", kit_class(code));
    CHECK(pready(1, s) == MPI_SUCCESS, "Pready after errors");
    code = pready(1, s);
    CHECK(kit_class(code) == MPI_ERR_ARG, "Pready, twice: class %d", kit_class(code));
    code = pready(1, r);
    CHECK(kit_class(code) == MPI_ERR_REQUEST, "Pready of a receive: class %d", kit_class(code));
    CHECK(parrived(r, 1, &flag) == MPI_SUCCESS && !flag, "a partition that was not sent has arrived");
    code = parrived(r, 2, &flag);
    CHECK(kit_class(code) == MPI_ERR_ARG, "Parrived, no such partition: class %d", kit_class(code));
    CHECK(pready_range(2, 3, s) == MPI_SUCCESS && pready(0, s) == MPI_SUCCESS, "the rest");
    CHECK(MPI_Wait(&s, MPI_STATUS_IGNORE) == MPI_SUCCESS && MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS, "waits");
    CHECK(memcmp(in, out, sizeof in) == 0, "what arrives after errors");
    MPI_Request_free(&s);
    MPI_Request_free(&r);
    /* MPI_PROC_NULL; and a message that is longer than its receive. */
    CHECK(psend_init(in, N, 1, MPI_INT, MPI_PROC_NULL, 5, self, MPI_INFO_NULL, &s) == MPI_SUCCESS, "init");
    CHECK(precv_init(out, N, 1, MPI_INT, MPI_PROC_NULL, 5, self, MPI_INFO_NULL, &r) == MPI_SUCCESS, "init");
    MPI_Start(&s);
    MPI_Start(&r);
    CHECK(pready_range(0, N - 1, s) == MPI_SUCCESS, "Pready to MPI_PROC_NULL");
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request_free(&s);
    MPI_Request_free(&r);
    memset(out, 0, sizeof out);
    psend_init(in, N, 1, MPI_INT, 0, 6, self, MPI_INFO_NULL, &s);
    precv_init(out, 1, 2, MPI_INT, 0, 6, self, MPI_INFO_NULL, &r);
    MPI_Start(&s);
    MPI_Start(&r);
    pready_range(0, N - 1, s);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    code = MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(kit_class(code) == MPI_ERR_TRUNCATE && out[2] == 0, "too long a message: class %d", kit_class(code));
    MPI_Request_free(&s);
    MPI_Request_free(&r);
}

/* The sender marks one small partition and waits in a receive for the answer that its arrival causes: what waits for
 * other partitions to travel with must leave. */
static void answered(void)
{
    enum { N = 6, TIMES = 20 };
    int data[N] = {0}, answer = 0;
    MPI_Request request;
    if (kit_rank > 1 || kit_size < 2)
        return;
    if (kit_rank == 0)
        psend_init(data, N, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        precv_init(data, N, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; round < TIMES; round++) {
        MPI_Start(&request);
        for (int i = 0; i < N; i++) {
            const int partition = round % 2 ? N - 1 - i : i;
            int flag = 0;
            if (kit_rank == 0) {
                data[partition] = round * N + partition;
                pready(partition, request);
                MPI_Recv(&answer, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK(answer == data[partition], "answer %d of partition %d", answer, partition);
                continue;
            }
            while (!flag)
                parrived(request, partition, &flag);
            MPI_Send(&data[partition], 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

/* The sender goes into a barrier while most of a long message is still to be given to the MPI, and the receiver waits
 * for the message before it comes to the barrier. */
static void before_barrier(void)
{
    enum { INTS = 10 << 20 };
    MPI_Request request;
    if (kit_rank > 1 || kit_size < 2 || !may_meet) {
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    int *data = calloc(INTS, sizeof *data), flag = 0;
    for (int i = 0; i < INTS && kit_rank == 0; i++)
        data[i] = i;
    if (kit_rank == 0)
        psend_init(data, 1, INTS, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        precv_init(data, 1, INTS, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    if (kit_rank == 0)
        pready(0, request);
    else
        usleep(100000); /* the sender is in the barrier, most likely */
    while (kit_rank == 1 && !flag)
        parrived(request, 0, &flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int wrong = 0;
    for (int i = 0; i < INTS; i++)
        wrong += data[i] != i;
    CHECK(wrong == 0, "a message before a barrier: %d integers are wrong", wrong);
    MPI_Request_free(&request);
    free(data);
}

int main(int argc, char **argv)
{
    use_threads = argc > 2 && strcmp(argv[2], "threads") == 0;
    may_meet = !(argc > 2 && strcmp(argv[2], "apart") == 0);
    const int programs = argc > 1 ? atoi(argv[1]) : 20;
    const int level = kit_start(&argc, &argv, use_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    use_threads = use_threads && level == MPI_THREAD_MULTIPLE;
    psend_init = find("MPI_Psend_init");
    precv_init = find("MPI_Precv_init");
    pready = find("MPI_Pready");
    pready_range = find("MPI_Pready_range");
    pready_list = find("MPI_Pready_list");
    parrived = find("MPI_Parrived");
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, kit_rank, &comms[2]);
    for (int i = 1; i < 3; i++)
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    if (kit_errors_returned())
        errors();
    answered();
    before_barrier();
    for (int i = 0; i < programs; i++)
        program_run((uint64_t)i);
    for (int i = 1; i < 3; i++)
        MPI_Comm_free(&comms[i]);
    return kit_end("partitioned messages");
}
