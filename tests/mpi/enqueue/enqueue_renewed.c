/* Calls that load from and store into mapped memory, while programs free the memory and allocate it again, often at the
 * same address: no byte may go to memory that has been freed, or come from it.
 *
 *   enqueue_renewed [enqueue|blocking] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue.h"
#include "tutti/tutti.h"

enum { ROUNDS = 120, BUFFERS = 3, BYTES_LEAST = 40000, BYTES_MOST = 120000 };

static void *stream;
static MPI_Comm comm;
static MPIX_Stream mpix;

enum what { ALLTOALL, BCAST, ALLREDUCE, REDUCE, REDUCE_SCATTER, SHIFT, WHATS };

/* Memory that the program keeps for some calls. */
struct result {
    char *at;
    size_t bytes;
};
static struct result results[BUFFERS];
static const char *freed[4 * ROUNDS];
static int frees, again; /* again: allocations at an address that was freed before */

static void result_renew(struct result *result, size_t bytes)
{
    if (result->at) {
        freed[frees++ % (4 * ROUNDS)] = result->at;
        CHECK(tutti_free(result->at) == 0, "free");
    }
    result->bytes = bytes;
    CHECK(tutti_alloc(bytes, (void **)&result->at) == 0, "alloc");
    for (int i = 0; i < frees && i < 4 * ROUNDS; i++) {
        if (freed[i] == result->at) {
            again++;
            break;
        }
    }
}

static unsigned char byte_of(int round, int from, int to, size_t i)
{
    return (unsigned char)(random_mix(kit_seed + (uint64_t)(round * 4096 + from * 64 + to)) + i * 31 + (i >> 8));
}

static int next_rank(int by)
{
    return (kit_rank + kit_size + by) % kit_size;
}

/* A contribution has a block of `each` bytes for every rank. */
static int call_blocking(enum what what, const char *in, char *out, int each, int root)
{
    const int all = each * kit_size;
    switch (what) {
    case ALLTOALL:
        return MPI_Alltoall(in, each, MPI_BYTE, out, each, MPI_BYTE, MPI_COMM_WORLD);
    case BCAST:
        return MPI_Bcast(out, all, MPI_BYTE, root, MPI_COMM_WORLD);
    case ALLREDUCE:
        return MPI_Allreduce(in, out, all, MPI_UNSIGNED_CHAR, MPI_BXOR, MPI_COMM_WORLD);
    case REDUCE:
        return MPI_Reduce(in, out, all, MPI_UNSIGNED_CHAR, MPI_BXOR, root, MPI_COMM_WORLD);
    case SHIFT:
        return MPI_Sendrecv(in, all, MPI_BYTE, next_rank(1), 3, out, all, MPI_BYTE, next_rank(-1), 3, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE);
    default:
        return MPI_Reduce_scatter_block(in, out, each, MPI_UNSIGNED_CHAR, MPI_BXOR, MPI_COMM_WORLD);
    }
}

static int call_enqueue(enum what what, const char *in, char *out, int each, int root)
{
    const int all = each * kit_size;
    switch (what) {
    case ALLTOALL:
        return MPIX_Alltoall_enqueue(in, each, MPI_BYTE, out, each, MPI_BYTE, comm);
    case BCAST:
        return MPIX_Bcast_enqueue(out, all, MPI_BYTE, root, comm);
    case ALLREDUCE:
        return MPIX_Allreduce_enqueue(in, out, all, MPI_UNSIGNED_CHAR, MPI_BXOR, comm);
    case REDUCE:
        return MPIX_Reduce_enqueue(in, out, all, MPI_UNSIGNED_CHAR, MPI_BXOR, root, comm);
    case SHIFT:
        CHECK(MPIX_Send_enqueue(in, all, MPI_BYTE, next_rank(1), 3, comm) == MPI_SUCCESS, "send");
        return MPIX_Recv_enqueue(out, all, MPI_BYTE, next_rank(-1), 3, comm, MPI_STATUS_IGNORE);
    default:
        return MPIX_Reduce_scatter_block_enqueue(in, out, each, MPI_UNSIGNED_CHAR, MPI_BXOR, comm);
    }
}

static int call(enum what what, const char *in, char *out, int each, int root)
{
    if (!stream)
        return call_blocking(what, in, out, each, root);
    const int code = call_enqueue(what, in, out, each, root);
    CHECK(tutti_stream_sync(stream) == 0, "sync");
    return code;
}

/* Bytes that the call leaves on this rank, and byte i of them. */
static size_t expected_bytes(enum what what, size_t each, int root)
{
    return what == REDUCE_SCATTER ? each : what == REDUCE && kit_rank != root ? 0 : each * (size_t)kit_size;
}

static unsigned char expected(enum what what, int round, size_t each, int root, size_t i)
{
    unsigned char sum = 0;
    if (what == ALLTOALL)
        return byte_of(round, (int)(i / each), kit_rank, i % each);
    if (what == BCAST || what == SHIFT)
        return byte_of(round, what == BCAST ? root : next_rank(-1), (int)(i / each), i % each);
    const int block = what == REDUCE_SCATTER ? kit_rank : (int)(i / each);
    for (int r = 0; r < kit_size; r++)
        sum ^= byte_of(round, r, block, i % each);
    return sum;
}

/* `mine`: draws of this rank alone. */
static void one_round(int round, uint64_t *mine, char *in, unsigned char *host)
{
    struct result *const result = &results[random_next(mine) % BUFFERS];
    const enum what what = (enum what)(round % WHATS);
    uint64_t all = random_mix(kit_seed ^ (uint64_t)(unsigned)round);
    const size_t each = BYTES_LEAST + random_next(&all) % (BYTES_MOST - BYTES_LEAST), bytes = each * (size_t)kit_size;
    const int root = (int)(random_next(&all) % (uint64_t)kit_size);
    if (!result->at || result->bytes < bytes || random_next(mine) % 3 == 0)
        result_renew(result, (size_t)BYTES_MOST * (size_t)kit_size);
    for (int r = 0; r < kit_size; r++) {
        for (size_t i = 0; i < each; i++)
            host[(size_t)r * each + i] = byte_of(round, kit_rank, r, i);
    }
    CHECK(tutti_copy(what == BCAST ? result->at : in, host, bytes) == 0, "copy in");
    const int code = call(what, in, result->at, (int)each, root);
    CHECK(code == MPI_SUCCESS, "round %d: error class %d", round, kit_class(code));
    CHECK(tutti_copy(host, result->at, bytes) == 0, "copy out");
    for (size_t i = 0; i < expected_bytes(what, each, root); i++) {
        if (!CHECK(host[i] == expected(what, round, each, root, i), "round %d, call %d, seed %llu: byte %zu", round,
                   (int)what, (unsigned long long)kit_seed, i))
            return;
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const size_t room = (size_t)BYTES_MOST * (size_t)kit_size;
    uint64_t mine = random_mix(kit_seed + (uint64_t)(unsigned)kit_rank + 1);
    unsigned char *host = malloc(room);
    char *in;
    if (argc > 1 && strcmp(argv[1], "enqueue") == 0) {
        CHECK(tutti_stream_create(&stream) == 0 && queue_name_stream(NULL, stream, &mpix) == MPI_SUCCESS &&
                  MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix, &comm) == MPI_SUCCESS,
              "a communicator with a stream");
    }
    CHECK(host && tutti_alloc(room, (void **)&in) == 0, "memory");
    for (int round = 0; round < ROUNDS && !check_failed(); round++)
        one_round(round, &mine, in, host);
    printf("rank %d: %d frees, %d allocations at an address that was freed\n", kit_rank, frees, again);
    const unsigned long long moves = kit_counted("results of data movers", "mapped"),
                             reductions = kit_counted("buffers of reductions", "mapped");
    CHECK(check_failed() || (moves > 0 && reductions > 0), "only %llu runs and %llu reductions", moves, reductions);
    for (int i = 0; i < BUFFERS; i++)
        tutti_free(results[i].at);
    tutti_free(in);
    free(host);
    if (stream) {
        MPI_Comm_free(&comm);
        MPIX_Stream_free(&mpix);
        tutti_stream_destroy(stream);
    }
    return kit_end("enqueue_renewed");
}
