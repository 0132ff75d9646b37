/* Partitioned requests in kernels: random programs against what they must give. On the simulated GPUs a kernel is some
 * threads, each a block, which make the calls of tutti/device/prequest.h while the rank's own thread waits in a
 * completion call. Kernels mark partitions in any order; other kernels look for partitions that arrive, and check their
 * data then. Between rounds some buffers are freed, and allocated again at the same address. TUTTI_TEST_EXPECT: how
 * some of the partitions must have travelled ("stored by the kernel"). */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "tutti/mpix.h"
#include "tutti/tutti.h"

#include "tutti/device/prequest.h"

enum { PAIRS = 4, ROUNDS = 6, MOST = 24, BLOCKS = 3 };

/* Open MPI 4.1's header lacks them. */
static int (*psend_init)(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
static int (*precv_init)(void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
static int (*pready)(int, MPI_Request);

static void *find(const char *name)
{
    void *call = dlsym(RTLD_DEFAULT, name);
    CHECK(call != NULL, "%s is not there", name);
    return call;
}

struct side {
    int rank, partitions, ints, kind, kernel;
    struct kit_buffer buffer;
    int *memory;
    MPI_Request request;
    MPIX_Prequest device;
};
struct pair {
    size_t total;                   /* integers */
    int transports, prepares, late; /* late: device requests are created after the first start */
    struct side send, recv;
};

static uint64_t dice;
static int draw(int n)
{
    return (int)(random_next(&dice) % (uint64_t)n);
}

static int value(uint64_t program, int pair, int round, size_t i)
{
    return (int)(program * 7919 + (uint64_t)pair * 104729 + (uint64_t)round * 1299709 + i);
}

/* ---- kernels ---- */

/* A block of a kernel that marks partitions order[0..n); or that looks for all of a receive. */
struct block {
    const struct pair *pair;
    uint64_t program;
    int which, round, n, form;
    int order[MOST];
    int wrong; /* -1, or the partition whose data were not there */
};

/* The data of a partition are made just before it is marked. */
static void block_fills(const struct block *b, int partition)
{
    const struct side *side = &b->pair->send;
    for (int i = 0; i < side->ints; i++) {
        const size_t at = (size_t)partition * (size_t)side->ints + (size_t)i;
        side->memory[at] = value(b->program, b->which, b->round, at);
    }
}

static void *block_marks(void *with)
{
    const struct block *b = with;
    const MPIX_Prequest device = b->pair->send.device;
    for (int i = 0; b->form == 0 && i < b->n; i++)
        block_fills(b, b->order[i]);
    if (b->form == 0)
        MPIX_Pready_list(b->n, b->order, device);
    for (int i = 0; i < b->n && b->form > 0; i++) {
        const int partition = b->order[i];
        if (i % 3 == 2)
            sched_yield();
        block_fills(b, partition);
        const int form = b->form < 5 ? b->form : 1 + partition % 4; /* 5: each partition in another one */
        if (form == 1)
            MPIX_Pready_range(partition, partition, device);
        else if (form == 2)
            MPIX_Pready_block(partition, device);
        else if (form == 3)
            MPIX_Pready_warp(partition, device);
        else
            MPIX_Pready(partition, device);
    }
    return NULL;
}

static void *block_looks(void *with)
{
    struct block *b = with;
    const struct side *side = &b->pair->recv;
    for (int p = 0; p < side->partitions; p++) {
        int flag = 0;
        while (!flag) {
            MPIX_Parrived(side->device, b->order[p], &flag);
            if (!flag)
                sched_yield();
        }
        for (int i = 0; i < side->ints; i++) {
            const size_t at = (size_t)b->order[p] * (size_t)side->ints + (size_t)i;
            if (side->memory[at] != value(b->program, b->which, b->round, at))
                b->wrong = b->order[p];
        }
    }
    return NULL;
}

static void shuffle(int *order, int n)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        const int j = draw(i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* ---- programs ---- */

static void draw_pair(struct pair *pair)
{
    static const int units[] = {1, 7, 300, 5000};
    const int p = 1 + draw(MOST), q = 1 + draw(MOST);
    pair->total = (size_t)p * (size_t)q * (size_t)units[draw(4)];
    pair->transports = draw(2) ? 1 + draw(p) : 0;
    pair->prepares = draw(4) > 0;
    pair->late = draw(2);
    pair->send = (struct side){.rank = draw(kit_size), .partitions = p, .ints = (int)(pair->total / (size_t)p)};
    pair->recv = (struct side){.rank = draw(kit_size), .partitions = q, .ints = (int)(pair->total / (size_t)q)};
    pair->send.kind = draw(6) ? KIT_DEVICE : KIT_HOST;
    pair->recv.kind = draw(6) ? KIT_DEVICE : KIT_HOST;
    pair->send.kernel = draw(4) > 0;
    pair->recv.kernel = draw(2);
}

static void side_create(struct side *side)
{
    if (side->rank != kit_rank || !side->kernel)
        return;
    const int code = MPIX_Prequest_create(side->request, &side->device);
    CHECK(code == MPI_SUCCESS, "MPIX_Prequest_create: error class %d", kit_class(code));
}

static void pair_open(struct pair *pair, int which)
{
    struct side *sides[] = {&pair->send, &pair->recv};
    for (int s = 0; s < 2; s++) {
        struct side *side = sides[s];
        MPI_Info info = MPI_INFO_NULL;
        char text[16];
        if (side->rank != kit_rank)
            continue;
        kit_open(&side->buffer, (enum kit_kind)side->kind, pair->total * sizeof(int));
        side->memory = kit_put(&side->buffer, 0, NULL, pair->total * sizeof(int));
        if (s == 0 && pair->transports > 0) {
            snprintf(text, sizeof text, "%d", pair->transports);
            MPI_Info_create(&info);
            MPI_Info_set(info, "tutti_transport_partitions", text);
        }
        int code = s == 0 ? psend_init(side->memory, side->partitions, side->ints, MPI_INT, pair->recv.rank, which,
                                       MPI_COMM_WORLD, info, &side->request)
                          : precv_init(side->memory, side->partitions, side->ints, MPI_INT, pair->send.rank, which,
                                       MPI_COMM_WORLD, info, &side->request);
        CHECK(code == MPI_SUCCESS, "init: error class %d", kit_class(code));
        if (info != MPI_INFO_NULL)
            MPI_Info_free(&info);
        if (!pair->late)
            side_create(side);
    }
}

static void pair_close(struct pair *pair)
{
    struct side *sides[] = {&pair->send, &pair->recv};
    for (int s = 0; s < 2; s++) {
        if (sides[s]->rank != kit_rank)
            continue;
        if (sides[s]->kernel && draw(2))
            CHECK(MPIX_Prequest_free(&sides[s]->device) == MPI_SUCCESS, "MPIX_Prequest_free");
        MPI_Request_free(&sides[s]->request);
        kit_close(&sides[s]->buffer);
    }
}

/* Frees the buffer and allocates it again. 1: at the same address. */
static int side_again(struct side *side, size_t bytes)
{
    const size_t all = bytes + 2 * KIT_GUARD + KIT_OFFSET;
    void *const before = side->buffer.base, *after = NULL;
    if (side->rank != kit_rank || side->kind != KIT_DEVICE || kit_plain)
        return 1;
    CHECK(tutti_free(before) == 0 && tutti_alloc(all, &after) == 0, "memory again");
    side->buffer.base = after;
    return after == before;
}

/* Of some sides, between rounds. 0: a buffer has another address, so the requests are not used any more. */
static int pairs_again(struct pair *pairs, int n)
{
    int same = 1, all = 1;
    for (int i = 0; i < n; i++) {
        if (draw(4) == 0)
            same &= side_again(&pairs[i].send, pairs[i].total * sizeof(int));
        if (draw(4) == 0)
            same &= side_again(&pairs[i].recv, pairs[i].total * sizeof(int));
    }
    MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

static void pair_fill(struct pair *pair, uint64_t program, int which, int round)
{
    int *data = malloc(pair->total * sizeof *data);
    for (size_t i = 0; i < pair->total; i++)
        data[i] = value(program, which, round, i);
    if (pair->send.rank == kit_rank)
        pair->send.memory = kit_put(&pair->send.buffer, 0, pair->send.kernel ? NULL : data, pair->total * sizeof(int));
    if (pair->recv.rank == kit_rank)
        pair->recv.memory = kit_put(&pair->recv.buffer, 0, NULL, pair->total * sizeof(int));
    free(data);
}

static void pair_check(struct pair *pair, uint64_t program, int which, int round)
{
    int guards = 1;
    const int *got = (const int *)(const void *)kit_get(&pair->recv.buffer, &guards);
    size_t i = 0;
    while (i < pair->total && got[i] == value(program, which, round, i))
        i++;
    CHECK(i == pair->total && guards, "program %llu, pair %d, round %d: integer %zu of %zu is wrong (guards %d)",
          (unsigned long long)program, which, round, i, pair->total, guards);
}

/* The kernels of a round, on the ranks that have them; others mark by the host. */
static int kernels_launch(struct pair *pairs, int n, uint64_t program, int round, struct block *blocks,
                          pthread_t *threads)
{
    int used = 0;
    for (int i = 0; i < n; i++) {
        int order[MOST], at = 0;
        const int forms = draw(2) ? 2 : draw(6), count = 1 + draw(BLOCKS);
        shuffle(order, pairs[i].send.partitions);
        for (int b = 0; b < count; b++) {
            const int end = pairs[i].send.partitions * (b + 1) / count;
            struct block *block = &blocks[used];
            *block = (struct block){.pair = &pairs[i],
                                    .program = program,
                                    .which = i,
                                    .round = round,
                                    .form = forms,
                                    .n = end - at,
                                    .wrong = -1};
            memcpy(block->order, order + at, (size_t)(end - at) * sizeof(int));
            at = end;
            if (pairs[i].send.rank == kit_rank && pairs[i].send.kernel)
                CHECK(pthread_create(&threads[used++], NULL, block_marks, block) == 0, "a thread");
        }
        for (int p = 0; pairs[i].send.rank == kit_rank && !pairs[i].send.kernel && p < pairs[i].send.partitions; p++)
            CHECK(pready(order[p], pairs[i].send.request) == MPI_SUCCESS, "MPI_Pready");
        struct block *block = &blocks[used];
        *block = (struct block){.pair = &pairs[i], .program = program, .which = i, .round = round, .wrong = -1};
        shuffle(block->order, pairs[i].recv.partitions);
        if (pairs[i].recv.rank == kit_rank && pairs[i].recv.kernel)
            CHECK(pthread_create(&threads[used++], NULL, block_looks, block) == 0, "a thread");
    }
    return used;
}

/* All in one call; or one after the other, on every rank another one first: each rank has started all of them. */
static void prepare(MPI_Request *requests, int n)
{
    const int together = draw(2), reversed = kit_rank % 2;
    int code = together ? MPIX_Pbuf_prepareall(n, requests) : MPI_SUCCESS;
    for (int i = 0; !together && i < n && code == MPI_SUCCESS; i++)
        code = MPIX_Pbuf_prepare(requests[reversed ? n - 1 - i : i]);
    CHECK(code == MPI_SUCCESS, "MPIX_Pbuf_prepare: error class %d", kit_class(code));
}

static void round_run(struct pair *pairs, int n, uint64_t program, int round)
{
    MPI_Request requests[2 * PAIRS], prepared[2 * PAIRS];
    MPI_Status statuses[2 * PAIRS];
    struct block blocks[PAIRS * (BLOCKS + 1) + 1];
    pthread_t threads[PAIRS * (BLOCKS + 1)];
    int used = 0, prepares = 0;
    for (int i = 0; i < n; i++) {
        pair_fill(&pairs[i], program, i, round);
        const int prepared_now = pairs[i].prepares && (round == 0 || draw(8) > 0);
        struct side *sides[] = {&pairs[i].recv, &pairs[i].send};
        for (int s = 0; s < 2; s++) {
            if (sides[s]->rank != kit_rank)
                continue;
            requests[used++] = sides[s]->request;
            if (prepared_now)
                prepared[prepares++] = sides[s]->request;
        }
    }
    int code = MPI_Startall(used, requests);
    CHECK(code == MPI_SUCCESS, "MPI_Startall: error class %d", kit_class(code));
    prepare(prepared, prepares);
    for (int i = 0; i < n && round == 0; i++) {
        if (pairs[i].late) {
            side_create(&pairs[i].send);
            side_create(&pairs[i].recv);
        }
    }
    const int launched = kernels_launch(pairs, n, program, round, blocks, threads);
    if (draw(2)) {
        code = MPI_Waitall(used, requests, statuses);
    } else {
        for (int done = 0; code == MPI_SUCCESS && !done;)
            code = MPI_Testall(used, requests, &done, statuses);
    }
    CHECK(code == MPI_SUCCESS, "completion: error class %d", kit_class(code));
    for (int i = 0; i < launched; i++) {
        pthread_join(threads[i], NULL);
        CHECK(blocks[i].wrong < 0, "program %llu: a kernel saw partition %d before its data",
              (unsigned long long)program, blocks[i].wrong);
    }
    for (int i = 0; i < n; i++) {
        if (pairs[i].recv.rank == kit_rank)
            pair_check(&pairs[i], program, i, round);
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
    for (int i = 0; i < n; i++)
        pair_open(&pairs[i], i);
    for (int round = 0; round < rounds && (round == 0 || pairs_again(pairs, n)); round++)
        round_run(pairs, n, program, round);
    for (int i = 0; i < n; i++)
        pair_close(&pairs[i]);
}

static void expected(const char *how)
{
    uint64_t mine = kit_counted("partitions of kernels", how), all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all > 0, "no partition was %s", how);
}

static void errors(void)
{
    enum { N = 4 };
    int in[N] = {1, 2, 3, 4}, out[N] = {0};
    MPI_Request s, r;
    MPIX_Prequest device, other;
    MPI_Info info;
    int flag, code;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "tutti_transport_partitions", "5");
    code = psend_init(in, N, 1, MPI_INT, 0, 5, MPI_COMM_SELF, info, &s);
    CHECK(kit_class(code) == MPI_ERR_INFO_VALUE, "5 transport partitions of 4: class %d", kit_class(code));
    MPI_Info_free(&info);
    CHECK(psend_init(in, N, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_INFO_NULL, &s) == MPI_SUCCESS, "init");
    CHECK(precv_init(out, N, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_INFO_NULL, &r) == MPI_SUCCESS, "init");
    code = MPIX_Pbuf_prepare(s);
    CHECK(kit_class(code) == MPI_ERR_REQUEST, "MPIX_Pbuf_prepare, inactive: class %d", kit_class(code));
    CHECK(MPIX_Prequest_create(s, &device) == MPI_SUCCESS, "MPIX_Prequest_create");
    code = MPIX_Prequest_create(s, &other);
    CHECK(kit_class(code) == MPI_ERR_REQUEST, "a second device request: class %d", kit_class(code));
    MPI_Start(&s);
    MPI_Start(&r);
    code = MPIX_Prequest_free(&device);
    CHECK(kit_class(code) == MPI_ERR_REQUEST, "MPIX_Prequest_free, active: class %d", kit_class(code));
    MPIX_Pready_range(0, N - 1, device);
    CHECK(MPI_Wait(&s, MPI_STATUS_IGNORE) == MPI_SUCCESS && MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS, "waits");
    CHECK(memcmp(in, out, sizeof in) == 0, "what a kernel has marked");
    MPI_Request_free(&s); /* with its device request */
    MPI_Request_free(&r);
    for (int wrong = 0; wrong < 3; wrong++) { /* what a kernel does wrongly, the completion reports */
        CHECK(psend_init(in, N, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_SELF, MPI_INFO_NULL, &s) == MPI_SUCCESS, "init");
        CHECK(MPIX_Prequest_create(s, &device) == MPI_SUCCESS, "MPIX_Prequest_create");
        MPI_Start(&s);
        CHECK(MPIX_Pbuf_prepare(s) == MPI_SUCCESS, "MPIX_Pbuf_prepare to MPI_PROC_NULL");
        MPIX_Pready_range(0, N - 2, device);
        if (wrong == 0)
            MPIX_Pready(N - 1, device);
        else if (wrong == 1)
            MPIX_Pready(N, device);
        else
            MPIX_Parrived(device, 0, &flag);
        code = MPI_Wait(&s, MPI_STATUS_IGNORE);
        CHECK(kit_class(code) == (wrong ? MPI_ERR_ARG : MPI_SUCCESS), "wrong use %d: class %d", wrong, kit_class(code));
        CHECK(MPIX_Prequest_free(&device) == MPI_SUCCESS, "MPIX_Prequest_free");
        MPI_Request_free(&s);
    }
}

int main(int argc, char **argv)
{
    const int programs = argc > 1 ? atoi(argv[1]) : 20;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    psend_init = find("MPI_Psend_init");
    precv_init = find("MPI_Precv_init");
    pready = find("MPI_Pready");
    for (int i = 0; i < programs; i++)
        program_run((uint64_t)i);
    if (getenv("TUTTI_TEST_EXPECT"))
        expected(getenv("TUTTI_TEST_EXPECT"));
    if (kit_errors_returned())
        errors();
    return kit_end("partitioned requests in kernels");
}
