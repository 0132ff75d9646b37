/* Counts and sums of counts beyond 2^31, as they come out of the door: what the rooms below are asked for is written
 * down in place of being done, so that no call needs memory of that size. The program's own functions replace
 * those of the core.
 *
 *   wide            reductions of all kinds in both widths of counts, blocking and nonblocking; packing; messages
 *   wide far        messages to a rank of another node
 *   wide announced  the record of a rank with host memory for a call that its MPI then refuses */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "dtype/places.h"
#include "kit.h"
#include "large_calls.h"
#include "p2p/p2p.h"
#include "team/node.h"
#include "tutti/tutti.h"

enum { RANKS = 8, ROOT = 1 };
static const MPI_Count above = ((MPI_Count)1 << 31) + 7; /* negative as an int */
static const MPI_Count wraps = ((MPI_Count)1 << 32) + 5; /* five as an int */

/* ---- what the core is asked for ---- */

static atomic_int pretending; /* 1: what the program asks for is not done */
static struct {
    atomic_int calls;
    struct tutti_call reduce;
    size_t counts[RANKS]; /* of reduce, which are read during the call alone */
    enum tutti_direction direction;
    int64_t elements;
    uint64_t bytes;
} asked;
static struct tutti_team *team; /* the last that was made */
static jmp_buf back;

/* The core's own function. */
static void *core(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) {
        fprintf(stderr, "the core's own %s was not found\n", name);
        abort();
    }
    return function;
}
#define CORE(name, ...) ((__typeof__(name) *)core(#name))(__VA_ARGS__)

int tutti_reduce_run(struct tutti_team *of, const struct tutti_call *call, enum tutti_reduce_outcome *taken,
                     const char **why)
{
    if (!atomic_load(&pretending))
        return CORE(tutti_reduce_run, of, call, taken, why);
    asked.reduce = *call;
    for (int r = 0; call->counts && r < of->size && r < RANKS; r++)
        asked.counts[r] = call->counts[r];
    atomic_fetch_add(&asked.calls, 1);
    *taken = TUTTI_REDUCE_DONE;
    *why = "pretended";
    return 0;
}

int tutti_reduce_local(int gpu, const void *in, void *out, size_t count, int type, int op)
{
    (void)gpu;
    asked.reduce = (struct tutti_call){.in = in, .out = out, .count = count, .type = type, .op = op};
    atomic_fetch_add(&asked.calls, 1);
    return 0;
}

/* All of it is memory of one GPU. */
void tutti_places_of(const struct tutti_plan *plan, int64_t count, const void *buffer, struct tutti_places *out)
{
    if (atomic_load(&pretending))
        *out = (struct tutti_places){.device = 1, .gpu = 0};
    else
        CORE(tutti_places_of, plan, count, buffer, out);
}

int tutti_packed_move(enum tutti_direction direction, const struct tutti_places *places, const struct tutti_plan *plan,
                      int64_t count, void *buffer, uint64_t first, uint64_t bytes, void *packed)
{
    if (!atomic_load(&pretending))
        return CORE(tutti_packed_move, direction, places, plan, count, buffer, first, bytes, packed);
    asked.direction = direction;
    asked.elements = count;
    asked.bytes = first + bytes;
    atomic_fetch_add(&asked.calls, 1);
    return 0;
}

/* A message: the call is left here, before anything is taken for it. */
static void leave(size_t bytes)
{
    asked.bytes = bytes;
    atomic_fetch_add(&asked.calls, 1);
    longjmp(back, 1);
}

const struct tutti_protocol_row *tutti_p2p_first(const struct tutti_protocol_rules *rules, int far, uint64_t bytes,
                                                 int *from)
{
    if (atomic_load(&pretending))
        leave(bytes);
    return CORE(tutti_p2p_first, rules, far, bytes, from);
}

int tutti_team_create(struct tutti_node *node, struct tutti_transport *transport, struct tutti_team **made)
{
    const int status = CORE(tutti_team_create, node, transport, made);
    team = status == 0 ? *made : NULL;
    return status;
}

/* ---- reductions ---- */

static char *in, *out; /* device; their length does not matter */

static int begin(void)
{
    atomic_store(&pretending, 1);
    memset(&asked.reduce, 0, sizeof asked.reduce);
    asked.bytes = 0;
    asked.elements = 0;
    return atomic_load(&asked.calls);
}

/* A call must have come down once, with all of its count. */
static void look(const char *name, int error, int before, enum tutti_collective collective, MPI_Count count)
{
    const int calls = atomic_load(&asked.calls) - before;
    atomic_store(&pretending, 0);
    CHECK(error == MPI_SUCCESS, "%s: class %d", name, kit_class(error));
    CHECK(calls == 1, "%s has come down %d times", name, calls);
    CHECK(asked.reduce.collective == collective && asked.reduce.count == (size_t)count,
          "%s: collective %d of %zu elements, not %lld", name, (int)asked.reduce.collective, asked.reduce.count,
          (long long)count);
    CHECK(asked.reduce.type == TUTTI_TYPE_I32 && asked.reduce.op == TUTTI_OP_SUM && asked.reduce.in == in,
          "%s: type %d, operator %d, in %p", name, asked.reduce.type, asked.reduce.op, asked.reduce.in);
}

#define CALL(collective, count, call)                                                                                  \
    do {                                                                                                               \
        const int before_ = begin();                                                                                   \
        const int error_ = call;                                                                                       \
        look(#call, error_, before_, TUTTI_COLLECTIVE_##collective, count);                                            \
    } while (0)
#define ARGUMENTS MPI_INT, MPI_SUM

static int waited(int error, MPI_Request *request)
{
    return error == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : error;
}

static void counts_came(const char *name, const MPI_Count *want)
{
    for (int r = 0; r < kit_size; r++)
        CHECK(asked.counts[r] == (size_t)want[r], "%s: segment %d has %zu elements, not %lld", name, r, asked.counts[r],
              (long long)want[r]);
}

/* Of the MPI_Count form, for both counts. */
static void large(MPI_Count n, MPI_Comm comm)
{
    MPI_Request request;
    CALL(ALLREDUCE, n, MPI_Allreduce_c(in, out, n, ARGUMENTS, comm));
    CALL(REDUCE, n, MPI_Reduce_c(in, out, n, ARGUMENTS, ROOT, comm));
    CHECK(asked.reduce.root == ROOT, "root %d", asked.reduce.root);
    CALL(SCAN, n, MPI_Scan_c(in, out, n, ARGUMENTS, comm));
    CALL(EXSCAN, n, MPI_Exscan_c(in, out, n, ARGUMENTS, comm));
    CALL(REDUCE_SCATTER_BLOCK, n * kit_size, MPI_Reduce_scatter_block_c(in, out, n, ARGUMENTS, comm));
    CALL(NONE, n, MPI_Reduce_local_c(in, out, n, ARGUMENTS));
    CALL(ALLREDUCE, n, waited(MPI_Iallreduce_c(in, out, n, ARGUMENTS, comm, &request), &request));
}

static void segments(MPI_Comm comm)
{
    MPI_Request request;
    MPI_Count counts[RANKS], sum = 0;
    int narrow[RANKS];
    for (int r = 0; r < kit_size; r++)
        sum += counts[r] = r % 2 ? 3 : wraps + r;
    CALL(REDUCE_SCATTER, sum, MPI_Reduce_scatter_c(in, out, counts, ARGUMENTS, comm));
    counts_came("MPI_Reduce_scatter_c", counts);
    CALL(REDUCE_SCATTER, sum, waited(MPI_Ireduce_scatter_c(in, out, counts, ARGUMENTS, comm, &request), &request));
    counts_came("MPI_Ireduce_scatter_c", counts);

    /* Each fits an int, their sum does not. */
    sum = 0;
    for (int r = 0; r < kit_size; r++)
        sum += counts[r] = narrow[r] = 0x7fffffff - r;
    CHECK(sum > above, "the sum of %d counts is %lld", kit_size, (long long)sum);
    CALL(REDUCE_SCATTER, sum, MPI_Reduce_scatter(in, out, narrow, ARGUMENTS, comm));
    counts_came("MPI_Reduce_scatter", counts);
    CALL(REDUCE_SCATTER, sum, waited(MPI_Ireduce_scatter(in, out, narrow, ARGUMENTS, comm, &request), &request));
    counts_came("MPI_Ireduce_scatter", counts);
    CALL(REDUCE_SCATTER_BLOCK, (MPI_Count)narrow[0] * kit_size,
         MPI_Reduce_scatter_block(in, out, narrow[0], ARGUMENTS, comm));
}

/* ---- messages ---- */

/* To whom: endpoints lead to this rank too; on nodes of one rank each the others are far. */
static void message(const char *name, int (*send)(MPI_Count n, MPI_Datatype type, int to), MPI_Count n,
                    MPI_Datatype type, uint64_t bytes, int to)
{
    const int before = begin();
    if (setjmp(back) == 0) {
        const int error = send(n, type, to);
        CHECK(0, "%s to %d was made by the MPI: class %d", name, to, kit_class(error));
    }
    atomic_store(&pretending, 0);
    CHECK(atomic_load(&asked.calls) == before + 1 && asked.bytes == bytes, "%s to %d: %llu bytes, not %llu", name, to,
          (unsigned long long)asked.bytes, (unsigned long long)bytes);
}

static int send_large(MPI_Count n, MPI_Datatype type, int to)
{
    return MPI_Send_c(in, n, type, to, 0, MPI_COMM_WORLD);
}

static int isend_large(MPI_Count n, MPI_Datatype type, int to)
{
    MPI_Request request;
    return MPI_Isend_c(in, n, type, to, 0, MPI_COMM_WORLD, &request);
}

static int send_plain(MPI_Count n, MPI_Datatype type, int to)
{
    return MPI_Send(in, (int)n, type, to, 0, MPI_COMM_WORLD);
}

static void messages(int to)
{
    MPI_Datatype pieces;
    MPI_Type_vector(3, 2, 5, MPI_INT, &pieces);
    MPI_Type_commit(&pieces);
    message("MPI_Send_c", send_large, wraps, MPI_INT, (uint64_t)wraps * 4, to);
    message("MPI_Isend_c", isend_large, above, pieces, (uint64_t)above * 24, to);
    message("MPI_Send", send_plain, 0x7fffffff, MPI_DOUBLE, UINT64_C(0x7fffffff) * 8, to);
    MPI_Type_free(&pieces);
}

/* ---- packing ---- */

static void packed(const char *name, int error, MPI_Count position, int before, enum tutti_direction direction,
                   MPI_Count n)
{
    atomic_store(&pretending, 0);
    CHECK(error == MPI_SUCCESS && atomic_load(&asked.calls) == before + 1, "%s: class %d", name, kit_class(error));
    CHECK(asked.direction == direction && asked.elements == n && asked.bytes == (uint64_t)n * 4,
          "%s: %lld elements, %llu bytes", name, (long long)asked.elements, (unsigned long long)asked.bytes);
    CHECK(position == 64 + n * 4, "%s: the position is %lld", name, (long long)position);
}

static void packs(void)
{
    const MPI_Count room = 64 + wraps * 4;
    MPI_Count position = 64;
    int before = begin(), error = MPI_Pack_c(in, wraps, MPI_INT, out, room, &position, MPI_COMM_WORLD);
    packed("MPI_Pack_c", error, position, before, TUTTI_PACK, wraps);
    position = 64;
    before = begin();
    error = MPI_Unpack_c(in, room, &position, out, wraps, MPI_INT, MPI_COMM_WORLD);
    packed("MPI_Unpack_c", error, position, before, TUTTI_UNPACK, wraps);
}

/* ---- what is announced ---- */

static void announced(const char *name, int error, MPI_Count count)
{
    struct tutti_arrival mine = {.count = 0};
    CHECK(error != MPI_SUCCESS, "%s of %lld elements went well", name, (long long)count);
    CHECK(team && tutti_record_read(team->slot[team->rank], team->sequence, &mine) == 1 &&
              mine.count == (uint64_t)count,
          "%s: %llu elements are announced, not %lld", name, (unsigned long long)mine.count, (long long)count);
}

static void announces(void)
{
    int mine = 1, sum = 0;
    MPI_Count counts[RANKS], all = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* makes the team */
    for (int r = 0; r < kit_size; r++)
        all += counts[r] = wraps + r;
    announced("MPI_Allreduce_c", MPI_Allreduce_c(&mine, &sum, above, ARGUMENTS, MPI_COMM_WORLD), above);
    announced("MPI_Reduce_c", MPI_Reduce_c(&mine, &sum, wraps, ARGUMENTS, ROOT, MPI_COMM_WORLD), wraps);
    announced("MPI_Reduce_scatter_c", MPI_Reduce_scatter_c(&mine, &sum, counts, ARGUMENTS, MPI_COMM_WORLD), all);
    announced("MPI_Reduce_scatter_block_c", MPI_Reduce_scatter_block_c(&mine, &sum, wraps, ARGUMENTS, MPI_COMM_WORLD),
              wraps * kit_size);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain)
        kit_skip("wide", "needs the library in front");
    if (argc > 1 && strcmp(argv[1], "announced") == 0) {
        announces();
        return kit_end("wide");
    }
    CHECK(tutti_alloc(4096, (void **)&in) == 0 && tutti_alloc(4096, (void **)&out) == 0, "device memory");
    if (argc > 1 && strcmp(argv[1], "far") == 0) {
        messages((kit_rank + 1) % kit_size);
        return kit_end("wide");
    }
    large(above, MPI_COMM_WORLD);
    large(wraps, MPI_COMM_WORLD);
    segments(MPI_COMM_WORLD);
    messages(kit_rank);
#if MPI_VERSION >= 4 && !defined(OPEN_MPI) /* others look at the size before, and have room for an int */
    packs();
#else
    (void)packs;
#endif
    return kit_end("wide");
}
