/* Host and device buffers mixed over the ranks of one call and over the arguments of one rank: every combination of the
 * six ways in which a rank can bring its buffers, for up to three ranks all of them, for more a sample. A call that was
 * accelerated gives the oracle's bits. One that the MPI makes gives what the MPI itself makes of the same values in
 * memory of the host: its order of ranks, its zeros and its choice between a NaN and a number. How a NaN looks may
 * depend on where the elements lie.
 *
 * At first all ranks have device memory, in all calls. After calls with memory of the host, some calls with device
 * memory everywhere are left to the MPI (coll/call/declined.h). Needs TUTTI_STATS=1. */
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "real_mpi.h"

enum { HOST_HOST, HOST_DEVICE, DEVICE_HOST, DEVICE_DEVICE, IN_PLACE_HOST, IN_PLACE_DEVICE, WAYS, MOST = 30000 };
static const char *const names[WAYS] = {"host to host",     "host to device",   "device to host",
                                        "device to device", "in place on host", "in place on device"};
static struct kit_buffer buffers[2][2]; /* [kind][in, out] */
static struct kit_buffer plain[2];      /* of the MPI's own calls */
static char mine[MOST * 16], want[2][MOST * 16];
static long combinations, accelerated_first;
static int (*itself)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

/* Collective. The first element that is not what the MPI itself makes of `mine`, in place or not: the order of the
 * ranks may depend on that (MPICH 5), and a staged call may be in place where the program's is not. */
static size_t differs_from_mpi(const struct kit_pair *pair, const char *got, size_t count)
{
    const size_t size = pair->handle->size, bytes = count * size;
    const int element = pair->handle->element;
    for (int in_place = 0; in_place < 2; in_place++) {
        void *const to = kit_put(&plain[1], 0, in_place ? mine : NULL, bytes);
        itself(in_place ? MPI_IN_PLACE : kit_put(&plain[0], 0, mine, bytes), to, (int)count, pair->handle->type,
               kit_op(pair->op), MPI_COMM_WORLD);
        memcpy(want[in_place], kit_get(&plain[1], NULL), bytes);
    }
    for (size_t i = 0; i < count; i++) {
        if (oracle_differ(element, got + i * size, want[0] + i * size, 1, ORACLE_NANS) == 0 &&
            oracle_differ(element, got + i * size, want[1] + i * size, 1, ORACLE_NANS) == 0)
            return i;
    }
    return count;
}

/* first: only if all ranks have device memory. */
static void combination(size_t number, int first)
{
    static const struct {
        int type, op;
    } pairs[] = {{TUTTI_TYPE_I32, TUTTI_OP_SUM},        {TUTTI_TYPE_F64, TUTTI_OP_SUM}, {TUTTI_TYPE_U8, TUTTI_OP_BXOR},
                 {TUTTI_TYPE_F32_I32, TUTTI_OP_MAXLOC}, {TUTTI_TYPE_F32, TUTTI_OP_MIN}, {TUTTI_TYPE_C64, TUTTI_OP_SUM}};
    static const size_t counts[] = {1, 3, 100, 1001, MOST};
    uint64_t random = random_mix(kit_seed + number);
    size_t which = random % (sizeof pairs / sizeof *pairs), count = counts[(random >> 20) % 5];
    struct kit_pair pair = {kit_handle_of(pairs[which].type), pairs[which].op};
    if (!pair.handle || (pairs[which].op == TUTTI_OP_BXOR && !oracle_legal(pair.op, pair.handle->group)))
        return;
    int way = 0, all_device = 1;
    for (int r = 0; r < kit_size; r++, number /= WAYS) {
        int his = (int)(number % WAYS);
        all_device &= his == DEVICE_DEVICE || his == IN_PLACE_DEVICE;
        if (r == kit_rank)
            way = his;
    }
    if (first && !all_device)
        return;
    struct oracle_case c = kit_case(&pair, ORACLE_HARD, random);
    size_t size = pair.handle->size, bytes = count * size;
    oracle_fill(mine, &c, kit_rank, 0, count);
    int in_place = way >= IN_PLACE_HOST;
    struct kit_buffer *in = &buffers[way == DEVICE_HOST || way == DEVICE_DEVICE][0];
    struct kit_buffer *out = &buffers[way == HOST_DEVICE || way == DEVICE_DEVICE || way == IN_PLACE_DEVICE][1];
    void *to = kit_put(out, 0, in_place ? mine : NULL, bytes);
    const void *from = in_place ? MPI_IN_PLACE : kit_put(in, 0, mine, bytes);
    const uint64_t before = kit_counted("MPI_Allreduce", "accelerated");
    int error = MPI_Allreduce(from, to, (int)count, pair.handle->type, kit_op(pair.op), MPI_COMM_WORLD);
    const int accelerated = kit_counted("MPI_Allreduce", "accelerated") > before;
    combinations += !first;
    accelerated_first += first && accelerated;
    CHECK(error == MPI_SUCCESS, "%s here, %s %s, %zu elements: error class %d", names[way], pair.handle->name,
          oracle_op_name(pair.op), count, kit_class(error));
    size_t at;
    if (accelerated) {
        kit_expect(want[0], &c, kit_size, 0, count);
        at = oracle_differ(pair.handle->element, kit_get(out, NULL), want[0], count, ORACLE_BITS);
    } else {
        at = differs_from_mpi(&pair, kit_get(out, NULL), count);
    }
    CHECK(at == count, "%s here, %s %s, %zu elements, %s: element %zu is wrong", names[way], pair.handle->name,
          oracle_op_name(pair.op), count, accelerated ? "accelerated" : "staged", at);
    CHECK(in_place || memcmp(kit_get(in, NULL), mine, bytes) == 0, "%s here: the contribution was written", names[way]);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    *(void **)&itself = real_mpi_function("PMPI_Allreduce");
    for (int i = 0; i < 2; i++)
        kit_open(&plain[i], KIT_HOST, sizeof mine);
    for (int i = 0; i < 4; i++)
        kit_open(&buffers[i / 2][i % 2], i / 2 ? KIT_DEVICE : KIT_HOST, sizeof mine);
    size_t all = 1, most = (size_t)check_many("TUTTI_TEST_COMBINATIONS", 400);
    for (int r = 0; r < kit_size; r++)
        all *= WAYS;
    for (int first = 1; first >= 0; first--)
        for (size_t i = 0; i < (all < most ? all : most); i++)
            combination(all <= most ? i : random_mix(kit_seed ^ i) % all, first);
    CHECK(kit_plain || accelerated_first > 0, "no call was accelerated");
    if (kit_rank == 0)
        printf("mixed: %ld of %zu combinations\n", combinations, all);
    for (int i = 0; i < 2; i++)
        kit_close(&plain[i]);
    for (int i = 0; i < 4; i++)
        kit_close(&buffers[i / 2][i % 2]);
    return kit_end("mixed");
}
