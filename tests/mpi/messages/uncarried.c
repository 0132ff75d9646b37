/* A message to another node that cannot be carried once its RTS is on its way: the send fails, its request is null, and
 * the receiver still gets the RTS unchanged, even if the sender reuses its memory meanwhile. The next
 * message is right. Two ranks, each a node of its own. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/status.h"
#include "kit.h"
#include "p2p/pipelined.h"
#include "real_mpi.h"

enum { COUNT = 60000, LONGEST_RTS = 3360, SECONDS = 40, TAG = 7, ROUNDS = 3 };
enum way { SEND, ISEND, SSEND, WAYS };
static const char *const ways[WAYS] = {"MPI_Send", "MPI_Isend", "MPI_Ssend"};

static struct kit_buffer in, out;
static int mine[COUNT], failing;

/* In place of the core's: fails, without a fragment. */
int tutti_outgoing_carry(struct tutti_outgoing *outgoing, int (*granted)(void *with), void *with)
{
    int (*carry)(struct tutti_outgoing *, int (*)(void *), void *);
    if (failing) {
        tutti_outgoing_withdraw(outgoing);
        return TUTTI_ERR_DEVICE;
    }
    *(void **)(void *)&carry = dlsym(RTLD_NEXT, "tutti_outgoing_carry");
    return carry(outgoing, granted, with);
}

static void fill(int round)
{
    for (int i = 0; i < COUNT; i++)
        mine[i] = round * 1000003 + i;
}

static int send(enum way way)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const void *from = kit_put(&out, 0, mine, sizeof mine);
    if (way == SEND)
        return MPI_Send(from, COUNT, MPI_INT, 1, TAG, MPI_COMM_WORLD);
    if (way == SSEND)
        return MPI_Ssend(from, COUNT, MPI_INT, 1, TAG, MPI_COMM_WORLD);
    const int error = MPI_Isend(from, COUNT, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request);
    if (error != MPI_SUCCESS) {
        CHECK(request == MPI_REQUEST_NULL, "MPI_Isend has failed and left a request");
        return error;
    }
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Other uses of the stack and of what was freed. */
static __attribute__((noinline)) void use_memory(void)
{
    volatile char stack[128 << 10];
    void *piece[64];
    for (size_t i = 0; i < sizeof stack; i++)
        stack[i] = (char)0xa5;
    for (size_t i = 0; i < 64; i++) {
        const size_t bytes = LONGEST_RTS - 256 + i * 16;
        if ((piece[i] = malloc(bytes)) != NULL)
            memset(piece[i], 0xa5, bytes);
    }
    for (size_t i = 0; i < 64; i++)
        free(piece[i]);
}

/* What the MPI itself has for this rank. */
static void take_out(const char *name)
{
    static char text[LONGEST_RTS];
    static const char zeros[LONGEST_RTS];
    struct tutti_pipelined_rts rts;
    int (*recv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    *(void **)(void *)&recv = real_mpi_function("PMPI_Recv");
    const int error = recv(text, LONGEST_RTS, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    memcpy(&rts, text, sizeof rts);
    CHECK(error == MPI_SUCCESS, "%s: no RTS: class %d", name, kit_class(error));
    CHECK(rts.bytes == sizeof mine && rts.rank == 0, "%s: the RTS is of %llu bytes from rank %d", name,
          (unsigned long long)rts.bytes, rts.rank);
    CHECK(memcmp(text + sizeof rts, zeros, sizeof text - sizeof rts) == 0, "%s: the RTS has other bytes", name);
}

static void round_of(int round, enum way way)
{
    fill(round * WAYS + (int)way);
    if (kit_rank == 0) {
        failing = 1;
        const int error = send(way);
        failing = 0;
        CHECK(error != MPI_SUCCESS, "%s has succeeded", ways[way]);
        use_memory();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank == 1)
        take_out(ways[way]);
    if (kit_rank == 0) {
        CHECK(send(way) == MPI_SUCCESS, "%s after that", ways[way]);
        return;
    }
    void *to = kit_put(&in, 0, NULL, sizeof mine);
    CHECK(MPI_Recv(to, COUNT, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS, "the receive");
    CHECK(memcmp(kit_get(&in, NULL), mine, sizeof mine) == 0, "a message after that, by %s, is wrong", ways[way]);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("uncarried", "needs two ranks, and the library in front");
    alarm(SECONDS);
    kit_open(&in, KIT_DEVICE, sizeof mine);
    kit_open(&out, KIT_DEVICE, sizeof mine);
    for (int round = 0; round < ROUNDS; round++) {
        for (int way = 0; way < WAYS; way++)
            round_of(round, (enum way)way);
    }
    if (kit_rank == 0)
        CHECK(kit_counted("MPI_Send", "accelerated") > 0, "all messages go through the MPI");
    kit_close(&in);
    kit_close(&out);
    return kit_end("uncarried");
}
