/* Partitioned collectives: random programs against the plain collectives, and reductions bit by bit against the
 * oracle. Every rank draws the same program: some of the 21 calls, on several communicators; numbers of partitions,
 * which differ between ranks where they may; types, kinds of memory, in place or not; rounds. Each rank marks
 * partitions of all requests in an order of its own, by several calls and threads, waits for some by MPI_Parrived, or
 * marks a partition only after the one before has arrived.
 *
 * Arguments: number of programs, and words: threads, apart (no barriers), kernels (some requests have device requests,
 * and are marked as kernels do, each thread being a block), device (reductions of device memory, which is freed now and
 * then between rounds, and allocated again), a name of a call: this call alone. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcoll.h"

#include "tutti/device/prequest.h"

enum { CALLS = 3, ROUNDS = 3, COMMS = 4, GRID = 3, MARKS = 3 * 64 };

int (*pcoll_pready)(int, MPI_Request);
int (*pcoll_pready_range)(int, int, MPI_Request);
int (*pcoll_pready_list)(int, const int[], MPI_Request);
int (*pcoll_parrived)(MPI_Request, int, int *);

static MPI_Comm comms[COMMS];
static MPI_Op function;
static int use_threads, may_meet = 1, only = -1;

static void *find(const char *name)
{
    void *call = dlsym(RTLD_DEFAULT, name);
    CHECK(call != NULL, "%s is not there", name);
    return call;
}

static int draw(uint64_t *dice, int n)
{
    return (int)(random_next(dice) % (uint64_t)n);
}

/* x -> a x + b: associative, not commutative. */
static void compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const unsigned *a = in;
    unsigned *b = inout;
    (void)type;
    for (int i = 0; i < *n; i++, a += 2, b += 2) {
        const unsigned both[2] = {a[0] * b[0], a[0] * b[1] + a[1]};
        memcpy(b, both, sizeof both);
    }
}

/* ---- marking ---- */

struct mark {
    struct pcoll *c;
    int partition;
};

static int mark_by_kernel(struct pcoll *c, int p)
{
    switch (c->is_long && p % 3 ? 4 : p % 5) { /* slices are combined by blocks alone */
    case 0:
        return MPIX_Pready(p, c->device);
    case 1:
        return MPIX_Pready_warp(p, c->device);
    case 2:
        return MPIX_Pready_range(p, p, c->device);
    case 3:
        return MPIX_Pready_list(1, &p, c->device);
    default:
        return MPIX_Pready_block(p, c->device);
    }
}

static void mark_one(struct pcoll *c, int p, int form)
{
    int code;
    pcoll_produce(c, p);
    if (c->by_kernels && (p + c->root) % 4) {
        mark_by_kernel(c, p);
        return;
    }
    if (form == 0)
        code = pcoll_pready(p, c->request);
    else if (form == 1)
        code = pcoll_pready_range(p, p, c->request);
    else
        code = pcoll_pready_list(1, &p, c->request);
    CHECK(code == MPI_SUCCESS, "marking partition %d of MPIX_%s_init: error class %d", p, pcoll_names[c->kind],
          kit_class(code));
}

static int partitions_of(const struct pcoll *c)
{
    const int scatters = c->kind == PC_SCATTER || c->kind == PC_SCATTERV;
    if (!c->send.used)
        return 0;
    return c->kind == PC_BCAST || (c->in_place && !scatters) ? c->recv.partitions : c->send.partitions;
}

struct marks {
    const struct mark *mark;
    int n;
};

static void *mark_all(void *with)
{
    const struct marks *marks = with;
    for (int i = 0; i < marks->n; i++)
        mark_one(marks->mark[i].c, marks->mark[i].partition, marks->mark[i].partition % 3);
    return NULL;
}

/* All partitions of all calls, in an order of this rank. */
static void mark_shuffled(struct pcoll *calls, int n, uint64_t *own)
{
    struct mark mark[MARKS];
    int used = 0;
    for (int i = 0; i < n; i++) {
        for (int p = 0; p < partitions_of(&calls[i]); p++)
            mark[used++] = (struct mark){&calls[i], p};
    }
    for (int i = used - 1; i > 0; i--) {
        const int j = draw(own, i + 1);
        const struct mark kept = mark[i];
        mark[i] = mark[j];
        mark[j] = kept;
    }
    struct marks one = {mark, used / 2}, two = {mark + used / 2, used - used / 2};
    pthread_t thread;
    if (use_threads && pthread_create(&thread, NULL, mark_all, &one) == 0) {
        mark_all(&two);
        pthread_join(thread, NULL);
        return;
    }
    mark_all(&one);
    mark_all(&two);
}

/* All of a call at once. */
static void mark_together(struct pcoll *calls, int n, uint64_t *own)
{
    int order[64];
    for (int i = 0; i < n; i++) {
        const int partitions = partitions_of(&calls[i]);
        for (int p = 0; p < partitions; p++) {
            pcoll_produce(&calls[i], p);
            order[p] = partitions - 1 - p;
        }
        int code = MPI_SUCCESS;
        if (partitions > 0 && calls[i].by_kernels)
            code = draw(own, 2) ? MPIX_Pready_range(0, partitions - 1, calls[i].device)
                                : MPIX_Pready_list(partitions, order, calls[i].device);
        else if (partitions > 0)
            code = draw(own, 2) ? pcoll_pready_range(0, partitions - 1, calls[i].request)
                                : pcoll_pready_list(partitions, order, calls[i].request);
        CHECK(code == MPI_SUCCESS, "marking MPIX_%s_init: error class %d", pcoll_names[calls[i].kind], kit_class(code));
    }
}

/* 1 if this rank gets partitions of a result. */
static int gets(const struct pcoll *c)
{
    return c->recv.used && !(c->in_place && (c->kind == PC_SCATTER || c->kind == PC_SCATTERV)); /* its block stays */
}

/* 1 if partitions arrive before the round ends. */
static int arrives(const struct pcoll *c)
{
    const int late = c->in_place && (c->kind == PC_ALLTOALL || c->kind == PC_ALLTOALLV || c->kind == PC_ALLTOALLW ||
                                     c->kind == PC_REDUCE_SCATTER || c->kind == PC_REDUCE_SCATTER_BLOCK);
    return gets(c) && !late;
}

static void await(struct pcoll *c, int p)
{
    int flag = 0, seen = !c->by_kernels, code = MPI_SUCCESS;
    while (!(flag && seen) && code == MPI_SUCCESS) {
        if (!seen)
            MPIX_Parrived(c->device, p, &seen);
        code = pcoll_parrived(c->request, p, &flag);
    }
    CHECK(code == MPI_SUCCESS, "MPI_Parrived of MPIX_%s_init: error class %d", pcoll_names[c->kind], kit_class(code));
    pcoll_check(c, p, "a partition that has arrived");
}

/* A partition is marked when the result of the one before is here. Both sides have the same partitions. */
static void mark_in_turn(struct pcoll *calls, int n)
{
    for (int i = 0; i < n; i++) {
        struct pcoll *c = &calls[i];
        for (int p = 0; p < c->recv.partitions; p++) {
            if (p < partitions_of(c))
                mark_one(c, p, 0);
            if (arrives(c))
                await(c, p);
        }
    }
}

/* ---- rounds ---- */

static void round_run(struct pcoll *calls, int n, uint64_t seed, uint64_t *dice, uint64_t *own)
{
    MPI_Request requests[CALLS];
    MPI_Status statuses[CALLS];
    int done = 0, code, reductions = 1;
    for (int i = 0; i < n; i++) {
        pcoll_fill(&calls[i], seed + (uint64_t)i * 7919);
        requests[i] = calls[i].request;
        reductions &= calls[i].kind >= PC_MOVERS;
    }
    code = MPI_Startall(n, requests);
    CHECK(code == MPI_SUCCESS, "MPI_Startall: error class %d", kit_class(code));
    const int way = draw(dice, 4), meets = draw(dice, 4) == 0;
    if (way == 0 && reductions)
        mark_in_turn(calls, n);
    else if (way == 1)
        mark_together(calls, n, own);
    else
        mark_shuffled(calls, n, own);
    for (int i = 0; i < n; i++) {
        for (int p = 0; p < calls[i].recv.partitions && gets(&calls[i]) && draw(own, 2); p++)
            await(&calls[i], p);
    }
    if (meets && may_meet) /* see `Limits` of docs/partitioned.md */
        MPI_Barrier(MPI_COMM_WORLD);
    if (draw(own, 2)) {
        code = MPI_Waitall(n, requests, statuses);
    } else {
        while (!done && code == MPI_SUCCESS)
            code = MPI_Testall(n, requests, &done, statuses);
    }
    CHECK(code == MPI_SUCCESS, "completion: error class %d", kit_class(code));
    for (int i = 0; i < n; i++)
        pcoll_check(&calls[i], -1, "the result");
}

/* Between rounds. 0: memory has another address, so the requests are not used any more. */
static int calls_again(struct pcoll *calls, int n, uint64_t *own)
{
    int same = 1, all = 1;
    for (int i = 0; i < n && pcoll_on_device; i++)
        same &= pcoll_again(&calls[i], own);
    if (pcoll_on_device)
        MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

static void program_run(uint64_t program)
{
    struct pcoll calls[CALLS];
    uint64_t dice = random_mix(kit_seed + program), own = random_mix(dice + (uint64_t)kit_rank);
    const int n = 1 + draw(&dice, CALLS), rounds = 1 + draw(&dice, pcoll_on_device ? 3 * ROUNDS : ROUNDS);
    const long failed = check_failed();
    for (int i = 0; i < n; i++) {
        const int any = draw(&dice, PC_KINDS), kind = only >= 0 ? only : any, comm = draw(&dice, GRID);
        const int grid = kind >= PC_NEIGHBOR_ALLGATHER && kind <= PC_NEIGHBOR_ALLTOALLW;
        pcoll_open(&calls[i], kind, comms[grid ? GRID : comm], function, &dice, &own);
    }
    for (int round = 0; round < rounds && (round == 0 || calls_again(calls, n, &own)); round++)
        round_run(calls, n, random_mix(dice + (uint64_t)round), &dice, &own);
    for (int i = 0; i < n; i++)
        pcoll_close(&calls[i]);
    if (check_failed() != failed)
        fprintf(stderr, "rank %d: program %llu of seed %llu has failed\n", kit_rank, (unsigned long long)program,
                (unsigned long long)kit_seed);
}

/* ---- errors ---- */

/* Each error has its class, and what it names is not done. */
static void errors(MPI_Comm comm)
{
    enum { N = 4 };
    int in[N] = {1, 2, 3, 4}, out[N] = {0}, twice[] = {1, 1}, flag = 0, ranks;
    MPI_Request request;
    MPI_Comm_size(comm, &ranks);
    int code = MPIX_Pallreduce_init(in, out, -1, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    CHECK(kit_class(code) == MPI_ERR_ARG, "partitions below 0: class %d", kit_class(code));
    code = MPIX_Pallreduce_init(in, out, N, -1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    CHECK(kit_class(code) == MPI_ERR_COUNT, "a count below 0: class %d", kit_class(code));
    code = MPIX_Pallreduce_init(in, out, N, 1, MPI_FLOAT, MPI_BAND, comm, MPI_INFO_NULL, &request);
    CHECK(kit_class(code) == MPI_ERR_OP, "an operator that the type lacks: class %d", kit_class(code));
    code = MPIX_Pbcast_init(in, N, 1, MPI_INT, ranks, comm, MPI_INFO_NULL, &request);
    CHECK(kit_class(code) == MPI_ERR_ROOT, "a root that does not exist: class %d", kit_class(code));
    code = MPIX_Pneighbor_allgather_init(in, N, 1, MPI_INT, out, N, 1, MPI_INT, comm, MPI_INFO_NULL, &request);
    CHECK(kit_class(code) == MPI_ERR_TOPOLOGY, "no topology: class %d", kit_class(code));
    code = MPIX_Pallreduce_init(in, out, N, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    CHECK(code == MPI_SUCCESS, "init: class %d", kit_class(code));
    code = pcoll_pready(0, request);
    CHECK(kit_class(code) == MPI_ERR_REQUEST, "Pready, inactive: class %d", kit_class(code));
    CHECK(pcoll_parrived(request, 0, &flag) == MPI_SUCCESS && flag, "Parrived, inactive");
    MPI_Start(&request);
    code = MPI_Start(&request);
    CHECK(kit_class(code) == MPI_ERR_REQUEST, "started twice: class %d", kit_class(code));
    code = pcoll_pready(N, request);
    CHECK(kit_class(code) == MPI_ERR_ARG, "Pready, no such partition: class %d", kit_class(code));
    code = pcoll_pready_range(2, 1, request);
    CHECK(kit_class(code) == MPI_ERR_ARG, "Pready_range, empty: class %d", kit_class(code));
    code = pcoll_pready_list(2, twice, request);
    CHECK(kit_class(code) == MPI_ERR_ARG, "Pready_list, twice: class %d", kit_class(code));
    CHECK(pcoll_pready(1, request) == MPI_SUCCESS, "Pready after errors");
    code = pcoll_pready(1, request);
    CHECK(kit_class(code) == MPI_ERR_ARG, "Pready, twice: class %d", kit_class(code));
    code = pcoll_parrived(request, N, &flag);
    CHECK(kit_class(code) == MPI_ERR_ARG, "Parrived, no such partition: class %d", kit_class(code));
    CHECK(pcoll_parrived(request, 3, &flag) == MPI_SUCCESS && !flag, "a partition that was not marked has arrived");
    code = MPI_Cancel(&request);
    CHECK(kit_class(code) == MPI_ERR_REQUEST, "MPI_Cancel: class %d", kit_class(code));
    CHECK(pcoll_pready_range(2, 3, request) == MPI_SUCCESS && pcoll_pready(0, request) == MPI_SUCCESS, "the rest");
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
    for (int i = 0; i < N; i++)
        CHECK(out[i] == ranks * in[i], "after errors: %d", out[i]);
    MPI_Request_free(&request);
    /* A rank that contributes nothing marks nothing. No partitions; no elements. */
    MPIX_Pbcast_init(in, N, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    int rank;
    MPI_Comm_rank(comm, &rank);
    code = rank == 0 ? pcoll_pready_range(0, N - 1, request) : pcoll_pready(0, request);
    CHECK(kit_class(code) == (rank == 0 ? MPI_SUCCESS : MPI_ERR_REQUEST), "Pready of a bcast: class %d",
          kit_class(code));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    MPIX_Pallreduce_init(in, out, 0, 5, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "no partitions");
    MPI_Request_free(&request);
    MPIX_Pallreduce_init(in, out, N, 0, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    pcoll_pready_range(0, N - 1, request);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "no elements");
    MPI_Request_free(&request);
}

static void arguments(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        use_threads |= strcmp(argv[i], "threads") == 0;
        pcoll_kernels |= strcmp(argv[i], "kernels") == 0;
        pcoll_on_device |= strcmp(argv[i], "device") == 0;
        may_meet &= strcmp(argv[i], "apart") != 0;
        for (int k = 0; k < PC_KINDS; k++)
            only = strcmp(argv[i], pcoll_names[k]) == 0 ? k : only;
    }
}

/* 1 if every rank made rounds of that call in that way, or none is expected. */
static int was_made(const char *call, const char *way)
{
    int made = !way || kit_counted(call, way) > 0;
    MPI_Allreduce(MPI_IN_PLACE, &made, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return made;
}

int main(int argc, char **argv)
{
    enum { MORE = 1000 }; /* programs, until the way that is expected has been drawn */
    const int programs = argc > 1 ? atoi(argv[1]) : 20, first = (int)check_setting("TUTTI_TEST_FIRST", 0);
    const char *const expected = getenv("TUTTI_TEST_EXPECT"), *const expected_of = getenv("TUTTI_TEST_OF");
    int wide[2] = {0, 0}, around[2] = {1, 0};
    arguments(argc, argv);
    /* MPICH 4.0's own MPI_Allgatherv, the oracle, cuts a long block by the extent of its rank's type: ranks with types
     * of other extents then wait for each other, or get MPI_ERR_TRUNCATE, also without Tutti. */
    setenv("MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE", "0", 0);
    const int level = kit_start(&argc, &argv, use_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    use_threads = use_threads && level == MPI_THREAD_MULTIPLE;
    *(void **)(void *)&pcoll_pready = find("MPI_Pready");
    *(void **)(void *)&pcoll_pready_range = find("MPI_Pready_range");
    *(void **)(void *)&pcoll_pready_list = find("MPI_Pready_list");
    *(void **)(void *)&pcoll_parrived = find("MPI_Parrived");
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -kit_rank, &comms[2]);
    MPI_Dims_create(kit_size, 2, wide);
    MPI_Cart_create(MPI_COMM_WORLD, 2, wide, around, 0, &comms[GRID]);
    for (int i = 1; i < COMMS; i++)
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    MPI_Op_create(compose, 0, &function);
    if (kit_errors_returned())
        errors(comms[1]);
    for (int i = first; i < first + programs || (i < first + programs + MORE && !was_made(expected_of, expected)); i++)
        program_run((uint64_t)i);
    CHECK(was_made(expected_of, expected), "no round of %s was made by %s", expected_of, expected);
    MPI_Op_free(&function);
    for (int i = 1; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
    return kit_end("partitioned collectives");
}
