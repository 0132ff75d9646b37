#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/counters.h"
#include "real_mpi.h"
#include "tutti/tutti.h"

int kit_rank, kit_size, kit_plain, kit_leaves_gpus;

int kit_left_to_mpi(void)
{
    const char *rules = getenv("TUTTI_RULES");
    return rules && strstr(rules, "message:*@staged") && strstr(rules, "message_far:*@staged");
}
uint64_t kit_seed;

/* The types that this MPI's header has, from mpi_types.def. */
struct kit_handle kit_handles[] = {
#define TUTTI_MPI_TYPE(handle, group) {handle, #handle, TUTTI_GROUP_##group, TUTTI_TYPE_NONE, 0},
#define TUTTI_MPI_PAIR(handle, type)  {handle, #handle, TUTTI_GROUP_PAIR, TUTTI_TYPE_##type, 0},
#include "mpi_types_present.h"
#undef TUTTI_MPI_TYPE
#undef TUTTI_MPI_PAIR
};
enum { HANDLES = sizeof kit_handles / sizeof *kit_handles };
int kit_handle_count;
struct kit_pair kit_pairs[HANDLES * TUTTI_OPS];
int kit_pair_count;

static int element_of(int group, size_t size)
{
    static const int ints[] = {TUTTI_TYPE_I8, TUTTI_TYPE_I16, TUTTI_TYPE_I32, TUTTI_TYPE_I64};
    static const int uints[] = {TUTTI_TYPE_U8, TUTTI_TYPE_U16, TUTTI_TYPE_U32, TUTTI_TYPE_U64};
    int log = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : -1;
    switch (group) {
    case TUTTI_GROUP_FLOAT:
        return size == 4 ? TUTTI_TYPE_F32 : size == 8 ? TUTTI_TYPE_F64 : TUTTI_TYPE_NONE;
    case TUTTI_GROUP_COMPLEX:
        return size == 8 ? TUTTI_TYPE_C32 : size == 16 ? TUTTI_TYPE_C64 : TUTTI_TYPE_NONE;
    case TUTTI_GROUP_CUINT:
    case TUTTI_GROUP_LOGICAL:
    case TUTTI_GROUP_BYTE:
        return log < 0 ? TUTTI_TYPE_NONE : uints[log];
    default:
        return log < 0 ? TUTTI_TYPE_NONE : ints[log];
    }
}

/* Keeps the handles that the MPI really has, with their element types, and lists the legal pairs. */
static void find_handles(void)
{
    for (int i = 0; i < HANDLES; i++) {
        struct kit_handle handle = kit_handles[i];
        int size = 0;
        if (handle.type == MPI_DATATYPE_NULL || MPI_Type_size(handle.type, &size) != MPI_SUCCESS || size <= 0)
            continue;
        if (handle.group != TUTTI_GROUP_PAIR)
            handle.element = element_of(handle.group, (size_t)size);
        if (handle.element == TUTTI_TYPE_NONE)
            continue;
        handle.size = oracle_size(handle.element);
        kit_handles[kit_handle_count++] = handle;
    }
    for (int i = 0; i < kit_handle_count; i++) {
        for (int op = 0; op < TUTTI_OPS; op++) {
            if (oracle_reduces(op) && oracle_legal(op, kit_handles[i].group))
                kit_pairs[kit_pair_count++] = (struct kit_pair){&kit_handles[i], op};
        }
    }
}

MPI_Op kit_op(int op)
{
    switch (op) {
#define TUTTI_OP(id, name, kernel, signs, groups)                                                                      \
    case TUTTI_OP_##id:                                                                                                \
        return MPI_##id;
#include "tutti/ops.def"
#undef TUTTI_OP
    default:
        return MPI_OP_NULL;
    }
}

const struct kit_handle *kit_handle_of(int element)
{
    for (int i = 0; i < kit_handle_count; i++) {
        if (kit_handles[i].element == element)
            return &kit_handles[i];
    }
    return NULL;
}

int kit_start(int *argc, char ***argv, int level)
{
    int got;
    kit_plain = check_setting("TUTTI_TEST_PLAIN", 0) != 0;
    MPI_Init_thread(argc, argv, level, &got);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &kit_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &kit_size);
    check_rank(kit_rank);
    stands_open(kit_rank);
    kit_seed = check_seed();
    MPI_Bcast(&kit_seed, 8, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!kit_plain && !kit_leaves_gpus && strcmp(tutti_device_name(), "cuda") == 0 && tutti_gpu_count() > 0)
        tutti_gpu_set(kit_rank % tutti_gpu_count());
    find_handles();
    return got;
}

int kit_end(const char *name)
{
    long mine[2] = {check_done(), check_failed()}, sum[2] = {0, 0};
    int error = MPI_Reduce(mine, sum, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (kit_rank == 0)
        printf("%s: %d ranks, %ld checks, %ld failed, seed %llu\n", name, kit_size, sum[0], sum[1],
               (unsigned long long)kit_seed);
    MPI_Bcast(sum, 2, MPI_LONG, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return error != MPI_SUCCESS || mine[1] || sum[1] || sum[0] == 0 ? 1 : 0;
}

void kit_skip(const char *name, const char *why)
{
    if (kit_rank == 0)
        printf("%s: skipped: %s\n", name, why);
    MPI_Finalize();
    exit(CHECK_SKIP);
}

int kit_shares_gpus(void)
{
    return !kit_plain && tutti_gpu_count() < kit_size;
}

int kit_makes_windows(void)
{
    int word = 0;
    MPI_Win win;
    if (MPI_Win_create(&word, sizeof word, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) != MPI_SUCCESS)
        return 0;
    MPI_Win_free(&win);
    return 1;
}

/* ---- buffers ---- */

static char guard_at(size_t i)
{
    return (char)(0xa5 ^ (i * 29));
}

static void move(void *to, const void *from, size_t bytes, int device)
{
    if (!device || kit_plain) {
        memcpy(to, from, bytes);
        return;
    }
    int status = tutti_copy(to, from, bytes);
    CHECK(status == 0, "tutti_copy of %zu bytes: %s", bytes, tutti_status_text(status));
}

void kit_open(struct kit_buffer *b, enum kit_kind kind, size_t room)
{
    *b = (struct kit_buffer){.kind = kind, .room = room};
    size_t all = room + 2 * KIT_GUARD + KIT_OFFSET;
    void *base = NULL;
    if (kind == KIT_HOST || kit_plain)
        base = aligned_alloc(256, (all + 255) / 256 * 256);
    else if (!CHECK(tutti_alloc(all, &base) == 0, "tutti_alloc of %zu bytes", all))
        base = NULL;
    b->base = base;
    b->shadow = malloc(all);
    if (!b->base || !b->shadow) {
        fprintf(stderr, "rank %d: no memory for %zu bytes\n", kit_rank, all);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

void kit_close(struct kit_buffer *b)
{
    if (b->kind == KIT_HOST || kit_plain) {
        free(b->base);
    } else {
        int status = tutti_free(b->base);
        CHECK(status == 0, "tutti_free: %s", tutti_status_text(status));
    }
    free(b->shadow);
    *b = (struct kit_buffer){.base = NULL};
}

void *kit_put(struct kit_buffer *b, size_t offset, const void *data, size_t bytes)
{
    b->offset = offset;
    b->bytes = bytes;
    for (size_t i = 0; i < KIT_GUARD; i++)
        b->shadow[i] = b->shadow[KIT_GUARD + bytes + i] = guard_at(i);
    if (data)
        memcpy(b->shadow + KIT_GUARD, data, bytes);
    else
        memset(b->shadow + KIT_GUARD, 0x5d, bytes);
    move(b->base + offset, b->shadow, bytes + 2 * KIT_GUARD, b->kind == KIT_DEVICE);
    return b->base + offset + KIT_GUARD;
}

char *kit_get(struct kit_buffer *b, int *guards)
{
    move(b->shadow, b->base + b->offset, b->bytes + 2 * KIT_GUARD, b->kind == KIT_DEVICE);
    int fine = 1;
    for (size_t i = 0; i < KIT_GUARD; i++)
        fine &= b->shadow[i] == guard_at(i) && b->shadow[KIT_GUARD + b->bytes + i] == guard_at(i);
    if (guards)
        *guards = fine;
    else
        CHECK(fine, "bytes round a buffer of %zu bytes were written", b->bytes);
    return b->shadow + KIT_GUARD;
}

/* ---- cases ---- */

struct oracle_case kit_case(const struct kit_pair *pair, enum oracle_mode mode, uint64_t seed)
{
    return (struct oracle_case){.type = pair->handle->element,
                                .op = pair->op,
                                .bools = pair->handle->group == TUTTI_GROUP_LOGICAL,
                                .mode = mode,
                                .seed = seed};
}

/* The node of a rank of the world: a virtual one, or a host of TUTTI_TEST_HOST_RANKS ranks (tests/mpi/hosts). All ranks
 * are on one node without either, or if TUTTI_ORDER=ranks asks for the bits of one. */
static int node_of(int rank)
{
    const char *const host = getenv("TUTTI_TEST_HOST_RANKS"), *const order = getenv("TUTTI_ORDER");
    const char *const each = host ? host : getenv("TUTTI_NODE_RANKS");
    const int ranks = each ? atoi(each) : 0;
    return ranks > 0 && !(order && strcmp(order, "ranks") == 0) ? rank / ranks : 0;
}

void kit_reduce_by_nodes(void *out, const struct oracle_case *c, int ranks, const int *which, const void *in[],
                         size_t count)
{
    enum { MOST = 64 };
    const void *member[MOST], *node[MOST];
    int nodes = 0;
    for (int first = 0; first < ranks; first++) {
        int members = 0;
        if (!in[first])
            continue;
        const int of = node_of(which ? which[first] : first);
        void *const partial = (void *)(uintptr_t)in[first];
        for (int r = first; r < ranks; r++) {
            if (!in[r] || node_of(which ? which[r] : r) != of)
                continue;
            member[members++] = in[r];
            in[r] = NULL;
        }
        oracle_reduce(partial, c, members, member, count);
        node[nodes++] = partial;
    }
    oracle_reduce(out, c, nodes, node, count);
}

/* Contributions of all `ranks`; freed by the caller. */
static char *fill_all(const struct oracle_case *c, int ranks, const int *which, size_t first, size_t count,
                      const void *in[], int most)
{
    const size_t bytes = count * oracle_size(c->type);
    char *const room = malloc((size_t)ranks * bytes + 1);
    if (!room || ranks > most) {
        fprintf(stderr, "no memory for the oracle\n");
        abort();
    }
    for (int r = 0; r < ranks; r++) {
        oracle_fill(room + (size_t)r * bytes, c, which ? which[r] : r, first, count);
        in[r] = room + (size_t)r * bytes;
    }
    return room;
}

enum { EXPECTED_MOST = 64 };

/* Contributions of all ranks whose results are those of all `*count` elements from `*first` on: of many elements the
 * first ones, from which expect_rest() makes the others. */
static char *expect_begin(const struct oracle_case *c, int ranks, const int *which, size_t *first, size_t *count,
                          const void *in[])
{
    if (*count > ORACLE_PERIOD) {
        *first = 0;
        *count = ORACLE_PERIOD;
    }
    return fill_all(c, ranks, which, *first, *count, in, EXPECTED_MOST);
}

/* Where the results of such contributions belong: in `out`, or apart. */
static void *expect_at(void *out, const struct oracle_case *c, size_t count)
{
    void *const apart = count > ORACLE_PERIOD ? malloc(ORACLE_PERIOD * oracle_size(c->type)) : out;
    if (!apart)
        abort();
    return apart;
}

static void expect_rest(void *out, const struct oracle_case *c, void *results, size_t first, size_t count)
{
    if (results == out)
        return;
    oracle_spread(out, c->type, results, first, count);
    free(results);
}

void kit_expect_scan(void *out, const struct oracle_case *c, int depth, size_t first, size_t count)
{
    const void *in[EXPECTED_MOST];
    size_t from = first, drawn = count;
    if (depth == 0)
        return;
    char *const room = expect_begin(c, depth, NULL, &from, &drawn, in);
    void *const results = expect_at(out, c, count);
    oracle_reduce(results, c, depth, in, drawn);
    expect_rest(out, c, results, first, count);
    free(room);
}

void kit_expect_of(void *out, const struct oracle_case *c, int ranks, const int *which, size_t first, size_t count)
{
    const void *in[EXPECTED_MOST];
    size_t from = first, drawn = count;
    char *const room = expect_begin(c, ranks, which, &from, &drawn, in);
    void *const results = expect_at(out, c, count);
    kit_reduce_by_nodes(results, c, ranks, which, in, drawn);
    expect_rest(out, c, results, first, count);
    free(room);
}

void kit_expect(void *out, const struct oracle_case *c, int ranks, size_t first, size_t count)
{
    kit_expect_of(out, c, ranks, NULL, first, count);
}

uint64_t kit_counted(const char *call, const char *word)
{
    enum { ROWS = 512 };
    static struct tutti_counter rows[ROWS];
    uint64_t sum = 0;
    size_t length = strlen(call);
    int n = kit_plain ? 0 : tutti_counters_read(rows, ROWS);
    for (int i = 0; i < n && i < ROWS; i++) {
        if (strncmp(rows[i].text, call, length) == 0 && rows[i].text[length] == '|' &&
            strstr(rows[i].text + length, word))
            sum += rows[i].count;
    }
    return sum;
}

int kit_class(int error)
{
    int class = MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        MPI_Error_class(error, &class);
    return class;
}

int kit_refusal(MPI_Datatype type, MPI_Op op)
{
    _Alignas(16) char mine[64] = {0}, all[64];
    int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    *(void **)(void *)&allreduce = real_mpi_function("PMPI_Allreduce");
    return kit_class(allreduce(mine, all, 1, type, op, MPI_COMM_SELF));
}

int kit_errors_returned(void)
{
#ifdef MPI_ABI_VERSION
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    MPI_Get_library_version(text, &length);
    return strstr(text, "Intel") == NULL;
#else
    return 1;
#endif
}

void kit_open_endpoints(struct kit_buffer *out, struct kit_buffer *in, int bytes, int tag)
{
    int there = 0;
    for (int turn = 0; turn < 10000 && !there; turn++) {
        if (kit_rank == 0)
            MPI_Send(kit_put(out, 0, NULL, (size_t)bytes), bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
        else
            MPI_Recv(kit_put(in, 0, NULL, (size_t)bytes), bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const int mapped = kit_counted("memory of other ranks", "mapped") > 0;
        MPI_Reduce(&mapped, &there, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
        there = kit_rank == 0 && there && kit_counted("MPI_Send", "accelerated") > 4;
        MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    CHECK(there, "all messages go through the MPI");
}
