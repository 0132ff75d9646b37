/* Allreduce over a team of threads, on the host device: every algorithm against a plain loop.
 * usage: allreduce_test RANKS ALGORITHM [borrowed]   (TUTTI_RULES is set from it; TUTTI_HOST_GPUS by the caller) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/coll.h"
#include "core/settings.h"
#include "core/status.h"
#include "core/types.h"
#include "device/device.h"
#include "support/threads.h"
#include "tutti/tutti.h"

enum { GUARD = 64, MOST = 300000 };

static unsigned seed;
static const char *algorithm;
static int failures, borrowed;

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: seed %u: ", __FILE__, __LINE__, seed);                                             \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fprintf(stderr, "\n");                                                                                     \
            __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);                                                        \
        }                                                                                                              \
    } while (0)

static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

/* Element i of rank r in round n, the same wherever it is asked for. */
static uint64_t value(int rank, size_t i, int round)
{
    return mix((uint64_t)seed << 40 ^ (uint64_t)(unsigned)round << 28 ^ (uint64_t)(unsigned)rank << 24 ^ i);
}

static const struct pair {
    int type, op;
} pairs[] = {
    {TUTTI_TYPE_F32, TUTTI_OP_SUM}, {TUTTI_TYPE_F64, TUTTI_OP_PROD}, {TUTTI_TYPE_I32, TUTTI_OP_MIN},
    {TUTTI_TYPE_U8, TUTTI_OP_BXOR}, {TUTTI_TYPE_I64, TUTTI_OP_SUM},  {TUTTI_TYPE_I16, TUTTI_OP_MAX},
    {TUTTI_TYPE_F64, TUTTI_OP_SUM},
};

static void put(void *at, size_t i, int type, uint64_t bits)
{
    char *to = (char *)at + i * tutti_type_size(type);
    float f = (float)(int64_t)bits * 0x1p-60f;
    double d = 1.0 + (double)(int64_t)bits * 0x1p-66;
    if (type == TUTTI_TYPE_F32)
        memcpy(to, &f, sizeof f);
    else if (type == TUTTI_TYPE_F64)
        memcpy(to, &d, sizeof d);
    else
        memcpy(to, &bits, tutti_type_size(type));
}

/* One element in rank order, by the plainest code there is. */
static void oracle(void *out, size_t i, int type, int op, int ranks, int round)
{
    char first[16], next[16];
    put(first, 0, type, value(0, i, round));
    for (int r = 1; r < ranks; r++) {
        put(next, 0, type, value(r, i, round));
#define CASE(T, ctype, O, expression)                                                                                  \
    if (type == TUTTI_TYPE_##T && op == TUTTI_OP_##O) {                                                                \
        ctype a, b;                                                                                                    \
        memcpy(&a, first, sizeof a);                                                                                   \
        memcpy(&b, next, sizeof b);                                                                                    \
        a = (ctype)(expression);                                                                                       \
        memcpy(first, &a, sizeof a);                                                                                   \
    }
        CASE(F32, float, SUM, a + b)
        CASE(F64, double, SUM, a + b)
        CASE(F64, double, PROD, a *b)
        CASE(I32, int32_t, MIN, b < a ? b : a)
        CASE(U8, uint8_t, BXOR, a ^ b)
        CASE(I64, uint64_t, SUM, a + b)
        CASE(I16, int16_t, MAX, b > a ? b : a)
    }
    memcpy((char *)out + i * tutti_type_size(type), first, tutti_type_size(type));
}

struct buffers {
    char *in, *out;          /* device */
    unsigned char *scratch;  /* host */
    unsigned char *expected; /* host */
};

static void round_of(struct tutti_team *team, struct buffers *b, int round)
{
    uint64_t dice = mix(seed * 977u + (unsigned)round);
    struct pair pair = pairs[dice % (sizeof pairs / sizeof pairs[0])];
    size_t size = tutti_type_size(pair.type);
    static const size_t counts[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 255, 1000, 4097, 20000, MOST / 8};
    size_t count = counts[(dice >> 8) % (sizeof counts / sizeof counts[0])];
    size_t offset = GUARD + ((dice >> 16) % 5) * (dice >> 20 & 1 ? 1 : size);
    int in_place = (int)(dice >> 24 & 1);
    int kind = (dice >> 25 & 15) == 0 && team->rank == 0 ? TUTTI_ARRIVAL_HOST : TUTTI_ARRIVAL_DEVICE;
    char *in = in_place ? b->out : b->in;

    memset(b->scratch, 0x5e, MOST + 4 * GUARD);
    for (size_t i = 0; i < count; i++)
        put(b->scratch + offset, i, pair.type, value(team->rank, i, round));
    CHECK(tutti_copy(in, b->scratch, MOST + 4 * GUARD) == 0, "copy in");
    if (!in_place) {
        memset(b->scratch, 0x5e, MOST + 4 * GUARD);
        CHECK(tutti_copy(b->out, b->scratch, MOST + 4 * GUARD) == 0, "copy in");
    }
    struct tutti_reduce call = {.collective = TUTTI_COLLECTIVE_ALLREDUCE,
                                .in = in + offset,
                                .out = b->out + offset,
                                .count = count,
                                .type = pair.type,
                                .op = pair.op,
                                .kind = kind,
                                .gpu = -1,
                                .host_ok = 0};
    enum tutti_taken taken;
    const char *why;
    int status = tutti_collective(team, &call, &taken, &why);
    CHECK(status == TUTTI_OK, "rank %d: allreduce: %s", team->rank, tutti_status_text(status));
    CHECK(taken == TUTTI_TAKEN, "rank %d: passed: %s", team->rank, why);
    CHECK(tutti_copy(b->scratch, b->out, MOST + 4 * GUARD) == 0, "copy out");
    memset(b->expected, 0x5e, MOST + 4 * GUARD);
    for (size_t i = 0; i < count; i++)
        oracle(b->expected + offset, i, pair.type, pair.op, team->size, round);
    if (memcmp(b->expected, b->scratch, MOST + 4 * GUARD) != 0) {
        size_t at = 0;
        while (b->expected[at] == b->scratch[at])
            at++;
        CHECK(0, "rank %d round %d: %s of %zu %s at offset %zu%s by %s: byte %td is %02x, expected %02x", team->rank,
              round, tutti_op_name(pair.op), count, tutti_type_name(pair.type), offset, in_place ? ", in place" : "",
              why, (ptrdiff_t)at - (ptrdiff_t)offset, b->scratch[at], b->expected[at]);
    }
}

/* Memory that cannot be shared with others: a mapping of memory that came from elsewhere. */
static char *borrow(char *own)
{
    struct tutti_export what;
    void *base = NULL;
    int fd;
    CHECK(tutti_device()->export_memory(own, &what, &fd) == 0, "export");
    CHECK(tutti_device()->import_memory(0, &what, fd, &base) == 0, "import");
    close(fd);
    return base;
}

static int rank_main(struct tutti_transport *transport, void *unused)
{
    (void)unused;
    struct tutti_node *node;
    int status = tutti_node_open(transport, &node);
    CHECK(status == TUTTI_OK && node, "node: %s", tutti_status_text(status));
    if (!node)
        return 1;
    struct tutti_team *team;
    status = tutti_team_create(node, transport, &team);
    CHECK(status == TUTTI_OK, "team: %s", tutti_status_text(status));
    struct buffers b = {NULL, NULL, malloc(MOST + 4 * GUARD), malloc(MOST + 4 * GUARD)};
    CHECK(tutti_alloc(MOST + 4 * GUARD, (void **)&b.in) == 0 && tutti_alloc(MOST + 4 * GUARD, (void **)&b.out) == 0,
          "alloc");
    char *own_in = b.in, *own_out = b.out;
    if (borrowed) {
        b.in = borrow(own_in);
        b.out = borrow(own_out);
    }
    for (int round = 0; round < 200 && !failures; round++)
        round_of(team, &b, round);
    if (team->size > 1)
        CHECK(team->state == TUTTI_TEAM_OPEN, "the team never opened: %s", team->why ? team->why : "?");
    transport->ops->barrier(transport);
    tutti_team_free(team);
    tutti_free(own_in);
    tutti_free(own_out);
    free(b.scratch);
    free(b.expected);
    tutti_node_close(node);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: allreduce_test RANKS ALGORITHM [borrowed]\n");
        return 2;
    }
    const char *given = getenv("TUTTI_TEST_SEED");
    seed = given ? (unsigned)strtoul(given, NULL, 10) : 20261121u;
    algorithm = argv[2];
    borrowed = argc == 4;
    char rules[64];
    snprintf(rules, sizeof rules, "allreduce: *@%s", algorithm);
    setenv("TUTTI_RULES", rules, 1);
    printf("seed %u, %s ranks, %s\n", seed, argv[1], algorithm);
    int status = tutti_threads_run(atoi(argv[1]), rank_main, NULL);
    return status != 0 || failures != 0;
}
