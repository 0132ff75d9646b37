/* The same bits on every rank, in every run, for any size, place in the buffer, alignment and
 * algorithm: one long vector of adversarial values is reduced whole, in windows of many sizes at many offsets, in place
 * or not, and each element must come out alike. With rules that give every size another algorithm the algorithms are
 * compared too: TUTTI_RULES="allreduce: 0-1k@oneshot 1k-16k@twoshot 16k-100k@direct *@staged". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { LENGTH = 20000, WINDOWS = 48 };

static void vector(const struct kit_pair *pair, uint64_t seed)
{
    const struct kit_handle *handle = pair->handle;
    size_t size = handle->size;
    enum oracle_mode mode = kit_plain ? ORACLE_PLAIN : ORACLE_HARD;
    struct oracle_case c = kit_case(pair, mode, seed);
    char *mine = malloc(LENGTH * size), *whole = malloc(LENGTH * size), *want = malloc(LENGTH * size);
    struct kit_buffer in, out;
    kit_open(&in, KIT_DEVICE, LENGTH * size);
    kit_open(&out, KIT_DEVICE, LENGTH * size);
    oracle_fill(mine, &c, kit_rank, 0, LENGTH);
    kit_expect(want, &c, kit_size, 0, LENGTH);

    void *to = kit_put(&out, 0, NULL, LENGTH * size);
    int error =
        MPI_Allreduce(kit_put(&in, 0, mine, LENGTH * size), to, LENGTH, handle->type, kit_op(pair->op), MPI_COMM_WORLD);
    CHECK(error == MPI_SUCCESS, "%s %s: error class %d", handle->name, oracle_op_name(pair->op), kit_class(error));
    memcpy(whole, kit_get(&out, NULL), LENGTH * size);
    CHECK(oracle_differ(handle->element, whole, want, LENGTH, kit_plain) == LENGTH, "%s %s: not the oracle's values",
          handle->name, oracle_op_name(pair->op));

    uint64_t digest = oracle_digest(1, handle->element, whole, LENGTH), both[2] = {digest, ~digest};
    MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    CHECK(kit_plain || (both[0] == digest && both[1] == ~digest), "%s %s: ranks hold different bits", handle->name,
          oracle_op_name(pair->op));

    uint64_t random = random_mix(seed);
    for (int w = 0; w < WINDOWS; w++) {
        size_t most = w % 4 ? (w % 4 == 1 ? 17 : 700) : LENGTH;
        size_t count = 1 + random_next(&random) % most, first = random_next(&random) % (LENGTH - count + 1);
        int in_place = (int)(random_next(&random) % 2);
        size_t in_at = random_next(&random) % 7 * size % KIT_OFFSET,
               out_at = random_next(&random) % 7 * size % KIT_OFFSET;
        to = kit_put(&out, out_at, in_place ? mine + first * size : NULL, count * size);
        error = MPI_Allreduce(in_place ? MPI_IN_PLACE : kit_put(&in, in_at, mine + first * size, count * size), to,
                              (int)count, handle->type, kit_op(pair->op), MPI_COMM_WORLD);
        char *got = kit_get(&out, NULL);
        int same = kit_plain || oracle_digest(1, handle->element, got, count) ==
                                    oracle_digest(1, handle->element, whole + first * size, count);
        CHECK(error == MPI_SUCCESS && same, "%s %s: %zu elements from %zu differ from the whole vector's (class %d)",
              handle->name, oracle_op_name(pair->op), count, first, kit_class(error));
    }
    kit_close(&in);
    kit_close(&out);
    free(mine);
    free(whole);
    free(want);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    for (int i = 0; i < kit_pair_count; i++) {
        const struct kit_pair *pair = &kit_pairs[i];
        int first = kit_handle_of(pair->handle->element) == pair->handle;
        if (first &&
            (oracle_floating(pair->handle->element) || pair->op == TUTTI_OP_PROD || pair->op == TUTTI_OP_MINLOC))
            vector(pair, random_mix(kit_seed + (uint64_t)i));
    }
    return kit_end("bits");
}
