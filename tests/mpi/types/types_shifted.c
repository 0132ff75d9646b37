/* Types without gaps whose data begin behind the address that they are counted from (extent equal to size, lower bound
 * not 0), or before it: in every collective that moves data and in messages, on device memory, against what must come.
 * By absolute addresses (MPI_BOTTOM) too. */
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "movers.h"

enum { UNIT = 4, COUNT = 300, MOST = 4, SHIFTS = 4, MARGIN = 64 };
enum { INTS = 2 * MARGIN + MOST * COUNT * UNIT };

enum call { KIT_MOVERS(KIT_NUMBER) SENDRECV, SENDRECV_REPLACE, CALLS };
static const char *const names[CALLS] = {KIT_MOVERS(KIT_NAME) "Sendrecv", "Sendrecv_replace"};

/* UNIT integers that begin `shift` integers behind the address. */
static MPI_Datatype shifted(int shift, int resized)
{
    MPI_Aint at = shift * (MPI_Aint)sizeof(int);
    int length = UNIT;
    MPI_Datatype made, type;
    MPI_Type_create_hindexed(1, &length, &at, MPI_INT, &made);
    if (resized) { /* the same data, and a lower bound of 0 */
        MPI_Type_create_resized(made, 0, UNIT * (MPI_Aint)sizeof(int), &type);
        MPI_Type_free(&made);
    } else {
        type = made;
    }
    MPI_Type_commit(&type);
    return type;
}

/* Block b of what rank `from` sends. */
static int value(int from, int to, int i)
{
    return 1 + from * 1000003 + to * 10007 + i;
}

static int run(enum call call, int nonblocking, void *send, void *receive, MPI_Datatype type, MPI_Datatype receives)
{
    int counts[MOST], displs[MOST], places[MOST], code = MPI_SUCCESS;
    int right = (kit_rank + 1) % kit_size, left = (kit_rank + kit_size - 1) % kit_size;
    MPI_Datatype types[MOST], in_types[MOST];
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Comm comm = MPI_COMM_WORLD;
    for (int i = 0; i < MOST; i++) {
        counts[i] = COUNT;
        displs[i] = i * COUNT;
        places[i] = i * COUNT * UNIT * (int)sizeof(int);
        types[i] = type;
        in_types[i] = receives;
    }
#define CALL(blocking, other, ...)                                                                                     \
    code = nonblocking ? MPI_I##other(__VA_ARGS__, &request[0]) : MPI_##blocking(__VA_ARGS__);                         \
    break
    switch (call) {
    case BCAST:
        CALL(Bcast, bcast, kit_rank == 0 ? send : receive, COUNT, kit_rank == 0 ? type : receives, 0, comm);
    case GATHER:
        CALL(Gather, gather, send, COUNT, type, receive, COUNT, receives, 0, comm);
    case GATHERV:
        CALL(Gatherv, gatherv, send, COUNT, type, receive, counts, displs, receives, 0, comm);
    case SCATTER:
        CALL(Scatter, scatter, send, COUNT, type, receive, COUNT, receives, 0, comm);
    case SCATTERV:
        CALL(Scatterv, scatterv, send, counts, displs, type, receive, COUNT, receives, 0, comm);
    case ALLGATHER:
        CALL(Allgather, allgather, send, COUNT, type, receive, COUNT, receives, comm);
    case ALLGATHERV:
        CALL(Allgatherv, allgatherv, send, COUNT, type, receive, counts, displs, receives, comm);
    case ALLTOALL:
        CALL(Alltoall, alltoall, send, COUNT, type, receive, COUNT, receives, comm);
    case ALLTOALLV:
        CALL(Alltoallv, alltoallv, send, counts, displs, type, receive, counts, displs, receives, comm);
    case ALLTOALLW:
        CALL(Alltoallw, alltoallw, send, counts, places, types, receive, counts, places, in_types, comm);
    case SENDRECV:
        if (!nonblocking)
            return MPI_Sendrecv(send, COUNT, type, right, 1, receive, COUNT, receives, left, 1, comm,
                                MPI_STATUS_IGNORE);
        MPI_Irecv(receive, COUNT, receives, left, 1, comm, &request[0]);
        code = MPI_Isend(send, COUNT, type, right, 1, comm, &request[1]);
        break;
    default:
        return MPI_Sendrecv_replace(receive, COUNT, receives, right, 1, left, 1, comm, MPI_STATUS_IGNORE);
    }
    if (nonblocking && code == MPI_SUCCESS)
        code = MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    if (request[1] != MPI_REQUEST_NULL && code == MPI_SUCCESS)
        code = MPI_Wait(&request[1], MPI_STATUS_IGNORE);
    return code;
}

/* Which rank's data of which block come into block b; -1: none. */
static int source(enum call call, int b)
{
    int left = (kit_rank + kit_size - 1) % kit_size;
    switch (call) {
    case BCAST:
        return kit_rank != 0 && b == 0 ? 0 : -1;
    case GATHER:
    case GATHERV:
        return kit_rank == 0 && b < kit_size ? b : -1;
    case SCATTER:
    case SCATTERV:
        return b == 0 ? 0 : -1;
    case SENDRECV:
    case SENDRECV_REPLACE:
        return b == 0 ? left : -1;
    default:
        return b < kit_size ? b : -1;
    }
}

/* The block that it comes from. */
static int block_of(enum call call)
{
    int by_rank = call == SCATTER || call == SCATTERV || call == ALLTOALL || call == ALLTOALLV || call == ALLTOALLW;
    return by_rank ? kit_rank : 0;
}

static void try(enum call call, int nonblocking, int shift, int resized, enum kit_kind from, enum kit_kind to,
                int bottom)
{
    static int sent[INTS], before[INTS], want[INTS], got[INTS];
    struct kit_buffer in, out;
    int guards, replace = call == SENDRECV_REPLACE;
    char what[200];
    snprintf(what, sizeof what, "%s%s, %s memory to %s memory, elements %d integers behind the address%s%s",
             nonblocking ? "I" : "", names[call], from == KIT_DEVICE ? "device" : "host",
             to == KIT_DEVICE ? "device" : "host", shift, resized ? ", no lower bound" : "",
             bottom ? ", from MPI_BOTTOM" : "");
    for (int i = 0; i < INTS; i++)
        sent[i] = -1 - i, before[i] = -10000 - i;
    for (int i = 0; i < MOST * COUNT * UNIT; i++) {
        int v = value(kit_rank, i / (COUNT * UNIT), i % (COUNT * UNIT));
        sent[MARGIN + i] = v;
        if (replace && i < COUNT * UNIT)
            before[MARGIN + i] = v;
    }
    memcpy(want, before, sizeof want);
    for (int b = 0; b < MOST; b++) {
        int rank = source(call, b);
        for (int i = 0; rank >= 0 && i < COUNT * UNIT; i++)
            want[MARGIN + b * COUNT * UNIT + i] = value(rank, block_of(call), i);
    }
    kit_open(&in, from, sizeof sent);
    kit_open(&out, to, sizeof before);
    int *send = kit_put(&in, 0, sent, sizeof sent), *receive = kit_put(&out, 0, before, sizeof before);
    MPI_Datatype type, receives;
    if (bottom) {
        MPI_Aint at[2];
        int length = UNIT;
        MPI_Get_address(send + MARGIN, &at[0]);
        MPI_Get_address(receive + MARGIN, &at[1]);
        MPI_Type_create_hindexed(1, &length, &at[0], MPI_INT, &type);
        MPI_Type_create_hindexed(1, &length, &at[1], MPI_INT, &receives);
        MPI_Type_commit(&type);
        MPI_Type_commit(&receives);
    } else {
        type = shifted(shift, resized);
        receives = shifted(shift, resized);
    }
    int code = run(call, nonblocking, bottom ? MPI_BOTTOM : send + MARGIN - shift,
                   bottom ? MPI_BOTTOM : receive + MARGIN - shift, type, receives);
    CHECK(code == MPI_SUCCESS, "%s: error class %d", what, kit_class(code));
    memcpy(got, kit_get(&out, &guards), sizeof got);
    int i = 0;
    while (i < INTS && got[i] == want[i])
        i++;
    CHECK(i == INTS && guards, "%s: integer %d is %d, not %d", what, i - MARGIN, i < INTS ? got[i] : 0,
          i < INTS ? want[i] : 0);
    memcpy(got, kit_get(&in, &guards), sizeof got);
    CHECK(guards && memcmp(got, sent, sizeof got) == 0, "%s: what was sent has changed", what);
    MPI_Type_free(&type);
    MPI_Type_free(&receives);
    kit_close(&in);
    kit_close(&out);
}

/* MPI_Alltoallv of bytes from MPI_BOTTOM where the first block begins `displ` bytes from there, as MPI_IN_PLACE does,
 * which is no address of the program's. */
static void try_beside_handles(int displ, enum kit_kind from, enum kit_kind to)
{
    char sent[MOST], want[MOST];
    struct kit_buffer in, out;
    int counts[MOST], displs[MOST], length = 1, guards;
    MPI_Aint at[2];
    MPI_Datatype types[2];
    for (int r = 0; r < kit_size; r++) {
        counts[r] = 1;
        displs[r] = displ + r;
        sent[r] = (char)(10 * kit_rank + r);
        want[r] = (char)(10 * r + kit_rank);
    }
    kit_open(&in, from, sizeof sent);
    kit_open(&out, to, sizeof want);
    MPI_Get_address(kit_put(&in, 0, sent, (size_t)kit_size), &at[0]);
    MPI_Get_address(kit_put(&out, 0, NULL, (size_t)kit_size), &at[1]);
    for (int i = 0; i < 2; i++) {
        at[i] -= displ;
        MPI_Type_create_hindexed(1, &length, &at[i], MPI_BYTE, &types[i]);
        MPI_Type_commit(&types[i]);
    }
    int code =
        MPI_Alltoallv(MPI_BOTTOM, counts, displs, types[0], MPI_BOTTOM, counts, displs, types[1], MPI_COMM_WORLD);
    CHECK(code == MPI_SUCCESS, "Alltoallv, %d bytes from MPI_BOTTOM: error class %d", displ, kit_class(code));
    CHECK(memcmp(kit_get(&out, &guards), want, (size_t)kit_size) == 0 && guards,
          "Alltoallv, %d bytes from MPI_BOTTOM: other bytes", displ);
    for (int i = 0; i < 2; i++)
        MPI_Type_free(&types[i]);
    kit_close(&in);
    kit_close(&out);
}

int main(int argc, char **argv)
{
    const int shifts[SHIFTS] = {1, UNIT, 37, -6};
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    for (int call = 0; call < CALLS; call++) {
        for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
            for (int s = 0; s < SHIFTS; s++) {
                for (int kinds = 0; kinds < 3; kinds++) /* at least one in device memory */
                    try((enum call)call, nonblocking, shifts[s], s % 2, kinds == 1 ? KIT_HOST : KIT_DEVICE,
                        kinds == 2 ? KIT_HOST : KIT_DEVICE, 0);
            }
            try((enum call)call, nonblocking, 0, 0, KIT_DEVICE, KIT_DEVICE, 1);
            try((enum call)call, nonblocking, 0, 0, KIT_DEVICE, KIT_HOST, 1);
            try((enum call)call, nonblocking, 0, 0, KIT_HOST, KIT_DEVICE, 1);
        }
    }
    for (int kinds = 0; kinds < 3; kinds++) {
        const int displ = (int)(intptr_t)MPI_IN_PLACE;
        try_beside_handles(displ, kinds == 1 ? KIT_HOST : KIT_DEVICE, kinds == 2 ? KIT_HOST : KIT_DEVICE);
    }
    return kit_end("types_shifted");
}
