/* Wrong calls fail as they fail without the library: every illegal pair of operator and type, and other wrong
 * arguments, on host and on device memory, give the error class of the MPI's own function on host memory. What an MPI
 * accepts beyond the standard's table gives its own result. Nothing hangs, and the communicator stays usable.
 *
 * Some wrong calls make MPICH's own functions end the process, and are left out there: pairs that its check lets
 * through on more than one rank, negative counts, with MPICH 5 null types. */
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "real_mpi.h"
#include "survives.h"

typedef int allreduce_call(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

static allreduce_call *plain;
static struct kit_buffer host_in, host_out, device_in, device_out;
enum { ROOM = 4096, COUNT = 3 };
static long pairs, refused, accepted;

static struct survives survives;

/* Returns the MPI's own error class. */
static int pair(const struct kit_handle *handle, int op, MPI_Comm comm, int ranks)
{
    struct kit_pair illegal = {handle, op};
    struct oracle_case c = kit_case(&illegal, ORACLE_PLAIN, kit_seed + (uint64_t)op);
    char mine[COUNT * 16], want[COUNT * 16];
    size_t bytes = COUNT * handle->size;
    oracle_fill(mine, &c, kit_rank, 0, COUNT);
    void *out = kit_put(&host_out, 0, mine, bytes);
    int class = kit_class(plain(kit_put(&host_in, 0, mine, bytes), out, COUNT, handle->type, kit_op(op), comm));
    memcpy(want, kit_get(&host_out, NULL), bytes);
    pairs++;
    refused += class != MPI_SUCCESS;
    accepted += class == MPI_SUCCESS;
    for (int device = 0; device < 2; device++) {
        struct kit_buffer *in = device ? &device_in : &host_in, *to = device ? &device_out : &host_out;
        out = kit_put(to, 0, mine, bytes);
        int got = kit_class(MPI_Allreduce(kit_put(in, 0, mine, bytes), out, COUNT, handle->type, kit_op(op), comm));
        CHECK(got == class, "%s %s on %s memory over %d ranks: error class %d, the MPI's own is %d", handle->name,
              oracle_op_name(op), device ? "device" : "host", ranks, got, class);
        char *result = kit_get(to, NULL);
        CHECK(class != MPI_SUCCESS || op == TUTTI_OP_NO_OP || memcmp(result, want, bytes) == 0,
              "%s %s on %s memory over %d ranks: not the MPI's own result", handle->name, oracle_op_name(op),
              device ? "device" : "host", ranks);
    }
    return class;
}

enum wrong {
    NEGATIVE_COUNT,
    NULL_TYPE,
    NULL_OP,
    NULL_COMM,
    EQUAL_BUFFERS,
    IN_PLACE_RESULT,
    UNCOMMITTED_TYPE,
    DERIVED_TYPE,
    WRONG_CALLS
};
static const char *const wrong_names[WRONG_CALLS] = {"negative count",     "null type",
                                                     "null operator",      "null communicator",
                                                     "equal buffers",      "MPI_IN_PLACE as result",
                                                     "type not committed", "derived type with a predefined operator"};

static int call_wrongly(allreduce_call *call, enum wrong what, void *in, void *out, MPI_Comm comm, MPI_Datatype derived)
{
    switch (what) {
    case NEGATIVE_COUNT:
        return call(in, out, -1, MPI_INT, MPI_SUM, comm);
    case NULL_TYPE:
        return call(in, out, 1, MPI_DATATYPE_NULL, MPI_SUM, comm);
    case NULL_OP:
        return call(in, out, 1, MPI_INT, MPI_OP_NULL, comm);
    case NULL_COMM:
        return call(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL);
    case EQUAL_BUFFERS:
        return call(out, out, 1, MPI_INT, MPI_SUM, comm);
    case IN_PLACE_RESULT:
        return call(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm);
    default:
        return call(in, out, 1, derived, MPI_SUM, comm);
    }
}

static void wrong_arguments(MPI_Comm comm, int ranks)
{
    for (int what = 0; what < WRONG_CALLS; what++) {
        if ((what == NEGATIVE_COUNT && !survives.negative_counts) || (what == NULL_TYPE && !survives.null_types))
            continue;
        MPI_Datatype derived = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(2, MPI_INT, &derived);
        if (what == DERIVED_TYPE)
            MPI_Type_commit(&derived);
        char zeros[64] = {0};
        int class = kit_class(call_wrongly(plain, what, kit_put(&host_in, 0, zeros, 64),
                                           kit_put(&host_out, 0, zeros, 64), comm, derived));
        for (int device = 0; device < 2; device++) {
            void *in = kit_put(device ? &device_in : &host_in, 0, zeros, 64);
            void *out = kit_put(device ? &device_out : &host_out, 0, zeros, 64);
            int got = kit_class(call_wrongly(MPI_Allreduce, what, in, out, comm, derived));
            CHECK(got == class, "%s on %s memory over %d ranks: error class %d, the MPI's own is %d", wrong_names[what],
                  device ? "device" : "host", ranks, got, class);
        }
        MPI_Type_free(&derived);
    }
}

/* Other calls that are staged. */
static void wrong_messages(void)
{
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    int (*bcast)(void *, int, MPI_Datatype, int, MPI_Comm);
    int (*gather)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
    *(void **)&send = real_mpi_function("PMPI_Send");
    *(void **)&bcast = real_mpi_function("PMPI_Bcast");
    *(void **)&gather = real_mpi_function("PMPI_Allgather");
    void *host = kit_put(&host_in, 0, NULL, 64), *device = kit_put(&device_in, 0, NULL, 64);
    void *host2 = kit_put(&host_out, 0, NULL, 64), *device2 = kit_put(&device_out, 0, NULL, 64);
#define SAME(text, real, mine)                                                                                         \
    do {                                                                                                               \
        int want = kit_class(real), got = kit_class(mine);                                                             \
        CHECK(want == got && want != MPI_SUCCESS, "%s: error class %d, the MPI's own is %d", text, got, want);         \
    } while (0)
    SAME("MPI_Send to a rank that is not there", send(host, 1, MPI_INT, kit_size, 0, MPI_COMM_WORLD),
         MPI_Send(device, 1, MPI_INT, kit_size, 0, MPI_COMM_WORLD));
    SAME("MPI_Send of a negative count", send(host, -1, MPI_INT, 0, 0, MPI_COMM_WORLD),
         MPI_Send(device, -1, MPI_INT, 0, 0, MPI_COMM_WORLD));
    SAME("MPI_Send with a wrong tag", send(host, 1, MPI_INT, 0, -77, MPI_COMM_WORLD),
         MPI_Send(device, 1, MPI_INT, 0, -77, MPI_COMM_WORLD));
    if (survives.null_types)
        SAME("MPI_Bcast of a null type", bcast(host, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD),
             MPI_Bcast(device, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    SAME("MPI_Bcast from a rank that is not there", bcast(host, 1, MPI_INT, kit_size, MPI_COMM_WORLD),
         MPI_Bcast(device, 1, MPI_INT, kit_size, MPI_COMM_WORLD));
    SAME("MPI_Allgather of a negative count", gather(host, -1, MPI_INT, host2, -1, MPI_INT, MPI_COMM_WORLD),
         MPI_Allgather(device, -1, MPI_INT, device2, -1, MPI_INT, MPI_COMM_WORLD));
    if (survives.null_types)
        SAME("MPI_Allgather of a null type", gather(host, 1, MPI_DATATYPE_NULL, host2, 1, MPI_INT, MPI_COMM_WORLD),
             MPI_Allgather(device, 1, MPI_DATATYPE_NULL, device2, 1, MPI_INT, MPI_COMM_WORLD));
#undef SAME
}

static void still_works(void)
{
    int value = 1, sum = 0;
    void *out = kit_put(&device_out, 0, NULL, sizeof sum);
    int error = MPI_Allreduce(kit_put(&device_in, 0, &value, sizeof value), out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    memcpy(&sum, kit_get(&device_out, NULL), sizeof sum);
    CHECK(error == MPI_SUCCESS && sum == kit_size, "after wrong calls: error class %d, sum %d", kit_class(error), sum);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    *(void **)&plain = real_mpi_function("PMPI_Allreduce");
    if (!kit_errors_returned())
        kit_skip("illegal", "this MPI does not return its errors");
    survives = survives_of_mpi();
    kit_open(&host_in, KIT_HOST, ROOM);
    kit_open(&host_out, KIT_HOST, ROOM);
    kit_open(&device_in, KIT_DEVICE, ROOM);
    kit_open(&device_out, KIT_DEVICE, ROOM);
    for (int i = 0; i < kit_handle_count; i++) {
        for (int op = 0; op < TUTTI_OPS; op++) {
            if (oracle_reduces(op) && oracle_legal(op, kit_handles[i].group))
                continue;
            if (pair(&kit_handles[i], op, MPI_COMM_SELF, 1) != MPI_SUCCESS || survives.most)
                pair(&kit_handles[i], op, MPI_COMM_WORLD, kit_size);
        }
    }
    wrong_arguments(MPI_COMM_WORLD, kit_size);
    wrong_arguments(MPI_COMM_SELF, 1);
    wrong_messages();
    still_works();
    CHECK(pairs > 400, "only %ld pairs", pairs);
    if (kit_rank == 0)
        printf("illegal: %ld pairs, the MPI refuses %ld and accepts %ld\n", pairs, refused, accepted);
    kit_close(&host_in);
    kit_close(&host_out);
    kit_close(&device_in);
    kit_close(&device_out);
    return kit_end("illegal");
}
