/* Host and device buffers mixed over the ranks of one call and over the arguments of one rank: every combination of the
 * six ways in which a rank can bring its buffers, for up to three ranks all of them, for more a sample. Plain values,
 * so that the MPI and Tutti give the same result; with device memory everywhere the oracle's bits, in calls before all
 * others: after some that the MPI makes, for memory of the host, it makes others too. */
#include <stdio.h>
#include <string.h>

#include "kit.h"

enum { HOST_HOST, HOST_DEVICE, DEVICE_HOST, DEVICE_DEVICE, IN_PLACE_HOST, IN_PLACE_DEVICE, WAYS, MOST = 30000 };
static const char *const names[WAYS] = {"host to host",     "host to device",   "device to host",
                                        "device to device", "in place on host", "in place on device"};
static struct kit_buffer buffers[2][2]; /* [kind][in, out] */
static char mine[MOST * 16], want[MOST * 16];
static long combinations;

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
    const int hard = first && !kit_plain;
    struct oracle_case c = kit_case(&pair, hard ? ORACLE_HARD : ORACLE_PLAIN, random);
    size_t size = pair.handle->size, bytes = count * size;
    oracle_fill(mine, &c, kit_rank, 0, count);
    kit_expect(want, &c, kit_size, 0, count);
    int in_place = way >= IN_PLACE_HOST;
    struct kit_buffer *in = &buffers[way == DEVICE_HOST || way == DEVICE_DEVICE][0];
    struct kit_buffer *out = &buffers[way == HOST_DEVICE || way == DEVICE_DEVICE || way == IN_PLACE_DEVICE][1];
    void *to = kit_put(out, 0, in_place ? mine : NULL, bytes);
    int error = MPI_Allreduce(in_place ? MPI_IN_PLACE : kit_put(in, 0, mine, bytes), to, (int)count, pair.handle->type,
                              kit_op(pair.op), MPI_COMM_WORLD);
    combinations += !first;
    CHECK(error == MPI_SUCCESS, "%s here, %s %s, %zu elements: error class %d", names[way], pair.handle->name,
          oracle_op_name(pair.op), count, kit_class(error));
    size_t at = oracle_differ(pair.handle->element, kit_get(out, NULL), want, count, !hard);
    CHECK(at == count, "%s here, %s %s, %zu elements: element %zu is wrong", names[way], pair.handle->name,
          oracle_op_name(pair.op), count, at);
    CHECK(in_place || memcmp(kit_get(in, NULL), mine, bytes) == 0, "%s here: the contribution was written", names[way]);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    for (int i = 0; i < 4; i++)
        kit_open(&buffers[i / 2][i % 2], i / 2 ? KIT_DEVICE : KIT_HOST, sizeof mine);
    size_t all = 1, most = (size_t)check_many("TUTTI_TEST_COMBINATIONS", 400);
    for (int r = 0; r < kit_size; r++)
        all *= WAYS;
    for (int first = 1; first >= 0; first--)
        for (size_t i = 0; i < (all < most ? all : most); i++)
            combination(all <= most ? i : random_mix(kit_seed ^ i) % all, first);
    if (kit_rank == 0)
        printf("mixed: %ld of %zu combinations\n", combinations, all);
    for (int i = 0; i < 4; i++)
        kit_close(&buffers[i / 2][i % 2]);
    return kit_end("mixed");
}
